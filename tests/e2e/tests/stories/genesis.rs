//! Agents that nobody enrolled: work calls for them, their template's learnings come with every task, and what three of them
//! leave behind the fourth is told.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use cambium_testkit::wait_until;
use serde_json::{Value, json};

use crate::stage::{Running, Stage};

const SCRIBE: &str = "
name: scribe
role: scribe
instructions: Write down what is asked for.
capabilities: [skill:scribe]
holdout_share: 0
";

/// Nobody is enrolled who can do this.
const NOTES: &str = "
name: notes
spawn: true
nodes:
  ask: {requires: [skill:scribe]}
  write: {requires: [skill:scribe], needs: ask}
";

const HINT: &str = "ask for the sources before writing";

/// For signals to arrive, and agents to be composted.
const SOON: Duration = Duration::from_secs(60);

/// Where work waits for an agent no longer than it must.
async fn eager() -> Stage {
    Stage::open_with(&[("HYPHA_SPAWN_AFTER_MS", "100")]).await
}

/// Works for every scribe; what each was given is what it answers.
fn echo(stage: &Stage) -> Running {
    stage.worker("echo", &["--template", "scribe", "--exec", "cat"])
}

async fn agents(stage: &Stage) -> Vec<Value> {
    let listed = stage.json(&["agents"]).await;
    let agents = listed["agents"].as_array().unwrap().iter();
    agents.cloned().collect()
}

async fn active(stage: &Stage) -> Vec<Value> {
    let mut agents = agents(stage).await;
    agents.retain(|agent| agent["state"] == "AGENT_STATE_ACTIVE");
    agents
}

/// Runs the graph to its end, and answers what a node's attempt was given.
async fn given(stage: &Stage, graph: &str, node: &str) -> Value {
    let run = stage.ask(&["run", graph, "--watch", "--json"]).await;
    let run = run.well().json();
    assert_eq!(run["state"], "succeeded", "{run}");
    let task = format!("{}/{node}", run["run_id"].as_str().unwrap());
    let request = json!({"workspaceId": "default", "taskId": task});
    let reply = stage.call("RunService/GetOutput", request, &[]).await;
    let output = STANDARD.decode(reply["output"].as_str().unwrap()).unwrap();
    serde_json::from_slice(&output).unwrap()
}

/// Retires whoever lives, with the same word from each, and waits until they are composted.
async fn retire(stage: &Stage, hint: &str) {
    for agent in active(stage).await {
        let name = agent["name"].as_str().unwrap();
        stage.json(&["retire", name, "--hint", hint]).await;
        wait_until(SOON, "the agent is composted", async || {
            let shown = stage.json(&["agent-show", name]).await;
            shown["agent"]["state"] == "AGENT_STATE_RETIRED"
        })
        .await;
    }
}

fn patterns(learnings: &Value) -> Vec<&str> {
    let learnings = learnings.as_array().unwrap().iter();
    learnings
        .map(|one| one["pattern"].as_str().unwrap())
        .collect()
}

#[tokio::test]
async fn what_three_agents_leave_behind_the_fourth_is_told() {
    let stage = eager().await;
    let template = stage.file("scribe.yaml", SCRIBE);
    stage.json(&["templates", "put", &template]).await;
    let graph = stage.file("notes.yaml", NOTES);
    let worker = echo(&stage);

    let mut lives = Vec::new();
    for _ in 0..3 {
        let given = given(&stage, &graph, "write").await;
        let born = active(&stage).await;
        assert_eq!(born.len(), 1, "one agent does for both nodes: {born:?}");
        assert_eq!(given["inherited_learnings"], Value::Null, "{given}");
        assert_eq!(given["agent_id"], born[0]["agentId"]);
        assert_eq!(born[0]["template"], "scribe");
        lives.extend(born);
        retire(&stage, HINT).await;
    }
    let learnings = stage.json(&["learnings", "scribe"]).await;
    let fourth = given(&stage, &graph, "write").await;
    let heir = active(&stage).await;

    let mut roots: Vec<&Value> = lives.iter().map(|agent| &agent["rootAgentId"]).collect();
    roots.dedup();
    assert_eq!(roots.len(), 3, "each is of a line of its own: {lives:?}");
    let learnings = learnings["learnings"].as_array().unwrap();
    let learned = learnings.iter().find(|one| one["pattern"] == HINT);
    let learned = learned.unwrap_or_else(|| panic!("not learned: {learnings:?}"));
    assert_eq!(learned["sourceAgentCount"], 3);
    assert_eq!(learned["successCorrelation"], 1.0);
    let inherited = &fourth["inherited_learnings"];
    assert!(patterns(inherited).contains(&HINT), "{fourth}");
    let name = heir[0]["name"].as_str().unwrap();
    wait_until(SOON, "immune keeps a standing of it", async || {
        let shown = stage.json(&["agent-show", name]).await;
        shown["agent"]["standing"].is_object()
    })
    .await;
    let told = stage.ask(&["agent-show", name]).await.well().stdout;
    assert!(told.contains(&format!("inherited     {HINT}")), "{told}");

    let id = learned["learningId"].as_str().unwrap();
    let why = stage.json(&["learnings", "explain", id]).await;
    assert_eq!(why["confirmations"].as_array().unwrap().len(), 3, "{why}");
    let gone = ["learnings", "roll-back", id, "--reason", "it slows us"];
    stage.json(&gone).await;
    let left = stage.json(&["learnings", "scribe"]).await;
    assert!(!patterns(&left["learnings"]).contains(&HINT), "{left}");
    assert_eq!(worker.stop().await, 0);
}

/// Waits until `why` says this of the node.
async fn until_why(stage: &Stage, run: &str, node: &str, what: &str) -> String {
    let mut told = String::new();
    wait_until(SOON, what, async || {
        told = stage.ask(&["why", run, node]).await.well().stdout;
        told.contains(what)
    })
    .await;
    told
}

async fn spawns(stage: &Stage) -> Vec<Value> {
    let request = json!({"workspaceId": "default"});
    let reply = stage.call("SpawnService/ListSpawns", request, &[]).await;
    reply["spawns"].as_array().unwrap().clone()
}

#[tokio::test]
async fn why_tells_what_came_of_asking_for_an_agent() {
    let stage = eager().await;
    let graph = stage.file("notes.yaml", NOTES);
    stage.json(&["run", &graph, "--key", "nightly"]).await;

    let refused = until_why(&stage, "nightly", "ask", "TEMPLATE_NOT_OFFERED").await;
    let careful = format!("{SCRIBE}requires_approval: true\n");
    let template = stage.file("scribe.yaml", &careful);
    stage.json(&["templates", "put", &template]).await;
    let pending = until_why(&stage, "nightly", "ask", "SPAWN_PENDING").await;
    let waiting = spawns(&stage).await;
    let decision = json!({
        "workspaceId": "default",
        "requestId": "0193a0b2-7d1c-7c3e-9f00-3c2f5a7f1e11",
        "spawnId": waiting[0]["spawnId"],
        "approve": true,
        "reason": "the notes are wanted",
    });
    stage.call("SpawnService/DecideSpawn", decision, &[]).await;
    let worker = echo(&stage);
    let run = stage
        .ask(&["watch", "nightly", "--json"])
        .await
        .well()
        .lines();

    assert!(refused.contains("offers `skill:scribe`"), "{refused}");
    assert!(pending.contains("approval"), "{pending}");
    assert_eq!(waiting.len(), 1, "{waiting:?}");
    assert_eq!(waiting[0]["requestedBy"], "service:hypha");
    assert!(!run.is_empty());
    assert_eq!(spawns(&stage).await.len(), 1, "one node is one spawn");
    assert_eq!(agents(&stage).await.len(), 1);
    assert_eq!(worker.stop().await, 0);
}

#[tokio::test]
async fn an_agent_in_quarantine_spawns_nobody() {
    let stage = Stage::open().await;
    let template = stage.file("scribe.yaml", SCRIBE);
    stage.json(&["templates", "put", &template]).await;
    let parent = stage.json(&["spawn", "scribe"]).await["agent"]["name"].take();
    let parent = parent.as_str().unwrap();
    let asked = ["spawn", "scribe", "--parent", parent, "--json"];
    wait_until(SOON, "immune has heard of it", async || {
        let why = "asked by a story";
        let held = ["quarantine", parent, "--reason", why, "--over-cap"];
        stage.ask(&held).await.code == 0
    })
    .await;

    wait_until(SOON, "genesis refuses for the quarantine", async || {
        let said = stage.ask(&asked).await;
        said.code == 4 && said.stdout.contains("SPAWN_PARENT_QUARANTINED")
    })
    .await;
}

#[tokio::test]
async fn a_graph_that_does_not_say_so_gets_no_agents() {
    let stage = eager().await;
    let template = stage.file("scribe.yaml", SCRIBE);
    stage.json(&["templates", "put", &template]).await;
    let shy = stage.file("shy.yaml", &NOTES.replace("spawn: true", "spawn: false"));
    let bold = stage.file("bold.yaml", NOTES);
    stage.json(&["run", &shy]).await;
    let bold = stage.json(&["run", &bold]).await;

    wait_until(SOON, "an agent is spawned", async || {
        !spawns(&stage).await.is_empty()
    })
    .await;

    // The run that came first waits for the same, and would have been asked for first.
    let spawns = spawns(&stage).await;
    assert_eq!(spawns.len(), 1, "{spawns:?}");
    let reason = spawns[0]["reason"].as_str().unwrap();
    assert!(
        reason.ends_with(bold["runId"].as_str().unwrap()),
        "{reason}"
    );
}

//! Marks from inside tasks: programs that leave them and build on them with nothing but the command, each as its task's agent.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use cambium_testkit::wait_until;
use serde_json::{Value, json};

use crate::stage::{Stage, program};

const GRAPH: &str = "
name: notes
nodes:
  write: {requires: [skill:write]}
  read: {requires: [skill:read], needs: write}
";

const APPLIED: Duration = Duration::from_secs(30);

/// A worker that runs this line for each task of its agent, with `cambium` at hand.
fn doing(stage: &Stage, agent: &str, line: &str) -> crate::stage::Running {
    let folder = program("cambium").parent().unwrap().display().to_string();
    let line = format!("PATH={folder}:$PATH; {line}");
    let capability = format!("skill:{agent}");
    let words = [
        "--agent",
        agent,
        "--capability",
        &capability,
        "--exec",
        &line,
    ];
    stage.worker(agent, &words)
}

async fn id(stage: &Stage, agent: &str) -> Value {
    stage.json(&["agent-show", agent]).await["agent"]["agentId"].take()
}

/// The knowledge that an agent has been credited with.
async fn shares(stage: &Stage, agent: &str) -> Vec<Value> {
    let said = stage
        .ask(&["why-agent", agent, "--score", "generosity", "--json"])
        .await;
    if said.code != 0 {
        return Vec::new(); // immune has not heard of it yet
    }
    let entries = said.json()["entries"].take();
    let entries = entries.as_array().unwrap().iter();
    let shares = entries.filter(|entry| entry["event"] == "knowledge_share");
    shares.cloned().collect()
}

#[tokio::test]
async fn a_program_leaves_a_mark_and_another_builds_upon_it() {
    let stage = Stage::open().await;
    let graph = stage.file("notes.yaml", GRAPH);
    let place = r#"cambium mark place notes/today knowledge.pattern --json \
        --payload "{\"agent\":\"$CAMBIUM_AGENT_ID\",\"task\":\"$CAMBIUM_TASK_ID\"}""#;
    let transform = r#"cambium mark transform notes/today --payload '{"n":2}' --json"#;
    let writer = doing(&stage, "write", place);
    let reader = doing(&stage, "read", transform);

    let run = stage
        .ask(&["run", &graph, "--watch", "--json"])
        .await
        .well()
        .json();
    let sensed = stage.json(&["mark", "sense", "notes", "--below"]).await;
    let lineage = stage.json(&["mark", "lineage", "notes/today"]).await;
    let (write, read) = (id(&stage, "write").await, id(&stage, "read").await);
    wait_until(APPLIED, "the share is credited", async || {
        !shares(&stage, "write").await.is_empty()
    })
    .await;

    let mark = &sensed["markers"][0];
    assert_eq!(sensed["markers"].as_array().unwrap().len(), 1, "{sensed}");
    assert_eq!(
        (&mark["placedBy"], &mark["transformedBy"]),
        (&write, &json!([read]))
    );
    assert_eq!(mark["transformationDepth"], 1);
    let versions = lineage["versions"].as_array().unwrap();
    let authors: Vec<&Value> = versions.iter().map(|one| &one["author"]).collect();
    assert_eq!(authors, [&write, &read]);
    let task = format!("{}/write", run["run_id"].as_str().unwrap());
    let first = STANDARD
        .decode(versions[0]["payload"].as_str().unwrap())
        .unwrap();
    let first: Value = serde_json::from_slice(&first).unwrap();
    assert_eq!(first, json!({"agent": write, "task": task}));
    assert_eq!(run["markers"], 1, "{run}");

    let shares = shares(&stage, "write").await;
    assert_eq!(shares.len(), 1, "{shares:?}");
    assert_eq!(shares[0]["delta"], 0.02);
    assert_eq!((writer.stop().await, reader.stop().await), (0, 0));
}

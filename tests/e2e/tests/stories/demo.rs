//! `cambium demo` over the real files beside the project, where they are, and over small files of our own. Never fails
//! for want of data.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::sync::Semaphore;

use crate::stage::{Said, cambium};

/// Each demo is seven processes and a Postgres.
static TWO_AT_ONCE: Semaphore = Semaphore::const_new(2);

/// For a graph of up to a thousand tasks, and for a larger one.
const BOUND: Duration = Duration::from_secs(60);
const LARGE_BOUND: Duration = Duration::from_secs(120);

/// Plays a file to its end.
async fn demo(file: &Path, graph: Option<&str>, bound: Duration) -> Said {
    let _one = TWO_AT_ONCE.acquire().await.unwrap();
    let (home, begun) = (TempDir::new().unwrap(), Instant::now());
    let mut words = vec!["demo", file.to_str().unwrap(), "--json"];
    words.extend(graph.iter().flat_map(|graph| ["--graph", graph]));
    let said = cambium(home.path(), &words, bound).await;
    let name = file.file_name().unwrap().to_string_lossy();
    println!("{name} took {:.1} s", begun.elapsed().as_secs_f64());
    said
}

/// One graph of one file, and what was counted.
struct Case {
    file: PathBuf,
    graph: Option<String>,
    facts: Value,
}

impl Case {
    fn tasks(&self) -> i64 {
        self.facts["tasks"].as_i64().unwrap()
    }

    /// Every task succeeds, and every edge is a handoff that is thanked.
    async fn plays_as_counted(&self) {
        let bound = if self.tasks() > 1_000 {
            LARGE_BOUND
        } else {
            BOUND
        };

        let said = demo(&self.file, self.graph.as_deref(), bound).await.well();

        let document = said.json();
        let gift = &self.facts["gift"];
        let tasks = json!({"succeeded": self.tasks(), "failed": 0, "skipped": 0, "omitted": 0, "cancelled": 0});
        assert_eq!(document["state"], "succeeded", "{}", self.file.display());
        assert_eq!(document["tasks"], tasks, "{}", self.file.display());
        assert_eq!(
            document["gratitude"],
            gift["total_handoffs"],
            "{}",
            self.file.display()
        );
        assert_gift(&document["gift"], gift);
    }
}

/// The integers are exact, the rate is a double.
fn assert_gift(found: &Value, counted: &Value) {
    for figure in ["chain_length", "chain_breadth", "total_handoffs"] {
        assert_eq!(found[figure], counted[figure], "{figure}");
    }
    let rate = |gift: &Value| gift["circulation_score"].as_f64().unwrap();
    assert!(
        (rate(found) - rate(counted)).abs() <= 1e-9,
        "{found} {counted}"
    );
}

/// The folder with `expected.json`, and what stands in there, if the data is there.
fn data(name: &str) -> Option<(PathBuf, Value)> {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    if !data.is_dir() {
        println!("skipped: ../shared/data is absent");
        return None;
    }
    let folder = data.join(name);
    let expected = fs::read(folder.join("expected.json")).unwrap();
    Some((folder, serde_json::from_slice(&expected).unwrap()))
}

/// Recorded workflows of so many tasks.
fn workflows(sizes: std::ops::RangeInclusive<i64>) -> Option<Vec<Case>> {
    let (folder, expected) = data("wfinstances")?;
    let cases = expected["instances"].as_object().unwrap().iter();
    let cases = cases.map(|(file, facts)| Case {
        file: folder.join(file),
        graph: None,
        facts: facts.clone(),
    });
    Some(cases.filter(|case| sizes.contains(&case.tasks())).collect())
}

/// Every graph that can run of every file of a kind.
fn definitions(kind: &str) -> Option<Vec<Case>> {
    let (folder, expected) = data("dags")?;
    let mut cases = Vec::new();
    for (file, facts) in expected["files"].as_object().unwrap() {
        if facts["kind"] != kind {
            continue;
        }
        for (graph, facts) in facts["graphs"].as_object().unwrap() {
            cases.push(Case {
                file: folder.join(file),
                graph: Some(graph.clone()),
                facts: facts.clone(),
            });
        }
    }
    cases.retain(|case| !case.facts["gift"].is_null());
    Some(cases)
}

async fn play(cases: Vec<Case>, count: usize) {
    assert_eq!(cases.len(), count);
    for case in cases {
        case.plays_as_counted().await;
    }
}

#[tokio::test]
async fn every_workflow_of_up_to_a_hundred_tasks_plays_as_counted() {
    if let Some(cases) = workflows(0..=100) {
        play(cases, 11).await;
    }
}

#[tokio::test]
async fn every_workflow_of_up_to_two_thousand_tasks_plays_as_counted() {
    if let Some(cases) = workflows(101..=2_000) {
        play(cases, 3).await;
    }
}

#[tokio::test]
async fn the_largest_workflow_plays_as_counted() {
    if let Some(cases) = workflows(2_001..=i64::MAX) {
        play(cases, 1).await;
    }
}

#[tokio::test]
async fn every_crew_plays_as_counted() {
    if let Some(cases) = definitions("crewai") {
        play(cases, 5).await;
    }
}

#[tokio::test]
async fn every_set_of_jobs_plays_as_counted() {
    if let Some(cases) = definitions("gha") {
        play(cases, 4).await;
    }
}

#[tokio::test]
async fn both_graphs_of_the_dbt_project_play_as_counted() {
    if let Some(cases) = definitions("dbt") {
        play(cases, 2).await;
    }
}

#[tokio::test]
async fn the_diamonds_play_as_counted() {
    let Some(mut cases) = definitions("argo") else {
        return;
    };
    let diamonds = ["argo-dag-diamond.yaml", "argo-dag-nested.yaml"];

    cases.retain(|case| diamonds.iter().any(|name| case.file.ends_with(name)));

    play(cases, 3).await;
}

#[tokio::test]
async fn tasks_that_are_to_fail_do_and_the_rest_goes_as_far_as_it_can() {
    let Some((folder, expected)) = data("dags") else {
        return;
    };
    let name = "argo-dag-continue-on-fail.yaml";
    let realised = &expected["files"][name]["realised"];

    let said = demo(&folder.join(name), None, BOUND).await;

    let document = said.json();
    let count = |state: &str| realised[state].as_array().unwrap().len();
    let tasks = json!({"succeeded": count("succeeded"), "failed": count("failed"), "skipped": 0, "omitted": count("omitted"), "cancelled": 0});
    let failed = document["failed_tasks"].as_array().unwrap().iter();
    let failed: Vec<&Value> = failed.map(|task| &task["node"]).collect();
    assert_eq!((said.code, &document["state"]), (1, &json!("failed")));
    assert_eq!(document["tasks"], tasks);
    assert_eq!(json!(failed), realised["failed"]);
    assert_eq!(document["gratitude"], count("handoffs"));
    assert_gift(&document["gift"], &realised["gift"]);
}

/// The `error` of a file that was refused.
fn refusal(said: &Said) -> Value {
    assert_eq!(said.code, 2, "{said:?}");
    let error = said.json()["error"].take();
    assert_eq!(error["code"], "INVALID_ARGUMENT");
    error
}

#[tokio::test]
async fn a_crew_that_names_unknown_tasks_is_refused_with_their_names() {
    let Some((folder, expected)) = data("dags") else {
        return;
    };
    let name = "crewai-protein_food_finder.tasks.yaml";

    let said = demo(&folder.join(name), None, BOUND).await;

    let unknown = &expected["files"][name]["graphs"]["tasks"]["unknown_references"];
    assert_eq!(&refusal(&said)["details"], unknown);
}

/// Plays a file of our own.
async fn demo_of(name: &str, content: &str) -> Said {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join(name);
    fs::write(&file, content).unwrap();
    demo(&file, None, BOUND).await
}

/// Whether these are all of a cycle's tasks, in its order, whichever is told first.
fn is_turn_of(told: &Value, cycle: &[&str]) -> bool {
    (0..cycle.len()).any(|turn| {
        let turned = [&cycle[turn..], &cycle[..turn]].concat();
        *told == json!(turned)
    })
}

#[tokio::test]
async fn agents_without_tasks_are_refused_with_a_hint() {
    let agents = "writer:\n  role: Writer\n  goal: Write\n  backstory: Has written before\n";

    let said = demo_of("agents.yaml", agents).await;

    assert_eq!(refusal(&said)["reason"], "AGENTS_FILE_ALONE");
    assert!(said.sentence().contains("--agents"), "{said:?}");
}

#[tokio::test]
async fn a_crew_whose_tasks_wait_on_one_another_is_refused_with_the_cycle() {
    let task = |name: &str, context: &str| {
        format!(
            "{name}:\n  description: Do {name}\n  expected_output: Text\n  agent: writer\n  context: [{context}]\n"
        )
    };
    let tasks = [
        task("plan", ""),
        task("draft", "plan, polish"),
        task("check", "draft"),
        task("polish", "check"),
    ];

    let said = demo_of("tasks.yaml", &tasks.concat()).await;

    let error = refusal(&said);
    assert_eq!(error["reason"], "GRAPH_CYCLE");
    assert!(
        is_turn_of(&error["details"], &["draft", "check", "polish"]),
        "{error}"
    );
}

#[tokio::test]
async fn jobs_that_need_one_another_are_refused_with_the_cycle() {
    let job = |name: &str, needs: &str| {
        format!(
            "  {name}:\n    runs-on: ubuntu-latest\n    needs: {needs}\n    steps: [{{run: make {name}}}]\n"
        )
    };
    let jobs = format!(
        "on: push\njobs:\n{}{}",
        job("build", "deploy"),
        job("deploy", "[build]")
    );

    let said = demo_of("ci.yml", &jobs).await;

    let error = refusal(&said);
    assert_eq!(error["reason"], "GRAPH_CYCLE");
    assert!(
        is_turn_of(&error["details"], &["build", "deploy"]),
        "{error}"
    );
}

#[tokio::test]
async fn a_recording_without_parents_plays_as_tasks_on_their_own() {
    let task =
        |id: &str| json!({"id": id, "name": id, "type": "compute", "runtime": 1.5, "parents": []});
    let recording = json!({
        "name": "alone",
        "schemaVersion": "1.4",
        "workflow": {"makespan": 3, "tasks": [task("1"), task("2"), task("3")]},
    });

    let said = demo_of("alone.json", &recording.to_string()).await.well();

    let document = said.json();
    let gift = json!({"chain_length": 0, "chain_breadth": 0, "total_handoffs": 0, "circulation_score": 0.0});
    assert_eq!(
        (&document["tasks"]["succeeded"], &document["gift"]),
        (&json!(3), &gift)
    );
    assert!(said.stderr.contains("warning: "), "{said:?}");
}

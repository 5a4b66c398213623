//! What stands under `examples/`: workers in other languages against a real stack, and the graphs to start from. Skips what
//! this machine has no programs or packages for, and says how to get them.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use cambium_service_kit::config::Env;
use cambium_testkit::wait_until;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::process::Command;

use crate::stage::{Running, Said, Stage, cambium, run};

/// For a run to get as far as a story wants it, a lease of ten seconds and some back-off included.
const BOUND: Duration = Duration::from_secs(60);

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn example(name: &str) -> PathBuf {
    repository().join("examples").join(name)
}

/// Where `./dev test` has put an example's packages.
fn place(variable: &str) -> Option<PathBuf> {
    let place = Env::process().text(variable).map(PathBuf::from);
    if place.is_none() {
        println!("skipped: {variable} is not set; `./dev test` installs the packages and sets it");
    }
    place
}

/// A worker's program with everything that it needs beside it, short of whom it works for.
enum Language {
    Python { python: PathBuf, stubs: TempDir },
    Node { folder: TempDir },
}

impl Language {
    /// As `examples/README.md` says.
    async fn python() -> Option<Self> {
        let python = place("CAMBIUM_EXAMPLES_PYTHON")?;
        let (stubs, protos) = (TempDir::new().unwrap(), repository().join("proto"));
        let mut protoc = Command::new(&python);
        protoc.args(["-m", "grpc_tools.protoc", "-I"]).arg(&protos);
        for out in ["--python_out", "--grpc_python_out"] {
            protoc.arg(format!("{out}={}", stubs.path().display()));
        }
        let hypha = fs::read_dir(protos.join("cambium/hypha/v1")).unwrap();
        protoc.args(hypha.map(|file| file.unwrap().path()));
        run(protoc, BOUND).await.well();
        Some(Self::Python { python, stubs })
    }

    /// Modules are looked for beside the program, so it is copied.
    fn node() -> Option<Self> {
        let modules = place("CAMBIUM_EXAMPLES_NODE_MODULES")?;
        let folder = TempDir::new().unwrap();
        symlink(modules, folder.path().join("node_modules")).unwrap();
        fs::copy(example("node/worker.mjs"), folder.path().join("worker.mjs")).unwrap();
        Some(Self::Node { folder })
    }

    /// Starts a worker for the agent that the token names.
    fn start(&self, stage: &Stage, name: &str, token: &str) -> Running {
        let server = stage.url.trim_start_matches("http://");
        let command = match self {
            Self::Python { python, stubs } => {
                let mut command = Command::new(python);
                command.arg(example("python/worker.py"));
                command
                    .args([server, token])
                    .env("PYTHONPATH", stubs.path());
                command
            }
            Self::Node { folder } => {
                let mut command = Command::new("node");
                command.arg(folder.path().join("worker.mjs"));
                command
                    .args([server, token])
                    .arg(repository().join("proto"));
                command
            }
        };
        stage.start(name, command)
    }
}

/// Enrols an agent that counts words, and tells where its worker's token is.
async fn enroll(stage: &Stage, name: &str) -> String {
    let token = stage.file(&format!("{name}.token"), "");
    let capability = ["--capability", "skill:count-words", "--out", &token];
    stage
        .json(&[&["enroll", name], &capability[..]].concat())
        .await;
    token
}

/// Starts a run of a graph, and tells its id.
async fn start(stage: &Stage, graph: &str, input: &Value) -> String {
    let input = input.to_string();
    let reply = stage.json(&["run", graph, "--input", &input]).await;
    reply["runId"].as_str().unwrap().to_owned()
}

/// Starts a count of which each task takes so long.
async fn count(stage: &Stage, pace_s: u32, texts: &[&str]) -> String {
    let graph = fs::read_to_string(example("word-count.yaml")).unwrap();
    let paced = "fan_out: input.texts\n    config: {pace_s: PACE}";
    let graph = graph.replace(
        "fan_out: input.texts",
        &paced.replace("PACE", &pace_s.to_string()),
    );
    let graph = stage.file("word-count.yaml", &graph);
    start(stage, &graph, &json!({ "texts": texts })).await
}

async fn watch(stage: &Stage, run: &str) -> Said {
    stage.ask(&["watch", run, "--json"]).await
}

/// Waits until a worker is in the middle of a task of this run.
async fn is_running(stage: &Stage, run: &str) {
    let request = json!({"workspaceId": "default", "runId": run, "state": "TASK_STATE_RUNNING"});
    wait_until(BOUND, "a task runs", async || {
        let reply = stage
            .call("TaskService/ListTasks", request.clone(), &[])
            .await;
        !reply["tasks"].as_array().unwrap().is_empty()
    })
    .await;
}

async fn output(stage: &Stage, run: &str, node: &str) -> Value {
    let request = json!({"workspaceId": "default", "taskId": format!("{run}/{node}")});
    let reply = stage.call("RunService/GetOutput", request, &[]).await;
    let bytes = STANDARD.decode(reply["output"].as_str().unwrap()).unwrap();
    serde_json::from_slice(&bytes).unwrap()
}

/// A graph done, a cancel heard, a restart outlived, a drain: what any worker must be able to do.
async fn lives_through_it(language: Language) {
    let stage = Stage::open().await;
    let token = enroll(&stage, "ada").await;
    let worker = language.start(&stage, "ada", &token);

    let first = count(&stage, 0, &["one two three", "", "four\nfive"]).await;
    let counted = watch(&stage, &first).await;
    let words = output(&stage, &first, "total").await;
    let endless = count(&stage, 3600, &["never"]).await;
    is_running(&stage, &endless).await;
    stage.json(&["cancel", &endless]).await;
    let cancelled = watch(&stage, &endless).await;
    let last = count(&stage, 1, &["six seven", "eight"]).await;
    is_running(&stage, &last).await;
    let stage = stage.reopen().await;
    let survived = watch(&stage, &last).await;
    let more_words = output(&stage, &last, "total").await;
    let log = worker.log();

    assert_eq!((counted.code, words), (0, json!({"words": 5})), "{log}");
    assert_eq!(cancelled.code, 1, "a cancelled run did not succeed");
    assert_eq!(
        (survived.code, more_words),
        (0, json!({"words": 3})),
        "{log}"
    );
    assert_eq!(worker.stop().await, 0, "it drains");
}

#[tokio::test]
async fn a_python_worker_does_a_graph_hears_a_cancel_outlives_a_restart_and_drains() {
    if let Some(python) = Language::python().await {
        lives_through_it(python).await;
    }
}

#[tokio::test]
async fn a_node_worker_does_a_graph_hears_a_cancel_outlives_a_restart_and_drains() {
    if let Some(node) = Language::node() {
        lives_through_it(node).await;
    }
}

#[tokio::test]
async fn what_a_killed_python_worker_held_is_done_by_another() {
    let Some(python) = Language::python().await else {
        return;
    };
    let stage = Stage::open().await;
    let killed = python.start(&stage, "ada", &enroll(&stage, "ada").await);
    let run = count(&stage, 2, &["one two", "three"]).await;
    is_running(&stage, &run).await;

    killed.kill();
    let other = python.start(&stage, "grace", &enroll(&stage, "grace").await);
    let watched = watch(&stage, &run).await;

    assert_eq!(watched.code, 0, "{watched:?}: {}", other.log());
    assert!(watched.stdout.contains("TASK_LEASE_LOST"), "{watched:?}");
    assert_eq!(output(&stage, &run, "total").await, json!({"words": 3}));
    assert_eq!(other.stop().await, 0);
}

async fn is_installed(program: &str) -> bool {
    let mut asked = Command::new(program);
    asked
        .arg("--version")
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let is_there = asked.status().await.is_ok_and(|status| status.success());
    if !is_there {
        println!("skipped: {program} is not installed; `./dev test` installs it where apt can");
    }
    is_there
}

#[tokio::test]
async fn wrapped_programs_hand_their_lines_on() {
    if !is_installed("jq").await {
        return;
    }
    let stage = Stage::open().await;
    let wrapped = |program: &str| format!("{} {program}", example("wrap/wrap.sh").display());
    let (sort, tr, fail) = (wrapped("sort"), wrapped("tr"), wrapped("false"));
    let worker = |agent: &str, capability: &str, line: &str| {
        let words = ["--agent", agent, "--capability", capability, "--exec", line];
        stage.worker(agent, &words)
    };
    let _workers = [
        worker("sorter", "tool:sort", &sort),
        worker("caller", "tool:tr", &tr),
        worker("loser", "tool:fail", &fail),
    ];
    let graph = example("wrap/guest-list.yaml").display().to_string();
    let failing =
        "name: failing\nnodes: {only: {requires: [tool:fail], retry: {max_attempts: 1}}}\n";
    let failing = stage.file("failing.yaml", failing);

    let guests = json!({"guests": ["grace", "ada", "grace"]});
    let run = start(&stage, &graph, &guests).await;
    let watched = watch(&stage, &run).await;
    let failed = stage.ask(&["run", &failing, "--watch", "--json"]).await;

    assert_eq!(watched.code, 0, "{watched:?}");
    let shouted = json!({"lines": ["ADA", "GRACE"]});
    assert_eq!(output(&stage, &run, "shout").await, shouted);
    assert_eq!(failed.json()["failed_tasks"][0]["code"], "EXIT_1");
}

/// Plays a graph of ours with simulated workers to its good end.
async fn demo(name: &str, flags: &[&str]) -> Value {
    let (home, file) = (TempDir::new().unwrap(), example(name).display().to_string());
    let words = [&["demo", &file, "--json"], flags].concat();
    let document = cambium(home.path(), &words, BOUND).await.well().json();
    assert_eq!(document["state"], "succeeded", "{document}");
    assert_eq!(document["gratitude"], document["gift"]["total_handoffs"]);
    document
}

fn tasks(succeeded: i64, failed: i64, skipped: i64, omitted: i64, cancelled: i64) -> Value {
    json!({"succeeded": succeeded, "failed": failed, "skipped": skipped, "omitted": omitted, "cancelled": cancelled})
}

#[tokio::test]
async fn the_first_answer_is_sent_without_its_translation_and_nobody_goes_on_in_vain() {
    let document = demo("first-answer.yaml", &["--speed", "20"]).await;

    let translate = &document["failed_tasks"][0]["node"];
    assert_eq!(document["tasks"], tasks(8, 1, 0, 0, 3));
    assert_eq!(translate, "translate");
}

#[tokio::test]
async fn every_proposal_is_read_three_times_and_answered_once() {
    let input = format!("@{}", example("review-board.input.json").display());

    let document = demo("review-board.yaml", &["--input", &input]).await;

    assert_eq!(document["tasks"], tasks(18, 0, 1, 0, 0));
    assert_eq!(document["gift"]["total_handoffs"], 3 * 4 + 1 + 4);
}

#[tokio::test]
async fn a_refund_that_nobody_decides_on_is_delayed() {
    let document = demo("approval.yaml", &["--speed", "30"]).await;

    assert_eq!(document["tasks"], tasks(4, 0, 0, 2, 0));
}

#[tokio::test]
async fn a_refund_waits_for_a_persons_answer_and_does_as_it_says() {
    let stage = Stage::open().await;
    let clerk = ["--agent", "ada", "--capability", "role:clerk", "--simulate"];
    let _clerk = stage.worker("ada", &clerk);
    let graph = example("approval.yaml").display().to_string();

    let mut ends = Vec::new();
    for (key, answer) in [("refund-1", true), ("refund-2", false)] {
        let run = stage.json(&["run", &graph, "--key", key]).await;
        let run = run["runId"].as_str().unwrap();
        let answer = json!({ "approved": answer }).to_string();
        stage.json(&["signal", key, "decision", &answer]).await;
        let watched = watch(&stage, run).await;
        ends.push((watched.code, stage.ask(&["why", run, "pay"]).await.stdout));
    }

    assert_eq!([ends[0].0, ends[1].0], [0, 0], "{ends:?}");
    assert!(
        ends[0].1.contains("succeeded") && ends[1].1.contains("omitted"),
        "{ends:?}"
    );
}

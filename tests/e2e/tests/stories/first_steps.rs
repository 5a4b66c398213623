//! What a newcomer does: a demo, a stack, a worker around a program, and what the command says when something is wrong.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use cambium_testkit::free_port;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::stage::{Said, Stage, cambium};

/// For a command that finds no service and gives up.
const ALONE: Duration = Duration::from_secs(60);

const GREETING: &str = r#"
name: greeting
nodes:
  greet: {requires: [skill:talk]}
  echo: {requires: [skill:talk], needs: greet}
"#;

/// Greets whom the run's input names, then hands on what it heard.
const TALK: &str = r#"
task=$(cat)
case $task in
*'"node":"greet"'*)
  name=$(printf %s "$task" | sed 's/.*"run_input":{"name":"\([^"]*\)"}.*/\1/')
  printf '{"text": "hello %s"}' "$name" ;;
*)
  printf %s "$task" | sed 's/.*"inputs":{"greet":\({[^}]*}\)}.*/{"heard": \1}/' ;;
esac
"#;

/// A graph of one task, which ends with this code.
const FAILING: &str = r#"
name: failing
nodes:
  only: {requires: [skill:fail], retry: {max_attempts: 1}}
"#;

async fn alone(words: &[&str]) -> Said {
    let home = TempDir::new().unwrap();
    cambium(home.path(), words, ALONE).await
}

fn text(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_demo_without_a_file_ends_well_with_one_document_and_leaves_nothing() {
    let home = TempDir::new().unwrap();

    let said = cambium(home.path(), &["demo", "--json"], Duration::from_secs(60)).await;

    let document = said.well().json();
    assert_eq!(document["state"], "succeeded");
    assert_eq!(document["gratitude"], document["gift"]["total_handoffs"]);
    assert_eq!(document["markers"], 1, "{document}");
    let agents = document["agents"].as_array().unwrap();
    let score = |agent: &Value, name: &str| agent[name].as_f64().unwrap();
    let was = |agent: &Value| score(agent, "generosity_before");
    let is = |agent: &Value| score(agent, "generosity_after");
    assert!(agents.len() >= 4, "{document}");
    assert!(agents.iter().all(|agent| was(agent) == 0.5), "{document}");
    assert!(agents.iter().any(|agent| is(agent) > 0.5), "{document}");
    assert!(
        agents.iter().all(|agent| score(agent, "trust") > 0.0),
        "{document}"
    );
    assert_eq!(fs::read_dir(home.path()).unwrap().count(), 0);
}

#[tokio::test]
async fn a_demo_says_what_to_try_next() {
    let said = alone(&["demo"]).await.well();

    assert!(
        said.stdout.starts_with("run ") && said.stdout.contains("gift chain"),
        "{said:?}"
    );
    assert!(said.stdout.contains("generosity   demo-"), "{said:?}");
    assert!(
        said.stdout
            .contains("knowledge.strategy in market-report, left by demo-"),
        "{said:?}"
    );
    assert!(said.stdout.contains("built upon by demo-"), "{said:?}");
    assert!(said.stderr.contains("next: cambium demo FILE"), "{said:?}");
}

#[tokio::test]
async fn a_shell_program_does_the_tasks_of_a_run_and_all_is_there_after_a_restart() {
    let stage = Stage::open().await;
    let graph = stage.file("greeting.yaml", GREETING);
    let program = format!("sh {}", stage.file("talk.sh", TALK));
    let words = [
        "--agent",
        "ada",
        "--capability",
        "skill:talk",
        "--exec",
        &program,
    ];
    let worker = stage.worker("w1", &words);

    let start = [
        "run",
        &graph,
        "--input",
        r#"{"name":"grace"}"#,
        "--key",
        "first",
    ];
    let run = text(&stage.json(&start).await["runId"]);
    let events = stage.ask(&["watch", &run, "--json"]).await.well().lines();

    let last = &events.last().unwrap()["event"];
    assert_eq!(last["kind"], "RUN_EVENT_KIND_RUN_ENDED");
    assert_eq!(last["runState"], "RUN_STATE_SUCCEEDED");
    let sequence = events
        .iter()
        .filter_map(|item| item["event"]["seq"].as_str());
    assert!(
        sequence.eq((1..=events.len()).map(|seq| seq.to_string())),
        "{events:?}"
    );
    assert_eq!(
        output(&stage, &run, "greet").await,
        json!({"text": "hello grace"})
    );
    let heard = json!({"heard": {"text": "hello grace"}});
    assert_eq!(output(&stage, &run, "echo").await, heard);
    let again = stage.json(&start).await;
    assert_eq!(again["runId"], run.as_str(), "one key is one run");
    let log = worker.log();
    assert!(!log.contains('\x1b'), "colours are for terminals: {log}");
    assert_eq!(worker.stop().await, 0);

    let stage = stage.reopen().await;

    let runs = stage.json(&["runs"]).await;
    assert_eq!(runs["runs"].as_array().unwrap().len(), 1);
    assert_eq!(runs["runs"][0]["runId"], run.as_str());
    assert_eq!(runs["runs"][0]["gratitude"], "1");
    let why = stage.json(&["why", &run]).await;
    assert_eq!(why["reasons"][0]["kind"], "REASON_KIND_ENDED");
    assert_eq!(output(&stage, &run, "echo").await, heard);
}

/// The output of one task, through reflection.
async fn output(stage: &Stage, run: &str, node: &str) -> Value {
    let request = json!({"workspaceId": "default", "taskId": format!("{run}/{node}")});
    let reply = stage.call("RunService/GetOutput", request, &[]).await;
    let bytes = STANDARD.decode(reply["output"].as_str().unwrap()).unwrap();
    serde_json::from_slice(&bytes).unwrap()
}

#[tokio::test]
async fn services_are_learnt_by_reflection_and_called_with_any_principals_token() {
    let stage = Stage::open().await;

    let services = stage.json(&["call"]).await;
    let runs = stage
        .call(
            "RunService/ListRuns",
            json!({"workspaceId": "default"}),
            &[],
        )
        .await;
    let out = stage.file("ada.token", "");
    let ada = stage
        .json(&["enroll", "ada", "--capability", "skill:talk", "--out", &out])
        .await;
    let mut agents = stage.json(&["agents"]).await;
    // Immune may have heard of it by now, or not.
    agents["agents"][0]
        .as_object_mut()
        .unwrap()
        .remove("standing");
    let token = text(&stage.json(&["token", "--as", "ada", "--ttl", "5m"]).await["token"]);
    let token = stage.file("own.token", &token);
    let own = json!({"workspaceId": "default", "agentId": ada["agent"]["agentId"]});
    let found = stage
        .call("AgentService/GetAgent", own, &["--token-file", &token])
        .await;

    for name in ["GraphService", "RunService", "TaskService", "WorkerService"] {
        assert!(
            services[format!("cambium.hypha.v1.{name}")].is_array(),
            "{name}: {services}"
        );
    }
    assert!(
        services["cambium.genesis.v1.AgentService"].is_array(),
        "{services}"
    );
    assert_eq!(runs, json!({"runs": [], "nextPageToken": ""}));
    assert_eq!(agents["agents"], json!([ada["agent"]]));
    assert_eq!(found["agent"], ada["agent"]);
    let mode = fs::metadata(&out).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    assert_eq!(
        fs::read_to_string(&out).unwrap().trim().split('.').count(),
        3
    );
}

#[tokio::test]
async fn the_exit_code_says_who_can_help() {
    let stage = Stage::open().await;
    let failing = stage.file("failing.yaml", FAILING);
    let words = [
        "--agent",
        "ada",
        "--capability",
        "skill:fail",
        "--exec",
        "echo no >&2; exit 3",
    ];
    let _worker = stage.worker("w1", &words);

    let done = stage.ask(&["runs"]).await;
    let failed = stage.ask(&["run", &failing, "--watch", "--json"]).await;
    let bad_file = stage.ask(&["run", "missing.yaml"]).await;
    let bad_usage = stage.ask(&["run"]).await;
    let elsewhere = format!("http://127.0.0.1:{}", free_port());
    let unreachable = stage.ask(&["runs", "--server", &elsewhere]).await;
    let refused = stage
        .ask(&["enroll", "bob", "--capability", "x", "--as", "ada"])
        .await;
    let forged = stage.file("forged.token", "a.b.c");
    let unknown = stage.ask(&["runs", "--token-file", &forged]).await;

    let all = [
        &done,
        &failed,
        &bad_file,
        &bad_usage,
        &unreachable,
        &refused,
        &unknown,
    ];
    assert_eq!(all.map(|said| said.code), [0, 1, 2, 2, 3, 4, 4], "{all:?}");
    let task = json!([{"node": "only", "code": "EXIT_3", "detail": "no"}]);
    assert_eq!(failed.json()["failed_tasks"], task);
    assert!(bad_file.sentence().contains("missing.yaml"), "{bad_file:?}");
    assert!(unreachable.stderr.contains("next: "), "{unreachable:?}");
    assert!(refused.stderr.contains("next: "), "{refused:?}");
}

#[tokio::test]
async fn a_stack_that_is_not_there_is_said_to_be_so() {
    let said = alone(&["runs", "--data", "nowhere", "--json"]).await;

    assert_eq!(said.code, 3);
    assert_eq!(said.json()["error"]["code"], "UNAVAILABLE");
    assert!(said.stderr.contains("cambium up --data"), "{said:?}");
}

#[tokio::test]
async fn a_port_in_use_is_told_in_one_sentence() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();

    let said = alone(&["up", "--data", "data", "--port", &port]).await;

    assert_eq!((said.code, said.stdout.as_str()), (1, ""));
    let expected = format!(
        "error: port {port} of 127.0.0.1 cannot be used: stop whatever listens there, or choose another with --port"
    );
    assert!(said.sentence().starts_with(&expected), "{said:?}");
}

#[tokio::test]
async fn a_data_folder_of_another_format_is_told_in_one_sentence_and_left_alone() {
    let home = TempDir::new().unwrap();
    let data = home.path().join("data");
    fs::create_dir(&data).unwrap();
    fs::write(data.join("format"), "7\n").unwrap();

    let said = cambium(home.path(), &["up", "--data", "data", "--port", "0"], ALONE).await;

    assert_eq!((said.code, said.stdout.as_str()), (1, ""));
    assert!(
        said.sentence().contains("format 7, this one reads 1"),
        "{said:?}"
    );
    assert!(
        said.sentence()
            .contains("use that version, or name another folder"),
        "{said:?}"
    );
    assert_eq!(files(&data), ["format", "lock"]);
}

fn files(folder: &Path) -> Vec<String> {
    let names = fs::read_dir(folder).unwrap();
    let mut names: Vec<String> = names
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

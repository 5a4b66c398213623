//! An operator at the wheel: why a run stands still, pausing it, cancelling it, and telling it what a task waits for.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use cambium_testkit::wait_until;
use serde_json::{Value, json};

use crate::stage::{Said, Stage};

/// For a signal from one service to another.
const SIGNAL: Duration = Duration::from_secs(30);

const LONELY: &str = r#"
name: lonely
nodes:
  only: {requires: [skill:rare]}
"#;

async fn start(stage: &Stage, graph: &str, key: &str) -> String {
    let reply = stage.json(&["run", graph, "--key", key]).await;
    reply["runId"].as_str().unwrap().to_owned()
}

fn kinds(watched: &Said) -> Vec<String> {
    let items = watched.lines();
    let kind = |item: &Value| {
        item["event"]["kind"]
            .as_str()
            .map(|kind| kind.trim_start_matches("RUN_EVENT_KIND_").to_owned())
    };
    items.iter().filter_map(kind).collect()
}

#[tokio::test]
async fn a_paused_run_starts_nothing_until_it_is_resumed() {
    let stage = Stage::open().await;
    let graph = stage.file("lonely.yaml", LONELY);
    let run = start(&stage, &graph, "paused").await;

    let lonely = stage.json(&["why", &run, "only"]).await;
    let paused = stage.json(&["pause", &run]).await;
    let why_paused = stage.json(&["why", &run]).await;
    let listed = stage.json(&["runs"]).await;
    let words = ["--agent", "ada", "--capability", "skill:rare", "--simulate"];
    let worker = stage.worker("w1", &words);
    worker.logs("session: registered").await;
    let resumed = stage.json(&["resume", &run]).await;
    let watched = stage.ask(&["watch", &run, "--json"]).await;

    assert_eq!(
        lonely["reasons"][0]["kind"],
        "REASON_KIND_NO_ELIGIBLE_AGENT"
    );
    assert_eq!(lonely["reasons"][0]["subjects"], json!(["skill:rare"]));
    assert_eq!(
        [&paused["state"], &resumed["state"]],
        ["RUN_STATE_RUNNING"; 2]
    );
    assert_eq!(why_paused["reasons"][0]["kind"], "REASON_KIND_PAUSED");
    assert_eq!(listed["runs"][0]["paused"], true);
    assert_eq!(watched.code, 0);
    let expected = [
        "RUN_STARTED",
        "TASK_READY",
        "RUN_PAUSED",
        "RUN_RESUMED",
        "TASK_LEASED",
        "TASK_SUCCEEDED",
        "RUN_ENDED",
    ];
    assert_eq!(kinds(&watched), expected);
    assert_eq!(worker.stop().await, 0);
}

#[tokio::test]
async fn a_cancelled_run_ends_and_its_watcher_hears_it() {
    let stage = Stage::open().await;
    let graph = stage.file("lonely.yaml", LONELY);
    let run = start(&stage, &graph, "cancelled").await;

    let cancelled = stage
        .ask(&["cancel", &run, "--reason", "wrong input", "--json"])
        .await;
    let watched = stage.ask(&["watch", &run, "--json"]).await;
    let shown = stage.json(&["run-show", &run]).await;

    assert_eq!(cancelled.code, 0, "{cancelled:?}");
    assert_eq!(watched.code, 1, "a run that was cancelled did not succeed");
    assert_eq!(kinds(&watched).last().unwrap(), "RUN_ENDED");
    assert_eq!(shown["run"]["state"], "RUN_STATE_CANCELLED");
    assert_eq!(shown["run"]["tasks"]["cancelled"], "1");
}

/// A worker written by hand: every step is a call with the token that `enroll` wrote.
struct Handwork<'a> {
    stage: &'a Stage,
    token: String,
    registration: String,
}

impl<'a> Handwork<'a> {
    async fn enter(stage: &'a Stage, agent: &str, capability: &str) -> Self {
        let token = stage.file("worker.token", "");
        let words = ["enroll", agent, "--capability", capability, "--out", &token];
        let enrolled = stage.json(&words).await;
        let announcement = json!({
            "workspaceId": "default",
            "requestId": "0197b1c2-7d3e-7a00-8000-000000000001",
            "worker": agent,
            "incarnation": "0197b1c2-7d3e-7a00-8000-000000000002",
            "agentIds": [enrolled["agent"]["agentId"]],
            "slots": 1,
        });
        let mut entered = Self {
            stage,
            token,
            registration: String::new(),
        };
        // Genesis tells hypha of the agent by a signal, which takes a moment.
        let request = announcement.to_string();
        let register = [
            "call",
            "WorkerService/Register",
            &request,
            "--token-file",
            &entered.token,
        ];
        wait_until(SIGNAL, "hypha knows the agent", async || {
            stage.ask(&register).await.code == 0
        })
        .await;
        let reply = entered.call("Register", announcement).await;
        entered.registration = reply["registrationId"].as_str().unwrap().to_owned();
        entered
    }

    async fn call(&self, method: &str, mut request: Value) -> Value {
        if method != "Register" {
            request["registrationId"] = json!(self.registration);
        }
        let method = format!("WorkerService/{method}");
        self.stage
            .call(&method, request, &["--token-file", &self.token])
            .await
    }

    /// The next attempt.
    async fn poll(&self) -> Value {
        let mut reply = self.call("Poll", json!({"max": 1, "waitMs": 20_000})).await;
        assert_eq!(reply["attempts"].as_array().unwrap().len(), 1, "{reply}");
        reply["attempts"][0].take()
    }

    async fn park(&self, attempt: &Value, signal: &str) {
        self.call("Park", json!({"lease": attempt["lease"], "signal": signal}))
            .await;
    }
}

#[tokio::test]
async fn a_signal_reaches_a_task_whether_it_comes_before_or_while_the_task_waits() {
    let stage = Stage::open().await;
    let graph = stage.file("lonely.yaml", LONELY);
    let worker = Handwork::enter(&stage, "ada", "skill:rare").await;

    let before = stage
        .json(&["signal", "order-7", "approved", r#"{"by":"grace"}"#])
        .await;
    let run = start(&stage, &graph, "order-7").await;
    worker.park(&worker.poll().await, "approved").await;
    let resumed = worker.poll().await;
    worker.park(&resumed, "paid").await;
    let meanwhile = stage.json(&["signal", &run, "paid", "7"]).await;
    let paid = worker.poll().await;
    worker
        .call("Complete", json!({"lease": paid["lease"]}))
        .await;
    let watched = stage.ask(&["watch", &run, "--json"]).await;
    let late = stage.ask(&["signal", &run, "paid"]).await;

    assert_eq!(
        (&before["delivered"], &meanwhile["delivered"]),
        (&json!(false), &json!(true))
    );
    assert_eq!(
        resumption(&resumed),
        ("approved".to_owned(), json!({"by": "grace"}))
    );
    assert_eq!(resumption(&paid), ("paid".to_owned(), json!(7)));
    assert_eq!(watched.code, 0, "{watched:?}");
    assert_eq!(
        late.code, 4,
        "a run that has ended takes no signals: {late:?}"
    );
}

/// The signal that an attempt goes on with.
fn resumption(attempt: &Value) -> (String, Value) {
    let resumption = &attempt["resumption"];
    let payload = STANDARD
        .decode(resumption["payload"].as_str().unwrap())
        .unwrap();
    let name = resumption["signal"].as_str().unwrap().to_owned();
    (name, serde_json::from_slice(&payload).unwrap())
}

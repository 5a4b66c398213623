//! One step after the other: what a command says to type next is typed, and helps.

use serde_json::json;
use tokio::process::Command;

use super::{ends_well, typed};
use crate::stage::{Said, Stage, run};

const CHAIN: &str = "
name: chain
nodes:
  first: {requires: [skill:sim]}
  second: {requires: [skill:sim], needs: first}
  third: {requires: [skill:sim], needs: second}
";

const SIM: [&str; 5] = ["--agent", "sim", "--capability", "skill:sim", "--simulate"];

/// The commands that `why` says to type next.
fn next(why: &Said) -> Vec<String> {
    let lines = why.stdout.lines();
    let next = lines.filter_map(|line| line.trim().strip_prefix("next: "));
    next.map(str::to_owned).collect()
}

#[tokio::test]
async fn what_why_says_to_type_next_helps() {
    let stage = Stage::open().await;
    let graph = stage.file("chain.yaml", CHAIN);
    stage.json(&["run", &graph, "--key", "the chain"]).await;
    stage.json(&["pause", "the chain"]).await;

    let paused = stage.ask(&["why", "the chain"]).await.well();
    ends_well(stage.home(), &next(&paused)[0]).await;
    let lonely = stage.ask(&["why", "the chain", "first"]).await.well();
    let enroll = next(&lonely)[0].replace("NAME", "ada");
    ends_well(stage.home(), &enroll).await;
    let waiting = stage.ask(&["why", "the chain", "second"]).await.well();
    let upstream = ends_well(stage.home(), &next(&waiting)[0]).await;

    assert!(paused.stdout.contains("paused: "), "{paused:?}");
    assert!(lonely.stdout.contains("no eligible agent: "), "{lonely:?}");
    assert!(
        enroll.starts_with("cambium enroll ada --capability skill:sim --data "),
        "{enroll}"
    );
    assert!(waiting.stdout.contains("waiting on edges: "), "{waiting:?}");
    assert!(upstream.stdout.contains("first: "), "{upstream:?}");
}

#[tokio::test]
async fn a_rerun_takes_over_what_it_does_not_reach() {
    let stage = Stage::open().await;
    let graph = stage.file("chain.yaml", CHAIN);
    let worker = stage.worker("w1", &SIM);
    let watched = ["run", &graph, "--key", "nightly", "--watch", "--json"];
    let source = stage.ask(&watched).await.well().json();

    let plan = stage
        .json(&["rerun", "nightly", "--from", "second", "--dry-run"])
        .await;
    let runs = stage.json(&["runs"]).await;
    let words = [
        "rerun", "nightly", "--from", "second", "third", "--key", "again",
    ];
    let again = stage
        .ask(&[&words[..], &["--watch", "--json"]].concat())
        .await
        .well();
    let shown = stage.json(&["run-show", "again"]).await;
    let told = stage.ask(&["run-show", "again"]).await.well();

    assert_eq!(plan["runId"], "");
    assert_eq!(
        (&plan["reused"], &plan["rerun"]),
        (&json!(["first"]), &json!(["second", "third"]))
    );
    assert_eq!(
        runs["runs"].as_array().unwrap().len(),
        1,
        "a dry run starts nothing"
    );
    assert!(
        again.stderr.contains("done again  2: second, third"),
        "{again:?}"
    );
    assert_eq!(again.json()["tasks"]["succeeded"], 3);
    assert_eq!(shown["run"]["rerunOfRunId"], source["run_id"]);
    assert_eq!(shown["run"]["tasks"]["reused"], "1");
    assert!(told.stdout.contains("1 of 3 tasks reused"), "{told:?}");
    assert_eq!(worker.stop().await, 0);
}

#[tokio::test]
async fn a_run_is_found_by_its_id_and_by_its_key() {
    let stage = Stage::open().await;
    let graph = stage.file("chain.yaml", CHAIN);
    let key = "0197b1c2-7d3e-7a00-8000-000000000001";
    let started = stage.json(&["run", &graph, "--key", key]).await;
    let id = started["runId"].as_str().unwrap();

    let by_id = stage.json(&["run-show", id]).await;
    let by_key = stage.json(&["run-show", &format!("key:{key}")]).await;
    let as_id = stage.ask(&["run-show", key]).await;
    let unknown = stage.ask(&["pause", "weekly"]).await;

    assert_eq!(by_key["run"]["runId"], id);
    assert_eq!(by_id, by_key);
    assert_eq!((as_id.code, unknown.code), (1, 1));
    assert!(unknown.sentence().contains("`weekly`"), "{unknown:?}");
}

/// As a terminal has it: `script` lends one.
async fn on_a_terminal(stage: &Stage, line: &str) -> Option<Said> {
    if Command::new("script")
        .arg("--version")
        .output()
        .await
        .is_err()
    {
        println!("skipped: script is not installed");
        return None;
    }
    let line = format!("script --quiet --return --command '{line}' /dev/null");
    let mut command = typed(stage.home(), &line);
    command.env("TERM", "xterm").env("NO_COLOR", "1");
    Some(run(command, super::BOUND).await)
}

/// Colours are set by sequences that end in `m`; others only move.
fn has_colours(text: &str) -> bool {
    let sequences = text.split("\x1b[").skip(1);
    let mut ends = sequences.filter_map(|rest| rest.chars().find(char::is_ascii_alphabetic));
    ends.any(|end| end == 'm')
}

#[tokio::test]
async fn a_run_is_drawn_on_a_terminal_and_its_failures_are_told() {
    let stage = Stage::open().await;
    let failing = "
name: failing
nodes:
  good: {requires: [skill:sim]}
  bad: {requires: [skill:sim], retry: {max_attempts: 1}, config: {simulate: {fail_code: BROKEN}}}
";
    let graph = stage.file("failing.yaml", failing);
    stage.json(&["run", &graph, "--key", "nightly"]).await;
    let worker = stage.worker("w1", &SIM);

    let line = format!("cambium watch nightly --data {}", stage.data());
    let Some(drawn) = on_a_terminal(&stage, &line).await else {
        return;
    };
    let events = stage.ask(&["watch", "nightly"]).await;

    assert_eq!((drawn.code, events.code), (1, 1), "the run failed");
    assert!(drawn.stdout.contains("failing v1  failed"), "{drawn:?}");
    assert!(drawn.stdout.contains("2/2"), "{drawn:?}");
    assert!(drawn.stdout.contains("\x1b[K"), "{drawn:?}");
    assert!(!has_colours(&drawn.stdout), "{drawn:?}");
    assert!(events.stdout.contains("task failed"), "{events:?}");
    assert!(
        !events.stdout.contains('\x1b'),
        "a pipe is no terminal: {events:?}"
    );
    assert_eq!(worker.stop().await, 0);
}

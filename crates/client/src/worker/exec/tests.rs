use bytes::Bytes;
use cambium_proto::hypha::v1::Attempt;
use tokio::sync::watch;

use super::*;
use crate::StaticToken;
use crate::worker::{Orders, Why};

fn exec(line: &str) -> Exec {
    Exec {
        program: Program::Shell(line.to_owned()),
        grace: Duration::from_millis(300),
        micro_usd_per_task: None,
        server: None,
    }
}

fn task() -> (watch::Sender<Order>, Task) {
    let (sender, orders) = Orders::channel();
    let attempt = Attempt {
        node: "draft".to_owned(),
        instructions: "write it".to_owned(),
        config: Bytes::from_static(b"{\"tone\":\"dry\"}"),
        attempt: 2,
        ..Attempt::default()
    };
    let inputs = vec![("plan".to_owned(), Bytes::from_static(b"[1]"))];
    (sender, Task::new(attempt, inputs, orders))
}

async fn run(line: &str) -> Outcome {
    let (_sender, task) = task();
    exec(line).run(task).await
}

fn output(outcome: Outcome) -> String {
    match outcome {
        Outcome::Completed { output, .. } => String::from_utf8(output.to_vec()).unwrap(),
        other => panic!("{other:?}"),
    }
}

fn failure(outcome: Outcome) -> Failure {
    match outcome {
        Outcome::Failed(failure) => failure,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn the_task_arrives_on_stdin_and_the_output_leaves_on_stdout() {
    let echoed: serde_json::Value = serde_json::from_str(&output(run("cat").await)).unwrap();

    assert_eq!(echoed["node"], "draft");
    assert_eq!(echoed["instructions"], "write it");
    assert_eq!(echoed["config"]["tone"], "dry");
    assert_eq!(echoed["inputs"]["plan"][0], 1);
    assert_eq!(echoed["attempt"], 2);
}

#[tokio::test]
async fn a_program_need_not_read_its_task() {
    assert_eq!(output(run("exec 0<&-; echo 7").await), "7");
}

#[tokio::test]
async fn arguments_are_passed_as_they_are() {
    let exec = Exec {
        program: Program::Argv(["echo", "\"a  b\""].map(str::to_owned).to_vec()),
        ..exec("")
    };
    let (_sender, task) = task();

    assert_eq!(output(exec.run(task).await), "\"a  b\"");
}

#[tokio::test]
async fn an_exit_code_fails_the_task_and_stderr_says_why() {
    let failure = failure(run("echo first >&2; echo broken >&2; exit 3").await);

    assert_eq!((failure.code.as_str(), failure.retryable), ("EXIT_3", true));
    assert_eq!(failure.detail, "first\nbroken");
}

#[tokio::test]
async fn death_by_signal_fails_the_task() {
    assert_eq!(failure(run("kill -9 $$").await).code, "SIGNAL_9");
}

#[tokio::test]
async fn a_program_that_does_not_exist_fails_the_task() {
    let exec = Exec {
        program: Program::Argv(vec!["/nowhere/at-all".to_owned()]),
        ..exec("")
    };
    let (_sender, task) = task();

    assert_eq!(failure(exec.run(task).await).code, "EXEC_FAILED");
}

#[tokio::test]
async fn endless_output_is_ended() {
    let failure = failure(run("yes").await);

    assert_eq!(
        (failure.code.as_str(), failure.retryable),
        ("OUTPUT_TOO_LARGE", false)
    );
}

#[tokio::test]
async fn a_declared_cost_is_not_measured_and_a_price_per_task_is() {
    let envelope = r#"echo '{"output":1,"usage":{"micro_usd":5}}'"#;
    let (_sender, task) = task();
    let priced = Exec {
        micro_usd_per_task: Some(9),
        ..exec(envelope)
    };

    let usage = |outcome| match outcome {
        Outcome::Completed { usage, .. } => usage.map(|usage| (usage.micro_usd, usage.measured)),
        other => panic!("{other:?}"),
    };
    assert_eq!(usage(run(envelope).await), Some((5, false)));
    assert_eq!(usage(priced.run(task).await), Some((9, true)));
}

/// What a program's environment is changed to: a name without a value is taken away.
fn environment(exec: &Exec, task: &Task) -> Vec<(String, Option<String>)> {
    let command = exec.command(task);
    let changes = command.as_std().get_envs();
    let text = |value: &std::ffi::OsStr| value.to_str().unwrap().to_owned();
    let mut changes: Vec<_> = changes
        .map(|(name, value)| (text(name), value.map(text)))
        .collect();
    changes.sort();
    changes
}

#[test]
fn a_program_never_gets_the_workers_own_credentials() {
    let (_sender, task) = task();

    let changes = environment(&exec("true"), &task);

    let what_for = [AGENT_ID, TASK_ID].map(|name| (name.to_owned(), Some(String::new())));
    let taken = [TOKEN, TOKEN_FILE].map(|name| (name.to_owned(), None));
    assert_eq!(changes, [what_for, taken].concat());
}

#[test]
fn a_program_that_may_act_as_its_agent_gets_the_attempts_token() {
    let (_sender, task) = task();
    let task = Task {
        token: Some(StaticToken::new("own")),
        workspace_id: "north".to_owned(),
        agent_id: "a1".to_owned(),
        task_id: "r1/draft".to_owned(),
        ..task
    };
    let exec = Exec {
        server: Some("http://127.0.0.1:7070".to_owned()),
        ..exec("true")
    };

    let changes = environment(&exec, &task);

    let given = |name: &str, value: &str| (name.to_owned(), Some(value.to_owned()));
    let attempt = Attempt::default();
    assert!(exec.wants_token(&attempt) && !self::exec("true").wants_token(&attempt));
    assert_eq!(
        changes,
        [
            given(AGENT_ID, "a1"),
            given(SERVER, "http://127.0.0.1:7070"),
            given(TASK_ID, "r1/draft"),
            given(TOKEN, "own"),
            (TOKEN_FILE.to_owned(), None),
            given(WORKSPACE, "north"),
        ]
    );
}

#[tokio::test]
async fn a_cancelled_program_is_asked_to_end() {
    let folder = tempfile::tempdir().unwrap();
    let (ready, asked) = (folder.path().join("ready"), folder.path().join("asked"));
    let line = format!(
        "trap 'touch {}; exit 0' TERM; touch {}; while :; do sleep 0.02; done",
        asked.display(),
        ready.display()
    );
    let (sender, task) = task();
    let running = tokio::spawn(async move { exec(&line).run(task).await });

    appears(&ready).await;
    sender.send(Order::Stop(Why::Cancelled)).unwrap();

    assert_eq!(running.await.unwrap(), Outcome::Stopped);
    assert!(asked.exists());
}

#[tokio::test]
async fn a_deaf_program_is_ended_with_all_it_started() {
    let folder = tempfile::tempdir().unwrap();
    let pids = folder.path().join("pids");
    let line = format!(
        "trap '' TERM; (trap '' TERM; sleep 600) & echo $$ $! > {0}.new; mv {0}.new {0}; wait; sleep 600",
        pids.display()
    );
    let (sender, task) = task();
    let running = tokio::spawn(async move { exec(&line).run(task).await });

    appears(&pids).await;
    sender.send(Order::Stop(Why::LeaseLost)).unwrap();

    assert_eq!(running.await.unwrap(), Outcome::Stopped);
    for pid in std::fs::read_to_string(&pids).unwrap().split_whitespace() {
        gone(pid).await;
    }
}

#[tokio::test]
async fn a_paused_program_has_no_effect_until_it_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let (ready, go) = (folder.path().join("ready"), folder.path().join("go"));
    let line = format!(
        "echo $$ > {0}.new; mv {0}.new {0}; while [ ! -e {1} ]; do sleep 0.02; done; echo 1",
        ready.display(),
        go.display()
    );
    let (sender, task) = task();
    let running = tokio::spawn(async move { exec(&line).run(task).await });

    appears(&ready).await;
    let pid = std::fs::read_to_string(&ready).unwrap();
    sender.send(Order::Pause).unwrap();
    in_state(pid.trim(), 'T').await;
    std::fs::write(&go, "").unwrap();
    assert!(!running.is_finished());
    sender.send(Order::Go).unwrap();

    assert_eq!(output(running.await.unwrap()), "1");
}

#[tokio::test]
async fn a_leftover_in_the_background_does_not_hold_the_task() {
    let start = std::time::Instant::now();

    assert_eq!(output(run("sleep 600 & echo 1").await), "1");
    assert!(start.elapsed() < Duration::from_secs(30));
}

/// Looks again and again, for at most ten seconds.
async fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let deadline = std::time::Instant::now() + Duration::from_secs(10);
    while !holds() {
        assert!(std::time::Instant::now() < deadline, "{what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

async fn appears(path: &std::path::Path) {
    until(&format!("{} appears", path.display()), || path.exists()).await;
}

fn state(pid: &str) -> Option<char> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit(") ").next()?.chars().next()
}

async fn in_state(pid: &str, wanted: char) {
    until(&format!("{pid} is {wanted}"), || state(pid) == Some(wanted)).await;
}

/// Ended, or waiting for whoever adopts orphans here to notice.
async fn gone(pid: &str) {
    until(&format!("{pid} is gone"), || {
        matches!(state(pid), None | Some('Z'))
    })
    .await;
}

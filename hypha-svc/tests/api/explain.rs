//! Why is this not running?

mod ended;
mod overview;

use std::time::Duration;

use bytes::Bytes;
use cambium_proto::hypha::v1::{
    Attempt, CancelRunRequest, ExplainRunRequest, ExplainRunResponse, ExplainTaskRequest,
    ExplainTaskResponse, FanOut, Join, JoinKind, ParkRequest, PauseRunRequest, Reason, ReasonKind,
    RegisterRequest, Retry, TaskState,
};
use cambium_testkit::wait_until;
use chrono::{DateTime, TimeDelta, Utc};
use tonic::Code;

use crate::fixture::{Fixture, WORKSPACE, Worker, change, edge_on, graph, id, registration, start};

/// The state of a task, and its reasons.
async fn whys(fixture: &Fixture, run: &str, key: &str) -> ExplainTaskResponse {
    let request = ExplainTaskRequest {
        workspace_id: WORKSPACE.to_owned(),
        task_id: format!("{run}/{key}"),
    };
    let reply = fixture.tasks.clone().explain_task(request).await.unwrap();
    reply.into_inner()
}

/// The first reason of a task.
async fn why(fixture: &Fixture, run: &str, key: &str) -> Reason {
    whys(fixture, run, key).await.reasons.remove(0)
}

async fn overview_of(fixture: &Fixture, run: &str) -> ExplainRunResponse {
    let request = ExplainRunRequest {
        workspace_id: WORKSPACE.to_owned(),
        run_id: run.to_owned(),
    };
    let reply = fixture.runs.clone().explain_run(request).await.unwrap();
    reply.into_inner()
}

async fn pause(fixture: &Fixture, run: &str) {
    let pause = PauseRunRequest {
        workspace_id: WORKSPACE.to_owned(),
        request_id: id(),
        run_id: run.to_owned(),
    };
    fixture.runs.clone().pause_run(pause).await.unwrap();
}

async fn cancel(fixture: &Fixture, run: &str, grace_ms: u32) {
    let cancel = CancelRunRequest {
        workspace_id: WORKSPACE.to_owned(),
        request_id: id(),
        run_id: run.to_owned(),
        grace_ms: Some(grace_ms),
        ..CancelRunRequest::default()
    };
    fixture.runs.clone().cancel_run(cancel).await.unwrap();
}

async fn park(worker: &mut Worker, attempt: &Attempt, signal: &str, until: Option<DateTime<Utc>>) {
    let park = ParkRequest {
        registration_id: worker.registration.clone(),
        lease: attempt.lease.clone(),
        signal: signal.to_owned(),
        until: until.map(|at| prost_types::Timestamp {
            seconds: at.timestamp(),
            nanos: 0,
        }),
        checkpoint: Bytes::new(),
    };
    worker.client.park(park).await.unwrap();
}

async fn in_state(fixture: &Fixture, run: &str, key: &str, state: TaskState) {
    wait_until(
        Duration::from_secs(10),
        "the task comes so far",
        async || fixture.tasks(run).await.get(key).map(|task| task.state()) == Some(state),
    )
    .await;
}

async fn now(fixture: &Fixture) -> DateTime<Utc> {
    let (now,): (DateTime<Utc>,) = sqlx::query_as("SELECT hypha.now()")
        .fetch_one(&fixture.database.owner)
        .await
        .unwrap();
    now
}

/// Seconds from now until what a reason names.
async fn seconds_until(fixture: &Fixture, why: &Reason) -> i64 {
    let until = why.until.as_ref().unwrap();
    until.seconds - now(fixture).await.timestamp()
}

fn assert_says(why: &Reason, parts: &[&str]) {
    for part in parts {
        assert!(why.text.contains(part), "`{part}` is missing: {}", why.text);
    }
}

fn join(kind: JoinKind) -> Option<Join> {
    Some(Join {
        kind: kind.into(),
        ..Join::default()
    })
}

#[tokio::test]
async fn each_task_says_what_it_waits_for() {
    let fixture = start().await;
    let mut worker = fixture.worker("w", &["write"]).await;
    let mut graph = graph("g", &["a", "b", "c", "d"], &["a->b", "c->b"]);
    change(&mut graph, "a").requires = vec!["write".to_owned()];
    change(&mut graph, "c").requires = vec!["write".to_owned(), "translate:is".to_owned()];
    change(&mut graph, "d").requires = vec!["write".to_owned()];
    let run = fixture.start(graph).await;
    let attempt = worker.take_node("a").await;

    let running = why(&fixture, &run, "a").await;
    let waiting = why(&fixture, &run, "b").await;
    let impossible = why(&fixture, &run, "c").await;
    let next = why(&fixture, &run, "d").await;

    assert_eq!(running.kind(), ReasonKind::Running);
    assert_eq!(waiting.kind(), ReasonKind::WaitingOnEdges);
    assert_eq!(waiting.subjects, ["a", "c"]);
    assert_says(
        &waiting,
        &["`a` (running) and `c` (queued)", "all of its 2 edges"],
    );
    assert_eq!(impossible.kind(), ReasonKind::NoEligibleAgent);
    assert_eq!(impossible.subjects, ["translate:is"]);
    assert_says(
        &impossible,
        &["`w` comes nearest and lacks `translate:is`", "enrol"],
    );
    assert_eq!(next.kind(), ReasonKind::AllBusy);
    worker.complete(&attempt).await.unwrap();
    assert_eq!(why(&fixture, &run, "a").await.kind(), ReasonKind::Ended);
    let waiting = why(&fixture, &run, "b").await;
    assert_says(&waiting, &["it waits for `c` (queued)", "1 so far"]);
}

#[tokio::test]
async fn every_join_says_when_it_starts() {
    let fixture = start().await;
    let mut graph = graph(
        "g",
        &["a", "b", "one", "any", "settled", "two", "expr"],
        &["a->one"],
    );
    for to in ["any", "settled", "two", "expr"] {
        for from in ["a", "b"] {
            graph.edges.push(edge_on(
                from,
                to,
                &[TaskState::Succeeded, TaskState::Failed],
            ));
        }
    }
    change(&mut graph, "any").join = join(JoinKind::Any);
    change(&mut graph, "settled").join = join(JoinKind::Settled);
    change(&mut graph, "two").join = Some(Join {
        kind: JoinKind::Quorum.into(),
        needed: 2,
        ..Join::default()
    });
    change(&mut graph, "expr").join = Some(Join {
        kind: JoinKind::Expr.into(),
        expr: "state.a == 'succeeded'".to_owned(),
        ..Join::default()
    });
    let run = fixture.start(graph).await;

    let rules = [
        ("one", "it starts if the edge from there fires"),
        ("any", "with the first edge that fires"),
        (
            "settled",
            "once all have ended and an edge has fired, 0 so far",
        ),
        ("two", "once 2 of its 2 edges have fired, 0 so far"),
        ("expr", "`state.a == 'succeeded'` decides"),
    ];
    for (key, rule) in rules {
        let waiting = why(&fixture, &run, key).await;
        assert_eq!(waiting.kind(), ReasonKind::WaitingOnEdges);
        assert_says(&waiting, &[rule]);
    }
}

#[tokio::test]
async fn a_node_with_many_edges_names_ten_and_counts_the_rest() {
    let fixture = start().await;
    let sources: Vec<String> = (0..30).map(|n| format!("s{n:02}")).collect();
    let mut nodes: Vec<&str> = sources.iter().map(String::as_str).collect();
    nodes.push("all");
    let edges: Vec<String> = sources.iter().map(|from| format!("{from}->all")).collect();
    let edges: Vec<&str> = edges.iter().map(String::as_str).collect();
    let run = fixture.start(graph("g", &nodes, &edges)).await;
    let mut worker = fixture.worker("w", &[]).await;
    for attempt in worker.poll(5, 10_000).await.unwrap() {
        worker.complete(&attempt).await.unwrap();
    }

    let waiting = why(&fixture, &run, "all").await;

    assert_eq!(waiting.subjects.len(), 10);
    assert_says(
        &waiting,
        &["and 15 more", "all of its 30 edges have fired, 5 so far"],
    );
}

#[tokio::test]
async fn a_fan_out_waits_for_its_members() {
    let fixture = start().await;
    let mut worker = fixture.worker("w", &[]).await;
    let mut graph = graph("g", &["each", "then"], &["each->then"]);
    graph.fail_fast = Some(false);
    change(&mut graph, "each").fan_out = Some(FanOut {
        over: "input.list".to_owned(),
    });
    let run = fixture.start_on(graph, r#"{"list":[1,2,3,4,5]}"#).await;
    let first = worker.take().await;
    worker.complete(&first).await.unwrap();
    let second = worker.take().await;
    worker.fail(&second, "BROKEN", false).await.unwrap();
    let third = worker.take().await;

    let group = whys(&fixture, &run, "each").await;
    let member = why(&fixture, &run, &format!("each[{}]", third.index.unwrap())).await;
    let behind = why(&fixture, &run, "then").await;

    assert_eq!(group.state(), TaskState::Waiting);
    let group = &group.reasons[0];
    assert_eq!(group.kind(), ReasonKind::WaitingOnMembers);
    assert_says(
        group,
        &["its 5 members: 2 have ended (1 failed), 2 are queued and 1 is running"],
    );
    assert_eq!(member.kind(), ReasonKind::Running);
    assert_says(&behind, &["`each` (2 of 5 members ended)"]);
}

#[tokio::test]
async fn what_is_being_decided_says_by_what() {
    let fixture = start().await;
    let mut graph = graph("g", &["a", "b"], &["a->b"]);
    let node = change(&mut graph, "a");
    node.when = "input.go".to_owned();
    node.fan_out = Some(FanOut {
        over: "input.list".to_owned(),
    });
    let run = fixture.start_on(graph, r#"{"go":true,"list":[1]}"#).await;
    in_state(&fixture, &run, "a[0]", TaskState::Ready).await;
    // Decisions are over before anybody can ask: this one stands still.
    for statement in [
        "DELETE FROM hypha.fan",
        "UPDATE hypha.hot SET state = 4, i = 0, until = now() + interval '1 hour'",
    ] {
        sqlx::query(statement)
            .execute(&fixture.database.owner)
            .await
            .unwrap();
    }

    let deciding = why(&fixture, &run, "a").await;
    let behind = why(&fixture, &run, "b").await;

    assert_eq!(deciding.kind(), ReasonKind::Condition);
    assert_says(
        &deciding,
        &["its condition `input.go` and the list `input[\"list\"]`"],
    );
    assert_says(&behind, &["`a` (being decided)"]);
}

#[tokio::test]
async fn a_back_off_says_how_often_why_and_until_when() {
    let fixture = start().await;
    let mut worker = fixture.worker("w", &[]).await;
    let mut graph = graph("g", &["a"], &[]);
    change(&mut graph, "a").retry = Some(Retry {
        max_attempts: Some(4),
        initial_ms: Some(600_000),
        cap_ms: Some(600_000),
        ..Retry::default()
    });
    let run = fixture.start(graph).await;
    let attempt = worker.take().await;
    worker.fail(&attempt, "FLAKY", true).await.unwrap();

    let reply = whys(&fixture, &run, "a").await;

    assert_eq!(reply.state(), TaskState::BackingOff);
    let backing_off = &reply.reasons[0];
    assert_eq!(backing_off.kind(), ReasonKind::BackingOff);
    assert_eq!(backing_off.subjects, ["FLAKY"]);
    assert_says(
        backing_off,
        &[
            "failed 1 of at most 4 times, last with FLAKY",
            "tried again at 20",
        ],
    );
    assert!((290..=600).contains(&seconds_until(&fixture, backing_off).await));
}

#[tokio::test]
async fn a_parked_task_names_its_signal_and_its_moment() {
    let fixture = start().await;
    let mut worker = fixture.worker("w", &[]).await;
    let run = fixture.start(graph("g", &["a", "b"], &[])).await;
    let a = worker.take_node("a").await;
    let b = worker.take_node("b").await;
    park(
        &mut worker,
        &a,
        "approval",
        Some(now(&fixture).await + TimeDelta::hours(1)),
    )
    .await;
    park(&mut worker, &b, "delivery", None).await;

    let timed = why(&fixture, &run, "a").await;
    let endless = why(&fixture, &run, "b").await;

    assert_eq!(
        (timed.kind(), endless.kind()),
        (ReasonKind::Parked, ReasonKind::Parked)
    );
    assert_eq!(
        (&timed.subjects[..], &endless.subjects[..]),
        (&["approval".to_owned()][..], &["delivery".to_owned()][..])
    );
    assert_says(
        &timed,
        &[
            "signal `approval`",
            "or goes on without it at 20",
            "SignalRun",
        ],
    );
    assert!((3_500..=3_600).contains(&seconds_until(&fixture, &timed).await));
    assert!(endless.until.is_none() && !endless.text.contains("without"));
}

#[tokio::test]
async fn a_paused_run_says_so() {
    let fixture = start().await;
    let run = fixture.start(graph("g", &["a", "b"], &["a->b"])).await;
    pause(&fixture, &run).await;

    let reply = overview_of(&fixture, &run).await;
    let held = whys(&fixture, &run, "a").await;
    let waiting = whys(&fixture, &run, "b").await;

    assert_eq!(reply.reasons[0].kind(), ReasonKind::Paused);
    assert_says(
        &reply.reasons[0],
        &["1 task is ready meanwhile", "ResumeRun"],
    );
    assert_eq!(reply.more, 0);
    assert_eq!(held.state(), TaskState::Ready);
    assert_eq!(held.reasons[0].kind(), ReasonKind::Paused);
    let kinds: Vec<_> = waiting.reasons.iter().map(Reason::kind).collect();
    assert_eq!(kinds, [ReasonKind::WaitingOnEdges, ReasonKind::Paused]);
    assert_says(&waiting.reasons[0], &["`a` (held by the pause)"]);
}

#[tokio::test]
async fn a_task_that_nobody_can_do_says_what_is_missing() {
    let fixture = start().await;
    let mut graph = graph("g", &["a"], &[]);
    change(&mut graph, "a").requires = vec!["read".to_owned(), "write".to_owned()];
    let run = fixture.start(graph).await;

    let without_agents = why(&fixture, &run, "a").await;
    fixture.agent("reader", &["read"]).await;
    fixture.agent("sleeper", &[]).await;
    let without_one_that_can = why(&fixture, &run, "a").await;
    fixture.agent("both", &["write", "read", "sing"]).await;
    let without_worker = why(&fixture, &run, "a").await;

    for why in [&without_agents, &without_one_that_can, &without_worker] {
        assert_eq!(why.kind(), ReasonKind::NoEligibleAgent);
    }
    assert_says(&without_agents, &["the workspace has no agent"]);
    assert_eq!(without_agents.subjects, ["read", "write"]);
    assert_says(
        &without_one_that_can,
        &["`reader` comes nearest and lacks `write`"],
    );
    assert_eq!(without_one_that_can.subjects, ["write"]);
    assert_says(
        &without_worker,
        &["`both` could do it", "no worker is registered", "start one"],
    );
    assert!(without_worker.subjects.is_empty());
}

#[tokio::test]
async fn a_worker_that_offers_less_than_its_agents_can_do_or_is_drained_does_not_count() {
    let fixture = start().await;
    let mut graph = graph("g", &["a"], &[]);
    change(&mut graph, "a").requires = vec!["write".to_owned()];
    let run = fixture.start(graph).await;
    let agent = fixture.agent("both", &["read", "write"]).await;
    let mut workers = fixture.workers(std::slice::from_ref(&agent));
    let full = registration("w", std::slice::from_ref(&agent));
    let narrow = RegisterRequest {
        capabilities: vec!["read".to_owned()],
        ..registration("w", std::slice::from_ref(&agent))
    };

    workers.register(full).await.unwrap();
    let offered = why(&fixture, &run, "a").await;
    workers.register(narrow).await.unwrap();
    let withheld = why(&fixture, &run, "a").await;

    assert_eq!(offered.kind(), ReasonKind::AllBusy);
    assert_eq!(withheld.kind(), ReasonKind::NoEligibleAgent);
    assert_says(&withheld, &["no worker is registered"]);
}

#[tokio::test]
async fn a_task_behind_busy_workers_says_who_they_are_and_what_comes_first() {
    let fixture = start().await;
    let agent = fixture.agent("solo", &[]).await;
    let one_slot = RegisterRequest {
        slots: 1,
        ..registration("w", std::slice::from_ref(&agent))
    };
    let mut client = fixture.workers(std::slice::from_ref(&agent));
    let registered = client.register(one_slot).await.unwrap().into_inner();
    let mut worker = Worker {
        client,
        agent,
        registration: registered.registration_id,
    };
    let run = fixture.start(graph("g", &["a", "b", "c"], &[])).await;
    let attempt = worker.take_node("a").await;

    let next = whys(&fixture, &run, "b").await.reasons;
    let last = whys(&fixture, &run, "c").await.reasons;
    worker.fail(&attempt, "BROKEN", false).await.unwrap();

    let kinds = |reasons: &[Reason]| reasons.iter().map(Reason::kind).collect::<Vec<_>>();
    assert_eq!(kinds(&next), [ReasonKind::AllBusy]);
    assert_eq!(next[0].place, 0);
    assert_eq!(next[0].subjects, ["w"]);
    assert_says(
        &next[0],
        &["every worker that could do it is busy (`w` holds 1 of 1 slot)"],
    );
    assert_eq!(kinds(&last), [ReasonKind::AllBusy, ReasonKind::Queued]);
    assert_eq!((last[0].place, last[1].place), (1, 1));
    assert_says(
        &last[1],
        &["1 task with the same needs is served before it"],
    );
}

#[tokio::test]
async fn workers_that_do_not_ask_are_told_from_busy_ones() {
    let fixture = start().await;
    let _silent = fixture.worker("silent", &[]).await;
    let run = fixture.start(graph("g", &["a"], &[])).await;

    let silent = why(&fixture, &run, "a").await;

    assert_eq!(silent.kind(), ReasonKind::AllBusy);
    assert_says(
        &silent,
        &[
            "asks for work here (`silent` holds 0 of 100 slots)",
            "see that they run",
        ],
    );
}

#[tokio::test]
async fn a_running_task_says_where_and_until_when_its_lease_lasts() {
    let fixture = start().await;
    let mut worker = fixture.worker("w", &[]).await;
    let run = fixture.start(graph("g", &["a"], &[])).await;
    worker.take().await;

    let reply = whys(&fixture, &run, "a").await;

    assert_eq!(reply.state(), TaskState::Running);
    let running = &reply.reasons[0];
    assert_eq!(running.kind(), ReasonKind::Running);
    assert_eq!(running.subjects, ["w"]);
    assert_says(
        running,
        &[
            "at agent `w` of worker `w`, in attempt 1 of 3",
            "lasts until 20",
        ],
    );
    assert!((0..=10).contains(&seconds_until(&fixture, running).await));
}

#[tokio::test]
async fn what_runs_in_a_cancelled_run_says_when_its_grace_is_over() {
    let fixture = start().await;
    let mut worker = fixture.worker("w", &[]).await;
    let run = fixture.start(graph("g", &["a", "b"], &["a->b"])).await;
    worker.take().await;
    cancel(&fixture, &run, 60_000).await;

    let task = why(&fixture, &run, "a").await;
    let whole = overview_of(&fixture, &run).await;

    assert_eq!(task.kind(), ReasonKind::Cancelling);
    assert_says(
        &task,
        &[
            "told to stop, because the run is being cancelled",
            "it is revoked at 20",
        ],
    );
    assert!((30..=60).contains(&seconds_until(&fixture, &task).await));
    let kinds: Vec<_> = whole.reasons.iter().map(Reason::kind).collect();
    assert_eq!(kinds, [ReasonKind::Cancelling, ReasonKind::Cancelling]);
    assert_eq!(whole.reasons[0].task, "");
    assert_eq!(whole.reasons[0].until, task.until);
}

#[tokio::test]
async fn what_runs_in_a_run_that_fails_fast_says_so() {
    let fixture = start().await;
    let mut worker = fixture.worker("w", &[]).await;
    let run = fixture.start(graph("g", &["a", "b"], &[])).await;
    let a = worker.take_node("a").await;
    worker.take_node("b").await;
    worker.fail(&a, "BROKEN", false).await.unwrap();

    let task = why(&fixture, &run, "b").await;
    let whole = overview_of(&fixture, &run).await;

    assert_eq!(task.kind(), ReasonKind::Cancelling);
    assert_says(&task, &["told to stop, because the run fails fast"]);
    assert_says(
        &whole.reasons[0],
        &["the run fails fast, since `a` failed (BROKEN)"],
    );
}

#[tokio::test]
async fn a_task_that_is_not_there_is_not_found() {
    let fixture = start().await;
    let run = fixture.start(graph("g", &["a"], &[])).await;
    let ask = |task: String| ExplainTaskRequest {
        workspace_id: WORKSPACE.to_owned(),
        task_id: task,
    };
    let mut tasks = fixture.tasks.clone();

    let absent = tasks
        .explain_task(ask(format!("{run}/ghost")))
        .await
        .unwrap_err();
    let member = tasks
        .explain_task(ask(format!("{run}/a[3]")))
        .await
        .unwrap_err();
    let broken = tasks
        .explain_task(ask("no task".to_owned()))
        .await
        .unwrap_err();

    assert_eq!(
        (absent.code(), member.code()),
        (Code::NotFound, Code::NotFound)
    );
    assert_eq!(broken.code(), Code::InvalidArgument);
}

//! Who gets the work, of those who can do it; and who gets none.

use std::collections::BTreeMap;
use std::time::Duration;

use cambium_proto::hypha::v1::watch_run_response::Item;
use cambium_proto::hypha::v1::{
    ExplainTaskRequest, Graph, LeaseState, Reason, ReasonKind, RunEventKind, TaskState,
    WatchRunRequest,
};
use cambium_proto::signal::v1::signal::Payload;
use cambium_proto::signal::v1::{AgentRetired, LoadAdvice, StandingChanged};
use cambium_testkit::wait_until;
use prost_types::Timestamp;
use tonic::Code;

use crate::fixture::{Fixture, WORKSPACE, Worker, change, graph, refusal, registration, start};

const BOUND: Duration = Duration::from_secs(2);

fn standing(agent: &str, seq: i64) -> StandingChanged {
    StandingChanged {
        agent_id: agent.to_owned(),
        seq,
        trust: 0.5,
        generosity: 0.5,
        health: 1.0,
        ..StandingChanged::default()
    }
}

async fn tell(fixture: &Fixture, standing: StandingChanged) {
    let told = Payload::StandingChanged(standing);
    fixture
        .deliver("immune", "coord.standing_changed", told)
        .await;
}

/// A worker that asks for work for all of these agents at once.
async fn team(fixture: &Fixture, agents: &[String]) -> Worker {
    let mut client = fixture.workers(agents);
    let reply = client.register(registration("team", agents)).await.unwrap();
    Worker {
        client,
        agent: String::new(),
        registration: reply.into_inner().registration_id,
    }
}

/// Nodes that wait for nothing.
pub(crate) fn loose(name: &str, count: usize) -> Graph {
    let keys: Vec<String> = (0..count).map(|at| format!("{name}{at}")).collect();
    let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
    graph(name, &keys, &[])
}

/// Has one task after the other done, and counts who did how many.
async fn done_by(fixture: &Fixture, team: &mut Worker, count: usize) -> BTreeMap<String, usize> {
    let mut done = BTreeMap::new();
    fixture.start(loose("one", count)).await;
    for _ in 0..count {
        let attempt = team.take().await;
        team.complete(&attempt).await.unwrap();
        *done.entry(attempt.agent_id).or_default() += 1;
    }
    done
}

#[tokio::test]
async fn of_two_alike_the_more_generous_gets_ninety_five_of_a_hundred() {
    let fixture = start().await;
    let agents = [
        fixture.agent("ada", &[]).await,
        fixture.agent("bob", &[]).await,
    ];
    for (agent, generosity) in agents.iter().zip([0.3, 0.8]) {
        let told = StandingChanged {
            generosity,
            ..standing(agent, 1)
        };
        tell(&fixture, told).await;
    }
    let mut team = team(&fixture, &agents).await;

    let done = done_by(&fixture, &mut team, 100).await;

    assert_eq!([done[&agents[0]], done[&agents[1]]], [5, 95]);
}

#[tokio::test]
async fn a_newcomer_gets_work_within_twenty_assignments() {
    let fixture = start().await;
    let agents = [
        fixture.agent("old", &[]).await,
        fixture.agent("new", &[]).await,
    ];
    for (agent, score) in agents.iter().zip([1.0, 0.0]) {
        let told = StandingChanged {
            trust: score,
            generosity: score,
            health: score,
            ..standing(agent, 1)
        };
        tell(&fixture, told).await;
    }
    let mut team = team(&fixture, &agents).await;

    let done = done_by(&fixture, &mut team, 20).await;

    assert_eq!(done[&agents[1]], 1);
}

#[tokio::test]
async fn with_more_work_than_slots_nobody_idles() {
    let fixture = start().await;
    let mut generous = fixture.worker("generous", &[]).await;
    let mut hoarder = fixture.worker("hoarder", &[]).await;
    for (worker, generosity) in [(&generous, 0.9), (&hoarder, 0.1)] {
        let told = StandingChanged {
            generosity,
            ..standing(&worker.agent, 1)
        };
        tell(&fixture, told).await;
    }
    fixture.start(loose("much", 4)).await;

    let first = generous.poll(2, 20_000).await.unwrap();
    let second = hoarder.poll(2, 20_000).await.unwrap();

    assert_eq!([first.len(), second.len()], [2, 2]);
}

#[tokio::test]
async fn what_a_node_prefers_outweighs_generosity() {
    let fixture = start().await;
    let agents = [
        fixture.agent("ada", &["latin"]).await,
        fixture.agent("bob", &[]).await,
    ];
    let told = StandingChanged {
        generosity: 0.9,
        ..standing(&agents[1], 1)
    };
    tell(&fixture, told).await;
    let mut team = team(&fixture, &agents).await;
    let mut graph = graph("g", &["a", "b"], &["a->b"]);
    change(&mut graph, "a").prefers = vec!["latin".to_owned()];
    fixture.start(graph).await;

    let preferring = team.take_node("a").await;
    team.complete(&preferring).await.unwrap();
    let indifferent = team.take_node("b").await;

    assert_eq!(preferring.agent_id, agents[0]);
    assert_eq!(indifferent.agent_id, agents[1]);
}

#[tokio::test]
async fn a_quarantined_agent_loses_what_it_holds_and_gets_nothing_more() {
    let fixture = start().await;
    let mut bad = fixture.worker("bad", &[]).await;
    let run = fixture.start(loose("g", 2)).await;
    let held = bad.take().await;

    let told = StandingChanged {
        quarantined: true,
        ..standing(&bad.agent, 2)
    };
    tell(&fixture, told).await;
    // Word that is older changes nothing.
    tell(&fixture, standing(&bad.agent, 1)).await;

    let is_lost = async || bad.clone().heartbeat(&held).await == LeaseState::Lost;
    wait_until(BOUND, "the lease is fenced", is_lost).await;
    assert!(bad.finds_nothing().await);
    let late = bad.complete(&held).await.unwrap_err();
    assert_eq!(refusal(&late), (Code::Aborted, "LEASE_LOST".to_owned()));
    let tasks = fixture.tasks(&run).await;
    let again = &tasks[&held.node];
    assert_eq!(
        (again.state(), again.failures, again.lease_losses),
        (TaskState::Ready, 0, 0)
    );
    assert!(
        kinds(&fixture, &run)
            .await
            .contains(&RunEventKind::TaskRevoked)
    );

    let mut good = fixture.worker("good", &[]).await;
    let taken = good.poll(2, 20_000).await.unwrap();
    assert_eq!(taken.len(), 2);
    for attempt in &taken {
        good.complete(attempt).await.unwrap();
    }

    tell(&fixture, standing(&bad.agent, 3)).await;
    fixture.start(loose("h", 1)).await;
    let back = bad.take().await;
    assert_eq!(back.agent_id, bad.agent);
}

#[tokio::test]
async fn only_immune_says_how_an_agent_stands() {
    let fixture = start().await;
    let worker = fixture.worker("w", &[]).await;
    let told = Payload::StandingChanged(StandingChanged {
        quarantined: true,
        ..standing(&worker.agent, 1)
    });

    let refused = fixture
        .try_deliver("genesis", "coord.standing_changed", told)
        .await
        .unwrap_err();

    assert_eq!(
        refusal(&refused),
        (Code::PermissionDenied, "SIGNAL_NOT_YOURS".to_owned())
    );
    let known = fixture.count("SELECT count(*) FROM hypha.standing").await;
    assert_eq!(known, 0);
}

async fn kinds(fixture: &Fixture, run: &str) -> Vec<RunEventKind> {
    let request = WatchRunRequest {
        workspace_id: WORKSPACE.to_owned(),
        run_id: run.to_owned(),
        after_seq: 0,
    };
    let mut stream = fixture
        .runs
        .clone()
        .watch_run(request)
        .await
        .unwrap()
        .into_inner();
    let mut kinds = Vec::new();
    while kinds.last() != Some(&RunEventKind::TaskRevoked) {
        let reply = stream.message().await.unwrap().unwrap();
        if let Some(Item::Event(event)) = reply.item {
            kinds.push(event.kind());
        }
    }
    kinds
}

#[tokio::test]
async fn another_replica_hears_of_a_quarantine_too() {
    let fixture = start().await;
    let there = fixture.replica().await;
    let bad = fixture.worker("bad", &[]).await;
    let mut bad = there.same_worker(&bad);
    fixture.start(loose("g", 1)).await;
    let held = bad.take().await;

    let told = StandingChanged {
        quarantined: true,
        ..standing(&bad.agent, 1)
    };
    tell(&fixture, told).await;

    let is_lost = async || bad.clone().heartbeat(&held).await == LeaseState::Lost;
    wait_until(BOUND, "the lease is fenced", is_lost).await;
    assert!(bad.finds_nothing().await);
}

#[tokio::test]
async fn an_agent_that_leaves_gets_nothing_new_and_may_finish() {
    let fixture = start().await;
    let mut worker = fixture.worker("w", &[]).await;
    fixture.start(loose("g", 2)).await;
    let held = worker.take().await;
    let leaves = AgentRetired {
        agent_id: worker.agent.clone(),
        draining: true,
    };

    fixture
        .deliver(
            "genesis",
            "coord.agent_retired",
            Payload::AgentRetired(leaves),
        )
        .await;

    let idle = async || worker.clone().finds_nothing().await;
    wait_until(BOUND * 5, "nothing more is given to it", idle).await;
    worker.complete(&held).await.unwrap();
}

#[tokio::test]
async fn advice_bounds_what_an_agent_holds() {
    let fixture = start().await;
    let mut worker = fixture.worker("w", &[]).await;
    // Of a hundred slots, two.
    let advice = LoadAdvice {
        agent_id: worker.agent.clone(),
        seq: 1,
        share: 0.02,
    };
    fixture
        .deliver("immune", "coord.load_advice", Payload::LoadAdvice(advice))
        .await;
    fixture.start(loose("g", 5)).await;

    let held = worker.poll(5, 20_000).await.unwrap();

    assert_eq!(held.len(), 2);
    assert!(worker.finds_nothing().await);
    worker.complete(&held[0]).await.unwrap();
    assert_eq!(worker.poll(5, 20_000).await.unwrap().len(), 1);
}

async fn why(fixture: &Fixture, task: String) -> Reason {
    let request = ExplainTaskRequest {
        workspace_id: WORKSPACE.to_owned(),
        task_id: task,
    };
    let reply = fixture.tasks.clone().explain_task(request).await.unwrap();
    reply.into_inner().reasons.remove(0)
}

#[tokio::test]
async fn a_task_says_that_all_who_could_do_it_are_in_quarantine() {
    let fixture = start().await;
    let worker = fixture.worker("ada", &["write"]).await;
    let until = Timestamp {
        seconds: 4_000_000_000,
        nanos: 0,
    };
    let told = StandingChanged {
        quarantined: true,
        quarantine_end_time: Some(until),
        ..standing(&worker.agent, 1)
    };
    tell(&fixture, told).await;
    let mut graph = graph("g", &["a"], &[]);
    change(&mut graph, "a").requires = vec!["write".to_owned()];
    let run = fixture.start(graph).await;

    let reason = why(&fixture, format!("{run}/a")).await;

    assert_eq!(reason.kind(), ReasonKind::Quarantined);
    assert_eq!(reason.subjects, ["ada"]);
    assert_eq!(reason.until, Some(until));
    assert!(
        reason
            .text
            .contains("`ada` that could do it is in quarantine"),
        "{}",
        reason.text
    );
}

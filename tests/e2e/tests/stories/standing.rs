//! What a run does to the standing of those who took part: through hypha's outbox, over the wire, into immune's ledger.

use std::time::Duration;

use cambium_e2e::hand::{Hand, WORKSPACE};
use cambium_e2e::part::Alone;
use cambium_proto::hypha::v1::{Attempt, Run, RunState};
use cambium_proto::immune::v1::{LedgerEntry, ScoreKind};
use cambium_proto::signal::v1::{Gratitude, Signal, signal::Payload};
use cambium_testkit::wait_until;
use prost_types::Timestamp;
use tokio::time::sleep;
use uuid::Uuid;

use crate::house::desk::Desk;
use crate::house::graphs::{at, gated, graph};
use crate::house::judge::{Judge, millionths};
use crate::house::{House, Plan};

const STEP: Duration = Duration::from_secs(60);
const POLL: Duration = Duration::from_secs(5);
const START: i64 = 500_000;
/// How long immune stays away.
const AWAY: Duration = Duration::from_secs(30);

async fn house() -> House {
    House::open(Plan::default().beside("immune")).await
}

/// An agent, and the worker by hand that works for it alone.
async fn hand(house: &House, name: &str) -> (String, Hand) {
    let agent = house.agent(name).await;
    let hand = house.hand(name, &agent).await;
    (agent, hand)
}

/// Takes the task that is ready: it must be this one.
async fn take(hand: &Hand, node: &str) -> Attempt {
    let mut held = Vec::new();
    wait_until(STEP, "a task is ready", async || {
        held = hand.poll(1, POLL).await.unwrap();
        !held.is_empty()
    })
    .await;
    let attempt = held.remove(0);
    assert_eq!(attempt.node, node);
    attempt
}

async fn complete(hand: &Hand, node: &str) {
    let attempt = take(hand, node).await;
    hand.complete(attempt.lease.unwrap(), "null", 1, 0)
        .await
        .unwrap();
}

/// The deltas of an agent's generosity, in millionths.
async fn deltas(judge: &Judge, agent: &str) -> Vec<i64> {
    let entries = judge.generosity(agent).await;
    entries
        .iter()
        .map(|entry| millionths(entry.delta))
        .collect()
}

async fn generosity(judge: &Judge, agent: &str) -> i64 {
    millionths(judge.standing(agent).await.generosity)
}

/// Rows follow on each other without a gap, from the start to what the agent has now.
fn assert_replays(entries: &[LedgerEntry], start: i64, now: i64) {
    let mut score = start;
    for (seq, entry) in (1..).zip(entries) {
        assert_eq!((entry.seq, millionths(entry.before)), (seq, score));
        score = (score + millionths(entry.delta)).clamp(0, 1_000_000);
        assert_eq!(millionths(entry.after), score, "{entry:?}");
    }
    assert_eq!(score, now);
}

async fn ended(desk: &Desk, run: &str, state: RunState) -> Run {
    let run = desk.ended(run, STEP).await;
    assert_eq!(run.state(), state);
    run
}

#[tokio::test]
async fn whoever_feeds_three_others_is_raised_three_times_and_sinks_lower_nobody() {
    let house = house().await;
    let (desk, judge) = (house.desk(0), house.judge());
    let (ada, giver) = hand(&house, "ada").await;
    let mut others = Vec::new();
    for name in ["bob", "cyd", "dan"] {
        others.push(hand(&house, name).await);
    }

    let run = desk.start(&graph("fan", "a->b a->c a->d"), "null").await;
    complete(&giver, "a").await;
    for (_, taker) in &others {
        let held = taker.poll(1, POLL).await.unwrap().remove(0);
        let lease = held.lease.unwrap();
        taker.complete(lease, "null", 1, 0).await.unwrap();
    }
    let run = ended(&desk, &run, RunState::Succeeded).await;
    judge.until_applied(&run, &[&ada]).await;

    assert_eq!((run.gratitude, run.dead_ends), (3, 0));
    assert_eq!(deltas(&judge, &ada).await, [30_000; 3]);
    assert_eq!(generosity(&judge, &ada).await, START + 90_000);
    for (other, _) in &others {
        assert_eq!(deltas(&judge, other).await, Vec::<i64>::new());
        assert_eq!(generosity(&judge, other).await, START);
    }
}

#[tokio::test]
async fn whoever_consumed_and_only_failed_is_lowered_once() {
    let house = house().await;
    let (desk, judge) = (house.desk(0), house.judge());
    let ((ada, giver), (bob, taker)) = (hand(&house, "ada").await, hand(&house, "bob").await);

    let run = desk.start(&graph("pair", "a->b"), "null").await;
    complete(&giver, "a").await;
    let lease = take(&taker, "b").await.lease.unwrap();
    taker.fail(lease, "BROKEN", false, 1).await.unwrap();
    let run = ended(&desk, &run, RunState::Failed).await;
    judge.until_applied(&run, &[&bob]).await;

    assert_eq!((run.gratitude, run.dead_ends), (0, 1));
    assert_eq!(deltas(&judge, &bob).await, [-20_000]);
    assert_eq!(generosity(&judge, &bob).await, START - 20_000);
    assert_eq!(generosity(&judge, &ada).await, START);
}

#[tokio::test]
async fn a_cancelled_run_and_a_consumer_that_never_ran_lower_nobody() {
    let house = house().await;
    let (desk, judge) = (house.desk(0), house.judge());
    let ((ada, giver), (bob, taker)) = (hand(&house, "ada").await, hand(&house, "bob").await);

    let cancelled = desk.start(&graph("cancelled", "a->b b->c"), "null").await;
    complete(&giver, "a").await;
    let held = take(&taker, "b").await.lease.unwrap();
    desk.cancel(&cancelled, Duration::ZERO).await;
    let cancelled = ended(&desk, &cancelled, RunState::Cancelled).await;
    let late = taker.complete(held, "null", 1, 0).await;

    let mut skipping = graph("skipping", "a->b b->c");
    at(&mut skipping, "c").when = "false".to_owned();
    let skipped = desk.start(&skipping, "null").await;
    complete(&giver, "a").await;
    complete(&taker, "b").await;
    let skipped = ended(&desk, &skipped, RunState::Succeeded).await;
    judge.until_applied(&skipped, &[&ada, &bob]).await;

    assert!(late.is_err(), "its run is over");
    assert_eq!((cancelled.gratitude, cancelled.dead_ends), (0, 0));
    assert_eq!((skipped.gratitude, skipped.dead_ends), (1, 0));
    assert_eq!(deltas(&judge, &ada).await, [30_000]);
    assert_eq!(deltas(&judge, &bob).await, Vec::<i64>::new());
    assert_eq!(generosity(&judge, &bob).await, START);
}

#[tokio::test]
async fn whoever_stands_at_both_ends_of_an_edge_earns_nothing_and_the_row_says_so() {
    let house = house().await;
    let (desk, judge) = (house.desk(0), house.judge());
    let (ada, alone) = hand(&house, "ada").await;

    let run = desk.start(&graph("alone", "a->b"), "null").await;
    complete(&alone, "a").await;
    complete(&alone, "b").await;
    let run = ended(&desk, &run, RunState::Succeeded).await;
    judge.until_applied(&run, &[&ada]).await;

    let entries = judge.generosity(&ada).await;
    assert_eq!((run.gratitude, entries.len()), (1, 1));
    assert_eq!(
        (entries[0].delta, entries[0].counterpart_agent_id.as_str()),
        (0.0, &*ada)
    );
    assert!(!entries[0].reason.is_empty(), "{entries:?}");
    assert_eq!(generosity(&judge, &ada).await, START);
}

/// One gratitude as hypha sends it.
fn gratitude(giver: &str, receiver: &str, emitted_at: i64) -> Signal {
    let run = Uuid::now_v7().to_string();
    let payload = Gratitude {
        from_task_id: format!("{run}/a"),
        to_task_id: format!("{run}/b"),
        from_agent_id: giver.to_owned(),
        to_agent_id: receiver.to_owned(),
        workflow_run_id: run.clone(),
    };
    Signal {
        signal_id: Uuid::now_v7().to_string(),
        r#type: "coord.gratitude".to_owned(),
        class: 1,
        intensity: 0.5,
        workspace_id: WORKSPACE.to_owned(),
        workflow_run_id: run,
        source: "hypha".to_owned(),
        emit_time: Some(Timestamp {
            seconds: emitted_at,
            nanos: 0,
        }),
        payload: Some(Payload::Gratitude(payload)),
        ..Signal::default()
    }
}

#[tokio::test]
async fn a_delivery_that_comes_three_times_counts_once() {
    let house = house().await;
    let judge = house.judge();
    let (ada, bob) = (house.agent("ada").await, house.agent("bob").await);
    let emitted_at = house
        .number("SELECT extract(epoch FROM now())::bigint")
        .await;
    let signals = vec![gratitude(&ada, &bob, emitted_at); 2];

    for _ in 0..3 {
        house.deliver("immune", "hypha", signals.clone()).await;
    }

    assert_eq!(deltas(&judge, &ada).await, [30_000]);
    assert_eq!(generosity(&judge, &ada).await, START + 30_000);
}

#[tokio::test]
async fn nothing_is_lost_while_immune_is_away() {
    let mut house = house().await;
    let (ada, bob) = (house.agent("ada").await, house.agent("bob").await);
    let desk = house.desk(0);
    let worker = |label: &str| Alone {
        label: label.to_owned(),
        slots: 8,
        gate: Some(house.gate()),
        ..Alone::default()
    };
    let _first = house.worker(0, &ada, worker("first")).await;
    let _second = house.worker(1, &bob, worker("second")).await;
    let run = desk.start(&gated("fleet", 40), "null").await;
    desk.until_gated(&run, 16).await;

    house.kill_neighbour("immune").await;
    house.open_gate();
    let run = ended(&desk, &run, RunState::Succeeded).await;
    sleep(AWAY).await; // so long it stays away
    house.launch_neighbour("immune").await;
    let judge = house.judge();
    judge.until_applied(&run, &[&ada, &bob]).await;

    assert_eq!((run.gratitude, run.dead_ends), (80, 0));
    let mut settled = 0;
    for agent in [&ada, &bob] {
        let standing = judge.standing(agent).await;
        let entries = judge.generosity(agent).await;
        assert_replays(&entries, START, millionths(standing.generosity));
        let trust = judge.ledger(agent, ScoreKind::Trust).await;
        settled += trust
            .iter()
            .filter(|one| one.event == "task_succeeded")
            .count();
    }
    assert_eq!(settled, 42, "each task is evidence, once");
    println!("80 handoffs and 42 settlements outlived {AWAY:?} without immune");
}

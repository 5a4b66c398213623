//! Watching a run from where a watcher was cut off, at whichever replica is there, and from before what is kept.

use std::time::Duration;

use cambium_client::refusal;
use cambium_e2e::hand::Hand;
use cambium_proto::hypha::v1::{RunEvent, RunEventKind, RunState};
use tokio::time::timeout;
use tonic::Code;

use crate::house::account::Account;
use crate::house::desk::Watch;
use crate::house::graphs::graph;
use crate::house::{House, Plan};

const STEP: Duration = Duration::from_secs(30);

async fn do_next(hand: &Hand, node: &str) {
    let [task] = hand.poll(1, STEP / 2).await.unwrap().try_into().unwrap();
    assert_eq!(task.node, node);
    let lease = task.lease.unwrap();
    hand.complete(lease, "null", 1, 0).await.unwrap();
}

/// The next so many events.
async fn read(watch: &mut Watch, number: usize) -> Vec<RunEvent> {
    let mut events = Vec::new();
    while events.len() < number {
        let event = timeout(STEP, watch.next()).await.expect("an event comes");
        events.push(event.unwrap().expect("the run goes on"));
    }
    events
}

fn numbers(events: &[RunEvent]) -> Vec<i64> {
    events.iter().map(|event| event.seq).collect()
}

#[tokio::test]
async fn a_watcher_that_was_cut_off_goes_on_at_the_other_replica() {
    let mut house = House::open(Plan::default()).await;
    let agent = house.agent("ada").await;
    let hand = house.hand("w", &agent).await.through(1);
    let (here, there) = (house.desk(0), house.desk(1));
    let run = there.start(&graph("chain", "a->b"), "null").await;
    let mut watch = here.watch(&run, 0).await.unwrap();
    let mut seen = read(&mut watch, 2).await;

    house.kill(0).await;
    let cut = timeout(STEP, watch.next()).await.expect("a cut is told");
    assert!(cut.is_err(), "a watcher that was cut off is told no end");
    do_next(&hand, "a").await; // events 3 and 4, and more
    let mut watch = there.watch(&run, 2).await.unwrap();
    seen.extend(read(&mut watch, 2).await);
    assert_eq!(numbers(&seen), [1, 2, 3, 4]);
    do_next(&hand, "b").await;
    seen.extend(timeout(STEP, watch.rest()).await.expect("the end comes"));
    house.launch(0).await;

    let last = seen.last().unwrap().clone();
    assert_eq!(last.kind(), RunEventKind::RunEnded);
    assert_eq!(last.run_state(), RunState::Succeeded);
    Account::of(&seen);
    for desk in [&here, &there] {
        let again = timeout(STEP, desk.events(&run)).await;
        assert_eq!(again.unwrap(), seen, "the whole history, then its end");
        let nothing = desk.watch(&run, last.seq).await.unwrap();
        assert_eq!(timeout(STEP, nothing.rest()).await.unwrap(), []);
    }
    println!(
        "{} events in their order over a cut, a kill and a restart",
        seen.len()
    );
}

#[tokio::test]
async fn a_watcher_from_before_what_is_kept_is_told_the_lowest_sequence() {
    let house = House::open(Plan::default().set("HYPHA_EVENT_LIMIT", 3)).await;
    let agent = house.agent("ada").await;
    let hand = house.hand("w", &agent).await;
    let (here, there) = (house.desk(0), house.desk(1));
    let run = here.start(&graph("chain", "a->b b->c"), "null").await;
    for node in ["a", "b", "c"] {
        do_next(&hand, node).await;
    }
    let ended = here.ended(&run, STEP).await;

    for desk in [&here, &there] {
        let refused = match desk.watch(&run, 0).await {
            Ok(mut watch) => watch.next().await.unwrap_err(),
            Err(status) => status,
        };
        let named = refused.message().rsplit(' ').next().unwrap();
        let lowest: i64 = named.parse().unwrap();
        assert_eq!(refused.code(), Code::OutOfRange);
        assert_eq!(refusal::reason(&refused), "SEQUENCE_TOO_OLD");
        assert!(
            (2..=ended.seq - 2).contains(&lowest),
            "{lowest}, of {}",
            ended.seq
        );
        let kept = desk.watch(&run, lowest - 1).await.unwrap();
        let kept = timeout(STEP, kept.rest()).await.expect("the end comes");
        let expected: Vec<i64> = (lowest..=ended.seq).collect();
        assert_eq!(numbers(&kept), expected);
        assert_eq!(kept.last().unwrap().kind(), RunEventKind::RunEnded);
        println!(
            "of {} events those from {lowest} on are kept: {refused:?}",
            ended.seq
        );
    }
}

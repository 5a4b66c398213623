//! hypha killed in the middle of its work, between the two parents of a task, and with its database taken away.

use std::time::Duration;

use cambium_e2e::part::Alone;
use cambium_proto::hypha::v1::{Run, RunState};
use cambium_testkit::wait_until;
use tokio::time::Instant;
use tonic::Code;

use crate::house::account::Account;
use crate::house::graphs::{graph, layered};
use crate::house::{House, Plan};

/// For a run to end on a machine that is busy.
const END: Duration = Duration::from_secs(120);
const STEP: Duration = Duration::from_secs(60);

fn quick(label: &str) -> Alone {
    Alone {
        label: label.to_owned(),
        slots: 8,
        takes_ms: 20,
        gate: None,
    }
}

#[tokio::test]
async fn a_run_survives_three_kills_of_all_replicas() {
    let mut house = House::open(Plan::default().set("HYPHA_LEASE_MS", 2_000)).await;
    let agent = house.agent("ada").await;
    let mut workers = Vec::new();
    for (number, label) in ["w0", "w1", "w2"].into_iter().enumerate() {
        workers.push(house.worker(number % 2, &agent, quick(label)).await);
    }
    let desk = house.desk(0);
    let run = desk.start(&layered(20, 50), "null").await;

    for reached in [200, 500, 800] {
        let has = |run: &Run| run.tasks.is_some_and(|tasks| tasks.succeeded >= reached);
        desk.until(&run, STEP, "the run gets on", has).await;
        house.kill(0).await;
        house.kill(1).await;
        house.launch(0).await;
        house.launch(1).await;
    }
    let ended = desk.ended(&run, END).await;

    let gift = ended.gift.unwrap();
    assert_eq!(ended.state(), RunState::Succeeded);
    assert_eq!(ended.tasks.unwrap().succeeded, 1_000);
    assert_eq!(ended.gratitude, gift.total_handoffs);
    assert_eq!((gift.total_handoffs, gift.chain_length), (19 * 50 * 3, 19));
    let account = Account::of(&desk.events(&run).await);
    assert_eq!(account.succeeded.len(), 1_000, "one completion a task");
    println!("6 kills under 1,000 tasks: {} leases lost", account.lost);
}

#[tokio::test]
async fn a_database_that_went_away_is_unavailable_until_it_is_back() {
    let mut house = House::open(Plan::default().durable().set("HYPHA_LEASE_MS", 2_000)).await;
    let agent = house.agent("ada").await;
    let _worker = house.worker(0, &agent, quick("w")).await;
    let desk = house.desk(0);
    let run = desk.start(&layered(10, 20), "null").await;
    let has = |run: &Run| run.tasks.is_some_and(|tasks| tasks.succeeded >= 40);
    desk.until(&run, STEP, "the run gets on", has).await;

    house.kill_postgres();
    wait_until(Duration::from_secs(20), "calls are refused", async || {
        let refused = desk.run(&run).await;
        refused.is_err_and(|status| status.code() == Code::Unavailable)
    })
    .await;
    house.revive_postgres().await;
    let back = Instant::now();
    desk.until(&run, STEP, "calls are answered again", |_| true)
        .await;
    let answered = back.elapsed();
    let ended = desk.ended(&run, STEP).await;

    println!(
        "answered {answered:?} after the database was back, done after {:?}",
        back.elapsed()
    );
    assert!(answered < Duration::from_secs(5));
    assert_eq!(ended.state(), RunState::Succeeded);
    assert_eq!(ended.tasks.unwrap().succeeded, 200);
    assert_eq!(ended.gratitude, ended.gift.unwrap().total_handoffs);
    Account::of(&desk.events(&run).await);
    house.must_run();
}

#[tokio::test]
async fn a_kill_between_two_parents_leaves_their_child_to_run_once_with_both() {
    let mut house = House::open(Plan::default()).await;
    let agent = house.agent("ada").await;
    let desk = house.desk(0);
    let run = desk.start(&graph("join", "a->j b->j"), "null").await;
    let hand = house.hand("w", &agent).await;
    let mut parents = hand.poll(2, STEP / 4).await.unwrap();
    if parents.len() < 2 {
        parents.extend(hand.poll(1, STEP / 4).await.unwrap());
    }
    let [a, b] = parents.try_into().unwrap();
    hand.complete(a.lease.unwrap(), "1", 1, 0).await.unwrap();

    house.kill(0).await;
    house.kill(1).await;
    house.launch(0).await;
    house.launch(1).await;
    hand.complete(b.lease.unwrap(), "2", 1, 0).await.unwrap();
    let [child] = hand.poll(2, STEP / 4).await.unwrap().try_into().unwrap();
    let mut inputs: Vec<_> = child.inputs.iter().map(|one| one.key.as_str()).collect();
    inputs.sort_unstable();
    assert_eq!((child.node.as_str(), inputs), ("j", vec!["a", "b"]));
    hand.complete(child.lease.unwrap(), "3", 1, 0)
        .await
        .unwrap();
    let first = (desk.run(&run).await.unwrap(), desk.tasks(&run).await);
    let events = desk.events(&run).await;
    for _ in 0..2 {
        house.kill(0).await;
        house.kill(1).await;
        house.launch(0).await;
        house.launch(1).await;
    }

    let again = (desk.run(&run).await.unwrap(), desk.tasks(&run).await);
    assert_eq!(again, first, "restarts change nothing");
    assert_eq!(desk.events(&run).await, events);
    let account = Account::of(&events);
    assert_eq!(
        (first.0.state(), first.0.gratitude),
        (RunState::Succeeded, 2)
    );
    assert_eq!((account.leased["j"], account.succeeded["j"]), (1, 1));
    assert_eq!(account.lost, 0);
    assert!(
        hand.poll(1, Duration::from_millis(200))
            .await
            .unwrap()
            .is_empty()
    );
    println!(
        "the child ran once, with {} inputs, over 3 restarts",
        first.1["j"].input_source_task_ids.len()
    );
}

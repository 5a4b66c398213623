//! Quarantine, from immune's commit to hypha's leases: how soon an agent is out of work, and that its work goes on elsewhere.

use std::time::Duration;

use cambium_e2e::part::Alone;
use cambium_proto::hypha::v1::{RunEvent, RunEventKind, RunState, TaskState};
use prost_types::Timestamp;

use crate::house::desk::Desk;
use crate::house::graphs::gated;
use crate::house::{House, Plan};

const STEP: Duration = Duration::from_secs(60);
/// From the commit until it holds everywhere.
const SOON: i64 = 2_000_000;

/// A worker that gets through once the gate is open.
fn patient(house: &House, label: &str, slots: u32) -> Alone {
    Alone {
        label: label.to_owned(),
        slots,
        gate: Some(house.gate()),
        ..Alone::default()
    }
}

fn micros(at: Option<Timestamp>) -> i64 {
    let at = at.unwrap();
    at.seconds * 1_000_000 + i64::from(at.nanos) / 1_000
}

/// Waits until this agent holds nothing and the other everything.
async fn until_all_at(desk: &Desk, run: &str, agent: &str, tasks: usize) {
    let holds = |now: &std::collections::BTreeMap<String, cambium_proto::hypha::v1::Task>| {
        let own = now
            .values()
            .filter(|task| task.state() == TaskState::Running && task.agent_id == agent);
        own.count() == tasks
    };
    desk.until_tasks(run, STEP, "the other agent holds everything", holds)
        .await;
}

#[tokio::test]
async fn an_agent_in_quarantine_loses_its_leases_and_gets_no_new_ones_within_two_seconds() {
    let house = House::open(Plan::default().beside("immune")).await;
    let (ada, bob) = (house.agent("ada").await, house.agent("bob").await);
    let (desk, judge) = (house.desk(0), house.judge());
    let suspect = house.worker(0, &ada, patient(&house, "suspect", 4)).await;
    let run = desk.start(&gated("fleet", 12), "null").await;
    desk.until_gated(&run, 4).await;
    let _heir = house.worker(1, &bob, patient(&house, "heir", 12)).await;
    desk.until_gated(&run, 12).await;

    let quarantine = judge.quarantine(&ada).await;
    until_all_at(&desk, &run, &bob, 12).await;
    house.open_gate();
    let ended = desk.ended(&run, STEP).await;

    let from = micros(quarantine.start_time);
    let events = desk.events(&run).await;
    let of_suspect = |event: &&RunEvent| event.agent_id == ada;
    let revoked = |event: &&RunEvent| event.kind() == RunEventKind::TaskRevoked;
    let fenced: Vec<i64> = events
        .iter()
        .filter(of_suspect)
        .filter(revoked)
        .map(|event| micros(event.at) - from)
        .collect();
    let late = events
        .iter()
        .filter(of_suspect)
        .filter(|event| event.kind() == RunEventKind::TaskLeased && micros(event.at) > from + SOON);
    let last = fenced.iter().copied().max().unwrap();
    println!("4 leases of an agent in quarantine were fenced within {last} µs of the commit");
    assert_eq!((fenced.len(), late.count()), (4, 0), "{events:#?}");
    assert!(last <= SOON, "after {last} µs");
    assert_eq!(ended.state(), RunState::Succeeded);
    for task in 0..12 {
        let output = desk.output(&run, &format!("t{task}")).await;
        assert_eq!(output["by"], "heir", "t{task}");
    }
    suspect.kill().await;
}

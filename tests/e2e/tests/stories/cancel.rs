//! Cancelling a run in every state that its tasks can be in, and the run that one of them has started.

use std::time::Duration;

use cambium_client::refusal;
use cambium_e2e::hand::Hand;
use cambium_proto::hypha::v1::{
    Attempt, Graph, Lease, LeaseState, MintAgentTokenRequest, Retry, RunEvent, RunEventKind,
    RunState, TaskState,
};
use cambium_testkit::wait_until;
use tokio::time::Instant;
use tonic::Code;

use crate::house::account::Account;
use crate::house::desk::Desk;
use crate::house::graphs::{at, graph};
use crate::house::{House, Plan};

const STEP: Duration = Duration::from_secs(30);
const GRACE: Duration = Duration::from_secs(2);

/// Four tasks, of which three are served first.
fn four() -> Graph {
    let mut four = graph("four", "parent flaky offsite queued");
    for (key, priority) in [("parent", 0), ("flaky", 1), ("offsite", 2), ("queued", 9)] {
        at(&mut four, key).priority = Some(priority);
    }
    at(&mut four, "flaky").retry = Some(Retry {
        initial_ms: Some(60_000),
        ..Retry::default()
    });
    four
}

/// So many attempts, in the order in which they were served.
async fn take(hand: &Hand, number: usize) -> Vec<Attempt> {
    let mut taken = Vec::new();
    while taken.len() < number {
        let room = u32::try_from(number - taken.len()).unwrap();
        let more = hand.poll(room, STEP / 2).await.unwrap();
        assert!(!more.is_empty(), "there is work for {number}: {taken:?}");
        taken.extend(more);
    }
    taken
}

/// Starts a run as the agent that does a task.
async fn start_child(house: &House, hand: &Hand, parent: &Attempt) -> String {
    let request = MintAgentTokenRequest {
        registration_id: hand.registration().to_owned(),
        lease: parent.lease.clone(),
    };
    let minted = hand.workers().mint_agent_token(request).await.unwrap();
    let agent = Desk::new(house.connection(1, &minted.into_inner().token));
    agent.start_keyed("child", "child", "null").await.unwrap()
}

/// A run with a task in every state, at the moment before it is cancelled.
struct Scene {
    _house: House,
    hand: Hand,
    desk: Desk,
    run: String,
    /// A running task that has started a run of its own.
    parent: Lease,
    child: String,
    /// The running task of that run, and the one that waits.
    inner: Lease,
    waiting: &'static str,
    /// A running task whose worker only heartbeats.
    offsite: Lease,
}

async fn set() -> Scene {
    let house = House::open(Plan::default()).await;
    let agent = house.agent("ada").await;
    let (hand, desk) = (house.hand("w", &agent).await, house.desk(0));
    desk.put(&graph("child", "c0 c1")).await;
    let run = desk.start(&four(), "null").await;
    let [parent, flaky, offsite] = take(&hand, 3).await.try_into().unwrap();
    let failed = hand.fail(flaky.lease.unwrap(), "BUSY", true, 5).await;
    assert_eq!(failed.unwrap(), TaskState::BackingOff);
    let child = start_child(&house, &hand, &parent).await;
    let [inner] = take(&hand, 1).await.try_into().unwrap();
    Scene {
        waiting: if inner.node == "c0" { "c1" } else { "c0" },
        inner: inner.lease.unwrap(),
        parent: parent.lease.unwrap(),
        offsite: offsite.lease.unwrap(),
        _house: house,
        hand,
        desk,
        run,
        child,
    }
}

impl Scene {
    async fn state_of(&self, run: &str, task: &str) -> TaskState {
        self.desk.tasks(run).await[task].state()
    }

    async fn told(&self, lease: &Lease) -> LeaseState {
        let told = self.hand.heartbeat(vec![lease.clone()]).await;
        told.unwrap()[0]
    }

    /// Ends a task that was told to stop, which has cost something already.
    async fn stop(&self, lease: &Lease, cost: i64) {
        let went = self.hand.fail(lease.clone(), "CANCELLED", false, cost);
        assert_eq!(went.await.unwrap(), TaskState::Cancelled);
    }

    /// Heartbeats until the lease is no more; all the while it is told to stop.
    async fn until_revoked(&self, lease: &Lease) {
        wait_until(STEP, "the lease is revoked", async || {
            let told = self.told(lease).await;
            assert!([LeaseState::Cancel, LeaseState::Lost].contains(&told));
            told == LeaseState::Lost
        })
        .await;
    }

    async fn assert_nothing_starts_after_the_cancel(&self) {
        let events = self.desk.events(&self.run).await;
        Account::of(&events);
        let place = |kind| events.iter().position(|event| event.kind() == kind);
        let started = &events[place(RunEventKind::ChildStarted).unwrap()];
        let said = (started.task.as_str(), started.detail.as_str());
        assert_eq!(said, ("parent", self.child.as_str()));
        let after = &events[place(RunEventKind::RunCancelRequested).unwrap()..];
        let is_lease = |event: &&RunEvent| event.kind() == RunEventKind::TaskLeased;
        assert_eq!(after.iter().find(is_lease), None);
        let of_child = Account::of(&self.desk.events(&self.child).await);
        assert_eq!(of_child.succeeded.len(), 0);
    }
}

#[tokio::test]
async fn a_cancel_reaches_every_task_and_the_run_that_one_of_them_started() {
    let scene = set().await;
    let desk = &scene.desk;

    let cancelled = Instant::now();
    assert_eq!(desk.cancel(&scene.run, GRACE).await, RunState::Cancelling);

    for task in ["queued", "flaky"] {
        let state = scene.state_of(&scene.run, task).await;
        assert_eq!(state, TaskState::Cancelled, "{task}, at once");
    }
    for lease in [&scene.parent, &scene.offsite] {
        assert_eq!(scene.told(lease).await, LeaseState::Cancel);
    }
    wait_until(STEP, "the child's task is told", async || {
        scene.told(&scene.inner).await == LeaseState::Cancel
    })
    .await;
    let child_told = cancelled.elapsed();
    let waiting = scene.state_of(&scene.child, scene.waiting).await;
    assert_eq!(waiting, TaskState::Cancelled);
    scene.stop(&scene.inner, 3).await;
    scene.stop(&scene.parent, 11).await;
    let child = desk.ended(&scene.child, STEP).await;
    let meanwhile = desk.run(&scene.run).await.unwrap();
    assert_eq!(meanwhile.state(), RunState::Cancelling);
    scene.until_revoked(&scene.offsite).await;
    let revoked = cancelled.elapsed();
    let late = scene
        .hand
        .complete(scene.offsite.clone(), "1", 100, 0)
        .await;
    let late = late.unwrap_err();
    let ended = desk.ended(&scene.run, STEP).await;

    println!(
        "the child was told after {child_told:?}; the lease was revoked after {revoked:?}, of which {GRACE:?} grace"
    );
    assert!(revoked >= GRACE && revoked < GRACE + Duration::from_secs(3));
    let late = (late.code(), refusal::reason(&late));
    assert_eq!(late, (Code::Aborted, "LEASE_LOST".to_owned()));
    for run in [&ended, &child] {
        assert_eq!(run.state(), RunState::Cancelled);
    }
    assert_eq!(ended.cost.unwrap().micro_usd, 5 + 11, "for what was done");
    assert_eq!(child.cost.unwrap().micro_usd, 3);
    assert_eq!(child.parent_run_id, scene.run);
    assert_eq!(child.parent_task_id, format!("{}/parent", scene.run));
    scene.assert_nothing_starts_after_the_cancel().await;
}

//! Work that lost its worker, and workers that lost the service: how soon it goes on, and that nothing counts twice.

use std::time::Duration;

use cambium_e2e::part::Alone;
use cambium_proto::hypha::v1::{RunEvent, RunEventKind, RunState, Task, TaskState};
use cambium_testkit::wait_until;
use uuid::Uuid;

use crate::house::account::Account;
use crate::house::actor::Actor;
use crate::house::desk::Desk;
use crate::house::graphs::gated;
use crate::house::{House, Plan};

const STEP: Duration = Duration::from_secs(60);

const REGISTERED: &str = "SELECT count(*) FROM hypha.registration";

/// A worker that never gets through the gate.
fn stuck(slots: u32) -> Alone {
    Alone {
        label: "stuck".to_owned(),
        slots,
        ..Alone::default()
    }
}

/// A worker that gets through once the gate is open.
fn patient(house: &House, label: &str, slots: u32) -> Alone {
    Alone {
        label: label.to_owned(),
        slots,
        gate: Some(house.gate()),
        ..Alone::default()
    }
}

/// An ended run of a gated graph: everything once.
async fn assert_all_once(desk: &Desk, run: &str, tasks: i64) -> Account {
    let ended = desk.ended(run, STEP).await;
    let (counts, gift) = (ended.tasks.unwrap(), ended.gift.unwrap());
    let account = Account::of(&desk.events(run).await);
    assert_eq!(ended.state(), RunState::Succeeded);
    assert_eq!((counts.succeeded, counts.total), (tasks + 2, tasks + 2));
    let completions: usize = account.succeeded.values().sum();
    assert_eq!(i64::try_from(completions).unwrap(), tasks + 2);
    assert_eq!(
        (ended.gratitude, gift.total_handoffs),
        (2 * tasks, 2 * tasks)
    );
    account
}

/// When each task was leased the second time, in microseconds of the database's clock.
fn second_leases(events: &[RunEvent]) -> Vec<i64> {
    let second = |event: &&RunEvent| event.kind() == RunEventKind::TaskLeased && event.epoch == 2;
    let at = |event: &RunEvent| {
        let at = event.at.unwrap();
        at.seconds * 1_000_000 + i64::from(at.nanos) / 1_000
    };
    events.iter().filter(second).map(at).collect()
}

#[tokio::test]
async fn the_tasks_of_a_worker_that_died_run_elsewhere_within_the_lease_and_two_seconds() {
    let house = House::open(Plan::default()).await;
    let (ada, bob) = (house.agent("ada").await, house.agent("bob").await);
    let desk = house.desk(1);
    let dying = house.worker(0, &ada, stuck(50)).await;
    let run = desk.start(&gated("fleet", 50), "null").await;
    desk.until_gated(&run, 50).await;
    house.open_gate();
    let _heir = house.worker(1, &bob, patient(&house, "heir", 64)).await;
    house.until_number(STEP, REGISTERED, 2).await;

    let now = "SELECT (extract(epoch FROM hypha.now()) * 1000000)::bigint";
    let killed_at = house.number(now).await;
    dying.kill().await;
    let account = assert_all_once(&desk, &run, 50).await;

    let mut waits = second_leases(&desk.events(&run).await);
    waits.iter_mut().for_each(|at| *at -= killed_at);
    waits.sort_unstable();
    let (first, last) = (waits[0], waits[49]);
    println!("50 leases of a dead worker went on after {first} to {last} µs");
    assert_eq!((waits.len(), account.lost), (50, 50));
    assert!(last <= 12_000_000, "the last one after {last} µs");
}

/// Takes the run's row away from whoever sweeps, until a sweep waits for it.
async fn catch_sweep(house: &House, run: &str) -> sqlx::Transaction<'static, sqlx::Postgres> {
    let mut held = house.books().begin().await.unwrap();
    let lock = sqlx::query("SELECT 1 FROM hypha.run WHERE run_id = $1 FOR UPDATE");
    let lock = lock.bind(run.parse::<Uuid>().unwrap());
    lock.execute(&mut *held).await.unwrap();
    let waiting = "SELECT count(*) FROM pg_stat_activity \
                   WHERE application_name = 'hypha-svc' AND wait_event_type = 'Lock'";
    wait_until(STEP / 6, "a sweep is in its middle", async || {
        house.number(waiting).await > 0
    })
    .await;
    held
}

#[tokio::test]
async fn a_database_that_dies_in_the_middle_of_a_recovery_strands_no_task() {
    let plan = Plan::default().durable().set("HYPHA_LEASE_MS", 3_000);
    let mut house = House::open(plan).await;
    let (ada, bob) = (house.agent("ada").await, house.agent("bob").await);
    let desk = house.desk(0);
    let dying = house.worker(0, &ada, stuck(50)).await;
    let run = desk.start(&gated("fleet", 300), "null").await;
    desk.until_gated(&run, 50).await;
    let queued = desk.tasks(&run).await;
    let ready = |task: &&Task| task.state() == TaskState::Ready;
    assert_eq!(queued.values().filter(ready).count(), 250);
    house.open_gate();

    dying.kill().await;
    let held = catch_sweep(&house, &run).await;
    house.kill_postgres();
    drop(held);
    tokio::time::sleep(Duration::from_secs(2)).await; // so long it stays away
    house.revive_postgres().await;
    let _heir = house.worker(1, &bob, patient(&house, "heir", 64)).await;
    let account = assert_all_once(&desk, &run, 300).await;

    house.must_run();
    assert_eq!(account.lost, 50, "each lease of the dead worker, once");
    println!("300 tasks ended; 50 leases were lost with their worker, none with the database");
}

/// What holds 16 leases at two replicas while the service is away.
struct Fleet {
    run: String,
    desk: Desk,
    _workers: [Actor; 2],
}

const DEAF: Duration = Duration::from_secs(7);
/// Shorter than the service is away.
const LEASE_MS: u64 = 5_000;

/// Gaps as long as a lease. A busy machine may make shorter ones.
const OUTAGES: &str =
    "SELECT count(*) FROM hypha.outage WHERE to_at - from_at > interval '5 seconds'";
/// Those whose open leases, given a full term anew, have had the time to run out and be swept.
const PAST: &str = "SELECT count(*) FROM hypha.outage WHERE to_at - from_at > interval '5 seconds' \
                    AND to_at + interval '7 seconds' < hypha.now()";

impl Fleet {
    async fn hold(house: &House) -> Self {
        let agent = house.agent("ada").await;
        let desk = house.desk(0);
        let workers = [
            house.worker(0, &agent, patient(house, "w0", 8)).await,
            house.worker(1, &agent, patient(house, "w1", 8)).await,
        ];
        house.until_number(STEP, REGISTERED, 2).await;
        let run = desk.start(&gated("fleet", 16), "null").await;
        desk.until_gated(&run, 16).await;
        Self {
            run,
            desk,
            _workers: workers,
        }
    }

    /// Nobody has lost a lease; and so it stays to the end.
    async fn assert_kept(&self, house: &House, outages: i64) {
        house.until_number(STEP, PAST, outages).await;
        self.desk.until_gated(&self.run, 16).await;
        house.open_gate();
        let account = assert_all_once(&self.desk, &self.run, 16).await;
        assert_eq!(account.lost, 0, "our own deafness is no loss");
        assert!(account.leased.values().all(|leases| *leases == 1));
        let tasks = self.desk.tasks(&self.run).await;
        assert!(tasks.values().all(|task| task.lease_losses == 0));
        assert_eq!(
            house.number(OUTAGES).await,
            outages,
            "each gap is noted once"
        );
    }
}

#[tokio::test]
async fn no_lease_is_lost_to_a_database_that_was_away_for_longer_than_the_lease() {
    let mut house = House::open(Plan::default().set("HYPHA_LEASE_MS", LEASE_MS)).await;
    let fleet = Fleet::hold(&house).await;

    house.stop_postgres();
    tokio::time::sleep(DEAF).await; // so long it stays away
    house.revive_postgres().await;

    fleet.assert_kept(&house, 1).await;
    house.must_run();
    let gap = "SELECT (extract(epoch FROM max(to_at - from_at)) * 1000)::bigint FROM hypha.outage";
    println!(
        "16 leases of {LEASE_MS} ms outlived an outage of {} ms",
        house.number(gap).await
    );
}

#[tokio::test]
async fn no_lease_is_lost_while_all_replicas_stand_still() {
    let house = House::open(Plan::default().set("HYPHA_LEASE_MS", LEASE_MS)).await;
    let fleet = Fleet::hold(&house).await;

    for round in 1..=2 {
        house.pause_all().await;
        tokio::time::sleep(DEAF).await; // so long they stand still
        house.resume_all();
        house.until_number(STEP, PAST, round).await;
    }

    fleet.assert_kept(&house, 2).await;
    println!("16 leases of {LEASE_MS} ms outlived 2 pauses of {DEAF:?}");
}

#[tokio::test]
async fn no_lease_is_lost_while_all_replicas_are_down() {
    let mut house = House::open(Plan::default().set("HYPHA_LEASE_MS", LEASE_MS)).await;
    let fleet = Fleet::hold(&house).await;

    house.kill(0).await;
    house.kill(1).await;
    tokio::time::sleep(DEAF).await; // so long they are away
    house.launch(0).await;
    house.launch(1).await;

    fleet.assert_kept(&house, 1).await;
    println!("16 leases of {LEASE_MS} ms outlived a restart after {DEAF:?}");
}

#[tokio::test]
async fn no_lease_is_lost_to_a_pause_that_only_a_short_lease_does_not_outlast() {
    let house = House::open(Plan::default().set("HYPHA_LEASE_MS", 2_000)).await;
    let fleet = Fleet::hold(&house).await;

    for _ in 0..3 {
        house.pause_all().await;
        tokio::time::sleep(Duration::from_millis(2_300)).await; // so long they stand still
        house.resume_all();
        tokio::time::sleep(Duration::from_secs(4)).await; // for what was given anew to run out
    }

    fleet.desk.until_gated(&fleet.run, 16).await;
    house.open_gate();
    let account = assert_all_once(&fleet.desk, &fleet.run, 16).await;
    assert_eq!(
        account.lost, 0,
        "a gap is as long as the lease says, not 3 s"
    );
}

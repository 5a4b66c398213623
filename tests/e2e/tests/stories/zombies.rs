//! Those who were away too long and do not know it: a worker past its lease, an incarnation that was replaced, a replica
//! that stood still. None of them changes what went on without them.

use std::time::Duration;

use cambium_e2e::hand::Hand;
use cambium_e2e::part::{Alone, Answer, Word};
use cambium_proto::hypha::v1::{Lease, RunState, TaskState};

use crate::house::account::Account;
use crate::house::actor::Actor;
use crate::house::graphs::{gated, graph};
use crate::house::{House, Plan};

const STEP: Duration = Duration::from_secs(30);

fn lost() -> Answer {
    Answer {
        code: "Aborted".to_owned(),
        reason: "LEASE_LOST".to_owned(),
        ..Answer::default()
    }
}

fn per_lease(said: &str) -> Answer {
    Answer {
        code: "Ok".to_owned(),
        leases: vec![said.to_owned()],
        ..Answer::default()
    }
}

/// Every call that a worker may make with a lease.
fn calls() -> [(Word, Answer); 6] {
    let output = || "\"zombie\"".to_owned();
    let complete = Word::Complete {
        output: output(),
        micro_usd: 500,
    };
    let many = Word::CompleteMany {
        output: output(),
        micro_usd: 500,
    };
    let fail = Word::Fail {
        code: "ZOMBIE".to_owned(),
    };
    let park = Word::Park {
        signal: "ZOMBIE".to_owned(),
    };
    [
        (Word::Heartbeat, per_lease("Lost")),
        (complete, lost()),
        (many, per_lease("LEASE_LOST")),
        (fail, lost()),
        (park, lost()),
        (Word::Release, lost()),
    ]
}

/// Everything that the zombie says is refused: what it said while it stood still, or what it says now.
async fn assert_refused(zombie: &mut Actor, has_said: bool) {
    for (word, expected) in calls() {
        if !has_said {
            zombie.tell(word.clone()).await;
        }
        assert_eq!(zombie.answer().await, expected, "{word:?}");
    }
}

/// Takes the one task that is to come, and tells its lease.
async fn take(hand: &Hand, node: &str) -> Lease {
    let [task] = hand.poll(1, STEP / 2).await.unwrap().try_into().unwrap();
    assert_eq!(task.node, node);
    task.lease.unwrap()
}

#[tokio::test]
async fn a_worker_that_was_paused_past_its_lease_is_refused_whatever_it_says() {
    let house = House::open(Plan::default().set("HYPHA_LEASE_MS", 3_000)).await;
    let (ada, bob) = (house.agent("ada").await, house.agent("bob").await);
    let desk = house.desk(1);
    let run = desk.start(&graph("chain", "p->t t->q"), "null").await;
    let second = house.hand("second", &bob).await;
    let mut first = house.puppet(0, "first", &ada).await;
    let start = take(&second, "p").await;
    second.complete(start, "\"bob\"", 10, 0).await.unwrap();
    let poll = Word::Poll {
        max: 1,
        wait_ms: 15_000,
    };
    assert_eq!(first.ask(poll).await.nodes, ["t"]);

    first.pause().await;
    let lease = take(&second, "t").await;
    assert_eq!(lease.epoch, 2);
    first.resume();
    assert_refused(&mut first, false).await;
    first.pause().await;
    second.complete(lease, "\"bob\"", 7, 0).await.unwrap();
    for (word, _) in calls() {
        first.tell(word).await;
    }
    first.resume();
    assert_refused(&mut first, true).await;
    let end = take(&second, "q").await;
    second.complete(end, "\"bob\"", 1, 0).await.unwrap();

    let ended = desk.ended(&run, STEP).await;
    let (cost, task) = (ended.cost.unwrap(), &desk.tasks(&run).await["t"]);
    assert_eq!((ended.state(), ended.gratitude), (RunState::Succeeded, 2));
    // What the lost attempt cost nobody knows, so the sum of the others is no measure of the run.
    assert_eq!((cost.micro_usd, cost.measured), (18, false));
    assert_eq!((task.epoch, task.lease_losses, task.failures), (2, 1, 0));
    assert_eq!(
        (task.agent_id.as_str(), task.state()),
        (bob.as_str(), TaskState::Succeeded)
    );
    assert_eq!(desk.output(&run, "t").await, "bob");
    let account = Account::of(&desk.events(&run).await);
    assert_eq!(
        (account.leased["t"], account.succeeded["t"], account.lost),
        (2, 1, 1)
    );
    println!("12 calls of a zombie refused, before and after the task was done by another");
}

/// A worker that is replaced by a process at that replica while it holds a task and waits for more.
async fn replace(at: usize) {
    let house = House::open(Plan::default()).await;
    let agent = house.agent("ada").await;
    let desk = house.desk(0);
    let alone = |label: &str| Alone {
        label: label.to_owned(),
        slots: 2,
        takes_ms: 0,
        gate: Some(house.gate()),
    };
    let mut old = house.worker_named("w", 0, &agent, alone("old")).await;
    let held = desk.start(&gated("held", 1), "null").await;
    desk.until_gated(&held, 1).await;

    let new = house.worker_named("w", at, &agent, alone("new")).await;
    new.logs("registered").await;
    let keys: Vec<String> = (0..20).map(|n| format!("k{n}")).collect();
    let later = desk.start(&graph("later", &keys.join(" ")), "null").await;
    let ended = desk.ended(&later, STEP).await;
    assert_eq!(ended.state(), RunState::Succeeded);
    let mut by_old = 0;
    for key in &keys {
        by_old += usize::from(desk.output(&later, key).await["by"] == "old");
    }
    house.open_gate();
    let ended = desk.ended(&held, STEP).await;

    assert_eq!(by_old, 0, "of 20 tasks that came after it was replaced");
    assert_eq!(ended.state(), RunState::Succeeded);
    assert_eq!(desk.output(&held, "t0").await["by"], "old");
    assert_eq!(desk.output(&held, "sink").await["by"], "new");
    assert_eq!(
        desk.tasks(&held).await["t0"].epoch,
        1,
        "under its own token"
    );
    for run in [&held, &later] {
        assert_eq!(Account::of(&desk.events(run).await).lost, 0);
    }
    assert_eq!(old.ended(STEP).await, "replaced");
    println!("the newer incarnation did 20 tasks, the older what it held");
}

#[tokio::test]
async fn a_worker_that_was_replaced_gets_nothing_more_and_finishes_what_it_holds() {
    replace(0).await;
}

#[tokio::test]
async fn a_worker_that_was_replaced_at_another_replica_gets_nothing_more_either() {
    replace(1).await;
}

#[tokio::test]
async fn a_replica_that_was_paused_past_the_lease_changes_nothing_when_it_goes_on() {
    let house = House::open(Plan::default().set("HYPHA_LEASE_MS", 2_000)).await;
    let agent = house.agent("ada").await;
    let desk = house.desk(1);
    let alone = |label: &str| Alone {
        label: label.to_owned(),
        slots: 4,
        takes_ms: 0,
        gate: Some(house.gate()),
    };
    let _first = house.worker(0, &agent, alone("first")).await;
    let run = desk.start(&gated("held", 4), "null").await;
    desk.until_gated(&run, 4).await;
    let _second = house.worker(1, &agent, alone("second")).await;

    house.pause(0).await;
    desk.until_tasks(&run, STEP, "the other holds all", |tasks| {
        let mut held = tasks.values().filter(|task| task.key.starts_with('t'));
        held.all(|task| task.state() == TaskState::Running && task.epoch == 2)
    })
    .await;
    house.resume(0);
    house.open_gate();

    let ended = desk.ended(&run, STEP).await;
    assert_eq!((ended.state(), ended.gratitude), (RunState::Succeeded, 8));
    for key in ["t0", "t1", "t2", "t3"] {
        assert_eq!(desk.output(&run, key).await["by"], "second", "{key}");
    }
    let account = Account::of(&desk.events(&run).await);
    let outages = house.number("SELECT count(*) FROM hypha.outage").await;
    assert_eq!(account.lost, 4, "the leases that nobody could renew");
    assert_eq!(outages, 0, "one deaf replica is no outage");
    println!("4 leases moved to the other replica's worker; none came back");
}

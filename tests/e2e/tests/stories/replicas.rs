//! One run at two replicas: each call of its worker goes to the other one, and the last two tasks end at once.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use cambium_e2e::hand::Hand;
use cambium_proto::hypha::v1::{Attempt, Join, JoinKind, Run, RunState, TaskState};
use cambium_proto::signal::v1::Signal;
use cambium_proto::signal::v1::signal::Payload;
use cambium_testkit::SignalSink;
use rand::Rng as _;
use tokio::time::{Instant, sleep, timeout};

use crate::house::account::Account;
use crate::house::desk::Desk;
use crate::house::graphs::{at, fires_on, graph};
use crate::house::{House, Plan};
use TaskState::{Omitted, Skipped, Succeeded};

const STEP: Duration = Duration::from_secs(60);

/// Does a run's tasks one by one, each with the output that is given for it.
async fn play(
    hand: &Hand,
    desk: &Desk,
    run: &str,
    outputs: &[(&str, &str)],
) -> (Run, Vec<Attempt>) {
    let outputs: BTreeMap<_, _> = outputs.iter().copied().collect();
    let mut done = Vec::new();
    let playing = async {
        loop {
            for attempt in hand.poll(1, Duration::from_millis(500)).await.unwrap() {
                let output = outputs.get(attempt.node.as_str()).unwrap_or(&"null");
                let lease = attempt.lease.clone().unwrap();
                hand.complete(lease, output, 1, 0).await.unwrap();
                done.push(attempt);
            }
            let now = desk.run(run).await.unwrap();
            if now.state() > RunState::Cancelling {
                return now;
            }
        }
    };
    let ended = timeout(STEP, playing).await.expect("the run ends");
    (ended, done)
}

async fn states(desk: &Desk, run: &str) -> Vec<(String, TaskState)> {
    let tasks = desk.tasks(run).await.into_values();
    tasks.map(|task| (task.key.clone(), task.state())).collect()
}

fn named(states: &[(&str, TaskState)]) -> Vec<(String, TaskState)> {
    let named = states
        .iter()
        .map(|(key, state)| ((*key).to_owned(), *state));
    named.collect()
}

/// Who was thanked by whom, by task.
fn thanks(signals: &[Signal]) -> BTreeSet<(String, String)> {
    let thanks = signals.iter().filter_map(|signal| match &signal.payload {
        Some(Payload::Gratitude(thanks)) => {
            Some((thanks.from_task_id.clone(), thanks.to_task_id.clone()))
        }
        _ => None,
    });
    thanks.collect()
}

#[tokio::test]
async fn what_runs_below_a_skipped_task_is_said_by_its_edges_and_thanked_for_alone() {
    let sink = SignalSink::start().await;
    let house = House::open(Plan::default().set("HYPHA_IMMUNE_ADDR", sink.url())).await;
    let agent = house.agent("ada").await;
    let (hand, desk) = (house.hand("w", &agent).await, house.desk(1));
    let mut diamond = graph("diamond", "o->a o->b a->c b->d c->e d->e");
    at(&mut diamond, "b").when = "input.go".to_owned();
    fires_on(&mut diamond, "d", "e", &[Succeeded, Skipped, Omitted]);
    let run = desk.start(&diamond, r#"{"go": false}"#).await;

    let (ended, done) = play(&hand, &desk, &run, &[]).await;

    let order: Vec<_> = done.iter().map(|attempt| attempt.node.as_str()).collect();
    assert_eq!(
        (ended.state(), order),
        (RunState::Succeeded, vec!["o", "a", "c", "e"])
    );
    let expected = [
        ("a", Succeeded),
        ("b", Skipped),
        ("c", Succeeded),
        ("d", Omitted),
        ("e", Succeeded),
        ("o", Succeeded),
    ];
    assert_eq!(states(&desk, &run).await, named(&expected));
    let outbox = "SELECT count(*) FROM hypha.outbox";
    house.until_number(STEP, outbox, 0).await;
    let pair = |(from, to)| (format!("{run}/{from}"), format!("{run}/{to}"));
    let expected = [("o", "a"), ("a", "c"), ("c", "e")].map(pair);
    assert_eq!(thanks(&sink.received()), BTreeSet::from(expected));
    assert_eq!(
        (ended.gratitude, ended.gift.unwrap().total_handoffs),
        (3, 3)
    );
    println!("thanked: o for a, a for c, c for e; nobody over a skipped edge");
}

#[tokio::test]
async fn a_plain_edge_takes_a_skipped_and_an_omitted_parent_alike() {
    let house = House::open(Plan::default()).await;
    let agent = house.agent("ada").await;
    let (hand, desk) = (house.hand("w", &agent).await, house.desk(0));
    let mut chain = graph("chain", "a->b b->c a->x b->y");
    at(&mut chain, "a").when = "false".to_owned();
    fires_on(&mut chain, "a", "x", &[Skipped]);
    fires_on(&mut chain, "b", "y", &[Omitted]);
    let run = desk.start(&chain, "null").await;

    let (ended, _) = play(&hand, &desk, &run, &[]).await;

    let expected = [
        ("a", Skipped),
        ("b", Omitted),
        ("c", Omitted),
        ("x", Succeeded),
        ("y", Succeeded),
    ];
    assert_eq!(states(&desk, &run).await, named(&expected));
    assert_eq!((ended.state(), ended.gratitude), (RunState::Succeeded, 0));
    println!(
        "the rule: a plain edge fires on `succeeded` alone, so what is below a skipped or an omitted task is omitted; \
         an edge that names the state fires on it"
    );
}

#[tokio::test]
async fn a_join_below_a_choice_runs_once_with_the_branch_that_was_taken() {
    let house = House::open(Plan::default()).await;
    let agent = house.agent("ada").await;
    let (hand, desk) = (house.hand("w", &agent).await, house.desk(0));
    let mut choice = graph("choice", "s->t s->f t->j f->j");
    at(&mut choice, "t").when = "inputs.s.b".to_owned();
    at(&mut choice, "f").when = "!inputs.s.b".to_owned();
    at(&mut choice, "j").join = Some(Join {
        kind: JoinKind::Settled.into(),
        ..Join::default()
    });

    for (b, taken, other) in [("true", "t", "f"), ("false", "f", "t")] {
        let run = desk.start(&choice, "null").await;
        let output = format!(r#"{{"b": {b}}}"#);
        let (ended, done) = play(&hand, &desk, &run, &[("s", &output)]).await;

        let [_, branch, join] = &done[..] else {
            panic!("three tasks run: {done:?}");
        };
        let inputs: Vec<_> = join.inputs.iter().map(|one| one.key.as_str()).collect();
        assert_eq!((branch.node.as_str(), join.node.as_str()), (taken, "j"));
        assert_eq!(inputs, [taken], "the other edge is not taken");
        let tasks = desk.tasks(&run).await;
        assert_eq!(tasks["j"].input_source_task_ids, [format!("{run}/{taken}")]);
        assert_eq!(tasks[other].state(), Skipped);
        assert_eq!((ended.state(), ended.gratitude), (RunState::Succeeded, 2));
        let account = Account::of(&desk.events(&run).await);
        assert_eq!((account.leased["j"], account.succeeded["j"]), (1, 1));
    }
    println!("the join ran once in each of 2 runs, with 1 input");
}

const TRIES: u32 = 200;

/// How two completions met.
struct Met {
    together: bool,
}

/// Ends both at once, at a replica each; `ahead` says how much sooner the first one starts.
async fn end_both(hand: &Hand, both: [Attempt; 2], ahead: Duration) -> Met {
    let doors = [hand.through(0), hand.through(1)];
    let [one, two] = both.map(|attempt| attempt.lease.unwrap());
    let end = async |door: &Hand, lease, after| {
        sleep(after).await;
        let begun = Instant::now();
        door.complete(lease, "1", 1, 0).await.unwrap();
        (begun, Instant::now())
    };
    let first = end(&doors[0], one, Duration::ZERO);
    let second = end(&doors[1], two, ahead);
    let (one, two) = futures::future::join(first, second).await;
    Met {
        together: one.0 < two.1 && two.0 < one.1,
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_ends_once_however_its_last_two_tasks_meet_at_two_replicas() {
    let house = House::open(Plan::default()).await;
    let agent = house.agent("ada").await;
    let (hand, desk) = (house.hand("w", &agent).await, house.desk(0));
    desk.put(&graph("pair", "s->a s->b")).await;
    let mut random = rand::rng();
    let mut together = 0;
    for number in 0..TRIES {
        let key = format!("try-{number}");
        let run = desk.start_keyed("pair", &key, "null").await.unwrap();
        let [source] = hand.poll(1, STEP / 3).await.unwrap().try_into().unwrap();
        let lease = source.lease.unwrap();
        let mut both = hand.complete(lease, "1", 1, 2).await.unwrap();
        while both.len() < 2 {
            both.extend(hand.poll(2, STEP / 3).await.unwrap());
        }
        if number % 2 == 1 {
            both.reverse();
        }
        let ahead = Duration::from_micros(random.random_range(0..1_000));
        let met = end_both(&hand, both.try_into().unwrap(), ahead).await;
        together += u32::from(met.together);

        let ended = desk.run(&run).await.unwrap();
        let gift = ended.gift.unwrap_or_default();
        let shape = (gift.chain_length, gift.chain_breadth, gift.total_handoffs);
        assert_eq!(ended.state(), RunState::Succeeded, "try {number}");
        assert_eq!((shape, ended.gratitude), ((1, 2, 2), 2), "try {number}");
        let account = Account::of(&desk.events(&run).await);
        assert_eq!(account.succeeded.len(), 3, "try {number}");
    }
    println!(
        "{TRIES} tries, {together} of them with both completions under way at once: each run ended once"
    );
    assert!(together > TRIES / 2, "the two did meet");
}

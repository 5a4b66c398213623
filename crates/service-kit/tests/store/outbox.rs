use std::collections::{BTreeSet, HashMap};
use std::time::Duration;

use cambium_proto::signal::v1::Signal;
use cambium_service_kit::outbox::{self, Relay, Routes, Wake};
use cambium_service_kit::principal::Kind;
use cambium_service_kit::server;
use cambium_service_kit::shutdown::Stop;
use cambium_testkit::{Database, Keys, SignalSink, free_port, wait_until};
use chrono::TimeDelta;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use crate::SCHEMA;
use crate::fixture::{count, database, signal};
use crate::inbox::{self, Ledger};

const BOUND: Duration = Duration::from_secs(20);
const TABLE: &[(&str, &[&str])] = &[
    ("coord.gratitude", &["immune"]),
    ("coord.task_settled", &["genesis", "immune"]),
];

fn routes(addresses: &[(&str, &str)]) -> Routes {
    let addresses = addresses
        .iter()
        .map(|(name, url)| ((*name).to_owned(), (*url).to_owned()));
    Routes::new(TABLE, addresses.collect::<HashMap<_, _>>())
}

struct Relaying {
    wake: Wake,
    stop: Stop,
    task: JoinHandle<()>,
}

impl Relaying {
    fn start(database: &Database, routes: &Routes, keys: &Keys) -> Self {
        let relay = Relay::new(
            database.pool.clone(),
            SCHEMA,
            routes,
            keys.credentials(SCHEMA),
        )
        .unwrap();
        let (wake, stop) = (relay.wake(), Stop::new());
        let task = tokio::spawn(relay.run(stop.clone()));
        Self { wake, stop, task }
    }

    async fn end(self) {
        self.stop.stop();
        self.task.await.unwrap();
    }
}

async fn put(database: &Database, routes: &Routes, signals: Vec<Signal>) {
    let mut tx = database.pool.begin().await.unwrap();
    outbox::insert(&mut tx, SCHEMA, &outbox::rows(routes, signals))
        .await
        .unwrap();
    tx.commit().await.unwrap();
}

async fn drained(database: &Database) {
    wait_until(BOUND, "the outbox is empty", async || {
        count(database, "outbox").await == 0
    })
    .await;
}

fn ids(signals: &[Signal]) -> BTreeSet<String> {
    signals
        .iter()
        .map(|signal| signal.signal_id.clone())
        .collect()
}

#[tokio::test]
async fn signals_arrive_with_a_token_and_their_rows_leave() {
    let (database, keys, immune, genesis) = (
        database().await,
        Keys::new(),
        SignalSink::start().await,
        SignalSink::start().await,
    );
    let routes = routes(&[("immune", &immune.url()), ("genesis", &genesis.url())]);
    let relaying = Relaying::start(&database, &routes, &keys);
    let (one, two) = (signal("coord.gratitude"), signal("coord.task_settled"));

    put(&database, &routes, vec![one.clone(), two.clone()]).await;
    relaying.wake.notify();
    drained(&database).await;

    assert_eq!(immune.received(), [one, two.clone()]);
    assert_eq!(genesis.received(), [two]);
    let caller = keys.verifier("immune").verify(&immune.tokens()[0]).unwrap();
    assert_eq!((caller.kind, caller.name.as_str()), (Kind::Service, SCHEMA));
    relaying.end().await;
}

#[tokio::test]
async fn what_nobody_woke_the_relay_for_is_found_by_itself() {
    let (database, keys, immune) = (database().await, Keys::new(), SignalSink::start().await);
    let routes = routes(&[("immune", &immune.url())]);
    let relaying = Relaying::start(&database, &routes, &keys);

    put(&database, &routes, vec![signal("coord.gratitude")]).await;
    drained(&database).await;

    assert_eq!(immune.received().len(), 1);
    relaying.end().await;
}

#[tokio::test]
async fn a_dead_receiver_and_a_deaf_one_delay_nobody() {
    let (database, keys, immune) = (database().await, Keys::new(), SignalSink::start().await);
    // Takes connections and never says a word.
    let deaf = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let deaf = format!("http://{}", deaf.local_addr().unwrap());
    for silent in [deaf, format!("http://127.0.0.1:{}", free_port())] {
        let routes = routes(&[("immune", &immune.url()), ("genesis", &silent)]);
        let relaying = Relaying::start(&database, &routes, &keys);
        let before = immune.received().len();

        for told in 1..=20 {
            put(&database, &routes, vec![signal("coord.task_settled")]).await;
            relaying.wake.notify();
            // Well under any deadline or pause of the other receiver's loop.
            let arrived = async || immune.received().len() == before + told;
            wait_until(Duration::from_secs(5), "immune is told", arrived).await;
        }

        relaying.stop.stop();
    }
    assert_eq!(count(&database, "outbox").await, 40);
}

#[tokio::test]
async fn signals_outlast_a_receiver_that_is_away() {
    let (database, keys, immune) = (database().await, Keys::new(), SignalSink::start().await);
    let address = immune.address();
    let routes = routes(&[("immune", &immune.url())]);
    let relaying = Relaying::start(&database, &routes, &keys);
    put(&database, &routes, vec![signal("coord.gratitude")]).await;
    drained(&database).await;

    immune.stop().await;
    let sent: Vec<Signal> = (0..3).map(|_| signal("coord.gratitude")).collect();
    for signal in &sent {
        put(&database, &routes, vec![signal.clone()]).await;
        relaying.wake.notify();
    }
    let tried = "SELECT EXISTS (SELECT FROM ledger.outbox WHERE attempts > 1)";
    let tried = async || {
        sqlx::query_scalar(tried)
            .fetch_one(&database.owner)
            .await
            .unwrap()
    };
    wait_until(BOUND, "delivery was tried in vain", tried).await;
    let immune = SignalSink::start_at(address).await;
    drained(&database).await;

    assert_eq!(ids(&immune.received()), ids(&sent));
    relaying.end().await;
}

#[tokio::test]
async fn two_relays_share_the_work_and_every_row_leaves_once() {
    let (database, keys, immune) = (database().await, Keys::new(), SignalSink::start().await);
    let routes = routes(&[("immune", &immune.url())]);
    let sent: Vec<Signal> = (0..200).map(|_| signal("coord.gratitude")).collect();
    for signal in &sent {
        put(&database, &routes, vec![signal.clone()]).await;
    }

    let relays = [(); 2].map(|()| Relaying::start(&database, &routes, &keys));
    drained(&database).await;

    for relay in relays {
        relay.end().await;
    }
    assert_eq!(
        immune.received().len(),
        200,
        "a row was delivered twice though nothing failed"
    );
    assert_eq!(ids(&immune.received()), ids(&sent));
}

#[tokio::test]
async fn what_a_dead_relay_had_claimed_is_delivered_by_the_next() {
    let (database, keys, immune) = (database().await, Keys::new(), SignalSink::start().await);
    let routes = routes(&[("immune", &immune.url())]);
    put(&database, &routes, vec![signal("coord.gratitude")]).await;
    let claimed =
        "UPDATE ledger.outbox SET next_at = ledger.now() + interval '60 seconds', attempts = 1";
    sqlx::raw_sql(claimed)
        .execute(&database.pool)
        .await
        .unwrap();

    database.advance(TimeDelta::seconds(61)).await;
    let relaying = Relaying::start(&database, &routes, &keys);
    drained(&database).await;

    assert_eq!(immune.received().len(), 1);
    relaying.end().await;
}

#[tokio::test]
async fn a_row_that_is_refused_stays_and_keeps_none_of_the_others() {
    let (database, keys, ledger) = (database().await, Keys::new(), Ledger::default());
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let routes = routes(&[(
        "immune",
        &format!("http://{}", listener.local_addr().unwrap()),
    )]);
    let service = inbox::rpc(&database, &ledger).into_service();
    let receiver = server::builder()
        .add_service(service)
        .serve_with_incoming(server::incoming(listener));
    let receiver = tokio::spawn(receiver);
    let bad = Signal {
        intensity: 2.0,
        ..signal("coord.gratitude")
    };
    for signal in [signal("coord.gratitude"), bad, signal("coord.gratitude")] {
        put(&database, &routes, vec![signal]).await;
    }

    let relaying = Relaying::start(&database, &routes, &keys);
    wait_until(BOUND, "the others have left", async || {
        count(&database, "outbox").await == 1
    })
    .await;

    assert_eq!(count(&database, "entry").await, 2);
    relaying.end().await;
    receiver.abort();
}

#[tokio::test]
async fn an_address_that_is_none_is_refused_at_once() {
    let (database, keys) = (database().await, Keys::new());

    let refused = Relay::new(
        database.pool.clone(),
        SCHEMA,
        &routes(&[("immune", "localhost")]),
        keys.credentials(SCHEMA),
    );

    let sentence = refused.unwrap_err().to_string();
    assert!(
        sentence.starts_with("the address of immune, `localhost`, is not a URL"),
        "{sentence}"
    );
}

//! A steady flow of runs from clients that repeat a start under its key until it is acknowledged, and a ledger of what
//! was. Draws no conclusion.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use cambium_client::refusal;
use cambium_proto::hypha::v1::RunState;
use cambium_service_kit::shutdown::Stop;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use tonic::{Code, Status};

use crate::house::desk::Desk;
use crate::house::graphs::graph;

pub(super) const GRAPH: &str = "dag5";
pub(super) const EDGES: [(&str, &str); 5] =
    [("a", "b"), ("a", "c"), ("b", "d"), ("c", "d"), ("d", "e")];

const PAUSE: Duration = Duration::from_millis(30);
/// One start in so many is sent once more after it was acknowledged.
const REPEATED: usize = 7;

/// What was asked for and what was answered.
#[derive(Clone, Debug, Default)]
pub(super) struct Ledger {
    /// Runs by key, as acknowledged.
    pub(super) acknowledged: BTreeMap<String, String>,
    /// Starts that were asked for.
    pub(super) attempted: usize,
    /// Answers to starts, by code.
    pub(super) answers: BTreeMap<String, usize>,
}

/// Clients at work.
pub(super) struct Load {
    shared: Arc<Shared>,
    clients: JoinSet<()>,
}

struct Shared {
    desks: [Desk; 2],
    seed: u64,
    stop: Stop,
    next: AtomicUsize,
    ledger: Mutex<Ledger>,
}

impl Load {
    pub(super) async fn begin(desks: &[Desk; 2], seed: u64, in_flight: usize, stop: &Stop) -> Self {
        let edges = EDGES.map(|(from, to)| format!("{from}->{to}"));
        desks[0].put(&graph(GRAPH, &edges.join(" "))).await;
        let shared = Arc::new(Shared {
            desks: desks.clone(),
            seed,
            stop: stop.clone(),
            next: AtomicUsize::new(0),
            ledger: Mutex::default(),
        });
        let mut clients = JoinSet::new();
        for _ in 0..in_flight {
            clients.spawn(client(shared.clone()));
        }
        Self { shared, clients }
    }

    /// Waits until every start is acknowledged; the clients must have been stopped.
    pub(super) async fn end(mut self, bound: Duration) -> Ledger {
        let all = async {
            while let Some(client) = self.clients.join_next().await {
                client.unwrap();
            }
        };
        timeout(bound, all)
            .await
            .expect("every start is acknowledged in the end");
        self.shared.ledger.lock().unwrap().clone()
    }
}

/// Keeps one run in flight.
async fn client(shared: Arc<Shared>) {
    while !shared.stop.is_stopped() {
        let number = shared.next.fetch_add(1, Ordering::Relaxed);
        let key = format!("{:x}-{number}", shared.seed);
        shared.ledger.lock().unwrap().attempted += 1;
        let run = shared.start(&key, number).await;
        let known = shared
            .ledger
            .lock()
            .unwrap()
            .acknowledged
            .insert(key.clone(), run.clone());
        assert_eq!(known, None, "a key is used once");
        if number.is_multiple_of(REPEATED) {
            let again = shared.start(&key, number + 1).await;
            assert_eq!(again, run, "one key is one run");
        }
        shared.follow(&run, number).await;
    }
}

impl Shared {
    fn note(&self, code: Code) {
        let mut ledger = self.ledger.lock().unwrap();
        *ledger.answers.entry(format!("{code:?}")).or_default() += 1;
    }

    /// Starts a run, at one replica or the other, until one of them says that it has.
    async fn start(&self, key: &str, first: usize) -> String {
        for door in first.. {
            let desk = &self.desks[door % self.desks.len()];
            match desk.start_keyed(GRAPH, key, "null").await {
                Ok(run) => {
                    self.note(Code::Ok);
                    return run;
                }
                Err(status) => {
                    assert!(is_passing(&status), "nobody is told this: {status:?}");
                    self.note(status.code());
                    sleep(PAUSE).await;
                }
            }
        }
        unreachable!("there is always another door")
    }

    /// Waits for the run's end, or until nobody is to wait any more.
    async fn follow(&self, run: &str, first: usize) {
        for door in first.. {
            let now = self.desks[door % self.desks.len()].run(run).await;
            match now {
                Ok(run) if run.state() > RunState::Cancelling => return,
                Ok(_) => {}
                Err(status) => assert!(is_passing(&status), "nobody is told this: {status:?}"),
            }
            if self.stop.is_stopped() {
                return;
            }
            sleep(PAUSE).await;
        }
    }
}

/// What a caller may see while processes die: no answer, or that the same call may succeed later.
fn is_passing(status: &Status) -> bool {
    let code = status.code();
    refusal::is_transport(status) || matches!(code, Code::Unavailable | Code::Aborted)
}

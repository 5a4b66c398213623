//! A minute of kills under a steady load: replicas and workers die, or stand still past their leases, at random moments
//! drawn from one printed seed, and afterwards everything that was begun has ended, once. `CAMBIUM_CHAOS_SEED` plays the
//! same blows again, `CAMBIUM_CHAOS_SECONDS` makes it longer. One in which too little happened fails.

mod audit;
mod blows;
mod load;

use std::time::Duration;

use cambium_e2e::part::Alone;
use cambium_service_kit::config::Env;
use cambium_service_kit::shutdown::Stop;
use cambium_testkit::SignalSink;
use tokio::time::{Instant, sleep_until};

use crate::house::actor::Actor;
use crate::house::{House, Plan};
use audit::Found;
use blows::{Blow, REPLICAS, Turn, VICTIMS, WORKERS, schedule};
use load::Load;

const IN_FLIGHT: usize = 20;
/// For everything that was begun to end once nobody is killed any more.
const QUIET: Duration = Duration::from_secs(90);

/// Who can be struck.
struct Cast {
    house: House,
    agents: Vec<String>,
    workers: Vec<Option<Actor>>,
    /// How often each was killed.
    kills: [usize; VICTIMS],
    pauses: usize,
}

impl Cast {
    async fn open(house: House) -> Self {
        let mut agents = Vec::new();
        for number in 0..WORKERS {
            agents.push(house.agent(&format!("agent-{number}")).await);
        }
        let mut cast = Self {
            house,
            agents,
            workers: (0..WORKERS).map(|_| None).collect(),
            kills: [0; VICTIMS],
            pauses: 0,
        };
        for worker in 0..WORKERS {
            cast.launch(REPLICAS + worker).await;
        }
        cast
    }

    async fn fall(&mut self, Blow { victim, turn, .. }: Blow) {
        let worker = victim.checked_sub(REPLICAS);
        match (turn, worker) {
            (Turn::Kill, _) => self.kill(victim).await,
            (Turn::Launch, _) => self.launch(victim).await,
            (Turn::Pause, None) => self.house.pause(victim).await,
            (Turn::Pause, Some(worker)) => self.worker(worker).pause().await,
            (Turn::Resume, None) => self.house.resume(victim),
            (Turn::Resume, Some(worker)) => self.worker(worker).resume(),
        }
        self.pauses += usize::from(turn == Turn::Pause);
    }

    fn worker(&self, worker: usize) -> &Actor {
        self.workers[worker].as_ref().unwrap()
    }

    async fn kill(&mut self, victim: usize) {
        self.house.must_run();
        match victim.checked_sub(REPLICAS) {
            None => self.house.kill(victim).await,
            Some(worker) => self.workers[worker].take().unwrap().kill().await,
        }
        self.kills[victim] += 1;
    }

    /// Brings it back, and does not wait until it is of use again.
    async fn launch(&mut self, victim: usize) {
        let Some(worker) = victim.checked_sub(REPLICAS) else {
            return self.house.launch_unseen(victim);
        };
        let alone = Alone {
            label: format!("worker-{worker}"),
            slots: 16,
            takes_ms: 20,
            gate: None,
        };
        let (replica, agent) = (worker % REPLICAS, &self.agents[worker]);
        self.workers[worker] = Some(self.house.worker(replica, agent, alone).await);
    }

    async fn suffer(&mut self, blows: &[Blow]) {
        let begun = Instant::now();
        for blow in blows {
            sleep_until(begun + blow.at).await;
            self.fall(*blow).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_is_killed_every_run_ends_and_everything_is_told_once() {
    let env = Env::process();
    let seed: u64 = env.parsed("CAMBIUM_CHAOS_SEED", rand::random()).unwrap();
    let seconds: u64 = env.parsed("CAMBIUM_CHAOS_SECONDS", 60).unwrap();
    let blows = schedule(seed, Duration::from_secs(seconds));
    println!("chaos: CAMBIUM_CHAOS_SEED={seed} CAMBIUM_CHAOS_SECONDS={seconds}");
    let sink = SignalSink::start().await;
    let plan = Plan::default()
        .set("HYPHA_LEASE_MS", 3_000)
        .set("HYPHA_IMMUNE_ADDR", sink.url());
    let house = House::open(plan).await;
    let (desks, stop) = ([house.desk(0), house.desk(1)], Stop::new());
    let load = Load::begin(&desks, seed, IN_FLIGHT, &stop).await;
    let mut cast = Cast::open(house).await;

    cast.suffer(&blows).await;
    stop.stop();
    let ledger = load.end(QUIET).await;
    cast.house.must_run();
    audit::wait_for_quiet(&cast.house, QUIET).await;
    let found = Found::look(&cast.house, &desks, &ledger, &sink).await;

    println!(
        "chaos: seed {seed}: kills {:?} of {REPLICAS} replicas and {WORKERS} workers, {} pauses; {found}; answers {:?}",
        cast.kills, cast.pauses, ledger.answers
    );
    let planned = blows.iter().filter(|blow| blow.turn == Turn::Kill).count();
    let kills: usize = cast.kills.iter().sum();
    let least = usize::try_from(seconds).unwrap();
    assert_eq!(kills, planned, "every planned blow was struck");
    assert!(
        kills >= least / 3 && kills > 0,
        "{kills} kills in {seconds} s are too few"
    );
    assert!(
        found.runs >= least,
        "{} runs in {seconds} s are too few",
        found.runs
    );
    if seconds >= 30 {
        assert!(
            cast.kills.iter().all(|kills| *kills > 0),
            "everybody was struck"
        );
        assert!(found.lost > 0, "no worker held anything when it was struck");
    }
}

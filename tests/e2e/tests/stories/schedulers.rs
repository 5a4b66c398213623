//! A minute of kills among schedulers: twenty minds take fast turns from one wallet while either scheduler dies at random moments, drawn
//! from one printed seed. Afterwards the oracle finds nothing wrong in what they left. `CAMBIUM_CHAOS_SEED` plays the same blows again,
//! `CAMBIUM_CHAOS_SECONDS` makes it longer. One in which too little happened fails.

pub(crate) mod desk;

use std::time::Duration;

use cambium_proto::swarm::v1::{
    HoldBrakeRequest, OpenMindRequest, Period, ReleaseBrakeRequest, SetDialRequest,
    SetShareRequest, SetWalletRequest, Wakes,
};
use cambium_service_kit::config::Env;
use cambium_service_kit::shutdown::Stop;
use cambium_testkit::wait_until;
use rand::rngs::StdRng;
use rand::{Rng as _, SeedableRng as _};
use serde_json::Value;
use tempfile::TempDir;
use tokio::time::{Instant, interval, sleep_until};
use uuid::Uuid;

use crate::house::pair::Pair;
use crate::stage::cambium;
use desk::{Desk, WORKSPACE, body};

const MINDS: usize = 20;
/// Turns alive at once.
const K: i64 = 4;
const CAP: i64 = 50_000;
/// What the wallet gets every second: enough for a few dozen turns, so that it holds them back again and again.
const ALLOWANCE: i64 = 400_000;
/// The laws that speak of what is played: nothing is lent here, and more than one turn lives at once.
const PLAYED: [&str; 7] = ["I-W1", "I-W2", "I-W3", "I-W6", "I-W7", "I-W9", "I-W10"];
/// For what was begun to end once nobody is killed any more.
const QUIET: Duration = Duration::from_secs(60);

/// One scheduler is killed at a moment, and brought back at another.
#[derive(Clone, Copy, Debug)]
struct Blow {
    at: Duration,
    back: Duration,
    victim: usize,
}

/// One after the other: at times none of the two is there.
fn schedule(seed: u64, length: Duration) -> Vec<Blow> {
    let mut random = StdRng::seed_from_u64(seed);
    let mut blows = Vec::new();
    let mut at = Duration::from_secs(2);
    while at < length {
        let away = Duration::from_millis(random.random_range(100..1_200));
        blows.push(Blow {
            at,
            back: at + away,
            victim: random.random_range(0..2),
        });
        at += away + Duration::from_millis(random.random_range(200..2_000));
    }
    blows
}

fn id() -> String {
    Uuid::new_v4().to_string()
}

/// Twenty minds of unequal shares, with a dial and a wallet; all are released when there is money.
async fn furnish(pair: &Pair) {
    let operator = pair.door(0, &pair.keys.operator());
    for number in 0..MINDS {
        let instance = format!("mind-{number:02}");
        let open = OpenMindRequest {
            workspace_id: WORKSPACE.to_owned(),
            request_id: id(),
            instance: instance.clone(),
            display_name: instance.clone(),
            mission: "To take turns.".to_owned(),
            host: "here".to_owned(),
            target: body(),
            wakes: Wakes::Always.into(),
            fresh: None,
        };
        operator.minds().open_mind(open).await.unwrap();
        let share = SetShareRequest {
            workspace_id: WORKSPACE.to_owned(),
            request_id: id(),
            instance: instance.clone(),
            share_ppm: 500_000 * (1 + i64::try_from(number % 4).unwrap()),
        };
        operator.control().set_share(share).await.unwrap();
        let release = ReleaseBrakeRequest {
            workspace_id: WORKSPACE.to_owned(),
            request_id: id(),
            instance,
        };
        operator.control().release_brake(release).await.unwrap();
    }
    fill(pair, ALLOWANCE).await;
    let dial = SetDialRequest {
        workspace_id: WORKSPACE.to_owned(),
        request_id: id(),
        heat_ppm: 1_000_000,
        base_rate_micro_usd_per_h: 10_000_000_000,
        base_run_micro_usd: CAP,
        k: K,
        ..SetDialRequest::default()
    };
    operator.control().set_dial(dial).await.unwrap();
}

/// Sets the wallet's limit; a scheduler that is away is asked again, and the other one too.
async fn fill(pair: &Pair, limit: i64) {
    let request = SetWalletRequest {
        workspace_id: WORKSPACE.to_owned(),
        request_id: id(),
        limit_micro_usd: Some(limit),
        period: Period::Month.into(),
    };
    let doors = [0, 1].map(|number| pair.door(number, &pair.keys.operator()));
    wait_until(QUIET, "the wallet is set", async || {
        for door in &doors {
            if door.control().set_wallet(request.clone()).await.is_ok() {
                return true;
            }
        }
        false
    })
    .await;
}

/// Strikes every blow, and fills the wallet every second meanwhile.
async fn suffer(pair: &mut Pair, blows: &[Blow]) -> i64 {
    let begun = Instant::now();
    let mut seconds = interval(Duration::from_secs(1));
    let mut limit = ALLOWANCE;
    for blow in blows {
        loop {
            tokio::select! {
                () = sleep_until(begun + blow.at) => break,
                _ = seconds.tick() => {
                    limit += ALLOWANCE;
                    fill(pair, limit).await;
                }
            }
        }
        pair.kill(blow.victim).await;
        sleep_until(begun + blow.back).await;
        pair.launch_unseen(blow.victim);
    }
    limit
}

async fn hold_all(pair: &Pair) {
    let request = HoldBrakeRequest {
        workspace_id: WORKSPACE.to_owned(),
        request_id: id(),
        instance: String::new(),
        reason: "the story ends".to_owned(),
    };
    let doors = [0, 1].map(|number| pair.door(number, &pair.keys.operator()));
    wait_until(QUIET, "all brakes are held", async || {
        for door in &doors {
            if door.control().hold_brake(request.clone()).await.is_ok() {
                return true;
            }
        }
        false
    })
    .await;
}

async fn number(pair: &Pair, sql: &'static str) -> i64 {
    let number = sqlx::query_scalar(sql).fetch_one(&pair.books).await;
    number.unwrap()
}

/// What the oracle says of the database, law by law.
async fn judged(pair: &Pair) -> Vec<Value> {
    let home = TempDir::new().unwrap();
    let url = pair.database_url();
    let words = ["fsck", "--only", "I-W", "--database", &url, "--json"];
    let said = cambium(home.path(), &words, QUIET).await;
    let verdicts = said.json();
    assert_eq!(said.code, 0, "{verdicts:#}");
    verdicts.as_array().unwrap().clone()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whichever_scheduler_is_killed_the_oracle_finds_nothing() {
    let env = Env::process();
    let seed: u64 = env.parsed("CAMBIUM_CHAOS_SEED", rand::random()).unwrap();
    let seconds: u64 = env.parsed("CAMBIUM_CHAOS_SECONDS", 60).unwrap();
    let blows = schedule(seed, Duration::from_secs(seconds));
    println!("schedulers: CAMBIUM_CHAOS_SEED={seed} CAMBIUM_CHAOS_SECONDS={seconds}");
    let mut pair = Pair::open().await;
    furnish(&pair).await;
    let stop = Stop::new();
    let desks = [0, 1].map(|number| Desk::sit(&pair, number, seed, &stop));

    let limit = suffer(&mut pair, &blows).await;
    hold_all(&pair).await;
    let live = "SELECT count(*) FROM swarm.turn WHERE state IN ('granted', 'running')";
    wait_until(QUIET, "every turn has ended", async || {
        number(&pair, live).await == 0
    })
    .await;
    stop.stop();
    let mut taken = 0;
    for desk in desks {
        taken += desk.rise().await;
    }
    let verdicts = judged(&pair).await;

    let turns = number(&pair, "SELECT count(*) FROM swarm.charge").await;
    let minds = number(&pair, "SELECT count(DISTINCT t.instance) FROM swarm.charge c JOIN swarm.turn t USING (workspace_id, turn_id)").await;
    let spent = number(&pair, "SELECT sum(cost)::bigint FROM swarm.charge").await;
    println!(
        "schedulers: seed {seed}: {} kills, {turns} turns charged, {taken} taken, {spent} of {limit} micro-dollars",
        blows.len()
    );
    for verdict in &verdicts {
        assert_eq!(verdict["violations"], 0, "{verdict}");
        let has_looked = verdict["rows"] != 0;
        let is_of_this = PLAYED.iter().any(|law| verdict["id"] == *law);
        assert!(
            has_looked || !is_of_this,
            "nothing was looked at: {verdict}"
        );
    }
    assert_eq!(
        i64::try_from(taken).unwrap(),
        turns,
        "each was charged once"
    );
    assert_eq!(
        minds,
        i64::try_from(MINDS).unwrap(),
        "every mind had its turns"
    );
    assert!(spent <= limit, "{spent} of {limit}");
    assert!(
        blows.len() >= usize::try_from(seconds / 5).unwrap() && !blows.is_empty(),
        "{} kills are too few",
        blows.len()
    );
    assert!(
        turns >= i64::try_from(seconds * 2).unwrap(),
        "{turns} turns in {seconds} s are too few"
    );
}

//! Rows that are gone: a lost timeline costs at most a round, a lost bucket mints no money.

use std::net::SocketAddr;
use std::time::Duration;

use cambium_proto::swarm::v1::{Turn, Why};
use cambium_service_kit::config::Secret;
use cambium_service_kit::shutdown::Stop;
use chrono::TimeDelta;
use swarm_svc::Config;

use super::steps::{CAP, ack, daily, explain, number, rich, seat, settle, sql, until_waiting};
use crate::control_steps::{launched, line, tick};
use crate::fixture::Fixture;

/// Three minds, of which one has a live turn; they have used 30,000, 20,000 and 10,000.
async fn used() -> (Fixture, Turn) {
    let swarm = rich(2).await;
    daily(&swarm, 100 * CAP).await;
    for (mind, cost) in [("cyd", 10_000), ("bob", 20_000), ("ada", 30_000)] {
        swarm.open_released(mind, 1_000_000).await;
        let turn = launched(&swarm).await;
        assert_eq!(turn.instance, mind);
        settle(&swarm, &turn, cost).await;
        swarm.hold(mind).await;
    }
    for mind in ["ada", "bob", "cyd"] {
        swarm.release(mind).await;
    }
    let live = launched(&swarm).await;
    ack(&swarm, &live, "desk").await.unwrap();
    (swarm, live)
}

/// Reserved, spent, held and live.
async fn money(swarm: &Fixture) -> (i64, i64, i64, i32) {
    let line = line(swarm).await;
    let wallet = line.wallet.unwrap();
    let (spent, held) = (wallet.spent_micro_usd, wallet.held_micro_usd);
    (line.reserved_micro_usd, spent, held, line.live)
}

#[tokio::test]
async fn a_lost_timeline_begins_at_0_and_costs_at_most_a_round() {
    let (swarm, live) = used().await;
    let kept = money(&swarm).await;
    assert_eq!(kept, (CAP, 60_000, CAP, 1));
    let bucket = line(&swarm).await.bucket_micro_usd;
    sql(&swarm, "DELETE FROM swarm.timeline").await;
    sql(&swarm, "DELETE FROM swarm.timeline_mind").await;

    let mut order = Vec::new();
    let turn = launched(&swarm).await;
    let anew = line(&swarm).await;
    assert_eq!(anew.min_vtime, 0);
    assert!(
        anew.minds.iter().all(|mind| mind.vtime == 0 && mind.member),
        "{anew:?}"
    );
    let (reserved, spent, held, alive) = money(&swarm).await;
    assert_eq!(
        (reserved, spent, held, alive),
        (2 * CAP, 60_000, 2 * CAP, 2)
    );
    settle(&swarm, &turn, 10_000).await;
    assert_eq!(money(&swarm).await, (CAP, 70_000, CAP, 1));
    assert_eq!(line(&swarm).await.bucket_micro_usd, bucket - 10_000);
    order.push(turn.instance);
    settle(&swarm, &live, 10_000).await;
    while order.len() < 6 {
        let turn = launched(&swarm).await;
        settle(&swarm, &turn, 10_000).await;
        order.push(turn.instance);
    }

    // The live one's was in the first round too: from there on each has its turn again.
    let mut second: Vec<&str> = order[2..5].iter().map(String::as_str).collect();
    second.sort_unstable();
    assert_eq!(second, ["ada", "bob", "cyd"], "{order:?}");
    let mut whole: Vec<&str> = order[..2].iter().map(String::as_str).collect();
    whole.push(&live.instance);
    whole.sort_unstable();
    assert_eq!(whole, ["ada", "bob", "cyd"], "{order:?}");
}

#[tokio::test]
async fn one_lost_row_is_made_at_the_least_vtime_by_the_next_change() {
    let (swarm, live) = used().await;
    settle(&swarm, &live, 10_000).await;
    let least = line(&swarm).await.min_vtime;
    assert!(least > 0);
    sql(
        &swarm,
        "DELETE FROM swarm.timeline_mind WHERE instance = 'ada'",
    )
    .await;

    swarm.share("ada", 1_000_000).await.unwrap();
    tick(&swarm).await;

    let made = seat(&swarm, "ada").await;
    assert!(made.member);
    assert_eq!(made.vtime, least);
    let logged =
        "SELECT after FROM swarm.vtime_event WHERE instance = 'ada' ORDER BY seq DESC LIMIT 1";
    assert_eq!(number(&swarm, logged).await, least);
}

#[tokio::test]
async fn the_loop_finds_a_lost_row_that_nobody_touches() {
    let (swarm, live) = used().await;
    settle(&swarm, &live, 10_000).await;
    swarm.hold("").await;
    tick(&swarm).await;
    let least = line(&swarm).await.min_vtime;
    sql(
        &swarm,
        "DELETE FROM swarm.timeline_mind WHERE instance = 'ada'",
    )
    .await;

    let stop = looping(&swarm).await;
    let rows = "SELECT count(*) FROM swarm.timeline_mind WHERE instance = 'ada'";
    for _ in 0..200 {
        if number(&swarm, rows).await == 1 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    stop.stop();

    let vtime = "SELECT vtime FROM swarm.timeline_mind WHERE instance = 'ada'";
    assert_eq!(number(&swarm, vtime).await, least);
}

/// The loops of a process on the same database.
async fn looping(swarm: &Fixture) -> Stop {
    let anywhere = SocketAddr::from(([127, 0, 0, 1], 0));
    let stop = Stop::new();
    let config = Config {
        listen: anywhere,
        admin: anywhere,
        database_url: Secret::new(swarm.database.url.as_str()),
        connections: 4,
        key: swarm.keys.swarm(),
        credentials: swarm.keys.credentials("swarm"),
        bundle: swarm.keys.bundle(),
        hypha: None,
        pulse: Some(Duration::from_millis(100)),
    };
    swarm_svc::build(config, stop.clone()).await.unwrap();
    stop
}

#[tokio::test]
async fn a_lost_bucket_comes_back_as_a_debt_and_is_earned_back() {
    let swarm = rich(2).await;
    swarm.open_released("ada", 1_000_000).await;
    assert_eq!(line(&swarm).await.bucket_micro_usd, 1_000 * CAP);
    launched(&swarm).await;
    sql(&swarm, "DELETE FROM swarm.bucket").await;
    assert_eq!(tick(&swarm).await.skip(), Why::Bucket);
    assert_eq!(line(&swarm).await.bucket_micro_usd, -2 * CAP);
    assert_eq!(
        number(&swarm, "SELECT bucket FROM swarm.bucket").await,
        -2 * CAP
    );

    // 3 dollars at 1,000 an hour: the debt, and what the live turn may cost.
    let wait = TimeDelta::microseconds(10_800_000);
    let until = swarm.now() + wait;
    swarm.open_released("bob", 1_000_000).await;
    let told = explain(&swarm, "bob").await;
    assert_eq!(told.why(), Why::Bucket);
    let at = told.until.unwrap();
    assert_eq!((at.seconds, at.nanos), (until.timestamp(), 800_000_000));
    swarm.advance(wait - TimeDelta::microseconds(1)).await;
    assert_eq!(tick(&swarm).await.skip(), Why::Bucket);
    swarm.advance(TimeDelta::microseconds(1)).await;
    assert_eq!(launched(&swarm).await.instance, "bob");
}

#[tokio::test]
async fn a_lost_bucket_is_written_by_the_first_tick_though_nobody_is_due() {
    let swarm = rich(1).await;
    swarm.open_released("ada", 1_000_000).await;
    swarm.hold("ada").await;
    tick(&swarm).await;
    sql(&swarm, "DELETE FROM swarm.bucket").await;

    assert_eq!(tick(&swarm).await.skip(), Why::Bucket);
    assert_eq!(
        number(&swarm, "SELECT bucket FROM swarm.bucket").await,
        -CAP
    );
    swarm.advance(TimeDelta::hours(1)).await;

    swarm.release("ada").await;
    assert_eq!(launched(&swarm).await.instance, "ada");
}

#[tokio::test]
async fn settlements_that_find_the_bucket_lost_at_once_are_all_charged() {
    let swarm = rich(6).await;
    let mut live = Vec::new();
    for n in 0..6 {
        swarm.open_released(&format!("mind-{n}"), 1_000_000).await;
        live.push(launched(&swarm).await);
    }
    // Whoever makes the row is kept until all have seen that there is none.
    let mut blocking = swarm.database.owner.begin().await.unwrap();
    sqlx::query("LOCK TABLE swarm.bucket IN SHARE MODE")
        .execute(&mut *blocking)
        .await
        .unwrap();
    sqlx::query("DELETE FROM swarm.bucket")
        .execute(&mut *blocking)
        .await
        .unwrap();

    let charges = live.iter().map(|turn| settle(&swarm, turn, 10_000));
    let ending = async {
        until_waiting(&swarm, 6).await;
        blocking.commit().await.unwrap();
    };
    tokio::join!(futures::future::join_all(charges), ending);

    let left = number(&swarm, "SELECT bucket FROM swarm.bucket").await;
    assert_eq!(left, -6 * CAP - 60_000);
    let lost = "SELECT count(*) FROM swarm.bucket_event WHERE kind = 'lost'";
    assert_eq!(number(&swarm, lost).await, 1);
}

//! A wallet of a dollar, runs of forty cents, and five minds that are ready at once on two replicas.

use cambium_proto::swarm::v1::{SetDialRequest, Why};
use chrono::TimeDelta;

use super::steps::{daily, explain, look, race, settle};
use crate::control_steps::{instant, line};
use crate::fixture::{Fixture, ordinary_dial, start};

const MINDS: [&str; 5] = ["ada", "bob", "cyd", "dan", "eve"];

/// What the period's turns have cost, and what those alive may still cost.
async fn money(swarm: &Fixture) -> (i64, i64) {
    let wallet = line(swarm).await.wallet.unwrap();
    (wallet.spent_micro_usd, wallet.held_micro_usd)
}

#[tokio::test]
async fn racing_replicas_never_reserve_more_than_the_wallet_holds() {
    let swarm = start().await;
    swarm
        .dial(SetDialRequest {
            k: 8,
            base_run_micro_usd: 400_000,
            ..ordinary_dial()
        })
        .await;
    daily(&swarm, 1_000_000).await;
    for mind in MINDS {
        swarm.open_released(mind, 1_000_000).await;
    }
    swarm.advance(TimeDelta::minutes(1)).await;
    let other = swarm.replica(&swarm.keys.scheduler()).await;

    let (first_two, skips) = race(&swarm, &other, 10).await;
    assert_eq!((first_two.len(), skips), (2, vec![Why::Wallet; 8]));
    assert_eq!(money(&swarm).await, (0, 800_000));
    let tomorrow = instant(crate::fixture::first_instant() + TimeDelta::days(1));
    for mind in &MINDS[2..] {
        let told = explain(&swarm, mind).await;
        assert_eq!((told.why(), told.until), (Why::Wallet, tomorrow), "{mind}");
    }

    settle(&swarm, &first_two[0], 100_000).await;
    assert_eq!(money(&swarm).await, (100_000, 400_000));
    let (third, skips) = race(&swarm, &other, 6).await;
    assert_eq!((third.len(), skips), (1, vec![Why::Wallet; 5]));
    assert_eq!(third[0].instance, "cyd");
    assert_eq!(money(&swarm).await, (100_000, 800_000));

    settle(&swarm, &first_two[1], 100_000).await;
    assert_eq!(money(&swarm).await, (200_000, 400_000));
    let (fourth, skips) = race(&swarm, &other, 6).await;
    assert_eq!((fourth.len(), skips), (1, vec![Why::Wallet; 5]));
    assert_eq!(fourth[0].instance, "dan");
    assert_eq!(money(&swarm).await, (200_000, 800_000));

    let dear = settle(&swarm, &third[0], 900_000).await;
    assert!(dear.overrun && dear.measured);
    assert!(
        look(&swarm, &third[0])
            .await
            .turn
            .unwrap()
            .charge
            .unwrap()
            .overrun
    );
    assert_eq!(money(&swarm).await, (1_100_000, 400_000));
    settle(&swarm, &fourth[0], 0).await;
    assert_eq!(money(&swarm).await, (1_100_000, 0));
    let (none, skips) = race(&swarm, &other, 4).await;
    assert_eq!((none.len(), skips), (0, vec![Why::Wallet; 4]));
    assert_eq!(explain(&swarm, "eve").await.why(), Why::Wallet);

    daily(&swarm, 1_500_000).await;
    let (refilled, skips) = race(&swarm, &other, 4).await;
    assert_eq!((refilled.len(), skips), (1, vec![Why::Wallet; 3]));
    assert_eq!(refilled[0].instance, "eve");
    assert_eq!(money(&swarm).await, (1_100_000, 400_000));
}

#[tokio::test]
async fn a_turn_belongs_to_the_day_of_its_launch() {
    let swarm = start().await;
    swarm.dial(ordinary_dial()).await;
    daily(&swarm, 1_000_000).await;
    swarm.open_released("ada", 1_000_000).await;
    swarm
        .advance(TimeDelta::hours(24) - TimeDelta::seconds(30))
        .await;
    let late = crate::control_steps::launched(&swarm).await;
    assert_eq!(money(&swarm).await, (0, 1_000_000));

    swarm.advance(TimeDelta::seconds(60)).await;
    assert_eq!(money(&swarm).await, (0, 0));
    settle(&swarm, &late, 700_000).await;
    assert_eq!(money(&swarm).await, (0, 0));
    swarm.advance(TimeDelta::seconds(60)).await;

    crate::control_steps::launched(&swarm).await;
    assert_eq!(money(&swarm).await, (0, 1_000_000));
}

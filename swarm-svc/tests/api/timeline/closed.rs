//! What cannot be read launches nothing: a dial, a wallet, a share, a brake or a persona that somebody spoilt.

use cambium_proto::swarm::v1::{Fresh, OpenMindRequest, Turn, Why};
use chrono::TimeDelta;

use super::steps::{daily, explain, grant, rich, settle, sql};
use crate::control_steps::{instant, launched, line, tick};
use crate::fixture::{Fixture, opening};

async fn two() -> Fixture {
    let swarm = rich(1).await;
    swarm.open_released("ada", 1_000_000).await;
    swarm.open_released("bob", 1_000_000).await;
    swarm
}

async fn passed_over(swarm: &Fixture, turn: &Turn) -> Vec<(String, Why)> {
    let passed = grant(swarm, turn).await.passed_over.into_iter();
    passed
        .map(|one| (one.instance.clone(), one.why()))
        .collect()
}

#[tokio::test]
async fn a_dial_out_of_its_bounds_launches_nothing() {
    let swarm = two().await;
    let spoilt = [
        ("UPDATE swarm.dial SET k = 0", "UPDATE swarm.dial SET k = 1"),
        (
            "UPDATE swarm.dial SET k = 1001",
            "UPDATE swarm.dial SET k = 1",
        ),
        (
            "UPDATE swarm.dial SET heat_ppm = 2000001",
            "UPDATE swarm.dial SET heat_ppm = 1000000",
        ),
        (
            "UPDATE swarm.dial SET heat_ppm = -1",
            "UPDATE swarm.dial SET heat_ppm = 1000000",
        ),
        (
            "UPDATE swarm.dial SET base_run_micro_usd = 0",
            "UPDATE swarm.dial SET base_run_micro_usd = 1000000",
        ),
        (
            "UPDATE swarm.dial SET base_rate_micro_usd_per_h = 10000000001",
            "UPDATE swarm.dial SET base_rate_micro_usd_per_h = 1000000000",
        ),
        (
            "UPDATE swarm.dial SET burst_micro_usd = 1000000001",
            "UPDATE swarm.dial SET burst_micro_usd = 1000000000",
        ),
        (
            "UPDATE swarm.dial SET floor_micro_usd = 0",
            "UPDATE swarm.dial SET floor_micro_usd = 1000",
        ),
        (
            "UPDATE swarm.dial SET turn_max_s = 59",
            "UPDATE swarm.dial SET turn_max_s = 21600",
        ),
        (
            "UPDATE swarm.dial SET reserve = 'perhaps'",
            "UPDATE swarm.dial SET reserve = 'cap'",
        ),
    ];
    for (spoil, mend) in spoilt {
        sql(&swarm, spoil).await;
        let reply = tick(&swarm).await;
        assert_eq!((reply.skip(), &reply.turn), (Why::Dial, &None), "{spoil}");
        assert_eq!(explain(&swarm, "ada").await.why(), Why::Dial, "{spoil}");
        sql(&swarm, mend).await;
        let turn = launched(&swarm).await;
        settle(&swarm, &turn, 1_000).await;
    }
    sql(&swarm, "DELETE FROM swarm.dial").await;
    assert_eq!(tick(&swarm).await.skip(), Why::Dial);
}

#[tokio::test]
async fn a_wallet_that_cannot_be_read_is_spent() {
    let swarm = two().await;
    daily(&swarm, 1_000_000_000).await;
    let spoilt = [
        (
            "UPDATE swarm.wallet SET period = 'year'",
            "UPDATE swarm.wallet SET period = 'day'",
        ),
        (
            "UPDATE swarm.wallet SET limit_micro_usd = -1",
            "UPDATE swarm.wallet SET limit_micro_usd = 1000000000",
        ),
        (
            "UPDATE swarm.wallet SET limit_micro_usd = 1000000000001",
            "UPDATE swarm.wallet SET limit_micro_usd = 1000000000",
        ),
    ];
    for (spoil, mend) in spoilt {
        sql(&swarm, spoil).await;
        assert_eq!(tick(&swarm).await.skip(), Why::Wallet, "{spoil}");
        assert_eq!(explain(&swarm, "ada").await.why(), Why::Wallet, "{spoil}");
        assert_eq!(line(&swarm).await.live, 0);
        sql(&swarm, mend).await;
        let turn = launched(&swarm).await;
        settle(&swarm, &turn, 1_000).await;
    }
}

#[tokio::test]
async fn a_persona_that_cannot_be_read_keeps_its_mind_alone() {
    let swarm = rich(1).await;
    let birth = OpenMindRequest {
        fresh: Some(Fresh {
            public_name: "Ada".to_owned(),
            public_description: "Somebody.".to_owned(),
            voice_summary: "Dry.".to_owned(),
        }),
        ..opening("ada")
    };
    swarm.minds().open_mind(birth).await.unwrap();
    swarm.share("ada", 1_000_000).await.unwrap();
    swarm.release("ada").await;
    swarm.open_released("bob", 1_000_000).await;
    sql(
        &swarm,
        "ALTER TABLE swarm.persona_version DISABLE TRIGGER USER",
    )
    .await;
    sql(
        &swarm,
        "UPDATE swarm.persona_version SET value = jsonb_set(value, '{publicName}', '\"Eve\"')",
    )
    .await;

    let turn = launched(&swarm).await;
    assert_eq!(turn.instance, "bob");
    assert_eq!(
        passed_over(&swarm, &turn).await,
        [("ada".to_owned(), Why::Persona)]
    );
    let until = swarm.now() + TimeDelta::minutes(15);
    let told = explain(&swarm, "ada").await;
    assert_eq!((told.why(), told.until), (Why::Persona, instant(until)));
    settle(&swarm, &turn, 50_000).await;
    sql(
        &swarm,
        "UPDATE swarm.persona_version SET value = jsonb_set(value, '{publicName}', '\"Ada\"')",
    )
    .await;

    let again = launched(&swarm).await;
    assert_eq!(again.instance, "bob");
    settle(&swarm, &again, 50_000).await;
    swarm.advance(TimeDelta::minutes(15)).await;
    assert_eq!(launched(&swarm).await.instance, "ada");
}

#[tokio::test]
async fn a_share_or_a_brake_that_is_not_as_it_may_be_keeps_its_mind_alone() {
    let swarm = two().await;
    let first = launched(&swarm).await;
    settle(&swarm, &first, 1_000).await;
    let second = launched(&swarm).await;
    settle(&swarm, &second, 1_000).await;
    sql(
        &swarm,
        "ALTER TABLE swarm.share DROP CONSTRAINT share_within_bounds",
    )
    .await;
    sql(
        &swarm,
        "UPDATE swarm.share SET share_ppm = 0 WHERE instance = 'ada'",
    )
    .await;

    let turn = launched(&swarm).await;
    assert_eq!(turn.instance, "bob");
    assert_eq!(
        passed_over(&swarm, &turn).await,
        [("ada".to_owned(), Why::Share)]
    );
    settle(&swarm, &turn, 1_000).await;
    assert_eq!(explain(&swarm, "ada").await.why(), Why::Share);
    sql(
        &swarm,
        "UPDATE swarm.share SET share_ppm = 1000000 WHERE instance = 'ada'",
    )
    .await;
    sql(&swarm, "DELETE FROM swarm.brake WHERE instance = 'ada'").await;

    let turn = launched(&swarm).await;
    assert_eq!(turn.instance, "bob");
    assert_eq!(explain(&swarm, "ada").await.why(), Why::Brake);
    settle(&swarm, &turn, 1_000).await;
    sql(&swarm, "DELETE FROM swarm.brake").await;
    assert_eq!(tick(&swarm).await.skip(), Why::Nobody);
}

#[tokio::test]
async fn haste_that_is_over_or_out_of_bounds_is_none() {
    let swarm = two().await;
    sql(
        &swarm,
        "ALTER TABLE swarm.share DROP CONSTRAINT share_haste_within_bounds",
    )
    .await;
    for haste in [
        "UPDATE swarm.share SET haste_ppm = 999999, haste_until = swarm.now() + interval '1 day'",
        "UPDATE swarm.share SET haste_ppm = 10000001, haste_until = swarm.now() + interval '1 day'",
        "UPDATE swarm.share SET haste_ppm = 2000000, haste_until = swarm.now()",
    ] {
        sql(&swarm, haste).await;
        let turn = launched(&swarm).await;
        assert_eq!(turn.haste_ppm, 1_000_000, "{haste}");
        settle(&swarm, &turn, 1_000).await;
    }
    sql(
        &swarm,
        "UPDATE swarm.share SET haste_until = swarm.now() + interval '1 day'",
    )
    .await;
    assert_eq!(launched(&swarm).await.haste_ppm, 2_000_000);
}

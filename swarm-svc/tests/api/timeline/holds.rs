//! A brake that is held while a launch is under way: whichever comes first, nothing starts once the hold has replied.

use cambium_proto::swarm::v1::{HoldBrakeRequest, TickRequest, TurnState, Why};
use chrono::TimeDelta;
use tonic::Code;

use super::steps::{ack, explain, grant, look, rich, seat, settle, tick_by, until_waiting};
use crate::control_steps::{launched, line, tick};
use crate::fixture::{WORKSPACE, reason, request_id};

#[tokio::test]
async fn a_brake_held_between_choice_and_launch_is_what_was_read_last() {
    let swarm = rich(2).await;
    swarm.open_released("ada", 1_000_000).await;
    swarm.open_released("bob", 1_000_000).await;
    let mut holding = swarm.database.owner.begin().await.unwrap();
    sqlx::query("UPDATE swarm.brake SET released = false WHERE instance = 'ada'")
        .execute(&mut *holding)
        .await
        .unwrap();

    let ticking = tokio::spawn(tick_by(swarm.scheduler()));
    until_waiting(&swarm, 1).await;
    assert!(!ticking.is_finished());
    holding.commit().await.unwrap();

    let turn = ticking.await.unwrap().turn.unwrap();
    assert_eq!(turn.instance, "bob");
    let grant = grant(&swarm, &turn).await;
    let order: Vec<&str> = grant
        .candidates
        .iter()
        .map(|one| one.instance.as_str())
        .collect();
    assert_eq!(order, ["ada", "bob"]);
    assert_eq!(grant.passed_over.len(), 1);
    assert_eq!(
        (
            grant.passed_over[0].instance.as_str(),
            grant.passed_over[0].why()
        ),
        ("ada", Why::Brake)
    );
    assert_eq!(tick(&swarm).await.skip(), Why::Nobody);
}

#[tokio::test]
async fn a_hold_waits_for_a_launch_that_is_past_its_brake_and_takes_its_turn_away() {
    let swarm = rich(2).await;
    swarm.open_released("ada", 1_000_000).await;
    let mut blocking = swarm.database.owner.begin().await.unwrap();
    // A launch writes its grant after it has read the brake.
    sqlx::query("LOCK TABLE swarm.grant IN SHARE MODE")
        .execute(&mut *blocking)
        .await
        .unwrap();

    let ticking = tokio::spawn(tick_by(swarm.scheduler()));
    until_waiting(&swarm, 1).await;
    let mut operator = swarm.control();
    let holding = tokio::spawn(async move {
        let request = HoldBrakeRequest {
            workspace_id: WORKSPACE.to_owned(),
            request_id: request_id(),
            instance: "ada".to_owned(),
            reason: "now".to_owned(),
        };
        operator.hold_brake(request).await
    });
    until_waiting(&swarm, 2).await;
    assert!(!holding.is_finished() && !ticking.is_finished());
    blocking.commit().await.unwrap();
    let turn = ticking.await.unwrap().turn.unwrap();
    holding.await.unwrap().unwrap();

    let lost = ack(&swarm, &turn, "desk").await.unwrap_err();
    assert_eq!(
        (lost.code(), reason(&lost).as_str()),
        (Code::Aborted, "TURN_LOST")
    );
    assert_eq!(
        look(&swarm, &turn).await.turn.unwrap().state(),
        TurnState::Granted
    );
    assert_eq!(tick(&swarm).await.skip(), Why::Nobody);
    swarm.advance(TimeDelta::seconds(121)).await;
    assert_eq!(tick(&swarm).await.skip(), Why::Nobody);
    let given_up = look(&swarm, &turn).await.turn.unwrap();
    assert_eq!(
        (given_up.state(), given_up.charge),
        (TurnState::Withdrawn, None)
    );
    let shown = line(&swarm).await;
    assert_eq!((shown.live, shown.reserved_micro_usd), (0, 0));
}

#[tokio::test]
async fn a_restart_releases_nothing_and_a_release_starts_at_the_least_vtime() {
    let swarm = rich(1).await;
    swarm.open_released("ada", 1_000_000).await;
    swarm.open_released("bob", 1_000_000).await;
    let first = launched(&swarm).await;
    assert_eq!(first.instance, "ada");
    settle(&swarm, &first, 10_000).await;
    swarm.hold("ada").await;

    let mut restarted = swarm.replica(&swarm.keys.scheduler()).await;
    for _ in 0..5 {
        let request = TickRequest {
            workspace_id: WORKSPACE.to_owned(),
        };
        let turn = restarted
            .tick(request)
            .await
            .unwrap()
            .into_inner()
            .turn
            .unwrap();
        assert_eq!(turn.instance, "bob");
        settle(&swarm, &turn, 10_000).await;
    }
    assert_eq!(explain(&swarm, "ada").await.why(), Why::Brake);
    swarm.hold("bob").await;
    assert_eq!(tick_by(restarted.clone()).await.skip(), Why::Nobody);
    swarm.release("bob").await;
    assert_eq!(seat(&swarm, "ada").await.vtime, 10_000);

    swarm.release("ada").await;
    let turn = tick_by(restarted).await.turn.unwrap();

    let least = line(&swarm).await.min_vtime;
    assert_eq!(least, 50_000);
    let candidates = grant(&swarm, &turn).await.candidates;
    let seen: Vec<(&str, i64)> = candidates
        .iter()
        .map(|one| (one.instance.as_str(), one.vtime))
        .collect();
    assert_eq!(seen, [("ada", least), ("bob", least)]);
    assert_eq!(turn.instance, "ada");
}

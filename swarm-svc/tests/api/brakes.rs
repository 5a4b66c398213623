//! Brakes: held is held once the hold has replied, whoever is launching meanwhile.

use cambium_proto::swarm::v1::{
    AckGrantRequest, Brake, HeartbeatRequest, HoldBrakeRequest, ReleaseBrakeRequest, TickRequest,
    Why,
};
use chrono::TimeDelta;
use tonic::Code;

use crate::control_steps::{is_member, launched, line, shown, tick};
use crate::fixture::{Fixture, WORKSPACE, ordinary_dial, reason, request_id, start};

fn holding(mind: &str, why: &str) -> HoldBrakeRequest {
    HoldBrakeRequest {
        workspace_id: WORKSPACE.to_owned(),
        request_id: request_id(),
        instance: mind.to_owned(),
        reason: why.to_owned(),
    }
}

fn releasing(mind: &str) -> ReleaseBrakeRequest {
    ReleaseBrakeRequest {
        workspace_id: WORKSPACE.to_owned(),
        request_id: request_id(),
        instance: mind.to_owned(),
    }
}

async fn brake(swarm: &Fixture, mind: &str) -> Brake {
    let brakes = shown(swarm).await.brakes;
    let mut brakes = brakes.into_iter();
    brakes.find(|brake| brake.instance == mind).unwrap()
}

async fn sql(swarm: &Fixture, statement: &'static str) {
    let statement = sqlx::query(statement);
    statement.execute(&swarm.database.owner).await.unwrap();
}

#[tokio::test]
async fn all_minds_are_held_at_once_and_a_second_hold_changes_nothing() {
    let swarm = start().await;
    swarm.dial(ordinary_dial()).await;
    swarm.open_released("ada", 1_000_000).await;
    swarm.open_released("bob", 1_000_000).await;
    swarm.open("cyd", 1_000_000).await;

    let reply = swarm
        .control()
        .hold_brake(holding("", "the roof burns"))
        .await
        .unwrap();
    let first = brake(&swarm, "ada").await;
    swarm.advance(TimeDelta::seconds(5)).await;
    swarm
        .control()
        .hold_brake(holding("ada", "again"))
        .await
        .unwrap();

    let held: Vec<bool> = reply
        .get_ref()
        .brakes
        .iter()
        .map(|brake| brake.released)
        .collect();
    assert_eq!(held, [false, false, false]);
    assert_eq!(
        (first.reason.as_str(), first.set_by.as_str()),
        ("the roof burns", "operator:ada")
    );
    assert_eq!(brake(&swarm, "ada").await, first);
    assert_eq!(tick(&swarm).await.skip(), Why::Nobody);
}

#[tokio::test]
async fn a_live_turn_is_told_to_stop() {
    let swarm = start().await;
    swarm.dial(ordinary_dial()).await;
    swarm.open_released("ada", 1_000_000).await;
    let turn = launched(&swarm).await;
    let ack = AckGrantRequest {
        workspace_id: WORKSPACE.to_owned(),
        turn_id: turn.turn_id.clone(),
        epoch: turn.epoch,
        holder: "desk 1".to_owned(),
    };
    swarm.body().ack_grant(ack).await.unwrap();

    swarm.hold("ada").await;

    let beat = HeartbeatRequest {
        workspace_id: WORKSPACE.to_owned(),
        turn_id: turn.turn_id,
        epoch: turn.epoch,
        holder: "desk 1".to_owned(),
    };
    let heard = swarm.body().heartbeat(beat).await.unwrap();
    assert_eq!(heard.into_inner().stop, "BRAKE");
    swarm.advance(TimeDelta::seconds(121)).await;
    tick(&swarm).await;
    assert_eq!(line(&swarm).await.live, 0);
}

#[tokio::test]
async fn nothing_starts_once_a_hold_has_replied() {
    let swarm = start().await;
    let dial = cambium_proto::swarm::v1::SetDialRequest {
        k: 8,
        reserve: cambium_proto::swarm::v1::Reserve::None.into(),
        ..ordinary_dial()
    };
    swarm.dial(dial).await;
    for n in 0..8 {
        swarm.open_released(&format!("mind-{n}"), 1_000_000).await;
    }
    let ticks = (0..8).map(|_| {
        let mut scheduler = swarm.scheduler();
        tokio::spawn(async move {
            let request = TickRequest {
                workspace_id: WORKSPACE.to_owned(),
            };
            let _ = scheduler.tick(request).await;
        })
    });
    let ticks: Vec<_> = ticks.collect();

    swarm.control().hold_brake(holding("", "")).await.unwrap();
    let live = line(&swarm).await.live;
    for tick in ticks {
        tick.await.unwrap();
    }

    assert_eq!(line(&swarm).await.live, live);
    assert_eq!(tick(&swarm).await.turn, None);
}

#[tokio::test]
async fn a_release_ends_a_rest_and_needs_a_target() {
    let swarm = start().await;
    swarm.dial(ordinary_dial()).await;
    swarm.open_released("ada", 1_000_000).await;
    sql(
        &swarm,
        "UPDATE swarm.agenda SET rest_until = swarm.now() + interval '1 day'",
    )
    .await;
    assert!(!is_member(&swarm, "ada").await);

    let reply = swarm
        .control()
        .release_brake(releasing("ada"))
        .await
        .unwrap();
    assert!(reply.into_inner().brake.unwrap().released);
    assert!(is_member(&swarm, "ada").await);

    swarm.hold("ada").await;
    sql(&swarm, "UPDATE swarm.mind SET target = NULL").await;
    let refused = swarm
        .control()
        .release_brake(releasing("ada"))
        .await
        .unwrap_err();
    assert_eq!(
        (refused.code(), reason(&refused)),
        (Code::FailedPrecondition, "NO_TARGET".to_owned())
    );
    let nobody = swarm
        .control()
        .release_brake(releasing("bob"))
        .await
        .unwrap_err();
    assert_eq!(nobody.code(), Code::NotFound);
    sql(&swarm, "UPDATE swarm.mind SET state = 'retired'").await;
    let retired = swarm
        .control()
        .hold_brake(holding("ada", ""))
        .await
        .unwrap_err();
    assert_eq!(reason(&retired), "MIND_RETIRED");
}

#[tokio::test]
async fn an_operator_stops_a_swarm_whose_timeline_is_broken() {
    let swarm = start().await;
    swarm.dial(ordinary_dial()).await;
    swarm.open_released("ada", 1_000_000).await;
    sql(&swarm, "DELETE FROM swarm.bucket").await;
    sql(&swarm, "DELETE FROM swarm.timeline").await;
    sql(&swarm, "UPDATE swarm.dial SET k = 0").await;

    swarm.hold("").await;

    assert!(!brake(&swarm, "ada").await.released);
}

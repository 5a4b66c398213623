//! A body takes its turn, shows that it lives, and is given up: who may, in which order, and at whose cost.

use cambium_proto::swarm::v1::{
    AckGrantRequest, ChargeSource, HeartbeatRequest, SetDialRequest, TurnOutcome, TurnState, Why,
};
use chrono::TimeDelta;
use tonic::{Code, Status};

use super::steps::{CAP, ack, beat, explain, look, rich, settle};
use crate::control_steps::{instant, launched, line, tick};
use crate::fixture::{Fixture, WORKSPACE, field, ordinary_dial, reason, request_id};

fn answered(status: &Status) -> (Code, String) {
    (status.code(), reason(status))
}

async fn alone() -> Fixture {
    let swarm = rich(1).await;
    swarm.open_released("ada", 1_000_000).await;
    swarm
}

#[tokio::test]
async fn the_first_acknowledgement_takes_the_turn() {
    let swarm = alone().await;
    let turn = launched(&swarm).await;
    let early = beat(&swarm, &turn, "desk 1").await.unwrap_err();
    assert_eq!(answered(&early), (Code::Aborted, "TURN_LOST".to_owned()));

    let taken = ack(&swarm, &turn, "desk 1").await.unwrap();
    assert_eq!(
        (taken.state(), taken.holder.as_str()),
        (TurnState::Running, "desk 1")
    );
    let again = ack(&swarm, &turn, "desk 1").await.unwrap();
    assert_eq!(again, taken);
    let other = ack(&swarm, &turn, "desk 2").await.unwrap_err();
    assert_eq!(reason(&other), "ALREADY_ACKED");
    let stranger = beat(&swarm, &turn, "desk 2").await.unwrap_err();
    assert_eq!(answered(&stranger), (Code::Aborted, "TURN_LOST".to_owned()));

    assert_eq!(look(&swarm, &turn).await.turn.unwrap(), taken);
}

#[tokio::test]
async fn two_processes_that_ack_at_once_do_not_both_have_it() {
    let swarm = alone().await;
    let turn = launched(&swarm).await;
    let names = ["desk 1", "desk 2", "desk 3", "desk 4"];

    let acks = names.map(|name| ack(&swarm, &turn, name));
    let acks = futures::future::join_all(acks).await;

    let won = acks.iter().filter(|ack| ack.is_ok()).count();
    assert_eq!(won, 1);
    let lost = acks.into_iter().filter_map(Result::err);
    assert!(
        lost.map(|status| reason(&status))
            .all(|reason| reason == "ALREADY_ACKED")
    );
}

#[tokio::test]
async fn a_stale_epoch_another_body_and_a_bad_name_are_refused() {
    let swarm = alone().await;
    let turn = launched(&swarm).await;
    let request = |epoch, holder: &str| AckGrantRequest {
        workspace_id: WORKSPACE.to_owned(),
        turn_id: turn.turn_id.clone(),
        epoch,
        holder: holder.to_owned(),
    };

    for epoch in [turn.epoch - 1, turn.epoch + 1, i64::MIN] {
        let stale = swarm
            .body()
            .ack_grant(request(epoch, "desk"))
            .await
            .unwrap_err();
        assert_eq!(answered(&stale), (Code::Aborted, "TURN_LOST".to_owned()));
    }
    let strangers = [
        swarm.keys.worker_named("cellar"),
        swarm.keys.operator(),
        swarm.keys.scheduler(),
        swarm.keys.meter(),
        swarm.keys.viewer(),
    ];
    for token in strangers {
        let mut stranger = swarm.timeline_bearing(&token);
        let refused = stranger
            .ack_grant(request(turn.epoch, "desk"))
            .await
            .unwrap_err();
        assert_eq!(refused.code(), Code::PermissionDenied);
        let heartbeat = HeartbeatRequest {
            workspace_id: WORKSPACE.to_owned(),
            turn_id: turn.turn_id.clone(),
            epoch: turn.epoch,
            holder: "desk".to_owned(),
        };
        let refused = stranger.heartbeat(heartbeat).await.unwrap_err();
        assert_eq!(refused.code(), Code::PermissionDenied);
    }
    let unnamed = swarm
        .body()
        .ack_grant(request(turn.epoch, ""))
        .await
        .unwrap_err();
    assert_eq!(
        (unnamed.code(), field(&unnamed).as_str()),
        (Code::InvalidArgument, "holder")
    );
    let unknown = AckGrantRequest {
        turn_id: request_id(),
        ..request(turn.epoch, "desk")
    };
    let unknown = swarm.body().ack_grant(unknown).await.unwrap_err();
    assert_eq!(
        answered(&unknown),
        (Code::NotFound, "TURN_UNKNOWN".to_owned())
    );

    assert_eq!(look(&swarm, &turn).await.turn.unwrap(), turn);
}

#[tokio::test]
async fn a_heartbeat_keeps_a_turn_alive_until_its_deadline_and_tells_it_to_stop() {
    let swarm = alone().await;
    swarm
        .dial(SetDialRequest {
            turn_max_s: Some(300),
            burst_micro_usd: Some(1_000 * CAP),
            ..ordinary_dial()
        })
        .await;
    let turn = launched(&swarm).await;
    ack(&swarm, &turn, "desk").await.unwrap();
    for _ in 0..2 {
        swarm.advance(TimeDelta::seconds(119)).await;
        let heard = beat(&swarm, &turn, "desk").await.unwrap();
        assert_eq!(heard.stop, "");
        assert_eq!(
            heard.alive_until,
            instant(swarm.now() + TimeDelta::seconds(120))
        );
        assert_eq!(tick(&swarm).await.skip(), Why::Slots);
    }
    swarm.advance(TimeDelta::seconds(62)).await;
    assert_eq!(beat(&swarm, &turn, "desk").await.unwrap().stop, "DEADLINE");

    swarm.advance(TimeDelta::seconds(120)).await;
    assert_eq!(beat(&swarm, &turn, "desk").await.unwrap().stop, "DEADLINE");
    assert_eq!(tick(&swarm).await.skip(), Why::Slots);
    swarm.advance(TimeDelta::seconds(1)).await;
    tick(&swarm).await;

    let over = look(&swarm, &turn).await.turn.unwrap();
    let charge = over.charge.clone().unwrap();
    assert_eq!(
        (over.state(), over.outcome()),
        (TurnState::Settled, TurnOutcome::Overdue)
    );
    assert_eq!((charge.cost_micro_usd, charge.measured), (CAP, false));
    let lost = beat(&swarm, &turn, "desk").await.unwrap_err();
    assert_eq!(answered(&lost), (Code::Aborted, "TURN_LOST".to_owned()));
}

#[tokio::test]
async fn a_silent_body_costs_its_cap() {
    let swarm = alone().await;
    let turn = launched(&swarm).await;
    ack(&swarm, &turn, "desk").await.unwrap();
    swarm.advance(TimeDelta::seconds(120)).await;
    assert_eq!(tick(&swarm).await.skip(), Why::Slots);
    swarm.hold("ada").await;
    swarm.advance(TimeDelta::microseconds(1)).await;

    tick(&swarm).await;

    let over = look(&swarm, &turn).await.turn.unwrap();
    assert_eq!(
        (over.state(), over.outcome()),
        (TurnState::Settled, TurnOutcome::Orphaned)
    );
    let charge = over.charge.unwrap();
    assert_eq!((charge.cost_micro_usd, charge.measured), (CAP, false));
    assert_eq!((charge.vdelta, charge.source()), (CAP, ChargeSource::Sweep));
    let shown = line(&swarm).await;
    assert_eq!((shown.live, shown.reserved_micro_usd), (0, 0));
    assert_eq!(shown.bucket_micro_usd, 999 * CAP);
}

#[tokio::test]
async fn a_turn_that_nobody_takes_costs_nothing_and_is_tried_again() {
    let swarm = alone().await;
    let mut wait = 30;
    for epoch in 1..4 {
        let turn = launched(&swarm).await;
        assert_eq!(turn.epoch, epoch);
        swarm.advance(TimeDelta::seconds(121)).await;
        assert_eq!(tick(&swarm).await.skip(), Why::Nobody);

        let over = look(&swarm, &turn).await.turn.unwrap();
        assert_eq!((over.state(), over.charge), (TurnState::Withdrawn, None));
        let shown = line(&swarm).await;
        assert_eq!(
            (shown.reserved_micro_usd, shown.bucket_micro_usd),
            (0, 1_000 * CAP)
        );
        let told = explain(&swarm, "ada").await;
        let until = instant(swarm.now() + TimeDelta::seconds(wait));
        assert_eq!((told.why(), told.until), (Why::Retry, until));
        let late = ack(&swarm, &turn, "desk").await.unwrap_err();
        assert_eq!(answered(&late), (Code::Aborted, "TURN_LOST".to_owned()));
        swarm
            .advance(TimeDelta::seconds(wait) - TimeDelta::microseconds(1))
            .await;
        assert_eq!(tick(&swarm).await.skip(), Why::Nobody);
        swarm.advance(TimeDelta::microseconds(1)).await;
        wait *= 2;
    }
    let turn = launched(&swarm).await;
    ack(&swarm, &turn, "desk").await.unwrap();
    settle(&swarm, &turn, 0).await;
    let fails: i32 = sqlx::query_scalar("SELECT fails FROM swarm.launch")
        .fetch_one(&swarm.database.owner)
        .await
        .unwrap();
    assert_eq!(fails, 0);
}

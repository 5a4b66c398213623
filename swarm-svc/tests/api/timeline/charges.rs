//! What a turn cost: said by a meter alone, once, and by nobody who would gain from it.

use cambium_proto::swarm::v1::{
    ChargeSource, ListAuditRequest, Organ, RecordChargeRequest, TurnOutcome, TurnState,
};
use chrono::TimeDelta;
use serde_json::Value;
use tonic::{Code, Status};

use super::steps::{CAP, ack, charge, charging, look, rich, seat, settle};
use crate::control_steps::{launched, line, tick};
use crate::fixture::{Fixture, WORKSPACE, field, reason, request_id};

async fn alone() -> Fixture {
    let swarm = rich(1).await;
    swarm.open_released("ada", 1_000_000).await;
    swarm
}

/// The audit's lines of charges, newest first: who, and what.
async fn audited(swarm: &Fixture) -> Vec<(String, Value)> {
    let request = ListAuditRequest {
        workspace_id: WORKSPACE.to_owned(),
        ..ListAuditRequest::default()
    };
    let reply = swarm.control().list_audit(request).await.unwrap();
    let entries = reply.into_inner().entries.into_iter();
    let charges = entries.filter(|entry| entry.action == "RecordCharge" && entry.allowed);
    charges
        .map(|entry| (entry.actor, serde_json::from_slice(&entry.body).unwrap()))
        .collect()
}

#[tokio::test]
async fn only_a_meter_says_what_a_turn_cost() {
    let swarm = alone().await;
    swarm.open("bob", 1_000_000).await;
    let turn = launched(&swarm).await;
    ack(&swarm, &turn, "desk").await.unwrap();
    let others = [
        swarm.keys.operator(),
        swarm.keys.viewer(),
        swarm.keys.scheduler(),
        swarm.keys.worker_named(crate::fixture::BODY),
        swarm.keys.service("hypha"),
        swarm.operate("bob", Organ::Self_).await,
        swarm.operate("ada", Organ::Persona).await,
    ];

    for token in others {
        let mut other = swarm.timeline_bearing(&token);
        let refused = other
            .record_charge(charging(&turn, Some(0)))
            .await
            .unwrap_err();
        assert_eq!(refused.code(), Code::PermissionDenied, "{refused}");
    }

    assert_eq!(
        look(&swarm, &turn).await.turn.unwrap().state(),
        TurnState::Running
    );
    assert_eq!(line(&swarm).await.bucket_micro_usd, 1_000 * CAP);
}

#[tokio::test]
async fn the_first_figure_stands_and_a_later_one_is_kept_in_the_audit() {
    let swarm = alone().await;
    let turn = launched(&swarm).await;
    let first = RecordChargeRequest {
        evidence: br#"{"proxy": 7}"#.to_vec(),
        ..charging(&turn, Some(250_000))
    };

    let reply = charge(&swarm, first.clone()).await.unwrap();
    let charged = reply.charge.clone().unwrap();
    assert!(!reply.already && charged.measured && !charged.overrun);
    assert_eq!((charged.cost_micro_usd, charged.vdelta), (250_000, 250_000));
    assert_eq!(charged.source(), ChargeSource::Meter);
    let after = line(&swarm).await;
    assert_eq!(charge(&swarm, first.clone()).await.unwrap(), reply);
    let reused = RecordChargeRequest {
        cost_micro_usd: Some(1),
        ..first
    };
    let reused = charge(&swarm, reused).await.unwrap_err();
    assert_eq!(
        (reused.code(), reason(&reused).as_str()),
        (Code::AlreadyExists, "REQUEST_ID_REUSED")
    );
    let lines = audited(&swarm).await;
    assert_eq!(lines.len(), 1);
    assert_eq!(lines[0].1["evidence"]["proxy"], 7);

    swarm.advance(TimeDelta::seconds(5)).await;
    for later in [Some(900_000), Some(0), None] {
        let later = charge(&swarm, charging(&turn, later)).await.unwrap();
        assert!(later.already);
        assert_eq!(later.charge.unwrap(), charged);
    }
    assert_eq!(
        look(&swarm, &turn).await.turn.unwrap().charge.unwrap(),
        charged
    );
    let now = line(&swarm).await;
    // The five seconds filled the bucket again, and nothing else has changed.
    assert_eq!((&now.minds, now.min_vtime), (&after.minds, after.min_vtime));
    let lines = audited(&swarm).await;
    let later: Vec<&Value> = lines
        .iter()
        .map(|(_, body)| &body["later_cost_micro_usd"])
        .collect();
    assert_eq!(
        later,
        [&Value::from(0), &Value::from(900_000), &Value::Null]
    );
    assert!(
        lines.iter().all(|(actor, _)| actor.starts_with("meter:")),
        "{lines:?}"
    );
}

#[tokio::test]
async fn a_broken_meter_is_refused_and_an_overrun_is_charged_in_full() {
    let swarm = alone().await;
    let turn = launched(&swarm).await;
    for bad in [-1, i64::MIN, 10 * CAP + 1, i64::MAX] {
        let refused = charge(&swarm, charging(&turn, Some(bad)))
            .await
            .unwrap_err();
        assert_eq!(
            (
                refused.code(),
                field(&refused).as_str(),
                reason(&refused).as_str()
            ),
            (
                Code::InvalidArgument,
                "cost_micro_usd",
                "NUMBER_OUT_OF_BOUNDS"
            ),
            "{bad}"
        );
    }
    let bad = RecordChargeRequest {
        evidence: b"{".to_vec(),
        ..charging(&turn, Some(1))
    };
    let refused = charge(&swarm, bad).await.unwrap_err();
    assert_eq!(field(&refused), "evidence");
    for outcome in [TurnOutcome::LateStart.into(), 99] {
        let bad = RecordChargeRequest {
            outcome,
            ..charging(&turn, Some(1))
        };
        assert_eq!(field(&charge(&swarm, bad).await.unwrap_err()), "outcome");
    }
    assert_eq!(look(&swarm, &turn).await.turn.unwrap(), turn);

    let dear = settle(&swarm, &turn, 10 * CAP).await;
    assert!(dear.overrun && dear.measured);
    assert_eq!((dear.cost_micro_usd, dear.vdelta), (10 * CAP, 10 * CAP));
    assert_eq!(line(&swarm).await.bucket_micro_usd, 990 * CAP);
    let exact = launched(&swarm).await;
    assert!(!settle(&swarm, &exact, CAP).await.overrun);
}

#[tokio::test]
async fn what_nobody_measured_costs_the_cap_and_a_free_turn_the_floor_of_the_clock() {
    let swarm = alone().await;
    let turn = launched(&swarm).await;
    let charged = charge(&swarm, charging(&turn, None))
        .await
        .unwrap()
        .charge
        .unwrap();
    assert_eq!((charged.cost_micro_usd, charged.vdelta), (CAP, CAP));
    assert!(!charged.measured && !charged.overrun);

    let turn = launched(&swarm).await;
    let free = settle(&swarm, &turn, 0).await;
    assert_eq!(
        (free.cost_micro_usd, free.vdelta, free.measured),
        (0, 1_000, true)
    );
    assert_eq!(seat(&swarm, "ada").await.vtime, CAP + 1_000);
    assert_eq!(line(&swarm).await.bucket_micro_usd, 999 * CAP);
}

#[tokio::test]
async fn no_turn_and_a_withdrawn_one_are_charged_nothing() {
    let swarm = alone().await;
    let turn = launched(&swarm).await;
    swarm.advance(TimeDelta::seconds(121)).await;
    tick(&swarm).await;
    let answered = |status: Status| (status.code(), reason(&status));
    let never = (Code::FailedPrecondition, "NEVER_LAUNCHED".to_owned());

    let withdrawn = charge(&swarm, charging(&turn, Some(5))).await.unwrap_err();
    assert_eq!(answered(withdrawn), never);
    let unknown = RecordChargeRequest {
        turn_id: request_id(),
        ..charging(&turn, Some(5))
    };
    let unknown = charge(&swarm, unknown).await.unwrap_err();
    assert_eq!(answered(unknown), never);
    let unnamed = RecordChargeRequest {
        turn_id: "the last".to_owned(),
        ..charging(&turn, Some(5))
    };
    assert_eq!(
        field(&charge(&swarm, unnamed).await.unwrap_err()),
        "turn_id"
    );

    assert_eq!(line(&swarm).await.bucket_micro_usd, 1_000 * CAP);
    assert!(audited(&swarm).await.is_empty());
}

#[tokio::test]
async fn cap_share_and_haste_are_those_of_the_launch() {
    let swarm = alone().await;
    swarm.open_released("bob", 4_000_000).await;
    let turn = launched(&swarm).await;
    assert_eq!((turn.instance.as_str(), turn.share_ppm), ("bob", 4_000_000));
    swarm.share("bob", 1_000).await.unwrap();

    let charged = settle(&swarm, &turn, 100_000).await;

    assert_eq!(charged.vdelta, 25_000);
    assert_eq!(seat(&swarm, "bob").await.vtime, 25_000);
}

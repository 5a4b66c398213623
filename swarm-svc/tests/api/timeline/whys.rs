//! Why a mind has no turn: one word of a closed set, and until when if that is known.

use cambium_proto::swarm::v1::{
    ExplainMindRequest, ExplainMindResponse, OperateMindRequest, SetAgendaRequest, SetDialRequest,
    Wakes, Why,
};
use chrono::{DateTime, TimeDelta, Utc};
use tonic::Code;

use super::steps::{CAP, ack, daily, explain, rich, settle, sql};
use crate::agenda::stamp;
use crate::control_steps::{launched, remove, tick};
use crate::fixture::{Fixture, WORKSPACE, ordinary_dial, request_id, start};

/// The word and the instant; a sentence comes with every word.
fn told(answer: &ExplainMindResponse) -> (Why, Option<DateTime<Utc>>) {
    assert!(!answer.text.is_empty());
    let until = answer.until.as_ref();
    let until = until.map(|at| DateTime::from_timestamp(at.seconds, at.nanos.try_into().unwrap()));
    (answer.why(), until.map(Option::unwrap))
}

async fn why(swarm: &Fixture, mind: &str) -> (Why, Option<DateTime<Utc>>) {
    told(&explain(swarm, mind).await)
}

async fn operate(swarm: &Fixture, mind: &str, preempt: bool) {
    let request = OperateMindRequest {
        workspace_id: WORKSPACE.to_owned(),
        request_id: request_id(),
        instance: mind.to_owned(),
        preempt,
        ttl_s: Some(600),
    };
    swarm.control().operate_mind(request).await.unwrap();
}

#[tokio::test]
async fn what_keeps_one_mind_is_told_in_its_order() {
    let swarm = rich(1).await;
    swarm.open_released("ada", 1_000_000).await;
    assert_eq!(why(&swarm, "ada").await, (Why::Unspecified, None));

    let token = swarm
        .operate("ada", cambium_proto::swarm::v1::Organ::Self_)
        .await;
    assert_eq!(why(&swarm, "ada").await.0, Why::Session);
    let until = swarm.now() + TimeDelta::hours(2);
    let rest = cambium_proto::swarm::v1::RestRequest {
        workspace_id: WORKSPACE.to_owned(),
        request_id: request_id(),
        until: stamp(until),
    };
    swarm.minds_bearing(&token).rest(rest).await.unwrap();
    let session_end = swarm.now() + TimeDelta::hours(4);
    assert_eq!(why(&swarm, "ada").await, (Why::Session, Some(session_end)));
    swarm.end_session_with("ada").await;
    assert_eq!(why(&swarm, "ada").await, (Why::Rest, Some(until)));
    assert_eq!(tick(&swarm).await.skip(), Why::Nobody);
    remove(&swarm, "ada").await;
    assert_eq!(why(&swarm, "ada").await, (Why::Share, None));
    swarm.hold("ada").await;
    assert_eq!(why(&swarm, "ada").await, (Why::Brake, None));
    sql(
        &swarm,
        "UPDATE swarm.mind SET state = 'retired' WHERE instance = 'ada'",
    )
    .await;
    assert_eq!(why(&swarm, "ada").await, (Why::Retired, None));
}

#[tokio::test]
async fn a_mind_without_a_reason_is_idle_until_its_next_is_due() {
    let swarm = rich(1).await;
    swarm.open_released("ada", 1_000_000).await;
    let token = swarm
        .operate("ada", cambium_proto::swarm::v1::Organ::Self_)
        .await;
    let until = swarm.now() + TimeDelta::hours(3);
    let agenda = SetAgendaRequest {
        workspace_id: WORKSPACE.to_owned(),
        request_id: request_id(),
        wakes: Wakes::Work.into(),
        wake_at: stamp(until),
    };
    swarm
        .minds_bearing(&token)
        .set_agenda(agenda)
        .await
        .unwrap();
    swarm.end_session_with("ada").await;
    let turn = launched(&swarm).await;
    assert_eq!(why(&swarm, "ada").await.0, Why::Live);
    ack(&swarm, &turn, "desk").await.unwrap();
    settle(&swarm, &turn, 1_000).await;

    assert_eq!(why(&swarm, "ada").await, (Why::Idle, Some(until)));
    assert_eq!(tick(&swarm).await.skip(), Why::Nobody);
    swarm.advance(TimeDelta::hours(3)).await;
    assert_eq!(why(&swarm, "ada").await, (Why::Unspecified, None));
    launched(&swarm).await;
}

#[tokio::test]
async fn a_gate_that_is_closed_for_all_is_told_to_each() {
    let swarm = start().await;
    for mind in ["ada", "bob", "cyd"] {
        swarm.open_released(mind, 1_000_000).await;
    }
    assert_eq!(why(&swarm, "bob").await, (Why::Dial, None));
    assert_eq!(tick(&swarm).await.skip(), Why::Dial);
    swarm.dial(ordinary_dial()).await;

    let first = launched(&swarm).await;
    let deadline = swarm.now() + TimeDelta::hours(6);
    assert_eq!(why(&swarm, "ada").await, (Why::Live, Some(deadline)));
    assert_eq!(why(&swarm, "bob").await, (Why::Slots, None));
    settle(&swarm, &first, 500_000).await;

    // Half a dollar at a thousand an hour.
    let until = swarm.now() + TimeDelta::milliseconds(1_800);
    assert_eq!(why(&swarm, "bob").await, (Why::Bucket, Some(until)));
    assert_eq!(tick(&swarm).await.skip(), Why::Bucket);
    daily(&swarm, CAP).await;
    swarm.advance(TimeDelta::milliseconds(1_800)).await;
    let tomorrow = crate::fixture::first_instant() + TimeDelta::days(1);
    assert_eq!(why(&swarm, "bob").await, (Why::Wallet, Some(tomorrow)));
    operate(&swarm, "cyd", true).await;
    let until = swarm.now() + TimeDelta::seconds(600);
    assert_eq!(why(&swarm, "bob").await, (Why::Preempt, Some(until)));
    assert_eq!(why(&swarm, "cyd").await, (Why::Session, Some(until)));
}

#[tokio::test]
async fn who_is_behind_hears_who_is_first_and_its_own_place() {
    let swarm = rich(2).await;
    for mind in ["ada", "bob", "cyd", "dan"] {
        swarm.open_released(mind, 1_000_000).await;
    }
    // No tick has seen them: their order is told all the same.
    let before = explain(&swarm, "bob").await;
    assert!(matches!(before.why(), Why::Unspecified | Why::Behind));
    for cost in [40_000, 10_000, 30_000] {
        let turn = launched(&swarm).await;
        settle(&swarm, &turn, cost).await;
    }
    let live = launched(&swarm).await;
    assert_eq!(live.instance, "dan");

    let places = [
        ("bob", Why::Unspecified, "", 1),
        ("cyd", Why::Behind, "bob", 2),
        ("ada", Why::Behind, "bob", 3),
    ];
    for (mind, why, first, place) in places {
        let told = explain(&swarm, mind).await;
        assert_eq!(
            (told.why(), told.first.as_str(), told.place),
            (why, first, place),
            "{mind}"
        );
    }
    let told = explain(&swarm, "dan").await;
    assert_eq!((told.why(), told.place), (Why::Live, 0));
    assert_eq!(launched(&swarm).await.instance, "bob");
}

#[tokio::test]
async fn bucket_waits_for_what_live_turns_may_cost() {
    let swarm = start().await;
    swarm
        .dial(SetDialRequest {
            k: 2,
            ..ordinary_dial()
        })
        .await;
    swarm.open_released("ada", 1_000_000).await;
    swarm.open_released("bob", 1_000_000).await;
    launched(&swarm).await;

    let until = swarm.now() + TimeDelta::milliseconds(3_600);
    assert_eq!(why(&swarm, "bob").await, (Why::Bucket, Some(until)));
    swarm.advance(TimeDelta::microseconds(3_599_999)).await;
    assert_eq!(tick(&swarm).await.skip(), Why::Bucket);
    swarm.advance(TimeDelta::microseconds(1)).await;
    assert_eq!(launched(&swarm).await.instance, "bob");
}

#[tokio::test]
async fn of_nobody_nothing_is_told() {
    let swarm = start().await;
    let ask = async |mind: &str| {
        let request = ExplainMindRequest {
            workspace_id: WORKSPACE.to_owned(),
            instance: mind.to_owned(),
        };
        swarm.timeline().explain_mind(request).await.unwrap_err()
    };
    assert_eq!(ask("nobody").await.code(), Code::NotFound);
    assert_eq!(ask("No Body").await.code(), Code::InvalidArgument);
}

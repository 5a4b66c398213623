//! What a mind decides for itself, and what carries its turns.

use cambium_proto::swarm::v1::{
    CloseSessionRequest, EndRestRequest, Mind, MindState, Organ, RequestRetirementRequest,
    RestRequest, SetAgendaRequest, SetTargetRequest, Wakes, WithdrawRequestRequest,
};
use chrono::{DateTime, TimeDelta, Utc};
use prost_types::Timestamp;
use tonic::{Code, Status};

use crate::fixture::{Fixture, WORKSPACE, body_target, field, opening, reason, request_id, start};

pub(crate) fn stamp(at: DateTime<Utc>) -> Option<Timestamp> {
    Some(Timestamp {
        seconds: at.timestamp(),
        nanos: i32::try_from(at.timestamp_subsec_nanos()).unwrap(),
    })
}

impl Fixture {
    async fn rest(&self, token: &str, until: Option<DateTime<Utc>>) -> Result<Mind, Status> {
        let request = RestRequest {
            workspace_id: WORKSPACE.to_owned(),
            request_id: request_id(),
            until: until.and_then(stamp),
        };
        let rested = self.minds_bearing(token).rest(request).await?;
        Ok(rested.into_inner().mind.unwrap())
    }

    pub(crate) async fn end_session_with(&self, mind: &str) {
        let session: uuid::Uuid = sqlx::query_scalar(
            "SELECT session_id FROM swarm.operator_session WHERE instance = $1 AND closed_at IS NULL",
        )
        .bind(mind)
        .fetch_one(&self.database.owner)
        .await
        .unwrap();
        let request = CloseSessionRequest {
            workspace_id: WORKSPACE.to_owned(),
            request_id: request_id(),
            session_id: session.to_string(),
        };
        self.control().close_session(request).await.unwrap();
    }

    async fn opened(&self, mind: &str) {
        self.minds().open_mind(opening(mind)).await.unwrap();
    }
}

#[tokio::test]
async fn a_mind_rests_as_long_as_it_says_and_is_shown_so() {
    let swarm = start().await;
    swarm.opened("eureka").await;
    swarm.release("eureka").await;
    let token = swarm.operate("eureka", Organ::Self_).await;

    for until in [
        None,
        Some(swarm.now()),
        Some(swarm.now() + TimeDelta::days(31)),
    ] {
        let refused = swarm.rest(&token, until).await.unwrap_err();
        assert_eq!(
            (refused.code(), field(&refused).as_str()),
            (Code::InvalidArgument, "until")
        );
    }
    let until = swarm.now() + TimeDelta::hours(2);
    let rested = swarm.rest(&token, Some(until)).await.unwrap();
    assert_eq!(
        (rested.state(), rested.rest_until),
        (MindState::InSession, stamp(until))
    );
    swarm.end_session_with("eureka").await;
    assert_eq!(swarm.shown("eureka").await, MindState::Resting);
    swarm.advance(TimeDelta::hours(2)).await;
    assert_eq!(swarm.shown("eureka").await, MindState::Awake);
    swarm.hold("eureka").await;
    assert_eq!(swarm.shown("eureka").await, MindState::Asleep);

    let lost = swarm
        .rest(&token, Some(swarm.now() + TimeDelta::hours(1)))
        .await;
    let lost = lost.unwrap_err();
    assert_eq!(
        (lost.code(), reason(&lost).as_str()),
        (Code::Aborted, "TURN_LOST")
    );
}

#[tokio::test]
async fn an_agenda_keeps_what_is_left_out() {
    let swarm = start().await;
    swarm.opened("eureka").await;
    let token = swarm.operate("eureka", Organ::Persona).await;
    let mut minds = swarm.minds_bearing(&token);
    let set = |wakes: Wakes, wake_at| SetAgendaRequest {
        workspace_id: WORKSPACE.to_owned(),
        request_id: request_id(),
        wakes: wakes.into(),
        wake_at,
    };
    let at = stamp(swarm.now() + TimeDelta::hours(1));

    minds.set_agenda(set(Wakes::Work, None)).await.unwrap();
    let mind = minds.set_agenda(set(Wakes::Unspecified, at)).await;

    let mind = mind.unwrap().into_inner().mind.unwrap();
    assert_eq!((mind.wakes(), mind.wake_at), (Wakes::Work, at));
    let request = EndRestRequest {
        workspace_id: WORKSPACE.to_owned(),
        request_id: request_id(),
    };
    let until = swarm.now() + TimeDelta::hours(2);
    swarm.rest(&token, Some(until)).await.unwrap();
    let ended = minds.end_rest(request).await.unwrap().into_inner();
    assert_eq!(ended.mind.unwrap().rest_until, None);
    let operator = swarm.minds().set_agenda(set(Wakes::Always, None)).await;
    assert_eq!(operator.unwrap_err().code(), Code::PermissionDenied);
}

#[tokio::test]
async fn a_mind_may_ask_to_leave_and_think_again() {
    let swarm = start().await;
    swarm.opened("eureka").await;
    let token = swarm.operate("eureka", Organ::Self_).await;
    let mut minds = swarm.minds_bearing(&token);
    let ask = |reason: &str| RequestRetirementRequest {
        workspace_id: WORKSPACE.to_owned(),
        request_id: request_id(),
        reason: reason.to_owned(),
    };

    let empty = minds.request_retirement(ask("")).await.unwrap_err();
    assert_eq!(field(&empty), "reason");
    let asked = minds.request_retirement(ask("I am done.")).await.unwrap();
    let first = stamp(swarm.now());
    assert_eq!(asked.into_inner().mind.unwrap().retirement_asked_at, first);
    swarm.advance(TimeDelta::minutes(1)).await;
    let again = minds.request_retirement(ask("Still.")).await.unwrap();
    assert_eq!(again.into_inner().mind.unwrap().retirement_asked_at, first);
    let withdraw = WithdrawRequestRequest {
        workspace_id: WORKSPACE.to_owned(),
        request_id: request_id(),
    };
    let stays = minds.withdraw_request(withdraw).await.unwrap();
    assert_eq!(stays.into_inner().mind.unwrap().retirement_asked_at, None);
}

#[tokio::test]
async fn a_target_is_the_operators_to_set() {
    let swarm = start().await;
    swarm.opened("eureka").await;
    let set = |target| SetTargetRequest {
        workspace_id: WORKSPACE.to_owned(),
        request_id: request_id(),
        instance: "eureka".to_owned(),
        target,
    };

    let target = body_target("lab");
    let mind = swarm.minds().set_target(set(target)).await.unwrap();
    let named = mind.into_inner().mind.unwrap().target.unwrap();
    assert!(format!("{named:?}").contains("lab"));
    let missing = swarm.minds().set_target(set(None)).await.unwrap_err();
    assert_eq!(field(&missing), "target");
    let token = swarm.operate("eureka", Organ::Self_).await;
    let denied = swarm
        .minds_bearing(&token)
        .set_target(set(body_target("lab")))
        .await;
    assert_eq!(denied.unwrap_err().code(), Code::PermissionDenied);
}

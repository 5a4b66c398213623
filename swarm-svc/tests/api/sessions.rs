//! The operator's own work with a mind.

use cambium_proto::swarm::v1::{
    CloseSessionRequest, ExtendSessionRequest, OperateMindRequest, Session, Why,
};
use chrono::TimeDelta;
use tonic::{Code, Status};

use crate::control_steps::{is_member, launched, shown, tick};
use crate::fixture::{Fixture, WORKSPACE, field, ordinary_dial, reason, request_id, start};

async fn operated(
    swarm: &Fixture,
    mind: &str,
    preempt: bool,
    ttl_s: Option<i64>,
) -> Result<Session, Status> {
    let request = OperateMindRequest {
        workspace_id: WORKSPACE.to_owned(),
        request_id: request_id(),
        instance: mind.to_owned(),
        preempt,
        ttl_s,
    };
    let reply = swarm.control().operate_mind(request).await?;
    Ok(reply.into_inner().session.unwrap())
}

async fn extend(swarm: &Fixture, session: &Session, ttl_s: i64) -> Result<Session, Status> {
    let request = ExtendSessionRequest {
        workspace_id: WORKSPACE.to_owned(),
        request_id: request_id(),
        session_id: session.session_id.clone(),
        ttl_s,
    };
    let reply = swarm.control().extend_session(request).await?;
    Ok(reply.into_inner().session.unwrap())
}

async fn close(swarm: &Fixture, session_id: &str) -> Result<Session, Status> {
    let request = CloseSessionRequest {
        workspace_id: WORKSPACE.to_owned(),
        request_id: request_id(),
        session_id: session_id.to_owned(),
    };
    let reply = swarm.control().close_session(request).await?;
    Ok(reply.into_inner().session.unwrap())
}

#[tokio::test]
async fn a_mind_has_one_open_session_and_no_turn_meanwhile() {
    let swarm = start().await;
    swarm.dial(ordinary_dial()).await;
    swarm.open_released("ada", 1_000_000).await;
    swarm.open_released("bob", 1_000_000).await;

    let session = operated(&swarm, "ada", false, None).await.unwrap();
    let second = operated(&swarm, "ada", false, None).await.unwrap_err();
    assert_eq!(
        (second.code(), reason(&second)),
        (Code::FailedPrecondition, "SESSION_OPEN".to_owned())
    );
    assert_eq!(launched(&swarm).await.instance, "bob");
    assert_eq!(shown(&swarm).await.sessions, std::slice::from_ref(&session));

    let closed = close(&swarm, &session.session_id).await.unwrap();
    assert!(closed.close_time.is_some());
    swarm.advance(TimeDelta::seconds(9)).await;
    assert_eq!(close(&swarm, &session.session_id).await.unwrap(), closed);
    assert!(shown(&swarm).await.sessions.is_empty());
    assert!(is_member(&swarm, "ada").await);
}

#[tokio::test]
async fn a_session_ends_by_itself_unless_it_is_prolonged() {
    let swarm = start().await;
    swarm.dial(ordinary_dial()).await;
    swarm.open_released("ada", 1_000_000).await;
    let session = operated(&swarm, "ada", false, Some(60)).await.unwrap();
    let longer = extend(&swarm, &session, 120).await.unwrap();
    assert_eq!(
        longer.until.unwrap().seconds,
        session.until.unwrap().seconds + 60
    );

    swarm.advance(TimeDelta::seconds(119)).await;
    assert_eq!(tick(&swarm).await.skip(), Why::Nobody);
    swarm.advance(TimeDelta::seconds(1)).await;
    let over = extend(&swarm, &session, 120).await.unwrap_err();
    assert_eq!(
        (over.code(), reason(&over)),
        (Code::Aborted, "TURN_LOST".to_owned())
    );
    assert!(shown(&swarm).await.sessions.is_empty());
    assert_eq!(launched(&swarm).await.instance, "ada");
    operated(&swarm, "ada", false, None).await.unwrap();
    let closed = close(&swarm, &session.session_id).await.unwrap();
    assert_eq!(closed.close_time, longer.until);
}

#[tokio::test]
async fn a_preempting_session_keeps_every_mind_waiting() {
    let swarm = start().await;
    swarm.dial(ordinary_dial()).await;
    swarm.open_released("ada", 1_000_000).await;
    swarm.open_released("bob", 1_000_000).await;
    let session = operated(&swarm, "ada", true, Some(60)).await.unwrap();

    assert_eq!(tick(&swarm).await.skip(), Why::Preempt);
    close(&swarm, &session.session_id).await.unwrap();
    launched(&swarm).await;
}

#[tokio::test]
async fn a_session_of_nobody_or_too_long_changes_nothing() {
    let swarm = start().await;
    swarm.open("ada", 1_000_000).await;

    for bad in [0, 43_201] {
        let refused = operated(&swarm, "ada", false, Some(bad)).await.unwrap_err();
        assert_eq!(
            (refused.code(), field(&refused)),
            (Code::InvalidArgument, "ttl_s".to_owned())
        );
    }
    let nobody = operated(&swarm, "bob", false, None).await.unwrap_err();
    let unknown = close(&swarm, &request_id()).await.unwrap_err();
    let unnamed = close(&swarm, "first").await.unwrap_err();

    assert_eq!(nobody.code(), Code::NotFound);
    assert_eq!(
        (unknown.code(), reason(&unknown)),
        (Code::NotFound, "SESSION_UNKNOWN".to_owned())
    );
    assert_eq!(field(&unnamed), "session_id");
    assert!(shown(&swarm).await.sessions.is_empty());
}

//! What tests of the operator's hands do and look at.

use cambium_proto::swarm::v1::{
    GetControlRequest, GetControlResponse, GetTimelineRequest, GetTimelineResponse,
    RemoveShareRequest, Share, TickRequest, TickResponse, Turn,
};
use chrono::{DateTime, Utc};
use prost_types::Timestamp;

use crate::fixture::{Fixture, WORKSPACE, request_id};

pub(crate) async fn line(swarm: &Fixture) -> GetTimelineResponse {
    let request = GetTimelineRequest {
        workspace_id: WORKSPACE.to_owned(),
    };
    swarm
        .timeline()
        .get_timeline(request)
        .await
        .unwrap()
        .into_inner()
}

pub(crate) async fn is_member(swarm: &Fixture, mind: &str) -> bool {
    let minds = line(swarm).await.minds;
    minds.iter().any(|one| one.instance == mind && one.member)
}

pub(crate) async fn tick(swarm: &Fixture) -> TickResponse {
    let request = TickRequest {
        workspace_id: WORKSPACE.to_owned(),
    };
    swarm.scheduler().tick(request).await.unwrap().into_inner()
}

pub(crate) async fn launched(swarm: &Fixture) -> Turn {
    tick(swarm).await.turn.unwrap()
}

pub(crate) async fn shown(swarm: &Fixture) -> GetControlResponse {
    let request = GetControlRequest {
        workspace_id: WORKSPACE.to_owned(),
    };
    swarm
        .control()
        .get_control(request)
        .await
        .unwrap()
        .into_inner()
}

pub(crate) async fn share_of(swarm: &Fixture, mind: &str) -> Option<Share> {
    let shares = shown(swarm).await.shares;
    shares.into_iter().find(|share| share.instance == mind)
}

pub(crate) async fn remove(swarm: &Fixture, mind: &str) -> Vec<String> {
    let request = RemoveShareRequest {
        workspace_id: WORKSPACE.to_owned(),
        request_id: request_id(),
        instance: mind.to_owned(),
    };
    let reply = swarm.control().remove_share(request).await.unwrap();
    reply.into_inner().ended_loan_ids
}

pub(crate) fn instant(at: DateTime<Utc>) -> Option<Timestamp> {
    Some(Timestamp {
        seconds: at.timestamp(),
        nanos: 0,
    })
}

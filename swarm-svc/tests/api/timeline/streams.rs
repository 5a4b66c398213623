//! What bodies and onlookers hear: live turns again after each reconnect, and every event once, in order.

use std::time::Duration;

use cambium_proto::swarm::v1::watch_grants_response::Item as Told;
use cambium_proto::swarm::v1::watch_timeline_response::Item;
use cambium_proto::swarm::v1::{
    Grant, Stop, TimelineEvent, TimelineEventKind as Kind, Turn, WatchGrantsRequest,
    WatchGrantsResponse, WatchTimelineRequest, WatchTimelineResponse,
};
use serde_json::Value;
use tonic::{Code, Status, Streaming};

use super::steps::{Client, ack, rich, settle, sql};
use crate::control_steps::{launched, line};
use crate::fixture::{BODY, Fixture, WORKSPACE, field, reason};

async fn listen(
    swarm: &Fixture,
    as_whom: &str,
    body: &str,
) -> Result<Streaming<WatchGrantsResponse>, Status> {
    listen_by(swarm.timeline_bearing(as_whom), body).await
}

async fn listen_by(
    mut client: Client,
    body: &str,
) -> Result<Streaming<WatchGrantsResponse>, Status> {
    let request = WatchGrantsRequest {
        workspace_id: WORKSPACE.to_owned(),
        body: body.to_owned(),
    };
    Ok(client.watch_grants(request).await?.into_inner())
}

async fn heard(stream: &mut Streaming<WatchGrantsResponse>) -> Told {
    let next = tokio::time::timeout(Duration::from_secs(10), stream.message());
    next.await.unwrap().unwrap().unwrap().item.unwrap()
}

async fn granted(stream: &mut Streaming<WatchGrantsResponse>) -> Grant {
    match heard(stream).await {
        Told::Grant(grant) => grant,
        other => panic!("{other:?}"),
    }
}

async fn stopped(stream: &mut Streaming<WatchGrantsResponse>) -> Stop {
    match heard(stream).await {
        Told::Stop(stop) => stop,
        other => panic!("{other:?}"),
    }
}

fn is_of(grant: &Grant, turn: &Turn) -> bool {
    grant.turn_id == turn.turn_id
        && grant.epoch == turn.epoch
        && grant.cap_micro_usd == turn.cap_micro_usd
        && grant.instance == turn.instance
        && grant.deadline == turn.deadline
}

#[tokio::test]
async fn a_body_hears_its_live_turns_again_and_when_to_stop() {
    let swarm = rich(2).await;
    swarm.open_released("ada", 1_000_000).await;
    swarm.open_released("bob", 1_000_000).await;
    let desk = swarm.keys.worker_named(BODY);
    let mut stream = listen(&swarm, &desk, BODY).await.unwrap();

    let first = launched(&swarm).await;
    let grant = granted(&mut stream).await;
    assert!(is_of(&grant, &first), "{grant:?}");
    let brief: Value = serde_json::from_slice(&grant.brief).unwrap();
    assert_eq!(brief["instance"], "ada");
    assert_eq!(brief["first_turn"], true);
    ack(&swarm, &first, "desk 1").await.unwrap();
    let second = launched(&swarm).await;
    assert!(is_of(&granted(&mut stream).await, &second));

    drop(stream);
    let other = swarm.replica(&desk).await;
    let mut stream = listen_by(other, BODY).await.unwrap();
    assert!(is_of(&granted(&mut stream).await, &first));
    assert!(is_of(&granted(&mut stream).await, &second));

    swarm.hold("ada").await;
    let stop = stopped(&mut stream).await;
    assert_eq!(
        (stop.turn_id.as_str(), stop.epoch, stop.reason.as_str()),
        (first.turn_id.as_str(), first.epoch, "BRAKE")
    );
    settle(&swarm, &second, 1_000).await;
    let stop = stopped(&mut stream).await;
    assert_eq!(
        (stop.turn_id, stop.reason.as_str()),
        (second.turn_id, "OVER")
    );
    let mut again = listen(&swarm, &desk, BODY).await.unwrap();
    assert_eq!(stopped(&mut again).await.turn_id, first.turn_id);
}

#[tokio::test]
async fn nobody_listens_in_on_another_body() {
    let swarm = rich(1).await;
    swarm.open_released("ada", 1_000_000).await;
    launched(&swarm).await;
    let cellar = swarm.keys.worker_named("cellar");

    for token in [
        &cellar,
        &swarm.keys.operator(),
        &swarm.keys.meter(),
        &swarm.keys.viewer(),
    ] {
        let refused = listen(&swarm, token, BODY).await.unwrap_err();
        assert_eq!(refused.code(), Code::PermissionDenied);
    }
    let mut own = listen(&swarm, &cellar, "cellar").await.unwrap();
    let silence = tokio::time::timeout(Duration::from_secs(1), own.message()).await;
    assert!(silence.is_err(), "{silence:?}");
}

async fn follow(
    swarm: &Fixture,
    after_seq: i64,
) -> Result<Streaming<WatchTimelineResponse>, Status> {
    let request = WatchTimelineRequest {
        workspace_id: WORKSPACE.to_owned(),
        after_seq,
    };
    Ok(swarm.timeline().watch_timeline(request).await?.into_inner())
}

async fn next(stream: &mut Streaming<WatchTimelineResponse>) -> TimelineEvent {
    let next = tokio::time::timeout(Duration::from_secs(10), stream.message());
    match next.await.unwrap().unwrap().unwrap().item.unwrap() {
        Item::Event(event) => event,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn events_come_once_in_order_and_from_any_place() {
    let swarm = rich(2).await;
    swarm.open_released("ada", 1_000_000).await;
    let begun = line(&swarm).await.seq;
    let mut stream = follow(&swarm, begun).await.unwrap();
    let turn = launched(&swarm).await;
    ack(&swarm, &turn, "desk").await.unwrap();
    settle(&swarm, &turn, 5_000).await;
    swarm.hold("ada").await;
    let last = line(&swarm).await.seq;

    let mut events = Vec::new();
    for seq in begun + 1..=last {
        let event = next(&mut stream).await;
        assert_eq!(event.seq, seq);
        events.push(event);
    }
    let kinds = events
        .iter()
        .map(TimelineEvent::kind)
        .filter(|kind| *kind != Kind::Clamped);
    let kinds: Vec<Kind> = kinds.collect();
    assert_eq!(
        kinds,
        [Kind::Granted, Kind::Running, Kind::Settled, Kind::Control]
    );
    let of_turn = events.iter().filter(|event| event.turn_id == turn.turn_id);
    assert_eq!(of_turn.count(), 3);
    let settled = events
        .iter()
        .find(|event| event.kind() == Kind::Settled)
        .unwrap();
    let body: Value = serde_json::from_slice(&settled.body).unwrap();
    assert_eq!(body["cost_micro_usd"], 5_000);

    let mut all = follow(&swarm, 0).await.unwrap();
    for seq in 1..=last {
        assert_eq!(next(&mut all).await.seq, seq);
    }
    let mut some = follow(&swarm, last - 1).await.unwrap();
    assert_eq!(next(&mut some).await.seq, last);
    swarm.release("ada").await;
    assert_eq!(next(&mut all).await.seq, last + 1);
}

#[tokio::test]
async fn a_place_that_is_forgotten_is_named() {
    let swarm = rich(1).await;
    swarm.open_released("ada", 1_000_000).await;
    assert!(line(&swarm).await.seq >= 3);
    sql(&swarm, "DELETE FROM swarm.event WHERE seq < 3").await;

    let old = follow(&swarm, 1).await.unwrap_err();
    assert_eq!(
        (old.code(), reason(&old).as_str()),
        (Code::OutOfRange, "CURSOR_TOO_OLD")
    );
    assert!(old.message().contains('3'), "{old}");
    assert_eq!(next(&mut follow(&swarm, 2).await.unwrap()).await.seq, 3);
    assert_eq!(next(&mut follow(&swarm, 0).await.unwrap()).await.seq, 3);
    let bad = follow(&swarm, -1).await.unwrap_err();
    assert_eq!(
        (bad.code(), field(&bad).as_str()),
        (Code::InvalidArgument, "after_seq")
    );
}

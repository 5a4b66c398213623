//! Watches: what there is, then what changes, on every replica.

use std::time::Duration;

use cambium_proto::immune::v1::watch_alerts_response::Event as AlertEvent;
use cambium_proto::immune::v1::watch_standings_response::Event;
use cambium_proto::immune::v1::{
    Standing, WatchAlertsRequest, WatchAlertsResponse, WatchStandingsRequest,
    WatchStandingsResponse,
};
use tokio::time::timeout;
use tonic::{Code, Streaming};
use uuid::Uuid;

use crate::alerts::raise;
use crate::fixture::{self, Party, field, reason};
use crate::told::{agents, spawned, thanks};

const BOUND: Duration = Duration::from_secs(10);

async fn watch(party: &Party, agent: Option<Uuid>) -> Streaming<WatchStandingsResponse> {
    let request = WatchStandingsRequest {
        workspace_id: "default".to_owned(),
        agent_id: agent.map(|agent| agent.to_string()).unwrap_or_default(),
    };
    let opened = party.standings().watch_standings(request).await;
    opened.unwrap().into_inner()
}

async fn next(stream: &mut Streaming<WatchStandingsResponse>) -> Event {
    let message = timeout(BOUND, stream.message()).await.unwrap();
    message.unwrap().unwrap().event.unwrap()
}

async fn changed(stream: &mut Streaming<WatchStandingsResponse>) -> Standing {
    match next(stream).await {
        Event::Standing(standing) => *standing,
        other => panic!("{other:?} is no standing"),
    }
}

async fn watch_alerts(party: &Party, after_seq: i64) -> Streaming<WatchAlertsResponse> {
    let request = WatchAlertsRequest {
        workspace_id: "default".to_owned(),
        after_seq,
    };
    let opened = party.alerts().watch_alerts(request).await;
    opened.unwrap().into_inner()
}

async fn seq(stream: &mut Streaming<WatchAlertsResponse>) -> i64 {
    let message = timeout(BOUND, stream.message()).await.unwrap();
    match message.unwrap().unwrap().event.unwrap() {
        AlertEvent::Alert(alert) => alert.seq,
        AlertEvent::Heartbeat(_) => panic!("no heartbeat is due"),
    }
}

#[tokio::test]
async fn a_watch_shows_what_there_is_and_then_each_change() {
    let fixture = fixture::start().await;
    let replica = fixture.replica().await;
    let [ada, bob] = agents();
    fixture
        .deliver(&[spawned(ada, "ada", &[]), spawned(bob, "bob", &[])])
        .await;

    let mut here = watch(&fixture, None).await;
    let mut there = watch(&replica, None).await;
    for stream in [&mut here, &mut there] {
        let mut names = [changed(stream).await.name, changed(stream).await.name];
        names.sort();
        assert_eq!(names, ["ada", "bob"]);
        assert_eq!(next(stream).await, Event::CaughtUp(true));
    }
    for n in 1..=3 {
        fixture.deliver(&[thanks(ada, bob)]).await;

        for stream in [&mut here, &mut there] {
            let standing = changed(stream).await;
            assert_eq!((standing.name.as_str(), standing.seq), ("ada", n + 1));
        }
    }
}

#[tokio::test]
async fn one_agent_can_be_watched_alone() {
    let fixture = fixture::start().await;
    let [ada, bob] = agents();
    fixture
        .deliver(&[spawned(ada, "ada", &[]), spawned(bob, "bob", &[])])
        .await;

    let mut stream = watch(&fixture, Some(ada)).await;
    assert_eq!(changed(&mut stream).await.name, "ada");
    assert_eq!(next(&mut stream).await, Event::CaughtUp(true));
    fixture.deliver(&[thanks(bob, ada)]).await;
    fixture.deliver(&[thanks(ada, bob)]).await;

    let standing = changed(&mut stream).await;
    assert_eq!((standing.name.as_str(), standing.generosity), ("ada", 0.53));
}

#[tokio::test]
async fn nobody_is_missed_while_many_change_at_once() {
    let fixture = fixture::start().await;
    let replica = fixture.replica().await;
    let many: [Uuid; 40] = agents();
    let mut stream = watch(&fixture, None).await;
    assert_eq!(next(&mut stream).await, Event::CaughtUp(true));

    let calls: Vec<_> = (0..)
        .zip(many)
        .map(|(n, agent)| {
            let party = if n % 2 == 0 {
                (*fixture).clone()
            } else {
                replica.clone()
            };
            tokio::spawn(async move { party.deliver(&[thanks(agent, Uuid::now_v7())]).await })
        })
        .collect();
    for call in calls {
        call.await.unwrap();
    }

    let mut seen = Vec::new();
    for _ in 0..many.len() {
        seen.push(changed(&mut stream).await.agent_id);
    }
    seen.sort();
    let mut all = many.map(|agent| agent.to_string());
    all.sort();
    assert_eq!(seen, all);
}

#[tokio::test]
async fn alerts_go_on_after_the_last_one_seen() {
    let fixture = fixture::start().await;
    let replica = fixture.replica().await;
    for _ in 0..3 {
        raise(&fixture).await;
    }

    let mut from_the_start = watch_alerts(&replica, 0).await;
    let mut from_two = watch_alerts(&fixture, 2).await;
    raise(&fixture).await;

    for expected in 1..=4 {
        assert_eq!(seq(&mut from_the_start).await, expected);
    }
    assert_eq!(seq(&mut from_two).await, 3);
    assert_eq!(seq(&mut from_two).await, 4);
}

#[tokio::test]
async fn what_cannot_be_watched_is_refused() {
    let fixture = fixture::start().await;
    let request = WatchStandingsRequest {
        workspace_id: "default".to_owned(),
        agent_id: Uuid::now_v7().to_string(),
    };

    let unknown = fixture
        .standings()
        .watch_standings(request)
        .await
        .unwrap_err();
    assert_eq!(unknown.code(), Code::NotFound);
    let request = WatchAlertsRequest {
        workspace_id: "default".to_owned(),
        after_seq: -1,
    };
    let negative = fixture.alerts().watch_alerts(request).await.unwrap_err();
    assert_eq!(field(&negative), "after_seq");
}

#[tokio::test]
async fn one_principal_holds_sixteen_watches_and_gets_them_back() {
    let fixture = fixture::start().await;
    let mut held = Vec::new();
    for n in 0..16 {
        if n % 2 == 0 {
            let mut stream = watch(&fixture, None).await;
            assert_eq!(next(&mut stream).await, Event::CaughtUp(true));
            held.push(stream);
        } else {
            // Kept open by its task for as long as the test runs.
            let mut stream = watch_alerts(&fixture, 0).await;
            tokio::spawn(async move { while let Ok(Some(_)) = stream.message().await {} });
        }
    }
    let request = WatchAlertsRequest {
        workspace_id: "default".to_owned(),
        after_seq: 0,
    };

    let refused = fixture
        .alerts()
        .watch_alerts(request.clone())
        .await
        .unwrap_err();

    assert_eq!(refused.code(), Code::ResourceExhausted);
    assert_eq!(reason(&refused), "TOO_MANY_WATCHES");
    held.clear();
    cambium_testkit::wait_until(BOUND, "there is room", async || {
        fixture.alerts().watch_alerts(request.clone()).await.is_ok()
    })
    .await;
}

//! What immune thinks of agents, and what that does to their marks.

use cambium_proto::signal::v1::StandingChanged;
use cambium_proto::stigmergy::v1::{AuthorStanding, Marker, SenseMarkersRequest};
use chrono::TimeDelta;
use prost_types::Timestamp;
use tonic::Code;

use crate::fixture::{self, Fixture, REGION, ids, refusal, sensing};
use crate::fixture_signals::{changed, retired, spawned, standing};

async fn sensed(fixture: &Fixture, include_quarantined: bool) -> Vec<Marker> {
    let request = SenseMarkersRequest {
        include_quarantined,
        ..sensing(REGION)
    };
    fixture.sense(request).await.unwrap().markers
}

#[tokio::test]
async fn a_mark_drops_out_with_one_of_its_transformers_and_comes_back_on_release() {
    let fixture = fixture::start().await;
    let placed = fixture.place("ada", 0.8).await.unwrap();
    for name in ["bob", "cleo", "dan"] {
        fixture.transform(name, &placed).await.unwrap();
    }
    let other = fixture.place("eve", 0.5).await.unwrap();

    fixture.judge("cleo", 1, true).await;
    let without = sensed(&fixture, false).await;
    let all = sensed(&fixture, true).await;
    fixture.judge("cleo", 2, false).await;
    let released = sensed(&fixture, false).await;

    assert_eq!(ids(&without), [&other.marker_id]);
    assert_eq!(ids(&all), [&placed.marker_id, &other.marker_id]);
    assert!(all[0].quarantined && !all[1].quarantined);
    assert_eq!(ids(&released), [&placed.marker_id, &other.marker_id]);
    assert!(!released[0].quarantined);
}

#[tokio::test]
async fn what_a_quarantined_agent_placed_is_left_out() {
    let fixture = fixture::start().await;
    fixture.place("ada", 0.8).await.unwrap();

    fixture.judge("ada", 1, true).await;

    assert_eq!(sensed(&fixture, false).await, []);
    let [marker] = sensed(&fixture, true).await.try_into().unwrap();
    assert!(marker.quarantined && marker.author.unwrap().quarantined);
}

#[tokio::test]
async fn a_quarantined_agent_touches_nothing_until_it_is_released() {
    let fixture = fixture::start().await;
    let own = fixture.place("ada", 0.5).await.unwrap();
    let theirs = fixture.place("bob", 0.5).await.unwrap();
    fixture.judge("ada", 1, true).await;
    let before = fixture.state().await;

    for status in [
        fixture.place("ada", 0.5).await.unwrap_err(),
        fixture.reinforce("ada", &own).await.unwrap_err(),
        fixture.transform("ada", &theirs).await.unwrap_err(),
    ] {
        let expected = (Code::PermissionDenied, "QUARANTINED".to_owned());
        assert_eq!(refusal(&status), expected);
    }
    assert_eq!(fixture.state().await, before);

    fixture.judge("ada", 2, false).await;
    fixture.place("ada", 0.5).await.unwrap();
}

#[tokio::test]
async fn a_quarantine_ends_by_itself_at_its_time() {
    let fixture = fixture::start().await;
    let placed = fixture.place("ada", 0.8).await.unwrap();
    let start = fixture::time(placed.place_time);
    fixture.freeze_at(start).await;
    let end = start + TimeDelta::seconds(60);
    let change = StandingChanged {
        quarantined: true,
        quarantine_end_time: Some(Timestamp {
            seconds: end.timestamp(),
            nanos: end.timestamp_subsec_nanos().cast_signed(),
        }),
        ..standing("ada", 1, 0.5)
    };
    fixture.deliver(vec![changed(change)]).await.unwrap();

    assert_eq!(sensed(&fixture, false).await, []);
    fixture.place("ada", 0.5).await.unwrap_err();
    fixture.freeze_at(end).await;

    assert_eq!(sensed(&fixture, false).await.len(), 1);
    fixture.place("ada", 0.5).await.unwrap();
}

#[tokio::test]
async fn an_older_standing_never_replaces_a_newer_one() {
    let fixture = fixture::start().await;
    fixture.place("ada", 0.8).await.unwrap();
    let newer = changed(standing("ada", 7, 0.9));
    let older = changed(standing("ada", 6, 0.1));
    let same = changed(standing("ada", 7, 0.2));

    fixture
        .deliver(vec![newer, older.clone(), same])
        .await
        .unwrap();
    fixture.deliver(vec![older]).await.unwrap();

    assert_eq!(sensed(&fixture, false).await[0].trust, 0.9);
}

#[tokio::test]
async fn a_mark_is_trusted_as_little_as_the_least_trusted_of_its_authors() {
    let fixture = fixture::start().await;
    let placed = fixture.place("ada", 0.8).await.unwrap();
    let standings = [("ada", 0.9), ("bob", 0.3), ("cleo", 0.7)];
    let signals = standings.map(|(name, trust)| changed(standing(name, 1, trust)));
    fixture.deliver(signals.to_vec()).await.unwrap();
    let trust = async || fixture.get(&placed).await.unwrap().trust;

    assert_eq!(trust().await, 0.9);
    fixture.transform("cleo", &placed).await.unwrap();
    assert_eq!(trust().await, 0.7);
    let transformed = fixture.transform("nobody-knows", &placed).await.unwrap();
    assert_eq!((transformed.trust, trust().await), (0.5, 0.5));
    fixture.transform("bob", &placed).await.unwrap();
    assert_eq!(trust().await, 0.3);
    let author = AuthorStanding {
        trust: 0.9,
        generosity: 0.5,
        health: 0.5,
        quarantined: false,
    };
    assert_eq!(fixture.get(&placed).await.unwrap().author, Some(author));
}

#[tokio::test]
async fn a_retired_agent_touches_nothing_whatever_is_heard_first() {
    let fixture = fixture::start().await;
    fixture.deliver(vec![retired("ada", true)]).await.unwrap();
    fixture.place("ada", 0.5).await.unwrap();
    fixture.deliver(vec![retired("ada", false)]).await.unwrap();
    fixture
        .deliver(vec![spawned("ada"), retired("ada", true)])
        .await
        .unwrap();
    let before = fixture.state().await;

    let status = fixture.place("ada", 0.5).await.unwrap_err();

    let expected = (Code::PermissionDenied, "AGENT_RETIRED".to_owned());
    assert_eq!(refusal(&status), expected);
    assert_eq!(fixture.state().await, before);
}

#[tokio::test]
async fn only_immune_says_what_it_thinks_and_only_genesis_who_there_is() {
    let fixture = fixture::start().await;
    let said_by = |source: &str, mut signal: cambium_proto::signal::v1::Signal| {
        signal.source = source.to_owned();
        signal
    };

    for signal in [
        said_by("hypha", changed(standing("ada", 1, 0.9))),
        said_by("genesis", changed(standing("ada", 1, 0.9))),
        said_by("immune", retired("ada", false)),
        said_by("hypha", spawned("ada")),
    ] {
        let status = fixture.deliver(vec![signal]).await.unwrap_err();
        let expected = (Code::PermissionDenied, "SIGNAL_NOT_YOURS".to_owned());
        assert_eq!(refusal(&status), expected);
    }

    for table in ["standing", "agent", "inbox"] {
        assert_eq!(fixture.count(table).await, 0, "{table}");
    }
}

#[tokio::test]
async fn a_standing_that_has_no_form_is_refused_and_none_of_its_batch_applies() {
    let fixture = fixture::start().await;
    let good = changed(standing("ada", 1, 0.9));
    let bad = |change| changed(StandingChanged { ..change });

    for change in [
        standing("ada", 2, f64::NAN),
        standing("ada", 2, 1.5),
        StandingChanged {
            agent_id: "ada".to_owned(),
            ..standing("ada", 2, 0.5)
        },
    ] {
        let status = fixture.deliver(vec![good.clone(), bad(change)]).await;
        assert_eq!(status.unwrap_err().code(), Code::InvalidArgument);
    }

    assert_eq!(fixture.count("standing").await, 0);
    assert_eq!(fixture.count("inbox").await, 0);
}

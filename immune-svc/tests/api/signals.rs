//! What immune tells others, and when.

use std::time::Duration;

use cambium_proto::signal::v1::signal::Payload;
use cambium_proto::signal::v1::{Signal, SignalClass, StandingChanged, TaskOutcome};
use cambium_testkit::{SignalSink, wait_until};
use chrono::TimeDelta;
use uuid::Uuid;

use crate::fixture::{self, Fixture, adjustment};
use crate::told::{again, agents, settled, spawned, thanks};

const BOUND: Duration = Duration::from_secs(10);

async fn told(fixture: &Fixture, sink: &SignalSink) -> Vec<(Signal, StandingChanged)> {
    wait_until(BOUND, "everything is told", async || {
        fixture.count("outbox").await == 0
    })
    .await;
    let changes = sink.received().into_iter().filter_map(|signal| {
        let Some(Payload::StandingChanged(changed)) = signal.payload.clone() else {
            return None;
        };
        Some((signal, changed))
    });
    changes.collect()
}

#[tokio::test]
async fn a_batch_tells_of_each_agent_once_with_the_newest() {
    let hypha = SignalSink::start().await;
    let fixture = fixture::start_telling(&[("hypha", hypha.url())]).await;
    let [ada, bob] = agents();

    fixture
        .deliver(&[
            thanks(ada, bob),
            thanks(ada, bob),
            settled(ada, TaskOutcome::Succeeded),
            thanks(bob, ada),
        ])
        .await;

    let told = told(&fixture, &hypha).await;
    assert_eq!(told.len(), 2);
    let (signal, changed) = told
        .iter()
        .find(|(_, changed)| changed.agent_id == ada.to_string())
        .unwrap();
    let expected = StandingChanged {
        agent_id: ada.to_string(),
        seq: 1,
        trust: 0.51,
        generosity: 0.56,
        health: 1.0,
        quarantined: false,
        quarantine_end_time: None,
    };
    assert_eq!(*changed, expected);
    assert_eq!(signal.r#type, "coord.standing_changed");
    assert_eq!(signal.class(), SignalClass::Coordination);
    assert_eq!((signal.source.as_str(), signal.causal_depth), ("immune", 1));
    assert_eq!(
        Uuid::parse_str(&signal.signal_id)
            .unwrap()
            .get_version_num(),
        7
    );
}

#[tokio::test]
async fn a_sequence_grows_by_one_with_each_change() {
    let genesis = SignalSink::start().await;
    let fixture = fixture::start_telling(&[("genesis", genesis.url())]).await;
    let [ada] = agents();

    fixture.deliver(&[spawned(ada, "ada", &[])]).await;
    fixture
        .standings()
        .adjust_trust(adjustment(ada, 0.1))
        .await
        .unwrap();
    let one = fixture.quarantine(ada).await.unwrap().quarantine.unwrap();
    fixture.database.advance(TimeDelta::minutes(10)).await;
    wait_until(BOUND, "it is back", async || !fixture.is_out(ada).await).await;

    let mut told = told(&fixture, &genesis).await;
    told.sort_by_key(|(_, changed)| changed.seq);
    let changes: Vec<_> = told
        .iter()
        .map(|(_, changed)| (changed.seq, changed.trust, changed.quarantined))
        .collect();
    assert_eq!(
        changes,
        [
            (1, 0.5, false),
            (2, 0.6, false),
            (3, 0.6, true),
            (4, 0.3, false)
        ]
    );
    assert_eq!(told[2].1.quarantine_end_time, one.end_time);
}

#[tokio::test]
async fn all_three_hear_of_standings() {
    let sinks = [
        SignalSink::start().await,
        SignalSink::start().await,
        SignalSink::start().await,
    ];
    let receivers = [
        ("hypha", sinks[0].url()),
        ("stigmergy", sinks[1].url()),
        ("genesis", sinks[2].url()),
    ];
    let fixture = fixture::start_telling(&receivers).await;
    let [ada] = agents();

    fixture.deliver(&[spawned(ada, "ada", &[])]).await;

    for sink in &sinks {
        assert_eq!(told(&fixture, sink).await.len(), 1);
    }
}

#[tokio::test]
async fn a_fact_without_effect_is_told_to_nobody() {
    let hypha = SignalSink::start().await;
    let fixture = fixture::start_telling(&[("hypha", hypha.url())]).await;
    let [ada, bob] = agents();
    let gift = thanks(ada, bob);

    fixture.deliver(std::slice::from_ref(&gift)).await;
    fixture.deliver(&[again(&gift)]).await;

    assert_eq!(told(&fixture, &hypha).await.len(), 1);
}

#[tokio::test]
async fn without_addresses_nothing_is_kept_to_be_told() {
    let fixture = fixture::start().await;
    let [ada] = agents();

    fixture.deliver(&[spawned(ada, "ada", &[])]).await;

    assert_eq!(fixture.count("outbox").await, 0);
}

//! What stigmergy tells immune, and when.

use std::time::Duration;

use cambium_proto::signal::v1::signal::Payload;
use cambium_proto::signal::v1::{MarkerPlaced, RateLimited, Signal, SignalClass};
use cambium_testkit::{SignalSink, wait_until};
use chrono::TimeDelta;

use crate::fixture::{self, Fixture, REGION, agent, placing, time};

const BOUND: Duration = Duration::from_secs(10);

async fn heard(immune: &SignalSink, count: usize) -> Vec<Signal> {
    wait_until(BOUND, "immune has heard", async || {
        immune.received().len() >= count
    })
    .await;
    immune.received()
}

async fn drained(fixture: &Fixture) {
    wait_until(BOUND, "the outbox is empty", async || {
        fixture.count("outbox").await == 0
    })
    .await;
}

#[tokio::test]
async fn immune_hears_of_knowledge_that_an_agent_left_and_of_nothing_else() {
    let immune = SignalSink::start().await;
    let fixture = fixture::start_telling(Some(immune.url())).await;
    let place = placing(REGION, "knowledge.pattern");
    fixture
        .send("ada", placing(REGION, "danger"))
        .await
        .unwrap();
    let mut operator = fixture.operator();
    let by_a_person = placing(REGION, "knowledge.warning");
    operator.place_marker(by_a_person).await.unwrap();
    let placed = fixture.send("ada", place.clone()).await.unwrap();
    fixture.send("ada", place).await.unwrap();
    let marker = placed.marker.unwrap();
    fixture.reinforce("bob", &marker).await.unwrap();
    fixture.transform("bob", &marker).await.unwrap();

    let signals = heard(&immune, 1).await;

    drained(&fixture).await;
    assert_eq!(immune.received().len(), 1);
    let signal = &signals[0];
    assert_eq!(signal.r#type, "coord.marker_placed");
    assert_eq!(signal.class(), SignalClass::Coordination);
    assert_eq!(
        (signal.source.as_str(), signal.workspace_id.as_str()),
        ("stigmergy", "default")
    );
    assert_eq!(signal.emit_time, marker.place_time);
    let expected = MarkerPlaced {
        marker_id: marker.marker_id,
        agent_id: agent("ada").to_string(),
        region: REGION.to_owned(),
        marker_type: "knowledge.pattern".to_owned(),
    };
    assert_eq!(signal.payload, Some(Payload::MarkerPlaced(expected)));
}

#[tokio::test]
async fn immune_hears_who_runs_into_the_limit_at_most_once_in_ten_seconds() {
    let immune = SignalSink::start().await;
    let fixture = fixture::start_telling(Some(immune.url())).await;
    let first = fixture.place("ada", 0.5).await.unwrap();
    let start = time(first.place_time);
    fixture.freeze_at(start).await;
    for _ in 0..9 {
        fixture.place("ada", 0.5).await.unwrap();
    }

    for _ in 0..5 {
        fixture.place("ada", 0.5).await.unwrap_err();
    }
    heard(&immune, 1).await;
    fixture.freeze_at(start + TimeDelta::seconds(10)).await;
    fixture.place("ada", 0.5).await.unwrap_err();
    drained(&fixture).await;
    let told = immune.received();
    fixture
        .freeze_at(start + TimeDelta::microseconds(10_000_001))
        .await;
    fixture.place("ada", 0.5).await.unwrap_err();
    let told_again = heard(&immune, 2).await;

    assert_eq!(told.len(), 1);
    assert_eq!(told_again.len(), 2);
    for signal in &told_again {
        assert_eq!(signal.r#type, "stress.rate_limited");
        assert_eq!(signal.class(), SignalClass::Stress);
        let expected = RateLimited {
            agent_id: agent("ada").to_string(),
            region: REGION.to_owned(),
        };
        assert_eq!(signal.payload, Some(Payload::RateLimited(expected)));
    }
}

#[tokio::test]
async fn nobody_is_told_of_a_person_who_runs_into_the_limit() {
    let immune = SignalSink::start().await;
    let fixture = fixture::start_telling(Some(immune.url())).await;
    let mut operator = fixture.operator();
    for _ in 0..10 {
        operator
            .place_marker(placing(REGION, "path"))
            .await
            .unwrap();
    }
    operator
        .place_marker(placing(REGION, "path"))
        .await
        .unwrap_err();
    // What is told comes in order, so the agent's word would come after the person's.
    for _ in 0..10 {
        fixture.place("ada", 0.5).await.unwrap();
    }
    fixture.place("ada", 0.5).await.unwrap_err();

    let signals = heard(&immune, 1).await;

    let Some(Payload::RateLimited(limited)) = &signals[0].payload else {
        panic!("{:?} was told", signals[0]);
    };
    assert_eq!(limited.agent_id, agent("ada").to_string());
    assert_eq!(signals.len(), 1);
}

#[tokio::test]
async fn without_an_address_nothing_is_kept_to_be_told() {
    let fixture = fixture::start().await;

    for _ in 0..11 {
        let request = placing(REGION, "knowledge.pattern");
        let _ = fixture.send("ada", request).await;
    }

    assert_eq!(fixture.count("marker").await, 10);
    assert_eq!(fixture.count("outbox").await, 0);
}

#[tokio::test]
async fn an_immune_that_was_away_hears_when_it_is_back() {
    let away = SignalSink::start().await;
    let address = away.address();
    away.stop().await;
    let fixture = fixture::start_telling(Some(format!("http://{address}"))).await;
    let request = placing(REGION, "knowledge.pattern");

    fixture.send("ada", request).await.unwrap();
    assert_eq!(fixture.count("outbox").await, 1);
    let back = SignalSink::start_at(address).await;

    assert_eq!(heard(&back, 1).await.len(), 1);
    drained(&fixture).await;
}

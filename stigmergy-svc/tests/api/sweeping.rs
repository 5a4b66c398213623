//! What has fallen silent is noticed once, and what is old is forgotten.

use std::time::Duration;

use cambium_testkit::wait_until;
use chrono::TimeDelta;

use crate::fixture::{self, Fixture, placing, sensing};

/// The loop that forgets comes by every ten seconds.
const BOUND: Duration = Duration::from_secs(30);

async fn faded(fixture: &Fixture) -> i64 {
    sqlx::query_scalar("SELECT count(*) FROM stigmergy.marker_event WHERE kind = 4")
        .fetch_one(&fixture.database.owner)
        .await
        .unwrap()
}

#[tokio::test]
async fn marks_fade_once_on_two_replicas_and_are_deleted_an_hour_later() {
    let fixture = fixture::start().await;
    let _other = fixture.replica().await;
    for n in 0..25 {
        let request = placing(&format!("a/{}", n % 3), "resource");
        fixture.send(&format!("agent-{n}"), request).await.unwrap();
    }
    fixture
        .send("ada", placing("a", "knowledge.x"))
        .await
        .unwrap();

    fixture.database.advance(TimeDelta::minutes(20)).await;
    wait_until(BOUND, "all have faded", async || {
        faded(&fixture).await >= 25
    })
    .await;
    let sensed = fixture.sense(sensing("")).await.unwrap().markers;
    assert_eq!(sensed.len(), 1);
    assert_eq!(fixture.count("marker").await, 26);
    fixture.database.advance(TimeDelta::minutes(61)).await;
    wait_until(BOUND, "they are deleted", async || {
        fixture.count("marker").await == 1
    })
    .await;

    assert_eq!(faded(&fixture).await, 25);
    let seqs: Vec<i64> = sqlx::query_scalar("SELECT seq FROM stigmergy.marker_event ORDER BY seq")
        .fetch_all(&fixture.database.owner)
        .await
        .unwrap();
    assert_eq!(seqs, (1..=51).collect::<Vec<i64>>());
}

#[tokio::test]
async fn a_mark_that_was_noticed_silent_never_speaks_again() {
    let fixture = fixture::start().await;
    let placed = fixture.place("ada", 0.5).await.unwrap();
    fixture.database.advance(TimeDelta::hours(1)).await;
    wait_until(BOUND, "it has faded", async || faded(&fixture).await == 1).await;

    // The clock goes back to before its end.
    fixture.database.advance(TimeDelta::hours(-1)).await;

    fixture.get(&placed).await.unwrap_err();
    fixture.reinforce("bob", &placed).await.unwrap_err();
    assert_eq!(fixture.sense(sensing("")).await.unwrap().markers, []);
}

#[tokio::test]
async fn what_nobody_asks_for_again_is_forgotten() {
    let fixture = fixture::start().await;
    fixture.place("ada", 0.5).await.unwrap();
    fixture.judge("ada", 1, false).await;
    fixture.database.advance(TimeDelta::hours(25)).await;
    fixture.send("bob", placing("b", "danger")).await.unwrap();

    wait_until(BOUND, "the old is forgotten", async || {
        fixture.count("receipt").await == 1
            && fixture.count("rate").await == 1
            && fixture.count("region").await == 1
    })
    .await;
    // The first event is over a day old. That its mark had faded was noticed after that.
    wait_until(BOUND, "the first event is forgotten", async || {
        let lowest: Option<i64> = sqlx::query_scalar("SELECT min(seq) FROM stigmergy.marker_event")
            .fetch_one(&fixture.database.owner)
            .await
            .unwrap();
        lowest == Some(2)
    })
    .await;
    assert_eq!(fixture.count("inbox").await, 1);

    fixture.database.advance(TimeDelta::days(30)).await;
    wait_until(BOUND, "the signal is forgotten", async || {
        fixture.count("inbox").await == 0
    })
    .await;
    assert_eq!(fixture.count("standing").await, 1);
}

#[tokio::test]
async fn a_workspace_keeps_its_last_hundred_thousand_events() {
    let fixture = fixture::start().await;
    sqlx::query(
        "INSERT INTO stigmergy.marker_event
             (workspace_id, seq, kind, marker_id, region, type, intensity_before, intensity_after, transformation_depth, at)
         SELECT 'default', n, 1, gen_random_uuid(), 'a', 'path', 0, 0, 0, stigmergy.now()
         FROM generate_series(1, 101500) n",
    )
    .execute(&fixture.database.owner)
    .await
    .unwrap();
    sqlx::query("INSERT INTO stigmergy.workspace VALUES ('default', 101500)")
        .execute(&fixture.database.owner)
        .await
        .unwrap();

    wait_until(BOUND, "there are so many", async || {
        fixture.count("marker_event").await == 100_000
    })
    .await;
}

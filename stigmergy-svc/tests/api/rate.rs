//! Ten operations of one author in one region within a minute, and no more.

use std::time::Duration;

use chrono::TimeDelta;
use tonic::Code;
use tonic_types::StatusExt as _;

use crate::fixture::{self, REGION, field, placing, refusal, time};

#[tokio::test]
async fn the_eleventh_is_refused_with_the_exact_wait_and_changes_nothing() {
    let fixture = fixture::start().await;
    let first = fixture.place("ada", 0.5).await.unwrap();
    let start = time(first.place_time);
    fixture.freeze_at(start + TimeDelta::seconds(10)).await;
    for _ in 0..9 {
        fixture.reinforce("ada", &first).await.unwrap();
    }
    fixture.freeze_at(start + TimeDelta::seconds(25)).await;
    let before = fixture.state().await;

    let status = fixture.place("ada", 0.5).await.unwrap_err();

    let expected = (Code::ResourceExhausted, "RATE_LIMITED".to_owned());
    assert_eq!(refusal(&status), expected);
    let wait = status.get_details_retry_info().unwrap().retry_delay;
    assert_eq!(wait, Some(Duration::from_secs(35)));
    assert_eq!(fixture.state().await, before);
}

#[tokio::test]
async fn after_exactly_the_wait_there_is_room_for_one() {
    let fixture = fixture::start().await;
    let first = fixture.place("ada", 0.5).await.unwrap();
    let start = time(first.place_time);
    fixture.freeze_at(start + TimeDelta::seconds(10)).await;
    for _ in 0..9 {
        fixture.place("ada", 0.5).await.unwrap();
    }

    let minute = start + TimeDelta::seconds(60);
    fixture.freeze_at(minute - TimeDelta::microseconds(1)).await;
    let status = fixture.place("ada", 0.5).await.unwrap_err();
    let wait = status.get_details_retry_info().unwrap().retry_delay;
    assert_eq!(wait, Some(Duration::from_micros(1)));
    fixture.freeze_at(minute).await;
    fixture.place("ada", 0.5).await.unwrap();
    let status = fixture.place("ada", 0.5).await.unwrap_err();

    // The next to leave are the nine of second 10.
    let wait = status.get_details_retry_info().unwrap().retry_delay;
    assert_eq!(wait, Some(Duration::from_secs(10)));
}

#[tokio::test]
async fn all_three_operations_count_and_refused_ones_do_not() {
    let fixture = fixture::start().await;
    let theirs = fixture.place("bob", 0.5).await.unwrap();
    let own = fixture.place("ada", 0.5).await.unwrap();
    for _ in 0..30 {
        fixture.transform("ada", &own).await.unwrap_err();
        fixture
            .send("ada", placing(REGION, "gossip"))
            .await
            .unwrap_err();
    }

    fixture.transform("ada", &theirs).await.unwrap();
    for _ in 0..8 {
        fixture.reinforce("ada", &theirs).await.unwrap();
    }

    for status in [
        fixture.place("ada", 0.5).await.unwrap_err(),
        fixture.reinforce("ada", &own).await.unwrap_err(),
    ] {
        assert_eq!(refusal(&status).1, "RATE_LIMITED");
    }
}

#[tokio::test]
async fn each_author_and_each_region_has_a_window_of_its_own() {
    let fixture = fixture::start().await;
    for _ in 0..10 {
        fixture.place("ada", 0.5).await.unwrap();
    }

    fixture.place("ada", 0.5).await.unwrap_err();
    fixture.place("bob", 0.5).await.unwrap();
    fixture
        .send("ada", placing("repo/docs/below", "path"))
        .await
        .unwrap();
    let mut operator = fixture.operator();
    for _ in 0..10 {
        operator
            .place_marker(placing(REGION, "path"))
            .await
            .unwrap();
    }

    let status = operator.place_marker(placing(REGION, "path")).await;
    assert_eq!(refusal(&status.unwrap_err()).1, "RATE_LIMITED");
}

#[tokio::test]
async fn what_would_be_refused_anyhow_is_not_told_to_wait() {
    let fixture = fixture::start().await;
    let own = fixture.place("ada", 0.5).await.unwrap();
    for _ in 0..9 {
        fixture.place("ada", 0.5).await.unwrap();
    }

    let status = fixture.transform("ada", &own).await.unwrap_err();
    assert_eq!(refusal(&status).1, "MARKER_IS_OWN");
    let status = fixture.send("ada", placing("", "path")).await.unwrap_err();
    assert_eq!(field(&status), "region");
}

#[tokio::test]
async fn a_clock_set_back_makes_nobody_wait_longer_than_a_minute() {
    let fixture = fixture::start().await;
    let first = fixture.place("ada", 0.5).await.unwrap();
    for _ in 0..9 {
        fixture.place("ada", 0.5).await.unwrap();
    }
    let back = time(first.place_time) - TimeDelta::hours(2);
    fixture.freeze_at(back).await;

    let status = fixture.place("ada", 0.5).await.unwrap_err();

    let wait = status.get_details_retry_info().unwrap().retry_delay;
    assert_eq!(wait, Some(Duration::from_secs(60)));
    fixture.freeze_at(back + TimeDelta::seconds(59)).await;
    let status = fixture.place("ada", 0.5).await.unwrap_err();
    let wait = status.get_details_retry_info().unwrap().retry_delay;
    assert_eq!(wait, Some(Duration::from_secs(1)));
    fixture.freeze_at(back + TimeDelta::seconds(60)).await;
    fixture.place("ada", 0.5).await.unwrap();
}

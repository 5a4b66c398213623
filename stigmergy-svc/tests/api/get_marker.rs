//! One mark by its id.

use chrono::TimeDelta;
use tonic::Code;

use crate::fixture::{self, refusal, time};

#[tokio::test]
async fn a_mark_is_as_loud_as_it_is_now() {
    let fixture = fixture::start().await;
    let placed = fixture.place("ada", 0.8).await.unwrap();
    fixture
        .freeze_at(time(placed.refresh_time) + TimeDelta::seconds(240))
        .await;

    let marker = fixture.get(&placed).await.unwrap();

    assert_eq!((marker.intensity, marker.current_intensity), (0.8, 0.2));
}

#[tokio::test]
async fn a_mark_that_has_faded_is_not_found() {
    let fixture = fixture::start().await;
    let placed = fixture.place("ada", 0.8).await.unwrap();
    fixture.freeze_at(time(placed.fade_time)).await;

    let status = fixture.get(&placed).await.unwrap_err();

    assert_eq!(
        refusal(&status),
        (Code::NotFound, "MARKER_NOT_FOUND".to_owned())
    );
}

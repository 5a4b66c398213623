use std::cell::Cell;

use super::*;

#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
struct Refusal(&'static str);

impl Failure for Refusal {
    fn kind(&self) -> ErrorKind {
        ErrorKind::Conflict
    }

    fn reason(&self) -> &'static str {
        self.0
    }
}

#[test]
fn codes_are_sorted_by_what_the_caller_can_do() {
    let sorted = [
        "40001", "40P01", "08006", "57P01", "53300", "53100", "42P01",
    ]
    .map(classify_code);

    use Fault::{Conflict, Internal, StorageFull, Unavailable};
    assert_eq!(
        sorted,
        [
            Conflict,
            Conflict,
            Unavailable,
            Unavailable,
            Unavailable,
            StorageFull,
            Internal
        ]
    );
}

#[test]
fn a_pool_that_is_full_is_unavailable() {
    assert_eq!(classify(&sqlx::Error::PoolTimedOut), Fault::Unavailable);
}

#[tokio::test]
async fn a_lost_race_is_run_again() {
    let runs = Cell::new(0);

    let result = retry_conflicts(3, async || {
        runs.set(runs.get() + 1);
        if runs.get() < 3 {
            Err(Refusal(WRITE_CONFLICT))
        } else {
            Ok("done")
        }
    });

    assert_eq!(result.await, Ok("done"));
}

#[tokio::test]
async fn a_race_lost_too_often_is_told() {
    let runs = Cell::new(0);

    let result: Result<(), _> = retry_conflicts(3, async || {
        runs.set(runs.get() + 1);
        Err(Refusal(WRITE_CONFLICT))
    })
    .await;

    assert_eq!((result, runs.get()), (Err(Refusal(WRITE_CONFLICT)), 3));
}

#[tokio::test]
async fn a_conflict_of_the_domain_is_not_run_again() {
    let runs = Cell::new(0);

    let result: Result<(), _> = retry_conflicts(3, async || {
        runs.set(runs.get() + 1);
        Err(Refusal("LEASE_LOST"))
    })
    .await;

    assert_eq!((result, runs.get()), (Err(Refusal("LEASE_LOST")), 1));
}

#[tokio::test]
async fn a_bad_address_is_not_repeated() {
    let url = Secret::new("postgrs//user:hush@host");

    let refused = connect(
        &url,
        PoolOptions {
            max: 1,
            service: "hypha",
        },
    )
    .unwrap_err();

    assert!(!refused.to_string().contains("hush"), "{refused}");
}

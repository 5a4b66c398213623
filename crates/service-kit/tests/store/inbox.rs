use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use cambium_proto::signal::v1::signal_service_server::SignalService;
use cambium_proto::signal::v1::{DeliverRequest, Signal};
use cambium_service_kit::database;
use cambium_service_kit::inbox::{Receptor, SignalRpc};
use cambium_testkit::Database;
use sqlx::PgConnection;
use tonic::{Code, Request, Status};
use tonic_types::StatusExt;
use uuid::Uuid;

use crate::SCHEMA;
use crate::fixture::{count, database, signal};

/// Enters each signal into the ledger; counts what a service would wake by.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ledger {
    commits: Arc<AtomicU32>,
    lose_races: Arc<AtomicU32>,
    seen: Arc<Mutex<Vec<String>>>,
}

impl Receptor for Ledger {
    type Error = database::Error;

    fn may_say(&self, sender: &str, signal: &Signal) -> bool {
        signal.r#type != "coord.load_advice" || sender == "immune"
    }

    async fn apply(&self, conn: &mut PgConnection, signals: &[Signal]) -> Result<(), Self::Error> {
        for signal in signals {
            let id = Uuid::parse_str(&signal.signal_id).unwrap();
            let depth = i64::from(signal.causal_depth);
            // No `ON CONFLICT`: a signal applied twice fails the test.
            sqlx::query("INSERT INTO ledger.entry VALUES ($1, $2)")
                .bind(id)
                .bind(depth)
                .execute(&mut *conn)
                .await?;
            self.seen.lock().unwrap().push(signal.signal_id.clone());
        }
        if self
            .lose_races
            .try_update(Ordering::SeqCst, Ordering::SeqCst, |left| {
                left.checked_sub(1)
            })
            .is_ok()
        {
            let lost = "DO $$ BEGIN RAISE serialization_failure; END $$";
            sqlx::raw_sql(lost).execute(&mut *conn).await?;
        }
        Ok(())
    }

    fn applied(&self) {
        self.commits.fetch_add(1, Ordering::SeqCst);
    }
}

pub(crate) fn rpc(database: &Database, ledger: &Ledger) -> SignalRpc<Ledger> {
    SignalRpc::new(database.pool.clone(), SCHEMA, ledger.clone())
}

async fn deliver(database: &Database, ledger: &Ledger, signals: &[Signal]) -> Result<(), Status> {
    let request = DeliverRequest {
        signals: signals.to_vec(),
    };
    rpc(database, ledger)
        .deliver(Request::new(request))
        .await
        .map(drop)
}

#[tokio::test]
async fn a_signal_seen_before_has_no_effect() {
    let (database, ledger) = (database().await, Ledger::default());
    let (first, second) = (signal("coord.gratitude"), signal("coord.gratitude"));

    deliver(&database, &ledger, std::slice::from_ref(&first))
        .await
        .unwrap();
    deliver(&database, &ledger, &[first.clone(), second.clone(), first])
        .await
        .unwrap();
    deliver(&database, &ledger, &[second]).await.unwrap();

    assert_eq!(
        (
            count(&database, "entry").await,
            count(&database, "inbox").await
        ),
        (2, 2)
    );
}

#[tokio::test]
async fn what_is_not_for_the_sender_to_say_refuses_the_delivery() {
    let (database, ledger) = (database().await, Ledger::default());

    let refused = deliver(
        &database,
        &ledger,
        &[signal("coord.gratitude"), signal("coord.load_advice")],
    )
    .await
    .unwrap_err();

    assert_eq!(refused.code(), Code::PermissionDenied);
    assert_eq!(
        refused.get_details_error_info().unwrap().reason,
        "SIGNAL_NOT_YOURS"
    );
    assert_eq!(
        (
            count(&database, "entry").await,
            count(&database, "inbox").await
        ),
        (0, 0)
    );
}

#[tokio::test]
async fn whatever_the_order_of_delivery_the_effect_is_the_same() {
    let signals: Vec<Signal> = (0..4).map(|_| signal("coord.gratitude")).collect();
    let orders: [&[usize]; 3] = [&[0, 1, 2, 3], &[3, 2, 1, 0], &[2, 0, 2, 3, 1, 0]];

    let mut stored = Vec::new();
    for order in orders {
        let (database, ledger) = (database().await, Ledger::default());
        for index in order {
            deliver(&database, &ledger, &signals[*index..=*index])
                .await
                .unwrap();
        }
        let ids =
            sqlx::query_scalar::<_, Uuid>("SELECT signal_id FROM ledger.entry ORDER BY signal_id");
        stored.push(ids.fetch_all(&database.pool).await.unwrap());
    }

    assert_eq!(stored[0].len(), 4);
    assert!(stored.iter().all(|ids| *ids == stored[0]));
}

#[tokio::test]
async fn deliveries_that_cross_apply_each_signal_once() {
    let (database, ledger) = (database().await, Ledger::default());
    let signals: Vec<Signal> = (0..50).map(|_| signal("coord.gratitude")).collect();
    let backwards: Vec<Signal> = signals.iter().rev().cloned().collect();

    let deliveries = [&signals, &backwards, &signals, &backwards]
        .map(|batch| deliver(&database, &ledger, batch));
    let [a, b, c, d] = deliveries;
    let (a, b, c, d) = tokio::join!(a, b, c, d);

    assert!([a, b, c, d].iter().all(Result::is_ok));
    assert_eq!(count(&database, "entry").await, 50);
}

#[tokio::test]
async fn a_signal_too_deep_is_dropped_and_the_rest_applied() {
    let (database, ledger) = (database().await, Ledger::default());
    let edge = Signal {
        causal_depth: 8,
        ..signal("coord.gratitude")
    };
    let beyond = Signal {
        causal_depth: 9,
        ..signal("coord.gratitude")
    };
    let dropped = dropped_so_far();

    deliver(&database, &ledger, &[edge, beyond]).await.unwrap();

    assert_eq!(
        (
            count(&database, "entry").await,
            count(&database, "inbox").await
        ),
        (1, 1)
    );
    assert_eq!(dropped_so_far(), dropped + 1);
}

/// What the metrics say; no other test of this binary drops any.
fn dropped_so_far() -> u64 {
    let rendered = cambium_service_kit::telemetry::metrics().render();
    let line = rendered
        .lines()
        .find_map(|line| line.strip_prefix("cambium_signals_dropped_total{reason=\"too_deep\"} "));
    line.map_or(0, |count| count.parse().unwrap())
}

#[tokio::test]
async fn a_malformed_signal_refuses_the_batch_and_nothing_is_stored() {
    let (database, ledger) = (database().await, Ledger::default());
    let good = || signal("coord.gratitude");
    let bad = [
        (
            "intensity",
            Signal {
                intensity: 1.01,
                ..good()
            },
        ),
        (
            "intensity",
            Signal {
                intensity: -0.01,
                ..good()
            },
        ),
        (
            "intensity",
            Signal {
                intensity: f64::NAN,
                ..good()
            },
        ),
        (
            "signal_id",
            Signal {
                signal_id: "seven".to_owned(),
                ..good()
            },
        ),
        (
            "type",
            Signal {
                r#type: "coord.\0".to_owned(),
                ..good()
            },
        ),
        (
            "workspace_id",
            Signal {
                workspace_id: String::new(),
                ..good()
            },
        ),
    ];

    for (field, bad) in bad {
        let status = deliver(&database, &ledger, &[good(), bad])
            .await
            .unwrap_err();

        let named = &status.get_details_bad_request().unwrap().field_violations[0].field;
        assert_eq!(
            (status.code(), named.as_str()),
            (Code::InvalidArgument, &*format!("signals[1].{field}"))
        );
    }
    assert_eq!(
        (
            count(&database, "entry").await,
            count(&database, "inbox").await
        ),
        (0, 0)
    );
    assert_eq!(ledger.commits.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn a_delivery_that_loses_a_race_is_applied_again_from_nothing() {
    let (database, ledger) = (database().await, Ledger::default());
    ledger.lose_races.store(2, Ordering::SeqCst);

    deliver(&database, &ledger, &[signal("coord.gratitude")])
        .await
        .unwrap();

    assert_eq!(ledger.seen.lock().unwrap().len(), 3);
    assert_eq!(
        (
            count(&database, "entry").await,
            count(&database, "inbox").await
        ),
        (1, 1)
    );
    assert_eq!(ledger.commits.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn an_empty_delivery_is_acknowledged() {
    let (database, ledger) = (database().await, Ledger::default());

    deliver(&database, &ledger, &[]).await.unwrap();

    assert_eq!(count(&database, "inbox").await, 0);
}

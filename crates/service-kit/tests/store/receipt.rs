use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use cambium_kernel::{ErrorKind, Failure, WorkspaceId};
use cambium_proto::signal::v1::Signal;
use cambium_service_kit::call::Call;
use cambium_service_kit::database::{WRITE_CONFLICT, retry_conflicts};
use cambium_service_kit::principal::{Kind, Principal};
use cambium_service_kit::receipt::{self, Error};
use chrono::DateTime;
use sqlx::PgPool;
use tokio::sync::Barrier;
use uuid::Uuid;

use crate::SCHEMA;
use crate::fixture::{count, database};

fn call(name: &str, body: u8) -> Call {
    let principal = Principal {
        kind: Kind::Operator,
        name: name.to_owned(),
        workspaces: vec!["*".to_owned()],
        agents: Vec::new(),
        capabilities: Vec::new(),
        act: None,
        lease: None,
        fence: None,
        expires_at: DateTime::UNIX_EPOCH,
        issued_at: DateTime::UNIX_EPOCH,
    };
    let request_id = Uuid::from_u128(7);
    Call {
        principal: Arc::new(principal),
        request_id,
        method: "/cambium.ledger.v1.LedgerService/Note",
        body_hash: [body; 32],
    }
}

fn workspace(name: &str) -> WorkspaceId {
    WorkspaceId::parse(name).unwrap()
}

/// The replies are signals, since those are at hand.
fn reply(text: &str) -> Signal {
    Signal {
        source: text.to_owned(),
        ..Signal::default()
    }
}

async fn keep(pool: &PgPool, call: &Call, text: &str) -> Result<(), Error> {
    let mut conn = pool.acquire().await.unwrap();
    receipt::insert(&mut conn, SCHEMA, call, &workspace("home"), &reply(text)).await
}

async fn find(pool: &PgPool, call: &Call, place: &str) -> Result<Option<Signal>, Error> {
    let mut conn = pool.acquire().await.unwrap();
    receipt::find(&mut conn, SCHEMA, call, &workspace(place)).await
}

#[tokio::test]
async fn the_same_call_gets_the_same_reply() {
    let database = database().await;
    assert_eq!(
        find(&database.pool, &call("ada", 1), "home").await.unwrap(),
        None
    );

    keep(&database.pool, &call("ada", 1), "first")
        .await
        .unwrap();

    assert_eq!(
        find(&database.pool, &call("ada", 1), "home").await.unwrap(),
        Some(reply("first"))
    );
}

#[tokio::test]
async fn the_same_id_with_another_body_is_taken() {
    let database = database().await;
    keep(&database.pool, &call("ada", 1), "first")
        .await
        .unwrap();

    let refused = find(&database.pool, &call("ada", 2), "home")
        .await
        .unwrap_err();

    assert_eq!(
        (refused.kind(), refused.reason()),
        (ErrorKind::Taken, "REQUEST_ID_REUSED")
    );
    assert_eq!(refused.field().as_deref(), Some("request_id"));
    assert_eq!(count(&database, "receipt").await, 1);
}

#[tokio::test]
async fn another_caller_or_workspace_has_receipts_of_its_own() {
    let database = database().await;
    keep(&database.pool, &call("ada", 1), "first")
        .await
        .unwrap();

    assert_eq!(
        find(&database.pool, &call("bob", 2), "home").await.unwrap(),
        None
    );
    assert_eq!(
        find(&database.pool, &call("ada", 2), "away").await.unwrap(),
        None
    );
}

#[tokio::test]
async fn a_second_receipt_is_a_conflict() {
    let database = database().await;
    keep(&database.pool, &call("ada", 1), "first")
        .await
        .unwrap();

    let refused = keep(&database.pool, &call("ada", 1), "second")
        .await
        .unwrap_err();

    assert_eq!(
        (refused.kind(), refused.reason()),
        (ErrorKind::Conflict, WRITE_CONFLICT)
    );
}

/// A use case as services write it: the receipt and the effect in one transaction.
async fn note(
    pool: &PgPool,
    call: &Call,
    together: &Barrier,
    runs: &AtomicU32,
) -> Result<Signal, Error> {
    let mut tx = pool.begin().await?;
    if let Some(reply) = receipt::find(&mut tx, SCHEMA, call, &workspace("home")).await? {
        return Ok(reply);
    }
    if runs.fetch_add(1, Ordering::SeqCst) < 2 {
        together.wait().await;
    }
    let id = Uuid::new_v4();
    sqlx::query("INSERT INTO ledger.entry VALUES ($1, 0)")
        .bind(id)
        .execute(&mut *tx)
        .await?;
    let reply = reply(&id.to_string());
    receipt::insert(&mut tx, SCHEMA, call, &workspace("home"), &reply).await?;
    tx.commit().await?;
    Ok(reply)
}

#[tokio::test]
async fn two_calls_at_once_have_one_effect_and_one_reply() {
    let database = database().await;
    let (call, together, runs) = (call("ada", 1), Barrier::new(2), AtomicU32::new(0));
    let note = || retry_conflicts(3, || note(&database.pool, &call, &together, &runs));

    let (one, other) = tokio::join!(note(), note());

    assert_eq!(one.unwrap(), other.unwrap());
    assert_eq!(count(&database, "entry").await, 1);
}

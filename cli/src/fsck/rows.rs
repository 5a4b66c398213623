//! The rows of swarm that the laws speak of, as they are stored. Judges nothing.

use std::collections::BTreeMap;

use chrono::{DateTime, NaiveDate, Utc};
use serde_json::Value;
use sqlx::postgres::PgRow;
use sqlx::{AssertSqlSafe, FromRow, PgConnection};
use uuid::Uuid;

#[derive(Clone, Debug, FromRow)]
pub(super) struct Turn {
    pub(super) turn_id: Uuid,
    pub(super) instance: String,
    pub(super) slot: i32,
    pub(super) state: String,
    pub(super) outcome: Option<String>,
    pub(super) cap: i64,
    pub(super) share_ppm: i64,
    pub(super) haste_ppm: i64,
    pub(super) floor: i64,
    pub(super) reserve: String,
    pub(super) launched_at: DateTime<Utc>,
    pub(super) ended_at: Option<DateTime<Utc>>,
}

impl Turn {
    pub(super) fn is_live(&self) -> bool {
        matches!(self.state.as_str(), "granted" | "running")
    }
}

#[derive(Clone, Debug, FromRow)]
pub(super) struct Grant {
    pub(super) turn_id: Uuid,
    pub(super) bucket: i64,
    pub(super) reserved: i64,
    pub(super) k: i32,
    pub(super) live: i32,
    pub(super) candidates: Value,
    pub(super) passed_over: Value,
    pub(super) vtime_seq: i64,
}

#[derive(Clone, Debug, FromRow)]
pub(super) struct Charge {
    pub(super) turn_id: Uuid,
    pub(super) cost: i64,
    pub(super) measured: bool,
    pub(super) vdelta: i64,
    pub(super) settled_at: DateTime<Utc>,
}

#[derive(Clone, Debug, FromRow)]
pub(super) struct Reservation {
    pub(super) turn_id: Uuid,
    pub(super) amount: i64,
    pub(super) wallet_period: NaiveDate,
    pub(super) closed_at: Option<DateTime<Utc>>,
}

#[derive(Clone, Debug, FromRow)]
pub(super) struct VtimeEvent {
    pub(super) instance: String,
    pub(super) seq: i64,
    /// Among those of all minds.
    pub(super) n: i64,
    pub(super) kind: String,
    pub(super) before: i64,
    pub(super) after: i64,
    pub(super) turn_id: Option<Uuid>,
}

#[derive(Clone, Debug, FromRow)]
pub(super) struct BucketEvent {
    pub(super) seq: i64,
    pub(super) kind: String,
    pub(super) before: i64,
    pub(super) after: i64,
    pub(super) at: DateTime<Utc>,
    pub(super) turn_id: Option<Uuid>,
}

/// What the operator set, and when; no value where it was taken away.
#[derive(Clone, Debug, FromRow)]
pub(super) struct Version {
    pub(super) what: String,
    pub(super) instance: String,
    pub(super) value: Option<Value>,
    pub(super) at: DateTime<Utc>,
}

#[derive(Clone, Debug, FromRow)]
pub(super) struct Loan {
    pub(super) lender: String,
    pub(super) share_ppm: i64,
    pub(super) from_at: DateTime<Utc>,
    pub(super) until_at: DateTime<Utc>,
    pub(super) ended_at: Option<DateTime<Utc>>,
}

#[derive(Clone, Debug, FromRow)]
pub(super) struct Seat {
    pub(super) instance: String,
    pub(super) vtime: i64,
    pub(super) member: bool,
}

/// One workspace's minds, turns and money, each in its order.
#[derive(Clone, Debug, Default)]
pub(super) struct Swarm {
    pub(super) now: DateTime<Utc>,
    pub(super) turns: BTreeMap<Uuid, Turn>,
    pub(super) grants: BTreeMap<Uuid, Grant>,
    pub(super) charges: BTreeMap<Uuid, Charge>,
    pub(super) reservations: BTreeMap<Uuid, Reservation>,
    pub(super) vtimes: Vec<VtimeEvent>,
    pub(super) buckets: Vec<BucketEvent>,
    pub(super) versions: Vec<Version>,
    pub(super) loans: Vec<Loan>,
    pub(super) seats: Vec<Seat>,
    pub(super) min_vtime: i64,
    pub(super) bucket: Option<i64>,
}

/// Every workspace that has a mind. A database without swarm has none.
pub(super) async fn load(conn: &mut PgConnection) -> anyhow::Result<Vec<Swarm>> {
    let known: Option<String> = sqlx::query_scalar("SELECT to_regclass('swarm.mind')::text")
        .fetch_one(&mut *conn)
        .await?;
    if known.is_none() {
        return Ok(Vec::new());
    }
    let names: Vec<String> =
        sqlx::query_scalar("SELECT DISTINCT workspace_id FROM swarm.mind ORDER BY 1")
            .fetch_all(&mut *conn)
            .await?;
    let mut swarms = Vec::new();
    for name in names {
        swarms.push(swarm(conn, &name).await?);
    }
    Ok(swarms)
}

async fn swarm(conn: &mut PgConnection, workspace: &str) -> anyhow::Result<Swarm> {
    let now = sqlx::query_scalar("SELECT swarm.now()")
        .fetch_one(&mut *conn)
        .await?;
    let turns: Vec<Turn> = all(conn, workspace, "turn", "turn_id").await?;
    let grants: Vec<Grant> = all(conn, workspace, "grant", "turn_id").await?;
    let charges: Vec<Charge> = all(conn, workspace, "charge", "turn_id").await?;
    let reservations: Vec<Reservation> = all(conn, workspace, "reservation", "turn_id").await?;
    let number = |table: &'static str, column: &'static str| {
        format!("SELECT {column} FROM swarm.{table} WHERE workspace_id = $1")
    };
    let min_vtime: Option<i64> = sqlx::query_scalar(AssertSqlSafe(number("timeline", "min_vtime")))
        .bind(workspace)
        .fetch_optional(&mut *conn)
        .await?;
    let bucket = sqlx::query_scalar(AssertSqlSafe(number("bucket", "bucket")))
        .bind(workspace)
        .fetch_optional(&mut *conn)
        .await?;
    Ok(Swarm {
        now,
        turns: turns.into_iter().map(|row| (row.turn_id, row)).collect(),
        grants: grants.into_iter().map(|row| (row.turn_id, row)).collect(),
        charges: charges.into_iter().map(|row| (row.turn_id, row)).collect(),
        reservations: reservations
            .into_iter()
            .map(|row| (row.turn_id, row))
            .collect(),
        vtimes: all(conn, workspace, "vtime_event", "n").await?,
        buckets: all(conn, workspace, "bucket_event", "seq").await?,
        versions: all(conn, workspace, "control_version", "seq").await?,
        loans: all(conn, workspace, "loan", "from_at, loan_id").await?,
        seats: all(conn, workspace, "timeline_mind", "instance").await?,
        min_vtime: min_vtime.unwrap_or(0),
        bucket,
    })
}

async fn all<T>(
    conn: &mut PgConnection,
    workspace: &str,
    table: &'static str,
    order: &'static str,
) -> anyhow::Result<Vec<T>>
where
    T: for<'row> FromRow<'row, PgRow> + Send + Unpin,
{
    let select = format!("SELECT * FROM swarm.{table} WHERE workspace_id = $1 ORDER BY {order}");
    let rows = sqlx::query_as(AssertSqlSafe(select)).bind(workspace);
    Ok(rows.fetch_all(conn).await?)
}

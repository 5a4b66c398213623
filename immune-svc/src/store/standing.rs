//! Table `immune.standing`.

mod list;
mod row;

use std::collections::BTreeMap;

use cambium_immune::Standing;
use cambium_kernel::{Score, WorkspaceId};
use chrono::{DateTime, Utc};
use sqlx::{PgConnection, PgPool};
use uuid::Uuid;

use super::{Key, columns};
use crate::error::Error;

pub(crate) use list::{After, Filter, Sort, list};
use row::{Columns, Row};

/// A running quarantine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stay {
    pub(crate) id: Uuid,
    pub(crate) until: DateTime<Utc>,
}

/// A standing, and what immune itself keeps beside it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Account {
    pub(crate) standing: Standing,
    pub(crate) stay: Option<Stay>,
    /// How many times it has been in quarantine.
    pub(crate) quarantine_count: u32,
    pub(crate) advice_seq: i64,
    /// It takes no new work.
    pub(crate) is_draining: bool,
    pub(crate) closed_at: Option<DateTime<Utc>>,
    pub(crate) seq: i64,
    pub(crate) updated_at: DateTime<Utc>,
    /// The transaction that changed it last.
    pub(crate) changed_in: i64,
}

impl Account {
    pub(crate) fn new(now: DateTime<Utc>) -> Self {
        Self {
            standing: Standing::new(now),
            stay: None,
            quarantine_count: 0,
            advice_seq: 0,
            is_draining: false,
            closed_at: None,
            seq: 0,
            updated_at: now,
            changed_in: 0,
        }
    }
}

impl Account {
    /// The time by which its trust idles: that of an agent that has retired stands still.
    pub(crate) fn clock(&self, now: DateTime<Utc>) -> DateTime<Utc> {
        self.closed_at.map_or(now, |closed_at| closed_at.min(now))
    }

    /// Trust as it is at `now`.
    pub(crate) fn trust_at(&self, now: DateTime<Utc>) -> Score {
        self.standing.trust_at(self.clock(now))
    }
}

/// Locks those that are there, in the order of keys, until the transaction ends.
pub(crate) async fn lock<'a>(
    conn: &mut PgConnection,
    keys: impl IntoIterator<Item = &'a Key>,
) -> Result<BTreeMap<Key, Account>, Error> {
    let (workspaces, agents) = columns(keys);
    let rows = sqlx::query_as!(
        Row,
        r#"
        SELECT s.workspace_id, s.agent_id, s.trust, s.trust_start, s.trust_moved_at, s.trust_seq, s.generosity,
               s.generosity_seq, s.health, s.health_seq, s.failures, s.losses, s.busy_minute, s.busy_ms, s.recent,
               s.settled, s.is_overextended, s.is_advised, s.advice_seq, s.is_draining, s.closed_at, s.quarantine_id,
               s.quarantine_until, s.quarantine_count, s.seq, s.updated_at, s.changed_in
        FROM unnest($1::text[], $2::uuid[]) AS asked (workspace_id, agent_id)
        JOIN immune.standing s ON s.workspace_id = asked.workspace_id AND s.agent_id = asked.agent_id
        ORDER BY s.workspace_id COLLATE "C", s.agent_id
        FOR UPDATE OF s
        "#,
        &workspaces,
        &agents,
    )
    .fetch_all(conn)
    .await?;
    rows.into_iter().map(Row::account).collect()
}

/// Opens standings that are not there yet, as those of agents of which nothing has been heard.
pub(crate) async fn open(conn: &mut PgConnection, keys: &[Key]) -> Result<(), Error> {
    let now = super::now(conn).await?;
    let fresh: BTreeMap<Key, Account> = keys
        .iter()
        .map(|key| (key.clone(), Account::new(now)))
        .collect();
    write(conn, &fresh, false).await
}

/// Writes standings that are locked.
pub(crate) async fn save(
    conn: &mut PgConnection,
    accounts: &BTreeMap<Key, Account>,
) -> Result<(), Error> {
    write(conn, accounts, true).await
}

async fn write(
    conn: &mut PgConnection,
    accounts: &BTreeMap<Key, Account>,
    over: bool,
) -> Result<(), Error> {
    let c = Columns::of(accounts);
    sqlx::query!(
        r#"
        INSERT INTO immune.standing AS s (
            workspace_id, agent_id, trust, trust_start, trust_moved_at, trust_seq, generosity, generosity_seq, health,
            health_seq, failures, losses, busy_minute, busy_ms, recent, settled, is_overextended, is_advised, advice_seq,
            is_draining, closed_at, quarantine_id, quarantine_until, quarantine_count, seq, updated_at, changed_in
        )
        SELECT
            workspace_id, agent_id, trust, trust_start, trust_moved_at, trust_seq, generosity, generosity_seq, health,
            health_seq, failures, losses, busy_minute, busy_ms::integer[], recent, settled, is_overextended, is_advised,
            advice_seq, is_draining, closed_at, quarantine_id, quarantine_until, quarantine_count, seq, updated_at,
            pg_current_xact_id()::text::bigint
        FROM unnest(
            $1::text[], $2::uuid[], $3::integer[], $4::integer[], $5::timestamptz[], $6::bigint[], $7::integer[],
            $8::bigint[], $9::integer[], $10::bigint[], $11::integer[], $12::integer[], $13::bigint[], $14::text[],
            $15::text[], $16::bigint[], $17::boolean[], $18::boolean[], $19::bigint[], $20::boolean[],
            $21::timestamptz[], $22::uuid[], $23::timestamptz[], $24::integer[], $25::bigint[], $26::timestamptz[]
        ) AS new (
            workspace_id, agent_id, trust, trust_start, trust_moved_at, trust_seq, generosity, generosity_seq, health,
            health_seq, failures, losses, busy_minute, busy_ms, recent, settled, is_overextended, is_advised, advice_seq,
            is_draining, closed_at, quarantine_id, quarantine_until, quarantine_count, seq, updated_at
        )
        ORDER BY workspace_id COLLATE "C", agent_id
        ON CONFLICT (workspace_id, agent_id) DO UPDATE SET
            trust = EXCLUDED.trust, trust_start = EXCLUDED.trust_start, trust_moved_at = EXCLUDED.trust_moved_at,
            trust_seq = EXCLUDED.trust_seq, generosity = EXCLUDED.generosity, generosity_seq = EXCLUDED.generosity_seq,
            health = EXCLUDED.health, health_seq = EXCLUDED.health_seq, failures = EXCLUDED.failures,
            losses = EXCLUDED.losses, busy_minute = EXCLUDED.busy_minute, busy_ms = EXCLUDED.busy_ms,
            recent = EXCLUDED.recent, settled = EXCLUDED.settled, is_overextended = EXCLUDED.is_overextended,
            is_advised = EXCLUDED.is_advised, advice_seq = EXCLUDED.advice_seq, is_draining = EXCLUDED.is_draining,
            closed_at = EXCLUDED.closed_at, quarantine_id = EXCLUDED.quarantine_id,
            quarantine_until = EXCLUDED.quarantine_until, quarantine_count = EXCLUDED.quarantine_count,
            seq = EXCLUDED.seq, updated_at = EXCLUDED.updated_at, changed_in = EXCLUDED.changed_in
        WHERE $27 -- one that is only to be opened may have been opened meanwhile
        "#,
        &c.workspaces,
        &c.agents,
        &c.trust,
        &c.trust_start,
        &c.trust_moved_at,
        &c.trust_seq,
        &c.generosity,
        &c.generosity_seq,
        &c.health,
        &c.health_seq,
        &c.failures,
        &c.losses,
        &c.busy_minute,
        &c.busy_ms,
        &c.recent,
        &c.settled,
        &c.is_overextended,
        &c.is_advised,
        &c.advice_seq,
        &c.is_draining,
        &c.closed_at as &[Option<DateTime<Utc>>],
        &c.quarantine_id as &[Option<Uuid>],
        &c.quarantine_until as &[Option<DateTime<Utc>>],
        &c.quarantine_count,
        &c.seq,
        &c.updated_at,
        over,
    )
    .execute(conn)
    .await?;
    Ok(())
}

pub(crate) async fn by_key(conn: &mut PgConnection, key: &Key) -> Result<Option<Account>, Error> {
    let mut found = by_ids(conn, &key.workspace, &[key.agent.as_uuid()]).await?;
    Ok(found.pop().map(|(_, account)| account))
}

/// Those of these agents that there are.
async fn by_ids(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    agents: &[Uuid],
) -> Result<Vec<(Key, Account)>, Error> {
    let rows = sqlx::query_as!(
        Row,
        r#"
        SELECT s.workspace_id, s.agent_id, s.trust, s.trust_start, s.trust_moved_at, s.trust_seq, s.generosity,
               s.generosity_seq, s.health, s.health_seq, s.failures, s.losses, s.busy_minute, s.busy_ms, s.recent,
               s.settled, s.is_overextended, s.is_advised, s.advice_seq, s.is_draining, s.closed_at, s.quarantine_id,
               s.quarantine_until, s.quarantine_count, s.seq, s.updated_at, s.changed_in
        FROM immune.standing s
        WHERE s.workspace_id = $1 AND s.agent_id = ANY ($2)
        "#,
        workspace.as_str(),
        agents,
    )
    .fetch_all(conn)
    .await?;
    rows.into_iter().map(Row::account).collect()
}

/// The agent that bears the name, the living before the retired.
pub(crate) async fn by_name(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    name: &str,
) -> Result<Option<(Key, Account)>, Error> {
    let row = sqlx::query!(
        r#"
        SELECT s.agent_id
        FROM immune.agent a
        JOIN immune.standing s ON s.workspace_id = a.workspace_id AND s.agent_id = a.agent_id
        WHERE a.workspace_id = $1 AND a.name = $2
        ORDER BY s.closed_at IS NOT NULL, s.closed_at DESC, s.agent_id
        LIMIT 1
        "#,
        workspace.as_str(),
        name,
    )
    .fetch_optional(&mut *conn)
    .await?;
    match row {
        Some(row) => Ok(by_ids(conn, workspace, &[row.agent_id]).await?.pop()),
        None => Ok(None),
    }
}

/// Standings that this transaction or a later one has changed, the earliest first, at most so many.
pub(crate) async fn changed_since(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    since: i64,
    after: (i64, Uuid),
    most: i64,
) -> Result<Vec<(Key, Account)>, Error> {
    let rows = sqlx::query_as!(
        Row,
        r#"
        SELECT s.workspace_id, s.agent_id, s.trust, s.trust_start, s.trust_moved_at, s.trust_seq, s.generosity,
               s.generosity_seq, s.health, s.health_seq, s.failures, s.losses, s.busy_minute, s.busy_ms, s.recent,
               s.settled, s.is_overextended, s.is_advised, s.advice_seq, s.is_draining, s.closed_at, s.quarantine_id,
               s.quarantine_until, s.quarantine_count, s.seq, s.updated_at, s.changed_in
        FROM immune.standing s
        WHERE s.workspace_id = $1 AND s.changed_in >= $2 AND (s.changed_in, s.agent_id) > ($3, $4)
        ORDER BY s.changed_in, s.agent_id
        LIMIT $5
        "#,
        workspace.as_str(),
        since,
        after.0,
        after.1,
        most,
    )
    .fetch_all(conn)
    .await?;
    rows.into_iter().map(Row::account).collect()
}

/// The oldest transaction that may still be under way: whatever it changes cannot be seen yet.
pub(crate) async fn horizon(conn: &mut PgConnection) -> Result<i64, Error> {
    let row =
        sqlx::query!(r#"SELECT pg_snapshot_xmin(pg_current_snapshot())::text::bigint AS "xmin!""#)
            .fetch_one(conn)
            .await?;
    Ok(row.xmin)
}

/// Agents whose quarantine is over, at most so many.
pub(crate) async fn due(pool: &PgPool, most: i64) -> Result<Vec<Key>, Error> {
    let rows = sqlx::query!(
        r#"
        SELECT workspace_id, agent_id FROM immune.standing
        WHERE quarantine_id IS NOT NULL AND quarantine_until <= immune.now()
        ORDER BY quarantine_until
        LIMIT $1
        "#,
        most,
    )
    .fetch_all(pool)
    .await?;
    rows.into_iter()
        .map(|row| Key::from_row(&row.workspace_id, row.agent_id))
        .collect()
}

//! Table `swarm.event`: what watches send, numbered without gaps in the order of the commits.

use cambium_kernel::WorkspaceId;
use cambium_swarm::{Instance, TurnId};
use chrono::{DateTime, Utc};
use serde_json::Value;
use sqlx::PgConnection;

use crate::error::Error;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Granted,
    Running,
    Settled,
    Withdrawn,
    Clamped,
    Control,
}

impl Kind {
    const ALL: [Self; 6] = [
        Self::Granted,
        Self::Running,
        Self::Settled,
        Self::Withdrawn,
        Self::Clamped,
        Self::Control,
    ];

    const fn as_str(self) -> &'static str {
        match self {
            Self::Granted => "granted",
            Self::Running => "running",
            Self::Settled => "settled",
            Self::Withdrawn => "withdrawn",
            Self::Clamped => "clamped",
            Self::Control => "control",
        }
    }
}

#[derive(Clone, Debug)]
pub(crate) struct New {
    pub(crate) kind: Kind,
    pub(crate) instance: Option<Instance>,
    pub(crate) turn: Option<TurnId>,
    pub(crate) body: Value,
}

#[derive(Clone, Debug)]
pub(crate) struct Event {
    pub(crate) seq: i64,
    pub(crate) kind: Kind,
    /// Empty where it is no mind's.
    pub(crate) instance: String,
    pub(crate) turn: Option<TurnId>,
    pub(crate) body: Value,
    pub(crate) at: DateTime<Utc>,
}

/// Writes one down. Its number's row stays locked until the commit, so it is the last thing that a transaction does.
pub(crate) async fn insert(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    event: New,
) -> Result<(), Error> {
    let instance = event.instance.as_ref().map_or("", Instance::as_str);
    let insert = sqlx::query!(
        r#"
        INSERT INTO swarm.event (workspace_id, seq, kind, instance, turn_id, body, at)
        VALUES ($1, swarm.next_seq($1, 'event'), $2, $3, $4, $5, swarm.now())
        "#,
        workspace.as_str(),
        event.kind.as_str(),
        instance,
        event.turn.map(TurnId::as_uuid),
        event.body,
    );
    insert.execute(conn).await?;
    Ok(())
}

/// Those after a number, in order.
pub(crate) async fn after(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    seq: i64,
    limit: i64,
) -> Result<Vec<Event>, Error> {
    let rows = sqlx::query!(
        r#"
        SELECT seq, kind, instance, turn_id, body, at
        FROM swarm.event
        WHERE workspace_id = $1 AND seq > $2
        ORDER BY seq
        LIMIT $3
        "#,
        workspace.as_str(),
        seq,
        limit,
    )
    .fetch_all(conn)
    .await?;
    let events = rows.into_iter().map(|row| {
        let kind = Kind::ALL.into_iter().find(|kind| kind.as_str() == row.kind);
        Ok(Event {
            seq: row.seq,
            kind: kind.ok_or_else(|| Error::broken(format!("event {}", row.seq), &row.kind))?,
            instance: row.instance,
            turn: row.turn_id.map(TurnId::from_uuid),
            body: row.body,
            at: row.at,
        })
    });
    events.collect()
}

/// The lowest number kept and the last one given out; 1 and 0 where there was none.
pub(crate) async fn reach(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
) -> Result<(i64, i64), Error> {
    let row = sqlx::query!(
        r#"
        SELECT
            coalesce((SELECT seq FROM swarm.log_head WHERE workspace_id = $1 AND log = 'event'), 0) AS "last!",
            (SELECT min(seq) FROM swarm.event WHERE workspace_id = $1) AS lowest
        "#,
        workspace.as_str(),
    )
    .fetch_one(conn)
    .await?;
    Ok((row.lowest.unwrap_or(row.last + 1), row.last))
}

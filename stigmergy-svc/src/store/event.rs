//! Table `stigmergy.marker_event`: what happened in a workspace, numbered without gaps under its lock.

use cambium_kernel::{MarkerId, WorkspaceId};
use chrono::{DateTime, Utc};
use sqlx::PgConnection;

use crate::error::Error;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Placed,
    Reinforced,
    Transformed,
    Faded,
}

impl Kind {
    pub(crate) const fn number(self) -> i16 {
        match self {
            Self::Placed => 1,
            Self::Reinforced => 2,
            Self::Transformed => 3,
            Self::Faded => 4,
        }
    }

    fn of(number: i16) -> Option<Self> {
        [
            Self::Placed,
            Self::Reinforced,
            Self::Transformed,
            Self::Faded,
        ]
        .into_iter()
        .find(|kind| kind.number() == number)
    }
}

/// One thing that happened to one mark.
#[derive(Clone, Debug)]
pub(crate) struct Event {
    pub(crate) seq: i64,
    pub(crate) kind: Kind,
    pub(crate) at: DateTime<Utc>,
    pub(crate) marker: MarkerId,
    pub(crate) region: String,
    pub(crate) marker_type: String,
    /// Nobody makes a mark fade.
    pub(crate) actor: Option<String>,
    /// In millionths, as the next.
    pub(crate) before: i32,
    pub(crate) after: i32,
    pub(crate) depth: i32,
    /// Of a transformation: what was replaced, and by what.
    pub(crate) summaries: Option<(String, String)>,
}

/// How far a workspace's events reach.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reach {
    /// The lowest that is kept; the next one, if none is.
    pub(crate) lowest: i64,
    pub(crate) last: i64,
}

pub(crate) async fn reach(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
) -> Result<Reach, Error> {
    let row = sqlx::query!(
        r#"
        SELECT coalesce(w.last_seq, 0) AS "last!",
               (SELECT min(e.seq) FROM stigmergy.marker_event e WHERE e.workspace_id = $1) AS lowest
        FROM (SELECT 1) one LEFT JOIN stigmergy.workspace w ON w.workspace_id = $1
        "#,
        workspace.as_str(),
    )
    .fetch_one(conn)
    .await?;
    Ok(Reach {
        lowest: row.lowest.unwrap_or(row.last + 1),
        last: row.last,
    })
}

/// At most `most` events that come after `seq`, in their order.
pub(crate) async fn after(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    seq: i64,
    most: i64,
) -> Result<Vec<Event>, Error> {
    let rows = sqlx::query!(
        r#"
        SELECT seq, kind, marker_id, region, type AS marker_type, actor, intensity_before, intensity_after,
               transformation_depth, old_payload_summary, new_payload_summary, at
        FROM stigmergy.marker_event
        WHERE workspace_id = $1 AND seq > $2
        ORDER BY seq
        LIMIT $3
        "#,
        workspace.as_str(),
        seq,
        most,
    )
    .fetch_all(conn)
    .await?;
    let events = rows.into_iter().map(|row| {
        let kind = Kind::of(row.kind).ok_or_else(|| Error::Broken {
            what: format!("event {}", row.seq),
            why: format!("kind {}", row.kind),
        })?;
        Ok(Event {
            seq: row.seq,
            kind,
            at: row.at,
            marker: MarkerId::from_uuid(row.marker_id),
            region: row.region,
            marker_type: row.marker_type,
            actor: row.actor,
            before: row.intensity_before,
            after: row.intensity_after,
            depth: row.transformation_depth,
            summaries: row.old_payload_summary.zip(row.new_payload_summary),
        })
    });
    events.collect()
}

//! Transitions of runs: packed when written, spread out when read. Sequences are given under the run's lock.

use cambium_kernel::{AgentId, RunId};
use chrono::{DateTime, Utc};
use prost::Message;
use sqlx::PgConnection;
use uuid::Uuid;

use super::engine::{TaskKey, signed, unsigned};

/// One transition, as it rests in the `body` of an event row. Tags are for ever: old rows are read by newer code.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct Transition {
    /// As `RunEventKind` on the wire.
    #[prost(int32, tag = "1")]
    pub(crate) kind: i32,
    /// Node + 1, so that 0 is the run itself.
    #[prost(uint32, tag = "2")]
    pub(crate) node: u32,
    #[prost(uint32, tag = "3")]
    pub(crate) member: u32,
    #[prost(int32, tag = "4")]
    pub(crate) epoch: i32,
    #[prost(bytes = "vec", tag = "5")]
    pub(crate) agent: Vec<u8>,
    #[prost(string, tag = "6")]
    pub(crate) code: String,
    #[prost(string, tag = "7")]
    pub(crate) detail: String,
    #[prost(int32, tag = "8")]
    pub(crate) run_state: i32,
}

impl Transition {
    pub(crate) fn of_run(kind: i32) -> Self {
        Self {
            kind,
            ..Self::default()
        }
    }

    pub(crate) fn of_task(kind: i32, task: TaskKey, epoch: i32) -> Self {
        Self {
            kind,
            node: task.n + 1,
            member: task.i,
            epoch,
            ..Self::default()
        }
    }

    pub(crate) fn by(mut self, agent: Option<AgentId>) -> Self {
        self.agent = agent.map_or_else(Vec::new, |agent| agent.as_uuid().as_bytes().to_vec());
        self
    }

    pub(crate) fn because(mut self, code: &str, detail: &str) -> Self {
        code.clone_into(&mut self.code);
        detail.clone_into(&mut self.detail);
        self
    }

    pub(crate) fn agent_id(&self) -> Option<AgentId> {
        Uuid::from_slice(&self.agent).ok().map(AgentId::from_uuid)
    }
}

/// What a `body` holds.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct Transitions {
    #[prost(message, repeated, tag = "1")]
    pub(crate) list: Vec<Transition>,
}

/// A numbered transition.
#[derive(Clone, Debug)]
pub(crate) struct Event {
    pub(crate) seq: i64,
    pub(crate) at: DateTime<Utc>,
    pub(crate) transition: Transition,
}

/// Events after `after_seq` in order, from at most `rows` stored batches.
pub(crate) async fn after(
    conn: &mut PgConnection,
    run: RunId,
    after_seq: i64,
    rows: i64,
) -> Result<Vec<Event>, sqlx::Error> {
    let batches = sqlx::query!(
        r#"
        SELECT seq, k, at, body FROM hypha.event
        WHERE run_id = $1 AND seq > $2
        ORDER BY seq LIMIT $3
        "#,
        run.as_uuid(),
        i32::try_from(after_seq).unwrap_or(i32::MAX),
        rows,
    )
    .fetch_all(conn)
    .await?;
    let mut events = Vec::new();
    for batch in batches {
        let list = Transitions::decode(batch.body.as_slice())
            .map_err(|fault| sqlx::Error::Decode(Box::new(fault)))?
            .list;
        let first = i64::from(batch.seq) - i64::from(batch.k) + 1;
        let numbered = (first..).zip(list).filter(|(seq, _)| *seq > after_seq);
        events.extend(numbered.map(|(seq, transition)| Event {
            seq,
            at: batch.at,
            transition,
        }));
    }
    Ok(events)
}

/// How far a run has come, and from where on its events can still be read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reach {
    pub(crate) has_ended: bool,
    pub(crate) last: u32,
    /// The lowest sequence kept: past the last one if none is.
    pub(crate) lowest: u32,
}

/// The reach of a run's events, if there is such a run.
pub(crate) async fn reach(
    conn: &mut PgConnection,
    run: RunId,
) -> Result<Option<Reach>, sqlx::Error> {
    let row = sqlx::query!(
        r#"
        SELECT r.ended_at IS NOT NULL AS "has_ended!", r.seq AS last, coalesce(
                   (SELECT e.seq - e.k + 1 FROM hypha.event e WHERE e.run_id = r.run_id ORDER BY e.seq LIMIT 1),
                   r.seq + 1
               ) AS "lowest!"
        FROM hypha.run r WHERE r.run_id = $1
        "#,
        run.as_uuid(),
    )
    .fetch_optional(conn)
    .await?;
    Ok(row.map(|row| Reach {
        has_ended: row.has_ended,
        last: unsigned(row.last),
        lowest: unsigned(row.lowest),
    }))
}

/// Events of a run past the newest that are kept.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stale {
    pub(crate) run: RunId,
    pub(crate) up_to: u32,
}

/// Rows of one run that go at once: what a lowered limit leaves over goes when the run has grown again.
const STALE: i64 = 20_000;

/// Deletes the rows whose events are all stale. The caller holds the runs' locks.
pub(crate) async fn delete_stale(
    conn: &mut PgConnection,
    stale: &[Stale],
) -> Result<(), sqlx::Error> {
    sqlx::query!(
        r#"
        DELETE FROM hypha.event WHERE ctid = ANY (ARRAY(
            SELECT old.ctid FROM unnest($1::uuid[], $2::int[]) AS u (run_id, up_to) CROSS JOIN LATERAL (
                SELECT e.ctid FROM hypha.event e WHERE e.run_id = u.run_id AND e.seq <= u.up_to ORDER BY e.seq LIMIT $3
            ) old
        ))
        "#,
        &stale.iter().map(|d| d.run.as_uuid()).collect::<Vec<_>>(),
        &stale.iter().map(|d| signed(d.up_to)).collect::<Vec<_>>(),
        STALE,
    )
    .execute(conn)
    .await?;
    Ok(())
}

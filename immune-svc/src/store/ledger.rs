//! Table `immune.ledger`: every step of every score. Append-only.

use std::collections::HashMap;

use cambium_immune::{Action, Entry, Event, ScoreKind};
use cambium_kernel::{AgentId, Score};
use chrono::{DateTime, Utc};
use sqlx::PgConnection;
use uuid::Uuid;

use super::{Key, cause_key, score};
use crate::error::Error;

/// A step, with all that is known of the fact behind it.
#[derive(Clone, Debug)]
pub(crate) struct Step {
    pub(crate) row_no: i64,
    pub(crate) entry: Entry,
    pub(crate) cause: String,
    pub(crate) counterpart: Option<AgentId>,
    pub(crate) run: String,
    pub(crate) occurred_at: DateTime<Utc>,
    pub(crate) recorded_at: DateTime<Utc>,
}

/// A fact that may have been recorded before: whose, on which score, and the key of its cause.
pub(crate) type Asked = (Key, ScoreKind, Uuid);

pub(crate) const fn code(kind: ScoreKind) -> i16 {
    match kind {
        ScoreKind::Trust => 1,
        ScoreKind::Generosity => 2,
        ScoreKind::Health => 3,
    }
}

fn kind(code: i16) -> Result<ScoreKind, Error> {
    match code {
        1 => Ok(ScoreKind::Trust),
        2 => Ok(ScoreKind::Generosity),
        3 => Ok(ScoreKind::Health),
        _ => Err(Error::broken("a ledger row", format!("score {code}"))),
    }
}

const fn action_code(action: Action) -> i16 {
    match action {
        Action::None => 0,
        Action::HoardingDetected => 1,
        Action::OverextensionDetected => 2,
    }
}

fn action(code: i16) -> Result<Action, Error> {
    match code {
        0 => Ok(Action::None),
        1 => Ok(Action::HoardingDetected),
        2 => Ok(Action::OverextensionDetected),
        _ => Err(Error::broken("a ledger row", format!("action {code}"))),
    }
}

/// What the facts did that were recorded before.
pub(crate) async fn known(
    conn: &mut PgConnection,
    asked: &[Asked],
) -> Result<HashMap<Asked, (Action, Score)>, Error> {
    let (workspaces, agents) = super::columns(asked.iter().map(|(key, ..)| key));
    let scores: Vec<i16> = asked.iter().map(|(_, kind, _)| code(*kind)).collect();
    let causes: Vec<Uuid> = asked.iter().map(|(.., cause)| *cause).collect();
    let rows = sqlx::query_file!(
        "src/store/ledger_known.sql",
        &workspaces,
        &agents,
        &scores,
        &causes,
    )
    .fetch_all(conn)
    .await?;
    let mut known = HashMap::with_capacity(rows.len());
    for row in rows {
        let place = usize::try_from(row.place - 1).unwrap_or(usize::MAX);
        if let Some(asked) = asked.get(place) {
            known.insert(asked.clone(), (action(row.action)?, score(row.after)?));
        }
    }
    Ok(known)
}

#[derive(Default)]
struct Columns {
    workspaces: Vec<String>,
    agents: Vec<Uuid>,
    scores: Vec<i16>,
    seqs: Vec<i64>,
    row_nos: Vec<i64>,
    events: Vec<&'static str>,
    causes: Vec<String>,
    cause_keys: Vec<Uuid>,
    before: Vec<i32>,
    delta: Vec<i32>,
    after: Vec<i32>,
    policies: Vec<i64>,
    actions: Vec<i16>,
    reasons: Vec<String>,
    counterparts: Vec<Option<Uuid>>,
    runs: Vec<String>,
    occurred: Vec<DateTime<Utc>>,
    recorded: Vec<DateTime<Utc>>,
}

impl Columns {
    fn push(&mut self, key: Key, step: Step) {
        let entry = step.entry;
        self.workspaces.push(key.workspace.to_string());
        self.agents.push(key.agent.as_uuid());
        self.scores.push(code(entry.kind));
        self.seqs.push(entry.seq);
        self.row_nos.push(step.row_no);
        self.events.push(entry.event.as_str());
        self.cause_keys.push(cause_key(&step.cause));
        self.causes.push(step.cause);
        self.before.push(entry.before.as_millionths());
        self.delta.push(entry.delta);
        self.after.push(entry.after.as_millionths());
        self.policies.push(entry.policy_version);
        self.actions.push(action_code(entry.action));
        self.reasons.push(entry.reason.unwrap_or_default());
        self.counterparts
            .push(step.counterpart.map(AgentId::as_uuid));
        self.runs.push(step.run);
        self.occurred.push(step.occurred_at);
        self.recorded.push(step.recorded_at);
    }
}

/// Appends steps of agents that are locked.
pub(crate) async fn insert(
    conn: &mut PgConnection,
    steps: impl IntoIterator<Item = (Key, Step)>,
) -> Result<(), Error> {
    let mut c = Columns::default();
    for (key, step) in steps {
        c.push(key, step);
    }
    if c.seqs.is_empty() {
        return Ok(());
    }
    sqlx::query!(
        r#"
        INSERT INTO immune.ledger (
            workspace_id, agent_id, score, seq, row_no, event, cause_id, cause_key, before, delta, after,
            policy_version, action, reason, counterpart_id, run_id, occurred_at, recorded_at
        )
        SELECT * FROM unnest(
            $1::text[], $2::uuid[], $3::smallint[], $4::bigint[], $5::bigint[], $6::text[], $7::text[], $8::uuid[],
            $9::integer[], $10::integer[], $11::integer[], $12::bigint[], $13::smallint[], $14::text[], $15::uuid[],
            $16::text[], $17::timestamptz[], $18::timestamptz[]
        )
        "#,
        &c.workspaces,
        &c.agents,
        &c.scores,
        &c.seqs,
        &c.row_nos,
        &c.events as &[&str],
        &c.causes,
        &c.cause_keys,
        &c.before,
        &c.delta,
        &c.after,
        &c.policies,
        &c.actions,
        &c.reasons,
        &c.counterparts as &[Option<Uuid>],
        &c.runs,
        &c.occurred,
        &c.recorded,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// The newest steps with a sequence below `below`, given for trust, generosity and health; the newest first, at most so many.
pub(crate) async fn page(
    conn: &mut PgConnection,
    key: &Key,
    below: [i64; 3],
    most: i64,
) -> Result<Vec<Step>, Error> {
    let rows = sqlx::query!(
        r#"
        SELECT l.score, l.seq, l.row_no, l.event, l.cause_id, l.before, l.delta, l.after, l.policy_version, l.action,
               l.reason, l.counterpart_id, l.run_id, l.occurred_at, l.recorded_at
        FROM (VALUES (1::smallint, $3::bigint), (2::smallint, $4::bigint), (3::smallint, $5::bigint)) AS asked (score, below)
        CROSS JOIN LATERAL (
            SELECT * FROM immune.ledger l
            WHERE l.workspace_id = $1 AND l.agent_id = $2 AND l.score = asked.score AND l.seq < asked.below
            ORDER BY l.seq DESC
            LIMIT $6
        ) l
        ORDER BY l.row_no DESC
        LIMIT $6
        "#,
        key.workspace.as_str(),
        key.agent.as_uuid(),
        below[0],
        below[1],
        below[2],
        most,
    )
    .fetch_all(conn)
    .await?;
    rows.into_iter()
        .map(|row| {
            let event = Event::parse(&row.event)
                .ok_or_else(|| Error::broken("a ledger row", format!("event `{}`", row.event)))?;
            Ok(Step {
                row_no: row.row_no,
                entry: Entry {
                    kind: kind(row.score)?,
                    seq: row.seq,
                    event,
                    before: score(row.before)?,
                    delta: row.delta,
                    after: score(row.after)?,
                    policy_version: row.policy_version,
                    action: action(row.action)?,
                    reason: Some(row.reason).filter(|reason| !reason.is_empty()),
                },
                cause: row.cause_id,
                counterpart: row.counterpart_id.map(AgentId::from_uuid),
                run: row.run_id,
                occurred_at: row.occurred_at,
                recorded_at: row.recorded_at,
            })
        })
        .collect()
}

/// How the tasks of every agent of the workspace ended since then, each agent's in order.
pub(crate) async fn settlements(
    conn: &mut PgConnection,
    workspace: &str,
    since: DateTime<Utc>,
    most: i64,
) -> Result<Vec<(AgentId, Event, DateTime<Utc>)>, Error> {
    let rows = sqlx::query!(
        r#"
        SELECT l.agent_id, l.event, l.occurred_at
        FROM immune.standing s
        JOIN immune.ledger l ON l.workspace_id = s.workspace_id AND l.agent_id = s.agent_id AND l.score = 1
        WHERE s.workspace_id = $1 AND s.updated_at >= $2 AND l.occurred_at >= $2
          AND l.event IN ('task_succeeded', 'task_failed', 'invalid_output', 'lease_lost')
        ORDER BY l.agent_id, l.seq
        LIMIT $3
        "#,
        workspace,
        since,
        most,
    )
    .fetch_all(conn)
    .await?;
    rows.into_iter()
        .map(|row| {
            let event = Event::parse(&row.event)
                .ok_or_else(|| Error::broken("a ledger row", format!("event `{}`", row.event)))?;
            Ok((AgentId::from_uuid(row.agent_id), event, row.occurred_at))
        })
        .collect()
}

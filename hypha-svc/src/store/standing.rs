//! The copy of what immune says of agents, and of what genesis says of their leaving.

use std::collections::HashMap;

use cambium_kernel::{AgentId, LeaseId, Score};
use chrono::{DateTime, Utc};
use sqlx::PgConnection;
use uuid::Uuid;

use super::engine::TaskKey;

/// A word of immune's on how an agent stands.
#[derive(Clone, Debug)]
pub(crate) struct Word {
    pub(crate) agent: AgentId,
    /// An older one changes nothing.
    pub(crate) seq: i64,
    pub(crate) trust: Score,
    pub(crate) generosity: Score,
    pub(crate) health: Score,
    pub(crate) quarantined: bool,
    pub(crate) quarantine_until: Option<DateTime<Utc>>,
}

/// Notes the newest word on each agent.
pub(crate) async fn note(conn: &mut PgConnection, words: &[Word]) -> Result<(), sqlx::Error> {
    let mut newest: HashMap<AgentId, &Word> = HashMap::new();
    for word in words {
        let known = newest.entry(word.agent).or_insert(word);
        if word.seq > known.seq {
            *known = word;
        }
    }
    let mut words: Vec<&Word> = newest.into_values().collect();
    words.sort_unstable_by_key(|word| word.agent);
    sqlx::query!(
        r#"
        INSERT INTO hypha.standing AS s (agent_id, seq, trust, generosity, health, quarantined, quarantine_until)
        SELECT * FROM unnest($1::uuid[], $2::bigint[], $3::int[], $4::int[], $5::int[], $6::bool[], $7::timestamptz[])
        ON CONFLICT (agent_id) DO UPDATE
        SET seq = excluded.seq, trust = excluded.trust, generosity = excluded.generosity, health = excluded.health,
            quarantined = excluded.quarantined, quarantine_until = excluded.quarantine_until
        WHERE s.seq < excluded.seq
        "#,
        &column!(words, w => w.agent.as_uuid()),
        &column!(words, w => w.seq),
        &column!(words, w => w.trust.as_millionths()),
        &column!(words, w => w.generosity.as_millionths()),
        &column!(words, w => w.health.as_millionths()),
        &column!(words, w => w.quarantined),
        &column!(words, w => w.quarantine_until) as &[Option<DateTime<Utc>>],
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Notes how much of its slots an agent should use.
pub(crate) async fn advise(
    conn: &mut PgConnection,
    agent: AgentId,
    seq: i64,
    share: Score,
) -> Result<(), sqlx::Error> {
    sqlx::query!(
        r#"
        INSERT INTO hypha.standing AS s (agent_id, advice_seq, share) VALUES ($1, $2, $3)
        ON CONFLICT (agent_id) DO UPDATE SET advice_seq = excluded.advice_seq, share = excluded.share
        WHERE s.advice_seq < excluded.advice_seq
        "#,
        agent.as_uuid(),
        seq,
        share.as_millionths(),
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Notes that an agent leaves: 1 draining, 2 retired. Whoever has retired does not come back.
pub(crate) async fn leave(
    conn: &mut PgConnection,
    agent: AgentId,
    leaving: i16,
) -> Result<(), sqlx::Error> {
    sqlx::query!(
        r#"
        INSERT INTO hypha.standing AS s (agent_id, leaving) VALUES ($1, $2)
        ON CONFLICT (agent_id) DO UPDATE SET leaving = greatest(s.leaving, excluded.leaving)
        "#,
        agent.as_uuid(),
        leaving,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Tells every replica, once this commits, that somebody's place among the others has changed in more than a score.
pub(crate) async fn tell(conn: &mut PgConnection) -> Result<(), sqlx::Error> {
    sqlx::query!(r#"SELECT pg_notify('hypha_standing', '')::text AS told"#)
        .fetch_one(conn)
        .await?;
    Ok(())
}

/// How an agent stands, as far as it is known here.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    pub(crate) agent: AgentId,
    pub(crate) trust: Score,
    pub(crate) generosity: Score,
    pub(crate) health: Score,
    pub(crate) quarantined: bool,
    pub(crate) share: Score,
    pub(crate) leaving: i16,
}

/// Of these agents, those on whom there has been a word.
pub(crate) async fn of(conn: &mut PgConnection, agents: &[Uuid]) -> Result<Vec<Row>, sqlx::Error> {
    let rows = sqlx::query!(
        r#"
        SELECT agent_id, trust, generosity, health, quarantined, share, leaving
        FROM hypha.standing WHERE agent_id = ANY ($1)
        "#,
        agents,
    )
    .fetch_all(conn)
    .await?;
    // The table's check keeps them within bounds.
    let score = |millionths| Score::from_millionths(millionths).unwrap_or_default();
    let rows = rows.into_iter().map(|row| Row {
        agent: AgentId::from_uuid(row.agent_id),
        trust: score(row.trust),
        generosity: score(row.generosity),
        health: score(row.health),
        quarantined: row.quarantined,
        share: score(row.share),
        leaving: row.leaving,
    });
    Ok(rows.collect())
}

/// How many leases each agent holds that holds any.
pub(crate) async fn held(conn: &mut PgConnection) -> Result<HashMap<AgentId, u32>, sqlx::Error> {
    let rows = sqlx::query!(
        r#"SELECT agent_id AS "agent_id!", count(*) AS "held!" FROM hypha.hot WHERE state = 1 AND agent_id IS NOT NULL GROUP BY agent_id"#
    )
    .fetch_all(conn)
    .await?;
    let held = rows.into_iter().map(|row| {
        (
            AgentId::from_uuid(row.agent_id),
            u32::try_from(row.held).unwrap_or(u32::MAX),
        )
    });
    Ok(held.collect())
}

/// A lease that its holder should not have.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lease {
    pub(crate) task: TaskKey,
    pub(crate) epoch: i32,
    pub(crate) lease: LeaseId,
}

/// Leases of agents in quarantine and of retired ones.
pub(crate) async fn revocable(
    conn: &mut PgConnection,
    most: i64,
) -> Result<Vec<Lease>, sqlx::Error> {
    let rows = sqlx::query!(
        r#"
        SELECT h.run_id, h.n, h.i, h.epoch, h.lease_id AS "lease_id!"
        FROM hypha.hot h
        WHERE h.state = 1 AND h.lease_id IS NOT NULL
          AND h.agent_id IN (SELECT agent_id FROM hypha.standing WHERE quarantined OR leaving = 2)
        LIMIT $1
        "#,
        most,
    )
    .fetch_all(conn)
    .await?;
    let leases = rows.into_iter().map(|row| Lease {
        task: TaskKey::of_row(row.run_id, row.n, row.i),
        epoch: row.epoch,
        lease: LeaseId::from_uuid(row.lease_id),
    });
    Ok(leases.collect())
}

/// A draining agent that holds no lease, and whose workspace should be told.
#[derive(Clone, Debug)]
pub(crate) struct Drained {
    pub(crate) agent: AgentId,
    pub(crate) workspace: String,
    /// How many attempts of it were told as settled, in all.
    pub(crate) settled: i64,
}

/// Takes draining agents that hold nothing, once each. One that holds something is looked at again.
pub(crate) async fn take_drained(
    conn: &mut PgConnection,
    most: i64,
) -> Result<Vec<Drained>, sqlx::Error> {
    let rows = sqlx::query!(
        r#"
        UPDATE hypha.standing s SET drained = true
        FROM hypha.agent a
        WHERE a.agent_id = s.agent_id AND s.agent_id IN (
            SELECT agent_id FROM hypha.standing d WHERE d.leaving > 0 AND NOT d.drained
              AND NOT EXISTS (SELECT FROM hypha.hot h WHERE h.state = 1 AND h.agent_id = d.agent_id)
            ORDER BY agent_id LIMIT $1 FOR UPDATE SKIP LOCKED
        )
        RETURNING s.agent_id, a.workspace_id,
                  coalesce((SELECT sum(settled) FROM hypha.settled c WHERE c.agent_id = s.agent_id), 0)::bigint AS "settled!"
        "#,
        most,
    )
    .fetch_all(conn)
    .await?;
    let drained = rows.into_iter().map(|row| Drained {
        agent: AgentId::from_uuid(row.agent_id),
        workspace: row.workspace_id,
        settled: row.settled,
    });
    Ok(drained.collect())
}

/// Adds up what batches counted, so that few rows remain of each agent.
pub(crate) async fn add_up(conn: &mut PgConnection) -> Result<(), sqlx::Error> {
    sqlx::query!(
        r#"
        WITH gone AS (
            DELETE FROM hypha.settled WHERE ctid IN (SELECT ctid FROM hypha.settled LIMIT 10000 FOR UPDATE SKIP LOCKED)
            RETURNING agent_id, settled
        )
        INSERT INTO hypha.settled (agent_id, settled)
        SELECT agent_id, sum(settled)::bigint FROM gone GROUP BY agent_id
        "#
    )
    .execute(conn)
    .await?;
    Ok(())
}

//! Table `stigmergy.standing`: a copy of what immune thinks of agents.

use std::collections::{BTreeSet, HashMap};

use cambium_kernel::{AgentId, Score, WorkspaceId};
use chrono::{DateTime, Utc};
use sqlx::PgConnection;
use uuid::Uuid;

use crate::error::Error;

/// What is thought of an agent, as of the moment it was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Standing {
    pub(crate) trust: Score,
    pub(crate) generosity: Score,
    pub(crate) health: Score,
    pub(crate) is_quarantined: bool,
}

/// The agents of one workspace that something is known of.
#[derive(Clone, Debug, Default)]
pub(crate) struct Standings(pub(crate) HashMap<AgentId, Standing>);

/// What immune says of an agent.
#[derive(Clone, Debug)]
pub(crate) struct Change {
    pub(crate) workspace: String,
    pub(crate) agent: AgentId,
    pub(crate) seq: i64,
    pub(crate) standing: Standing,
    pub(crate) quarantine_ends_at: Option<DateTime<Utc>>,
}

impl Standings {
    pub(crate) fn of(&self, agent: AgentId) -> Option<Standing> {
        self.0.get(&agent).copied()
    }
}

/// Makes a standing of stored numbers.
pub(super) fn of_row(
    agent: AgentId,
    [trust, generosity, health]: [i32; 3],
    is_quarantined: bool,
) -> Result<Standing, Error> {
    let score = |millionths| {
        Score::from_millionths(millionths).map_err(|why| Error::Broken {
            what: format!("the standing of agent {agent}"),
            why: why.to_string(),
        })
    };
    Ok(Standing {
        trust: score(trust)?,
        generosity: score(generosity)?,
        health: score(health)?,
        is_quarantined,
    })
}

/// What is known of these agents. A quarantine whose time is over is none.
pub(crate) async fn of_agents(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    agents: &[Uuid],
) -> Result<Standings, Error> {
    let rows = sqlx::query!(
        r#"
        SELECT agent_id, trust, generosity, health,
               quarantined AND (quarantine_ends_at IS NULL OR quarantine_ends_at > (SELECT stigmergy.now()))
                   AS "is_quarantined!"
        FROM stigmergy.standing
        WHERE workspace_id = $1 AND agent_id = ANY ($2)
        "#,
        workspace.as_str(),
        agents,
    )
    .fetch_all(conn)
    .await?;
    let known = rows.into_iter().map(|row| {
        let agent = AgentId::from_uuid(row.agent_id);
        let scores = [row.trust, row.generosity, row.health];
        Ok((agent, of_row(agent, scores, row.is_quarantined)?))
    });
    known.collect::<Result<_, Error>>().map(Standings)
}

/// What is known of these agents, each of its workspace.
pub(crate) async fn of_pairs(
    conn: &mut PgConnection,
    pairs: &BTreeSet<(&WorkspaceId, AgentId)>,
) -> Result<Vec<(String, AgentId, Standing)>, Error> {
    let workspaces: Vec<&str> = pairs.iter().map(|(w, _)| w.as_str()).collect();
    let agents: Vec<Uuid> = pairs.iter().map(|(_, agent)| agent.as_uuid()).collect();
    let rows = sqlx::query!(
        r#"
        SELECT s.workspace_id, s.agent_id, s.trust, s.generosity, s.health,
               s.quarantined AND (s.quarantine_ends_at IS NULL OR s.quarantine_ends_at > (SELECT stigmergy.now()))
                   AS "is_quarantined!"
        FROM unnest($1::text[], $2::uuid[]) AS o (workspace_id, agent_id)
        JOIN stigmergy.standing s ON s.workspace_id = o.workspace_id AND s.agent_id = o.agent_id
        "#,
        &workspaces as _,
        &agents,
    )
    .fetch_all(conn)
    .await?;
    let known = rows.into_iter().map(|row| {
        let agent = AgentId::from_uuid(row.agent_id);
        let scores = [row.trust, row.generosity, row.health];
        let standing = of_row(agent, scores, row.is_quarantined)?;
        Ok((row.workspace_id, agent, standing))
    });
    known.collect()
}

/// Copies standings, one of an agent, unless a newer one is here already. In the order of their keys, so that two copies
/// wait for each other and never in a circle.
pub(crate) async fn upsert(conn: &mut PgConnection, changes: &[Change]) -> Result<(), Error> {
    if changes.is_empty() {
        return Ok(());
    }
    let workspaces: Vec<&str> = changes.iter().map(|c| c.workspace.as_str()).collect();
    let agents: Vec<Uuid> = changes.iter().map(|c| c.agent.as_uuid()).collect();
    let seqs: Vec<i64> = changes.iter().map(|c| c.seq).collect();
    let of = |score: fn(&Standing) -> Score| -> Vec<i32> {
        let scores = changes.iter().map(|c| score(&c.standing).as_millionths());
        scores.collect()
    };
    let quarantined: Vec<bool> = changes.iter().map(|c| c.standing.is_quarantined).collect();
    let ends: Vec<Option<DateTime<Utc>>> = changes.iter().map(|c| c.quarantine_ends_at).collect();
    sqlx::query!(
        r#"
        INSERT INTO stigmergy.standing AS s
            (workspace_id, agent_id, seq, trust, generosity, health, quarantined, quarantine_ends_at)
        SELECT *
        FROM unnest($1::text[], $2::uuid[], $3::bigint[], $4::int[], $5::int[], $6::int[], $7::bool[], $8::timestamptz[])
             AS n (workspace_id, agent_id, seq, trust, generosity, health, quarantined, quarantine_ends_at)
        ORDER BY n.workspace_id, n.agent_id
        ON CONFLICT ON CONSTRAINT standing_pk
        DO UPDATE SET seq = excluded.seq, trust = excluded.trust, generosity = excluded.generosity,
                      health = excluded.health, quarantined = excluded.quarantined,
                      quarantine_ends_at = excluded.quarantine_ends_at
        WHERE s.seq < excluded.seq
        "#,
        &workspaces as _,
        &agents,
        &seqs,
        &of(|standing| standing.trust),
        &of(|standing| standing.generosity),
        &of(|standing| standing.health),
        &quarantined,
        &ends as _,
    )
    .execute(conn)
    .await?;
    Ok(())
}

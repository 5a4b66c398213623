//! Table `genesis.pattern`: the patterns of records, and which of them wait for company.

use cambium_genesis::compost::Candidate;
use cambium_genesis::harvest::Found;
use cambium_genesis::{Pattern, PatternKind, TemplateName};
use cambium_kernel::{AgentId, Score, WorkspaceId};
use sqlx::PgConnection;
use uuid::Uuid;

use crate::error::Error;
use crate::store::compost::Compost;

/// What a pattern of a record is to its template.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    None,
    Waiting,
    Promoted,
    Withdrawn,
}

impl State {
    const fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Waiting => "waiting",
            Self::Promoted => "promoted",
            Self::Withdrawn => "withdrawn",
        }
    }

    fn parse(text: &str) -> Option<Self> {
        [Self::None, Self::Waiting, Self::Promoted, Self::Withdrawn]
            .into_iter()
            .find(|state| state.as_str() == text)
    }
}

/// A pattern as it stands in a record.
#[derive(Clone, Debug)]
pub(crate) struct Kept {
    pub(crate) agent: AgentId,
    pub(crate) found: Found,
    pub(crate) state: State,
}

/// Writes the patterns of a record, each with what it is to the template.
pub(crate) async fn insert(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    compost: &Compost,
    patterns: &[(Found, State)],
) -> Result<(), Error> {
    for (position, (found, state)) in (0_i16..).zip(patterns) {
        let normal = found.pattern.normal();
        sqlx::query!(
            r#"
            INSERT INTO genesis.pattern (
                workspace_id, agent_id, position, template, kind, pattern, normal, trigrams, size,
                is_evidence, times, candidate, root_id, success_rate, number
            )
            VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)
            "#,
            workspace.as_str(),
            compost.agent.as_uuid(),
            position,
            compost
                .origin
                .as_ref()
                .map(|origin| origin.template.as_str()),
            found.pattern.kind().as_str(),
            found.pattern.as_str(),
            normal.as_str(),
            &normal.codes(),
            normal.size(),
            found.is_evidence,
            i64::try_from(found.times).unwrap_or(i64::MAX),
            state.as_str(),
            compost.root.as_uuid(),
            compost.success.as_millionths(),
            compost.number,
        )
        .execute(&mut *conn)
        .await?;
    }
    Ok(())
}

/// Candidates of a template that may match a pattern: all that do, and some that do not. The first by when they came.
pub(crate) async fn alike(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    template: &TemplateName,
    pattern: &Pattern,
    threshold: Score,
    limit: i64,
) -> Result<Vec<Candidate>, Error> {
    let probe = pattern.normal().probe(threshold);
    let rows = sqlx::query!(
        r#"
        SELECT agent_id, root_id, success_rate, position, pattern, number
        FROM genesis.pattern
        WHERE workspace_id = $1 AND template = $2 AND kind = $3 AND candidate = 'waiting'
          AND ((trigrams && $4 AND size BETWEEN $5 AND $6)
               OR md5(normal) = md5($7)) -- texts without a trigram match only their like
        ORDER BY number, agent_id, position
        LIMIT $8
        "#,
        workspace.as_str(),
        template.as_str(),
        pattern.kind().as_str(),
        &probe.codes,
        probe.least,
        probe.most,
        pattern.normal().as_str(),
        limit,
    )
    .fetch_all(conn)
    .await?;
    let candidates = rows.into_iter().map(|row| {
        let success = Score::from_millionths(row.success_rate);
        Ok(Candidate {
            agent: AgentId::from_uuid(row.agent_id),
            lineage: AgentId::from_uuid(row.root_id),
            success: success.map_err(|why| Error::Broken {
                what: format!("a pattern of agent {}", row.agent_id),
                why: why.to_string(),
            })?,
            position: usize::try_from(row.position).unwrap_or_default(),
            pattern: Pattern::from_stored(pattern.kind(), row.pattern),
            compost: row.number,
        })
    });
    candidates.collect()
}

/// These wait no longer: a learning speaks for them.
pub(crate) async fn promote(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    candidates: &[Candidate],
) -> Result<(), Error> {
    let agents: Vec<Uuid> = candidates.iter().map(|one| one.agent.as_uuid()).collect();
    let places: Vec<String> = candidates
        .iter()
        .map(|one| format!("{}/{}", one.agent, one.position))
        .collect();
    sqlx::query!(
        r#"
        UPDATE genesis.pattern
        SET candidate = 'promoted'
        WHERE workspace_id = $1 AND agent_id = ANY($2) AND candidate = 'waiting'
          AND agent_id || '/' || position = ANY($3)
        "#,
        workspace.as_str(),
        &agents,
        &places,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// What these agents said waits no longer.
pub(crate) async fn withdraw(
    conn: &mut PgConnection,
    workspaces: &[String],
    agents: &[Uuid],
) -> Result<(), Error> {
    sqlx::query!(
        r#"
        UPDATE genesis.pattern
        SET candidate = 'withdrawn'
        WHERE workspace_id = ANY($1) AND agent_id = ANY($2) AND candidate = 'waiting'
        "#,
        workspaces,
        agents,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// The patterns of these records, each record's in its order.
pub(crate) async fn of(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    agents: &[Uuid],
) -> Result<Vec<Kept>, Error> {
    let rows = sqlx::query!(
        r#"
        SELECT agent_id, kind, pattern, is_evidence, times, candidate
        FROM genesis.pattern
        WHERE workspace_id = $1 AND agent_id = ANY($2)
        ORDER BY agent_id, position
        "#,
        workspace.as_str(),
        agents,
    )
    .fetch_all(conn)
    .await?;
    let kept = rows.into_iter().map(|row| {
        let broken = |why: String| Error::Broken {
            what: format!("a pattern of agent {}", row.agent_id),
            why,
        };
        let kind = PatternKind::parse(&row.kind);
        Ok(Kept {
            agent: AgentId::from_uuid(row.agent_id),
            found: Found {
                pattern: Pattern::from_stored(
                    kind.ok_or_else(|| broken(format!("kind `{}`", row.kind)))?,
                    row.pattern,
                ),
                is_evidence: row.is_evidence,
                times: u64::try_from(row.times).unwrap_or_default(),
            },
            state: State::parse(&row.candidate)
                .ok_or_else(|| broken(format!("state `{}`", row.candidate)))?,
        })
    });
    kept.collect()
}

//! Lists of standings, by one score.

use cambium_kernel::{Score, WorkspaceId};
use sqlx::PgConnection;
use uuid::Uuid;

use super::{Account, by_ids};
use crate::error::Error;
use crate::store::Key;

/// The score to sort by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sort {
    /// As it is now, idleness counted in.
    Trust,
    Generosity,
    Health,
}

/// Which of them; as `cambium_immune::Badge` has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Filter {
    All,
    Hoarding,
    Overextended,
    Quarantined,
    New,
}

impl Filter {
    const fn as_str(self) -> &'static str {
        match self {
            Self::All => "",
            Self::Hoarding => "hoarding",
            Self::Overextended => "overextended",
            Self::Quarantined => "quarantined",
            Self::New => "new",
        }
    }
}

impl Sort {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Trust => "trust",
            Self::Generosity => "generosity",
            Self::Health => "health",
        }
    }
}

/// The last one seen: its score, and its id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct After {
    pub(crate) score: i32,
    pub(crate) agent: Uuid,
}

/// At most `most` standings after `after`, by score, ties by id.
pub(crate) async fn list(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    (sort, is_ascending): (Sort, bool),
    (filter, hoarding_threshold): (Filter, Score),
    after: Option<After>,
    most: i64,
) -> Result<Vec<(i32, Key, Account)>, Error> {
    // Descending is ascending of the negative, so that one statement does both.
    let sign = if is_ascending { 1 } else { -1 };
    let rows = sqlx::query!(
        r#"
        SELECT s.agent_id AS "agent_id!", sorted.score AS "score!"
        FROM immune.standing s
        CROSS JOIN LATERAL (
            SELECT CASE $2
                WHEN 'trust' THEN immune.drifted(
                    s.trust, s.trust_start, s.trust_moved_at, least(s.closed_at, immune.now())
                )
                WHEN 'health' THEN s.health
                ELSE s.generosity
            END AS score
        ) sorted
        WHERE s.workspace_id = $1
          AND CASE $3
                WHEN 'hoarding' THEN s.generosity < $4
                WHEN 'overextended' THEN s.is_overextended
                WHEN 'quarantined' THEN s.quarantine_id IS NOT NULL
                WHEN 'new' THEN s.trust_seq + s.generosity_seq + s.health_seq < 5
                ELSE true
              END
          AND ($6::uuid IS NULL OR ($5 * sorted.score, s.agent_id) > ($5 * $7::integer, $6))
        ORDER BY $5 * sorted.score, s.agent_id
        LIMIT $8
        "#,
        workspace.as_str(),
        sort.as_str(),
        filter.as_str(),
        hoarding_threshold.as_millionths(),
        sign,
        after.map(|after| after.agent),
        after.map_or(0, |after| after.score),
        most,
    )
    .fetch_all(&mut *conn)
    .await?;
    let agents: Vec<Uuid> = rows.iter().map(|row| row.agent_id).collect();
    let mut accounts = by_ids(conn, workspace, &agents).await?;
    // Nothing is deleted, so each is there.
    Ok(rows
        .into_iter()
        .filter_map(|row| {
            let place = accounts
                .iter()
                .position(|(key, _)| key.agent.as_uuid() == row.agent_id)?;
            let (key, account) = accounts.swap_remove(place);
            Some((row.score, key, account))
        })
        .collect())
}

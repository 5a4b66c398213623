//! Table `genesis.learning`: what templates have learned, also what is gone.

use cambium_genesis::learning::Learning as Weighed;
use cambium_genesis::{LearningId, Pattern, PatternKind, TemplateName, matching};
use cambium_kernel::WorkspaceId;
use chrono::{DateTime, Utc};
use sqlx::PgConnection;
use uuid::Uuid;

use crate::error::Error;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    Active,
    Pruned,
    RolledBack,
}

impl State {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Pruned => "pruned",
            Self::RolledBack => "rolled_back",
        }
    }

    fn parse(text: &str) -> Option<Self> {
        [Self::Active, Self::Pruned, Self::RolledBack]
            .into_iter()
            .find(|state| state.as_str() == text)
    }
}

/// A learning and its history.
#[derive(Clone, Debug)]
pub(crate) struct Learning {
    pub(crate) weighed: Weighed,
    pub(crate) template: TemplateName,
    pub(crate) state: State,
    pub(crate) first_at: DateTime<Utc>,
    pub(crate) confirmed_at: DateTime<Utc>,
    pub(crate) removed_at: Option<DateTime<Utc>>,
    pub(crate) remove_reason: String,
    pub(crate) removed_by: String,
    pub(crate) is_flagged: bool,
}

#[derive(Debug)]
struct Row {
    learning_id: Uuid,
    template: String,
    kind: String,
    pattern: String,
    voices: i32,
    success_sum: i64,
    losses: i32,
    first_at: DateTime<Utc>,
    confirmed_at: DateTime<Utc>,
    confirmed_in: i64,
    state: String,
    removed_at: Option<DateTime<Utc>>,
    remove_reason: String,
    removed_by: String,
    is_flagged: bool,
}

impl TryFrom<Row> for Learning {
    type Error = Error;

    fn try_from(row: Row) -> Result<Self, Self::Error> {
        let broken = |why: String| Error::Broken {
            what: format!("learning {}", row.learning_id),
            why,
        };
        let kind = PatternKind::parse(&row.kind);
        let kind = kind.ok_or_else(|| broken(format!("kind `{}`", row.kind)))?;
        let count = |number: i32| u32::try_from(number).unwrap_or_default();
        Ok(Self {
            weighed: Weighed {
                id: LearningId::from_uuid(row.learning_id),
                pattern: Pattern::from_stored(kind, row.pattern),
                voices: count(row.voices),
                success_sum: u64::try_from(row.success_sum).unwrap_or_default(),
                losses: count(row.losses),
                confirmed_at: row.confirmed_in,
            },
            template: TemplateName::parse(&row.template).map_err(|why| broken(why.to_string()))?,
            state: State::parse(&row.state)
                .ok_or_else(|| broken(format!("state `{}`", row.state)))?,
            first_at: row.first_at,
            confirmed_at: row.confirmed_at,
            removed_at: row.removed_at,
            remove_reason: row.remove_reason,
            removed_by: row.removed_by,
            is_flagged: row.is_flagged,
        })
    }
}

pub(crate) async fn insert(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    learning: &Learning,
) -> Result<(), Error> {
    let weighed = &learning.weighed;
    sqlx::query!(
        r#"
        INSERT INTO genesis.learning (
            workspace_id, learning_id, template, kind, pattern, voices, success_sum, correlation,
            first_at, confirmed_at, confirmed_in, match_version, state
        )
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)
        "#,
        workspace.as_str(),
        weighed.id.as_uuid(),
        learning.template.as_str(),
        weighed.pattern.kind().as_str(),
        weighed.pattern.as_str(),
        i32::try_from(weighed.voices).unwrap_or(i32::MAX),
        i64::try_from(weighed.success_sum).unwrap_or(i64::MAX),
        weighed.correlation().as_millionths(),
        learning.first_at,
        learning.confirmed_at,
        weighed.confirmed_at,
        matching::VERSION,
        learning.state.as_str(),
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Writes down what has changed of a learning.
pub(crate) async fn update(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    learning: &Learning,
) -> Result<(), Error> {
    let weighed = &learning.weighed;
    sqlx::query!(
        r#"
        UPDATE genesis.learning
        SET voices = $3, success_sum = $4, losses = $5, correlation = $6, confirmed_at = $7,
            confirmed_in = $8, state = $9, removed_at = $10, remove_reason = $11, removed_by = $12
        WHERE workspace_id = $1 AND learning_id = $2
        "#,
        workspace.as_str(),
        weighed.id.as_uuid(),
        i32::try_from(weighed.voices).unwrap_or(i32::MAX),
        i64::try_from(weighed.success_sum).unwrap_or(i64::MAX),
        i32::try_from(weighed.losses).unwrap_or(i32::MAX),
        weighed.correlation().as_millionths(),
        learning.confirmed_at,
        weighed.confirmed_at,
        learning.state.as_str(),
        learning.removed_at,
        learning.remove_reason,
        learning.removed_by,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// What a template knows now, the most confirmed first.
pub(crate) async fn active(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    template: &TemplateName,
) -> Result<Vec<Learning>, Error> {
    list(conn, workspace, template, false, None, i64::MAX).await
}

/// At most `limit` learnings after a place in their order, the most confirmed first.
pub(crate) async fn list(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    template: &TemplateName,
    include_removed: bool,
    after: Option<(i32, LearningId)>,
    limit: i64,
) -> Result<Vec<Learning>, Error> {
    let rows = sqlx::query_as!(
        Row,
        r#"
        SELECT learning_id, template, kind, pattern, voices, success_sum, losses, first_at,
               confirmed_at, confirmed_in, state, removed_at, remove_reason, removed_by, is_flagged
        FROM genesis.learning
        WHERE workspace_id = $1 AND template = $2
          AND ($3 OR state = 'active')
          AND ($4::integer IS NULL OR (-voices, learning_id) > (-$4, $5::uuid))
        ORDER BY voices DESC, learning_id
        LIMIT $6
        "#,
        workspace.as_str(),
        template.as_str(),
        include_removed,
        after.map(|(voices, _)| voices),
        after.map(|(_, id)| id.as_uuid()),
        limit,
    )
    .fetch_all(conn)
    .await?;
    rows.into_iter().map(Learning::try_from).collect()
}

pub(crate) async fn find(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    id: LearningId,
) -> Result<Learning, Error> {
    let row = sqlx::query_as!(
        Row,
        r#"
        SELECT learning_id, template, kind, pattern, voices, success_sum, losses, first_at,
               confirmed_at, confirmed_in, state, removed_at, remove_reason, removed_by, is_flagged
        FROM genesis.learning
        WHERE workspace_id = $1 AND learning_id = $2
        "#,
        workspace.as_str(),
        id.as_uuid(),
    )
    .fetch_optional(conn)
    .await?;
    row.ok_or(Error::NoLearning(id))?.try_into()
}

/// How many learnings a template has.
pub(crate) async fn count(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    template: &TemplateName,
) -> Result<i64, Error> {
    let count = sqlx::query_scalar!(
        r#"
        SELECT count(*) AS "count!"
        FROM genesis.learning
        WHERE workspace_id = $1 AND template = $2 AND state = 'active'
        "#,
        workspace.as_str(),
        template.as_str(),
    );
    Ok(count.fetch_one(conn).await?)
}

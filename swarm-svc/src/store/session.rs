//! Table `swarm.operator_session`: an operator's own work with a mind.

use cambium_kernel::WorkspaceId;
use cambium_swarm::session::Session;
use cambium_swarm::{Instance, SessionId};
use chrono::{DateTime, Utc};
use sqlx::PgConnection;
use uuid::Uuid;

use crate::error::Error;
use crate::store;

/// A session, and who opened it.
#[derive(Clone, Debug)]
pub(crate) struct Kept {
    pub(crate) session: Session,
    /// As in `operator:ada`.
    pub(crate) opened_by: String,
}

struct Row {
    session_id: Uuid,
    instance: String,
    preempt: bool,
    opened_by: String,
    opened_at: DateTime<Utc>,
    until_at: DateTime<Utc>,
    closed_at: Option<DateTime<Utc>>,
}

impl TryFrom<Row> for Kept {
    type Error = Error;

    fn try_from(row: Row) -> Result<Self, Error> {
        let session = Session {
            id: SessionId::from_uuid(row.session_id),
            instance: store::instance(&row.instance)?,
            is_preempting: row.preempt,
            opened_at: row.opened_at,
            until: row.until_at,
            closed_at: row.closed_at,
        };
        Ok(Self {
            session,
            opened_by: row.opened_by,
        })
    }
}

/// Reads one, and keeps others from changing it, and what is written under it from being committed, until the transaction ends.
pub(crate) async fn lock(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    session: SessionId,
) -> Result<Option<Kept>, Error> {
    let row = sqlx::query_as!(
        Row,
        r#"
        SELECT session_id, instance, preempt, opened_by, opened_at, until_at, closed_at
        FROM swarm.operator_session
        WHERE workspace_id = $1 AND session_id = $2
        FOR UPDATE
        "#,
        workspace.as_str(),
        session.as_uuid(),
    );
    let row = row.fetch_optional(conn).await?;
    row.map(Kept::try_from).transpose()
}

/// Those that nobody closed, of one mind or of all, by mind. Some may have ended by themselves.
pub(crate) async fn unclosed(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    mind: Option<&Instance>,
) -> Result<Vec<Kept>, Error> {
    let rows = sqlx::query_as!(
        Row,
        r#"
        SELECT session_id, instance, preempt, opened_by, opened_at, until_at, closed_at
        FROM swarm.operator_session
        WHERE workspace_id = $1 AND closed_at IS NULL AND ($2::text IS NULL OR instance = $2)
        ORDER BY instance
        "#,
        workspace.as_str(),
        mind.map(Instance::as_str),
    );
    let rows = rows.fetch_all(conn).await?;
    rows.into_iter().map(Kept::try_from).collect()
}

pub(crate) async fn insert(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    kept: &Kept,
) -> Result<(), Error> {
    let session = &kept.session;
    let insert = sqlx::query!(
        r#"
        INSERT INTO swarm.operator_session
            (workspace_id, session_id, instance, preempt, opened_by, opened_at, until_at, closed_at)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
        "#,
        workspace.as_str(),
        session.id.as_uuid(),
        session.instance.as_str(),
        session.is_preempting,
        kept.opened_by,
        session.opened_at,
        session.until,
        session.closed_at,
    );
    insert.execute(conn).await?;
    Ok(())
}

/// Writes when it ends, or ended.
pub(crate) async fn update(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    session: &Session,
) -> Result<(), Error> {
    let update = sqlx::query!(
        r#"
        UPDATE swarm.operator_session
        SET until_at = $3, closed_at = $4
        WHERE workspace_id = $1 AND session_id = $2
        "#,
        workspace.as_str(),
        session.id.as_uuid(),
        session.until,
        session.closed_at,
    );
    update.execute(conn).await?;
    Ok(())
}

/// Whether a mind's session is open, which it stays until the transaction ends.
pub(crate) async fn fence(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    mind: &Instance,
    session: SessionId,
) -> Result<bool, Error> {
    let open = sqlx::query_scalar!(
        r#"
        SELECT until_at > swarm.now() AS "open!"
        FROM swarm.operator_session
        WHERE workspace_id = $1 AND session_id = $2 AND instance = $3 AND closed_at IS NULL
        FOR SHARE
        "#,
        workspace.as_str(),
        session.as_uuid(),
        mind.as_str(),
    );
    Ok(open.fetch_optional(conn).await?.unwrap_or(false))
}

/// Until when an open session keeps every mind from a new turn.
pub(crate) async fn preempted_until(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
) -> Result<Option<DateTime<Utc>>, Error> {
    let until = sqlx::query_scalar!(
        r#"
        SELECT max(until_at)
        FROM swarm.operator_session
        WHERE workspace_id = $1 AND closed_at IS NULL AND preempt
        "#,
        workspace.as_str(),
    );
    Ok(until.fetch_one(conn).await?)
}

/// The mind whose session it is, while it is open.
pub(crate) async fn open_mind(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    session: SessionId,
) -> Result<Option<Instance>, Error> {
    let name = sqlx::query_scalar!(
        r#"
        SELECT instance
        FROM swarm.operator_session
        WHERE workspace_id = $1 AND session_id = $2 AND closed_at IS NULL AND until_at > swarm.now()
        "#,
        workspace.as_str(),
        session.as_uuid(),
    );
    let name = name.fetch_optional(conn).await?;
    name.map(|name| crate::store::instance(&name)).transpose()
}

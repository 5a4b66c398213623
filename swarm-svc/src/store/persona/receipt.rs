//! Receipts: who put which version, and what came of it. One a version, written with it.

use cambium_kernel::WorkspaceId;
use cambium_swarm::persona::Persona;
use cambium_swarm::{Instance, SessionId, TurnId};
use chrono::{DateTime, Utc};
use serde_json::Value;
use sqlx::PgConnection;
use uuid::Uuid;

use crate::error::Error;

/// A version to be stored, and by whose hand.
#[derive(Clone, Debug)]
pub(crate) struct New<'a> {
    pub(crate) persona: &'a Persona,
    pub(crate) version: i32,
    /// As in `mind:eureka`.
    pub(crate) author: &'a str,
    pub(crate) faculty: &'a str,
    pub(crate) agent: &'a str,
    pub(crate) session: &'a str,
    pub(crate) tool: &'a str,
    pub(crate) fences: (Option<TurnId>, Option<SessionId>),
    pub(crate) is_identity_changed: bool,
    pub(crate) import_report: Option<Value>,
}

impl<'a> New<'a> {
    /// The first version, by an operator's word.
    pub(crate) const fn first(persona: &'a Persona, faculty: &'a str, author: &'a str) -> Self {
        Self {
            persona,
            version: 1,
            author,
            faculty,
            agent: "",
            session: "",
            tool: "",
            fences: (None, None),
            is_identity_changed: true,
            import_report: None,
        }
    }
}

/// Stores a version and its receipt, whose id it returns.
pub(crate) async fn insert(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    mind: &Instance,
    new: &New<'_>,
) -> Result<Uuid, Error> {
    let receipt = Uuid::now_v7();
    let version = sqlx::query!(
        r#"
        INSERT INTO swarm.persona_version (workspace_id, instance, version, value, value_sha256, updated_at, receipt_id)
        VALUES ($1, $2, $3, $4, $5, $6, $7)
        "#,
        workspace.as_str(),
        mind.as_str(),
        new.version,
        new.persona.value(),
        new.persona.sha256(),
        new.persona.updated_at(),
        receipt,
    );
    version.execute(&mut *conn).await?;
    let (turn, session) = new.fences;
    let insert = sqlx::query!(
        r#"
        INSERT INTO swarm.persona_receipt
            (workspace_id, id, instance, version, author, faculty, agent, session, tool, turn_id, session_id,
             identity_changed, import_report, committed_at)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, swarm.now())
        "#,
        workspace.as_str(),
        receipt,
        mind.as_str(),
        new.version,
        new.author,
        new.faculty,
        new.agent,
        new.session,
        new.tool,
        turn.map(TurnId::as_uuid),
        session.map(SessionId::as_uuid),
        new.is_identity_changed,
        new.import_report,
    );
    insert.execute(conn).await?;
    Ok(receipt)
}

/// A receipt, with what it is of.
#[derive(Clone, Debug)]
pub(crate) struct Receipt {
    pub(crate) id: Uuid,
    pub(crate) version: i32,
    pub(crate) updated_at: DateTime<Utc>,
    pub(crate) value_sha256: String,
    pub(crate) author: String,
    pub(crate) faculty: String,
    pub(crate) agent: String,
    pub(crate) session: String,
    pub(crate) tool: String,
    pub(crate) turn_id: Option<Uuid>,
    pub(crate) session_id: Option<Uuid>,
    pub(crate) identity_changed: bool,
    pub(crate) import_report: Option<Value>,
    pub(crate) committed_at: DateTime<Utc>,
}

/// Newest first, those below a version if one is given.
pub(crate) async fn list(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    mind: &Instance,
    below: Option<i64>,
    limit: i64,
) -> Result<Vec<Receipt>, Error> {
    let rows = sqlx::query_as!(
        Receipt,
        r#"
        SELECT
            r.id, r.version, v.updated_at, v.value_sha256, r.author, r.faculty, r.agent, r.session, r.tool,
            r.turn_id, r.session_id, r.identity_changed, r.import_report, r.committed_at
        FROM swarm.persona_receipt r
        JOIN swarm.persona_version v
            ON v.workspace_id = r.workspace_id AND v.instance = r.instance AND v.version = r.version
        WHERE r.workspace_id = $1 AND r.instance = $2 AND ($3::bigint IS NULL OR r.version < $3)
        ORDER BY r.version DESC
        LIMIT $4
        "#,
        workspace.as_str(),
        mind.as_str(),
        below,
        limit,
    );
    Ok(rows.fetch_all(conn).await?)
}

/// What the import of a mind's first version did, if it was one.
pub(crate) async fn import_report(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    mind: &Instance,
) -> Result<Option<Value>, Error> {
    let report = sqlx::query_scalar!(
        r#"
        SELECT import_report
        FROM swarm.persona_receipt
        WHERE workspace_id = $1 AND instance = $2 AND version = 1
        "#,
        workspace.as_str(),
        mind.as_str(),
    );
    Ok(report.fetch_optional(conn).await?.flatten())
}

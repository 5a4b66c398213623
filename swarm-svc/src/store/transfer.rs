//! All that is kept of a mind and goes with it to another host, as it is stored; and the same, written as it was.

use cambium_kernel::WorkspaceId;
use cambium_swarm::Instance;
use cambium_swarm::record::Document;
use chrono::{DateTime, NaiveDate, Utc};
use serde_json::Value;
use sqlx::PgConnection;
use uuid::Uuid;

use crate::error::Error;
use crate::store::persona::Receipt;

/// A document, as it is stored.
#[derive(Clone, Debug)]
pub(crate) struct Written {
    pub(crate) id: String,
    pub(crate) kind: String,
    pub(crate) payload: Value,
    pub(crate) payload_sha256: String,
    pub(crate) seq: i64,
    pub(crate) author: String,
    pub(crate) turn_id: Option<Uuid>,
    pub(crate) session_id: Option<Uuid>,
    pub(crate) written_at: DateTime<Utc>,
}

/// A version of a persona, as it is stored.
#[derive(Clone, Debug)]
pub(crate) struct Version {
    pub(crate) version: i32,
    pub(crate) value: Value,
    pub(crate) value_sha256: String,
    pub(crate) updated_at: DateTime<Utc>,
    pub(crate) receipt_id: Uuid,
}

/// A review's date.
#[derive(Clone, Debug)]
pub(crate) struct Dated {
    pub(crate) ruling_id: String,
    pub(crate) review_on: NaiveDate,
    pub(crate) cause: String,
}

/// A mind's documents, in the order in which they were written.
pub(crate) async fn documents(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    mind: &Instance,
) -> Result<Vec<Written>, Error> {
    let rows = sqlx::query_as!(
        Written,
        r#"
        SELECT id, kind, payload, payload_sha256, seq, author, turn_id, session_id, written_at
        FROM swarm.document
        WHERE workspace_id = $1 AND holder = $2
        ORDER BY seq
        "#,
        workspace.as_str(),
        mind.as_str(),
    );
    Ok(rows.fetch_all(conn).await?)
}

/// The versions of its persona, the first one first.
pub(crate) async fn versions(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    mind: &Instance,
) -> Result<Vec<Version>, Error> {
    let rows = sqlx::query_as!(
        Version,
        r#"
        SELECT version, value, value_sha256, updated_at, receipt_id
        FROM swarm.persona_version
        WHERE workspace_id = $1 AND instance = $2
        ORDER BY version
        "#,
        workspace.as_str(),
        mind.as_str(),
    );
    Ok(rows.fetch_all(conn).await?)
}

/// The dates of its rulings, whether or not they are in force.
pub(crate) async fn reviews(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    mind: &Instance,
) -> Result<Vec<Dated>, Error> {
    let rows = sqlx::query_as!(
        Dated,
        r#"
        SELECT ruling_id, review_on, cause
        FROM swarm.review
        WHERE workspace_id = $1 AND holder = $2
        ORDER BY ruling_id
        "#,
        workspace.as_str(),
        mind.as_str(),
    );
    Ok(rows.fetch_all(conn).await?)
}

/// Which of these areas somebody here looks after.
pub(crate) async fn taken_area(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    areas: &[String],
) -> Result<Option<String>, Error> {
    let taken = sqlx::query_scalar!(
        "SELECT area FROM swarm.steward WHERE workspace_id = $1 AND area = ANY($2) ORDER BY area LIMIT 1",
        workspace.as_str(),
        areas,
    );
    Ok(taken.fetch_optional(conn).await?)
}

/// Writes documents with the numbers that they had; the record goes on after the last.
pub(crate) async fn insert_documents(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    mind: &Instance,
    documents: &[Written],
) -> Result<(), Error> {
    for document in documents {
        let insert = sqlx::query!(
            r#"
            INSERT INTO swarm.document
                (workspace_id, holder, id, kind, payload, payload_sha256, seq, author, turn_id, session_id, written_at)
            VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
            "#,
            workspace.as_str(),
            mind.as_str(),
            document.id,
            document.kind,
            document.payload,
            document.payload_sha256,
            document.seq,
            document.author,
            document.turn_id,
            document.session_id,
            document.written_at,
        );
        insert.execute(&mut *conn).await?;
    }
    let last = documents.last().map_or(0, |document| document.seq);
    let head = sqlx::query!(
        r#"
        INSERT INTO swarm.log_head (workspace_id, log, seq)
        VALUES ($1, 'record:' || $2, $3)
        ON CONFLICT (workspace_id, log) DO UPDATE SET seq = excluded.seq
        "#,
        workspace.as_str(),
        mind.as_str(),
        last,
    );
    head.execute(conn).await?;
    Ok(())
}

/// Writes what they cite, and who looks after the areas of those in force.
pub(crate) async fn insert_relations(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    documents: &[Document],
    stewardships: &[&Document],
) -> Result<(), Error> {
    for document in documents {
        crate::store::citation::insert(conn, workspace, document).await?;
    }
    for stewardship in stewardships {
        let area = stewardship.text("area");
        crate::store::steward::put(conn, workspace, area, Some(stewardship)).await?;
    }
    Ok(())
}

pub(crate) async fn insert_personas(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    mind: &Instance,
    versions: &[Version],
    receipts: &[Receipt],
) -> Result<(), Error> {
    for version in versions {
        let insert = sqlx::query!(
            r#"
            INSERT INTO swarm.persona_version
                (workspace_id, instance, version, value, value_sha256, updated_at, receipt_id)
            VALUES ($1, $2, $3, $4, $5, $6, $7)
            "#,
            workspace.as_str(),
            mind.as_str(),
            version.version,
            version.value,
            version.value_sha256,
            version.updated_at,
            version.receipt_id,
        );
        insert.execute(&mut *conn).await?;
    }
    for receipt in receipts {
        insert_receipt(conn, workspace, mind, receipt).await?;
    }
    Ok(())
}

async fn insert_receipt(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    mind: &Instance,
    receipt: &Receipt,
) -> Result<(), Error> {
    let insert = sqlx::query!(
        r#"
        INSERT INTO swarm.persona_receipt
            (workspace_id, id, instance, version, author, faculty, agent, session, tool, turn_id, session_id,
             identity_changed, import_report, committed_at)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)
        "#,
        workspace.as_str(),
        receipt.id,
        mind.as_str(),
        receipt.version,
        receipt.author,
        receipt.faculty,
        receipt.agent,
        receipt.session,
        receipt.tool,
        receipt.turn_id,
        receipt.session_id,
        receipt.identity_changed,
        receipt.import_report,
        receipt.committed_at,
    );
    insert.execute(conn).await?;
    Ok(())
}

pub(crate) async fn insert_reviews(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    mind: &Instance,
    reviews: &[Dated],
) -> Result<(), Error> {
    for review in reviews {
        let insert = sqlx::query!(
            r#"
            INSERT INTO swarm.review (workspace_id, ruling_id, holder, review_on, cause)
            VALUES ($1, $2, $3, $4, $5)
            "#,
            workspace.as_str(),
            review.ruling_id,
            mind.as_str(),
            review.review_on,
            review.cause,
        );
        insert.execute(&mut *conn).await?;
    }
    Ok(())
}

//! Documents as they are shown: as stored, whether or not they still are what their digest says.

use cambium_kernel::WorkspaceId;
use cambium_service_kit::page::{Cursor, Page};
use cambium_swarm::record::{Document, Kind};
use chrono::{DateTime, NaiveDate, Utc};
use serde_json::Value;
use sqlx::PgConnection;
use uuid::Uuid;

use crate::error::Error;

/// A document, with what is known about it.
#[derive(Clone, Debug)]
pub(crate) struct Stored {
    pub(crate) holder: String,
    pub(crate) id: String,
    pub(crate) kind: Kind,
    pub(crate) payload: Value,
    pub(crate) payload_sha256: String,
    pub(crate) seq: i64,
    pub(crate) author: String,
    pub(crate) turn: Option<Uuid>,
    pub(crate) session: Option<Uuid>,
    pub(crate) written_at: DateTime<Utc>,
    pub(crate) is_in_force: bool,
    pub(crate) review_on: Option<NaiveDate>,
}

impl Stored {
    /// As the rules know it.
    pub(crate) fn document(&self) -> Result<Document, Error> {
        super::document(
            &self.holder,
            &self.id,
            self.kind.as_str(),
            self.payload.clone(),
        )
    }
}

#[derive(Debug)]
struct Row {
    holder: String,
    id: String,
    kind: String,
    payload: Value,
    payload_sha256: String,
    seq: i64,
    author: String,
    turn_id: Option<Uuid>,
    session_id: Option<Uuid>,
    written_at: DateTime<Utc>,
    in_force: bool,
    review_on: Option<NaiveDate>,
}

impl TryFrom<Row> for Stored {
    type Error = Error;

    fn try_from(row: Row) -> Result<Self, Error> {
        let kind = Kind::parse(&row.kind)
            .map_err(|why| Error::broken(format!("document `{}`", row.id), why))?;
        Ok(Self {
            kind,
            holder: row.holder,
            id: row.id,
            payload: row.payload,
            payload_sha256: row.payload_sha256,
            seq: row.seq,
            author: row.author,
            turn: row.turn_id,
            session: row.session_id,
            written_at: row.written_at,
            is_in_force: row.in_force,
            review_on: row.review_on,
        })
    }
}

pub(crate) async fn find(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    holder: &str,
    id: &str,
) -> Result<Option<Stored>, Error> {
    let row = sqlx::query_as!(
        Row,
        r#"
        SELECT
            d.holder, d.id, d.kind, d.payload, d.payload_sha256, d.seq, d.author, d.turn_id, d.session_id, d.written_at,
            EXISTS (
                SELECT FROM swarm.document_in_force f WHERE f.workspace_id = d.workspace_id AND f.id = d.id
            ) AS "in_force!",
            r.review_on AS "review_on?"
        FROM swarm.document d
        LEFT JOIN swarm.review r ON r.workspace_id = d.workspace_id AND r.ruling_id = d.id
        WHERE d.workspace_id = $1 AND d.holder = $2 AND d.id = $3
        "#,
        workspace.as_str(),
        holder,
        id,
    );
    row.fetch_optional(conn)
        .await?
        .map(Stored::try_from)
        .transpose()
}

/// Which documents are listed.
#[derive(Clone, Debug)]
pub(crate) struct Filter {
    pub(crate) holder: Option<String>,
    pub(crate) kind: Option<Kind>,
    pub(crate) in_force_only: bool,
}

/// A document's place in a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) at: DateTime<Utc>,
    pub(crate) id: String,
}

impl Cursor for Place {
    fn as_text(&self) -> String {
        format!("{} {}", self.at.timestamp_micros(), self.id)
    }

    fn parse(text: &str) -> Option<Self> {
        let (micros, id) = text.split_once(' ')?;
        let at = DateTime::from_timestamp_micros(micros.parse().ok()?)?;
        // The database takes no such text.
        let id = Some(id.to_owned()).filter(|id| !id.contains('\0'))?;
        Some(Self { at, id })
    }
}

/// The newest first; one more than the page holds, if there are.
pub(crate) async fn list(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    filter: &Filter,
    page: &Page<Place>,
) -> Result<Vec<Stored>, Error> {
    let after = page.after.as_ref();
    let rows = sqlx::query_as!(
        Row,
        r#"
        SELECT
            d.holder, d.id, d.kind, d.payload, d.payload_sha256, d.seq, d.author, d.turn_id, d.session_id, d.written_at,
            EXISTS (
                SELECT FROM swarm.document_in_force f WHERE f.workspace_id = d.workspace_id AND f.id = d.id
            ) AS "in_force!",
            r.review_on AS "review_on?"
        FROM swarm.document d
        LEFT JOIN swarm.review r ON r.workspace_id = d.workspace_id AND r.ruling_id = d.id
        WHERE d.workspace_id = $1
          AND ($2::text IS NULL OR d.holder = $2)
          AND ($3::text IS NULL OR d.kind = $3)
          AND (NOT $4::boolean OR EXISTS (
              SELECT FROM swarm.document_in_force f WHERE f.workspace_id = d.workspace_id AND f.id = d.id
          ))
          AND ($5::timestamptz IS NULL OR (d.written_at, d.id) < ($5, $6))
        ORDER BY d.written_at DESC, d.id DESC
        LIMIT $7
        "#,
        workspace.as_str(),
        filter.holder,
        filter.kind.map(Kind::as_str),
        filter.in_force_only,
        after.map(|place| place.at),
        after.map_or("", |place| place.id.as_str()),
        page.size + 1,
    );
    let rows = rows.fetch_all(conn).await?;
    rows.into_iter().map(Stored::try_from).collect()
}

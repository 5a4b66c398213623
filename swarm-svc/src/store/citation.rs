//! Table `swarm.foreign_ref`: what documents cite, taken out of them, and what stands there now.

use cambium_kernel::WorkspaceId;
use cambium_service_kit::page::{Cursor, Page};
use cambium_swarm::record::{Document, ForeignRef, Kind};
use serde_json::Value;
use sqlx::PgConnection;

use crate::error::Error;
use crate::store;

/// A citation, with what is found under its id.
#[derive(Clone, Debug)]
pub(crate) struct Cited {
    pub(crate) holder: String,
    pub(crate) document_id: String,
    pub(crate) n: i32,
    pub(crate) cited: ForeignRef,
    pub(crate) found: Option<(Kind, Value)>,
    /// The mind cited has gone to another host.
    pub(crate) has_moved: bool,
}

#[derive(Debug)]
struct Row {
    holder: String,
    document_id: String,
    n: i32,
    instance: String,
    kind: String,
    id: String,
    payload_sha256: String,
    found_kind: Option<String>,
    found: Option<Value>,
    has_moved: bool,
}

impl TryFrom<Row> for Cited {
    type Error = Error;

    fn try_from(row: Row) -> Result<Self, Error> {
        let broken = |why| Error::broken(format!("a citation of `{}`", row.document_id), why);
        let kind = |text: &str| Kind::parse(text).map_err(broken);
        let found = row.found_kind.zip(row.found);
        Ok(Self {
            found: found
                .map(|(word, payload)| Ok::<_, Error>((kind(&word)?, payload)))
                .transpose()?,
            cited: ForeignRef {
                instance: store::instance(&row.instance)?,
                kind: kind(&row.kind)?,
                id: row.id,
                payload_sha256: row.payload_sha256,
            },
            holder: row.holder,
            document_id: row.document_id,
            n: row.n,
            has_moved: row.has_moved,
        })
    }
}

/// Takes out of a document what it cites.
pub(crate) async fn insert(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    document: &Document,
) -> Result<(), Error> {
    for (n, cited) in (0_i32..).zip(document.refs()) {
        let insert = sqlx::query!(
            r#"
            INSERT INTO swarm.foreign_ref
                (workspace_id, holder, document_id, n, instance, kind, id, payload_sha256)
            VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
            "#,
            workspace.as_str(),
            document.holder().as_str(),
            document.id(),
            n,
            cited.instance.as_str(),
            cited.kind.as_str(),
            cited.id,
            cited.payload_sha256,
        );
        insert.execute(&mut *conn).await?;
    }
    Ok(())
}

/// What these documents cite, in order.
pub(crate) async fn of(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    documents: &[String],
) -> Result<Vec<Cited>, Error> {
    let rows = sqlx::query_as!(
        Row,
        r#"
        SELECT
            r.holder, r.document_id, r.n, r.instance, r.kind, r.id, r.payload_sha256,
            d.kind AS "found_kind?", d.payload AS "found?", coalesce(m.state = 'moved', false) AS "has_moved!"
        FROM swarm.foreign_ref r
        LEFT JOIN swarm.document d ON d.workspace_id = r.workspace_id AND d.id = r.id AND d.holder = r.instance
        LEFT JOIN swarm.mind m ON m.workspace_id = r.workspace_id AND m.instance = r.instance
        WHERE r.workspace_id = $1 AND r.document_id = ANY($2)
        ORDER BY r.document_id, r.n
        "#,
        workspace.as_str(),
        documents,
    );
    let rows = rows.fetch_all(conn).await?;
    rows.into_iter().map(Cited::try_from).collect()
}

/// A citation's place in a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) document_id: String,
    pub(crate) n: i32,
}

impl Cursor for Place {
    fn as_text(&self) -> String {
        format!("{} {}", self.n, self.document_id)
    }

    fn parse(text: &str) -> Option<Self> {
        let (n, id) = text.split_once(' ')?;
        let document_id = Some(id.to_owned()).filter(|id| !id.contains('\0'))?;
        Some(Self {
            document_id,
            n: n.parse().ok()?,
        })
    }
}

/// What documents in force cite, of one mind or of all; one more than the page holds, if there are.
pub(crate) async fn list(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    holder: Option<&str>,
    page: &Page<Place>,
) -> Result<Vec<Cited>, Error> {
    let after = page.after.as_ref();
    let rows = sqlx::query_as!(
        Row,
        r#"
        SELECT
            r.holder, r.document_id, r.n, r.instance, r.kind, r.id, r.payload_sha256,
            d.kind AS "found_kind?", d.payload AS "found?", coalesce(m.state = 'moved', false) AS "has_moved!"
        FROM swarm.foreign_ref r
        JOIN swarm.document_in_force f ON f.workspace_id = r.workspace_id AND f.id = r.document_id
        LEFT JOIN swarm.document d ON d.workspace_id = r.workspace_id AND d.id = r.id AND d.holder = r.instance
        LEFT JOIN swarm.mind m ON m.workspace_id = r.workspace_id AND m.instance = r.instance
        WHERE r.workspace_id = $1
          AND ($2::text IS NULL OR r.holder = $2)
          AND ($3::text IS NULL OR (r.document_id, r.n) > ($3, $4))
        ORDER BY r.document_id, r.n
        LIMIT $5
        "#,
        workspace.as_str(),
        holder,
        after.map(|place| place.document_id.as_str()),
        after.map_or(0, |place| place.n),
        page.size + 1,
    );
    let rows = rows.fetch_all(conn).await?;
    rows.into_iter().map(Cited::try_from).collect()
}

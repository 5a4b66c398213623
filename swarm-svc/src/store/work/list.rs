//! Work in lists, the oldest first.

use cambium_kernel::WorkspaceId;
use cambium_service_kit::page::{Cursor, Page};
use sqlx::PgConnection;
use uuid::Uuid;

use super::{Item, Row};
use crate::error::Error;

/// Which work is listed.
#[derive(Clone, Debug)]
pub(crate) struct Filter {
    pub(crate) holder: Option<String>,
    pub(crate) state: Option<&'static str>,
}

/// A piece of work's place in a list: ids sort by the time of submission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place(pub(crate) Uuid);

impl Cursor for Place {
    fn as_text(&self) -> String {
        self.0.to_string()
    }

    fn parse(text: &str) -> Option<Self> {
        Uuid::try_parse(text).ok().map(Self)
    }
}

/// One more than the page holds, if there are.
pub(crate) async fn list(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    filter: &Filter,
    page: &Page<Place>,
) -> Result<Vec<Item>, Error> {
    let rows = sqlx::query_as!(
        Row,
        r#"
        SELECT
            work_id, title, body, refs, addressed, holder, state, submitted_by, submitted_at, returned_by,
            returned_by_lead, done_ref, offered_to, offer_id, offered_at
        FROM swarm.work
        WHERE workspace_id = $1
          AND ($2::text IS NULL OR holder = $2)
          AND ($3::text IS NULL OR state = $3)
          AND ($4::uuid IS NULL OR work_id > $4)
        ORDER BY work_id
        LIMIT $5
        "#,
        workspace.as_str(),
        filter.holder,
        filter.state,
        page.after.map(|place| place.0),
        page.size + 1,
    );
    let rows = rows.fetch_all(conn).await?;
    rows.into_iter().map(Item::try_from).collect()
}

/// What a mind holds, the oldest first.
pub(crate) async fn oldest_held(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    holder: &str,
    limit: i64,
) -> Result<Vec<Item>, Error> {
    let rows = sqlx::query_as!(
        Row,
        r#"
        SELECT
            work_id, title, body, refs, addressed, holder, state, submitted_by, submitted_at, returned_by,
            returned_by_lead, done_ref, offered_to, offer_id, offered_at
        FROM swarm.work
        WHERE workspace_id = $1 AND holder = $2
        ORDER BY work_id
        LIMIT $3
        "#,
        workspace.as_str(),
        holder,
        limit,
    );
    let rows = rows.fetch_all(conn).await?;
    rows.into_iter().map(Item::try_from).collect()
}

pub(crate) async fn held_count(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    holder: &str,
) -> Result<i64, Error> {
    let count = sqlx::query_scalar!(
        r#"SELECT count(*) AS "count!" FROM swarm.work WHERE workspace_id = $1 AND holder = $2"#,
        workspace.as_str(),
        holder,
    );
    Ok(count.fetch_one(conn).await?)
}

//! Table `swarm.review`: when a ruling is looked at again. A date never moves.

use cambium_kernel::WorkspaceId;
use cambium_service_kit::page::{Cursor, Page};
use cambium_swarm::record::Document;
use cambium_swarm::review::Cause;
use chrono::NaiveDate;
use sqlx::PgConnection;

use crate::error::Error;

/// A date, with the ruling that it is of.
#[derive(Clone, Debug)]
pub(crate) struct Review {
    pub(crate) holder: String,
    pub(crate) ruling_id: String,
    pub(crate) review_on: NaiveDate,
    pub(crate) cause: String,
    pub(crate) title: String,
}

pub(crate) async fn insert(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    ruling: &Document,
    review_on: NaiveDate,
    cause: Cause,
) -> Result<(), Error> {
    let insert = sqlx::query!(
        r#"
        INSERT INTO swarm.review (workspace_id, ruling_id, holder, review_on, cause)
        VALUES ($1, $2, $3, $4, $5)
        "#,
        workspace.as_str(),
        ruling.id(),
        ruling.holder().as_str(),
        review_on,
        cause.as_str(),
    );
    insert.execute(conn).await?;
    Ok(())
}

/// A review's place in a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) review_on: NaiveDate,
    pub(crate) ruling_id: String,
}

impl Cursor for Place {
    fn as_text(&self) -> String {
        format!("{} {}", self.review_on, self.ruling_id)
    }

    fn parse(text: &str) -> Option<Self> {
        let (date, id) = text.split_once(' ')?;
        let ruling_id = Some(id.to_owned()).filter(|id| !id.contains('\0'))?;
        Some(Self {
            review_on: date.parse().ok()?,
            ruling_id,
        })
    }
}

/// Whose reviews are listed, and before which day: rulings in force alone are looked at again.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Filter<'a> {
    pub(crate) holder: Option<&'a str>,
    pub(crate) before: Option<NaiveDate>,
}

/// By date; at most so many.
pub(crate) async fn list(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    filter: Filter<'_>,
    page: &Page<Place>,
) -> Result<Vec<Review>, Error> {
    let after = page.after.as_ref();
    some(conn, workspace, filter, after, page.size + 1).await
}

/// As [`list`], from the start.
pub(crate) async fn first(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    filter: Filter<'_>,
    limit: i64,
) -> Result<Vec<Review>, Error> {
    some(conn, workspace, filter, None, limit).await
}

async fn some(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    filter: Filter<'_>,
    after: Option<&Place>,
    limit: i64,
) -> Result<Vec<Review>, Error> {
    let rows = sqlx::query_as!(
        Review,
        r#"
        SELECT
            r.holder, r.ruling_id, r.review_on, r.cause,
            coalesce(d.payload ->> 'title', '') AS "title!"
        FROM swarm.review r
        JOIN swarm.document_in_force d ON d.workspace_id = r.workspace_id AND d.id = r.ruling_id
        WHERE r.workspace_id = $1
          AND ($2::text IS NULL OR r.holder = $2)
          AND ($3::date IS NULL OR r.review_on < $3)
          AND ($4::date IS NULL OR (r.review_on, r.ruling_id) > ($4, $5))
        ORDER BY r.review_on, r.ruling_id
        LIMIT $6
        "#,
        workspace.as_str(),
        filter.holder,
        filter.before,
        after.map(|place| place.review_on),
        after.map_or("", |place| place.ruling_id.as_str()),
        limit,
    );
    Ok(rows.fetch_all(conn).await?)
}

//! Live marks of a part of the environment: one range of their index for each region, and no other mark is read.

use cambium_kernel::{MarkerId, WorkspaceId};
use chrono::{DateTime, Utc};
use sqlx::PgConnection;

use super::marker::{Row, Stored};
use super::region::Range;
use crate::error::Error;

/// What is looked for.
#[derive(Clone, Debug)]
pub(crate) struct Search {
    pub(crate) range: Range,
    /// Any of these; empty: all.
    pub(crate) categories: Vec<String>,
    pub(crate) types: Vec<String>,
    /// In millionths.
    pub(crate) min_intensity: i32,
    /// Canonical JSON that the payload must contain.
    pub(crate) payload: Option<String>,
    pub(crate) newest_first: bool,
    pub(crate) include_quarantined: bool,
    pub(crate) limit: usize,
}

/// One category in one region and all below it.
#[derive(Clone, Debug)]
pub(crate) struct Sum {
    /// The last segment of the region's name.
    pub(crate) child: String,
    pub(crate) category: String,
    /// In millionths, as is the next.
    pub(crate) sum: i64,
    pub(crate) loudest: i32,
    pub(crate) markers: i64,
    pub(crate) strongest: MarkerId,
}

/// The marks that are live at `now`, in the order that was asked for, and one more than `limit` if there are so many.
pub(crate) async fn marks(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    search: &Search,
    now: DateTime<Utc>,
) -> Result<Vec<Stored>, Error> {
    let limit = i64::try_from(search.limit + 1).unwrap_or(i64::MAX);
    let rows = sqlx::query_file_as!(
        Row,
        "src/store/sense.sql",
        workspace.as_str(),
        search.range.from,
        search.range.to,
        search.range.below,
        &search.categories,
        &search.types,
        search.min_intensity,
        search.payload,
        search.newest_first,
        search.include_quarantined,
        limit,
        now,
    )
    .fetch_all(conn)
    .await?;
    rows.into_iter().map(Stored::try_from).collect()
}

/// What is below a region, summed up by the region right below it and by category. `skip` characters of each name are
/// those of the region itself.
pub(crate) async fn sums(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    range: &Range,
    skip: i32,
    include_quarantined: bool,
    now: DateTime<Utc>,
) -> Result<Vec<Sum>, Error> {
    let rows = sqlx::query_file!(
        "src/store/gradient.sql",
        workspace.as_str(),
        range.from,
        range.to,
        range.below,
        skip + 1,
        include_quarantined,
        now,
    )
    .fetch_all(conn)
    .await?;
    let sums = rows.into_iter().map(|row| Sum {
        child: row.child,
        category: row.category,
        sum: row.sum,
        loudest: row.loudest,
        markers: row.markers,
        strongest: MarkerId::from_uuid(row.marker_id),
    });
    Ok(sums.collect())
}

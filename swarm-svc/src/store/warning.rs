//! What an operator is to be told of other people's tables: rulings in force whose day of review has passed.

use cambium_kernel::WorkspaceId;
use cambium_swarm::Instance;
use chrono::NaiveDate;
use sqlx::PgConnection;

use crate::error::Error;
use crate::store;

/// Whose ruling it is, its id, and the day of its review.
pub(crate) type Review = (Instance, String, NaiveDate);

/// The reviews of rulings in force that fell before a day, oldest first.
pub(crate) async fn reviews_before(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    day: NaiveDate,
) -> Result<Vec<Review>, Error> {
    let rows = sqlx::query!(
        r#"
        SELECT r.holder, r.ruling_id, r.review_on
        FROM swarm.review r
        JOIN swarm.document_in_force d ON d.workspace_id = r.workspace_id AND d.id = r.ruling_id
        WHERE r.workspace_id = $1 AND r.review_on < $2
        ORDER BY r.review_on, r.ruling_id
        "#,
        workspace.as_str(),
        day,
    );
    let rows = rows.fetch_all(conn).await?.into_iter();
    rows.map(|row| Ok((store::instance(&row.holder)?, row.ruling_id, row.review_on)))
        .collect()
}

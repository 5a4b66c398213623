//! Table `stigmergy.payload_version`: the payloads that a mark had before the one it has.

use cambium_kernel::{MarkerId, WorkspaceId};
use chrono::{DateTime, Utc};
use sqlx::PgConnection;

use crate::error::Error;

/// One payload of a mark.
#[derive(Clone, Debug)]
pub(crate) struct Version {
    pub(crate) depth: i32,
    pub(crate) author: String,
    pub(crate) written_at: DateTime<Utc>,
    pub(crate) hash: Vec<u8>,
    pub(crate) payload: Option<String>,
}

/// At most `most` of a depth and above, first to last.
pub(crate) async fn from_depth(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    marker: MarkerId,
    depth: i32,
    most: i64,
) -> Result<Vec<Version>, Error> {
    let versions = sqlx::query_as!(
        Version,
        r#"
        SELECT depth, author, written_at, payload_hash AS hash, canonical AS payload
        FROM stigmergy.payload_version
        WHERE workspace_id = $1 AND marker_id = $2 AND depth >= $3
        ORDER BY depth
        LIMIT $4
        "#,
        workspace.as_str(),
        marker.as_uuid(),
        depth,
        most,
    )
    .fetch_all(conn)
    .await?;
    Ok(versions)
}

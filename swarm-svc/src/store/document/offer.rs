//! Offers among the documents: hand-offs in their giver's record that are in force, and of which the receiver has no copy.

use cambium_kernel::WorkspaceId;
use chrono::{DateTime, Utc};
use serde_json::Value;
use sqlx::PgConnection;

use crate::error::Error;

/// An offer that waits for its answer.
#[derive(Clone, Debug)]
pub(crate) struct Offer {
    pub(crate) giver: String,
    pub(crate) id: String,
    pub(crate) payload: Value,
    pub(crate) offered_at: DateTime<Utc>,
}

/// Those that were made since an instant, by a mind or to one, the oldest first.
pub(crate) async fn offers(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    (giver, to): (Option<&str>, Option<&str>),
    since: DateTime<Utc>,
) -> Result<Vec<Offer>, Error> {
    let rows = sqlx::query!(
        r#"
        SELECT o.holder AS "holder!", o.id AS "id!", o.payload AS "payload!", o.written_at AS "written_at!"
        FROM swarm.document_in_force o
        WHERE o.workspace_id = $1 AND o.kind = 'hand_off' AND o.written_at > $4
          AND o.holder = o.payload ->> 'from'
          AND ($2::text IS NULL OR o.holder = $2)
          AND ($3::text IS NULL OR o.payload ->> 'to' = $3)
          AND NOT EXISTS (
              SELECT FROM swarm.document c
              WHERE c.workspace_id = o.workspace_id
                AND c.id = (o.payload ->> 'to') || ':hand_off:' || split_part(o.id, ':', 3)
                AND c.payload_sha256 = o.payload_sha256
          )
        ORDER BY o.written_at, o.id
        "#,
        workspace.as_str(),
        giver,
        to,
        since,
    )
    .fetch_all(conn)
    .await?;
    let offers = rows.into_iter().map(|row| Offer {
        giver: row.holder,
        id: row.id,
        payload: row.payload,
        offered_at: row.written_at,
    });
    Ok(offers.collect())
}

/// Some that nobody answered in time, of any workspace: workspace, giver, id. In the record of a mind that left nothing ends any more.
pub(crate) async fn expired(
    conn: &mut PgConnection,
    until: DateTime<Utc>,
    limit: i64,
) -> Result<Vec<(WorkspaceId, String, String)>, Error> {
    let rows = sqlx::query!(
        r#"
        SELECT o.workspace_id AS "workspace_id!", o.holder AS "holder!", o.id AS "id!"
        FROM swarm.document_in_force o
        JOIN swarm.mind m ON m.workspace_id = o.workspace_id AND m.instance = o.holder AND m.state = 'open'
        WHERE o.kind = 'hand_off' AND o.written_at <= $1
          AND o.holder = o.payload ->> 'from'
          AND NOT EXISTS (
              SELECT FROM swarm.document c
              WHERE c.workspace_id = o.workspace_id
                AND c.id = (o.payload ->> 'to') || ':hand_off:' || split_part(o.id, ':', 3)
                AND c.payload_sha256 = o.payload_sha256
          )
        ORDER BY o.written_at
        LIMIT $2
        "#,
        until,
        limit,
    )
    .fetch_all(conn)
    .await?;
    let found = rows.into_iter().map(|row| {
        let workspace = WorkspaceId::parse(&row.workspace_id)
            .map_err(|why| Error::broken(format!("document `{}`", row.id), why))?;
        Ok((workspace, row.holder, row.id))
    });
    found.collect()
}

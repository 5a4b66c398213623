//! What others wrote that concerns a mind: the operator's rulings in its record, and answers to what it asked or offered.

use cambium_kernel::WorkspaceId;
use chrono::{DateTime, Utc};
use serde_json::Value;
use sqlx::PgConnection;

use crate::error::Error;

/// A document that another wrote, and what the ruling says by which a question was answered.
#[derive(Clone, Debug)]
pub(crate) struct News {
    pub(crate) id: String,
    pub(crate) payload: Value,
    pub(crate) payload_sha256: String,
    pub(crate) written_at: DateTime<Utc>,
    /// The payload of what it ends, if it ends something.
    pub(crate) subject: Option<Value>,
    /// Of an answer: the ruling's payload.
    pub(crate) ruling: Option<Value>,
}

/// What was written since an instant, the oldest first: rulings, or all that is an answer.
pub(crate) async fn news(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    (mind, is_rulings): (&str, bool),
    since: DateTime<Utc>,
    limit: i64,
) -> Result<Vec<News>, Error> {
    let rows = sqlx::query_as!(
        News,
        r#"
        SELECT d.id, d.payload, d.payload_sha256, d.written_at, s.payload AS "subject?", r.payload AS "ruling?"
        FROM swarm.document d
        LEFT JOIN swarm.document s ON s.workspace_id = d.workspace_id AND s.id = d.subject
        LEFT JOIN swarm.document r
            ON r.workspace_id = d.workspace_id AND r.id = d.payload ->> 'ruling' AND d.kind = 'resolution'
        WHERE d.workspace_id = $1 AND d.written_at > $3 AND d.author <> 'mind:' || $2
          AND CASE WHEN $4
              THEN d.kind = 'ruling' AND d.holder = $2
              ELSE
                  -- Its offer was accepted: the receiver has a copy.
                  (d.kind = 'hand_off' AND d.payload ->> 'from' = $2 AND d.holder <> $2)
                  -- Its question was answered or its offer declined, or a question that it is a party of was answered.
                  OR (d.kind = 'resolution' AND (
                      (d.holder = $2 AND s.kind IN ('question', 'hand_off'))
                      OR (s.kind = 'question' AND s.payload -> 'between' ? $2)
                  ))
              END
        ORDER BY d.written_at, d.id
        LIMIT $5
        "#,
        workspace.as_str(),
        mind,
        since,
        is_rulings,
        limit,
    );
    Ok(rows.fetch_all(conn).await?)
}

//! Table `swarm.document`: what minds wrote down. Inserts and reads: nothing here ever changes.

mod news;
mod offer;
mod read;

use cambium_kernel::WorkspaceId;
use cambium_swarm::record::{Document, Kind};
use cambium_swarm::{SessionId, TurnId};
use serde_json::Value;
use sqlx::PgConnection;

use crate::error::Error;
use crate::store;

pub(crate) use news::{News, news};
pub(crate) use offer::{expired, offers};
pub(crate) use read::{Filter, Place, Stored, find, list};

/// Who wrote, and within which turn or session.
#[derive(Clone, Debug)]
pub(crate) struct Signed {
    /// As in `mind:eureka`.
    pub(crate) author: String,
    pub(crate) turn: Option<TurnId>,
    pub(crate) session: Option<SessionId>,
}

/// Makes the writers of a workspace's records wait for one another until the transaction ends: what a rule looked at is still so
/// when its documents are written. Launch rows are locked before it, never after.
pub(crate) async fn lock(conn: &mut PgConnection, workspace: &WorkspaceId) -> Result<(), Error> {
    let lock = sqlx::query!(
        r#"
        INSERT INTO swarm.log_head AS head (workspace_id, log, seq)
        VALUES ($1, 'record', 0)
        ON CONFLICT (workspace_id, log) DO UPDATE SET seq = head.seq
        "#,
        workspace.as_str(),
    );
    lock.execute(conn).await?;
    Ok(())
}

/// Writes one down, as the next of its holder.
pub(crate) async fn insert(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    document: &Document,
    signed: &Signed,
) -> Result<(), Error> {
    let insert = sqlx::query!(
        r#"
        INSERT INTO swarm.document
            (workspace_id, holder, id, kind, payload, payload_sha256, seq, author, turn_id, session_id, written_at)
        VALUES ($1, $2, $3, $4, $5, $6, swarm.next_seq($1, 'record:' || $2), $7, $8, $9, swarm.now())
        "#,
        workspace.as_str(),
        document.holder().as_str(),
        document.id(),
        document.kind().as_str(),
        Value::Object(document.payload().clone()),
        document.sha256(),
        signed.author,
        signed.turn.map(TurnId::as_uuid),
        signed.session.map(SessionId::as_uuid),
    );
    insert.execute(conn).await?;
    Ok(())
}

/// What a decision needs to know: documents by id, those of areas, identities of minds. Whether any of them is in force is told by
/// what is found around them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Wanted {
    pub(crate) ids: Vec<String>,
    pub(crate) areas: Vec<String>,
    pub(crate) identities: Vec<String>,
}

/// The documents wanted and the lead's ruling, with all that decides whether they are in force: resolutions, what took the place of
/// the ended, other stewards of an area, copies of offers.
pub(crate) async fn around(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    wanted: &Wanted,
) -> Result<Vec<Document>, Error> {
    let rows = sqlx::query!(
        r#"
        WITH RECURSIVE seed AS (
            SELECT d.id FROM swarm.document d WHERE d.workspace_id = $1 AND d.id = ANY($2)
            UNION
            SELECT d.id FROM swarm.document d WHERE d.workspace_id = $1 AND d.area = ANY($3)
            UNION
            SELECT d.id FROM swarm.document d
            WHERE d.workspace_id = $1 AND d.kind = 'identity' AND d.holder = ANY($4)
            UNION
            SELECT d.id FROM swarm.document_in_force d
            WHERE d.workspace_id = $1 AND d.kind = 'ruling'
              AND d.payload ->> 'label' = 'swarm-lead' AND d.payload ->> 'authority' = 'standing'
        ), around AS (
            SELECT s.id FROM seed s
            UNION
            SELECT next.id
            FROM around a
            JOIN swarm.document d ON d.workspace_id = $1 AND d.id = a.id
            CROSS JOIN LATERAL (
                SELECT r.id FROM swarm.document r WHERE r.workspace_id = $1 AND r.subject = d.id
                UNION ALL
                SELECT named.id
                FROM unnest(ARRAY[d.payload ->> 'subject', d.payload ->> 'by', d.payload ->> 'ruling']) AS named (id)
                WHERE d.kind = 'resolution' AND named.id IS NOT NULL
                UNION ALL
                SELECT s.id FROM swarm.document s
                WHERE d.kind = 'stewardship' AND s.workspace_id = $1 AND s.area = d.area
                UNION ALL
                -- An offer and its copy bear the same label.
                SELECT party.name || ':hand_off:' || split_part(d.id, ':', 3)
                FROM unnest(ARRAY[d.payload ->> 'from', d.payload ->> 'to']) AS party (name)
                WHERE d.kind = 'hand_off'
            ) AS next
        )
        SELECT d.holder, d.id, d.kind, d.payload
        FROM around a
        JOIN swarm.document d ON d.workspace_id = $1 AND d.id = a.id
        "#,
        workspace.as_str(),
        &wanted.ids,
        &wanted.areas,
        &wanted.identities,
    )
    .fetch_all(conn)
    .await?;
    rows.into_iter()
        .map(|row| document(&row.holder, &row.id, &row.kind, row.payload))
        .collect()
}

/// A stored row that breaks a rule is our fault.
pub(super) fn document(
    holder: &str,
    id: &str,
    kind: &str,
    payload: Value,
) -> Result<Document, Error> {
    let broken = |why: &dyn std::fmt::Display| Error::broken(format!("document `{id}`"), why);
    let Value::Object(payload) = payload else {
        return Err(broken(&"its payload is no object"));
    };
    let kind = Kind::parse(kind).map_err(|why| broken(&why))?;
    let holder = store::instance(holder)?;
    Document::new(holder, kind, id, payload).map_err(|why| broken(&why))
}

/// The ids of a mind's that are `base`, or `base` and a number.
pub(crate) async fn numbered(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    base: &str,
) -> Result<Vec<String>, Error> {
    let ids = sqlx::query_scalar!(
        r#"
        SELECT id
        FROM swarm.document
        -- The hyphen comes before the point, with which resolutions go on.
        WHERE workspace_id = $1 AND id >= $2 AND id < $2 || '.'
        "#,
        workspace.as_str(),
        base,
    );
    Ok(ids.fetch_all(conn).await?)
}

/// The rulings in force that were never given a date, of a mind's authority or the lead's.
pub(crate) async fn undated_rulings(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
) -> Result<Vec<Document>, Error> {
    let rows = sqlx::query!(
        r#"
        SELECT d.holder AS "holder!", d.id AS "id!", d.kind AS "kind!", d.payload AS "payload!"
        FROM swarm.document_in_force d
        WHERE d.workspace_id = $1 AND d.kind = 'ruling' AND d.payload ->> 'authority' IN ('mind', 'standing')
          AND NOT EXISTS (
              SELECT FROM swarm.review r WHERE r.workspace_id = d.workspace_id AND r.ruling_id = d.id
          )
        ORDER BY d.id
        "#,
        workspace.as_str(),
    )
    .fetch_all(conn)
    .await?;
    rows.into_iter()
        .map(|row| document(&row.holder, &row.id, &row.kind, row.payload))
        .collect()
}

/// How many campaigns of a mind are in force.
pub(crate) async fn campaigns(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    holder: &str,
) -> Result<i64, Error> {
    let count = sqlx::query_scalar!(
        r#"
        SELECT count(*) AS "count!"
        FROM swarm.document_in_force
        WHERE workspace_id = $1 AND holder = $2 AND kind = 'campaign'
        "#,
        workspace.as_str(),
        holder,
    );
    Ok(count.fetch_one(conn).await?)
}

//! Queues: interned workspaces, required capabilities, and the mind whose turns the work is of.

use sqlx::PgConnection;

#[derive(Clone, Debug)]
pub(crate) struct Queue {
    pub(crate) queue: i32,
    pub(crate) workspace: String,
    pub(crate) requires: Vec<String>,
    /// Empty: nobody's.
    pub(crate) mind: String,
}

/// The number of one queue, made if it is new.
pub(crate) async fn intern(
    conn: &mut PgConnection,
    workspace: &str,
    requires: &[String],
    mind: &str,
) -> Result<i32, sqlx::Error> {
    let found = sqlx::query!(
        r#"SELECT queue FROM hypha.queue WHERE workspace_id = $1 AND requires = $2 AND mind = $3"#,
        workspace,
        requires,
        mind,
    )
    .fetch_optional(&mut *conn)
    .await?;
    if let Some(row) = found {
        return Ok(row.queue);
    }
    let row = sqlx::query!(
        r#"
        INSERT INTO hypha.queue (workspace_id, requires, mind) VALUES ($1, $2, $3)
        ON CONFLICT ON CONSTRAINT queue_once DO UPDATE SET requires = excluded.requires
        RETURNING queue
        "#,
        workspace,
        requires,
        mind,
    )
    .fetch_one(conn)
    .await?;
    Ok(row.queue)
}

/// Queues with a number above `above`.
pub(crate) async fn above(conn: &mut PgConnection, above: i32) -> Result<Vec<Queue>, sqlx::Error> {
    sqlx::query_as!(
        Queue,
        r#"SELECT queue, workspace_id AS workspace, requires, mind FROM hypha.queue WHERE queue > $1 ORDER BY queue"#,
        above,
    )
    .fetch_all(conn)
    .await
}

/// The lowest turn that is ready at each of these places, where anything is.
pub(crate) async fn heads(
    conn: &mut PgConnection,
    places: &[(i32, i16)],
) -> Result<Vec<((i32, i16), Option<i64>)>, sqlx::Error> {
    let (queues, prios): (Vec<i32>, Vec<i16>) = places.iter().copied().unzip();
    let rows = sqlx::query!(
        r#"
        SELECT p.queue AS "queue!", p.prio AS "prio!",
               (SELECT h.turn FROM hypha.hot h WHERE h.state = 0 AND h.queue = p.queue AND h.prio = p.prio
                ORDER BY h.queue, h.prio, h.turn LIMIT 1) AS head
        FROM unnest($1::int[], $2::smallint[]) AS p (queue, prio)
        "#,
        &queues,
        &prios,
    )
    .fetch_all(conn)
    .await?;
    let heads = rows
        .into_iter()
        .map(|row| ((row.queue, row.prio), row.head));
    Ok(heads.collect())
}

//! Table `swarm.steward`: who looks after which area. At most one of each, which its key says too.

use cambium_kernel::WorkspaceId;
use cambium_swarm::record::Document;
use sqlx::PgConnection;

use crate::error::Error;

/// Says who looks after an area now; nobody where no stewardship is given.
pub(crate) async fn put(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    area: &str,
    stewardship: Option<&Document>,
) -> Result<(), Error> {
    let Some(stewardship) = stewardship else {
        let delete = sqlx::query!(
            "DELETE FROM swarm.steward WHERE workspace_id = $1 AND area = $2",
            workspace.as_str(),
            area,
        );
        delete.execute(conn).await?;
        return Ok(());
    };
    let put = sqlx::query!(
        r#"
        INSERT INTO swarm.steward (workspace_id, area, instance, document_id)
        VALUES ($1, $2, $3, $4)
        ON CONFLICT (workspace_id, area) DO UPDATE
        SET instance = excluded.instance, document_id = excluded.document_id
        "#,
        workspace.as_str(),
        area,
        stewardship.holder().as_str(),
        stewardship.id(),
    );
    put.execute(conn).await?;
    Ok(())
}

/// How many areas a mind looks after.
pub(crate) async fn count(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    instance: &str,
) -> Result<i64, Error> {
    let count = sqlx::query_scalar!(
        r#"SELECT count(*) AS "count!" FROM swarm.steward WHERE workspace_id = $1 AND instance = $2"#,
        workspace.as_str(),
        instance,
    );
    Ok(count.fetch_one(conn).await?)
}

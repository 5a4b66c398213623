//! Table `genesis.workspace`: a row to lock, so that spawns of one workspace are counted one after another.

use cambium_kernel::WorkspaceId;
use sqlx::PgConnection;

use crate::error::Error;

pub(crate) async fn lock(conn: &mut PgConnection, workspace: &WorkspaceId) -> Result<(), Error> {
    let insert = sqlx::query!(
        "INSERT INTO genesis.workspace (workspace_id) VALUES ($1) ON CONFLICT DO NOTHING",
        workspace.as_str(),
    );
    insert.execute(&mut *conn).await?;
    let lock = sqlx::query!(
        "SELECT FROM genesis.workspace WHERE workspace_id = $1 FOR UPDATE",
        workspace.as_str(),
    );
    lock.fetch_one(conn).await?;
    Ok(())
}

//! Announced incarnations of workers.

use cambium_kernel::{AgentId, RegistrationId, WorkspaceId};
use sqlx::PgConnection;
use uuid::Uuid;

#[derive(Clone, Debug)]
pub(crate) struct Registration {
    pub(crate) reg: i32,
    pub(crate) workspace: String,
    pub(crate) owner: String,
    pub(crate) slots: i32,
    pub(crate) agents: Vec<AgentId>,
    pub(crate) capabilities: Vec<String>,
    pub(crate) draining: bool,
}

/// What a worker says of itself.
#[derive(Clone, Debug)]
pub(crate) struct New<'a> {
    pub(crate) id: RegistrationId,
    pub(crate) workspace: &'a WorkspaceId,
    pub(crate) worker: &'a str,
    pub(crate) incarnation: Uuid,
    pub(crate) owner: &'a str,
    pub(crate) agents: &'a [AgentId],
    pub(crate) capabilities: &'a [String],
    pub(crate) slots: i32,
}

/// Announces an incarnation and drains the others of its name. An incarnation announced before keeps its id; answers whether it is being drained.
pub(crate) async fn upsert(
    conn: &mut PgConnection,
    new: &New<'_>,
) -> Result<(RegistrationId, bool), sqlx::Error> {
    let row = sqlx::query!(
        r#"
        INSERT INTO hypha.registration (registration_id, workspace_id, worker, incarnation, owner, agent_ids, capabilities,
                                        slots, registered_at)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, hypha.now())
        ON CONFLICT ON CONSTRAINT registration_incarnation_once DO UPDATE SET slots = excluded.slots
        RETURNING registration_id, draining
        "#,
        new.id.as_uuid(),
        new.workspace.as_str(),
        new.worker,
        new.incarnation,
        new.owner,
        &new.agents.iter().map(|a| a.as_uuid()).collect::<Vec<_>>(),
        new.capabilities,
        new.slots,
    )
    .fetch_one(conn)
    .await?;
    Ok((RegistrationId::from_uuid(row.registration_id), row.draining))
}

/// Drains the other incarnations of a name, and answers which were not drained before.
pub(crate) async fn drain_others(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    worker: &str,
    incarnation: Uuid,
) -> Result<Vec<RegistrationId>, sqlx::Error> {
    let rows = sqlx::query!(
        r#"
        UPDATE hypha.registration SET draining = true
        WHERE workspace_id = $1 AND worker = $2 AND incarnation <> $3 AND NOT draining
        RETURNING registration_id
        "#,
        workspace.as_str(),
        worker,
        incarnation,
    )
    .fetch_all(conn)
    .await?;
    Ok(rows
        .into_iter()
        .map(|row| RegistrationId::from_uuid(row.registration_id))
        .collect())
}

/// Tells all replicas, with the commit, which incarnations are drained.
pub(crate) async fn tell_drained(
    conn: &mut PgConnection,
    ids: &[RegistrationId],
) -> Result<(), sqlx::Error> {
    let ids: Vec<String> = ids.iter().map(ToString::to_string).collect();
    // A notification holds 8,000 bytes; what it leaves out the next sweep of each replica finds.
    let told = ids[..ids.len().min(200)].join(" ");
    sqlx::query!(
        r#"SELECT pg_notify('hypha_drained', $1)::text AS told"#,
        told
    )
    .fetch_one(conn)
    .await?;
    Ok(())
}

pub(crate) async fn find(
    conn: &mut PgConnection,
    id: RegistrationId,
) -> Result<Option<Registration>, sqlx::Error> {
    let row = sqlx::query!(
        r#"
        SELECT reg, workspace_id, owner, slots, agent_ids, capabilities, draining
        FROM hypha.registration WHERE registration_id = $1
        "#,
        id.as_uuid(),
    )
    .fetch_optional(conn)
    .await?;
    Ok(row.map(|row| Registration {
        reg: row.reg,
        workspace: row.workspace_id,
        owner: row.owner,
        slots: row.slots,
        agents: row.agent_ids.into_iter().map(AgentId::from_uuid).collect(),
        capabilities: row.capabilities,
        draining: row.draining,
    }))
}

/// Registrations among these that are being drained.
pub(crate) async fn draining(
    conn: &mut PgConnection,
    ids: &[Uuid],
) -> Result<Vec<RegistrationId>, sqlx::Error> {
    let rows = sqlx::query!(
        r#"SELECT registration_id FROM hypha.registration WHERE registration_id = ANY ($1) AND draining"#,
        ids,
    )
    .fetch_all(conn)
    .await?;
    Ok(rows
        .into_iter()
        .map(|row| RegistrationId::from_uuid(row.registration_id))
        .collect())
}

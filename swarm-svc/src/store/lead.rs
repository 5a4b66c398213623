//! Who leads: whom the one standing ruling in force that is labelled `swarm-lead` names. Read at each decision, and kept nowhere.

use cambium_kernel::WorkspaceId;
use cambium_swarm::Instance;
use chrono::NaiveDate;
use sqlx::PgConnection;

use crate::error::Error;
use crate::store;

/// The ruling that makes the lead, or says that there is none.
#[derive(Clone, Debug)]
pub(crate) struct Ruling {
    pub(crate) id: String,
    pub(crate) holder: Instance,
    pub(crate) names: Option<Instance>,
    pub(crate) review_on: Option<NaiveDate>,
}

pub(crate) async fn ruling(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
) -> Result<Option<Ruling>, Error> {
    let row = sqlx::query!(
        r#"
        SELECT
            d.id AS "id!", d.holder AS "holder!",
            d.payload ->> 'names_lead' AS named, r.review_on AS "review_on?"
        FROM swarm.document_in_force d
        LEFT JOIN swarm.review r ON r.workspace_id = d.workspace_id AND r.ruling_id = d.id
        WHERE d.workspace_id = $1 AND d.kind = 'ruling'
          AND d.payload ->> 'label' = 'swarm-lead' AND d.payload ->> 'authority' = 'standing'
        ORDER BY d.written_at DESC
        LIMIT 1
        "#,
        workspace.as_str(),
    )
    .fetch_optional(conn)
    .await?;
    let Some(row) = row else {
        return Ok(None);
    };
    let names = row.named.as_deref().map(store::instance).transpose()?;
    Ok(Some(Ruling {
        id: row.id,
        holder: store::instance(&row.holder)?,
        names,
        review_on: row.review_on,
    }))
}

pub(crate) async fn current(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
) -> Result<Option<Instance>, Error> {
    let ruling = ruling(conn, workspace).await?;
    Ok(ruling.and_then(|ruling| ruling.names))
}

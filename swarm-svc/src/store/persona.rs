//! Tables `swarm.persona_version` and `swarm.persona_receipt`: who a mind is, in every version that was stored.

mod receipt;

use cambium_kernel::WorkspaceId;
use cambium_swarm::Instance;
use cambium_swarm::persona::Persona;
use sqlx::PgConnection;

use crate::error::Error;

pub(crate) use receipt::{New, Receipt, import_report, insert, list};

/// What stands where a persona may.
#[expect(
    clippy::enum_variant_names,
    reason = "a persona is absent, stored or unreadable, by the words of the design"
)]
#[derive(Clone, Debug)]
pub(crate) enum Stored {
    Absent,
    Stored {
        persona: Persona,
        version: i32,
        sha256: String,
    },
    Unreadable,
}

/// The newest version.
pub(crate) async fn newest(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    mind: &Instance,
) -> Result<Stored, Error> {
    find(conn, workspace, mind, None).await
}

/// A version; the newest where none is named.
pub(crate) async fn find(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    mind: &Instance,
    version: Option<i32>,
) -> Result<Stored, Error> {
    let row = sqlx::query!(
        r#"
        SELECT version, value, value_sha256
        FROM swarm.persona_version
        WHERE workspace_id = $1 AND instance = $2 AND ($3::integer IS NULL OR version = $3)
        ORDER BY version DESC
        LIMIT 1
        "#,
        workspace.as_str(),
        mind.as_str(),
        version,
    );
    let Some(row) = row.fetch_optional(conn).await? else {
        return Ok(Stored::Absent);
    };
    Ok(match Persona::stored(row.value, &row.value_sha256) {
        Ok(persona) => Stored::Stored {
            persona,
            version: row.version,
            sha256: row.value_sha256,
        },
        Err(_) => Stored::Unreadable,
    })
}

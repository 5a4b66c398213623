//! What a mind is told at the beginning of its turn: read after the launch, so that no reason falls between.

use cambium_kernel::WorkspaceId;
use serde_json::{Value, json};
use sqlx::PgConnection;

use crate::app::{App, routing};
use crate::error::Error;
use crate::store;
use crate::store::persona::Stored as Persona;
use crate::store::turn::Stored;

impl App {
    /// The brief of a turn, as its graph or its body gets it.
    pub(super) async fn brief(
        &self,
        workspace: &WorkspaceId,
        stored: &Stored,
    ) -> Result<Value, Error> {
        let mut conn = self.pool.acquire().await?;
        let turn = &stored.turn;
        let before = store::turn::ran_before(&mut conn, workspace, turn).await?;
        let mut brief = json!({
            "turn_id": turn.id.to_string(),
            "epoch": turn.epoch,
            "instance": turn.instance.as_str(),
            "cap_micro_usd": turn.cap.as_micros(),
            "persona": persona(&mut conn, workspace, stored).await?,
            "first_turn": before.is_none(),
        });
        let work = routing::brief_work(&mut conn, workspace, &turn.instance, before).await?;
        if let (Value::Object(brief), Value::Object(work)) = (&mut brief, work) {
            brief.extend(work);
            if before.is_none()
                && let Some(report) =
                    store::persona::import_report(&mut conn, workspace, &turn.instance).await?
            {
                brief.insert("import_report".to_owned(), report);
            }
        }
        Ok(brief)
    }
}

/// Which persona there is: the mind reads it itself.
async fn persona(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    stored: &Stored,
) -> Result<Value, Error> {
    let newest = store::persona::newest(conn, workspace, &stored.turn.instance).await?;
    Ok(match newest {
        Persona::Stored {
            version, sha256, ..
        } => json!({"version": version, "sha256": sha256}),
        Persona::Absent | Persona::Unreadable => Value::Null,
    })
}

//! Offers that nobody answered for 7 days are withdrawn, and nothing has moved.

use cambium_kernel::WorkspaceId;
use cambium_swarm::work::OFFER_LASTS;
use serde_json::json;
use sqlx::PgConnection;

use super::withdraw;
use crate::app::App;
use crate::app::record::Signed;
use crate::error::Error;
use crate::store;
use crate::store::event::{Kind, New};

/// So many at a time.
const MOST: i64 = 100;

impl App {
    /// Withdraws those that are over, in every workspace. Each is looked at again under the lock of its records, so that two
    /// replicas withdraw it once.
    pub(crate) async fn lapse_offers(&self) -> Result<(), Error> {
        let mut conn = self.pool.acquire().await?;
        let until = store::now(&mut conn).await? - OFFER_LASTS;
        let expired = store::document::expired(&mut conn, until, MOST).await?;
        drop(conn);
        for (workspace, giver, offer) in expired {
            let mut tx = self.pool.begin().await?;
            match lapse(&mut tx, &workspace, (&giver, &offer)).await {
                Ok(()) => tx.commit().await?,
                // One that cannot be withdrawn keeps no other from it.
                Err(error) => {
                    let error = &error as &dyn std::error::Error;
                    tracing::warn!(error, %workspace, offer, "an offer was not withdrawn");
                }
            }
        }
        Ok(())
    }
}

async fn lapse(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    (giver, offer): (&str, &str),
) -> Result<(), Error> {
    let signed = Signed {
        author: "service:swarm".to_owned(),
        turn: None,
        session: None,
    };
    store::document::lock(conn, workspace).await?;
    let why = "Nobody answered for 7 days.";
    if withdraw(conn, workspace, offer, (&signed, why))
        .await?
        .is_empty()
    {
        return Ok(());
    }
    let giver = store::instance(giver)?;
    let body = json!({"offer": offer, "why": why});
    let entry = store::audit::Entry {
        actor: signed.author,
        action: "LapseOffer".to_owned(),
        instance: Some(giver.clone()),
        turn: None,
        refusal: None,
        body: body.clone(),
    };
    store::audit::insert(conn, workspace, &entry).await?;
    let event = New {
        kind: Kind::Control,
        instance: Some(giver),
        turn: None,
        body: json!({"action": "LapseOffer", "value": body}),
    };
    store::event::insert(conn, workspace, event).await
}

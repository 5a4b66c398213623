//! A mind moves to another host: exported as one bundle, received with every digest worked out again, and closed on the old side.
//! Carries no share, no brake that is released and no work: those are the new operator's.

mod complete;
mod receive;

use cambium_kernel::WorkspaceId;
use cambium_service_kit::principal::Principal;
use cambium_swarm::Instance;
use cambium_swarm::authority::Action;
use cambium_swarm::mind::transfer;
use cambium_swarm::transfer::{MOST_BYTES, bundle};
use sqlx::PgConnection;

use crate::app::{App, record};
use crate::convert::transfer::{Moving, entries};
use crate::error::Error;
use crate::store::mind::{self, Mind};
use crate::store::{persona, transfer as kept};

impl App {
    /// The bundle of a mind that may go. It changes nothing: the mind goes when its transfer is completed.
    pub(crate) async fn export_mind(
        &self,
        caller: &Principal,
        workspace: &WorkspaceId,
        instance: &Instance,
    ) -> Result<String, Error> {
        self.may(caller, Action::OpenMind)?;
        // All of it as of one instant; the locks go with the end.
        let mut tx = self.pool.begin().await?;
        let (bundle, _) = packed(&mut tx, workspace, instance).await?;
        tx.rollback().await?;
        Ok(bundle)
    }
}

/// The bundle of a mind, and its digest, if the mind may go.
async fn packed(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    instance: &Instance,
) -> Result<(String, String), Error> {
    let found = mind::lock(conn, workspace, instance).await?;
    let found = found.ok_or(cambium_swarm::Error::NoMind)?;
    transfer(found.state, &record::ties(conn, workspace, instance).await?)?;
    let moving = moving(conn, workspace, found).await?;
    let (bundle, sha256) = bundle(&entries(&moving));
    if bundle.len() > MOST_BYTES {
        let most = MOST_BYTES;
        return Err(cambium_swarm::Error::BundleTooLarge { most }.into());
    }
    Ok((bundle, sha256))
}

async fn moving(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    mind: Mind,
) -> Result<Moving, Error> {
    let instance = &mind.instance;
    let mut receipts = persona::list(conn, workspace, instance, None, i64::MAX).await?;
    receipts.reverse();
    Ok(Moving {
        wakes: mind::agenda(conn, workspace, instance).await?.wakes,
        documents: kept::documents(conn, workspace, instance).await?,
        versions: kept::versions(conn, workspace, instance).await?,
        reviews: kept::reviews(conn, workspace, instance).await?,
        receipts,
        display_name: mind.display_name,
        mission: mind.mission,
        proposed_by: mind.proposed_by,
        instance: mind.instance,
    })
}

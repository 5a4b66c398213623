//! The operator's hands: shares, haste, dial, wallet and brakes. A change takes the bucket's row first, as ticks and settlements do:
//! none of them meets it half done. Picks no turn and repairs nothing: the next tick goes by what was set.

mod brake;
mod dial;
mod look;
mod reset;
mod share;
mod wallet;
mod warn;

use cambium_swarm::Instance;

use crate::app::Change;
use crate::error::Error;
use crate::store::launch::Reason;
use crate::store::mind::Mind;
use crate::store::{bucket, launch, mind};

impl Change<'_> {
    /// Waits for the bucket's row: until this is over no turn is picked and none is settled. Where there is no row no dial was ever
    /// set, and nothing launches.
    pub(super) async fn lock_schedule(&mut self) -> Result<(), Error> {
        let workspace = self.workspace.clone();
        bucket::lock(self.conn(), &workspace).await?;
        Ok(())
    }

    /// Has the minds' places looked at again; nobody else changes these until this is over.
    pub(super) async fn touch(&mut self, minds: &[&Instance]) -> Result<(), Error> {
        let workspace = self.workspace.clone();
        launch::touch(self.conn(), &workspace, minds, Reason::None).await
    }

    /// A mind that may be set: it is open. Whoever calls has touched it, so that it stays so.
    pub(super) async fn open_mind(&mut self, instance: &Instance) -> Result<Mind, Error> {
        let workspace = self.workspace.clone();
        let found = mind::find(self.conn(), &workspace, instance).await?;
        let found = found.ok_or(cambium_swarm::Error::NoMind)?;
        found.state.writable()?;
        Ok(found)
    }
}

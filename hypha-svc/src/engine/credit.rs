//! The credit of one stream of work: a lasting offer that a worker widens as it goes, and what that brings.

use std::sync::Arc;

use tokio::sync::mpsc;

use super::Engine;
use super::grant::Grants;
use super::offer::OfferId;
use super::registration::Registration;

/// Attempts that one stream may have asked for and not been sent yet.
const MOST: u32 = 10_000;

/// A stream's offer. Dropping it withdraws what is left of it; attempts on their way go back to the queue.
#[derive(Debug)]
pub(crate) struct Credit {
    engine: Engine,
    registration: Arc<Registration>,
    id: OfferId,
    grants: mpsc::UnboundedReceiver<Grants>,
}

impl Credit {
    pub(crate) fn open(engine: Engine, registration: Arc<Registration>) -> Self {
        let (id, grants) = engine.offers.open_stream(registration.clone());
        Self {
            engine,
            registration,
            id,
            grants,
        }
    }

    /// Asks for so many attempts more. Answers whether that is within bounds; if not, nothing was asked for.
    pub(crate) fn widen(&self, more: u32) -> bool {
        if more == 0 {
            return true;
        }
        let fits = self.engine.offers.widen(self.id, more, MOST);
        // Only now: work that is left after the look at the hints finds the offer.
        if fits && self.engine.offers.may_have_work(&self.registration) {
            self.engine.look();
        }
        fits
    }

    /// What the credit has brought. Never ends while this lives.
    pub(crate) async fn next(&mut self) -> Grants {
        match self.grants.recv().await {
            Some(grants) => grants,
            None => std::future::pending().await,
        }
    }

    /// What it has brought already.
    pub(crate) fn ready(&mut self) -> Option<Grants> {
        self.grants.try_recv().ok()
    }

    /// Asks for nothing more.
    pub(crate) fn withdraw(&mut self) {
        self.engine.offers.withdraw(self.id);
        self.grants.close();
    }
}

impl Drop for Credit {
    fn drop(&mut self) {
        self.withdraw();
    }
}

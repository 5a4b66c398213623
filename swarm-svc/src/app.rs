//! The use cases of swarm. Each owns its transaction; the rules are the domain's.

mod audit;
mod change;
mod control;
mod loan;
pub(crate) mod mind;
pub(crate) mod persona;
pub(crate) mod record;
pub(crate) mod routing;
mod session;
pub(crate) mod timeline;
mod transfer;
mod watch;

use std::fmt;
use std::sync::Arc;

use cambium_kernel::Clock;
use cambium_service_kit::shutdown::Stop;
use cambium_service_kit::token::SigningKey;
use cambium_service_kit::watchers::Watchers;
use sqlx::PgPool;
use tokio::sync::watch::Sender;

use crate::peers::Hypha;

pub(crate) use change::{About, Change};
pub(crate) use watch::Sent;

/// What every use case needs.
pub(crate) struct App {
    pub(crate) pool: PgPool,
    /// Signs what a mind shows.
    pub(crate) key: Arc<SigningKey>,
    pub(crate) clock: Arc<dyn Clock>,
    /// Where graphs run.
    pub(crate) hypha: Option<Hypha>,
    /// Changes whenever something has happened to minds or turns, at whichever replica.
    pub(crate) news: Sender<()>,
    pub(crate) watchers: Watchers,
    pub(crate) stop: Stop,
}

// Nothing in it is for a log.
impl fmt::Debug for App {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("App").finish_non_exhaustive()
    }
}

//! The use cases of immune. Each owns its transaction; the rules are the domain's.

mod alert;
mod book;
pub(crate) mod fact;
mod firing;
mod fold;
mod generosity;
mod quarantine;
mod rule;
mod shown;
mod standing;
pub(crate) mod watch;

use std::fmt;

use cambium_service_kit::shutdown::Stop;
use cambium_service_kit::watchers::Watchers;
use cambium_service_kit::{batch, outbox};
use sqlx::PgPool;
use tokio::sync::broadcast;

pub(crate) use generosity::Pending;
pub(crate) use quarantine::{Release, Wish};
pub(crate) use rule::Tried;
pub(crate) use shown::Shown;
pub(crate) use standing::Which;

/// How often a transaction is begun anew when another writer won.
const ATTEMPTS: u32 = 5;

/// What every use case needs.
pub(crate) struct App {
    pub(crate) pool: PgPool,
    pub(crate) routes: outbox::Routes,
    pub(crate) relay: outbox::Wake,
    /// Facts that callers wait to see recorded.
    pub(crate) records: batch::Sender<Pending>,
    /// Names workspaces in which something has changed.
    pub(crate) news: broadcast::Sender<String>,
    pub(crate) watchers: Watchers,
    pub(crate) stop: Stop,
}

// Nothing in it is for a log.
impl fmt::Debug for App {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("App").finish_non_exhaustive()
    }
}

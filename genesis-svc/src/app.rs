//! The use cases of genesis. Each owns its transaction; the rules are the domain's.

mod agent;

use std::fmt;
use std::sync::Arc;

use cambium_kernel::Clock;
use cambium_service_kit::outbox;
use cambium_service_kit::token::SigningKey;
use sqlx::PgPool;

/// What every use case needs.
pub(crate) struct App {
    pub(crate) pool: PgPool,
    /// Signs what an enrolled agent shows.
    pub(crate) key: Arc<SigningKey>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) routes: outbox::Routes,
    pub(crate) relay: outbox::Wake,
}

// Nothing in it is for a log.
impl fmt::Debug for App {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("App").finish_non_exhaustive()
    }
}

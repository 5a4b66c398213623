//! Use cases: each loads, lets the rules decide, saves and commits. Holds no rule and no wire type but replies' own.

pub(crate) mod attempt;
pub(crate) mod ending;
pub(crate) mod explain;
pub(crate) mod graph;
pub(crate) mod matching;
pub(crate) mod rerun;
pub(crate) mod run;
pub(crate) mod task;
pub(crate) mod turn;
pub(crate) mod watch;
pub(crate) mod worker;

use std::sync::Arc;

use cambium_kernel::Clock;
use cambium_service_kit::shutdown::Stop;
use cambium_service_kit::token::SigningKey;
use sqlx::PgPool;

use crate::engine::Engine;

/// What every use case needs.
#[derive(Clone, Debug)]
pub(crate) struct App {
    /// For reads and rare writes. The engine has a pool of its own.
    pub(crate) pool: PgPool,
    pub(crate) engine: Engine,
    /// Signs the next token of a worker.
    pub(crate) key: Arc<SigningKey>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) stop: Stop,
    pub(crate) watchers: cambium_service_kit::watchers::Watchers,
}

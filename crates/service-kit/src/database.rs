//! The way to Postgres: a pool that outlives outages, and what a database error means to a caller.
//! Holds no SQL of any service.

use std::error::Error as StdError;
use std::str::FromStr;
use std::time::Duration;

use cambium_kernel::{ErrorKind, Failure};
use rand::Rng;
use sqlx::PgPool;
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};

use crate::config::Secret;

/// Whose pool it is, and how large it may grow.
#[derive(Clone, Copy, Debug)]
pub struct PoolOptions {
    pub max: u32,
    pub service: &'static str,
}

/// Why no pool could be made. Never repeats the address: it may hold a password.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the database address of {service} is not a `postgres://` URL: correct it and start again")]
pub struct BadAddress {
    service: &'static str,
}

/// The same address for sessions whose plans are generic and use indexes: a plan made on an empty table would scan it for ever.
#[must_use]
pub fn planned(url: &Secret) -> Secret {
    let url = url.expose();
    let join = if url.contains('?') { '&' } else { '?' };
    Secret::new(format!(
        "{url}{join}options[plan_cache_mode]=force_generic_plan&options[enable_seqscan]=off\
         &options[enable_hashjoin]=off&options[enable_mergejoin]=off&options[jit]=off"
    ))
}

/// Makes a pool without connecting: a database that is away is met by the first call, and by each until it is back.
pub fn connect(url: &Secret, options: PoolOptions) -> Result<PgPool, BadAddress> {
    make(url, options, true)
}

/// As [`connect`], but a connection is not asked whether it still lives before each use: that is a round trip. Whoever
/// takes one must be ready to begin anew when it has died.
pub fn connect_unasked(url: &Secret, options: PoolOptions) -> Result<PgPool, BadAddress> {
    make(url, options, false)
}

fn make(url: &Secret, options: PoolOptions, ask: bool) -> Result<PgPool, BadAddress> {
    let PoolOptions { max, service } = options;
    let connect = PgConnectOptions::from_str(url.expose()).map_err(|_| BadAddress { service })?;
    let connect = connect.application_name(service).options([
        ("statement_timeout", "5s"),
        ("lock_timeout", "2s"),
        ("idle_in_transaction_session_timeout", "10s"),
    ]);
    Ok(PgPoolOptions::new()
        .max_connections(max)
        .acquire_timeout(Duration::from_secs(3))
        .test_before_acquire(ask)
        .connect_lazy_with(connect))
}

/// What a database error is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The database is away, restarting, or has no connection or time left.
    Unavailable,
    /// Another writer won: the same transaction, begun afresh, can succeed.
    Conflict,
    /// The database's disk is full.
    StorageFull,
    /// A bug, or data that broke a rule.
    Internal,
}

/// Sorts an error by what the caller can do about it.
#[must_use]
pub fn classify(error: &sqlx::Error) -> Fault {
    use sqlx::Error::{BeginFailed, Database, Io, PoolClosed, PoolTimedOut, Tls, WorkerCrashed};
    match error {
        Database(error) => error
            .code()
            .map_or(Fault::Internal, |code| classify_code(&code)),
        Io(_) | Tls(_) | PoolTimedOut | PoolClosed | WorkerCrashed | BeginFailed => {
            Fault::Unavailable
        }
        _ => Fault::Internal,
    }
}

fn classify_code(code: &str) -> Fault {
    match code {
        // Serialization failure, deadlock, unique violation, lock not granted in time.
        "40001" | "40P01" | "23505" | "55P03" => Fault::Conflict,
        "53100" => Fault::StorageFull,
        // Out of memory, too many connections, statement cancelled for its length.
        "53200" | "53300" | "57014" => Fault::Unavailable,
        // Read-only, or idle for too long.
        "25006" | "25P03" => Fault::Unavailable,
        _ if code.starts_with("08") || code.starts_with("57P0") => Fault::Unavailable,
        _ => Fault::Internal,
    }
}

/// A database error on its way to a caller.
#[derive(Debug, thiserror::Error)]
#[error("the database did not do it")]
pub struct Error(#[from] sqlx::Error);

impl Error {
    #[must_use]
    pub fn fault(&self) -> Fault {
        classify(&self.0)
    }

    /// The name of the constraint that refused, for stores that give it a meaning.
    #[must_use]
    pub fn constraint(&self) -> Option<&str> {
        self.0.as_database_error()?.constraint()
    }
}

/// The reason of [`Fault::Conflict`]: what [`retry_conflicts`] looks for.
pub const WRITE_CONFLICT: &str = "WRITE_CONFLICT";

impl Failure for Error {
    fn kind(&self) -> ErrorKind {
        match self.fault() {
            Fault::Unavailable => ErrorKind::Unavailable,
            Fault::Conflict => ErrorKind::Conflict,
            Fault::StorageFull => ErrorKind::Exhausted,
            Fault::Internal => ErrorKind::Internal,
        }
    }

    fn reason(&self) -> &'static str {
        match self.fault() {
            Fault::Unavailable => "DATABASE_UNAVAILABLE",
            Fault::Conflict => WRITE_CONFLICT,
            Fault::StorageFull => "STORAGE_FULL",
            Fault::Internal => "DATABASE_FAILED",
        }
    }

    fn wait(&self) -> Option<Duration> {
        (self.fault() == Fault::StorageFull).then_some(Duration::from_secs(10))
    }
}

/// Runs a transaction up to `attempts` times, as long as it fails because another writer won.
/// A domain's own conflict (a lost lease, say) has another reason and is not tried again.
pub async fn retry_conflicts<T, E, F>(
    attempts: u32,
    mut transaction: impl FnMut() -> F,
) -> Result<T, E>
where
    F: Future<Output = Result<T, E>>,
    E: Failure + 'static,
{
    let mut left = attempts;
    loop {
        left = left.saturating_sub(1);
        match transaction().await {
            Err(error) if left > 0 && error.reason() == WRITE_CONFLICT => {
                tracing::debug!(
                    error = &error as &dyn StdError,
                    left,
                    "transaction tried again"
                );
                tokio::time::sleep(pause(attempts - left)).await;
            }
            result => return result,
        }
    }
}

/// Grows with each attempt and differs between those who met, so that they do not meet again.
fn pause(attempt: u32) -> Duration {
    let most = 5_000 << attempt.min(5);
    Duration::from_micros(rand::rng().random_range(500..most))
}

#[cfg(test)]
mod tests;

//! How many calls a process works on at once. Held calls are counted apart, or idle workers would lock everybody out;
//! so is health, or a busy process would look like a dead one, and strangers who watch it could starve those who ask.

use tokio::sync::{Semaphore, SemaphorePermit};

use super::error::Error;

const SHORT_CALLS: usize = 512;
const HELD_CALLS: usize = 1_024;
const HEALTH_CALLS: usize = 64;

/// How long a method's calls may take, and so which pool they count in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pace {
    /// Answers at once.
    Short,
    /// Waits for something to happen, then answers.
    Held,
    /// Answers again and again until one side ends it.
    Stream,
    /// Asks whether the service lives.
    Health,
    /// Is told whenever that changes.
    HealthStream,
}

impl Pace {
    pub(crate) fn of(path: &str, is_health: bool) -> Self {
        let name = path.rsplit('/').next().unwrap_or_default();
        match name {
            "Watch" if is_health => Self::HealthStream,
            _ if is_health => Self::Health,
            "Poll" => Self::Held,
            "Work" | "ServerReflectionInfo" => Self::Stream,
            _ if name.starts_with("Watch") => Self::Stream,
            _ => Self::Short,
        }
    }

    pub(super) const fn is_stream(self) -> bool {
        matches!(self, Self::Stream | Self::HealthStream)
    }
}

/// The pools that calls take their room from.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    short: &'static Pool,
    held: &'static Pool,
    health: &'static Pool,
    health_stream: &'static Pool,
}

#[derive(Debug)]
pub(super) struct Pool {
    room: Semaphore,
    limit: usize,
}

/// A call's room, until it is dropped.
pub(super) type Permit = SemaphorePermit<'static>;

impl Pool {
    pub(super) const fn of(limit: usize) -> Self {
        Self {
            room: Semaphore::const_new(limit),
            limit,
        }
    }
}

impl Limits {
    /// The pools that all servers of this process share.
    pub(super) const fn of_process() -> Self {
        static SHORT: Pool = Pool::of(SHORT_CALLS);
        static HELD: Pool = Pool::of(HELD_CALLS);
        static HEALTH: Pool = Pool::of(HEALTH_CALLS);
        static HEALTH_STREAM: Pool = Pool::of(HEALTH_CALLS);
        Self {
            short: &SHORT,
            held: &HELD,
            health: &HEALTH,
            health_stream: &HEALTH_STREAM,
        }
    }

    /// Room for one call, or a refusal: nobody queues here.
    pub(super) fn admit(&self, pace: Pace) -> Result<Permit, Error> {
        let pool = match pace {
            Pace::Short => self.short,
            Pace::Held | Pace::Stream => self.held,
            Pace::Health => self.health,
            Pace::HealthStream => self.health_stream,
        };
        pool.room
            .try_acquire()
            .map_err(|_| Error::Overloaded { limit: pool.limit })
    }
}

#[cfg(test)]
impl Limits {
    /// Pools of their own, for the life of the test process.
    pub(super) fn apart(short: usize, held: usize) -> Self {
        let pool = |limit| &*Box::leak(Box::new(Pool::of(limit)));
        let (health, health_stream) = (pool(HEALTH_CALLS), pool(HEALTH_CALLS));
        Self {
            short: pool(short),
            held: pool(held),
            health,
            health_stream,
        }
    }
}

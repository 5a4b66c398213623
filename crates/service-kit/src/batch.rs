//! Group commit: many callers hand in work, a committer takes whatever has gathered and pays for one transaction.
//! Never waits for company: a lone item is taken at once, so an idle service answers as fast as it can.

use std::sync::Arc;
use std::time::Duration;

use cambium_kernel::{ErrorKind, Failure};
use tokio::sync::{Mutex, mpsc};
use tokio::time::timeout;

/// How long a caller waits for room before it is told to come back.
const PATIENCE: Duration = Duration::from_secs(1);

/// What a caller is told to wait when there was no room.
const COME_BACK: Duration = Duration::from_millis(200);

/// Why work was not taken in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Full {
    #[error("too much work is waiting; try again shortly")]
    NoRoom,
    /// Nobody will take work any more.
    #[error("the service is shutting down")]
    Closed,
}

impl Failure for Full {
    fn kind(&self) -> ErrorKind {
        match self {
            Self::NoRoom => ErrorKind::Exhausted,
            Self::Closed => ErrorKind::Unavailable,
        }
    }

    fn reason(&self) -> &'static str {
        match self {
            Self::NoRoom => "OVERLOADED",
            Self::Closed => "SHUTTING_DOWN",
        }
    }

    fn wait(&self) -> Option<Duration> {
        match self {
            Self::NoRoom => Some(COME_BACK),
            Self::Closed => None,
        }
    }
}

/// The end that callers hold.
#[derive(Debug)]
pub struct Sender<T>(mpsc::Sender<T>);

impl<T> Clone for Sender<T> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<T> Sender<T> {
    /// Hands in one item, waiting up to a second for room.
    pub async fn submit(&self, item: T) -> Result<(), Full> {
        self.submit_within(item, PATIENCE).await
    }

    /// Hands in one item if there is room right now.
    pub fn try_submit(&self, item: T) -> Result<(), Full> {
        self.0.try_send(item).map_err(|error| match error {
            mpsc::error::TrySendError::Closed(_) => Full::Closed,
            mpsc::error::TrySendError::Full(_) => Full::NoRoom,
        })
    }

    async fn submit_within(&self, item: T, patience: Duration) -> Result<(), Full> {
        let item = match self.0.try_send(item) {
            Ok(()) => return Ok(()),
            Err(mpsc::error::TrySendError::Closed(_)) => return Err(Full::Closed),
            Err(mpsc::error::TrySendError::Full(item)) => item,
        };
        match timeout(patience, self.0.reserve()).await {
            Ok(Ok(room)) => {
                room.send(item);
                Ok(())
            }
            Ok(Err(_)) => Err(Full::Closed),
            Err(_) => Err(Full::NoRoom),
        }
    }
}

/// The end that committers hold; clones share the work, and each item goes to exactly one of them.
#[derive(Debug)]
pub struct Receiver<T>(Arc<Mutex<mpsc::Receiver<T>>>);

impl<T> Clone for Receiver<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T> Receiver<T> {
    /// Waits for one item, then takes what else is there, up to `max` in all and in the order it came.
    ///
    /// `None` once every sender is gone and everything has been taken. Dropping the future loses nothing.
    pub async fn drain(&self, max: usize) -> Option<Vec<T>> {
        let mut taken = Vec::new();
        let mut queue = self.0.lock().await;
        let count = queue.recv_many(&mut taken, max.max(1)).await;
        (count > 0).then_some(taken)
    }
}

impl<T> Receiver<T> {
    /// How many items wait, as far as nobody else is taking them right now.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.0.try_lock().map_or(0, |queue| queue.len())
    }
}

/// A queue of at most `capacity` items (at least one) between callers and committers.
#[must_use]
pub fn channel<T>(capacity: usize) -> (Sender<T>, Receiver<T>) {
    let (sender, receiver) = mpsc::channel(capacity.max(1));
    (Sender(sender), Receiver(Arc::new(Mutex::new(receiver))))
}

#[cfg(test)]
mod tests;

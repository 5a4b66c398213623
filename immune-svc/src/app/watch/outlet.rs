//! The writing end of a watch.

use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::timeout;
use tonic::Status;

use super::Seat;
use crate::error::Error;

/// Items that a reader may be behind.
const BEHIND: usize = 1_000;
/// How long one may stay that far behind.
const PATIENCE: Duration = Duration::from_secs(10);

pub(super) struct Outlet<T> {
    out: mpsc::Sender<Result<T, Status>>,
    /// Room for the reason why the stream ends, however far behind its reader is.
    last_word: Option<mpsc::OwnedPermit<Result<T, Status>>>,
    _seat: Seat,
}

/// Why a watch is over.
pub(super) enum End {
    ReaderGone,
    Because(Error),
}

impl<E: Into<Error>> From<E> for End {
    fn from(error: E) -> Self {
        Self::Because(error.into())
    }
}

impl<T> Outlet<T> {
    pub(super) fn new(seat: Seat) -> (Self, mpsc::Receiver<Result<T, Status>>) {
        let (out, stream) = mpsc::channel(BEHIND + 1);
        let last_word = out.clone().try_reserve_owned().ok();
        let outlet = Self {
            out,
            last_word,
            _seat: seat,
        };
        (outlet, stream)
    }

    pub(super) async fn send(&self, item: T) -> Result<(), End> {
        match timeout(PATIENCE, self.out.send(Ok(item))).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(_)) => Err(End::ReaderGone),
            Err(_) => Err(End::Because(Error::SlowWatcher)),
        }
    }

    pub(super) async fn closed(&self) {
        self.out.closed().await;
    }

    /// Says why the stream ends.
    pub(super) fn end(self, why: Error) {
        if let Some(room) = self.last_word {
            room.send(Err(why.into()));
        }
    }
}

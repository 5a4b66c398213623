//! The writing end of a watch.

use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::timeout;
use tonic::Status;

use super::Seat;

/// Items that a reader may be behind.
const BEHIND: usize = 1_000;
/// How long one may stay that far behind.
const PATIENCE: Duration = Duration::from_secs(10);

/// What a stream brings: items, and at its end the reason for it.
pub type Sent<T> = Result<T, Status>;

/// Why an item was not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unsent {
    /// Nobody is there to be told why.
    ReaderGone,
    /// The reader stayed as far behind as it may for too long.
    TooSlow,
}

/// Where the items of one watch go in. Holds the watcher's seat.
#[derive(Debug)]
pub struct Outlet<T> {
    out: mpsc::Sender<Sent<T>>,
    /// Room for the reason why the stream ends, however far behind its reader is.
    last_word: Option<mpsc::OwnedPermit<Sent<T>>>,
    patience: Duration,
    _seat: Seat,
}

impl<T> Outlet<T> {
    /// The two ends of a watch. Its reader may be 1,000 items behind, for up to ten seconds.
    #[must_use]
    pub fn new(seat: Seat) -> (Self, mpsc::Receiver<Sent<T>>) {
        Self::bounded(seat, BEHIND, PATIENCE)
    }

    fn bounded(seat: Seat, behind: usize, patience: Duration) -> (Self, mpsc::Receiver<Sent<T>>) {
        let (out, stream) = mpsc::channel(behind + 1);
        let last_word = out.clone().try_reserve_owned().ok();
        let outlet = Self {
            out,
            last_word,
            patience,
            _seat: seat,
        };
        (outlet, stream)
    }

    /// Hands an item to the reader, waiting for room as long as it may.
    pub async fn send(&self, item: T) -> Result<(), Unsent> {
        match timeout(self.patience, self.out.send(Ok(item))).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(_)) => Err(Unsent::ReaderGone),
            Err(_) => Err(Unsent::TooSlow),
        }
    }

    /// Resolves when the reader has gone.
    pub async fn closed(&self) {
        self.out.closed().await;
    }

    /// Says why the stream ends.
    pub fn end(self, why: impl Into<Status>) {
        if let Some(room) = self.last_word {
            room.send(Err(why.into()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Watchers;
    use super::*;

    fn seat() -> Seat {
        Watchers::default().sit("operator:ada".to_owned()).unwrap()
    }

    #[tokio::test]
    async fn a_reader_that_stays_behind_gets_what_it_has_room_for_and_hears_why_it_ends() {
        let (outlet, mut stream) = Outlet::bounded(seat(), 2, Duration::from_millis(5));

        let mut told = Vec::new();
        for n in 0..3 {
            told.push(outlet.send(n).await);
        }
        outlet.end(Status::resource_exhausted("too slow"));

        assert_eq!(told, [Ok(()), Ok(()), Err(Unsent::TooSlow)]);
        assert_eq!(stream.recv().await.unwrap().unwrap(), 0);
        assert_eq!(stream.recv().await.unwrap().unwrap(), 1);
        let last = stream.recv().await.unwrap().unwrap_err();
        assert_eq!(last.message(), "too slow");
        assert!(stream.recv().await.is_none());
    }

    #[tokio::test]
    async fn a_reader_that_has_gone_ends_it_without_a_word() {
        let (outlet, stream) = Outlet::new(seat());

        drop(stream);

        assert_eq!(outlet.send(1).await, Err(Unsent::ReaderGone));
    }
}

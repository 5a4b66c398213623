//! The writing end of a watch.

use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::timeout;
use tonic::Status;

use crate::error::Error;
use cambium_service_kit::watchers::Seat;

/// Items that a reader may be behind.
const BEHIND: usize = 1_000;
/// How long one may stay that far behind.
const PATIENCE: Duration = Duration::from_secs(10);

pub(super) struct Outlet<T> {
    out: mpsc::Sender<Result<T, Status>>,
    /// Room for the reason why the stream ends, however far behind its reader is.
    last_word: Option<mpsc::OwnedPermit<Result<T, Status>>>,
    patience: Duration,
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
        Self::bounded(seat, BEHIND, PATIENCE)
    }

    fn bounded(
        seat: Seat,
        behind: usize,
        patience: Duration,
    ) -> (Self, mpsc::Receiver<Result<T, Status>>) {
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

    pub(super) async fn send(&self, item: T) -> Result<(), End> {
        match timeout(self.patience, self.out.send(Ok(item))).await {
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

#[cfg(test)]
mod tests {
    use tonic::Code;

    use super::*;
    use cambium_service_kit::watchers::Watchers;

    #[tokio::test]
    async fn a_reader_that_stays_behind_gets_what_it_has_room_for_and_hears_why_it_ends() {
        let seat = Watchers::default().sit("operator:ada".to_owned()).unwrap();
        let (outlet, mut stream) = Outlet::bounded(seat, 2, Duration::from_millis(5));

        let mut told = Vec::new();
        for n in 0..3 {
            told.push(outlet.send(n).await);
        }
        let Some(Err(End::Because(why))) = told.pop() else {
            panic!("the third has no room");
        };
        outlet.end(why);

        assert!(told.iter().all(Result::is_ok));
        assert_eq!(stream.recv().await.unwrap().unwrap(), 0);
        assert_eq!(stream.recv().await.unwrap().unwrap(), 1);
        let last = stream.recv().await.unwrap().unwrap_err();
        assert_eq!(last.code(), Code::ResourceExhausted);
        assert!(stream.recv().await.is_none());
    }

    #[tokio::test]
    async fn a_reader_that_has_gone_ends_it_without_a_word() {
        let seat = Watchers::default().sit("operator:ada".to_owned()).unwrap();
        let (outlet, stream) = Outlet::new(seat);

        drop(stream);

        assert!(matches!(outlet.send(1).await, Err(End::ReaderGone)));
    }
}

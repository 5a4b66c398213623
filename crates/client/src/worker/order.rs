//! What the runtime tells a piece of work while it runs.

use tokio::sync::watch;

/// Whether the work may have effects just now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    Go,
    /// The lease may have run out: no further effect until told to go on.
    Pause,
    Stop(Why),
}

/// Why work is to stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// The run is being cancelled.
    Cancelled,
    /// Another worker may hold the task by now; whatever is reported changes nothing.
    LeaseLost,
}

/// The orders of one attempt. The last one stands.
#[derive(Clone, Debug)]
pub struct Orders(watch::Receiver<Order>);

impl Orders {
    pub(crate) fn channel() -> (watch::Sender<Order>, Self) {
        let (sender, receiver) = watch::channel(Order::Go);
        (sender, Self(receiver))
    }

    /// Orders that never change, for work that runs outside a worker.
    #[must_use]
    pub fn unchanging() -> Self {
        Self::channel().1
    }

    #[must_use]
    pub fn current(&self) -> Order {
        *self.0.borrow()
    }

    /// Waits for an order that has not been seen. For ever, once the runtime is gone.
    pub async fn next(&mut self) -> Order {
        if self.0.changed().await.is_err() {
            std::future::pending::<()>().await;
        }
        *self.0.borrow_and_update()
    }

    /// Waits until the work is to stop.
    pub async fn stopped(&mut self) -> Why {
        loop {
            if let Order::Stop(why) = self.current() {
                return why;
            }
            self.next().await;
        }
    }

    /// Waits until effects are allowed, or says why they never will be.
    pub async fn clear(&mut self) -> Result<(), Why> {
        loop {
            match self.current() {
                Order::Go => return Ok(()),
                Order::Pause => {
                    self.next().await;
                }
                Order::Stop(why) => return Err(why),
            }
        }
    }
}

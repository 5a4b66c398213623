//! The leases a worker holds, and until when it may trust each. Time is the monotonic clock, counted from *sending*
//! the call that renewed a lease: so a worker pauses before the service can give its task away.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use cambium_proto::hypha::v1::{Lease, LeaseState, LeaseStatus};
use tokio::sync::{Notify, watch};
use tokio::time::Instant;

use super::{Order, Orders, Why};

#[derive(Debug, Default)]
pub(crate) struct Table {
    held: Mutex<HashMap<String, Held>>,
    urgent: Notify,
}

#[derive(Debug)]
struct Held {
    lease: Lease,
    until: Instant,
    orders: watch::Sender<Order>,
}

impl Held {
    /// A stop is never taken back.
    fn order(&self, order: Order) {
        self.orders.send_if_modified(|current| {
            let news = !matches!(current, Order::Stop(_)) && *current != order;
            if news {
                *current = order;
            }
            news
        });
    }
}

impl Table {
    /// Holds a lease until `until`. One that may have run out on its way here begins paused, and is asked about at once.
    pub(crate) fn hold(&self, lease: Lease, until: Instant, now: Instant) -> Orders {
        let (sender, orders) = Orders::channel();
        let held = Held {
            lease,
            until,
            orders: sender,
        };
        if until <= now {
            held.order(Order::Pause);
            self.urgent.notify_one();
        }
        self.lock().insert(held.lease.lease_id.clone(), held);
        orders
    }

    pub(crate) fn let_go(&self, lease_id: &str) {
        self.lock().remove(lease_id);
    }

    /// Every lease that is not known to be lost.
    pub(crate) fn leases(&self) -> Vec<Lease> {
        let lost = |held: &&Held| *held.orders.borrow() != Order::Stop(Why::LeaseLost);
        let held = self.lock();
        held.values()
            .filter(lost)
            .map(|held| held.lease.clone())
            .collect()
    }

    /// Takes what a heartbeat sent at `sent` was told.
    pub(crate) fn hear(&self, statuses: &[LeaseStatus], sent: Instant) {
        let mut table = self.lock();
        for status in statuses {
            let Some(held) = table.get_mut(&status.lease_id) else {
                continue;
            };
            let renewed = sent + Duration::from_millis(status.lease_ms.into());
            match status.state() {
                LeaseState::Ok => {
                    held.until = held.until.max(renewed);
                    held.order(Order::Go);
                }
                LeaseState::Cancel => {
                    held.until = held.until.max(renewed);
                    held.order(Order::Stop(Why::Cancelled));
                }
                LeaseState::Lost | LeaseState::NotFound => held.order(Order::Stop(Why::LeaseLost)),
                LeaseState::Unspecified => {}
            }
        }
    }

    /// Pauses whatever has run out.
    pub(crate) fn pause_expired(&self, now: Instant) {
        for held in self.lock().values().filter(|held| held.until <= now) {
            held.order(Order::Pause);
        }
    }

    /// When the next lease runs out that has not yet.
    pub(crate) fn next_expiry(&self, now: Instant) -> Option<Instant> {
        let held = self.lock();
        held.values()
            .map(|held| held.until)
            .filter(|until| *until > now)
            .min()
    }

    /// Waits for a lease that must be asked about at once.
    pub(crate) async fn urgent(&self) {
        self.urgent.notified().await;
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Held>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEASE: Duration = Duration::from_secs(10);

    fn lease(id: &str) -> Lease {
        Lease {
            lease_id: id.to_owned(),
            ..Lease::default()
        }
    }

    fn status(id: &str, state: LeaseState) -> LeaseStatus {
        LeaseStatus {
            lease_id: id.to_owned(),
            state: state.into(),
            lease_ms: 10_000,
        }
    }

    #[test]
    fn work_pauses_when_its_lease_may_have_run_out_and_goes_on_at_ok() {
        let (table, start) = (Table::default(), Instant::now());
        let orders = table.hold(lease("a"), start + LEASE, start);

        table.pause_expired(start + LEASE - Duration::from_millis(1));
        assert_eq!(orders.current(), Order::Go);
        table.pause_expired(start + LEASE);
        assert_eq!(orders.current(), Order::Pause);
        table.hear(&[status("a", LeaseState::Ok)], start + LEASE);

        assert_eq!(orders.current(), Order::Go);
        assert_eq!(table.next_expiry(start + LEASE), Some(start + 2 * LEASE));
    }

    #[test]
    fn a_lease_that_ran_out_on_its_way_begins_paused() {
        let (table, start) = (Table::default(), Instant::now());

        let orders = table.hold(lease("a"), start, start);

        assert_eq!(orders.current(), Order::Pause);
    }

    #[test]
    fn a_stop_is_never_taken_back() {
        let (table, start) = (Table::default(), Instant::now());
        let orders = table.hold(lease("a"), start + LEASE, start);

        table.hear(&[status("a", LeaseState::Cancel)], start);
        table.hear(&[status("a", LeaseState::Ok)], start);
        table.pause_expired(start + 5 * LEASE);

        assert_eq!(orders.current(), Order::Stop(Why::Cancelled));
    }

    #[test]
    fn a_lost_lease_is_not_asked_about_again() {
        let (table, start) = (Table::default(), Instant::now());
        let lost = table.hold(lease("a"), start + LEASE, start);
        let _kept = table.hold(lease("b"), start + LEASE, start);

        table.hear(
            &[status("a", LeaseState::Lost), status("b", LeaseState::Ok)],
            start,
        );

        assert_eq!(lost.current(), Order::Stop(Why::LeaseLost));
        assert_eq!(table.leases(), [lease("b")]);
    }

    #[test]
    fn an_old_heartbeat_never_shortens_a_lease() {
        let (table, start) = (Table::default(), Instant::now());
        let _orders = table.hold(lease("a"), start + 2 * LEASE, start);

        table.hear(&[status("a", LeaseState::Ok)], start);

        assert_eq!(table.next_expiry(start), Some(start + 2 * LEASE));
    }
}

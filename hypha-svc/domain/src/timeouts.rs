//! The clocks of a task that a graph may set. The lease is the service's own and not among them.

use chrono::{DateTime, TimeDelta, Utc};

/// Three clocks apart; unset is none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Timeouts {
    /// From ready to claimed.
    pub queue: Option<TimeDelta>,
    /// Of one attempt. Stops while the task is parked.
    pub run: Option<TimeDelta>,
    /// From first ready to the end, over all attempts; goes on while the task is parked or backs off.
    pub total: Option<TimeDelta>,
}

/// Which clock ran out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TimeoutKind {
    Queue,
    Run,
    Total,
}

impl TimeoutKind {
    /// The failure code of a task that ran into it.
    #[must_use]
    pub const fn code(self) -> &'static str {
        match self {
            Self::Queue => "QUEUE_TIMEOUT",
            Self::Run => "RUN_TIMEOUT",
            Self::Total => "TOTAL_TIMEOUT",
        }
    }
}

impl Timeouts {
    /// The earliest moment at which a clock runs out, and which one that is.
    ///
    /// `ready_at` is when the task became ready for a claim, `leased_at` when it was claimed. A leased task has no
    /// queue, and a task that is parked or backs off has neither: both are `None`, and `total` alone goes on.
    #[must_use]
    pub fn deadline(
        &self,
        ready_at: Option<DateTime<Utc>>,
        leased_at: Option<DateTime<Utc>>,
        first_ready_at: DateTime<Utc>,
    ) -> Option<(DateTime<Utc>, TimeoutKind)> {
        let queued_at = if leased_at.is_none() { ready_at } else { None };
        [
            ends(queued_at, self.queue, TimeoutKind::Queue),
            ends(leased_at, self.run, TimeoutKind::Run),
            ends(Some(first_ready_at), self.total, TimeoutKind::Total),
        ]
        .into_iter()
        .flatten()
        .min_by_key(|(at, _)| *at)
    }
}

/// A deadline past the end of the calendar is none.
fn ends(
    from: Option<DateTime<Utc>>,
    after: Option<TimeDelta>,
    kind: TimeoutKind,
) -> Option<(DateTime<Utc>, TimeoutKind)> {
    Some((from?.checked_add_signed(after?)?, kind))
}

#[cfg(test)]
mod tests;

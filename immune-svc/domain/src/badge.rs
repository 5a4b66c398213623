//! Badges: what is to be seen of an agent at a glance. Computed here, shown everywhere.

use cambium_kernel::Score;

use crate::policy::Policy;

/// Fewer rows than these, and an agent is new.
const ROWS_OF_THE_NEW: i64 = 5;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Badge {
    /// Its generosity is below the policy's threshold.
    Hoarding,
    /// Generous, and not well.
    Overextended,
    Quarantined,
    /// Little is known of it.
    New,
}

/// What badges are made of.
#[derive(Clone, Copy, Debug)]
pub struct Marks {
    pub generosity: Score,
    pub is_overextended: bool,
    pub is_quarantined: bool,
    pub ledger_rows: i64,
}

impl Marks {
    /// In the order of [`Badge`], each once.
    #[must_use]
    pub fn badges(&self, policy: &Policy) -> Vec<Badge> {
        let marks = [
            (Badge::Hoarding, self.generosity < policy.hoarding_threshold),
            (Badge::Overextended, self.is_overextended),
            (Badge::Quarantined, self.is_quarantined),
            (Badge::New, self.ledger_rows < ROWS_OF_THE_NEW),
        ];
        let borne = marks.into_iter().filter(|(_, is_borne)| *is_borne);
        borne.map(|(badge, _)| badge).collect()
    }
}

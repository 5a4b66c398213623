//! The numbers by which generosity moves. The defaults are the seed's.

use cambium_kernel::Score;

use crate::amount::clamped;

/// A workspace's numbers. Amounts are scores: none is below 0, and the penalty is taken away.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policy {
    /// 0 for the defaults that nobody has changed.
    pub version: i64,
    pub contribution_bonus: Score,
    pub consumption_penalty: Score,
    pub knowledge_share_bonus: Score,
    pub hoarding_threshold: Score,
    pub overextension_check: bool,
    /// Credited gratitudes of one giver and one receiver a UTC day.
    pub pair_daily_cap: u32,
    /// Credited knowledge shares of one agent a UTC day.
    pub share_daily_cap: u32,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            version: 0,
            contribution_bonus: clamped(30_000),
            consumption_penalty: clamped(20_000),
            knowledge_share_bonus: clamped(20_000),
            hoarding_threshold: clamped(250_000),
            overextension_check: true,
            pair_daily_cap: 3,
            share_daily_cap: 50,
        }
    }
}

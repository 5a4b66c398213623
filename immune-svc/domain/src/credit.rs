//! What is credited. Nobody earns by thanking itself, and what two agents do for each other is counted only so often a day:
//! the fact is always written down, the credit is not always given.

use cambium_kernel::AgentId;

use crate::policy::Policy;

/// Whether a fact moves the score of the one who gave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Credit {
    Given,
    ToOneself,
    PairCapReached { cap: u32 },
    ShareCapReached { cap: u32 },
}

impl Credit {
    /// Of a gratitude. `credited` counts those of this pair and day, and grows when this one is credited.
    pub fn of_gratitude(
        giver: AgentId,
        receiver: Option<AgentId>,
        credited: &mut u32,
        policy: &Policy,
    ) -> Self {
        let cap = policy.pair_daily_cap;
        if receiver == Some(giver) {
            Self::ToOneself
        } else if take(credited, cap) {
            Self::Given
        } else {
            Self::PairCapReached { cap }
        }
    }

    /// Of a knowledge share. `credited` counts those of this agent and day, and grows when this one is credited.
    pub fn of_share(credited: &mut u32, policy: &Policy) -> Self {
        let cap = policy.share_daily_cap;
        if take(credited, cap) {
            Self::Given
        } else {
            Self::ShareCapReached { cap }
        }
    }

    #[must_use]
    pub const fn is_given(self) -> bool {
        matches!(self, Self::Given)
    }

    /// Why nothing was credited.
    #[must_use]
    pub fn reason(self) -> Option<String> {
        match self {
            Self::Given => None,
            Self::ToOneself => Some("the giver used its own output: that earns nothing".to_owned()),
            Self::PairCapReached { cap } => Some(format!(
                "these two have had {cap} credited gratitudes on that day: no more count"
            )),
            Self::ShareCapReached { cap } => Some(format!(
                "the agent has had {cap} credited shares on that day: no more count"
            )),
        }
    }
}

/// Counts one more, if the cap leaves room. How many are credited does not depend on their order.
const fn take(credited: &mut u32, cap: u32) -> bool {
    let has_room = *credited < cap;
    if has_room {
        *credited += 1;
    }
    has_room
}

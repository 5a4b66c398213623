//! What an operator should know of what was set: shares that cannot be reached, slots that do not fit, limits that nothing passes,
//! reviews that nobody held. Repairs nothing and refuses nothing (design: swarm, sections 3 and 6).

#[cfg(test)]
mod tests;

use std::fmt;

use cambium_kernel::Usd;
use chrono::NaiveDate;

use crate::dial::Dial;
use crate::share::EffectiveShare;
use crate::wallet::Limit;
use crate::{Instance, pick, review};

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Warning {
    /// While slots are the limit the mind cannot have what its share says.
    ShareInfeasible { mind: Instance },
    /// Not all slots can be taken at once, even with a full bucket.
    BurstTooSmall { fits: u32, k: u32 },
    /// One turn may cost more than the whole period: nothing can start.
    CapOverWallet { cap: Usd, limit: Usd },
    /// The wallet's row is out of its bounds: nothing can start.
    WalletUnreadable,
    /// The date has passed, and the ruling still holds.
    ReviewOverdue {
        holder: Instance,
        ruling: String,
        review_on: NaiveDate,
    },
}

impl Warning {
    #[must_use]
    pub const fn reason(&self) -> &'static str {
        match self {
            Self::ShareInfeasible { .. } => "SHARE_INFEASIBLE",
            Self::BurstTooSmall { .. } => "BURST_TOO_SMALL",
            Self::CapOverWallet { .. } => "CAP_OVER_WALLET",
            Self::WalletUnreadable => "WALLET_UNREADABLE",
            Self::ReviewOverdue { .. } => "REVIEW_OVERDUE",
        }
    }

    /// Whom it is about, where it is about one mind.
    #[must_use]
    pub const fn mind(&self) -> Option<&Instance> {
        match self {
            Self::ShareInfeasible { mind } => Some(mind),
            Self::ReviewOverdue { holder, .. } => Some(holder),
            Self::BurstTooSmall { .. } | Self::CapOverWallet { .. } | Self::WalletUnreadable => {
                None
            }
        }
    }
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ShareInfeasible { mind } => write!(
                f,
                "the share of `{mind}` cannot be reached while slots are the limit: a mind has one slot"
            ),
            Self::BurstTooSmall { fits, k } => write!(
                f,
                "the burst lets {fits} of {k} turns be alive at once: k needs a burst of k - 1 caps"
            ),
            Self::CapOverWallet { cap, limit } => write!(
                f,
                "a turn may cost {} micro-dollars, the wallet's whole limit is {}: nothing can start",
                cap.as_micros(),
                limit.as_micros()
            ),
            Self::WalletUnreadable => {
                f.write_str("the wallet cannot be read: nothing can start until it is set again")
            }
            Self::ReviewOverdue {
                ruling, review_on, ..
            } => write!(f, "ruling `{ruling}` was to be reviewed on {review_on}"),
        }
    }
}

/// Of the members whose share cannot be reached.
#[must_use]
pub fn of_shares(members: &[(Instance, EffectiveShare)], dial: &Dial) -> Vec<Warning> {
    let infeasible = pick::infeasible(members, dial.k()).into_iter();
    infeasible
        .map(|mind| Warning::ShareInfeasible { mind })
        .collect()
}

/// Of a burst that does not let all slots be taken.
#[must_use]
pub fn of_burst(dial: &Dial) -> Option<Warning> {
    let (fits, k) = (dial.fits(), dial.k());
    (fits < k).then_some(Warning::BurstTooSmall { fits, k })
}

/// Of a wallet that lets nothing start, whatever has been spent.
#[must_use]
pub fn of_wallet(dial: Option<&Dial>, limit: &Limit) -> Option<Warning> {
    match (limit, dial) {
        (Limit::Unreadable, _) => Some(Warning::WalletUnreadable),
        (Limit::Of(wallet, _), Some(dial)) if dial.cap() > wallet.limit => {
            Some(Warning::CapOverWallet {
                cap: dial.cap(),
                limit: wallet.limit,
            })
        }
        (Limit::Of(..), Some(_) | None) | (Limit::Open, _) => None,
    }
}

/// Of a ruling in force whose date has passed.
#[must_use]
pub fn of_review(
    holder: Instance,
    ruling: String,
    review_on: NaiveDate,
    today: NaiveDate,
) -> Option<Warning> {
    review::is_overdue(review_on, today).then_some(Warning::ReviewOverdue {
        holder,
        ruling,
        review_on,
    })
}

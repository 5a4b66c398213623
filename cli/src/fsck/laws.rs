//! The laws of swarm, over its rows (design: swarm, section 12; reliability, section 4). Each is written down here afresh and uses none
//! of the service's own rules: an oracle that shared them would share their mistakes.

mod clock;
mod money;
mod order;
mod reach;
#[cfg(test)]
mod tests;

use super::Verdict;
use super::rows::Swarm;

type Law = fn(&Swarm) -> Verdict;

pub(super) const SWARM: &[(&str, Law)] = &[
    ("I-W1", clock::exact_ledger),
    ("I-W2", money::wallet_and_bucket),
    ("I-W3", order::argmin),
    ("I-W4", order::lag),
    ("I-W5", order::no_starvation),
    ("I-W6", clock::no_banking),
    ("I-W7", reach::slots),
    ("I-W8", reach::conservation),
    ("I-W9", reach::brake),
    ("I-W10", money::unmeasured),
];

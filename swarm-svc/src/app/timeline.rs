//! Whose turn it is, from tick to charge (design: swarm, sections 6 and 7). Everything that holds the bucket's row begins with
//! [`held::hold`]; no call to another service is made while it is held.

mod brief;
mod close;
mod follow;
mod grants;
pub(super) mod held;
mod life;
mod look;
mod mint;
mod reconcile;
mod record;
mod settle;
mod start;
mod tick;
mod why;

pub(crate) use life::Holding;
pub(crate) use mint::Of;
pub(crate) use record::Record;
pub(crate) use settle::{Found, settle};
pub(crate) use tick::Ticked;

/// Who launches, as the audit calls it.
const SCHEDULER: &str = "scheduler:wake";
/// Who settles, where it is no meter of the operator's.
const METER: &str = "meter:swarm";

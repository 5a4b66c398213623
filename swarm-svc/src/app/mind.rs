//! The use cases of a mind's life: proposed, opened, left to itself, retired, and looked at. What a mind writes down and how its turns
//! go is others' business.

mod agenda;
mod look;
mod open;
mod propose;
mod retire;
mod watch;

pub(crate) use look::look;
pub(crate) use open::{Birth, bear, identity};
pub(crate) use propose::Proposal;
pub(crate) use retire::{leave, touch_all};

//! The rules of immune: how facts move an agent's scores, what counts as an anomaly, who may be put in quarantine.
//! Decides from what it is given: no clock, no storage, no wire.

mod amount;
mod badge;
mod commons;
mod credit;
mod error;
mod health;
mod ledger;
mod policy;
mod quarantine;
mod recent;
mod rule;
mod standing;
mod tally;
mod trust;

pub use amount::moved;
pub use badge::{Badge, Marks};
pub use commons::{Bite, Commons, Member};
pub use credit::Credit;
pub use error::Error;
pub use health::{Band, Busy, Evidence, Vitals};
pub use ledger::{Break, Entry, Event, ScoreKind, Track, replay};
pub use policy::Policy;
pub use quarantine::{TRIAL_TRUST, stay};
pub use recent::{Outcome, Recent};
pub use rule::{Response, Rule, Span, built_in, built_ins};
pub use standing::{Action, Change, Settlement, Standing, Stress};
pub use tally::Tally;
pub use trust::{EXTERNAL_START, START, drifted};

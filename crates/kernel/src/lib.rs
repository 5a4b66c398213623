//! What every Cambium crate agrees on: identifiers, scores, money, the clock, and what a failure is.
//! Holds no rule of any subsystem, no I/O and no wire type.

mod clock;
mod failure;
mod id;
mod name;
mod score;

pub use clock::{Clock, ManualClock, SystemClock};
pub use failure::{ErrorKind, Failure};
pub use id::{AgentId, LeaseId, MarkerId, RegistrationId, RunId, SignalId};
pub use name::{Capability, NameError, WorkspaceId, check_name};
pub use score::{Score, ScoreError, Usd};

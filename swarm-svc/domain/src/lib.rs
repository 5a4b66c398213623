//! The rules of swarm: whose turn it is, what it may cost and did cost, who a mind is and what it wrote down, and who may say so.
//! Launches nothing, believes no cost that a mind declares, and knows neither clock nor database nor wire.

pub mod authority;
pub mod bucket;
pub mod canonical;
pub mod charge;
pub mod dial;
mod error;
pub mod forecast;
mod id;
pub mod launch;
pub mod loan;
pub mod member;
pub mod mind;
pub mod persona;
pub mod pick;
#[cfg(test)]
mod play;
pub mod record;
pub mod review;
pub mod session;
pub mod share;
pub mod target;
pub mod text;
pub mod tick;
pub mod time;
pub mod timeline;
pub mod transfer;
pub mod turn;
pub mod wallet;
pub mod warning;
mod why;
pub mod work;

pub use error::Error;
pub use id::{LoanId, SessionId, TurnId, WorkId};
pub use text::Instance;
pub use why::Why;

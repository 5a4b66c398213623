//! Other services, as swarm calls them.

mod hypha;

pub(crate) use hypha::{Closed, Hypha, Started};

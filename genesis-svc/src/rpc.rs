//! The doors of genesis: a call is read, handed to one use case, and answered.

mod agent;

pub(crate) use agent::AgentRpc;

//! The doors of stigmergy: a call is read, handed to one use case, and answered.

mod marker;

pub(crate) use marker::MarkerRpc;

//! stigmergy.

//! The rules of stigmergy.

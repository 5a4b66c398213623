//! What the stories under `tests/` and the worker process that they start have in common. Ships nothing.

pub mod hand;
pub mod part;

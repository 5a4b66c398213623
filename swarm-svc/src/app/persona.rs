//! The use cases of a persona: put by its own mind, imported once by the operator, read by all, and compared.

mod diff;
mod import;
mod put;
mod read;

pub(crate) use put::Submission;

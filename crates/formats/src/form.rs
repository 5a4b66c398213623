//! Our own form, YAML or JSON: the fields of the contract by their names, written for people.
//! What nothing reads is refused with its path: a mistyped field must not pass for an absent one.

mod names;
mod read;
mod write;

pub(crate) use read::read;
pub use write::{to_json, to_yaml};

#[cfg(test)]
mod laws;
#[cfg(test)]
mod tests;

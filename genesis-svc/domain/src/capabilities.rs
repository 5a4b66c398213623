//! What an agent can do, as a set.

#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use cambium_kernel::Capability;

use crate::Error;

/// A set of capabilities: in which order, or how often, one is named makes no difference.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Capabilities(BTreeSet<Capability>);

impl Capabilities {
    /// More than this many is refused.
    pub const MOST: usize = 100;

    // INVARIANT: at most `MOST`. What is counted is what was named, so that a refusal is cheap.
    pub fn parse<T: AsRef<str>>(names: &[T]) -> Result<Self, Error> {
        if names.len() > Self::MOST {
            return Err(Error::TooManyCapabilities { given: names.len() });
        }
        let parsed = names.iter().enumerate().map(|(index, name)| {
            Capability::parse(name.as_ref()).map_err(|source| Error::Capability { index, source })
        });
        parsed.collect::<Result<_, _>>().map(Self)
    }

    /// What of these another does not have.
    #[must_use]
    pub fn beyond(&self, other: &Self) -> Self {
        Self(self.0.difference(&other.0).cloned().collect())
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// In byte order, each once.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(Capability::as_str)
    }
}

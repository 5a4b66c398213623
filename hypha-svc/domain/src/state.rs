//! How a task can end, and sets of such ends. States before the end belong to the service.

use std::fmt;

use crate::Error;

/// How a task ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum EndState {
    Succeeded,
    /// Its attempts are used up, or its failure may not be tried again.
    Failed,
    /// Its own condition was false.
    Skipped,
    /// It can no longer run.
    Omitted,
    Cancelled,
}

impl EndState {
    pub const ALL: [Self; 5] = [
        Self::Succeeded,
        Self::Failed,
        Self::Skipped,
        Self::Omitted,
        Self::Cancelled,
    ];

    pub fn parse(text: &str) -> Result<Self, Error> {
        Self::ALL
            .into_iter()
            .find(|state| state.as_str() == text)
            .ok_or_else(|| Error::UnknownEndState(text.to_owned()))
    }

    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Succeeded => "succeeded",
            Self::Failed => "failed",
            Self::Skipped => "skipped",
            Self::Omitted => "omitted",
            Self::Cancelled => "cancelled",
        }
    }
}

impl fmt::Display for EndState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A set of end states: those of an upstream task that fire an edge.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct EndStates(u8);

impl EndStates {
    #[must_use]
    pub const fn of(states: &[EndState]) -> Self {
        let mut bits = 0;
        let mut at = 0;
        while at < states.len() {
            bits |= 1 << states[at] as u8;
            at += 1;
        }
        Self(bits)
    }

    #[must_use]
    pub const fn contains(self, state: EndState) -> bool {
        self.0 & (1 << state as u8) != 0
    }

    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Whether success alone is in the set, as it is unless somebody says otherwise.
    #[must_use]
    pub const fn only_succeeded(self) -> bool {
        self.0 == Self::of(&[EndState::Succeeded]).0
    }

    /// Its members, in the order of [`EndState::ALL`].
    pub fn iter(self) -> impl Iterator<Item = EndState> {
        EndState::ALL
            .into_iter()
            .filter(move |&state| self.contains(state))
    }
}

impl Default for EndStates {
    fn default() -> Self {
        Self::of(&[EndState::Succeeded])
    }
}

impl FromIterator<EndState> for EndStates {
    fn from_iter<I: IntoIterator<Item = EndState>>(states: I) -> Self {
        Self(
            states
                .into_iter()
                .fold(0, |bits, state| bits | 1 << state as u8),
        )
    }
}

impl fmt::Debug for EndStates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn every_state_reads_its_own_name() {
        for state in EndState::ALL {
            assert_eq!(EndState::parse(state.as_str()), Ok(state));
        }
        assert!(EndState::parse("Succeeded").is_err());
    }

    #[test]
    fn an_edge_fires_on_success_alone_unless_told_otherwise() {
        assert!(EndStates::default().only_succeeded());
        assert!(!EndStates::of(&[EndState::Succeeded, EndState::Failed]).only_succeeded());
        assert!(!EndStates::of(&[]).only_succeeded());
    }

    proptest! {
        #[test]
        fn a_set_holds_what_was_put_in(picked in proptest::sample::subsequence(EndState::ALL.to_vec(), 0..=5)) {
            let set = EndStates::of(&picked);

            prop_assert_eq!(set.iter().collect::<Vec<_>>(), picked.clone());
            prop_assert_eq!(picked.into_iter().collect::<EndStates>(), set);
        }
    }
}

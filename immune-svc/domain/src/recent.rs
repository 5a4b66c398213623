//! How an agent's last tasks ended, for rules that count in tasks rather than in time.

/// How one attempt ended, as its employer saw it. A stale completion is none: nothing ended with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Outcome {
    Succeeded,
    Failed,
    InvalidOutput,
    LeaseLost,
}

impl Outcome {
    /// The type under which rules count it. What is no output is a failure too.
    #[must_use]
    pub const fn signal_type(self) -> &'static str {
        match self {
            Self::Succeeded => "task.succeeded",
            Self::Failed | Self::InvalidOutput => "task.failed",
            Self::LeaseLost => "task.lease_lost",
        }
    }

    const fn code(self) -> u8 {
        match self {
            Self::Succeeded => b's',
            Self::Failed => b'f',
            Self::InvalidOutput => b'i',
            Self::LeaseLost => b'l',
        }
    }

    const fn from_code(code: u8) -> Option<Self> {
        match code {
            b's' => Some(Self::Succeeded),
            b'f' => Some(Self::Failed),
            b'i' => Some(Self::InvalidOutput),
            b'l' => Some(Self::LeaseLost),
            _ => None,
        }
    }
}

/// The last outcomes, the newest at the end, and how many there have ever been.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recent {
    // INVARIANT: at most `MOST`, and never more than `settled`.
    outcomes: Vec<Outcome>,
    settled: i64,
}

impl Recent {
    /// How far back a rule can count.
    pub const MOST: usize = 100;

    /// From what [`Recent::as_text`] gave; nothing if it is no such text.
    #[must_use]
    pub fn parse(text: &str, settled: i64) -> Option<Self> {
        let outcomes: Option<Vec<Outcome>> = text.bytes().map(Outcome::from_code).collect();
        let outcomes = outcomes.filter(|all| all.len() <= Self::MOST)?;
        Some(Self { outcomes, settled })
    }

    /// A letter for each outcome.
    #[must_use]
    pub fn as_text(&self) -> String {
        self.outcomes
            .iter()
            .map(|outcome| char::from(outcome.code()))
            .collect()
    }

    #[must_use]
    pub const fn settled(&self) -> i64 {
        self.settled
    }

    /// Adds the newest.
    pub fn push(&mut self, outcome: Outcome) {
        if self.outcomes.len() == Self::MOST {
            self.outcomes.remove(0);
        }
        self.outcomes.push(outcome);
        self.settled += 1;
    }

    /// How many of the last `most` settlements after the first `spent` ones rules count under `signal_type`.
    #[must_use]
    pub fn count(&self, signal_type: &str, most: u32, spent: i64) -> usize {
        let fresh = usize::try_from((self.settled - spent).max(0)).unwrap_or(usize::MAX);
        self.outcomes
            .iter()
            .rev()
            .take(fresh.min(most as usize))
            .filter(|outcome| outcome.signal_type() == signal_type)
            .count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outcomes_read_back_from_their_text() {
        let mut recent = Recent::default();
        for outcome in [
            Outcome::Succeeded,
            Outcome::Failed,
            Outcome::InvalidOutput,
            Outcome::LeaseLost,
        ] {
            recent.push(outcome);
        }

        assert_eq!(recent.as_text(), "sfil");
        assert_eq!(Recent::parse("sfil", 4), Some(recent));
        assert_eq!(Recent::parse("sx", 2), None);
    }

    #[test]
    fn only_the_last_hundred_are_kept() {
        let mut recent = Recent::default();

        recent.push(Outcome::Failed);
        (0..100).for_each(|_| recent.push(Outcome::Succeeded));

        assert_eq!(recent.settled(), 101);
        assert_eq!(recent.count("task.failed", 100, 0), 0);
        assert_eq!(recent.count("task.succeeded", 20, 0), 20);
        assert_eq!(recent.count("task.succeeded", 20, 96), 5);
    }
}

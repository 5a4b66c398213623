//! What moved a score, step by step. The steps are the truth: they are replayed, never summed, since clamping makes
//! their order matter.

use cambium_kernel::Score;

use crate::amount::moved;
use crate::standing::Action;

/// The three scores of a standing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ScoreKind {
    Trust,
    Generosity,
    Health,
}

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Event {
    Contribution,
    Consumption,
    KnowledgeShare,
    TaskSucceeded,
    TaskFailed,
    InvalidOutput,
    LeaseLost,
    /// Trust that nothing moved for a week or more.
    IdleDrift,
    /// An operator's word.
    Adjustment,
    /// A rule fired.
    Anomaly,
    /// A quarantine ended by itself.
    TrialReturn,
}

impl Event {
    pub const ALL: [Self; 11] = [
        Self::Contribution,
        Self::Consumption,
        Self::KnowledgeShare,
        Self::TaskSucceeded,
        Self::TaskFailed,
        Self::InvalidOutput,
        Self::LeaseLost,
        Self::IdleDrift,
        Self::Adjustment,
        Self::Anomaly,
        Self::TrialReturn,
    ];

    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Contribution => "contribution",
            Self::Consumption => "consumption",
            Self::KnowledgeShare => "knowledge_share",
            Self::TaskSucceeded => "task_succeeded",
            Self::TaskFailed => "task_failed",
            Self::InvalidOutput => "invalid_output",
            Self::LeaseLost => "lease_lost",
            Self::IdleDrift => "idle_drift",
            Self::Adjustment => "adjustment",
            Self::Anomaly => "anomaly",
            Self::TrialReturn => "trial_return",
        }
    }

    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|event| event.as_str() == text)
    }
}

/// One step of one score. `after` is `before` moved by `delta`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    pub kind: ScoreKind,
    /// Counts the steps of its score, from 1.
    pub seq: i64,
    pub event: Event,
    pub before: Score,
    /// In millionths, before clamping.
    pub delta: i32,
    pub after: Score,
    /// Of the policy that gave the delta; 0 where none did.
    pub policy_version: i64,
    /// What the step set off.
    pub action: Action,
    /// Why a fact moved nothing.
    pub reason: Option<String>,
}

/// A score, and how many steps led to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Track {
    pub score: Score,
    pub seq: i64,
}

impl Track {
    #[must_use]
    pub const fn at(score: Score) -> Self {
        Self { score, seq: 0 }
    }

    pub(crate) fn step(&mut self, kind: ScoreKind, event: Event, delta: i32) -> Entry {
        let before = self.score;
        self.score = moved(before, delta);
        self.seq += 1;
        Entry {
            kind,
            seq: self.seq,
            event,
            before,
            delta,
            after: self.score,
            policy_version: 0,
            action: Action::None,
            reason: None,
        }
    }
}

/// A ledger that does not follow from itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("step {seq} does not follow from the one before it")]
pub struct Break {
    pub seq: i64,
}

/// The score to which the steps of one score lead from `start`.
pub fn replay<'a>(
    start: Score,
    entries: impl IntoIterator<Item = &'a Entry>,
) -> Result<Score, Break> {
    let mut track = Track::at(start);
    for entry in entries {
        let follows = entry.before == track.score
            && entry.after == moved(entry.before, entry.delta)
            && entry.seq == track.seq + 1;
        if !follows {
            return Err(Break { seq: entry.seq });
        }
        track = Track {
            score: entry.after,
            seq: entry.seq,
        };
    }
    Ok(track.score)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_event_reads_back_from_its_name() {
        for event in Event::ALL {
            assert_eq!(Event::parse(event.as_str()), Some(event));
        }
        assert_eq!(Event::parse("Contribution"), None);
    }

    #[test]
    fn a_step_that_was_changed_afterwards_is_found() {
        let mut track = Track::at(Score::ratio(1, 2));
        let first = track.step(ScoreKind::Trust, Event::TaskSucceeded, 10_000);
        let mut second = track.step(ScoreKind::Trust, Event::TaskFailed, -30_000);
        assert_eq!(
            replay(Score::ratio(1, 2), [&first, &second]),
            Ok(track.score)
        );

        second.after = first.after;

        assert_eq!(
            replay(Score::ratio(1, 2), [&first, &second]),
            Err(Break { seq: 2 })
        );
    }
}

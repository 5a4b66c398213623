//! One agent's standing, and how each fact moves it. What a fact sets off (stress, advice) comes back beside the steps it
//! took: nothing changes without a step.

use cambium_kernel::Score;
use chrono::{DateTime, TimeDelta, Utc};

use crate::amount::clamped;
use crate::credit::Credit;
use crate::health::{Band, Evidence, Vitals};
use crate::ledger::{Entry, Event, ScoreKind, Track};
use crate::policy::Policy;
use crate::quarantine::TRIAL_TRUST;
use crate::recent::{Outcome, Recent};
use crate::trust::{self, drifted};

const GENEROSITY_START: i32 = 500_000;
/// More generous than this while not well is too much.
const OVEREXTENDED_FROM: i32 = 800_000;
/// How loudly overextension is said.
const OVEREXTENSION: i32 = 700_000;

/// What a step set off.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Action {
    #[default]
    None,
    HoardingDetected,
    OverextensionDetected,
}

/// A stress signal about the agent. Both are concerning, neither is misbehaviour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stress {
    /// It consumes without giving; how far below the threshold it is.
    Hoarding { intensity: Score },
    /// It gives, and is not well.
    Overextension,
}

impl Stress {
    /// How loudly it is said.
    #[must_use]
    pub fn intensity(self) -> Score {
        match self {
            Self::Hoarding { intensity } => intensity,
            Self::Overextension => clamped(OVEREXTENSION),
        }
    }
}

/// How an attempt of the agent ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settlement {
    pub outcome: Outcome,
    pub ended_at: DateTime<Utc>,
    pub duration: TimeDelta,
    pub slots: u32,
    pub busy: u32,
}

/// What one fact did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Change {
    /// The steps of the ledger, in order.
    pub entries: Vec<Entry>,
    pub stress: Vec<Stress>,
    /// The share of its slots that the agent should use from now on, if that changed.
    pub advice: Option<Score>,
}

/// Scores, what they are made of, and what they led to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Standing {
    pub trust: Track,
    pub trust_start: Score,
    pub trust_moved_at: DateTime<Utc>,
    pub generosity: Track,
    pub health: Track,
    pub vitals: Vitals,
    pub recent: Recent,
    /// Generous beyond 0.8 while stressed or critical.
    pub is_overextended: bool,
    /// It was advised to use half of its slots, until it is healthy.
    pub is_advised: bool,
}

impl Standing {
    /// An agent of which nothing has been heard.
    #[must_use]
    pub fn new(now: DateTime<Utc>) -> Self {
        let start = clamped(trust::START);
        Self {
            trust: Track::at(start),
            trust_start: start,
            trust_moved_at: now,
            generosity: Track::at(clamped(GENEROSITY_START)),
            health: Track::at(Score::ONE),
            vitals: Vitals::default(),
            recent: Recent::default(),
            is_overextended: false,
            is_advised: false,
        }
    }

    /// It is from outside, and trusted less to begin with. Does nothing once its trust has moved.
    pub fn begin_as_external(&mut self) {
        if self.trust.seq == 0 {
            self.trust_start = clamped(trust::EXTERNAL_START);
            self.trust = Track::at(self.trust_start);
        }
    }

    /// Trust as it is at `now`, with what idleness took or gave.
    #[must_use]
    pub fn trust_at(&self, now: DateTime<Utc>) -> Score {
        drifted(self.trust.score, self.trust_start, self.trust_moved_at, now)
    }

    /// How many steps its ledger has.
    #[must_use]
    pub const fn ledger_rows(&self) -> i64 {
        self.trust.seq + self.generosity.seq + self.health.seq
    }

    /// Its output was used.
    pub fn contribute(&mut self, credit: Credit, policy: &Policy) -> Change {
        let bonus = policy.contribution_bonus.as_millionths();
        self.move_generosity(Event::Contribution, bonus, credit, policy)
    }

    /// It consumed in a run, and nobody used what it made.
    pub fn consume(&mut self, policy: &Policy) -> Change {
        let penalty = -policy.consumption_penalty.as_millionths();
        self.move_generosity(Event::Consumption, penalty, Credit::Given, policy)
    }

    /// It left knowledge for others.
    pub fn share(&mut self, credit: Credit, policy: &Policy) -> Change {
        let bonus = policy.knowledge_share_bonus.as_millionths();
        self.move_generosity(Event::KnowledgeShare, bonus, credit, policy)
    }

    fn move_generosity(
        &mut self,
        event: Event,
        delta: i32,
        credit: Credit,
        policy: &Policy,
    ) -> Change {
        let delta = if credit.is_given() { delta } else { 0 };
        let step = self.generosity.step(ScoreKind::Generosity, event, delta);
        let mut entry = Entry {
            policy_version: policy.version,
            reason: credit.reason(),
            ..step
        };
        let mut stress = Vec::new();
        if self.note_overextension(policy) {
            entry.action = Action::OverextensionDetected;
            stress.push(Stress::Overextension);
        }
        let threshold = policy.hoarding_threshold;
        if entry.after < entry.before && entry.after < threshold {
            entry.action = Action::HoardingDetected;
            stress.push(Stress::Hoarding {
                intensity: hoarding(entry.after, threshold),
            });
        }
        let advice = self.note_advice(&stress);
        Change {
            entries: vec![entry],
            stress,
            advice,
        }
    }

    /// A task of it ended. Health takes a step only where it moves.
    pub fn settle(
        &mut self,
        settlement: &Settlement,
        policy: &Policy,
        now: DateTime<Utc>,
    ) -> Change {
        let (event, delta) = trust::delta(settlement.outcome);
        let mut entries = self.move_trust(event, delta, now);
        self.recent.push(settlement.outcome);
        self.vitals = self.vitals.heard(&Evidence {
            outcome: settlement.outcome,
            // A minute that is still to come would leave no room for those that are.
            ended_at: settlement.ended_at.min(now),
            duration: settlement.duration,
            slots: settlement.slots,
            busy: settlement.busy,
        });
        let health = self.vitals.health();
        let mut stress = Vec::new();
        if health != self.health.score {
            let by = health.as_millionths() - self.health.score.as_millionths();
            let mut step = self.health.step(ScoreKind::Health, event, by);
            if self.note_overextension(policy) {
                step.action = Action::OverextensionDetected;
                stress.push(Stress::Overextension);
            }
            entries.push(step);
        }
        let advice = self.note_advice(&stress);
        Change {
            entries,
            stress,
            advice,
        }
    }

    /// A rule fired whose response is more than a note.
    pub fn fall_for_anomaly(&mut self, severity: Score, now: DateTime<Utc>) -> Vec<Entry> {
        self.move_trust(Event::Anomaly, trust::anomaly(severity), now)
    }

    /// An operator's word, in millionths.
    pub fn adjust(&mut self, delta: i32, now: DateTime<Utc>) -> Vec<Entry> {
        self.move_trust(Event::Adjustment, delta, now)
    }

    /// Back from a quarantine that ended by itself: trusted a little, whatever it was before.
    pub fn return_on_trial(&mut self, now: DateTime<Utc>) -> Vec<Entry> {
        let over = self.trust_at(now).as_millionths() - TRIAL_TRUST;
        self.move_trust(Event::TrialReturn, -over.max(0), now)
    }

    /// What idleness did comes first, as a step of its own.
    fn move_trust(&mut self, event: Event, delta: i32, now: DateTime<Utc>) -> Vec<Entry> {
        let mut entries = Vec::with_capacity(1);
        let idle = self.trust_at(now).as_millionths() - self.trust.score.as_millionths();
        if idle != 0 {
            entries.push(self.trust.step(ScoreKind::Trust, Event::IdleDrift, idle));
        }
        entries.push(self.trust.step(ScoreKind::Trust, event, delta));
        self.trust_moved_at = self.trust_moved_at.max(now);
        entries
    }

    /// Whether it has entered the state, whichever side moved; again only after leaving it.
    fn note_overextension(&mut self, policy: &Policy) -> bool {
        let was = self.is_overextended;
        self.is_overextended = policy.overextension_check
            && self.generosity.score.as_millionths() > OVEREXTENDED_FROM
            && Band::of(self.health.score) < Band::Healthy;
        self.is_overextended && !was
    }

    /// Half of the slots from the day it overextends, all of them once it is healthy.
    fn note_advice(&mut self, stress: &[Stress]) -> Option<Score> {
        if stress.contains(&Stress::Overextension) && !self.is_advised {
            self.is_advised = true;
            Some(Score::ratio(1, 2))
        } else if self.is_advised && Band::of(self.health.score) == Band::Healthy {
            self.is_advised = false;
            Some(Score::ONE)
        } else {
            None
        }
    }
}

/// How far below the threshold, as a part of it.
fn hoarding(score: Score, threshold: Score) -> Score {
    let [below, whole] = [
        threshold.as_millionths() - score.as_millionths(),
        threshold.as_millionths(),
    ]
    .map(|millionths| u64::try_from(millionths).unwrap_or(0));
    Score::ratio(below, whole)
}

#[cfg(test)]
mod tests;

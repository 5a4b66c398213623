//! Who is on the timeline, and what keeps a mind off it (design: swarm, section 5). Moves no vtime and picks nobody.

#[cfg(test)]
mod tests;

use chrono::{DateTime, TimeDelta, Utc};

use crate::launch::Launch;
use crate::mind::State;
use crate::share::Share;
use crate::time::after;
use crate::{Error, Why, time};

/// What wakes a mind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Wakes {
    /// Only a reason: no money for waking to nothing.
    #[default]
    Work,
    /// It always has a reason.
    Always,
}

impl Wakes {
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Work => "work",
            Self::Always => "always",
        }
    }

    pub fn parse(text: &str) -> Result<Self, Error> {
        match text {
            "work" => Ok(Self::Work),
            "always" => Ok(Self::Always),
            _ => Err(Error::UnknownWord { field: "wakes" }),
        }
    }
}

/// What a mind decides for itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Agenda {
    pub wakes: Wakes,
    pub wake_at: Option<DateTime<Utc>>,
    pub rest_until: Option<DateTime<Utc>>,
    pub retirement_asked_at: Option<DateTime<Utc>>,
}

impl Agenda {
    /// Rests until an instant that is ahead, at most 30 days.
    pub fn resting(self, until: Option<DateTime<Utc>>, now: DateTime<Utc>) -> Result<Self, Error> {
        let until = time::until("until", until, now, TimeDelta::days(30))?;
        Ok(Self {
            rest_until: Some(until),
            ..self
        })
    }

    /// As the end of a rest leaves it, by the mind's own word or by its operator's release.
    #[must_use]
    pub const fn rested(self) -> Self {
        Self {
            rest_until: None,
            ..self
        }
    }

    /// Woken by other things; what is left out stays as it is.
    #[must_use]
    pub fn set(self, wakes: Option<Wakes>, wake_at: Option<DateTime<Utc>>) -> Self {
        Self {
            wakes: wakes.unwrap_or(self.wakes),
            wake_at: wake_at.or(self.wake_at),
            ..self
        }
    }

    /// As its asking to retire leaves it. Asking again does not make it later.
    #[must_use]
    pub fn asking(self, now: DateTime<Utc>) -> Self {
        Self {
            retirement_asked_at: self.retirement_asked_at.or(Some(now)),
            ..self
        }
    }

    /// As taking that back leaves it.
    #[must_use]
    pub const fn staying(self) -> Self {
        Self {
            retirement_asked_at: None,
            ..self
        }
    }

    /// As a settled turn leaves it: held work without an instant ahead is looked at again in 15 minutes.
    #[must_use]
    pub fn settled(self, holds_work: bool, now: DateTime<Utc>) -> Self {
        let is_set = self.wake_at.is_some_and(|at| at > now);
        if !holds_work || is_set {
            return self;
        }
        Self {
            wake_at: Some(after(now, TimeDelta::minutes(15))),
            ..self
        }
    }
}

/// The operator's brake on a mind. Absent or unreadable, it holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Brake {
    Released,
    #[default]
    Held,
}

/// All that is read of a mind to know where it stands.
#[derive(Clone, Debug)]
pub struct Standing {
    pub state: State,
    pub brake: Brake,
    pub share: Option<Share>,
    /// The end of its open operator session.
    pub session_until: Option<DateTime<Utc>>,
    pub agenda: Agenda,
    pub launch: Launch,
    /// When reviews of its rulings fell or fall due.
    pub reviews: Vec<DateTime<Utc>>,
    pub has_unreadable_persona: bool,
    pub is_live: bool,
}

impl Standing {
    /// What keeps the mind off the timeline, the first of it in the order in which it is explained.
    #[must_use]
    pub fn hindrance(&self, now: DateTime<Utc>) -> Option<Why> {
        let is_ahead = |at: Option<DateTime<Utc>>| at.is_some_and(|at| now < at);
        let first = [
            (self.state != State::Open, Why::Retired),
            (self.brake == Brake::Held, Why::Brake),
            (self.share.is_none(), Why::Share),
            (is_ahead(self.session_until), Why::Session),
            (is_ahead(self.agenda.rest_until), Why::Rest),
            (
                self.launch.waits(now) && self.has_unreadable_persona,
                Why::Persona,
            ),
            (self.launch.waits(now), Why::Retry),
            (!self.is_live && !self.has_reason(now), Why::Idle),
        ];
        first
            .into_iter()
            .find_map(|(stands, why)| stands.then_some(why))
    }

    /// Member = open ∧ brake released ∧ share ∧ not resting ∧ now ≥ retry_at ∧ no session ∧ (a reason ∨ a live turn).
    #[must_use]
    pub fn is_member(&self, now: DateTime<Utc>) -> bool {
        self.hindrance(now).is_none()
    }

    /// A member without a live turn.
    #[must_use]
    pub fn is_runnable(&self, now: DateTime<Utc>) -> bool {
        self.is_member(now) && !self.is_live
    }

    /// Whether there is something to wake for: reached, and later than the launch of the newest turn that ran.
    #[must_use]
    pub fn has_reason(&self, now: DateTime<Utc>) -> bool {
        let Some(last) = self.launch.last_run_at else {
            return true;
        };
        self.agenda.wakes == Wakes::Always || self.reasons().any(|at| last < at && at <= now)
    }

    /// What a turn is for, by the words that its brief tells: all that was reached since the launch of the turn before.
    #[must_use]
    pub fn woken_by(&self, before: Option<DateTime<Utc>>, now: DateTime<Utc>) -> Vec<&'static str> {
        let is_new = |at: &DateTime<Utc>| before.is_none_or(|before| before < *at) && *at <= now;
        let words = [
            (before.is_none(), "first"),
            (self.agenda.wakes == Wakes::Always, "always"),
            (self.launch.reason_at.iter().any(is_new), "news"),
            (self.agenda.wake_at.iter().any(is_new), "wake_at"),
            (self.reviews.iter().any(is_new), "review"),
        ];
        let stands = words.into_iter().filter(|(stands, _)| *stands);
        stands.map(|(_, word)| word).collect()
    }

    /// When the next reason falls due, if one is known.
    #[must_use]
    pub fn next_reason(&self, now: DateTime<Utc>) -> Option<DateTime<Utc>> {
        self.reasons().filter(|at| *at > now).min()
    }

    /// When its place on the timeline may next change by itself. `ends` are those of its haste and loans.
    #[must_use]
    pub fn due_at(
        &self,
        ends: impl IntoIterator<Item = DateTime<Utc>>,
        now: DateTime<Utc>,
    ) -> Option<DateTime<Utc>> {
        let own = [
            self.session_until,
            self.agenda.rest_until,
            self.launch.retry_at,
        ];
        let all = own.into_iter().flatten().chain(self.reasons()).chain(ends);
        all.filter(|at| *at > now).min()
    }

    fn reasons(&self) -> impl Iterator<Item = DateTime<Utc>> + '_ {
        let own = [self.launch.reason_at, self.agenda.wake_at];
        own.into_iter()
            .flatten()
            .chain(self.reviews.iter().copied())
    }
}

//! Rules: which signals of one agent, how many of them and how close together make an anomaly, and what then happens.

use cambium_kernel::Score;
use chrono::TimeDelta;

use crate::amount::clamped;
use crate::error::Error;
use crate::recent::{Outcome, Recent};

/// What a firing leads to. Never more than the rule says, whatever the signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Response {
    /// It is written down.
    Log,
    /// A person is told.
    Alert,
    /// The agent takes no work for a while, as far as the caps allow.
    Quarantine,
}

impl Response {
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Log => "log",
            Self::Alert => "alert",
            Self::Quarantine => "quarantine",
        }
    }

    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        [Self::Log, Self::Alert, Self::Quarantine]
            .into_iter()
            .find(|response| response.as_str() == text)
    }
}

/// How close together the signals must be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Span {
    Within(TimeDelta),
    /// Among so many settlements of the agent, the last ones.
    OfLast(u32),
}

/// A rule that keeps its own bounds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    pub id: String,
    pub signal_type: String,
    /// Signals below this intensity do not count.
    pub threshold: Score,
    pub severity: Score,
    pub response: Response,
    pub span: Span,
    pub min_count: u32,
    /// It writes its anomalies and does nothing else.
    pub is_dry_run: bool,
    pub is_enabled: bool,
    /// 0 for a built-in one that nobody has changed.
    pub version: i64,
}

const MOST_COUNT: u32 = 1_000;
const LONGEST: TimeDelta = TimeDelta::hours(24);

impl Rule {
    /// The rule itself, if it is one.
    pub fn checked(self) -> Result<Self, Error> {
        check_id(&self.id)?;
        check_type(&self.signal_type)?;
        if !(1..=MOST_COUNT).contains(&self.min_count) {
            return Err(Error::MinCount(self.min_count.into()));
        }
        match self.span {
            Span::Within(window) if window < TimeDelta::seconds(1) || window > LONGEST => {
                Err(Error::Window {
                    seconds: window.num_seconds(),
                })
            }
            Span::Within(_) => Ok(self),
            Span::OfLast(of_last) => {
                self.check_settlements(of_last)?;
                Ok(self)
            }
        }
    }

    fn check_settlements(&self, of_last: u32) -> Result<(), Error> {
        if of_last == 0 || of_last as usize > Recent::MOST {
            return Err(Error::OfLast(of_last.into()));
        }
        if self.min_count > of_last {
            return Err(Error::NeverReached {
                min_count: self.min_count,
                of_last,
            });
        }
        let counted = [Outcome::Succeeded, Outcome::Failed, Outcome::LeaseLost];
        if counted
            .iter()
            .all(|outcome| outcome.signal_type() != self.signal_type)
        {
            return Err(Error::NoOutcome(self.signal_type.clone()));
        }
        if self.threshold > Score::default() {
            return Err(Error::NotWeighed);
        }
        Ok(())
    }

    /// Whether it looks at signals of that type and intensity.
    #[must_use]
    pub fn counts(&self, signal_type: &str, intensity: Score) -> bool {
        self.is_enabled && self.signal_type == signal_type && intensity >= self.threshold
    }
}

fn check_id(id: &str) -> Result<(), Error> {
    let is_plain = |c: u8| c.is_ascii_lowercase() || c.is_ascii_digit() || c == b'-';
    if (1..=64).contains(&id.len()) && id.bytes().all(is_plain) {
        Ok(())
    } else {
        // Cut by characters: it may be anything.
        Err(Error::RuleId(id.chars().take(64).collect()))
    }
}

fn check_type(signal_type: &str) -> Result<(), Error> {
    let is_plain = |c: u8| c.is_ascii_lowercase() || c.is_ascii_digit() || c == b'_';
    let is_word = |word: &str| !word.is_empty() && word.bytes().all(is_plain);
    let is_dotted = signal_type.len() <= 128 && signal_type.contains('.');
    if is_dotted && signal_type.split('.').all(is_word) {
        Ok(())
    } else {
        Err(Error::SignalType(signal_type.chars().take(128).collect()))
    }
}

/// The rules that every workspace has until it says otherwise, by id.
#[must_use]
pub fn built_ins() -> Vec<Rule> {
    let rule = |id: &str, signal_type: &str, span, min_count, response| Rule {
        id: id.to_owned(),
        signal_type: signal_type.to_owned(),
        threshold: Score::default(),
        severity: clamped(500_000),
        response,
        span,
        min_count,
        is_dry_run: false,
        is_enabled: true,
        version: 0,
    };
    let within = |minutes| Span::Within(TimeDelta::minutes(minutes));
    vec![
        // Hoarding is concerning, not dangerous.
        Rule {
            threshold: clamped(500_000),
            ..rule(
                "context-hoarding",
                "stress.context_hoarding",
                within(1),
                1,
                Response::Log,
            )
        },
        rule(
            "failure-burst",
            "task.failed",
            Span::OfLast(20),
            10,
            Response::Alert,
        ),
        rule("fenced-writes", "task.stale", within(5), 3, Response::Alert),
        rule(
            "marker-spam",
            "stress.rate_limited",
            within(10),
            5,
            Response::Quarantine,
        ),
    ]
}

/// The built-in rule of that id.
#[must_use]
pub fn built_in(id: &str) -> Option<Rule> {
    built_ins().into_iter().find(|rule| rule.id == id)
}

#[cfg(test)]
mod tests;

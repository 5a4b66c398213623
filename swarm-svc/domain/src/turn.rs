//! One launch of one mind: what it may cost and count, fixed at its launch; who holds it; and when it is given up.
//! Starts and stops nothing: it says what is to be done (design: swarm, sections 6 and 7).

#[cfg(test)]
mod tests;

use cambium_kernel::Usd;
use chrono::{DateTime, TimeDelta, Utc};

use crate::charge::Outcome;
use crate::dial::Dial;
use crate::pick::Candidate;
use crate::share::{EffectiveShare, Factor};
use crate::time::after;
use crate::{Error, Instance, TurnId};

/// What carries a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Body {
    /// A hypha graph: it is asked, and its silence proves nothing.
    Graph,
    /// A process of the operator's own: it says that it lives.
    External,
}

/// Where a turn is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Launched; nothing has run yet.
    Granted,
    Running,
    /// It has its charge.
    Settled,
    /// It never ran. It costs nothing, unless something of it ran after all.
    Withdrawn,
}

impl State {
    pub const ALL: [Self; 4] = [Self::Granted, Self::Running, Self::Settled, Self::Withdrawn];

    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Granted => "granted",
            Self::Running => "running",
            Self::Settled => "settled",
            Self::Withdrawn => "withdrawn",
        }
    }

    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.as_str() == text)
    }

    /// Whether it holds its slot and its reservation.
    #[must_use]
    pub const fn is_live(self) -> bool {
        matches!(self, Self::Granted | Self::Running)
    }
}

/// A turn. Cap, share, haste and floor are those of the launch, whatever has changed since.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Turn {
    pub id: TurnId,
    pub instance: Instance,
    pub epoch: i64,
    pub slot: u32,
    pub state: State,
    pub body: Body,
    /// Who acknowledged it: the body's name for itself.
    pub holder: Option<String>,
    pub cap: Usd,
    pub share: EffectiveShare,
    pub haste: Factor,
    pub floor: Usd,
    pub launched_at: DateTime<Utc>,
    pub alive_until: DateTime<Utc>,
    pub deadline: DateTime<Utc>,
}

/// What a launch needs to know beyond the dial.
#[derive(Clone, Copy, Debug)]
pub struct Terms {
    pub id: TurnId,
    pub epoch: i64,
    pub slot: u32,
    pub body: Body,
    pub haste: Factor,
}

/// What is known of a turn's body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Proof {
    /// Nobody answered, or nobody was asked: no evidence.
    Silence,
    Alive,
    /// The graph's home does not know the run.
    Gone,
    /// The run has ended, and cost so much, if that was measured.
    Ended(Option<Usd>),
}

/// How long before its time is up a body is asked.
const ASKED_BEFORE: TimeDelta = TimeDelta::seconds(60);

/// What becomes of a turn that was looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It stays live, with its slot and its reservation.
    Stays {
        alive_until: DateTime<Utc>,
    },
    Withdraw,
    /// No cost is the cap.
    Settle {
        cost: Option<Usd>,
        outcome: Outcome,
    },
}

impl Turn {
    /// Grants the winner its turn.
    #[must_use]
    pub fn granted(winner: Candidate, terms: Terms, dial: &Dial, now: DateTime<Utc>) -> Self {
        Self {
            id: terms.id,
            instance: winner.instance,
            epoch: terms.epoch,
            slot: terms.slot,
            state: State::Granted,
            body: terms.body,
            holder: None,
            cap: dial.cap(),
            share: winner.share,
            haste: terms.haste,
            floor: dial.floor(),
            launched_at: now,
            alive_until: after(now, Dial::GRACE),
            deadline: after(now, dial.turn_max()),
        }
    }

    /// Whether a body of this epoch may still act: each of its writes asks.
    pub fn fence(&self, epoch: i64) -> Result<(), Error> {
        if self.state.is_live() && self.epoch == epoch {
            Ok(())
        } else {
            Err(Error::TurnLost)
        }
    }

    /// The first acknowledgement takes the turn; a second by the same holder says the same again.
    pub fn acknowledged(self, epoch: i64, holder: &str, now: DateTime<Utc>) -> Result<Self, Error> {
        self.fence(epoch)?;
        match self.holder.as_deref() {
            Some(first) if first != holder => Err(Error::AlreadyAcknowledged),
            _ => Ok(Self {
                state: State::Running,
                holder: Some(holder.to_owned()),
                ..self.heard(now)
            }),
        }
    }

    /// The holder says that it lives.
    pub fn beaten(self, epoch: i64, holder: &str, now: DateTime<Utc>) -> Result<Self, Error> {
        self.fence(epoch)?;
        if self.holder.as_deref() != Some(holder) {
            return Err(Error::TurnLost);
        }
        Ok(self.heard(now))
    }

    fn heard(self, now: DateTime<Utc>) -> Self {
        Self {
            alive_until: self.alive_until.max(after(now, Dial::GRACE)),
            ..self
        }
    }

    /// Whether its body is to be asked for a sign of life before the next tick.
    #[must_use]
    pub fn is_due(&self, now: DateTime<Utc>) -> bool {
        self.state.is_live() && self.alive_until < after(now, ASKED_BEFORE)
    }

    /// What becomes of a live turn, given what is known of its body and when its mind's brake was held.
    #[must_use]
    pub fn reconciled(
        &self,
        proof: Proof,
        held_at: Option<DateTime<Utc>>,
        now: DateTime<Utc>,
    ) -> Fate {
        if let Proof::Ended(cost) = proof {
            let outcome = Outcome::Ended;
            return Fate::Settle { cost, outcome };
        }
        let alive_until = match proof {
            Proof::Alive => self.alive_until.max(after(now, Dial::GRACE)),
            _ => self.alive_until,
        };
        let proves_nothing = self.body == Body::Graph && proof != Proof::Gone;
        if now > alive_until && !proves_nothing {
            return self.given_up(Outcome::Orphaned);
        }
        let is_over = |at: DateTime<Utc>| now > after(at, Dial::GRACE);
        if is_over(self.deadline) || held_at.is_some_and(is_over) {
            return Fate::Settle {
                cost: None,
                outcome: Outcome::Overdue,
            };
        }
        Fate::Stays { alive_until }
    }

    /// Nothing is charged for what never ran.
    fn given_up(&self, outcome: Outcome) -> Fate {
        match self.state {
            State::Granted => Fate::Withdraw,
            _ => Fate::Settle {
                cost: None,
                outcome,
            },
        }
    }
}

//! Who holds a piece of work, and how it passes on: unaddressed work lands with the lead, and nobody takes what another holds
//! (design: swarm, section 9). Does no work, and gives the lead no power but to route.

#[cfg(test)]
mod tests;

use chrono::{DateTime, TimeDelta, Utc};

use crate::authority::Denial;
use crate::error::Text as _;
use crate::time::after;
use crate::{Error, Instance, text};

/// Where a piece of work is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum State {
    /// Nobody holds it: the operator assigns it, or a lead to come gets it.
    Unrouted,
    Held(Instance),
    /// Its holder has offered it to another, and holds it until that one accepts.
    Offered {
        holder: Instance,
        to: Instance,
    },
    Done,
    Withdrawn,
}

/// A piece of work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Work {
    pub state: State,
    /// It was meant for whoever holds it, and is not the lead's to route.
    pub is_addressed: bool,
    /// The lead gave it back: only the operator says who gets it.
    pub is_returned_by_lead: bool,
}

/// What is said of a piece of work when it is submitted.
pub fn check(title: &str, body: &str) -> Result<(), Error> {
    text::title(title).named("title")?;
    text::para(body).named("body")
}

/// How long an offer stands.
pub const OFFER_LASTS: TimeDelta = TimeDelta::days(7);

impl Work {
    /// Held by whom it is addressed to, else by the lead, else by nobody.
    #[must_use]
    pub fn submitted(to: Option<Instance>, lead: Option<Instance>) -> Self {
        let is_addressed = to.is_some();
        Self {
            state: to.or(lead).map_or(State::Unrouted, State::Held),
            is_addressed,
            is_returned_by_lead: false,
        }
    }

    /// Who holds it, if anybody does.
    #[must_use]
    pub const fn holder(&self) -> Option<&Instance> {
        match &self.state {
            State::Held(holder) | State::Offered { holder, .. } => Some(holder),
            State::Unrouted | State::Done | State::Withdrawn => None,
        }
    }

    fn held_by(&self, mind: &Instance) -> Result<(), Error> {
        match self.holder() {
            None => Err(Error::NothingHeld),
            Some(holder) if holder == mind => Ok(()),
            Some(_) => Err(Error::Denied(Denial::NotTheGiver)),
        }
    }

    fn is_open(&self) -> Result<(), Error> {
        match self.state {
            State::Done | State::Withdrawn => Err(Error::NothingHeld),
            State::Unrouted | State::Held(_) | State::Offered { .. } => Ok(()),
        }
    }

    /// The operator says who holds it.
    pub fn assigned(self, to: Instance) -> Result<Self, Error> {
        self.is_open()?;
        Ok(Self {
            state: State::Held(to),
            is_addressed: true,
            is_returned_by_lead: false,
        })
    }

    /// Its holder offers it to another.
    pub fn offered(self, giver: &Instance, to: Instance) -> Result<Self, Error> {
        self.held_by(giver)?;
        if to == *giver {
            return Err(Error::document("to", "is the giver"));
        }
        let holder = giver.clone();
        let state = State::Offered { holder, to };
        Ok(Self { state, ..self })
    }

    /// The lead offers unaddressed work that it holds.
    pub fn routed(self, lead: &Instance, to: Instance) -> Result<Self, Error> {
        if self.is_addressed {
            return Err(Error::Denied(Denial::NotTheGiver));
        }
        self.offered(lead, to)
    }

    /// Whom it was offered to answers, while the offer stands: accepted, it is that one's; declined, nothing moved.
    pub fn answered(
        self,
        by: &Instance,
        accepts: bool,
        offered_at: DateTime<Utc>,
        now: DateTime<Utc>,
    ) -> Result<Self, Error> {
        let State::Offered { holder, to } = &self.state else {
            return Err(Error::OfferOver);
        };
        if to != by {
            return Err(Error::Denied(Denial::NotTheGiver));
        }
        if is_expired(offered_at, now) {
            return Err(Error::OfferOver);
        }
        Ok(match accepts {
            true => Self {
                state: State::Held(by.clone()),
                is_addressed: true,
                ..self
            },
            false => Self {
                state: State::Held(holder.clone()),
                ..self
            },
        })
    }

    /// An offer that nobody answered is over, and nothing has moved.
    #[must_use]
    pub fn lapsed(self) -> Self {
        match self.state {
            State::Offered { holder, .. } => Self {
                state: State::Held(holder),
                ..self
            },
            _ => self,
        }
    }

    /// Its holder gives it back: it is unaddressed again and the lead's; from the lead it waits for the operator.
    pub fn returned(self, by: &Instance, lead: Option<&Instance>) -> Result<Self, Error> {
        self.held_by(by)?;
        let is_by_lead = lead == Some(by);
        let next = lead.filter(|_| !is_by_lead);
        Ok(Self {
            state: next.cloned().map_or(State::Unrouted, State::Held),
            is_addressed: false,
            is_returned_by_lead: is_by_lead,
        })
    }

    pub fn completed(self, by: &Instance) -> Result<Self, Error> {
        self.held_by(by)?;
        let state = State::Done;
        Ok(Self { state, ..self })
    }

    /// Whoever submitted it, or the operator, wants it no more.
    pub fn withdrawn(self) -> Result<Self, Error> {
        match self.state {
            State::Done => Err(Error::NothingHeld),
            _ => Ok(Self {
                state: State::Withdrawn,
                ..self
            }),
        }
    }

    /// As another mind, or none, becomes lead: unaddressed work goes along, but for what a lead gave back.
    #[must_use]
    pub fn led_by(self, lead: Option<&Instance>) -> Self {
        let is_open = self.is_open().is_ok();
        if self.is_addressed || self.is_returned_by_lead || !is_open {
            return self;
        }
        Self {
            state: lead.cloned().map_or(State::Unrouted, State::Held),
            ..self
        }
    }
}

/// Whether an offer has stood for 7 days.
#[must_use]
pub fn is_expired(offered_at: DateTime<Utc>, now: DateTime<Utc>) -> bool {
    now >= after(offered_at, OFFER_LASTS)
}

//! The life of a mind: proposed, opened, retired or moved, and what must hold before each (design: swarm, section 5).
//! Opens nothing without an operator: who may ask is `authority`'s business.

#[cfg(test)]
mod tests;

use std::fmt;

use chrono::{DateTime, Utc};

use crate::Error;
use crate::error::Text;
use crate::member::{Brake, Standing};
use crate::text;

/// Where a mind is in its life. It goes forward only; a declined name is free again, an opened one never.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum State {
    Proposed,
    Declined,
    Open,
    Retired,
    Moved,
}

/// What people see of a mind's state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shown {
    Proposed,
    Declined,
    Asleep,
    Awake,
    Resting,
    InSession,
    Acting,
    Retired,
    Moved,
}

/// The most minds that may be open in a swarm.
pub const MOST_OPEN: usize = 10_000;

impl State {
    pub const ALL: [Self; 5] = [
        Self::Proposed,
        Self::Declined,
        Self::Open,
        Self::Retired,
        Self::Moved,
    ];

    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Proposed => "proposed",
            Self::Declined => "declined",
            Self::Open => "open",
            Self::Retired => "retired",
            Self::Moved => "moved",
        }
    }

    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.as_str() == text)
    }

    /// A name is proposed: free, or declined before.
    pub fn propose(current: Option<Self>) -> Result<Self, Error> {
        match current {
            None | Some(Self::Declined) => Ok(Self::Proposed),
            Some(Self::Proposed | Self::Open | Self::Retired | Self::Moved) => {
                Err(Error::SlugTaken)
            }
        }
    }

    /// A proposal is declined, and its name is free.
    pub fn decline(self) -> Result<Self, Error> {
        match self {
            Self::Proposed | Self::Declined => Ok(Self::Declined),
            Self::Open => Err(Error::NotProposed),
            Self::Retired => Err(Error::Retired),
            Self::Moved => Err(Error::Moved),
        }
    }

    /// A mind is born, from a proposal or directly. `open` is how many are open already.
    pub fn open(current: Option<Self>, open: usize) -> Result<Self, Error> {
        match current {
            None | Some(Self::Proposed | Self::Declined) if open >= MOST_OPEN => {
                Err(Error::TooManyMinds)
            }
            None | Some(Self::Proposed | Self::Declined) => Ok(Self::Open),
            Some(Self::Open | Self::Retired | Self::Moved) => Err(Error::SlugTaken),
        }
    }

    /// Whether anything of it may still be written: a mind that retired or moved is there to be read and cited for ever.
    pub fn writable(self) -> Result<(), Error> {
        match self {
            Self::Open => Ok(()),
            Self::Proposed | Self::Declined => Err(Error::NoMind),
            Self::Retired => Err(Error::Retired),
            Self::Moved => Err(Error::Moved),
        }
    }

    /// Wakes it: a mind without a target has nothing to launch.
    pub fn release(self, has_target: bool) -> Result<Brake, Error> {
        self.writable()?;
        if has_target {
            Ok(Brake::Released)
        } else {
            Err(Error::NoTarget)
        }
    }
}

/// What is said of a mind at its birth or proposal.
#[derive(Clone, Copy, Debug)]
pub struct Profile<'a> {
    pub display_name: &'a str,
    pub mission: &'a str,
    /// None while it is only proposed.
    pub host: Option<&'a str>,
}

impl Profile<'_> {
    pub fn check(&self) -> Result<(), Error> {
        text::title(self.display_name).named("display_name")?;
        text::para(self.mission).named("mission")?;
        self.host
            .map_or(Ok(()), |host| text::line(host).named("host"))
    }
}

/// What a mind must not have when it leaves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ties {
    pub is_released: bool,
    pub has_live_turn: bool,
    pub has_session: bool,
    pub campaigns: u32,
    pub stewardships: u32,
    pub held_work: u32,
    pub offers_given: u32,
    pub is_lead: bool,
}

/// One thing that keeps a mind from retiring or moving.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Unmet {
    BrakeReleased,
    LiveTurn,
    OpenSession,
    CampaignInForce,
    StewardshipInForce,
    WorkHeld,
    OfferOpen,
    Lead,
}

impl fmt::Display for Unmet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::BrakeReleased => "its brake is released",
            Self::LiveTurn => "it has a live turn",
            Self::OpenSession => "it has an open session",
            Self::CampaignInForce => "it has a campaign in force",
            Self::StewardshipInForce => "it has a stewardship in force",
            Self::WorkHeld => "it holds work",
            Self::OfferOpen => "an offer of its own is open",
            Self::Lead => "it is the lead",
        })
    }
}

impl Ties {
    fn unmet(&self) -> [(bool, Unmet); 8] {
        [
            (self.is_released, Unmet::BrakeReleased),
            (self.has_live_turn, Unmet::LiveTurn),
            (self.has_session, Unmet::OpenSession),
            (self.campaigns > 0, Unmet::CampaignInForce),
            (self.stewardships > 0, Unmet::StewardshipInForce),
            (self.held_work > 0, Unmet::WorkHeld),
            (self.offers_given > 0, Unmet::OfferOpen),
            (self.is_lead, Unmet::Lead),
        ]
    }
}

/// Retires an open mind, or names all that it must put down first. Doing so again changes nothing.
pub fn retire(state: State, ties: &Ties) -> Result<State, Error> {
    if state == State::Retired {
        return Ok(State::Retired);
    }
    leave(state, ties, |_| true)?;
    Ok(State::Retired)
}

/// Lets an open mind be exported: asleep, no live turn, not the lead, no held work.
pub fn transfer(state: State, ties: &Ties) -> Result<(), Error> {
    let matters = |unmet: &Unmet| {
        matches!(
            unmet,
            Unmet::BrakeReleased | Unmet::LiveTurn | Unmet::WorkHeld | Unmet::Lead
        )
    };
    leave(state, ties, matters)
}

fn leave(state: State, ties: &Ties, matters: impl Fn(&Unmet) -> bool) -> Result<(), Error> {
    state.writable()?;
    let all = ties.unmet().into_iter();
    let unmet: Vec<Unmet> = all
        .filter_map(|(stands, unmet)| stands.then_some(unmet))
        .filter(matters)
        .collect();
    if unmet.is_empty() {
        Ok(())
    } else {
        Err(Error::NotReady(unmet))
    }
}

/// The state that people see: what it does comes before what it might.
#[must_use]
pub fn shown(mind: &Standing, now: DateTime<Utc>) -> Shown {
    let is_ahead = |at: Option<DateTime<Utc>>| at.is_some_and(|at| now < at);
    match mind.state {
        State::Proposed => Shown::Proposed,
        State::Declined => Shown::Declined,
        State::Retired => Shown::Retired,
        State::Moved => Shown::Moved,
        State::Open if mind.is_live => Shown::Acting,
        State::Open if is_ahead(mind.session_until) => Shown::InSession,
        State::Open if mind.brake == Brake::Held => Shown::Asleep,
        State::Open if is_ahead(mind.agenda.rest_until) => Shown::Resting,
        State::Open => Shown::Awake,
    }
}

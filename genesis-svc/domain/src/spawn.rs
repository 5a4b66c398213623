//! Who may be spawned, and how many: every way in which agents could make agents without end has a limit of its own.

#[cfg(test)]
mod tests;

use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};

use crate::{Error, State};

/// How far spawning may go. A template may ask for less, never for more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// How far an agent may be from the first of its line.
    pub generation: u32,
    /// Children of one parent that have not retired.
    pub live_children: u32,
    /// Agents of one template that have not retired.
    pub live_agents: u32,
    /// Spawns of a workspace within a minute.
    pub per_minute: u32,
    /// Children that one parent ever had.
    pub lifetime: u32,
}

impl Limits {
    pub const MOST: Self = Self {
        generation: 8,
        live_children: 10,
        live_agents: 100,
        per_minute: 60,
        lifetime: 1_000,
    };
}

/// The window of [`Limits::per_minute`].
#[must_use]
pub const fn window() -> TimeDelta {
    TimeDelta::minutes(1)
}

/// What a spawn would add to. Read under the locks that keep it true until the agent is there.
#[derive(Clone, Debug)]
pub struct Ground {
    /// Spawns of the workspace within the window.
    pub in_window: u32,
    /// When the oldest of them was.
    pub oldest_in_window: Option<DateTime<Utc>>,
    /// Of the template; those that wait for an operator hold their place.
    pub live_agents: u32,
    pub parent: Option<Parent>,
}

/// Who spawns.
#[derive(Clone, Debug)]
pub struct Parent {
    pub state: State,
    pub is_quarantined: bool,
    pub generation: u32,
    pub live_children: u32,
    pub ever: u32,
}

/// The generation of the agent to be, if there may be one.
pub fn admit(ground: &Ground, limits: Limits, now: DateTime<Utc>) -> Result<u32, Error> {
    let generation = match &ground.parent {
        Some(parent) => admit_child(parent, limits)?,
        None => 0,
    };
    if ground.live_agents >= limits.live_agents {
        return Err(Error::TemplateFull {
            limit: limits.live_agents,
        });
    }
    if ground.in_window >= limits.per_minute {
        return Err(Error::SpawnRate {
            limit: limits.per_minute,
            wait: wait(ground.oldest_in_window, now),
        });
    }
    Ok(generation)
}

fn admit_child(parent: &Parent, limits: Limits) -> Result<u32, Error> {
    is_fit(parent)?;
    if parent.generation >= limits.generation {
        return Err(Error::Generation {
            limit: limits.generation,
        });
    }
    if parent.ever >= limits.lifetime {
        return Err(Error::Lifetime {
            limit: limits.lifetime,
        });
    }
    if parent.live_children >= limits.live_children {
        return Err(Error::Children {
            limit: limits.live_children,
        });
    }
    Ok(parent.generation + 1)
}

/// Whether somebody may be a parent at all. Asked again when an operator has decided: that may have taken days.
pub fn is_fit(parent: &Parent) -> Result<(), Error> {
    match parent.state {
        _ if parent.is_quarantined => Err(Error::ParentQuarantined),
        State::Active => Ok(()),
        State::Draining | State::Retired => Err(Error::ParentRetired),
    }
}

/// Until the oldest spawn leaves the window.
fn wait(oldest: Option<DateTime<Utc>>, now: DateTime<Utc>) -> Duration {
    let end = oldest.map_or(now, |oldest| oldest + window());
    let left = (end - now).clamp(TimeDelta::milliseconds(1), window());
    left.to_std().unwrap_or_default()
}

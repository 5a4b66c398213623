//! A mark, and what may happen to it: it is placed, reinforced, transformed, and it fades.
//! What it carries is not here: no rule reads a payload.

use cambium_kernel::{AgentId, MarkerId};
use chrono::{DateTime, Utc};

use crate::{Author, Error, HalfLife, Intensity, MarkerType, Region, decay, lifetime};

/// In millionths.
const REINFORCEMENT: i32 = 200_000;
const TRANSFORMATION: i32 = 100_000;

/// A mark as it was left by the last who touched it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Marker {
    pub id: MarkerId,
    pub region: Region,
    pub kind: MarkerType,
    pub placed_by: Author,
    /// As of `refreshed_at`.
    pub intensity: Intensity,
    pub half_life: HalfLife,
    pub placed_at: DateTime<Utc>,
    pub refreshed_at: DateTime<Utc>,
    /// First to last, each once, the placer never among them.
    pub transformed_by: Vec<AgentId>,
    /// Grows with each change.
    pub version: i64,
}

/// What a placer wishes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placement {
    pub region: Region,
    pub kind: MarkerType,
    pub intensity: Intensity,
    /// The category's, where none is named.
    pub half_life: Option<HalfLife>,
}

impl Marker {
    #[must_use]
    pub fn place(id: MarkerId, wish: Placement, author: Author, now: DateTime<Utc>) -> Self {
        let usual = wish.kind.category().half_life();
        Self {
            id,
            region: wish.region,
            kind: wish.kind,
            placed_by: author,
            intensity: wish.intensity,
            half_life: wish.half_life.unwrap_or(usual),
            placed_at: now,
            refreshed_at: now,
            transformed_by: Vec::new(),
            version: 1,
        }
    }

    /// How loud it is then.
    #[must_use]
    pub fn intensity_at(&self, now: DateTime<Utc>) -> Intensity {
        decay(self.intensity, self.half_life, now - self.refreshed_at)
    }

    /// When it falls silent, unless somebody touches it before.
    #[must_use]
    pub fn expires_at(&self) -> DateTime<Utc> {
        self.refreshed_at + lifetime(self.intensity, self.half_life)
    }

    #[must_use]
    pub fn is_live(&self, now: DateTime<Utc>) -> bool {
        now < self.expires_at()
    }

    /// How many agents have built upon it.
    #[must_use]
    pub const fn depth(&self) -> usize {
        self.transformed_by.len()
    }

    /// The agents whose word it is: its placer, if that is one, and whoever transformed it.
    pub fn agents(&self) -> impl Iterator<Item = AgentId> + '_ {
        let placer = self.placed_by.agent();
        placer
            .into_iter()
            .chain(self.transformed_by.iter().copied())
    }

    /// Says that it still holds. Anyone may, the placer too.
    #[must_use]
    pub fn reinforce(self, now: DateTime<Utc>) -> Self {
        self.refresh(REINFORCEMENT, now)
    }

    /// Whether that agent may build on it: once, and never if it placed it.
    pub fn may_transform(&self, agent: AgentId) -> Result<(), Error> {
        if self.placed_by.agent() == Some(agent) {
            return Err(Error::OwnMarker(self.id));
        }
        if self.transformed_by.contains(&agent) {
            return Err(Error::AlreadyTransformed(self.id));
        }
        Ok(())
    }

    /// Refuses a version that the mark has no longer. 0 stands for whatever it has.
    pub const fn expect_version(&self, expected: i64) -> Result<(), Error> {
        if expected == 0 || expected == self.version {
            return Ok(());
        }
        Err(Error::VersionMoved {
            id: self.id,
            expected,
            current: self.version,
        })
    }

    /// Builds on the mark, as [`Self::may_transform`] allows.
    pub fn transform(mut self, agent: AgentId, now: DateTime<Utc>) -> Result<Self, Error> {
        self.may_transform(agent)?;
        self.transformed_by.push(agent);
        Ok(self.refresh(TRANSFORMATION, now))
    }

    /// Adds to what is left and restarts the decay. A late clock never moves `refreshed_at` back.
    fn refresh(self, gain: i32, now: DateTime<Utc>) -> Self {
        Self {
            intensity: self.intensity_at(now).raised(gain),
            refreshed_at: now.max(self.refreshed_at),
            version: self.version + 1,
            ..self
        }
    }
}

#[cfg(test)]
mod tests;

//! Virtual time: what each mind has cost over its share, and the least of it, at which whoever wakes begins.
//! Soft state: losing it costs at most one round. Holds no money and reads no clock (design: swarm, section 6).

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use crate::Instance;

/// Cost over share, in micro-dollars of a mind with share one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Vtime(i64);

impl Vtime {
    /// Past it the timeline starts anew from its least, so that no sum overflows.
    pub const TOO_FAR: Self = Self(1 << 62);

    #[must_use]
    pub const fn from_units(units: i64) -> Self {
        Self(units)
    }

    #[must_use]
    pub const fn as_units(self) -> i64 {
        self.0
    }

    #[must_use]
    pub const fn plus(self, vdelta: i64) -> Self {
        Self(self.0.saturating_add(vdelta))
    }
}

/// A mind on the timeline.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Seat {
    pub vtime: Vtime,
    /// As of the last sync.
    pub is_member: bool,
}

/// Why a vtime changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    Charge,
    Clamp,
    Reset,
}

impl Cause {
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Charge => "charge",
            Self::Clamp => "clamp",
            Self::Reset => "reset",
        }
    }
}

/// One change of one mind's vtime, for the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    pub instance: Instance,
    pub cause: Cause,
    pub before: Vtime,
    pub after: Vtime,
}

/// The timeline of a swarm. INVARIANT: members' vtime ≥ `min_vtime`, and neither ever falls but at a reset.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Timeline {
    min_vtime: Vtime,
    seats: BTreeMap<Instance, Seat>,
}

impl Timeline {
    /// The timeline as it was stored. A stored row below the least is taken at the least.
    #[must_use]
    pub fn stored(min_vtime: Vtime, seats: BTreeMap<Instance, Seat>) -> Self {
        Self { min_vtime, seats }
    }

    #[must_use]
    pub const fn min_vtime(&self) -> Vtime {
        self.min_vtime
    }

    #[must_use]
    pub const fn seats(&self) -> &BTreeMap<Instance, Seat> {
        &self.seats
    }

    /// A mind's vtime; that of the least, if its row was lost.
    #[must_use]
    pub fn vtime(&self, of: &Instance) -> Vtime {
        self.seats.get(of).map_or(self.min_vtime, |seat| seat.vtime)
    }

    /// Gives a mind its row at the least vtime: a birth owes nothing and is owed nothing.
    pub fn open(&mut self, mind: Instance) {
        let vtime = self.min_vtime;
        self.seats.entry(mind).or_insert(Seat {
            vtime,
            is_member: false,
        });
    }

    /// Takes a mind's row away, as its retirement does.
    pub fn close(&mut self, mind: &Instance) {
        self.seats.remove(mind);
    }

    /// The first act of everything that holds the bucket: who is a member no longer leaves, who has become one is clamped to
    /// the least vtime, so that no sleep is banked.
    pub fn sync(&mut self, members: &BTreeSet<Instance>) -> Vec<Step> {
        for (mind, seat) in &mut self.seats {
            seat.is_member &= members.contains(mind);
        }
        self.raise();
        let mut steps = Vec::new();
        for mind in members {
            self.open(mind.clone());
            if let Some(seat) = self.seats.get_mut(mind)
                && !seat.is_member
            {
                let before = seat.vtime;
                *seat = Seat {
                    vtime: before.max(self.min_vtime),
                    is_member: true,
                };
                steps.push(Step {
                    instance: mind.clone(),
                    cause: Cause::Clamp,
                    before,
                    after: seat.vtime,
                });
            }
        }
        self.raise();
        steps
    }

    /// Adds what a turn counted, whether or not its mind is still a member.
    pub fn charge(&mut self, mind: &Instance, vdelta: i64) -> Step {
        self.open(mind.clone());
        let before = self.vtime(mind);
        let after = before.plus(vdelta.max(0));
        if let Some(seat) = self.seats.get_mut(mind) {
            seat.vtime = after;
        }
        self.raise();
        Step {
            instance: mind.clone(),
            cause: Cause::Charge,
            before,
            after,
        }
    }

    /// Starts every mind anew at 0. Bucket, reservations and charges are elsewhere and stay.
    pub fn reset(&mut self) -> Vec<Step> {
        self.min_vtime = Vtime::default();
        self.move_all(|_| Vtime::default())
    }

    /// Takes the least vtime from every mind once one has gone so far that sums could overflow: their order stays.
    pub fn rebase(&mut self) -> Vec<Step> {
        let is_far = |seat: &Seat| seat.vtime > Vtime::TOO_FAR;
        if !self.seats.values().any(is_far) {
            return Vec::new();
        }
        let least = self.min_vtime.0;
        self.min_vtime = Vtime::default();
        self.move_all(|vtime| Vtime(vtime.0.saturating_sub(least)))
    }

    fn move_all(&mut self, to: impl Fn(Vtime) -> Vtime) -> Vec<Step> {
        let seats = self.seats.iter_mut();
        let moved = seats.map(|(mind, seat)| {
            let before = seat.vtime;
            seat.vtime = to(before);
            Step {
                instance: mind.clone(),
                cause: Cause::Reset,
                before,
                after: seat.vtime,
            }
        });
        moved.collect()
    }

    /// Raises the least vtime to that of the members; without members it stays.
    fn raise(&mut self) {
        let members = self.seats.values().filter(|seat| seat.is_member);
        if let Some(least) = members.map(|seat| seat.vtime).min() {
            self.min_vtime = self.min_vtime.max(least);
        }
    }
}

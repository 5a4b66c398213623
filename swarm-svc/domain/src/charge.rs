//! What a turn cost: measured, or its cap. One charge a turn, and it never changes.
//! Believes no cost that only the mind's side declares (design: swarm, section 6, `settle`).

use cambium_kernel::Usd;

use crate::Error;
use crate::share::{EffectiveShare, Factor};
use crate::turn::{State, Turn};

/// How a turn ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Its own run, or its body, ended.
    Ended,
    /// It stopped giving signs of life.
    Orphaned,
    /// It did not stop within the grace after its deadline or the hold of its brake.
    Overdue,
    /// It was withdrawn, and something of it had run after all.
    LateStart,
}

impl Outcome {
    pub const ALL: [Self; 4] = [Self::Ended, Self::Orphaned, Self::Overdue, Self::LateStart];

    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|outcome| outcome.as_str() == text)
    }

    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Ended => "ended",
            Self::Orphaned => "orphaned",
            Self::Overdue => "overdue",
            Self::LateStart => "late_start",
        }
    }
}

/// Who brings a cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// hypha, once a run and all that it caused have ended.
    Run,
    /// The meter that watches a body.
    Meter,
    /// Our own look at turns that nobody ends.
    Sweep,
}

impl Source {
    pub const ALL: [Self; 3] = [Self::Run, Self::Meter, Self::Sweep];

    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Run => "run",
            Self::Meter => "meter",
            Self::Sweep => "sweep",
        }
    }

    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|source| source.as_str() == text)
    }
}

/// What was found out about a turn's cost.
#[derive(Clone, Copy, Debug)]
pub struct Finding {
    /// Micro-dollars as they came, measured; none if nobody measured.
    pub cost_micro_usd: Option<i64>,
    /// What the mind's own side says. Kept, and counts for nothing.
    pub declared_micro_usd: Option<i64>,
    pub source: Source,
    pub outcome: Outcome,
}

/// The charge of a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Charge {
    pub cost: Usd,
    pub is_measured: bool,
    pub declared: Option<Usd>,
    /// By how much the mind's vtime grows.
    pub vdelta: i64,
    pub source: Source,
    pub outcome: Outcome,
    /// The cost was above the cap: it is charged in full, and shown.
    pub is_overrun: bool,
}

/// The answer to a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Settlement {
    /// The first figure stands; another one is kept in the audit alone.
    Already(Charge),
    /// To be charged now, and the turn's reservation closed if it is open.
    New(Charge),
}

/// More times the cap than any meter that works would find.
const BROKEN: i64 = 10;

/// Settles a turn, once. `turn` is none where no such turn was ever launched.
pub fn settle(
    turn: Option<&Turn>,
    charged: Option<Charge>,
    finding: Finding,
) -> Result<Settlement, Error> {
    if let Some(charge) = charged {
        return Ok(Settlement::Already(charge));
    }
    let turn = turn.ok_or(Error::NeverLaunched)?;
    let outcome = match turn.state {
        State::Granted | State::Running | State::Settled => finding.outcome,
        State::Withdrawn if finding.source == Source::Run => Outcome::LateStart,
        State::Withdrawn => return Err(Error::NeverLaunched),
    };
    let measured = finding
        .cost_micro_usd
        .map(|cost| credible(cost, turn.cap))
        .transpose()?;
    let cost = measured.unwrap_or(turn.cap);
    Ok(Settlement::New(Charge {
        cost,
        is_measured: measured.is_some(),
        declared: finding.declared_micro_usd.map(Usd::from_micros),
        vdelta: vdelta(cost.max(turn.floor), turn.share, turn.haste),
        source: finding.source,
        outcome,
        is_overrun: cost > turn.cap,
    }))
}

/// A cost from 0 to 10 caps. More is refused as a broken meter.
pub fn credible(micro_usd: i64, cap: Usd) -> Result<Usd, Error> {
    let most = cap.as_micros().saturating_mul(BROKEN);
    crate::error::bounded("cost_micro_usd", micro_usd, 0..=most).map(Usd::from_micros)
}

/// ⌈cost · 10^12 / (share · haste)⌉: rounded up once a turn, so that a sum of turns is never too little.
#[must_use]
pub fn vdelta(cost: Usd, share: EffectiveShare, haste: Factor) -> i64 {
    let weight = i128::from(share.as_ppm()) * i128::from(haste.as_ppm());
    let scaled = i128::from(cost.as_micros().max(0)) * 1_000_000_000_000;
    // Not above i64: a cost is at most 2 · 10^10, and a weight at least 10^6.
    i64::try_from((scaled + weight - 1) / weight).unwrap_or(i64::MAX)
}

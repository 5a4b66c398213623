//! The operator's one dial: how fast money may be spent, how much a turn may cost, and how many are alive at once.
//! Knows no mind. Its numbers are checked once, here, so that nothing else has to (design: swarm, section 1).

#[cfg(test)]
mod tests;

use cambium_kernel::Usd;
use chrono::TimeDelta;

use crate::Error;
use crate::error::bounded;
use crate::share::PPM;

/// Whether a turn's cap is held back from the bucket while it is alive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reserve {
    Cap,
    /// The seed's literal gate: live turns are not counted.
    None,
}

impl Reserve {
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Cap => "cap",
            Self::None => "none",
        }
    }

    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        [Self::Cap, Self::None]
            .into_iter()
            .find(|reserve| reserve.as_str() == text)
    }
}

/// What an operator would set; what is left out gets its default.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    pub heat_ppm: i64,
    pub base_rate_micro_usd_per_h: i64,
    pub base_run_micro_usd: i64,
    pub k: i64,
    pub reserve: Reserve,
    pub burst_micro_usd: Option<i64>,
    pub floor_micro_usd: Option<i64>,
    pub turn_max_s: Option<i64>,
}

/// The dial in force.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dial {
    heat_ppm: i64,
    rate: i64,
    run: i64,
    k: u32,
    reserve: Reserve,
    burst: i64,
    floor: i64,
    turn_max_s: i64,
}

impl Dial {
    /// The grace after which a silent turn is looked at, and the time that a body is given to stop.
    pub const GRACE: TimeDelta = TimeDelta::seconds(120);

    // INVARIANT: every number within its bounds of section 1; pace and cap are at least 1; floor is at most the cap.
    pub fn new(setting: Setting) -> Result<Self, Error> {
        let heat_ppm = bounded("heat_ppm", setting.heat_ppm, 50_000..=2_000_000)?;
        let rate = setting.base_rate_micro_usd_per_h;
        let rate = bounded("base_rate_micro_usd_per_h", rate, 1..=10_000_000_000)?;
        let run = bounded(
            "base_run_micro_usd",
            setting.base_run_micro_usd,
            1..=1_000_000_000,
        )?;
        let k = bounded("k", setting.k, 1..=1_000)?;
        bounded(
            "base_rate_micro_usd_per_h",
            scaled(rate, heat_ppm),
            1..=i64::MAX,
        )?;
        let cap = bounded("base_run_micro_usd", scaled(run, heat_ppm), 1..=i64::MAX)?;
        let usual = match setting.reserve {
            Reserve::Cap => (k - 1) * cap,
            Reserve::None => 0,
        };
        let burst = setting.burst_micro_usd.unwrap_or(usual);
        let floor = setting.floor_micro_usd.unwrap_or(cap.min(1_000));
        let turn_max_s = setting.turn_max_s.unwrap_or(21_600);
        Ok(Self {
            heat_ppm,
            rate,
            run,
            k: u32::try_from(k).unwrap_or(1),
            reserve: setting.reserve,
            burst: bounded("burst_micro_usd", burst, 0..=1_000 * cap)?,
            floor: bounded("floor_micro_usd", floor, 1..=cap)?,
            turn_max_s: bounded("turn_max_s", turn_max_s, 60..=86_400)?,
        })
    }

    /// What is earned an hour: ⌊rate · heat⌋.
    #[must_use]
    pub fn pace(&self) -> Usd {
        Usd::from_micros(scaled(self.rate, self.heat_ppm))
    }

    /// The most that a turn may cost: ⌊run · heat⌋.
    #[must_use]
    pub fn cap(&self) -> Usd {
        Usd::from_micros(scaled(self.run, self.heat_ppm))
    }

    /// The most that the bucket may hold.
    #[must_use]
    pub const fn burst(&self) -> Usd {
        Usd::from_micros(self.burst)
    }

    /// The least that a turn counts in vtime. It moves the clock, never the money.
    #[must_use]
    pub const fn floor(&self) -> Usd {
        Usd::from_micros(self.floor)
    }

    /// Turns alive at once.
    #[must_use]
    pub const fn k(&self) -> u32 {
        self.k
    }

    #[must_use]
    pub const fn reserve(&self) -> Reserve {
        self.reserve
    }

    #[must_use]
    pub const fn turn_max(&self) -> TimeDelta {
        TimeDelta::seconds(self.turn_max_s)
    }

    #[must_use]
    pub const fn heat_ppm(&self) -> i64 {
        self.heat_ppm
    }

    /// The dial as it was set, with what was left out.
    #[must_use]
    pub fn setting(&self) -> Setting {
        Setting {
            heat_ppm: self.heat_ppm,
            base_rate_micro_usd_per_h: self.rate,
            base_run_micro_usd: self.run,
            k: self.k.into(),
            reserve: self.reserve,
            burst_micro_usd: Some(self.burst),
            floor_micro_usd: Some(self.floor),
            turn_max_s: Some(self.turn_max_s),
        }
    }

    /// What is earned in a microsecond, in 3.6 · 10^15ths of a micro-dollar: the pace without its rounding.
    pub(crate) fn gain(&self) -> i128 {
        i128::from(self.heat_ppm) * i128::from(self.rate)
    }

    /// How many turns can be alive at once before one has been paid for: m of them need (m − 1) caps in the bucket.
    #[must_use]
    pub fn fits(&self) -> u32 {
        if self.reserve == Reserve::None {
            return self.k;
        }
        let more = self.burst / self.cap().as_micros();
        u32::try_from(more)
            .unwrap_or(self.k)
            .saturating_add(1)
            .min(self.k)
    }
}

fn scaled(base: i64, heat_ppm: i64) -> i64 {
    base.saturating_mul(heat_ppm) / PPM
}

//! What is likely next: the order of turns, when the wallet runs dry, and why a mind has no turn.
//! An order, never a time table; promises nothing and changes nothing (design: swarm, section 11).

#[cfg(test)]
mod tests;

use cambium_kernel::Usd;
use chrono::{DateTime, TimeDelta, Utc};

use crate::bucket::Bucket;
use crate::charge::vdelta;
use crate::dial::Dial;
use crate::member::Standing;
use crate::pick::{self, Candidate};
use crate::share::{EffectiveShare, Factor};
use crate::tick::Round;
use crate::time::{HOUR_US, after, elapsed_us};
use crate::wallet::{Limit, Spending, Wallet};
use crate::{Instance, Why};

/// How many of a mind's newest measured costs its mean is taken of.
pub const REMEMBERED: usize = 20;

/// The mean of the newest measured costs, rounded half up; the cap where there is none. `costs` has the newest first.
#[must_use]
pub fn mean(costs: &[Usd], cap: Usd) -> Usd {
    let newest = &costs[..costs.len().min(REMEMBERED)];
    let count = i128::try_from(newest.len()).unwrap_or(0);
    if count == 0 {
        return cap;
    }
    let sum: i128 = newest.iter().map(|cost| i128::from(cost.as_micros())).sum();
    let rounded = (2 * sum + count).div_euclid(2 * count);
    Usd::from_micros(i64::try_from(rounded).unwrap_or(i64::MAX))
}

/// A member of the timeline, as a preview needs it.
#[derive(Clone, Debug)]
pub struct Runner {
    pub candidate: Candidate,
    pub haste: Factor,
    /// See [`mean`].
    pub mean: Usd,
    /// Share, haste and floor of its live turn.
    pub live: Option<(EffectiveShare, Factor, Usd)>,
}

/// A turn that may come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Preview {
    pub instance: Instance,
    pub cost: Usd,
}

/// The order of the next `n` turns, if each costs what its mind's turns cost on average.
#[must_use]
pub fn preview(mut runners: Vec<Runner>, floor: Usd, n: usize) -> Vec<Preview> {
    for runner in &mut runners {
        if let Some((share, haste, floor)) = runner.live {
            let step = vdelta(runner.mean.max(floor), share, haste);
            runner.candidate.vtime = runner.candidate.vtime.plus(step);
        }
    }
    let mut turns = Vec::new();
    while turns.len() < n {
        let all = runners.iter().map(|runner| runner.candidate.clone());
        let Some(next) = pick::order(all.collect()).into_iter().next() else {
            break;
        };
        let Some(runner) = runners
            .iter_mut()
            .find(|runner| runner.candidate.instance == next.instance)
        else {
            break;
        };
        let step = vdelta(runner.mean.max(floor), next.share, runner.haste);
        runner.candidate.vtime = next.vtime.plus(step);
        turns.push(Preview {
            instance: next.instance,
            cost: runner.mean,
        });
    }
    turns
}

/// What the charges of late say about the pace of spending.
#[derive(Clone, Copy, Debug)]
pub struct Burn {
    /// The sum of the charges of the last 24 hours.
    pub charged: Usd,
    pub first_launch: DateTime<Utc>,
}

impl Burn {
    /// Micro-dollars an hour, over the time since the first launch: an hour at least, 24 at most.
    #[must_use]
    pub fn per_hour(&self, now: DateTime<Utc>) -> Usd {
        let span = elapsed_us(self.first_launch, now).clamp(HOUR_US, 24 * HOUR_US);
        let rate = i128::from(self.charged.as_micros()) * i128::from(HOUR_US) / i128::from(span);
        Usd::from_micros(i64::try_from(rate).unwrap_or(i64::MAX))
    }
}

/// When the wallet runs dry. An instant past the end of the period is left out: it begins anew before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dry {
    pub remaining: Usd,
    pub burn_per_h: Usd,
    pub expected: Option<DateTime<Utc>>,
    pub earliest: Option<DateTime<Utc>>,
}

/// Foresees when no turn fits any more. `reserved` is what the bucket holds back; no burn is known before the first launch.
#[must_use]
pub fn dry(
    (wallet, spending): (&Wallet, Spending),
    (bucket, reserved): (&Bucket, Usd),
    dial: &Dial,
    burn: Option<Burn>,
    now: DateTime<Utc>,
) -> Dry {
    let cap = dial.cap().as_micros();
    let used = spending
        .spent
        .as_micros()
        .saturating_add(spending.held.as_micros());
    let remaining = wallet.limit.as_micros().saturating_sub(used);
    let spendable = remaining.saturating_sub(cap);
    let burn_per_h = burn.map_or(Usd::from_micros(0), |burn| burn.per_hour(now));
    let free = bucket
        .level
        .as_micros()
        .saturating_sub(reserved.as_micros())
        .max(0);
    let beyond = spendable.max(0).saturating_sub(free).saturating_sub(cap);
    let end = wallet.period.end(now);
    let at = |amount: i64, per_h: Usd| {
        let at = if spendable < 0 {
            Some(now)
        } else {
            reach(amount, per_h, now)
        };
        at.filter(|at| *at <= end)
    };
    Dry {
        remaining: Usd::from_micros(remaining),
        burn_per_h,
        expected: at(spendable, burn_per_h),
        earliest: at(beyond, dial.pace()),
    }
}

/// When so much is spent at such a pace, rounded up to a microsecond; never without a pace.
fn reach(amount: i64, per_h: Usd, now: DateTime<Utc>) -> Option<DateTime<Utc>> {
    let per_h = i128::from(per_h.as_micros());
    if per_h <= 0 {
        return None;
    }
    let scaled = i128::from(amount.max(0)) * i128::from(HOUR_US);
    let wait = (scaled + per_h - 1) / per_h;
    now.checked_add_signed(TimeDelta::microseconds(i64::try_from(wait).ok()?))
}

/// Why a mind has no turn, and when that may end, if it is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Explanation {
    pub why: Why,
    pub until: Option<DateTime<Utc>>,
}

/// Answers with the first of the closed set that stands in the way. `deadline` is that of its live turn.
/// None: nothing does, and it is the first.
#[must_use]
pub fn explain(
    mind: &Standing,
    round: &Round,
    deadline: Option<DateTime<Utc>>,
    is_first: bool,
) -> Option<Explanation> {
    let now = round.now;
    let ahead = |at: Option<DateTime<Utc>>| at.filter(|at| *at > now);
    if let Some(why) = mind.hindrance(now) {
        let until = match why {
            Why::Session => mind.session_until,
            Why::Rest => mind.agenda.rest_until,
            Why::Persona | Why::Retry => mind.launch.retry_at,
            Why::Idle => mind.next_reason(now),
            _ => None,
        };
        return Some(Explanation {
            why,
            until: ahead(until),
        });
    }
    if mind.is_live {
        let until = ahead(deadline);
        return Some(Explanation {
            why: Why::Live,
            until,
        });
    }
    match round.gate() {
        Err(why) => Some(Explanation {
            why,
            until: ahead(gate_until(round, why)),
        }),
        Ok(_) if is_first => None,
        Ok(_) => Some(Explanation {
            why: Why::Behind,
            until: None,
        }),
    }
}

fn gate_until(round: &Round, why: Why) -> Option<DateTime<Utc>> {
    match (why, &round.dial, &round.limit) {
        (Why::Preempt, _, _) => round.preempted_until,
        (Why::Bucket, Some(dial), _) => {
            let wait = round.bucket.wait(round.held(dial), dial)?;
            Some(after(round.now, wait))
        }
        (Why::Wallet, _, Limit::Of(wallet, _)) => Some(wallet.period.end(round.now)),
        _ => None,
    }
}

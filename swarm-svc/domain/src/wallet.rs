//! The hard limit of a period, if the operator set one. Reads no charge by itself, and has no grace (design: swarm, sections 1 and 6).

#[cfg(test)]
mod tests;

use cambium_kernel::Usd;
use chrono::{DateTime, Datelike as _, Days, Months, NaiveDate, NaiveTime, Utc};

use crate::Error;
use crate::error::bounded;

/// How long a limit lasts before it begins anew, in UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Period {
    Day,
    /// From Monday.
    Week,
    Month,
}

impl Period {
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Day => "day",
            Self::Week => "week",
            Self::Month => "month",
        }
    }

    pub fn parse(text: &str) -> Result<Self, Error> {
        match text {
            "day" => Ok(Self::Day),
            "week" => Ok(Self::Week),
            "month" => Ok(Self::Month),
            _ => Err(Error::UnknownWord { field: "period" }),
        }
    }

    /// The first day of the period that holds an instant: it names the period.
    #[must_use]
    pub fn first_day(self, at: DateTime<Utc>) -> NaiveDate {
        let day = at.date_naive();
        let back = match self {
            Self::Day => 0,
            Self::Week => day.weekday().num_days_from_monday(),
            Self::Month => day.day0(),
        };
        day.checked_sub_days(Days::new(back.into())).unwrap_or(day)
    }

    /// The instant at which the period that holds this one is over.
    #[must_use]
    pub fn end(self, at: DateTime<Utc>) -> DateTime<Utc> {
        let first = self.first_day(at);
        let next = match self {
            Self::Day => first.checked_add_days(Days::new(1)),
            Self::Week => first.checked_add_days(Days::new(7)),
            Self::Month => first.checked_add_months(Months::new(1)),
        };
        next.map_or(DateTime::<Utc>::MAX_UTC, |day| {
            day.and_time(NaiveTime::MIN).and_utc()
        })
    }
}

/// A limit on what the turns of a period may cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wallet {
    pub limit: Usd,
    pub period: Period,
}

impl Wallet {
    /// Checks a wish: 0 to 10^12 micro-dollars, where 0 means that nothing is spent.
    pub fn new(limit_micro_usd: i64, period: Period) -> Result<Self, Error> {
        let limit = bounded("limit_micro_usd", limit_micro_usd, 0..=1_000_000_000_000)?;
        Ok(Self {
            limit: Usd::from_micros(limit),
            period,
        })
    }
}

/// What a period's turns cost so far, and what those alive may still cost. A turn belongs to the period of its launch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spending {
    pub spent: Usd,
    pub held: Usd,
}

/// What stands between a turn and the operator's money.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// No hard limit was set.
    Open,
    Of(Wallet, Spending),
    /// A row that cannot be read lets nothing through.
    Unreadable,
}

impl Limit {
    /// Whether one more turn of such a cap stays within the limit, whatever all the turns alive will cost up to their caps.
    #[must_use]
    pub fn admits(&self, cap: Usd) -> bool {
        match self {
            Self::Open => true,
            Self::Of(wallet, spending) => {
                let parts = [spending.spent, spending.held, cap];
                let sum: i128 = parts.iter().map(|part| i128::from(part.as_micros())).sum();
                sum <= wallet.limit.as_micros().into()
            }
            Self::Unreadable => false,
        }
    }
}

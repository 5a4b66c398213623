//! When a ruling is looked at again: standing decays against whoever came first (design: swarm, section 9).
//! Ends no ruling: an overdue one holds until a new one supersedes it.

#[cfg(test)]
mod tests;

use chrono::{Days, NaiveDate};

use crate::Error;
use crate::record::{Authority, Document};

/// Why a ruling has a review date.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    AtWrite,
    SecondMind,
}

impl Cause {
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::AtWrite => "at_write",
            Self::SecondMind => "second_mind",
        }
    }
}

/// Days until a review that nobody named a date for, and the most that there may be.
const USUAL: u64 = 90;
const MOST: u64 = 365;

/// Whether rulings of this sort are reviewed: a mind's own, and the one that makes a lead.
#[must_use]
pub fn is_reviewed(ruling: &Document) -> bool {
    ruling.authority() == Some(Authority::Mind) || is_lead(ruling)
}

fn is_lead(ruling: &Document) -> bool {
    ruling.authority() == Some(Authority::Standing) && ruling.stated("label") == Some("swarm-lead")
}

/// The date of a ruling that is written today: as given, else 90 days ahead while two or more minds are open. The lead's always
/// has one.
pub fn at_write(
    ruling: &Document,
    open_minds: usize,
    today: NaiveDate,
) -> Result<Option<NaiveDate>, Error> {
    let given = ruling
        .stated("review_on")
        .and_then(|text| crate::text::date(text).ok());
    if let Some(given) = given {
        let is_fit = given > today && Some(given) <= today.checked_add_days(Days::new(MOST));
        return match is_fit {
            true => Ok(Some(given)),
            false => Err(Error::document("review_on", "is not within 365 days")),
        };
    }
    let is_due = is_lead(ruling) || (is_reviewed(ruling) && open_minds >= 2);
    Ok(is_due.then(|| usual(today)))
}

/// The date that a ruling in force gets when the second mind opens, if it has none.
#[must_use]
pub fn at_second_mind(ruling: &Document, has_date: bool, today: NaiveDate) -> Option<NaiveDate> {
    (is_reviewed(ruling) && !has_date).then(|| usual(today))
}

fn usual(today: NaiveDate) -> NaiveDate {
    today
        .checked_add_days(Days::new(USUAL))
        .unwrap_or(NaiveDate::MAX)
}

/// Whether the date of a ruling in force has passed.
#[must_use]
pub fn is_overdue(review_on: NaiveDate, today: NaiveDate) -> bool {
    today > review_on
}

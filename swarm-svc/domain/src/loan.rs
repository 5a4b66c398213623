//! Shares that minds lend one another: own share only, for a time, at most half of it.
//! Never edits an operator's row, and never makes share: what one has less another has more (design: swarm, sections 1 and 6).

#[cfg(test)]
mod tests;

use chrono::{DateTime, TimeDelta, Utc};

use crate::error::bounded;
use crate::share::{EffectiveShare, Share};
use crate::{Error, Instance, LoanId, time};

/// A part of its own share that a mind gave another for a time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loan {
    pub id: LoanId,
    pub lender: Instance,
    pub borrower: Instance,
    pub share_ppm: i64,
    pub from: DateTime<Utc>,
    pub until: DateTime<Utc>,
    pub ended_at: Option<DateTime<Utc>>,
}

impl Loan {
    /// Whether it counts: a loan past its end counts for nobody.
    #[must_use]
    pub fn is_active(&self, now: DateTime<Utc>) -> bool {
        self.ended_at.is_none() && now < self.until
    }

    /// Ends it before its time. One that is over stays as it is.
    #[must_use]
    pub fn ended(self, now: DateTime<Utc>) -> Self {
        if !self.is_active(now) {
            return self;
        }
        Self {
            ended_at: Some(now),
            ..self
        }
    }
}

/// What a mind would lend.
#[derive(Clone, Debug)]
pub struct Offer {
    pub lender: Instance,
    pub borrower: Instance,
    pub share_ppm: i64,
    pub until: Option<DateTime<Utc>>,
}

/// The own shares of both parties, where they have one.
#[derive(Clone, Copy, Debug)]
pub struct Parties {
    pub lender: Option<Share>,
    pub borrower: Option<Share>,
}

/// Lends, or says why not. What the lender has borrowed is never lent on.
pub fn lend(
    id: LoanId,
    offer: Offer,
    parties: Parties,
    loans: &[Loan],
    now: DateTime<Utc>,
) -> Result<Loan, Error> {
    if offer.lender == offer.borrower {
        return Err(Error::LoanToOneself);
    }
    let share_ppm = bounded(
        "share_ppm",
        offer.share_ppm,
        Share::LEAST_PPM..=Share::MOST_PPM,
    )?;
    let until = time::until("until", offer.until, now, TimeDelta::hours(24))?;
    let own = parties
        .lender
        .ok_or_else(|| Error::NoShare(offer.lender.clone()))?;
    if parties.borrower.is_none() {
        return Err(Error::NoShare(offer.borrower));
    }
    let lent = given(loans, &offer.lender, now);
    if 2 * (lent + share_ppm) > own.as_ppm() {
        return Err(Error::OverHalfLent { lent, share: own });
    }
    Ok(Loan {
        id,
        lender: offer.lender,
        borrower: offer.borrower,
        share_ppm,
        from: now,
        until,
        ended_at: None,
    })
}

/// The sum that a mind has lent and that still counts, in parts per million.
#[must_use]
pub fn given(loans: &[Loan], lender: &Instance, now: DateTime<Utc>) -> i64 {
    sum(loans, now, |loan| loan.lender == *lender)
}

/// The sum that a mind has borrowed and that still counts, in parts per million.
#[must_use]
pub fn taken(loans: &[Loan], borrower: &Instance, now: DateTime<Utc>) -> i64 {
    sum(loans, now, |loan| loan.borrower == *borrower)
}

fn sum(loans: &[Loan], now: DateTime<Utc>, is_meant: impl Fn(&Loan) -> bool) -> i64 {
    let counted = loans
        .iter()
        .filter(|loan| loan.is_active(now) && is_meant(loan));
    counted.fold(0, |sum, loan| sum.saturating_add(loan.share_ppm))
}

/// `eff(m, now)`: own share, less loans given, plus loans taken. Their sum over all minds is that of the own shares.
#[must_use]
pub fn effective(own: Share, loans: &[Loan], of: &Instance, now: DateTime<Utc>) -> EffectiveShare {
    let less = given(loans, of, now);
    let more = taken(loans, of, now);
    EffectiveShare::near(own.as_ppm().saturating_sub(less).saturating_add(more))
}

/// The loans that end because a mind's share changes: newest first until twice the rest fits; without a share all of them,
/// those that it took as well.
#[must_use]
pub fn give_way(
    of: &Instance,
    share: Option<Share>,
    loans: &[Loan],
    now: DateTime<Utc>,
) -> Vec<LoanId> {
    let Some(share) = share else {
        let meant = |loan: &&Loan| loan.lender == *of || loan.borrower == *of;
        let active = loans.iter().filter(|loan| loan.is_active(now));
        return active.filter(meant).map(|loan| loan.id).collect();
    };
    let mut lent: Vec<&Loan> = loans
        .iter()
        .filter(|loan| loan.is_active(now) && loan.lender == *of)
        .collect();
    lent.sort_by_key(|loan| (loan.from, loan.id));
    let mut left = given(loans, of, now);
    let mut ended = Vec::new();
    while 2 * left > share.as_ppm()
        && let Some(newest) = lent.pop()
    {
        left -= newest.share_ppm;
        ended.push(newest.id);
    }
    ended
}

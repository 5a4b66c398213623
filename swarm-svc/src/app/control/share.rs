//! A mind's share and the haste on it. Loans give way; no other mind's row changes (design: swarm, section 6).

use cambium_proto::swarm::v1 as wire;
use cambium_service_kit::call::Call;
use cambium_swarm::authority::Action;
use cambium_swarm::loan::{self, Loan};
use cambium_swarm::share::{Haste, Share};
use cambium_swarm::{Instance, LoanId};
use chrono::{DateTime, Utc};
use serde_json::json;

use super::warn;
use crate::app::{About, App, Change};
use crate::convert::control::{self as wired, HasteWish, OfMind};
use crate::convert::instant;
use crate::error::Error;
use crate::store::share::Set;
use crate::store::{self, setting, standing};

impl App {
    pub(crate) async fn set_share(
        &self,
        call: &Call,
        wish: &OfMind<Share>,
    ) -> Result<wire::SetShareResponse, Error> {
        let mut change = self.begin(call, &wish.workspace).await?;
        let mind = &wish.instance;
        if let Some(reply) = change.admit(Action::SetShare, Some(mind)).await? {
            return Ok(reply);
        }
        change.lock_schedule().await?;
        let loans = change.touch_with_loans(mind).await?;
        change.open_mind(mind).await?;
        let now = change.now().await?;
        let ended = loan::give_way(mind, Some(wish.value), &loans, now);
        change.end_loans(&ended, now).await?;
        let known = store::share::find(change.conn(), &wish.workspace, mind).await?;
        let set = Set {
            instance: mind.clone(),
            share: wish.value,
            haste: known.and_then(|known| known.haste),
            at: now,
            by: change.author(),
        };
        store::share::put(change.conn(), &wish.workspace, &set).await?;

        let dial = setting::dial(change.conn(), &wish.workspace).await?;
        let warnings = warn::of_shares(change.conn(), &wish.workspace, dial.as_ref(), now).await?;
        let ended_loan_ids = texts(&ended);
        let body = json!({"share_ppm": wish.value.as_ppm(), "ended_loan_ids": ended_loan_ids});
        let reply = wire::SetShareResponse {
            share: Some(change.share_shown(&set, now).await?),
            ended_loan_ids,
            warnings: wired::warnings_to_wire(warnings),
        };
        change.finish(reply, About::mind(mind, body)).await
    }

    /// A haste stands on a share: without one there is nothing to speed up.
    pub(crate) async fn set_haste(
        &self,
        call: &Call,
        wish: &OfMind<Option<HasteWish>>,
    ) -> Result<wire::SetHasteResponse, Error> {
        let mut change = self.begin(call, &wish.workspace).await?;
        let mind = &wish.instance;
        if let Some(reply) = change.admit(Action::SetHaste, Some(mind)).await? {
            return Ok(reply);
        }
        change.lock_schedule().await?;
        change.touch(&[mind]).await?;
        change.open_mind(mind).await?;
        let now = change.now().await?;
        let haste = wish
            .value
            .map(|haste| Haste::new(haste.factor_ppm, haste.until, now));
        let haste = haste.transpose()?;
        let known = store::share::find(change.conn(), &wish.workspace, mind).await?;
        let known = known.ok_or_else(|| cambium_swarm::Error::NoShare(mind.clone()))?;
        let set = Set {
            haste,
            at: now,
            by: change.author(),
            ..known
        };
        store::share::put(change.conn(), &wish.workspace, &set).await?;
        let body = json!({
            "haste_ppm": haste.map(|haste| haste.factor.as_ppm()),
            "haste_until": haste.map(|haste| instant(haste.until)),
        });
        let reply = wire::SetHasteResponse {
            share: Some(change.share_shown(&set, now).await?),
        };
        change.finish(reply, About::mind(mind, body)).await
    }

    /// A mind without a share is off the timeline. One that had none stays as it is.
    pub(crate) async fn remove_share(
        &self,
        call: &Call,
        wish: &OfMind<()>,
    ) -> Result<wire::RemoveShareResponse, Error> {
        let mut change = self.begin(call, &wish.workspace).await?;
        let mind = &wish.instance;
        if let Some(reply) = change.admit(Action::SetShare, Some(mind)).await? {
            return Ok(reply);
        }
        change.lock_schedule().await?;
        let loans = change.touch_with_loans(mind).await?;
        change.open_mind(mind).await?;
        let now = change.now().await?;
        let ended = loan::give_way(mind, None, &loans, now);
        change.end_loans(&ended, now).await?;
        store::share::delete(change.conn(), &wish.workspace, mind).await?;
        let ended_loan_ids = texts(&ended);
        let body = json!({"share_ppm": null, "ended_loan_ids": ended_loan_ids});
        let reply = wire::RemoveShareResponse { ended_loan_ids };
        change.finish(reply, About::mind(mind, body)).await
    }
}

impl Change<'_> {
    /// Touches a mind and all with whom it has loans, and reads these. Whoever lends or borrows meanwhile waits.
    async fn touch_with_loans(&mut self, mind: &Instance) -> Result<Vec<Loan>, Error> {
        let workspace = self.workspace.clone();
        let own = [mind.as_str().to_owned()];
        let before = store::loan::active(self.conn(), &workspace, Some(&own)).await?;
        self.touch(&parties(mind, &before)).await?;
        let loans = store::loan::active(self.conn(), &workspace, Some(&own)).await?;
        // Lent just before: its other party is not touched yet.
        if loans != before {
            self.touch(&parties(mind, &loans)).await?;
        }
        Ok(loans)
    }

    async fn end_loans(&mut self, loans: &[LoanId], now: DateTime<Utc>) -> Result<(), Error> {
        if loans.is_empty() {
            return Ok(());
        }
        let (workspace, author) = (self.workspace.clone(), self.author());
        store::loan::end(self.conn(), &workspace, loans, now, &author).await
    }

    /// A share as it is now written, with what loans leave of it.
    async fn share_shown(&mut self, set: &Set, now: DateTime<Utc>) -> Result<wire::Share, Error> {
        let workspace = self.workspace.clone();
        let placed = standing::of(self.conn(), &workspace, &set.instance).await?;
        let effective = loan::effective(set.share, &placed.loans, &set.instance, now);
        Ok(wired::share_to_wire(set, effective, now))
    }
}

fn parties<'a>(mind: &'a Instance, loans: &'a [Loan]) -> Vec<&'a Instance> {
    let mut parties = vec![mind];
    parties.extend(loans.iter().flat_map(|loan| [&loan.lender, &loan.borrower]));
    parties.sort_unstable();
    parties.dedup();
    parties
}

fn texts(loans: &[LoanId]) -> Vec<String> {
    loans.iter().map(LoanId::to_string).collect()
}

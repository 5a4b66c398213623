//! Loans between minds: lent by a mind from its own share, given back by the borrower, ended by the operator.
//! Never edits an operator's row; the lender cannot recall (design: swarm, section 6).

use cambium_kernel::WorkspaceId;
use cambium_proto::swarm::v1 as wire;
use cambium_service_kit::call::Call;
use cambium_service_kit::page::Page;
use cambium_swarm::authority::Action;
use cambium_swarm::loan::{self, Loan, Offer, Parties};
use cambium_swarm::{Instance, LoanId};
use serde_json::{Value, json};

use crate::app::{About, App, Change};
use crate::convert;
use crate::convert::loan::{Ending, Lending, loan_to_wire};
use crate::error::Error;
use crate::store;
use crate::store::loan::Kept;

impl App {
    /// Needs no consent: it can only give.
    pub(crate) async fn lend_share(
        &self,
        call: &Call,
        wish: &Lending,
    ) -> Result<wire::LendShareResponse, Error> {
        let mut change = self.begin(call, &wish.workspace).await?;
        let lender = convert::own(&change.actor)?;
        // Before the fence, which locks a turn.
        change.lock_schedule().await?;
        if let Some(reply) = change.admit(Action::LendShare, Some(&lender)).await? {
            return Ok(reply);
        }
        change.touch(&[&lender, &wish.borrower]).await?;
        let loan = change.lent(lender, wish).await?;
        store::loan::insert(change.conn(), &wish.workspace, &loan).await?;
        let about = About::mind(&loan.lender, body(&loan));
        let now = loan.from;
        let kept = Kept {
            loan,
            ended_by: None,
        };
        let reply = wire::LendShareResponse {
            loan: Some(loan_to_wire(&kept, now)),
        };
        change.finish(reply, about).await
    }

    /// By the borrower. A loan that is over stays as it is.
    pub(crate) async fn return_loan(
        &self,
        call: &Call,
        wish: &Ending,
    ) -> Result<wire::ReturnLoanResponse, Error> {
        let mut change = self.begin(call, &wish.workspace).await?;
        change.lock_schedule().await?;
        let borrower = change.loan(wish.loan).await?.loan.borrower;
        if let Some(reply) = change.admit(Action::LendShare, Some(&borrower)).await? {
            return Ok(reply);
        }
        let (loan, about) = change.end_loan(wish.loan).await?;
        let reply = wire::ReturnLoanResponse { loan: Some(loan) };
        change.finish(reply, about).await
    }

    /// By the operator. A loan that is over stays as it is.
    pub(crate) async fn end_loan(
        &self,
        call: &Call,
        wish: &Ending,
    ) -> Result<wire::EndLoanResponse, Error> {
        let mut change = self.begin(call, &wish.workspace).await?;
        if let Some(reply) = change.admit(Action::SetShare, None).await? {
            return Ok(reply);
        }
        change.lock_schedule().await?;
        let (loan, about) = change.end_loan(wish.loan).await?;
        let reply = wire::EndLoanResponse { loan: Some(loan) };
        change.finish(reply, about).await
    }

    /// Newest first, those after a loan.
    pub(crate) async fn list_loans(
        &self,
        workspace: &WorkspaceId,
        active_only: bool,
        (page, after): &(Page<String>, Option<LoanId>),
    ) -> Result<wire::ListLoansResponse, Error> {
        let mut conn = self.pool.acquire().await?;
        let now = store::now(&mut conn).await?;
        let active_at = active_only.then_some(now);
        let limit = page.size + 1;
        let found = store::loan::list(&mut conn, workspace, active_at, *after, limit).await?;
        let cursors: Vec<String> = found.iter().map(|kept| kept.loan.id.to_string()).collect();
        let shown = found.iter().map(|kept| loan_to_wire(kept, now));
        let (loans, next_page_token) = page.cut(shown, &cursors);
        Ok(wire::ListLoansResponse {
            loans,
            next_page_token,
        })
    }
}

impl Change<'_> {
    /// The loan as the rules make it, of shares that nobody changes meanwhile.
    async fn lent(&mut self, lender: Instance, wish: &Lending) -> Result<Loan, Error> {
        let workspace = &wish.workspace;
        let now = self.now().await?;
        let offer = Offer {
            lender: lender.clone(),
            borrower: wish.borrower.clone(),
            share_ppm: wish.share_ppm,
            until: wish.until,
        };
        self.open_mind(&wish.borrower).await?;
        let own = store::share::find(self.conn(), workspace, &lender).await?;
        let other = store::share::find(self.conn(), workspace, &wish.borrower).await?;
        let parties = Parties {
            lender: own.map(|set| set.share),
            borrower: other.map(|set| set.share),
        };
        let names = [lender.as_str().to_owned()];
        let loans = store::loan::active(self.conn(), workspace, Some(&names)).await?;
        Ok(loan::lend(LoanId::generate(), offer, parties, &loans, now)?)
    }

    async fn loan(&mut self, id: LoanId) -> Result<Kept, Error> {
        let workspace = self.workspace.clone();
        let found = store::loan::find(self.conn(), &workspace, id).await?;
        found.ok_or(Error::NoLoan(id))
    }

    /// Ends a loan now, if it still counts. Its parties' rows decide who is first, so they are locked before it is read again.
    async fn end_loan(&mut self, id: LoanId) -> Result<(wire::Loan, About), Error> {
        let workspace = self.workspace.clone();
        let known = self.loan(id).await?.loan;
        self.touch(&[&known.lender, &known.borrower]).await?;
        let now = self.now().await?;
        if self.loan(id).await?.loan.is_active(now) {
            let author = self.author();
            store::loan::end(self.conn(), &workspace, &[id], now, &author).await?;
        }
        let kept = self.loan(id).await?;
        let about = About::mind(&kept.loan.lender, body(&kept.loan));
        Ok((loan_to_wire(&kept, now), about))
    }
}

fn body(loan: &Loan) -> Value {
    json!({
        "loan_id": loan.id.to_string(),
        "borrower": loan.borrower.as_str(),
        "share_ppm": loan.share_ppm,
        "until": convert::instant(loan.until),
        "ended_at": loan.ended_at.map(convert::instant),
    })
}

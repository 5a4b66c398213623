//! Loans between minds.

use cambium_kernel::WorkspaceId;
use cambium_proto::swarm::v1 as wire;
use cambium_service_kit::page::Page;
use cambium_service_kit::principal::Principal;
use cambium_swarm::{Instance, LoanId};
use chrono::{DateTime, Utc};

use super::{id, time, time_from_wire, workspace};
use crate::error::Error;
use crate::store::loan::Kept;

/// What a mind would lend; who it is says its token.
#[derive(Clone, Debug)]
pub(crate) struct Lending {
    pub(crate) workspace: WorkspaceId,
    pub(crate) borrower: Instance,
    pub(crate) share_ppm: i64,
    pub(crate) until: Option<DateTime<Utc>>,
}

/// A loan that is to end.
#[derive(Clone, Debug)]
pub(crate) struct Ending {
    pub(crate) workspace: WorkspaceId,
    pub(crate) loan: LoanId,
}

pub(crate) fn lending_from_wire(
    caller: &Principal,
    request: &wire::LendShareRequest,
) -> Result<Lending, Error> {
    Ok(Lending {
        workspace: workspace(caller, &request.workspace_id)?,
        borrower: Instance::parse_as("borrower", &request.borrower)?,
        share_ppm: request.share_ppm,
        until: time_from_wire("until", request.until)?,
    })
}

pub(crate) fn ending_from_wire(
    caller: &Principal,
    workspace_id: &str,
    loan_id: &str,
) -> Result<Ending, Error> {
    Ok(Ending {
        workspace: workspace(caller, workspace_id)?,
        loan: id("loan_id", loan_id)?,
    })
}

/// The page that is asked for, and after which loan it begins.
pub(crate) fn page_from_wire(
    workspace: &WorkspaceId,
    request: &wire::ListLoansRequest,
) -> Result<(Page<String>, Option<LoanId>), Error> {
    let which = if request.active_only { "active" } else { "all" };
    let list = ["loans", workspace.as_str(), which];
    let page: Page<String> = Page::from_wire(request.page_size, &request.page_token, &list)?;
    let after = page.after.as_deref().map(str::parse).transpose();
    let after = after.map_err(|_| cambium_service_kit::page::Error::Token)?;
    Ok((page, after))
}

pub(crate) fn loan_to_wire(kept: &Kept, now: DateTime<Utc>) -> wire::Loan {
    let loan = &kept.loan;
    wire::Loan {
        loan_id: loan.id.to_string(),
        lender: loan.lender.to_string(),
        borrower: loan.borrower.to_string(),
        share_ppm: loan.share_ppm,
        from_time: Some(time(loan.from)),
        until: Some(time(loan.until)),
        end_time: loan.ended_at.map(time),
        ended_by: kept.ended_by.clone().unwrap_or_default(),
        active: loan.is_active(now),
    }
}

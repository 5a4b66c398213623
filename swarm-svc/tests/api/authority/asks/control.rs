//! The operator's hand on shares, dial and brakes; and loans.

use cambium_proto::swarm::v1 as wire;
use cambium_proto::swarm::v1::Organ;

use super::{Ask, eureka, looked, why};
use crate::agenda::stamp;
use crate::authority::calls::asked;
use crate::authority::raw::call;
use crate::authority::stage::{HOUR, OTHER};
use crate::fixture::{Fixture, WORKSPACE, ordinary_dial, request_id};

pub(super) fn control(swarm: &Fixture) -> Vec<Ask> {
    let until = stamp(swarm.now() + HOUR);
    let haste = asked!(SetHasteRequest {
        instance: eureka(),
        haste_ppm: Some(2_000_000),
        until: until,
    });
    let dial = wire::SetDialRequest {
        workspace_id: WORKSPACE.to_owned(),
        request_id: request_id(),
        ..ordinary_dial()
    };
    let wallet = asked!(SetWalletRequest {
        limit_micro_usd: Some(1),
        period: wire::Period::Day.into(),
    });
    let hold = asked!(HoldBrakeRequest {
        instance: eureka(),
        reason: why()
    });
    let extend = asked!(ExtendSessionRequest {
        session_id: request_id(),
        ttl_s: 60
    });
    let close = asked!(CloseSessionRequest {
        session_id: request_id()
    });
    let share = asked!(SetShareRequest {
        instance: eureka(),
        share_ppm: 2_000_000
    });
    let remove = asked!(RemoveShareRequest { instance: eureka() });
    let release = asked!(ReleaseBrakeRequest { instance: eureka() });
    let operate = asked!(OperateMindRequest { instance: eureka() });
    let reset = asked!(ResetTimelineRequest { reason: why() });
    vec![
        (
            "",
            call("ControlService/GetControl", &looked!(GetControlRequest {})),
        ),
        ("", call("ControlService/SetShare", &share)),
        ("", call("ControlService/SetHaste", &haste)),
        ("", call("ControlService/RemoveShare", &remove)),
        ("", call("ControlService/SetDial", &dial)),
        ("", call("ControlService/SetWallet", &wallet)),
        ("", call("ControlService/HoldBrake", &hold)),
        ("", call("ControlService/ReleaseBrake", &release)),
        ("", call("ControlService/OperateMind", &operate)),
        ("", call("ControlService/ExtendSession", &extend)),
        ("", call("ControlService/CloseSession", &close)),
        ("", call("ControlService/ResetTimeline", &reset)),
        (
            "",
            call("ControlService/ListAudit", &looked!(ListAuditRequest {})),
        ),
        (
            "",
            call("ControlService/WatchAudit", &looked!(WatchAuditRequest {})),
        ),
    ]
}

/// Of a loan that weksa has of another mind, and of one between others.
pub(super) async fn loans(swarm: &Fixture) -> Vec<Ask> {
    let until = stamp(swarm.now() + HOUR);
    let other = swarm.operate(OTHER, Organ::Self_).await;
    let mut lent = Vec::new();
    for borrower in ["weksa", "eureka"] {
        let lend = asked!(LendShareRequest {
            borrower: borrower.to_owned(),
            share_ppm: 1_000,
            until: until,
        });
        let lend = swarm.loans_bearing(&other).lend_share(lend).await.unwrap();
        lent.push(lend.into_inner().loan.unwrap().loan_id);
    }
    swarm.end_session_with(OTHER).await;
    let lend = asked!(LendShareRequest {
        borrower: eureka(),
        share_ppm: 1_000,
        until: until
    });
    let back = asked!(ReturnLoanRequest {
        loan_id: lent[0].clone()
    });
    let foreign = asked!(ReturnLoanRequest {
        loan_id: lent[1].clone()
    });
    let end = asked!(EndLoanRequest {
        loan_id: lent[1].clone()
    });
    vec![
        ("", call("LoanService/LendShare", &lend)),
        ("its own", call("LoanService/ReturnLoan", &back)),
        ("another's", call("LoanService/ReturnLoan", &foreign)),
        ("", call("LoanService/EndLoan", &end)),
        (
            "",
            call("LoanService/ListLoans", &looked!(ListLoansRequest {})),
        ),
    ]
}

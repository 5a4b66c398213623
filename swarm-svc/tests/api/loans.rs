//! Loans: they only give, they never make share, and they give way to the operator.

use cambium_proto::swarm::v1::{
    EndLoanRequest, LendShareRequest, ListLoansRequest, ListLoansResponse, Loan, Organ,
    ReturnLoanRequest,
};
use chrono::TimeDelta;
use tonic::{Code, Status};

use crate::control_steps::{instant, remove, share_of, shown, tick};
use crate::fixture::{Fixture, WORKSPACE, field, ordinary_dial, reason, request_id, start};

async fn lend(
    swarm: &Fixture,
    token: &str,
    borrower: &str,
    ppm: i64,
    ahead: TimeDelta,
) -> Result<Loan, Status> {
    let request = LendShareRequest {
        workspace_id: WORKSPACE.to_owned(),
        request_id: request_id(),
        borrower: borrower.to_owned(),
        share_ppm: ppm,
        until: instant(swarm.now() + ahead),
    };
    let reply = swarm.loans_bearing(token).lend_share(request).await?;
    Ok(reply.into_inner().loan.unwrap())
}

async fn give_back(swarm: &Fixture, token: &str, loan: &Loan) -> Result<Loan, Status> {
    let request = ReturnLoanRequest {
        workspace_id: WORKSPACE.to_owned(),
        request_id: request_id(),
        loan_id: loan.loan_id.clone(),
    };
    let reply = swarm.loans_bearing(token).return_loan(request).await?;
    Ok(reply.into_inner().loan.unwrap())
}

async fn end(swarm: &Fixture, loan_id: &str) -> Result<Loan, Status> {
    let request = EndLoanRequest {
        workspace_id: WORKSPACE.to_owned(),
        request_id: request_id(),
        loan_id: loan_id.to_owned(),
    };
    let reply = swarm.loans().end_loan(request).await?;
    Ok(reply.into_inner().loan.unwrap())
}

async fn listed(
    swarm: &Fixture,
    page_size: i32,
    page_token: &str,
    active_only: bool,
) -> ListLoansResponse {
    let request = ListLoansRequest {
        workspace_id: WORKSPACE.to_owned(),
        page_size,
        page_token: page_token.to_owned(),
        active_only,
    };
    swarm
        .loans()
        .list_loans(request)
        .await
        .unwrap()
        .into_inner()
}

async fn effective(swarm: &Fixture) -> Vec<i64> {
    let shares = shown(swarm).await.shares;
    shares.iter().map(|share| share.effective_ppm).collect()
}

const HOUR: TimeDelta = TimeDelta::hours(1);

async fn three() -> Fixture {
    let swarm = start().await;
    swarm.dial(ordinary_dial()).await;
    for mind in ["ada", "bob", "cyd"] {
        swarm.open_released(mind, 4_000_000).await;
    }
    swarm
}

#[tokio::test]
async fn a_loan_moves_share_until_it_ends_by_itself() {
    let swarm = three().await;
    let ada = swarm.operate("ada", Organ::Self_).await;

    let loan = lend(&swarm, &ada, "bob", 1_500_000, HOUR).await.unwrap();
    assert!(loan.active);
    assert_eq!(effective(&swarm).await, [2_500_000, 5_500_000, 4_000_000]);
    assert_eq!(share_of(&swarm, "ada").await.unwrap().share_ppm, 4_000_000);
    assert_eq!(shown(&swarm).await.loans, [loan]);

    swarm.advance(HOUR).await;
    assert_eq!(effective(&swarm).await, [4_000_000; 3]);
    assert!(shown(&swarm).await.loans.is_empty());
    tick(&swarm).await;
    let stored: Vec<i64> = sqlx::query_scalar("SELECT eff_ppm FROM swarm.timeline_mind")
        .fetch_all(&swarm.database.owner)
        .await
        .unwrap();
    assert_eq!(stored, [4_000_000; 3]);
}

#[tokio::test]
async fn what_may_not_be_lent_is_refused_and_changes_nothing() {
    let swarm = three().await;
    remove(&swarm, "cyd").await;
    let ada = swarm.operate("ada", Organ::Self_).await;
    let cyd = swarm.operate("cyd", Organ::Self_).await;
    lend(&swarm, &ada, "bob", 1_000_000, HOUR).await.unwrap();
    let day = TimeDelta::hours(24);
    let bad = [
        (
            &ada,
            "ada",
            1_000,
            HOUR,
            Code::InvalidArgument,
            "LOAN_TO_ONESELF",
        ),
        (
            &ada,
            "bob",
            999,
            HOUR,
            Code::InvalidArgument,
            "NUMBER_OUT_OF_BOUNDS",
        ),
        (
            &ada,
            "bob",
            1_000,
            TimeDelta::zero(),
            Code::InvalidArgument,
            "UNTIL_INVALID",
        ),
        (
            &ada,
            "bob",
            1_000,
            day + TimeDelta::seconds(1),
            Code::InvalidArgument,
            "UNTIL_INVALID",
        ),
        (
            &ada,
            "bob",
            1_000_001,
            HOUR,
            Code::FailedPrecondition,
            "OVER_HALF_LENT",
        ),
        (
            &ada,
            "cyd",
            1_000,
            HOUR,
            Code::FailedPrecondition,
            "NO_SHARE",
        ),
        (
            &cyd,
            "bob",
            1_000,
            HOUR,
            Code::FailedPrecondition,
            "NO_SHARE",
        ),
        (&ada, "dan", 1_000, HOUR, Code::NotFound, "MIND_UNKNOWN"),
    ];

    for (token, to, ppm, ahead, code, why) in bad {
        let refused = lend(&swarm, token, to, ppm, ahead).await.unwrap_err();
        assert_eq!((refused.code(), reason(&refused)), (code, why.to_owned()));
    }
    let operator = lend(&swarm, &swarm.keys.operator(), "bob", 1_000, HOUR)
        .await
        .unwrap_err();
    assert_eq!(operator.code(), Code::PermissionDenied);
    assert_eq!(effective(&swarm).await, [3_000_000, 5_000_000]);
    lend(&swarm, &ada, "bob", 1_000_000, day).await.unwrap();
}

#[tokio::test]
async fn only_the_borrower_returns_a_loan_and_the_operator_ends_any() {
    let swarm = three().await;
    let ada = swarm.operate("ada", Organ::Self_).await;
    let bob = swarm.operate("bob", Organ::Self_).await;
    let first = lend(&swarm, &ada, "bob", 500_000, HOUR).await.unwrap();
    let second = lend(&swarm, &ada, "bob", 600_000, HOUR).await.unwrap();

    let recalled = give_back(&swarm, &ada, &first).await.unwrap_err();
    assert_eq!(recalled.code(), Code::PermissionDenied);
    let told: (String, String, bool, String) = sqlx::query_as(
        "SELECT actor, action, allowed, reason FROM swarm.audit ORDER BY seq DESC LIMIT 1",
    )
    .fetch_one(&swarm.database.owner)
    .await
    .unwrap();
    let (actor, action, why) = ("mind:ada", "LendShare", "NO_RULE");
    assert_eq!(
        told,
        (actor.to_owned(), action.to_owned(), false, why.to_owned())
    );
    let returned = give_back(&swarm, &bob, &first).await.unwrap();
    assert_eq!(
        (returned.active, returned.ended_by.as_str()),
        (false, "mind:bob")
    );
    let ended = end(&swarm, &second.loan_id).await.unwrap();
    assert_eq!(
        (ended.active, ended.ended_by.as_str()),
        (false, "operator:ada")
    );
    assert_eq!(end(&swarm, &first.loan_id).await.unwrap(), returned);
    assert_eq!(effective(&swarm).await, [4_000_000; 3]);

    let unknown = end(&swarm, &request_id()).await.unwrap_err();
    assert_eq!(
        (unknown.code(), reason(&unknown)),
        (Code::NotFound, "LOAN_UNKNOWN".to_owned())
    );
    assert_eq!(field(&end(&swarm, "first").await.unwrap_err()), "loan_id");
}

#[tokio::test]
async fn a_smaller_share_ends_loans_newest_first_and_none_ends_all() {
    let swarm = three().await;
    let ada = swarm.operate("ada", Organ::Self_).await;
    let cyd = swarm.operate("cyd", Organ::Self_).await;
    let old = lend(&swarm, &ada, "bob", 1_000_000, HOUR).await.unwrap();
    swarm.advance(TimeDelta::seconds(1)).await;
    let new = lend(&swarm, &ada, "cyd", 500_000, HOUR).await.unwrap();
    let taken = lend(&swarm, &cyd, "ada", 2_000_000, HOUR).await.unwrap();

    swarm.share("ada", 3_000_000).await.unwrap();
    assert_eq!(shown(&swarm).await.loans.len(), 3);
    swarm.share("ada", 2_000_000).await.unwrap();
    let left: Vec<String> = shown(&swarm)
        .await
        .loans
        .into_iter()
        .map(|loan| loan.loan_id)
        .collect();
    assert!(left.contains(&old.loan_id) && left.contains(&taken.loan_id));
    assert!(!left.contains(&new.loan_id));
    assert_eq!(effective(&swarm).await.iter().sum::<i64>(), 10_000_000);

    assert_eq!(remove(&swarm, "ada").await.len(), 2);
    assert_eq!(effective(&swarm).await, [4_000_000; 2]);
}

#[tokio::test]
async fn loans_are_listed_newest_first_in_pages() {
    let swarm = three().await;
    let ada = swarm.operate("ada", Organ::Self_).await;
    let mut ids = Vec::new();
    for _ in 0..3 {
        ids.insert(
            0,
            lend(&swarm, &ada, "bob", 1_000, HOUR)
                .await
                .unwrap()
                .loan_id,
        );
    }
    end(&swarm, &ids[1]).await.unwrap();
    let names = |page: &ListLoansResponse| -> Vec<String> {
        page.loans.iter().map(|loan| loan.loan_id.clone()).collect()
    };

    let first = listed(&swarm, 2, "", false).await;
    let rest = listed(&swarm, 2, &first.next_page_token, false).await;
    let active = listed(&swarm, 0, "", true).await;

    assert_eq!(names(&first), ids[..2]);
    assert_eq!(names(&rest), ids[2..]);
    assert_eq!(rest.next_page_token, "");
    assert_eq!(names(&active), [ids[0].clone(), ids[2].clone()]);
    let request = ListLoansRequest {
        workspace_id: WORKSPACE.to_owned(),
        page_token: first.next_page_token,
        active_only: true,
        page_size: 0,
    };
    let refused = swarm.loans().list_loans(request).await.unwrap_err();
    assert_eq!(field(&refused), "page_token");
}

#[tokio::test]
async fn a_mind_whose_session_is_over_lends_nothing() {
    let swarm = three().await;
    let ada = swarm.operate("ada", Organ::Self_).await;
    swarm.advance(TimeDelta::hours(4)).await;

    let lost = lend(&swarm, &ada, "bob", 1_000, HOUR).await.unwrap_err();

    assert_eq!(
        (lost.code(), reason(&lost)),
        (Code::Aborted, "TURN_LOST".to_owned())
    );
    assert_eq!(effective(&swarm).await, [4_000_000; 3]);
}

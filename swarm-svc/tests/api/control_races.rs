//! Operators, minds and schedulers at once: nobody is turned away because another was faster, and no share is made or lost.

use cambium_proto::swarm::v1::{
    LendShareRequest, Organ, Reserve, SetDialRequest, SetShareRequest, TickRequest,
};
use chrono::TimeDelta;
use tonic::Status;

use crate::control_steps::{instant, shown};
use crate::fixture::{Fixture, WORKSPACE, ordinary_dial, reason, request_id, start};

const MINDS: [&str; 4] = ["ada", "bob", "cyd", "dan"];

async fn four() -> Fixture {
    let swarm = start().await;
    let dial = SetDialRequest {
        k: 4,
        reserve: Reserve::None.into(),
        ..ordinary_dial()
    };
    swarm.dial(dial).await;
    for mind in MINDS {
        swarm.open_released(mind, 4_000_000).await;
    }
    swarm
}

fn refused(outcome: Result<(), Status>) -> Option<String> {
    outcome.err().map(|status| reason(&status))
}

#[tokio::test]
async fn shares_are_conserved_while_all_lend_and_the_operator_sets() {
    let swarm = four().await;
    let until = instant(swarm.now() + TimeDelta::hours(1));
    let mut tasks = Vec::new();
    for (n, mind) in MINDS.into_iter().enumerate() {
        let mut loans = swarm.loans_bearing(&swarm.operate(mind, Organ::Self_).await);
        let mut control = swarm.control();
        let mut scheduler = swarm.scheduler();
        let others = MINDS.into_iter().filter(|other| *other != mind);
        let others: Vec<&str> = others.cycle().skip(n).take(6).collect();
        tasks.push(tokio::spawn(async move {
            let mut outcomes = Vec::new();
            for borrower in others {
                let request = LendShareRequest {
                    workspace_id: WORKSPACE.to_owned(),
                    request_id: request_id(),
                    borrower: borrower.to_owned(),
                    share_ppm: 600_000,
                    until,
                };
                outcomes.push(refused(loans.lend_share(request).await.map(|_| ())));
            }
            outcomes
        }));
        tasks.push(tokio::spawn(async move {
            let mut outcomes = Vec::new();
            for share_ppm in [3_000_000, 1_500_000, 4_000_000, 2_000_000] {
                let request = SetShareRequest {
                    workspace_id: WORKSPACE.to_owned(),
                    request_id: request_id(),
                    instance: mind.to_owned(),
                    share_ppm,
                };
                outcomes.push(refused(control.set_share(request).await.map(|_| ())));
                let request = TickRequest {
                    workspace_id: WORKSPACE.to_owned(),
                };
                outcomes.push(refused(scheduler.tick(request).await.map(|_| ())));
            }
            outcomes
        }));
    }
    let mut reasons = Vec::new();
    for task in tasks {
        reasons.extend(task.await.unwrap().into_iter().flatten());
    }

    reasons.sort_unstable();
    reasons.dedup();
    assert!(
        reasons.iter().all(|why| why == "OVER_HALF_LENT"),
        "{reasons:?}"
    );
    let shares = shown(&swarm).await.shares;
    assert!(
        shares
            .iter()
            .all(|share| 2 * share.effective_ppm >= share.share_ppm)
    );
    let sum: i64 = shares.iter().map(|share| share.effective_ppm).sum();
    assert_eq!(sum, 8_000_000);
}

#[tokio::test]
async fn a_request_that_is_sent_twice_at_once_is_done_once() {
    let swarm = four().await;
    let request = SetShareRequest {
        workspace_id: WORKSPACE.to_owned(),
        request_id: request_id(),
        instance: "ada".to_owned(),
        share_ppm: 2_000_000,
    };
    let tasks: Vec<_> = (0..4)
        .map(|_| {
            let (mut control, request) = (swarm.control(), request.clone());
            tokio::spawn(async move { control.set_share(request).await.unwrap().into_inner() })
        })
        .collect();

    let mut replies = Vec::new();
    for task in tasks {
        replies.push(task.await.unwrap());
    }

    replies.dedup();
    assert_eq!(replies.len(), 1);
    let versions: i64 = sqlx::query_scalar(
        "SELECT count(*) FROM swarm.control_version WHERE what = 'share' AND instance = 'ada'",
    )
    .fetch_one(&swarm.database.owner)
    .await
    .unwrap();
    assert_eq!(versions, 2);
}

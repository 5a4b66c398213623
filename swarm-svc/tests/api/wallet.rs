//! The wallet: a hard limit, or none.

use cambium_proto::swarm::v1::{Period, SetWalletRequest, SetWalletResponse, Why};
use chrono::TimeDelta;
use tonic::{Code, Status};

use crate::control_steps::{launched, shown, tick};
use crate::fixture::{Fixture, WORKSPACE, field, ordinary_dial, request_id, start};

async fn wallet(
    swarm: &Fixture,
    limit: Option<i64>,
    period: i32,
) -> Result<SetWalletResponse, Status> {
    let request = SetWalletRequest {
        workspace_id: WORKSPACE.to_owned(),
        request_id: request_id(),
        limit_micro_usd: limit,
        period,
    };
    Ok(swarm.control().set_wallet(request).await?.into_inner())
}

#[tokio::test]
async fn a_wallet_keeps_turns_from_starting_until_it_is_lifted() {
    let swarm = start().await;
    swarm.dial(ordinary_dial()).await;
    swarm.open_released("ada", 1_000_000).await;

    let set = wallet(&swarm, Some(999_999), Period::Week.into())
        .await
        .unwrap();
    assert_eq!(set.warnings[0].reason, "CAP_OVER_WALLET");
    assert_eq!(tick(&swarm).await.skip(), Why::Wallet);

    let set = wallet(&swarm, Some(1_000_000), Period::Day.into())
        .await
        .unwrap();
    assert!(set.warnings.is_empty());
    launched(&swarm).await;
    let kept = shown(&swarm).await.wallet.unwrap();
    assert_eq!((kept.spent_micro_usd, kept.held_micro_usd), (0, 1_000_000));
    let end = swarm.now() + TimeDelta::days(1);
    assert_eq!(kept.period_end.unwrap().seconds, end.timestamp());

    let lifted = wallet(&swarm, None, 0).await.unwrap();
    assert_eq!(lifted.wallet, None);
    assert_eq!(shown(&swarm).await.wallet, None);
}

#[tokio::test]
async fn half_a_wallet_is_refused() {
    let swarm = start().await;
    wallet(&swarm, Some(0), Period::Month.into()).await.unwrap();
    let day = Period::Day.into();
    let bad = [
        (Some(1), 0, "period"),
        (Some(1), 7, "period"),
        (None, day, "limit_micro_usd"),
        (Some(-1), day, "limit_micro_usd"),
        (Some(1_000_000_000_001), day, "limit_micro_usd"),
    ];

    for (limit, period, at_fault) in bad {
        let refused = wallet(&swarm, limit, period).await.unwrap_err();
        assert_eq!(
            (refused.code(), field(&refused)),
            (Code::InvalidArgument, at_fault.to_owned())
        );
    }
    let kept = shown(&swarm).await.wallet.unwrap();
    assert_eq!((kept.limit_micro_usd, kept.period()), (0, Period::Month));
}

//! Turns in pages with what their launch saw, and forecasts that promise an order and nothing more.

use cambium_proto::swarm::v1::{
    ForecastWalletRequest, ForecastWalletResponse, GetTurnRequest, ListTurnsRequest,
    ListTurnsResponse, PreviewTurnsRequest, PreviewTurnsResponse, Turn, TurnState,
};
use chrono::TimeDelta;
use tonic::{Code, Status};

use super::steps::{CAP, daily, grant, look, rich, settle};
use crate::agenda::stamp;
use crate::control_steps::{launched, line};
use crate::fixture::{Fixture, WORKSPACE, field, reason, request_id, start};

async fn list(
    swarm: &Fixture,
    page_token: &str,
    (instance, live_only): (&str, bool),
) -> Result<ListTurnsResponse, Status> {
    let request = ListTurnsRequest {
        workspace_id: WORKSPACE.to_owned(),
        page_size: 2,
        page_token: page_token.to_owned(),
        instance: instance.to_owned(),
        live_only,
    };
    Ok(swarm.timeline().list_turns(request).await?.into_inner())
}

/// All of a list, page by page.
async fn listed(swarm: &Fixture, filter: (&str, bool)) -> Vec<Turn> {
    let (mut turns, mut token) = (Vec::new(), String::new());
    loop {
        let page = list(swarm, &token, filter).await.unwrap();
        assert!(page.turns.len() <= 2);
        turns.extend(page.turns);
        token = page.next_page_token;
        if token.is_empty() {
            return turns;
        }
    }
}

#[tokio::test]
async fn turns_are_listed_newest_first_each_with_its_charge() {
    let swarm = rich(1).await;
    swarm.open_released("ada", 1_000_000).await;
    swarm.open_released("bob", 1_000_000).await;
    let mut ids = Vec::new();
    for n in 1..=4 {
        let turn = launched(&swarm).await;
        settle(&swarm, &turn, n * 10_000).await;
        ids.push(turn.turn_id);
    }
    let live = launched(&swarm).await;
    ids.push(live.turn_id.clone());
    ids.reverse();

    let all = listed(&swarm, ("", false)).await;
    let shown: Vec<String> = all.iter().map(|turn| turn.turn_id.clone()).collect();
    assert_eq!(shown, ids);
    for turn in &all {
        assert_eq!(turn.charge.is_some(), turn.state() == TurnState::Settled);
        assert_eq!(look(&swarm, turn).await.turn.as_ref(), Some(turn));
    }
    let own = listed(&swarm, ("bob", false)).await;
    let expected = all.iter().filter(|turn| turn.instance == "bob").cloned();
    assert_eq!(own, expected.collect::<Vec<_>>());
    assert_eq!(listed(&swarm, ("", true)).await, [live]);

    let first = list(&swarm, "", ("", false)).await.unwrap();
    let other = list(&swarm, &first.next_page_token, ("bob", false))
        .await
        .unwrap_err();
    assert_eq!(
        (other.code(), field(&other).as_str()),
        (Code::InvalidArgument, "page_token")
    );
    let unknown = GetTurnRequest {
        workspace_id: WORKSPACE.to_owned(),
        turn_id: request_id(),
    };
    let unknown = swarm.timeline().get_turn(unknown).await.unwrap_err();
    assert_eq!(
        (unknown.code(), reason(&unknown).as_str()),
        (Code::NotFound, "TURN_UNKNOWN")
    );
}

#[tokio::test]
async fn a_grant_keeps_what_the_scheduler_saw() {
    let swarm = rich(3).await;
    for n in 0..18 {
        swarm
            .open_released(&format!("mind-{n:02}"), 1_000_000 + n)
            .await;
    }
    let first = launched(&swarm).await;
    settle(&swarm, &first, 70_000).await;
    let second = launched(&swarm).await;
    let third = launched(&swarm).await;

    let seen = grant(&swarm, &third).await;
    assert_eq!((seen.k, seen.live), (3, 1));
    assert_eq!(
        (seen.bucket_micro_usd, seen.reserved_micro_usd),
        (1_000 * CAP - 70_000, CAP)
    );
    assert!(seen.passed_over.is_empty());
    // At one vtime the larger share is first; the one that ran is last, and the live one is none.
    let order: Vec<&str> = seen
        .candidates
        .iter()
        .map(|one| one.instance.as_str())
        .collect();
    let expected: Vec<String> = (0..16).rev().map(|n| format!("mind-{n:02}")).collect();
    assert_eq!(
        (first.instance.as_str(), second.instance.as_str()),
        ("mind-17", "mind-16")
    );
    assert_eq!(order, expected);
    assert_eq!(third.instance, order[0]);
    assert_eq!(seen.candidates[0].effective_ppm, third.share_ppm);
    assert_eq!(look(&swarm, &third).await.grant.unwrap(), seen);
}

async fn preview(swarm: &Fixture, n: i32) -> Result<PreviewTurnsResponse, Status> {
    let request = PreviewTurnsRequest {
        workspace_id: WORKSPACE.to_owned(),
        n,
    };
    Ok(swarm.timeline().preview_turns(request).await?.into_inner())
}

#[tokio::test]
async fn a_preview_is_the_order_that_comes_and_changes_nothing() {
    let swarm = rich(1).await;
    swarm.open_released("ada", 2_000_000).await;
    swarm.open_released("bob", 1_000_000).await;
    for bad in [0, 51, -1, i32::MIN, i32::MAX] {
        let refused = preview(&swarm, bad).await.unwrap_err();
        assert_eq!(
            (refused.code(), field(&refused).as_str()),
            (Code::InvalidArgument, "n"),
            "{bad}"
        );
    }
    for _ in 0..3 {
        let turn = launched(&swarm).await;
        settle(
            &swarm,
            &turn,
            if turn.instance == "ada" {
                50_000
            } else {
                10_000
            },
        )
        .await;
    }
    let before = line(&swarm).await;

    assert_eq!(preview(&swarm, 1).await.unwrap().turns.len(), 1);
    let all = preview(&swarm, 50).await.unwrap().turns;

    assert_eq!(all.len(), 50);
    assert_eq!(line(&swarm).await, before);
    let means: Vec<i64> = ["ada", "bob"]
        .iter()
        .map(|mind| {
            all.iter()
                .find(|turn| turn.instance == *mind)
                .unwrap()
                .assumed_cost_micro_usd
        })
        .collect();
    assert_eq!(means, [50_000, 10_000]);
    for (n, foreseen) in all.iter().enumerate().take(12) {
        let turn = launched(&swarm).await;
        assert_eq!(turn.instance, foreseen.instance, "turn {n}");
        settle(&swarm, &turn, foreseen.assumed_cost_micro_usd).await;
    }
}

#[tokio::test]
async fn nothing_is_foreseen_without_a_dial_or_a_mind() {
    let swarm = start().await;
    swarm.open_released("ada", 1_000_000).await;
    assert!(preview(&swarm, 50).await.unwrap().turns.is_empty());
    let swarm = rich(1).await;
    swarm.open("ada", 1_000_000).await;
    assert!(preview(&swarm, 50).await.unwrap().turns.is_empty());
}

async fn forecast(swarm: &Fixture) -> ForecastWalletResponse {
    let request = ForecastWalletRequest {
        workspace_id: WORKSPACE.to_owned(),
    };
    let reply = swarm.timeline().forecast_wallet(request).await;
    reply.unwrap().into_inner()
}

#[tokio::test]
async fn a_wallet_runs_dry_as_charges_and_pace_say() {
    let swarm = rich(1).await;
    assert_eq!(forecast(&swarm).await, ForecastWalletResponse::default());
    swarm.open_released("ada", 1_000_000).await;
    daily(&swarm, 10 * CAP).await;
    let unused = forecast(&swarm).await;
    assert_eq!(
        (unused.remaining_micro_usd, unused.burn_micro_usd_per_h),
        (10 * CAP, 0)
    );
    assert_eq!(
        (unused.expected_dry, unused.earliest_dry),
        (None, stamp(swarm.now()))
    );

    let turn = launched(&swarm).await;
    assert_eq!(forecast(&swarm).await.remaining_micro_usd, 9 * CAP);
    settle(&swarm, &turn, 2 * CAP).await;
    swarm.advance(TimeDelta::hours(2)).await;
    let used = forecast(&swarm).await;
    assert_eq!(
        (used.remaining_micro_usd, used.burn_micro_usd_per_h),
        (8 * CAP, CAP)
    );
    assert_eq!(used.expected_dry, stamp(swarm.now() + TimeDelta::hours(7)));
    let wallet = used.wallet.unwrap();
    assert_eq!(
        (wallet.limit_micro_usd, wallet.spent_micro_usd),
        (10 * CAP, 2 * CAP)
    );

    // 29 hours from now a new day has begun.
    daily(&swarm, 32 * CAP).await;
    assert_eq!(forecast(&swarm).await.expected_dry, None);
    daily(&swarm, 3 * CAP - 1).await;
    let dry = forecast(&swarm).await;
    assert_eq!(dry.remaining_micro_usd, CAP - 1);
    assert_eq!(
        (dry.expected_dry, dry.earliest_dry),
        (stamp(swarm.now()), stamp(swarm.now()))
    );
}

//! The dial and its bucket, and a reset of the timeline.

use cambium_proto::swarm::v1::{
    RecordChargeRequest, Reserve, ResetTimelineRequest, SetDialRequest, Turn,
};
use chrono::TimeDelta;
use tonic::Code;

use crate::control_steps::{launched, line, shown};
use crate::fixture::{Fixture, WORKSPACE, field, ordinary_dial, request_id, start};

async fn settle(swarm: &Fixture, turn: &Turn, cost: i64) {
    let request = RecordChargeRequest {
        workspace_id: WORKSPACE.to_owned(),
        request_id: request_id(),
        turn_id: turn.turn_id.clone(),
        cost_micro_usd: Some(cost),
        ..RecordChargeRequest::default()
    };
    swarm.meter().record_charge(request).await.unwrap();
}

fn setting(dial: SetDialRequest) -> SetDialRequest {
    SetDialRequest {
        workspace_id: WORKSPACE.to_owned(),
        request_id: request_id(),
        ..dial
    }
}

/// A thousand dollars an hour, 277,777 micro-dollars a second; bursts of ten dollars.
fn wide() -> SetDialRequest {
    SetDialRequest {
        burst_micro_usd: Some(10_000_000),
        ..ordinary_dial()
    }
}

#[tokio::test]
async fn what_is_left_out_gets_its_default_and_the_reply_says_how_many_turns_fit() {
    let swarm = start().await;
    let dial = SetDialRequest {
        k: 4,
        ..ordinary_dial()
    };

    let usual = swarm.dial(dial.clone()).await;
    let small = swarm
        .dial(SetDialRequest {
            burst_micro_usd: Some(1_999_999),
            ..dial.clone()
        })
        .await;
    let none = swarm
        .dial(SetDialRequest {
            reserve: Reserve::None.into(),
            ..dial
        })
        .await;

    let set = usual.dial.unwrap();
    assert_eq!(
        (set.burst_micro_usd, set.floor_micro_usd, set.turn_max_s),
        (3_000_000, 1_000, 21_600)
    );
    assert_eq!(
        (set.cap_micro_usd, set.pace_micro_usd_per_h, set.fits),
        (1_000_000, 1_000_000_000, 4)
    );
    assert!(usual.warnings.is_empty());
    assert_eq!(small.dial.unwrap().fits, 2);
    assert_eq!(small.warnings[0].reason, "BURST_TOO_SMALL");
    let none = none.dial.unwrap();
    assert_eq!((none.burst_micro_usd, none.fits), (0, 4));
}

#[tokio::test]
async fn the_bucket_begins_at_nothing_and_is_refilled_at_the_old_pace_before_it_is_cut() {
    let swarm = start().await;
    swarm.dial(wide()).await;
    assert_eq!(line(&swarm).await.bucket_micro_usd, 0);

    swarm.advance(TimeDelta::seconds(9)).await;
    let slow = SetDialRequest {
        base_rate_micro_usd_per_h: 3_600,
        ..wide()
    };
    swarm.dial(slow.clone()).await;
    assert_eq!(line(&swarm).await.bucket_micro_usd, 2_500_000);
    swarm.advance(TimeDelta::seconds(2)).await;
    assert_eq!(line(&swarm).await.bucket_micro_usd, 2_500_002);

    swarm
        .dial(SetDialRequest {
            burst_micro_usd: Some(100_000),
            ..slow
        })
        .await;
    assert_eq!(line(&swarm).await.bucket_micro_usd, 100_000);
    assert_eq!(
        bucket_events(&swarm).await,
        ["dial 0 0", "dial 2500000 2500000", "dial 2500002 100000"]
    );
}

#[tokio::test]
async fn a_bucket_that_was_lost_comes_back_as_a_debt() {
    let swarm = start().await;
    let dial = SetDialRequest {
        k: 2,
        ..ordinary_dial()
    };
    swarm.dial(dial.clone()).await;
    let lose = sqlx::query("DELETE FROM swarm.bucket");
    lose.execute(&swarm.database.owner).await.unwrap();

    swarm.dial(dial).await;

    assert_eq!(line(&swarm).await.bucket_micro_usd, -2_000_000);
}

async fn bucket_events(swarm: &Fixture) -> Vec<String> {
    let select =
        "SELECT kind || ' ' || before || ' ' || after FROM swarm.bucket_event ORDER BY seq";
    let rows = sqlx::query_scalar(select).fetch_all(&swarm.database.owner);
    rows.await.unwrap()
}

#[tokio::test]
async fn a_number_out_of_bounds_changes_nothing() {
    let swarm = start().await;
    swarm.dial(ordinary_dial()).await;
    let before = shown(&swarm).await.dial;
    let usual = ordinary_dial;
    let bad = [
        (
            SetDialRequest {
                heat_ppm: 49_999,
                ..usual()
            },
            "heat_ppm",
        ),
        (
            SetDialRequest {
                heat_ppm: 2_000_001,
                ..usual()
            },
            "heat_ppm",
        ),
        (
            SetDialRequest {
                base_rate_micro_usd_per_h: 0,
                ..usual()
            },
            "base_rate_micro_usd_per_h",
        ),
        (
            SetDialRequest {
                base_run_micro_usd: 1_000_000_001,
                ..usual()
            },
            "base_run_micro_usd",
        ),
        (
            SetDialRequest {
                heat_ppm: 50_000,
                base_run_micro_usd: 19,
                ..usual()
            },
            "base_run_micro_usd",
        ),
        (SetDialRequest { k: 0, ..usual() }, "k"),
        (
            SetDialRequest {
                k: 1_001,
                ..usual()
            },
            "k",
        ),
        (
            SetDialRequest {
                reserve: 9,
                ..usual()
            },
            "reserve",
        ),
        (
            SetDialRequest {
                burst_micro_usd: Some(-1),
                ..usual()
            },
            "burst_micro_usd",
        ),
        (
            SetDialRequest {
                burst_micro_usd: Some(1_000_000_001),
                ..usual()
            },
            "burst_micro_usd",
        ),
        (
            SetDialRequest {
                floor_micro_usd: Some(0),
                ..usual()
            },
            "floor_micro_usd",
        ),
        (
            SetDialRequest {
                floor_micro_usd: Some(1_000_001),
                ..usual()
            },
            "floor_micro_usd",
        ),
        (
            SetDialRequest {
                turn_max_s: Some(59),
                ..usual()
            },
            "turn_max_s",
        ),
        (
            SetDialRequest {
                turn_max_s: Some(86_401),
                ..usual()
            },
            "turn_max_s",
        ),
    ];

    for (dial, at_fault) in bad {
        let refused = swarm.control().set_dial(setting(dial)).await.unwrap_err();
        assert_eq!(
            (refused.code(), field(&refused)),
            (Code::InvalidArgument, at_fault.to_owned())
        );
    }
    assert_eq!(shown(&swarm).await.dial, before);
}

#[tokio::test]
async fn a_reset_starts_every_mind_anew_and_leaves_the_money() {
    let swarm = start().await;
    swarm.dial(wide()).await;
    for mind in ["ada", "bob"] {
        swarm.open_released(mind, 1_000_000).await;
    }
    for _ in 0..2 {
        let turn = launched(&swarm).await;
        settle(&swarm, &turn, 5_000).await;
        swarm.advance(TimeDelta::seconds(9)).await;
    }
    let before = line(&swarm).await;
    assert!(before.min_vtime > 0);

    let request = ResetTimelineRequest {
        workspace_id: WORKSPACE.to_owned(),
        request_id: request_id(),
        reason: "a new week".to_owned(),
    };
    swarm
        .control()
        .reset_timeline(request.clone())
        .await
        .unwrap();
    swarm
        .control()
        .reset_timeline(request.clone())
        .await
        .unwrap();

    let after = line(&swarm).await;
    assert_eq!(after.min_vtime, 0);
    assert!(
        after
            .minds
            .iter()
            .all(|mind| mind.vtime == 0 && mind.member)
    );
    assert_eq!(after.bucket_micro_usd, before.bucket_micro_usd);
    let logged: Vec<(String, i64, i64)> = sqlx::query_as(
        "SELECT instance, before, after FROM swarm.vtime_event WHERE kind = 'reset' ORDER BY n",
    )
    .fetch_all(&swarm.database.owner)
    .await
    .unwrap();
    assert_eq!(
        logged,
        [("ada".to_owned(), 5_000, 0), ("bob".to_owned(), 5_000, 0)]
    );
    assert_eq!(launched(&swarm).await.instance, "ada");
    let silent = ResetTimelineRequest {
        request_id: request_id(),
        reason: String::new(),
        ..request
    };
    let refused = swarm.control().reset_timeline(silent).await.unwrap_err();
    assert_eq!(field(&refused), "reason");
}

//! What the lead must not, what ties a mind to where it is, and what happens when several write at once.

use cambium_proto::swarm::v1::{
    HoldBrakeRequest, MoveLeadRequest, Organ, ReleaseBrakeRequest, RetireMindRequest,
    SetDialRequest, SetHasteRequest, SetShareRequest, SetWalletRequest, TakeStewardshipRequest,
    TickRequest, WorkState,
};
use serde_json::json;
use tonic::{Code, Status};

use crate::fixture::{WORKSPACE, opening, reason, request_id, start};
use crate::lead::to;
use crate::record::{document, ended};
use crate::work::work;

macro_rules! asked {
    ($request:ident { $($field:ident: $value:expr),* }) => {
        $request {
            workspace_id: WORKSPACE.to_owned(),
            request_id: request_id(),
            $($field: $value,)*
            ..$request::default()
        }
    };
}

#[tokio::test]
async fn the_lead_has_no_hand_on_wallet_brake_birth_or_turns() {
    let swarm = start().await;
    swarm.open("weksa", 1_000_000).await;
    swarm.open("eureka", 1_000_000).await;
    swarm.routing().move_lead(to("weksa")).await.unwrap();
    let weksa = swarm.operate("weksa", Organ::Self_).await;
    let mut control = swarm.control_bearing(&weksa);
    let (mut minds, mut routing) = (swarm.minds_bearing(&weksa), swarm.routing_bearing(&weksa));
    let mut timeline = swarm.timeline_bearing(&weksa);
    let name = || "weksa".to_owned();

    let refused: Vec<Option<Status>> = vec![
        control
            .set_share(SetShareRequest {
                workspace_id: WORKSPACE.to_owned(),
                request_id: request_id(),
                instance: name(),
                share_ppm: 2_000_000,
            })
            .await
            .err(),
        control
            .set_haste(asked!(SetHasteRequest {
                instance: name(),
                haste_ppm: Some(2_000_000)
            }))
            .await
            .err(),
        control
            .set_dial(asked!(SetDialRequest {
                heat_ppm: 2_000_000
            }))
            .await
            .err(),
        control
            .set_wallet(asked!(SetWalletRequest {
                limit_micro_usd: Some(1)
            }))
            .await
            .err(),
        control
            .hold_brake(asked!(HoldBrakeRequest {
                instance: "eureka".to_owned()
            }))
            .await
            .err(),
        control
            .release_brake(ReleaseBrakeRequest {
                workspace_id: WORKSPACE.to_owned(),
                request_id: request_id(),
                instance: name(),
            })
            .await
            .err(),
        minds.open_mind(opening("third")).await.err(),
        minds
            .retire_mind(asked!(RetireMindRequest {
                instance: "eureka".to_owned()
            }))
            .await
            .err(),
        routing
            .move_lead(asked!(MoveLeadRequest { instance: name() }))
            .await
            .err(),
        routing
            .take_stewardship(asked!(TakeStewardshipRequest { instance: name() }))
            .await
            .err(),
        timeline
            .tick(TickRequest {
                workspace_id: WORKSPACE.to_owned(),
            })
            .await
            .err(),
    ];

    for (n, refused) in refused.into_iter().enumerate() {
        assert_eq!(refused.unwrap().code(), Code::PermissionDenied, "{n}");
    }
}

#[tokio::test]
async fn a_mind_leaves_when_it_has_put_everything_down() {
    let swarm = start().await;
    swarm.open("weksa", 1_000_000).await;
    swarm.open("eureka", 1_000_000).await;
    let weksa = swarm.operate("weksa", Organ::Self_).await;
    swarm.routing().move_lead(to("weksa")).await.unwrap();
    let campaign = json!({
        "label": "fences", "title": "Fences", "goal": "None leans.", "started_on": "2026-06-01",
    });
    let kind = cambium_proto::swarm::v1::DocumentKind::Campaign;
    let campaign = document(kind, "weksa:campaign:fences", &campaign);
    swarm.append(&weksa, vec![campaign]).await.unwrap();
    swarm.take("weksa", "the docs").await.unwrap();
    let offer = swarm
        .offer(&weksa, ("", "the docs"), "eureka")
        .await
        .unwrap();
    let held = swarm.submit("weksa").await.work_id;

    let tied = swarm.retire("weksa").await.unwrap_err();
    assert_eq!(tied.code(), Code::FailedPrecondition);
    assert_eq!(reason(&tied), "NOT_READY");
    for part in [
        "session",
        "campaign",
        "stewardship",
        "work",
        "offer",
        "lead",
    ] {
        assert!(tied.message().contains(part), "{part}: {}", tied.message());
    }

    let closed = json!({"reason": "All stand."});
    let closed = vec![ended("weksa:campaign:fences", "closed", &closed)];
    swarm.append(&weksa, closed).await.unwrap();
    let eureka = swarm.operate("eureka", Organ::Self_).await;
    swarm.answer(&eureka, &offer, true).await.unwrap();
    swarm.give_back(&weksa, &held).await.unwrap();
    swarm.routing().move_lead(to("")).await.unwrap();
    swarm.end_session_with("weksa").await;
    swarm.retire("weksa").await.unwrap();

    // Its record is there to be read, and another may lead nevertheless.
    assert!(!swarm.document("weksa:campaign:fences").await.in_force);
    let late = swarm
        .routing()
        .submit_work(work("weksa"))
        .await
        .unwrap_err();
    assert_eq!(reason(&late), "MIND_RETIRED");
    swarm.routing().move_lead(to("eureka")).await.unwrap();
    assert!(!swarm.document("weksa:ruling:swarm-lead-2").await.in_force);
}

#[tokio::test]
async fn an_area_that_is_accepted_and_taken_back_at_once_has_one_steward() {
    let swarm = start().await;
    swarm.open("weksa", 1_000_000).await;
    swarm.open("eureka", 1_000_000).await;
    let weksa = swarm.operate("weksa", Organ::Self_).await;
    let eureka = swarm.operate("eureka", Organ::Self_).await;
    for n in 0..8 {
        let area = format!("area {n}");
        swarm.take("weksa", &area).await.unwrap();
        let offer = swarm.offer(&weksa, ("", &area), "eureka").await.unwrap();
        let back = vec![ended(&offer, "withdrawn", &json!({}))];

        let (accepted, withdrawn) = tokio::join!(
            swarm.answer(&eureka, &offer, true),
            swarm.append(&weksa, back)
        );

        let is_accepted = accepted.is_ok();
        assert_ne!(is_accepted, withdrawn.is_ok(), "{accepted:?} {withdrawn:?}");
        let steward = if is_accepted { "eureka" } else { "weksa" };
        assert_eq!(swarm.steward(&area).await, [steward]);
    }
}

#[tokio::test]
async fn an_area_that_two_are_given_at_once_is_ones() {
    let swarm = start().await;
    swarm.open("weksa", 1_000_000).await;
    swarm.open("eureka", 1_000_000).await;
    for n in 0..8 {
        let area = format!("area {n}");

        let (one, other) = tokio::join!(swarm.take("weksa", &area), swarm.take("eureka", &area));

        let steward = if one.is_ok() { "weksa" } else { "eureka" };
        let refused = one.and(other).unwrap_err();
        assert_eq!(reason(&refused), "IN_FORCE_TWICE");
        assert_eq!(swarm.steward(&area).await, [steward]);
    }
}

#[tokio::test]
async fn work_that_comes_while_the_lead_moves_lands_with_the_last_lead() {
    let swarm = start().await;
    swarm.open("weksa", 1_000_000).await;
    swarm.open("eureka", 1_000_000).await;
    swarm.routing().move_lead(to("weksa")).await.unwrap();
    let come = async || {
        for _ in 0..10 {
            swarm.submit("").await;
        }
    };
    let moves = async || {
        for mind in ["eureka", "weksa", "eureka"] {
            swarm.routing().move_lead(to(mind)).await.unwrap();
        }
    };

    tokio::join!(come(), come(), moves());

    let all = swarm.all_work().await;
    assert_eq!(all.len(), 20);
    for work in all {
        assert_eq!(
            (work.state(), work.holder.as_str()),
            (WorkState::Held, "eureka")
        );
    }
}

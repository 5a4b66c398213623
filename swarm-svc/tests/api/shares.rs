//! Shares and haste: one mind's at a time, within their bounds, and told when they cannot be reached.

use cambium_proto::swarm::v1::{Organ, SetHasteRequest, SetShareRequest, Share};
use chrono::TimeDelta;
use tonic::{Code, Status};

use crate::control_steps::{instant, is_member, remove, share_of, shown};
use crate::fixture::{Fixture, WORKSPACE, field, ordinary_dial, reason, request_id, start};

async fn haste(
    swarm: &Fixture,
    mind: &str,
    ppm: Option<i64>,
    ahead: Option<TimeDelta>,
) -> Result<Share, Status> {
    let request = SetHasteRequest {
        workspace_id: WORKSPACE.to_owned(),
        request_id: request_id(),
        instance: mind.to_owned(),
        haste_ppm: ppm,
        until: ahead.and_then(|ahead| instant(swarm.now() + ahead)),
    };
    let reply = swarm.control().set_haste(request).await?;
    Ok(reply.into_inner().share.unwrap())
}

fn setting(mind: &str, share_ppm: i64) -> SetShareRequest {
    SetShareRequest {
        workspace_id: WORKSPACE.to_owned(),
        request_id: request_id(),
        instance: mind.to_owned(),
        share_ppm,
    }
}

#[tokio::test]
async fn a_share_is_set_once_for_each_request() {
    let swarm = start().await;
    swarm.open("ada", 1_000_000).await;
    let request = setting("ada", 2_000_000);

    let first = swarm.control().set_share(request.clone()).await.unwrap();
    swarm.share("ada", 3_000_000).await.unwrap();
    let again = swarm.control().set_share(request.clone()).await.unwrap();
    let other = SetShareRequest {
        share_ppm: 1_000,
        ..request
    };
    let refused = swarm.control().set_share(other).await.unwrap_err();

    let share = first.get_ref().share.clone().unwrap();
    assert_eq!(
        (share.share_ppm, share.effective_ppm),
        (2_000_000, 2_000_000)
    );
    assert_eq!(share.set_by, "operator:ada");
    assert_eq!(again.into_inner(), first.into_inner());
    assert_eq!(refused.code(), Code::AlreadyExists);
    assert_eq!(share_of(&swarm, "ada").await.unwrap().share_ppm, 3_000_000);
}

#[tokio::test]
async fn a_share_out_of_bounds_or_of_nobody_changes_nothing() {
    let swarm = start().await;
    swarm.open("ada", 1_000_000).await;

    for bad in [0, 999, 100_000_001, -1] {
        let refused = swarm.share("ada", bad).await.unwrap_err();
        assert_eq!(refused.code(), Code::InvalidArgument);
        assert_eq!(field(&refused), "share_ppm");
    }
    let nobody = swarm.share("bob", 1_000_000).await.unwrap_err();
    let unnamed = swarm.share("Bob", 1_000_000).await.unwrap_err();

    assert_eq!(nobody.code(), Code::NotFound);
    assert_eq!(
        (unnamed.code(), field(&unnamed)),
        (Code::InvalidArgument, "instance".to_owned())
    );
    assert_eq!(share_of(&swarm, "ada").await.unwrap().share_ppm, 1_000_000);
    assert_eq!(shown(&swarm).await.shares.len(), 1);
}

#[tokio::test]
async fn a_haste_needs_a_share_and_ends_by_itself() {
    let swarm = start().await;
    swarm.open("ada", 1_000_000).await;

    let share = haste(&swarm, "ada", Some(3_000_000), Some(TimeDelta::hours(1)))
        .await
        .unwrap();
    assert_eq!(share.haste_ppm, 3_000_000);
    swarm.share("ada", 2_000_000).await.unwrap();
    assert_eq!(share_of(&swarm, "ada").await.unwrap().haste_ppm, 3_000_000);
    swarm.advance(TimeDelta::hours(1)).await;
    let lapsed = share_of(&swarm, "ada").await.unwrap();
    assert_eq!((lapsed.haste_ppm, lapsed.haste_until), (1_000_000, None));

    haste(&swarm, "ada", Some(3_000_000), Some(TimeDelta::hours(1)))
        .await
        .unwrap();
    let ended = haste(&swarm, "ada", None, None).await.unwrap();
    assert_eq!(ended.haste_ppm, 1_000_000);
    remove(&swarm, "ada").await;
    let refused = haste(&swarm, "ada", Some(3_000_000), Some(TimeDelta::hours(1)))
        .await
        .unwrap_err();
    assert_eq!(
        (refused.code(), reason(&refused)),
        (Code::FailedPrecondition, "NO_SHARE".to_owned())
    );
}

#[tokio::test]
async fn a_haste_out_of_bounds_changes_nothing() {
    let swarm = start().await;
    swarm.open("ada", 1_000_000).await;
    let hour = Some(TimeDelta::hours(1));
    let bad = [
        (Some(999_999), hour, "haste_ppm"),
        (Some(10_000_001), hour, "haste_ppm"),
        (Some(2_000_000), None, "until"),
        (Some(2_000_000), Some(TimeDelta::zero()), "until"),
        (
            Some(2_000_000),
            Some(TimeDelta::seconds(30 * 86_400 + 1)),
            "until",
        ),
        (None, hour, "until"),
    ];

    for (ppm, ahead, at_fault) in bad {
        let refused = haste(&swarm, "ada", ppm, ahead).await.unwrap_err();
        assert_eq!(
            (refused.code(), field(&refused)),
            (Code::InvalidArgument, at_fault.to_owned())
        );
    }
    assert_eq!(share_of(&swarm, "ada").await.unwrap().haste_ppm, 1_000_000);
}

#[tokio::test]
async fn a_mind_without_a_share_is_off_the_timeline() {
    let swarm = start().await;
    swarm.dial(ordinary_dial()).await;
    swarm.open_released("ada", 1_000_000).await;
    assert!(is_member(&swarm, "ada").await);

    assert!(remove(&swarm, "ada").await.is_empty());
    assert!(remove(&swarm, "ada").await.is_empty());

    assert!(!is_member(&swarm, "ada").await);
    assert_eq!(share_of(&swarm, "ada").await, None);
}

#[tokio::test]
async fn a_share_that_slots_do_not_let_through_is_told_of() {
    let swarm = start().await;
    let dial = cambium_proto::swarm::v1::SetDialRequest {
        k: 2,
        ..ordinary_dial()
    };
    swarm.dial(dial).await;
    swarm.open_released("ada", 1_000_000).await;
    swarm.open_released("bob", 1_000_000).await;

    let request = setting("ada", 3_000_000);
    let told = swarm
        .control()
        .set_share(request)
        .await
        .unwrap()
        .into_inner();

    let reasons = |warnings: &[cambium_proto::swarm::v1::Warning]| -> Vec<(String, String)> {
        let each = warnings.iter();
        each.map(|one| (one.reason.clone(), one.instance.clone()))
            .collect()
    };
    let expected = [("SHARE_INFEASIBLE".to_owned(), "ada".to_owned())];
    assert_eq!(reasons(&told.warnings), expected);
    assert_eq!(reasons(&shown(&swarm).await.warnings), expected);
}

#[tokio::test]
async fn only_an_operator_sets_a_share() {
    let swarm = start().await;
    swarm.open("ada", 1_000_000).await;
    let tokens = [
        swarm.keys.viewer(),
        swarm.keys.scheduler(),
        swarm.keys.meter(),
        swarm.keys.worker_named("desk"),
        swarm.operate("ada", Organ::Self_).await,
    ];

    for token in tokens {
        let refused = swarm
            .control_bearing(&token)
            .set_share(setting("ada", 2_000_000))
            .await;
        assert_eq!(refused.unwrap_err().code(), Code::PermissionDenied);
    }
    assert_eq!(share_of(&swarm, "ada").await.unwrap().share_ppm, 1_000_000);
}

#[tokio::test]
async fn a_review_that_nobody_held_is_told_of() {
    let swarm = start().await;
    swarm.open("ada", 1_000_000).await;
    let ada = swarm.operate("ada", Organ::Self_).await;
    let day = serde_json::json!({"review_on": "2026-06-02"});
    let left = crate::record::ruling("ada", "left", "mind", &day);
    swarm.append(&ada, vec![left]).await.unwrap();

    swarm.advance(TimeDelta::days(1)).await;
    assert!(shown(&swarm).await.warnings.is_empty());
    swarm.advance(TimeDelta::days(1)).await;
    let warnings = shown(&swarm).await.warnings;

    let told = (warnings[0].reason.as_str(), warnings[0].instance.as_str());
    assert_eq!((warnings.len(), told), (1, ("REVIEW_OVERDUE", "ada")));
}

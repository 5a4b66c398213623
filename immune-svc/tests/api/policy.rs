//! The numbers of a workspace, version by version.

use cambium_proto::immune::v1::{
    GetPolicyRequest, Policy, PutPolicyRequest, PutPolicyResponse, ScoreKind,
};
use tonic::{Code, Response, Status};
use uuid::Uuid;

use crate::fixture::{self, Fixture, field, reason};
use crate::told::{agents, dead_end, thanks};

async fn policy(fixture: &Fixture) -> Policy {
    let request = GetPolicyRequest {
        workspace_id: "default".to_owned(),
    };
    let mut operator = fixture.generosity_as(&fixture.keys.operator());
    let reply = operator.get_policy(request).await.unwrap();
    reply.into_inner().policy.unwrap()
}

async fn put(fixture: &Fixture, policy: Policy) -> Result<PutPolicyResponse, Status> {
    let request = PutPolicyRequest {
        workspace_id: "default".to_owned(),
        request_id: Uuid::new_v4().to_string(),
        policy: Some(policy),
    };
    let mut operator = fixture.generosity_as(&fixture.keys.operator());
    operator.put_policy(request).await.map(Response::into_inner)
}

#[tokio::test]
async fn the_defaults_are_the_seeds() {
    let fixture = fixture::start().await;

    let found = policy(&fixture).await;

    let seed = Policy {
        version: 0,
        contribution_bonus: 0.03,
        consumption_penalty: 0.02,
        knowledge_share_bonus: 0.02,
        hoarding_threshold: 0.25,
        overextension_check: true,
        pair_daily_cap: 3,
        share_daily_cap: 50,
    };
    assert_eq!(found, seed);
}

#[tokio::test]
async fn a_row_names_the_version_by_which_it_was_counted() {
    let fixture = fixture::start().await;
    let [ada, bob] = agents();
    fixture.deliver(&[thanks(ada, bob)]).await;
    let changed = Policy {
        contribution_bonus: 0.1,
        pair_daily_cap: 2,
        ..policy(&fixture).await
    };

    let put = put(&fixture, changed).await.unwrap().policy.unwrap();
    fixture.deliver(&[thanks(ada, bob), thanks(ada, bob)]).await;

    assert_eq!(put.version, 1);
    let ledger = fixture.ledger(ada, ScoreKind::Generosity).await;
    let rows: Vec<_> = ledger
        .iter()
        .map(|entry| (entry.policy_version, entry.delta))
        .collect();
    assert_eq!(rows, [(0, 0.03), (1, 0.1), (1, 0.0)]);
}

#[tokio::test]
async fn a_version_that_has_moved_is_not_replaced() {
    let fixture = fixture::start().await;
    let seen = policy(&fixture).await;
    put(&fixture, seen).await.unwrap();
    let before = fixture.everything().await;

    let refused = put(&fixture, seen).await.unwrap_err();

    assert_eq!(refused.code(), Code::Aborted);
    assert_eq!(reason(&refused), "VERSION_MOVED");
    assert_eq!(fixture.everything().await, before);
}

#[tokio::test]
async fn a_put_repeated_is_one_version() {
    let fixture = fixture::start().await;
    let request = PutPolicyRequest {
        workspace_id: "default".to_owned(),
        request_id: Uuid::new_v4().to_string(),
        policy: Some(policy(&fixture).await),
    };
    let mut operator = fixture.generosity_as(&fixture.keys.operator());

    let first = operator.put_policy(request.clone()).await.unwrap();
    let again = operator.put_policy(request).await.unwrap();

    assert_eq!(first.into_inner(), again.into_inner());
    assert_eq!(fixture.count("policy").await, 1);
}

#[tokio::test]
async fn numbers_out_of_bounds_are_refused_by_name() {
    let fixture = fixture::start().await;
    let good = policy(&fixture).await;
    let before = fixture.everything().await;
    let bad = [
        (
            "policy.contribution_bonus",
            Policy {
                contribution_bonus: 1.01,
                ..good
            },
        ),
        (
            "policy.consumption_penalty",
            Policy {
                consumption_penalty: -0.02,
                ..good
            },
        ),
        (
            "policy.knowledge_share_bonus",
            Policy {
                knowledge_share_bonus: f64::NAN,
                ..good
            },
        ),
        (
            "policy.hoarding_threshold",
            Policy {
                hoarding_threshold: f64::INFINITY,
                ..good
            },
        ),
        (
            "policy.pair_daily_cap",
            Policy {
                pair_daily_cap: -1,
                ..good
            },
        ),
        (
            "policy.share_daily_cap",
            Policy {
                share_daily_cap: -1,
                ..good
            },
        ),
    ];

    for (name, policy) in bad {
        let refused = put(&fixture, policy).await.unwrap_err();
        assert_eq!(refused.code(), Code::InvalidArgument);
        assert_eq!(field(&refused), name);
    }

    assert_eq!(fixture.everything().await, before);
}

#[tokio::test]
async fn another_threshold_makes_other_hoarders() {
    let fixture = fixture::start().await;
    let [ada] = agents();
    let strict = Policy {
        hoarding_threshold: 0.5,
        ..policy(&fixture).await
    };
    put(&fixture, strict).await.unwrap();

    fixture.deliver(&[dead_end(ada)]).await;

    let heard: Vec<i32> = sqlx::query_scalar(
        "SELECT intensity FROM immune.heard WHERE signal_type = 'stress.context_hoarding'",
    )
    .fetch_all(fixture.owner())
    .await
    .unwrap();
    assert_eq!(heard, [40_000]);
}

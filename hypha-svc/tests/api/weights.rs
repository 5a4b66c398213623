//! The weights of the merits by which work is given, of each workspace.

use cambium_proto::hypha::v1::matching_service_client::MatchingServiceClient;
use cambium_proto::hypha::v1::{GetWeightsRequest, PutWeightsRequest, Weights};
use tonic::Code;
use tonic_types::StatusExt as _;

use crate::fixture::{Fixture, WORKSPACE, id, refusal, start};

fn defaults() -> Weights {
    Weights {
        capability: 0.35,
        trust: 0.2,
        health: 0.15,
        load: 0.15,
        generosity: 0.15,
        explore_every: 20,
        version: 0,
    }
}

async fn put(fixture: &Fixture, weights: Weights) -> Result<Weights, tonic::Status> {
    let request = PutWeightsRequest {
        workspace_id: WORKSPACE.to_owned(),
        request_id: id(),
        weights: Some(weights),
    };
    let mut client = MatchingServiceClient::new(fixture.as_token(&fixture.keys.operator()));
    let reply = client.put_weights(request).await?;
    Ok(reply.into_inner().weights.unwrap())
}

async fn get(fixture: &Fixture) -> Weights {
    let request = GetWeightsRequest {
        workspace_id: WORKSPACE.to_owned(),
    };
    let mut client = MatchingServiceClient::new(fixture.as_token(&fixture.keys.operator()));
    let reply = client.get_weights(request).await.unwrap();
    reply.into_inner().weights.unwrap()
}

#[tokio::test]
async fn weights_have_defaults_and_versions() {
    let fixture = start().await;

    assert_eq!(get(&fixture).await, defaults());
    let other = Weights {
        trust: 0.35,
        generosity: 0.0,
        explore_every: 0,
        ..defaults()
    };
    let first = put(&fixture, other).await.unwrap();

    assert_eq!(
        first,
        Weights {
            version: 1,
            ..other
        }
    );
    assert_eq!(get(&fixture).await, first);
    let moved = put(&fixture, defaults()).await.unwrap_err();
    assert_eq!(refusal(&moved), (Code::Aborted, "WEIGHTS_MOVED".to_owned()));
    let second = Weights {
        version: 1,
        ..defaults()
    };
    assert_eq!(put(&fixture, second).await.unwrap().version, 2);
}

#[tokio::test]
async fn weights_that_do_not_hold_are_refused_by_field() {
    let fixture = start().await;
    let bad = [
        (
            Weights {
                trust: 0.3,
                ..defaults()
            },
            "weights",
        ),
        (
            Weights {
                trust: f64::NAN,
                ..defaults()
            },
            "weights.trust",
        ),
        (
            Weights {
                load: -0.1,
                ..defaults()
            },
            "weights.load",
        ),
        (
            Weights {
                explore_every: -1,
                ..defaults()
            },
            "weights.explore_every",
        ),
    ];

    for (weights, field) in bad {
        let status = put(&fixture, weights).await.unwrap_err();

        let violations = status.get_details_bad_request().unwrap().field_violations;
        assert_eq!(status.code(), Code::InvalidArgument);
        assert_eq!(violations[0].field, field);
    }
    assert_eq!(get(&fixture).await, defaults());
}

#[tokio::test]
async fn only_an_operator_weighs() {
    let fixture = start().await;
    let agent = fixture.agent("ada", &[]).await;
    let token = fixture.keys.agent(&agent);
    let mut client = MatchingServiceClient::new(fixture.as_token(&token));
    let request = PutWeightsRequest {
        workspace_id: WORKSPACE.to_owned(),
        request_id: id(),
        weights: Some(defaults()),
    };

    let status = client.put_weights(request).await.unwrap_err();

    assert_eq!(status.code(), Code::PermissionDenied);
}

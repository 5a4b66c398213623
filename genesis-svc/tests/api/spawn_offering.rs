//! Agents asked for by what they must be able to do.

use cambium_proto::genesis::v1::{PutTemplateRequest, SpawnRequest, TemplateSpec};
use tonic::Code;

use crate::fixture::{self, Fixture, field, put, reason, spawn, spec};

/// Template `writer` offers writing, `editor` and `publisher` offer that and more.
async fn started() -> Fixture {
    let fixture = fixture::start().await;
    let both = ["role:writer", "role:editor"];
    for (name, offers) in [
        ("writer", &both[..1]),
        ("publisher", &both[..]),
        ("editor", &both[..]),
    ] {
        let spec = TemplateSpec {
            capabilities: offers.iter().map(|&name| name.to_owned()).collect(),
            ..spec()
        };
        let request = PutTemplateRequest {
            name: name.to_owned(),
            ..put(spec)
        };
        fixture.put(request).await.unwrap();
    }
    fixture
}

/// One that names no template.
fn wanting(requires: &[&str]) -> SpawnRequest {
    SpawnRequest {
        template: String::new(),
        requires: requires.iter().map(|&name| name.to_owned()).collect(),
        ..spawn("")
    }
}

#[tokio::test]
async fn the_first_template_by_name_that_offers_all_is_taken() {
    let fixture = started().await;

    for (requires, template) in [
        (&["role:writer"][..], "editor"),
        (&["role:editor", "role:writer"], "editor"),
    ] {
        let reply = fixture.spawn(wanting(requires)).await.unwrap();

        assert_eq!(reply.agent.unwrap().template, template);
    }
}

#[tokio::test]
async fn what_no_template_offers_is_not_found_by_a_reason() {
    let fixture = started().await;

    let refused = fixture.spawn(wanting(&["role:writer", "role:judge"])).await;

    let refused = refused.unwrap_err();
    assert_eq!(refused.code(), Code::NotFound);
    assert_eq!(reason(&refused), "TEMPLATE_NOT_OFFERED");
    assert_eq!(fixture.count("agent").await, 0);
    assert_eq!(fixture.count("spawn").await, 0);
}

#[tokio::test]
async fn a_template_that_is_named_must_offer_what_is_required() {
    let fixture = started().await;
    let request = |requires: &[&str]| SpawnRequest {
        template: "writer".to_owned(),
        ..wanting(requires)
    };

    let made = fixture.spawn(request(&["role:writer"])).await.unwrap();
    let refused = fixture.spawn(request(&["role:editor"])).await.unwrap_err();

    assert_eq!(made.agent.unwrap().template, "writer");
    assert_eq!(refused.code(), Code::FailedPrecondition);
    assert_eq!(reason(&refused), "TEMPLATE_LACKS");
    assert!(refused.message().contains("`role:editor`"), "{refused}");
    assert_eq!(fixture.count("agent").await, 1);
}

#[tokio::test]
async fn one_request_is_one_agent_whatever_is_offered_later() {
    let fixture = started().await;
    let request = wanting(&["role:editor"]);
    let first = fixture.spawn(request.clone()).await.unwrap();
    let earlier = PutTemplateRequest {
        name: "author".to_owned(),
        ..put(TemplateSpec {
            capabilities: request.requires.clone(),
            ..spec()
        })
    };
    fixture.put(earlier).await.unwrap();

    let again = fixture.spawn(request.clone()).await.unwrap();
    let other = SpawnRequest {
        requires: vec!["role:writer".to_owned()],
        ..request
    };
    let refused = fixture.spawn(other).await.unwrap_err();

    assert_eq!(again.agent, first.agent);
    assert_eq!(refused.code(), Code::AlreadyExists);
    assert_eq!(fixture.count("agent").await, 1);
}

#[tokio::test]
async fn what_is_no_capability_is_refused_by_its_place() {
    let fixture = started().await;

    let refused = fixture.spawn(wanting(&["role:writer", ""])).await;

    let refused = refused.unwrap_err();
    assert_eq!(refused.code(), Code::InvalidArgument);
    assert_eq!(field(&refused), "requires[1]");
}

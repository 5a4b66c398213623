use cambium_proto::genesis::v1::{
    AgentState, SpawnRequest, SpawnState, TemplateLimits, TemplateSpec,
};
use cambium_service_kit::principal::Kind;
use chrono::TimeDelta;
use tonic::{Code, Status};
use tonic_types::StatusExt as _;
use uuid::Uuid;

use crate::fixture::{self, Fixture, field, put, reason, retirement, spawn, spec};

async fn started() -> Fixture {
    let fixture = fixture::start().await;
    fixture.put(put(spec())).await.unwrap();
    fixture
}

#[tokio::test]
async fn an_agent_is_what_its_template_says() {
    let fixture = started().await;

    let reply = fixture.spawn(spawn("")).await.unwrap();

    let agent = reply.agent.unwrap();
    assert!(agent.name.starts_with("writer-"));
    assert_eq!(agent.capabilities, ["role:writer"]);
    assert_eq!(agent.state(), AgentState::Active);
    assert_eq!(
        (agent.template.as_str(), agent.template_version),
        ("writer", 1)
    );
    assert_eq!((agent.parent_agent_id.as_str(), agent.generation), ("", 0));
    assert_eq!(agent.root_agent_id, agent.agent_id);
    let config = reply.config.unwrap();
    assert_eq!(config.role, "writer");
    assert_eq!(config.config, br#"{"model":"large"}"#);
    let wish = reply.spawn.unwrap();
    assert_eq!(wish.state(), SpawnState::Spawned);
    assert_eq!(wish.requested_by, "operator:ada");
    let itself = fixture
        .verifier("hypha")
        .verify(&reply.agent_token)
        .unwrap();
    assert_eq!(itself.kind, Kind::Agent);
    assert_eq!(itself.name, agent.agent_id);
    assert_eq!(itself.expires_at - itself.issued_at, TimeDelta::minutes(15));
}

#[tokio::test]
async fn an_agent_serves_the_minds_that_its_template_serves() {
    let fixture = fixture::start().await;
    let mut serving = spec();
    serving.serves_minds = vec!["weksa".to_owned()];
    fixture.put(put(serving)).await.unwrap();

    let reply = fixture.spawn(spawn("")).await.unwrap();

    assert_eq!(reply.agent.unwrap().serves_minds, ["weksa"]);
}

#[tokio::test]
async fn a_child_is_of_its_parents_line() {
    let fixture = started().await;
    let root = fixture.spawned().await;
    let child = fixture.spawned_by(&root).await;

    let grandchild = fixture.spawn(spawn(&child)).await.unwrap().agent.unwrap();

    assert_eq!(grandchild.parent_agent_id, child);
    assert_eq!(grandchild.root_agent_id, root);
    assert_eq!(grandchild.generation, 2);
}

#[tokio::test]
async fn running_agents_keep_their_version() {
    let mut fixture = started().await;
    let old = fixture.spawned().await;
    let mut changed = put(TemplateSpec {
        role: "poet".to_owned(),
        ..spec()
    });
    changed.expected_version = 1;
    fixture.put(changed).await.unwrap();

    let new = fixture.spawn(spawn("")).await.unwrap();

    assert_eq!(new.agent.unwrap().template_version, 2);
    assert_eq!(new.config.unwrap().role, "poet");
    let request = cambium_proto::genesis::v1::GetAgentRequest {
        workspace_id: "default".to_owned(),
        agent_id: old,
        ..Default::default()
    };
    let old = fixture
        .client
        .get_agent(request)
        .await
        .unwrap()
        .into_inner();
    assert_eq!(old.config.unwrap().role, "writer");
}

#[tokio::test]
async fn one_request_id_is_one_agent_for_ever() {
    let fixture = started().await;
    let request = spawn("");
    let first = fixture.spawn(request.clone()).await.unwrap().agent;

    fixture.database.advance(TimeDelta::days(3)).await;
    let _replica = fixture.replica().await; // it forgets old receipts when it starts
    let again = fixture.spawn(request.clone()).await.unwrap().agent;

    assert_eq!(first, again);
    assert_eq!(fixture.count("agent").await, 1);
    let other = SpawnRequest {
        reason: "another".to_owned(),
        ..request
    };
    let refused = fixture.spawn(other).await.unwrap_err();
    assert_eq!(refused.code(), Code::AlreadyExists);
    assert_eq!(reason(&refused), "REQUEST_ID_REUSED");
}

#[tokio::test]
async fn many_who_send_one_request_get_one_agent() {
    let fixture = started().await;
    let request = spawn("");
    let mut calls = tokio::task::JoinSet::new();
    for _ in 0..50 {
        let (mut spawns, request) = (fixture.spawns(), request.clone());
        calls.spawn(async move { spawns.spawn(request).await });
    }

    let replies = calls.join_all().await;

    let mut ids: Vec<String> = replies
        .into_iter()
        .map(|reply| reply.unwrap().into_inner().agent.unwrap().agent_id)
        .collect();
    ids.dedup();
    assert_eq!(ids.len(), 1);
    assert_eq!(fixture.count("agent").await, 1);
}

#[tokio::test]
async fn the_eighth_generation_is_the_last() {
    let fixture = started().await;
    let mut last = fixture.spawned().await;
    for _ in 0..8 {
        last = fixture.spawned_by(&last).await;
    }

    let refused = fixture.spawn(spawn(&last)).await.unwrap_err();

    assert_eq!(refused.code(), Code::FailedPrecondition);
    assert_eq!(reason(&refused), "SPAWN_GENERATION_LIMIT");
    assert_eq!(fixture.count("agent").await, 9);
}

#[tokio::test]
async fn a_parent_has_ten_children_at_once() {
    let fixture = started().await;
    let root = fixture.spawned().await;
    let first = fixture.spawned_by(&root).await;
    for _ in 0..9 {
        fixture.spawned_by(&root).await;
    }

    let refused = fixture.spawn(spawn(&root)).await.unwrap_err();
    fixture.live(&first, &[]).await;
    fixture.spawned_by(&root).await;

    assert_eq!(refused.code(), Code::ResourceExhausted);
    assert_eq!(reason(&refused), "SPAWN_CHILDREN_LIMIT");
    assert_eq!(fixture.count("agent").await, 12);
}

#[tokio::test]
async fn a_parent_has_a_thousand_children_in_its_life() {
    let fixture = started().await;
    let root = fixture.spawned().await;
    sqlx::query("UPDATE genesis.agent SET ever_children = 999")
        .execute(&fixture.database.owner)
        .await
        .unwrap();
    fixture.spawned_by(&root).await;

    let refused = fixture.spawn(spawn(&root)).await.unwrap_err();

    assert_eq!(refused.code(), Code::ResourceExhausted);
    assert_eq!(reason(&refused), "SPAWN_LIFETIME_LIMIT");
    assert_eq!(fixture.count("agent").await, 2);
}

#[tokio::test]
async fn a_workspace_spawns_sixty_within_a_minute() {
    let fixture = started().await;
    for _ in 0..60 {
        fixture.spawned().await;
    }

    let refused = fixture.spawn(spawn("")).await.unwrap_err();
    fixture.database.advance(TimeDelta::seconds(61)).await;
    fixture.spawned().await;

    assert_eq!(refused.code(), Code::ResourceExhausted);
    assert_eq!(reason(&refused), "SPAWN_RATE_LIMIT");
    let wait = refused.get_details_retry_info().unwrap().retry_delay;
    assert!(wait.unwrap().as_secs() <= 60);
    assert_eq!(fixture.count("agent").await, 61);
}

#[tokio::test]
async fn a_template_may_allow_less() {
    let fixture = fixture::start().await;
    let limits = Some(TemplateLimits {
        live_agents: 2,
        ..TemplateLimits::default()
    });
    fixture
        .put(put(TemplateSpec { limits, ..spec() }))
        .await
        .unwrap();
    let first = fixture.spawned().await;
    fixture.spawned().await;

    let refused = fixture.spawn(spawn("")).await.unwrap_err();
    fixture.live(&first, &[]).await;
    fixture.spawned().await;

    assert_eq!(refused.code(), Code::ResourceExhausted);
    assert_eq!(reason(&refused), "SPAWN_TEMPLATE_LIMIT");
    assert_eq!(fixture.count("agent").await, 3);
}

#[tokio::test]
async fn whoever_leaves_or_is_in_quarantine_has_no_children() {
    let fixture = started().await;
    let (leaving, held) = (fixture.spawned().await, fixture.spawned().await);
    fixture.retire(retirement(&leaving)).await.unwrap();
    fixture.quarantine(&held, 1, true).await;

    for (parent, why) in [
        (&leaving, "SPAWN_PARENT_RETIRED"),
        (&held, "SPAWN_PARENT_QUARANTINED"),
    ] {
        let refused = fixture.spawn(spawn(parent)).await.unwrap_err();

        assert_eq!(refused.code(), Code::FailedPrecondition);
        assert_eq!(reason(&refused), why);
    }
    fixture.quarantine(&held, 2, false).await;
    fixture.spawned_by(&held).await;
    assert_eq!(fixture.count("agent").await, 3);
}

#[tokio::test]
async fn an_agent_spawns_in_its_own_name_only() {
    let fixture = started().await;
    let (own, other) = (fixture.spawned().await, fixture.spawned().await);
    let as_agent = async |request: SpawnRequest| -> Result<String, Status> {
        let token = fixture.keys.agent(&own);
        let reply = fixture.spawns_bearing(&token).spawn(request).await?;
        Ok(reply.into_inner().agent.unwrap().parent_agent_id)
    };

    let foreign = as_agent(spawn(&other)).await.unwrap_err();
    let unsaid = as_agent(spawn("")).await.unwrap();
    let said = as_agent(spawn(&own)).await.unwrap();
    fixture.quarantine(&own, 1, true).await;
    let held = as_agent(spawn("")).await.unwrap_err();

    assert_eq!(foreign.code(), Code::PermissionDenied);
    assert_eq!((&unsaid, &said), (&own, &own));
    assert_eq!(held.code(), Code::PermissionDenied);
    assert_eq!(reason(&held), "AGENT_QUARANTINED");
    assert_eq!(fixture.count("agent").await, 4);
}

#[tokio::test]
async fn of_the_services_hypha_alone_spawns() {
    let fixture = started().await;
    let as_service = async |name: &str| {
        let token = fixture.keys.service(name);
        fixture.spawns_bearing(&token).spawn(spawn("")).await
    };

    let hypha = as_service("hypha").await.unwrap().into_inner();
    let immune = as_service("immune").await.unwrap_err();

    assert_eq!(hypha.spawn.unwrap().requested_by, "service:hypha");
    assert_eq!(immune.code(), Code::PermissionDenied);
    assert_eq!(fixture.count("agent").await, 1);
}

#[tokio::test]
async fn what_is_unknown_is_not_found() {
    let fixture = started().await;
    let template = SpawnRequest {
        template: "poet".to_owned(),
        ..spawn("")
    };
    let parent = spawn(&Uuid::now_v7().to_string());

    for (request, why) in [(template, "TEMPLATE_UNKNOWN"), (parent, "AGENT_UNKNOWN")] {
        let refused = fixture.spawn(request).await.unwrap_err();

        assert_eq!(refused.code(), Code::NotFound);
        assert_eq!(reason(&refused), why);
    }
    assert_eq!(fixture.count("spawn").await, 0);
}

#[tokio::test]
async fn what_has_no_form_is_refused_by_the_name_of_its_field() {
    let fixture = started().await;
    let bad = [
        (
            "template",
            SpawnRequest {
                template: String::new(),
                ..spawn("")
            },
        ),
        ("parent_agent_id", spawn("seven")),
        (
            "reason",
            SpawnRequest {
                reason: " ".to_owned(),
                ..spawn("")
            },
        ),
        (
            "reason",
            SpawnRequest {
                reason: "a".repeat(501),
                ..spawn("")
            },
        ),
        (
            "request_id",
            SpawnRequest {
                request_id: String::new(),
                ..spawn("")
            },
        ),
    ];

    for (name, request) in bad {
        let refused = fixture.spawn(request).await.unwrap_err();

        assert_eq!(refused.code(), Code::InvalidArgument, "{name}");
        assert_eq!(field(&refused), name);
    }
    assert_eq!(fixture.count("agent").await, 0);
}

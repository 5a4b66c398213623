use cambium_proto::genesis::v1::{
    GetTemplateRequest, ListTemplatesRequest, ListVersionsRequest, PutTemplateRequest,
    TemplateLimits, TemplateSpec,
};
use tonic::Code;
use uuid::Uuid;

use crate::fixture::{self, field, put, reason, spec};

#[tokio::test]
async fn a_template_is_put_and_got() {
    let fixture = fixture::start().await;

    let template = fixture.put(put(spec())).await.unwrap();

    assert_eq!((template.name.as_str(), template.version), ("writer", 1));
    assert_eq!(template.created_by, "operator:ada");
    let got = spec_of(&fixture, 0).await;
    assert_eq!(Some(&got), template.spec.as_ref());
    assert_eq!(got.config, br#"{"model":"large"}"#);
    assert_eq!(got.match_threshold, Some(0.75));
    let limits = TemplateLimits {
        generation: 8,
        live_children: 10,
        live_agents: 100,
    };
    assert_eq!(got.limits, Some(limits));
}

#[tokio::test]
async fn each_change_is_a_version_and_the_same_again_is_none() {
    let fixture = fixture::start().await;
    fixture.put(put(spec())).await.unwrap();
    let changed = TemplateSpec {
        role: "poet".to_owned(),
        ..spec()
    };

    let second = fixture.put(over(1, changed.clone())).await.unwrap();
    let same = fixture.put(over(2, changed)).await.unwrap();

    assert_eq!((second.version, same.version), (2, 2));
    assert_eq!(spec_of(&fixture, 1).await.role, "writer");
    assert_eq!(spec_of(&fixture, 0).await.role, "poet");
    let request = ListVersionsRequest {
        workspace_id: "default".to_owned(),
        name: "writer".to_owned(),
        page_size: 1,
        ..ListVersionsRequest::default()
    };
    let mut templates = fixture.templates();
    let first = templates.list_versions(request.clone()).await.unwrap();
    let first = first.into_inner();
    assert_eq!(first.versions[0].version, 2);
    let rest = ListVersionsRequest {
        page_token: first.next_page_token,
        ..request
    };
    let rest = templates.list_versions(rest).await.unwrap().into_inner();
    assert_eq!(rest.versions[0].version, 1);
    assert_eq!(rest.next_page_token, "");
}

#[tokio::test]
async fn whoever_has_not_read_the_current_version_is_told_so() {
    let fixture = fixture::start().await;
    fixture.put(put(spec())).await.unwrap();
    let other = || TemplateSpec {
        role: "poet".to_owned(),
        ..spec()
    };

    for expected in [0, 2] {
        let refused = fixture.put(over(expected, other())).await.unwrap_err();

        assert_eq!(refused.code(), Code::Aborted);
        assert_eq!(reason(&refused), "TEMPLATE_VERSION_MOVED");
    }
    let missing = PutTemplateRequest {
        name: "poet".to_owned(),
        ..over(1, spec())
    };
    assert_eq!(
        fixture.put(missing).await.unwrap_err().code(),
        Code::Aborted
    );
    assert_eq!(fixture.count("template_version").await, 1);
}

#[tokio::test]
async fn of_many_who_change_one_version_one_wins() {
    let fixture = fixture::start().await;
    fixture.put(put(spec())).await.unwrap();
    let mut calls = tokio::task::JoinSet::new();
    for n in 0..12 {
        let mut templates = fixture.templates();
        let role = format!("role {n}");
        calls.spawn(async move {
            templates
                .put_template(over(1, TemplateSpec { role, ..spec() }))
                .await
        });
    }

    let replies = calls.join_all().await;

    let won = replies.iter().filter(|reply| reply.is_ok()).count();
    assert_eq!(won, 1);
    assert_eq!(fixture.count("template_version").await, 2);
}

#[tokio::test]
async fn a_request_sent_again_is_answered_with_the_same_version() {
    let fixture = fixture::start().await;
    let request = put(spec());

    let first = fixture.put(request.clone()).await.unwrap();
    let second = fixture.put(request).await.unwrap();

    assert_eq!(first, second);
    assert_eq!(fixture.count("template_version").await, 1);
}

#[tokio::test]
async fn templates_are_listed_by_name() {
    let fixture = fixture::start().await;
    for name in ["writer", "editor", "Zoe"] {
        let request = PutTemplateRequest {
            name: name.to_owned(),
            ..put(spec())
        };
        fixture.put(request).await.unwrap();
    }
    let request = ListTemplatesRequest {
        workspace_id: "default".to_owned(),
        page_size: 2,
        ..ListTemplatesRequest::default()
    };

    let first = fixture.templates().list_templates(request.clone()).await;

    let first = first.unwrap().into_inner();
    let names: Vec<&str> = first
        .templates
        .iter()
        .map(|one| one.name.as_str())
        .collect();
    assert_eq!(names, ["Zoe", "editor"]);
    let rest = ListTemplatesRequest {
        page_token: first.next_page_token,
        ..request
    };
    let rest = fixture.templates().list_templates(rest).await.unwrap();
    assert_eq!(rest.into_inner().templates[0].name, "writer");
}

#[tokio::test]
async fn what_has_no_form_is_refused_by_the_name_of_its_field() {
    let fixture = fixture::start().await;
    let of = |change: fn(&mut TemplateSpec)| {
        let mut spec = spec();
        change(&mut spec);
        put(spec)
    };
    let bad = [
        ("role", of(|spec| spec.role.clear())),
        ("instructions", of(|spec| spec.instructions.push('\0'))),
        (
            "capabilities[1]",
            of(|spec| spec.capabilities.push(String::new())),
        ),
        ("config", of(|spec| spec.config = b"{".to_vec())),
        ("config", of(|spec| spec.config = b"[1]".to_vec())),
        (
            "config.inherited_learnings",
            of(|spec| spec.config = br#"{"inherited_learnings":[]}"#.to_vec()),
        ),
        (
            "limits.live_agents",
            of(|spec| {
                spec.limits = Some(TemplateLimits {
                    live_agents: 101,
                    ..TemplateLimits::default()
                });
            }),
        ),
        (
            "limits.generation",
            of(|spec| {
                spec.limits = Some(TemplateLimits {
                    generation: -1,
                    ..TemplateLimits::default()
                });
            }),
        ),
        (
            "serves_minds[0]",
            of(|spec| spec.serves_minds = vec![String::new()]),
        ),
        (
            "match_threshold",
            of(|spec| spec.match_threshold = Some(0.49)),
        ),
        (
            "match_threshold",
            of(|spec| spec.match_threshold = Some(f64::NAN)),
        ),
        ("holdout_share", of(|spec| spec.holdout_share = Some(1.1))),
        (
            "name",
            PutTemplateRequest {
                name: String::new(),
                ..put(spec())
            },
        ),
        (
            "spec",
            PutTemplateRequest {
                spec: None,
                ..put(spec())
            },
        ),
        (
            "expected_version",
            PutTemplateRequest {
                expected_version: -1,
                ..put(spec())
            },
        ),
    ];

    for (name, request) in bad {
        let refused = fixture.put(request).await.unwrap_err();

        assert_eq!(refused.code(), Code::InvalidArgument, "{name}");
        assert_eq!(field(&refused), name);
    }
    assert_eq!(fixture.count("template_version").await, 0);
}

#[tokio::test]
async fn a_secret_is_refused_by_its_path() {
    let fixture = fixture::start().await;
    let config = br#"{"tools":[{"name":"mail"},{"name":"git","token":"hunter2"}]}"#.to_vec();

    let refused = fixture.put(put(TemplateSpec { config, ..spec() })).await;

    let refused = refused.unwrap_err();
    assert_eq!(refused.code(), Code::InvalidArgument);
    assert_eq!(reason(&refused), "TEMPLATE_HOLDS_SECRET");
    assert_eq!(field(&refused), "config.tools[1].token");
    assert!(!refused.message().contains("hunter2"));
    assert_eq!(fixture.count("template_version").await, 0);
}

#[tokio::test]
async fn what_is_unknown_is_not_found() {
    let fixture = fixture::start().await;
    fixture.put(put(spec())).await.unwrap();
    let of = |name: &str, version| GetTemplateRequest {
        workspace_id: "default".to_owned(),
        name: name.to_owned(),
        version,
    };

    for (request, why) in [
        (of("poet", 0), "TEMPLATE_UNKNOWN"),
        (of("writer", 2), "TEMPLATE_VERSION_UNKNOWN"),
    ] {
        let refused = fixture.templates().get_template(request).await.unwrap_err();

        assert_eq!(refused.code(), Code::NotFound);
        assert_eq!(reason(&refused), why);
    }
}

fn over(expected_version: i32, spec: TemplateSpec) -> PutTemplateRequest {
    PutTemplateRequest {
        request_id: Uuid::new_v4().to_string(),
        expected_version,
        ..put(spec)
    }
}

async fn spec_of(fixture: &fixture::Fixture, version: i32) -> TemplateSpec {
    let request = GetTemplateRequest {
        workspace_id: "default".to_owned(),
        name: "writer".to_owned(),
        version,
    };
    let reply = fixture.templates().get_template(request).await.unwrap();
    reply.into_inner().template.unwrap().spec.unwrap()
}

//! Who a mind is: put by its persona organ alone, in the order of the rules, and shown to each as it may see it.

use cambium_proto::swarm::v1::{
    DiffIdentityRequest, Fresh, GetPersonaRequest, GetPersonaResponse, ListPersonaVersionsRequest,
    Organ, PersonaState, PutPersonaRequest, PutPersonaResponse,
};
use chrono::{SecondsFormat, TimeDelta};
use serde_json::{Value, json};
use tonic::{Code, Status};

use crate::fixture::{Fixture, WORKSPACE, field, opening, reason, request_id, start};

fn get(mind: &str, version: i32) -> GetPersonaRequest {
    GetPersonaRequest {
        workspace_id: WORKSPACE.to_owned(),
        instance: mind.to_owned(),
        version,
    }
}

impl Fixture {
    pub(crate) async fn persona(&self, token: &str, mind: &str) -> GetPersonaResponse {
        let read = self.personas_bearing(token).get_persona(get(mind, 0)).await;
        read.unwrap().into_inner()
    }

    /// Opens a mind with a persona, and returns the token of its persona organ.
    async fn fresh(&self, mind: &str) -> String {
        let mut birth = opening(mind);
        birth.fresh = Some(Fresh {
            public_name: mind.to_owned(),
            public_description: "Somebody.".to_owned(),
            voice_summary: "Dry.".to_owned(),
        });
        self.minds().open_mind(birth).await.unwrap();
        self.operate(mind, Organ::Persona).await
    }

    /// A put of what is stored, later by a second.
    pub(crate) async fn next(&self, mind: &str) -> (Value, PutPersonaRequest) {
        let stored = self.persona(&self.keys.operator(), mind).await;
        let mut value: Value = serde_json::from_slice(&stored.value_json).unwrap();
        let later = self.now() + TimeDelta::seconds(1);
        value["updatedAt"] = json!(later.to_rfc3339_opts(SecondsFormat::AutoSi, true));
        let request = PutPersonaRequest {
            workspace_id: WORKSPACE.to_owned(),
            request_id: request_id(),
            value_json: value.to_string(),
            expected_updated_at: stored.update_time,
            faculty: "reflection".to_owned(),
            agent: "eureka-self".to_owned(),
            session: "s1".to_owned(),
            tool: "persona".to_owned(),
        };
        (value, request)
    }

    async fn put(
        &self,
        token: &str,
        request: PutPersonaRequest,
    ) -> Result<PutPersonaResponse, Status> {
        let put = self.personas_bearing(token).put_persona(request).await?;
        Ok(put.into_inner())
    }
}

#[tokio::test]
async fn a_persona_is_replaced_whole_and_each_change_is_visible() {
    let swarm = start().await;
    let token = swarm.fresh("eureka").await;
    let (mut value, mut request) = swarm.next("eureka").await;
    value["publicName"] = json!("Heureka");
    value["privateNotes"] = json!(["between us"]);
    request.value_json = value.to_string();

    let put = swarm.put(&token, request.clone()).await.unwrap();

    assert_eq!(put.version, 2);
    assert_eq!(swarm.put(&token, request.clone()).await.unwrap(), put);
    request.tool = "other".to_owned();
    assert_eq!(
        reason(&swarm.put(&token, request).await.unwrap_err()),
        "REQUEST_ID_REUSED"
    );
    let list = ListPersonaVersionsRequest {
        workspace_id: WORKSPACE.to_owned(),
        instance: "eureka".to_owned(),
        ..ListPersonaVersionsRequest::default()
    };
    let list = swarm.personas().list_persona_versions(list).await.unwrap();
    let receipt = &list.into_inner().versions[0];
    assert_eq!(
        (receipt.receipt_id.as_str(), receipt.version),
        (put.receipt_id.as_str(), 2)
    );
    assert!(receipt.identity_changed && !receipt.session_id.is_empty());
    assert_eq!(
        (receipt.author.as_str(), receipt.faculty.as_str()),
        ("mind:eureka", "reflection")
    );
    let diff = DiffIdentityRequest {
        workspace_id: WORKSPACE.to_owned(),
        instance: "eureka".to_owned(),
        from: 1,
        to: 2,
    };
    let diff = swarm.personas().diff_identity(diff).await.unwrap();
    assert_eq!(diff.into_inner().parts, ["publicName"]);

    let shows = async |token: &str| {
        let read = swarm.persona(token, "eureka").await;
        String::from_utf8(read.value_json)
            .unwrap()
            .contains("between us")
    };
    assert!(shows(&swarm.keys.operator()).await && shows(&token).await);
    let viewed = swarm.persona(&swarm.keys.viewer(), "eureka").await;
    assert_eq!((viewed.version, viewed.value_json.len()), (2, 0));
    let other = swarm.fresh("weksa").await;
    assert!(!shows(&swarm.keys.viewer()).await && !shows(&other).await);
}

#[tokio::test]
async fn what_is_put_is_judged_in_the_order_of_the_rules() {
    let swarm = start().await;
    let token = swarm.fresh("eureka").await;
    type Spoil = fn(&mut Value, &mut PutPersonaRequest);
    let cases: [(Code, &str, Spoil); 9] = [
        (Code::ResourceExhausted, "PERSONA_TOO_LARGE", |value, _| {
            value["publicDescription"] = json!("x".repeat(257 * 1024));
        }),
        (
            Code::InvalidArgument,
            "PERSONA_INVALID",
            |value, request| {
                value["mood"] = json!("bad");
                value["provenance"]["authority"] = json!("projection");
                request.faculty = String::new();
            },
        ),
        (
            Code::InvalidArgument,
            "PERSONA_NOT_CANONICAL",
            |value, request| {
                value["provenance"]["authority"] = json!("projection");
                request.faculty = String::new();
            },
        ),
        (Code::InvalidArgument, "TEXT_INVALID", |_, request| {
            request.faculty = String::new();
            request.expected_updated_at = None;
        }),
        (Code::Aborted, "PERSONA_STALE", |value, request| {
            request.expected_updated_at = None;
            value["updatedAt"] = json!("2000-01-01T00:00:00Z");
        }),
        (Code::InvalidArgument, "PERSONA_NOT_LATER", |value, _| {
            value["updatedAt"] = json!("2026-06-01T02:00:00+02:00");
        }),
        (Code::InvalidArgument, "PERSONA_AHEAD", |value, _| {
            value["updatedAt"] = json!("2026-06-01T00:05:01Z");
        }),
        (Code::PermissionDenied, "NO_RULE", |value, _| {
            value["personaId"] = json!("weksa");
        }),
        (Code::InvalidArgument, "PERSONA_FOREIGN", |value, _| {
            value["personaId"] = json!("No Mind");
        }),
    ];

    for (code, why, spoil) in cases {
        let (mut value, mut request) = swarm.next("eureka").await;
        spoil(&mut value, &mut request);
        request.value_json = value.to_string();
        let refused = swarm.put(&token, request).await.unwrap_err();

        assert_eq!((refused.code(), reason(&refused).as_str()), (code, why));
    }
    let (mut value, mut request) = swarm.next("eureka").await;
    value["affect"]["needs"] = json!([{"secret": 1}]);
    request.value_json = value.to_string();
    let refused = swarm.put(&token, request).await.unwrap_err();
    assert!(
        field(&refused).starts_with("value_json/affect/needs/0"),
        "{refused:?}"
    );
    assert!(!refused.message().contains("secret"));
    assert_eq!(swarm.persona(&token, "eureka").await.version, 1);
}

#[tokio::test]
async fn only_the_persona_organ_puts_and_only_while_its_turn_lives() {
    let swarm = start().await;
    let token = swarm.fresh("eureka").await;
    let (_, request) = swarm.next("eureka").await;
    swarm.end_session_with("eureka").await;

    let lost = swarm.put(&token, request.clone()).await.unwrap_err();
    assert_eq!(
        (lost.code(), reason(&lost).as_str()),
        (Code::Aborted, "TURN_LOST")
    );
    let own = swarm.operate("eureka", Organ::Self_).await;
    for token in [own, swarm.keys.operator()] {
        let denied = swarm.put(&token, request.clone()).await.unwrap_err();
        assert_eq!(denied.code(), Code::PermissionDenied);
    }
}

#[tokio::test]
async fn what_cannot_be_read_back_is_said_to_be_so() {
    let swarm = start().await;
    let token = swarm.fresh("eureka").await;
    let (_, request) = swarm.next("eureka").await;
    let spoil = "ALTER TABLE swarm.persona_version DISABLE TRIGGER USER;
                 UPDATE swarm.persona_version SET value = value || '{\"publicName\": \"Mallory\"}'";
    sqlx::raw_sql(spoil)
        .execute(&swarm.database.owner)
        .await
        .unwrap();

    let read = swarm.persona(&token, "eureka").await;
    assert_eq!(
        (read.state(), read.value_json.len()),
        (PersonaState::Unreadable, 0)
    );
    let refused = swarm.put(&token, request).await.unwrap_err();
    assert_eq!(
        (refused.code(), reason(&refused).as_str()),
        (Code::DataLoss, "PERSONA_UNREADABLE")
    );
    let none = swarm
        .personas()
        .get_persona(get("eureka", 7))
        .await
        .unwrap_err();
    assert_eq!(none.code(), Code::NotFound);
    swarm.minds().open_mind(opening("weksa")).await.unwrap();
    assert_eq!(
        swarm.persona(&token, "weksa").await.state(),
        PersonaState::Absent
    );
}

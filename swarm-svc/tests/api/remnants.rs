//! Older personas over the wire: each becomes the document that was worked out for it by hand, once, asleep.

use std::fs;
use std::path::{Path, PathBuf};

use cambium_proto::swarm::v1::{
    GetPersonaRequest, ImportPersonaRequest, ImportPersonaResponse, PersonaState,
    PreviewImportRequest,
};
use chrono::{DateTime, Utc};
use serde_json::{Value, json};
use tonic::{Code, Status};

use crate::fixture::{Fixture, WORKSPACE, opening, reason, request_id, start};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/data/persona")
}

fn instant() -> DateTime<Utc> {
    "2026-11-30T00:00:00Z".parse().unwrap()
}

/// A small one, of the form of an agent's state.
pub(crate) fn small() -> Vec<u8> {
    let state = json!({
        "agent_id": "wren",
        "identity": {"name": "Wren", "public_description": "Small."},
        "canonical_state": {},
    });
    state.to_string().into_bytes()
}

/// Leaves by path: numbers compare by value, keys in any order.
fn leaves(value: &Value, path: &str, found: &mut Vec<String>) {
    match value {
        Value::Object(parts) if !parts.is_empty() => {
            for (key, part) in parts {
                leaves(part, &format!("{path}/{key}"), found);
            }
        }
        Value::Array(items) if !items.is_empty() => {
            for (n, part) in items.iter().enumerate() {
                leaves(part, &format!("{path}/{n}"), found);
            }
        }
        Value::Number(number) => found.push(format!("{path} {}", number.as_f64().unwrap())),
        leaf => found.push(format!("{path} {leaf}")),
    }
}

fn lines(value: &Value) -> Vec<String> {
    let mut found = Vec::new();
    leaves(value, "", &mut found);
    found.sort();
    found
}

fn read(bytes: &[u8]) -> Value {
    serde_json::from_slice(bytes).unwrap()
}

impl Fixture {
    async fn import(
        &self,
        workspace: &str,
        mind: &str,
        bytes: Vec<u8>,
    ) -> Result<ImportPersonaResponse, Status> {
        let request = ImportPersonaRequest {
            workspace_id: workspace.to_owned(),
            request_id: request_id(),
            instance: mind.to_owned(),
            bytes,
        };
        let imported = self.personas().import_persona(request).await?;
        Ok(imported.into_inner())
    }

    async fn state(&self, mind: &str) -> PersonaState {
        self.persona(&self.keys.operator(), mind).await.state()
    }
}

#[tokio::test]
async fn every_remnant_becomes_the_persona_that_is_expected() {
    let Ok(inputs) = fs::read(folder().join("inputs.json")) else {
        println!("skipped: ../shared/data is absent");
        return;
    };
    let swarm = start().await;
    swarm.advance(instant() - swarm.now()).await;

    for (n, input) in read(&inputs).as_array().unwrap().iter().enumerate() {
        let text = |name: &str| input[name].as_str().unwrap();
        let (file, mind, workspace) = (text("file"), text("instance"), format!("w{n}"));
        let mut birth = opening(mind);
        birth.workspace_id.clone_from(&workspace);
        swarm.minds().open_mind(birth).await.unwrap();
        let bytes = fs::read(folder().join(file)).unwrap();
        let expected = folder().join("expected").join(text("expected"));
        let expected = read(&fs::read(expected).unwrap());
        let preview = PreviewImportRequest {
            workspace_id: workspace.clone(),
            instance: mind.to_owned(),
            bytes: bytes.clone(),
        };

        let preview = swarm.personas().preview_import(preview).await;
        let preview = preview.unwrap().into_inner();
        let imported = swarm.import(&workspace, mind, bytes).await.unwrap();

        let stored = GetPersonaRequest {
            workspace_id: workspace,
            instance: mind.to_owned(),
            version: 0,
        };
        let stored = swarm.personas().get_persona(stored).await.unwrap();
        let stored = read(&stored.into_inner().value_json);
        assert_eq!(lines(&stored), lines(&expected["value"]), "{file}");
        assert_eq!(lines(&read(&preview.value_json)), lines(&stored), "{file}");
        assert_eq!(
            lines(&read(&imported.report)),
            lines(&expected["report"]),
            "{file}"
        );
        assert_eq!(imported.report, preview.report, "{file}");
    }
}

#[tokio::test]
async fn a_persona_is_imported_once_and_asleep() {
    let swarm = start().await;
    swarm.minds().open_mind(opening("wren")).await.unwrap();
    swarm.release("wren").await;

    let awake = swarm.import(WORKSPACE, "wren", small()).await.unwrap_err();
    assert_eq!(
        (awake.code(), reason(&awake).as_str()),
        (Code::FailedPrecondition, "BRAKE_NOT_HELD")
    );
    swarm.hold("wren").await;
    let preview = PreviewImportRequest {
        workspace_id: WORKSPACE.to_owned(),
        instance: "wren".to_owned(),
        bytes: small(),
    };
    swarm
        .personas()
        .preview_import(preview.clone())
        .await
        .unwrap();
    assert_eq!(swarm.state("wren").await, PersonaState::Absent);
    // Nobody needs to be opened to see who it would be.
    let unborn = PreviewImportRequest {
        instance: "lark".to_owned(),
        ..preview.clone()
    };
    let unborn = swarm.personas().preview_import(unborn).await.unwrap();
    assert_eq!(read(&unborn.into_inner().value_json)["personaId"], "lark");
    let unknown = swarm
        .import(WORKSPACE, "wren", b"{}".to_vec())
        .await
        .unwrap_err();
    assert_eq!(
        (unknown.code(), reason(&unknown).as_str()),
        (Code::InvalidArgument, "UNKNOWN_FORMAT")
    );
    let large = swarm
        .import(WORKSPACE, "wren", vec![b' '; 1024 * 1024 + 1])
        .await;
    assert_eq!(large.unwrap_err().code(), Code::ResourceExhausted);

    let imported = swarm.import(WORKSPACE, "wren", small()).await.unwrap();

    assert_eq!(imported.version, 1);
    let stored = swarm.persona(&swarm.keys.operator(), "wren").await;
    let source = &read(&stored.value_json)["provenance"];
    assert_eq!(source["sourceSystem"], "import:agent_state");
    assert!(
        source["sourceDocumentId"]
            .as_str()
            .unwrap()
            .contains("@sha256:")
    );
    let again = swarm.import(WORKSPACE, "wren", small()).await.unwrap_err();
    assert_eq!(
        (again.code(), reason(&again).as_str()),
        (Code::FailedPrecondition, "PERSONA_EXISTS")
    );
    let eve = swarm.keys.viewer();
    let denied = swarm.personas_bearing(&eve).preview_import(preview).await;
    assert_eq!(denied.unwrap_err().code(), Code::PermissionDenied);
}

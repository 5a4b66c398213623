//! Remnants of several forms, where they are: each becomes the persona that was worked out for it by hand.

use std::fs;
use std::path::{Path, PathBuf};

use chrono::{DateTime, Utc};
use serde_json::{Value, json};

use super::*;
use crate::persona::{Put, put};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/persona")
}

fn instant() -> DateTime<Utc> {
    "2026-11-30T00:00:00Z".parse().unwrap()
}

/// Canonical text compares numbers by value and keys in any order.
fn lines(value: &Value) -> Vec<String> {
    fn walk(value: &Value, path: &str, lines: &mut Vec<String>) {
        match value {
            Value::Object(parts) if !parts.is_empty() => {
                parts
                    .iter()
                    .for_each(|(key, part)| walk(part, &format!("{path}/{key}"), lines));
            }
            Value::Array(items) if !items.is_empty() => {
                items
                    .iter()
                    .enumerate()
                    .for_each(|(n, part)| walk(part, &format!("{path}/{n}"), lines));
            }
            leaf => lines.push(format!("{path} {}", canonical::text(leaf))),
        }
    }
    let mut lines = Vec::new();
    walk(value, "", &mut lines);
    lines.sort();
    lines
}

#[test]
fn every_remnant_becomes_the_persona_that_is_expected() {
    let Ok(inputs) = fs::read(folder().join("inputs.json")) else {
        println!("skipped: ../shared/data is absent");
        return;
    };
    let inputs: Value = serde_json::from_slice(&inputs).unwrap();

    for input in inputs.as_array().unwrap() {
        let (file, mind) = (
            input["file"].as_str().unwrap(),
            input["instance"].as_str().unwrap(),
        );
        let bytes = fs::read(folder().join(file)).unwrap();
        let expected = fs::read(
            folder()
                .join("expected")
                .join(input["expected"].as_str().unwrap()),
        )
        .unwrap();
        let expected: Value = serde_json::from_slice(&expected).unwrap();

        let (persona, report) = import(&Instance::parse(mind).unwrap(), &bytes, instant()).unwrap();

        assert_eq!(lines(persona.value()), lines(&expected["value"]), "{file}");
        assert_eq!(
            lines(&report.to_value()),
            lines(&expected["report"]),
            "{file}"
        );
    }
}

#[test]
fn an_import_is_followed_by_a_put_that_read_it() {
    let Ok(bytes) = fs::read(folder().join("synthetic.v0-projection.json")) else {
        println!("skipped: ../shared/data is absent");
        return;
    };
    let wren = Instance::parse("wren").unwrap();
    let (imported, _) = import(&wren, &bytes, instant()).unwrap();
    let mut value = imported.value().clone();
    value["updatedAt"] = json!("2026-11-30T02:00:00+01:00");
    let json = value.to_string();
    let next = Put {
        value_json: &json,
        expected_updated_at: Some(imported.updated_at()),
        faculty: "persona",
        agent: "wren",
        session: "s",
        tool: "t",
    };

    let receipt = put(
        &wren,
        Some(&imported),
        &next,
        "2026-11-30T01:00:00Z".parse().unwrap(),
    )
    .unwrap();

    assert!(!receipt.is_identity_changed);
    assert!(
        imported
            .text("/provenance/sourceDocumentId")
            .contains("@sha256:")
    );
}

#[test]
fn what_is_of_no_known_form_is_refused() {
    let mind = Instance::parse("wren").unwrap();
    let wrapped =
        json!({"schemaVersion": WRAPPER, "payload": {"schemaVersion": WRAPPER, "payload": {}}});

    for bytes in [
        "",
        "[]",
        "{}",
        "plain words",
        "a: &x 1\nb: *x\nagent_id: 1\ncanonical_state: {}",
        "agent_id: !secret 1\ncanonical_state: {}",
        "agent_id: !!binary aGk=\ncanonical_state: {}",
        &wrapped.to_string(),
    ] {
        assert_eq!(
            import(&mind, bytes.as_bytes(), instant()).unwrap_err(),
            Error::UnknownFormat,
            "{bytes}"
        );
    }
    assert_eq!(
        import(&mind, b"\xff", instant()).unwrap_err(),
        Error::UnknownFormat
    );
    assert!(matches!(
        import(&mind, &vec![b' '; MOST_BYTES + 1], instant()),
        Err(Error::PersonaTooLarge { .. })
    ));
    let long = json!({"void.self_profile": {"publicName": "x".repeat(300_000)}});
    assert!(matches!(
        import(&mind, long.to_string().as_bytes(), instant()),
        Err(Error::PersonaTooLarge { .. })
    ));
}

#[test]
fn a_persona_is_imported_once_and_asleep() {
    assert_eq!(may_import(Brake::Held, false), Ok(()));
    assert_eq!(may_import(Brake::Held, true), Err(Error::PersonaExists));
    assert_eq!(may_import(Brake::Released, false), Err(Error::BrakeNotHeld));
}

#[test]
fn of_a_long_list_the_newest_thoughts_are_kept() {
    let memories: Vec<Value> = (0..203_u32)
        .map(|n| json!({"memoryId": format!("m{n}"), "summary": "s", "updatedAt": format!("2026-01-01T00:00:00.{n:03}Z")}))
        .collect();
    let source = json!({
        "void.self_profile": {"agentId": "wren", "publicName": "Wren", "activationProfile": {}},
        "void.thought_memory": {"memories": memories},
    });

    let (persona, report) = import(
        &Instance::parse("wren").unwrap(),
        source.to_string().as_bytes(),
        instant(),
    )
    .unwrap();

    let kept = persona.value()["thoughtMemory"]["memories"]
        .as_array()
        .unwrap();
    assert_eq!((kept.len(), &kept[0]["id"]), (200, &json!("m3")));
    assert_eq!(
        report
            .dropped
            .iter()
            .filter(|part| part.reason == "over_limit")
            .count(),
        3
    );
}

use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::Instance;

fn now() -> DateTime<Utc> {
    "2026-11-30T12:00:00Z".parse().unwrap()
}

fn mind() -> Instance {
    Instance::parse("wren").unwrap()
}

fn stored() -> Persona {
    let fresh = Fresh {
        public_name: "Wren",
        public_description: "Counts birds.",
        voice_summary: "Short.",
    };
    born(&mind(), fresh, now()).unwrap()
}

fn wish(json: &str, expected: Option<DateTime<Utc>>) -> Put<'_> {
    Put {
        value_json: json,
        expected_updated_at: expected,
        faculty: "persona",
        agent: "a",
        session: "s",
        tool: "t",
    }
}

/// The stored persona a minute later, changed.
fn next(change: impl FnOnce(&mut Value)) -> String {
    let mut value = stored().value().clone();
    value["updatedAt"] = json!("2026-11-30T12:01:00Z");
    change(&mut value);
    value.to_string()
}

fn refused(json: &str) -> Error {
    put(&mind(), Some(&stored()), &wish(json, Some(now())), now()).unwrap_err()
}

#[test]
fn a_change_of_who_it_is_is_seen_and_other_changes_are_none() {
    let renamed = next(|value| value["publicName"] = json!("Heron"));
    let noted = next(|value| value["privateNotes"] = json!(["n"]));

    let renamed = put(
        &mind(),
        Some(&stored()),
        &wish(&renamed, Some(now())),
        now(),
    )
    .unwrap();
    let noted = put(&mind(), Some(&stored()), &wish(&noted, Some(now())), now()).unwrap();

    assert!(renamed.is_identity_changed && !noted.is_identity_changed);
    assert_eq!(changed(Some(&stored()), &renamed.persona), ["publicName"]);
    assert_eq!(
        Persona::stored(noted.persona.value().clone(), &noted.sha256).unwrap(),
        noted.persona
    );
}

#[test]
fn whoever_read_another_version_is_told_what_is_stored() {
    let json = next(|_| {});
    let at = "2026-11-30T11:59:59Z".parse().unwrap();

    for expected in [None, Some(at)] {
        let refused = put(&mind(), Some(&stored()), &wish(&json, expected), now());
        assert_eq!(refused.unwrap_err(), Error::PersonaStale(Some(now())));
    }
    let first = put(&mind(), None, &wish(&json, Some(now())), now());
    assert_eq!(first.unwrap_err(), Error::PersonaStale(None));
}

#[test]
fn a_persona_is_later_as_an_instant_and_not_far_ahead() {
    let same = next(|value| value["updatedAt"] = json!("2026-11-30T13:00:00+01:00"));
    let ahead = next(|value| value["updatedAt"] = json!("2026-11-30T12:05:00.000001Z"));

    assert_eq!(refused(&same), Error::PersonaNotLater(Some(now())));
    assert_eq!(refused(&ahead), Error::PersonaAhead);
    let before = "2026-11-30T11:00:00Z".parse().unwrap();
    assert!(put(&mind(), Some(&stored()), &wish(&ahead, Some(now())), before).is_ok());
}

#[test]
fn what_is_wrong_is_named_and_not_echoed() {
    let cases = [
        (
            next(|value| value["secret"] = json!(1)),
            "/*",
            Fault::Undeclared,
        ),
        (
            next(|value| value["presentation"]["tone"] = json!(1)),
            "/presentation/*",
            Fault::Undeclared,
        ),
        (
            next(|value| value["presentation"]["defaultRenderer"] = json!("custom")),
            "/presentation/customRenderer",
            Fault::Missing,
        ),
        (
            next(|value| value["presentation"]["defaultRenderer"] = json!("repo_face")),
            "/presentation/defaultRenderer",
            Fault::UnknownWord,
        ),
        (
            next(|value| {
                value["activationProfile"]["voiceStyle"]["dry"] =
                    json!({"mean": 2, "plasticity": 0, "currentActivation": 0})
            }),
            "/activationProfile/voiceStyle/*/mean",
            Fault::NotPart,
        ),
        (
            next(|value| value["values"] = json!([{"id": "a", "label": "b"}])),
            "/values/0/priority",
            Fault::Missing,
        ),
        (
            next(|value| value["updatedAt"] = json!("2026-11-30 12:01:00Z")),
            "/updatedAt",
            Fault::NotInstant,
        ),
        (
            next(|value| value["presentation"]["avatarUri"] = json!("no uri")),
            "/presentation/avatarUri",
            Fault::NotUri,
        ),
        ("{".to_owned(), "", Fault::NotJson),
    ];

    for (json, pointer, why) in cases {
        let pointer = pointer.to_owned();
        assert_eq!(refused(&json), Error::Persona { pointer, why });
    }
}

#[test]
fn private_notes_are_for_the_mind_and_its_operator() {
    let noted = next(|value| value["privateNotes"] = json!(["secret"]));
    let noted = Persona::new(serde_json::from_str(&noted).unwrap()).unwrap();

    assert!(noted.value().get("privateNotes").is_some());
    assert!(!noted.public().to_string().contains("secret"));
}

#[test]
fn foreign_projected_and_oversized_personas_are_refused() {
    let foreign = next(|value| value["personaId"] = json!("heron"));
    let projected = next(|value| value["provenance"]["authority"] = json!("projection"));
    let large = next(|value| value["publicDescription"] = json!("x".repeat(MOST_BYTES)));
    let nobody = next(|_| {});
    let nobody = Put {
        tool: "",
        ..wish(&nobody, Some(now()))
    };

    assert_eq!(refused(&foreign), Error::PersonaForeign);
    assert_eq!(refused(&projected), Error::PersonaNotCanonical);
    assert!(matches!(refused(&large), Error::PersonaTooLarge { .. }));
    assert!(matches!(
        put(&mind(), Some(&stored()), &nobody, now()),
        Err(Error::Text { .. })
    ));
}

#[test]
fn a_stored_persona_that_was_changed_by_hand_cannot_be_read() {
    let mut value = stored().value().clone();
    let sha256 = stored().sha256();
    value["publicName"] = json!("Mallory");

    assert_eq!(
        Persona::stored(value, &sha256),
        Err(Error::PersonaUnreadable)
    );
}

proptest! {
    #[test]
    fn no_text_makes_a_put_or_an_import_panic(text in "\\PC{0,200}", key in "[a-z.]{1,12}") {
        let _ = put(&mind(), None, &wish(&text, None), now());
        let _ = import::import(&mind(), text.as_bytes(), now());
        for seed in [
            json!({"schemaVersion": SCHEMA_VERSION, key.as_str(): text.as_str()}),
            json!({"void.self_profile": {key.as_str(): [text.as_str()]}}),
            json!({"agent_id": text.as_str(), "canonical_state": {key.as_str(): 1}}),
        ] {
            let _ = import::import(&mind(), seed.to_string().as_bytes(), now());
        }
    }

    #[test]
    fn versions_only_grow_later(offsets in prop::collection::vec(-90_i64..90, 0..20)) {
        let mut current = stored();
        for offset in offsets {
            let at = now() + chrono::TimeDelta::seconds(offset);
            let mut value = current.value().clone();
            value["updatedAt"] = json!(at.to_rfc3339());
            let json = value.to_string();
            let read = current.updated_at();
            match put(&mind(), Some(&current), &wish(&json, Some(read)), now()) {
                Ok(receipt) => {
                    prop_assert!(receipt.persona.updated_at() > read);
                    current = receipt.persona;
                }
                Err(error) => prop_assert!(at <= read, "{error}"),
            }
        }
    }
}

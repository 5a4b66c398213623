//! The design's vectors, played over the wire with a clock that stands still: what the rules give alone, the service gives too. Vectors
//! in which hypha has a part are the rules' and the stories'.

mod game;
mod own;
mod views;

use std::fs;
use std::path::Path;

use serde_json::Value;

use game::Game;

/// Steps that only hypha, or a hand between two reads, can bring about.
fn is_for_the_rules_alone(vector: &Value) -> bool {
    vector["steps"].as_array().unwrap().iter().any(|step| {
        let op = step["op"].as_str().unwrap();
        matches!(op, "withdraw" | "late_start")
            || !step["evidence"].is_null()
            || !step["brake_flips"].is_null()
    })
}

/// What `expected` names is so in `actual`.
fn agrees(expected: &Value, actual: &Value) -> bool {
    match expected {
        Value::Object(parts) => parts.iter().all(|(key, part)| agrees(part, &actual[key])),
        other => other == actual,
    }
}

/// What became of a vector: the step at which it went wrong.
async fn play(vector: &Value) -> Option<String> {
    let mut game = Game::start(vector).await;
    for (n, step) in vector["steps"].as_array().unwrap().iter().enumerate() {
        let actual = game.play(step).await;
        if !step["expect"].is_null() && !agrees(&step["expect"], &actual) {
            let name = &vector["name"];
            return Some(format!("{name} step {n}: {step}\n  was {actual}"));
        }
    }
    None
}

#[tokio::test]
async fn the_service_plays_every_vector_as_the_rules_do() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/cases/swarm-vectors.json");
    let Ok(file) = fs::read(path) else {
        println!("skipped: ../shared/cases is absent");
        return;
    };
    let file: Value = serde_json::from_slice(&file).unwrap();
    let vectors = file["vectors"].as_array().unwrap();
    let played: Vec<&Value> = vectors
        .iter()
        .filter(|vector| !is_for_the_rules_alone(vector))
        .collect();

    let mut wrong = Vec::new();
    for vector in &played {
        wrong.extend(play(vector).await);
    }

    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(played.len() >= 25, "{} vectors", played.len());
}

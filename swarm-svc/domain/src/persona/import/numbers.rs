//! Words for numbers, and the numbers of traits and moods.

use serde_json::{Map, Value, json};

use super::context::{Context, parts};

/// The six maps of an activation profile: as they are called today and were called in agent states.
pub(super) const TRAITS: [(&str, &str); 6] = [
    ("underlyingOrganization", "underlying_organization"),
    ("stableDispositions", "stable_dispositions"),
    ("behavioralDimensions", "behavioral_dimensions"),
    ("presentationStrategy", "presentation_strategy"),
    ("voiceStyle", "voice_style"),
    ("situationalState", "situational_state"),
];

fn scale(word: &str) -> Option<f64> {
    Some(match word {
        "very_low" => 0.1,
        "low" => 0.3,
        "medium" => 0.525,
        "high" => 0.75,
        "very_high" => 0.925,
        _ => return None,
    })
}

fn valence_scale(word: &str) -> Option<f64> {
    Some(match word {
        "negative" => -0.8,
        "mixed_negative" => -0.375,
        "neutral" => 0.0,
        "mixed_positive" => 0.375,
        "positive" => 0.8,
        _ => return None,
    })
}

impl Context<'_> {
    /// A number, or a word of the scale; anything else is dropped.
    pub(super) fn number(&mut self, value: Option<Value>, path: &str) -> Option<Value> {
        self.scaled(value?, scale, path)
    }

    pub(super) fn valence(&mut self, value: Option<Value>, path: &str) -> Option<Value> {
        self.scaled(value?, valence_scale, path)
    }

    fn scaled(
        &mut self,
        value: Value,
        scale: fn(&str) -> Option<f64>,
        path: &str,
    ) -> Option<Value> {
        if value.is_number() {
            return Some(value);
        }
        let number = value.as_str().and_then(scale);
        match number {
            Some(_) => self.report.coerce("word_to_number"),
            None => self.report.drop(path, "not_a_number"),
        }
        number.map(Value::from)
    }

    /// The maps of a profile, taken from where `name` says.
    pub(super) fn profile(
        &mut self,
        source: &Value,
        name: impl Fn(&(&'static str, &'static str)) -> &'static str,
        path: &str,
    ) -> Value {
        let mut profile = Map::new();
        for names in &TRAITS {
            let old = name(names);
            let mut traits = Map::new();
            for (key, value) in parts(&source[old]) {
                if let Some(value) = self.vector(value, &format!("{path}/{old}/{key}")) {
                    traits.insert(key.clone(), value);
                }
            }
            self.report.carry("traits", traits.len());
            profile.insert(names.0.to_owned(), Value::Object(traits));
        }
        Value::Object(profile)
    }

    /// A trait: its three numbers, or one number or word for its mean.
    fn vector(&mut self, value: &Value, path: &str) -> Option<Value> {
        let Value::Object(parts) = value else {
            let mean = self.number(Some(value.clone()), path)?;
            self.report.coerce("plasticity_default");
            return Some(json!({"mean": mean, "plasticity": 0.5, "currentActivation": mean}));
        };
        let mut vector = Map::new();
        for (key, part) in parts {
            let name = match key.as_str() {
                "mean" | "plasticity" | "currentActivation" => key,
                "current_activation" => "currentActivation",
                _ => {
                    self.report.drop(format!("{path}/{key}"), "no_field");
                    continue;
                }
            };
            vector.insert(name.to_owned(), self.number(Some(part.clone()), path)?);
        }
        Some(Value::Object(vector))
    }
}

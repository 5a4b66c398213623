//! What an agent is spawned with: its template's learnings as a JSON list, but for those held out of it.

use cambium_genesis::holdout::is_held_out;
use cambium_genesis::{LearningId, Pattern, PatternKind};
use cambium_kernel::{AgentId, Score};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use uuid::Uuid;

use crate::error::Error;
use crate::store::learning::Learning;

/// As it is stored with the agent and told to others.
#[derive(Clone, Debug)]
pub(crate) struct Inheritance {
    /// A JSON list.
    pub(crate) text: String,
    /// SHA-256 of `text`; empty where nobody inherited.
    pub(crate) hash: Vec<u8>,
    pub(crate) ids: Vec<Uuid>,
    pub(crate) held_out: Vec<Uuid>,
}

impl Inheritance {
    /// Of an agent from outside any template.
    pub(crate) fn none() -> Self {
        Self::of(&[], Vec::new(), Vec::new())
    }

    fn of(list: &[Value], ids: Vec<Uuid>, held_out: Vec<Uuid>) -> Self {
        let text = Value::Array(list.to_vec()).to_string();
        Self {
            hash: Sha256::digest(&text).to_vec(),
            text,
            ids,
            held_out,
        }
    }

    /// As others are told: nothing is empty.
    pub(crate) fn to_wire(&self) -> Vec<u8> {
        if self.ids.is_empty() {
            return Vec::new();
        }
        self.text.clone().into_bytes()
    }

    pub(crate) fn hash_to_wire(&self) -> String {
        self.hash.iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

/// What a template knows, for whoever it spawns next.
pub(crate) fn learnings_to_json(learnings: &[Learning]) -> String {
    let list = learnings.iter().map(|learning| {
        let weighed = &learning.weighed;
        json!({
            "learning_id": weighed.id.to_string(),
            "kind": weighed.pattern.kind().as_str(),
            "pattern": weighed.pattern.as_str(),
            "context": weighed.pattern.kind().context(),
            "source_agent_count": weighed.voices,
            "success_correlation": weighed.correlation().as_f64(),
        })
    });
    Value::Array(list.collect()).to_string()
}

/// Divides what a template knows: what this agent is told, and what is held out of it.
pub(crate) fn inherit(agent: AgentId, learnings: &str, share: Score) -> Result<Inheritance, Error> {
    let (mut told, mut ids, mut held_out) = (Vec::new(), Vec::new(), Vec::new());
    for learning in parse(learnings)? {
        let id = id_of(&learning)?;
        if is_held_out(agent, id, share) {
            held_out.push(id.as_uuid());
        } else {
            ids.push(id.as_uuid());
            told.push(learning);
        }
    }
    Ok(Inheritance::of(&told, ids, held_out))
}

/// The patterns that an agent was told.
pub(crate) fn inherited_patterns(text: &str) -> Result<Vec<(LearningId, Pattern)>, Error> {
    let list = parse(text)?;
    let patterns = list.iter().map(|learning| {
        let kind = learning["kind"].as_str().and_then(PatternKind::parse);
        let kind = kind.ok_or_else(|| broken("a kind that is none"))?;
        let pattern = learning["pattern"].as_str().unwrap_or_default();
        Ok((
            id_of(learning)?,
            Pattern::from_stored(kind, pattern.to_owned()),
        ))
    });
    patterns.collect()
}

fn parse(text: &str) -> Result<Vec<Value>, Error> {
    serde_json::from_str(text).map_err(|why| broken(&why.to_string()))
}

fn id_of(learning: &Value) -> Result<LearningId, Error> {
    let id = learning["learning_id"].as_str().unwrap_or_default();
    id.parse().map_err(|_| broken("an id that is none"))
}

fn broken(why: &str) -> Error {
    Error::Broken {
        what: "a list of learnings".to_owned(),
        why: why.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn template() -> (Uuid, String) {
        let id = Uuid::from_u128(7);
        let list = json!([{ "learning_id": id.to_string(), "kind": "failure", "pattern": "late" }]);
        (id, list.to_string())
    }

    #[test]
    fn without_a_hold_out_an_agent_is_told_all_that_is_known() {
        let (id, learnings) = template();

        let all = inherit(AgentId::generate(), &learnings, Score::default()).unwrap();

        assert_eq!(all.text, learnings);
        assert_eq!((all.ids, all.held_out), (vec![id], vec![]));
        assert_eq!(inherited_patterns(&all.text).unwrap()[0].1.as_str(), "late");
    }

    #[test]
    fn what_is_held_out_is_not_told() {
        let (id, learnings) = template();

        let none = inherit(AgentId::generate(), &learnings, Score::ONE).unwrap();

        assert_eq!(none.text, "[]");
        assert_eq!(none.to_wire(), Vec::<u8>::new());
        assert_eq!((none.ids, none.held_out), (vec![], vec![id]));
    }
}

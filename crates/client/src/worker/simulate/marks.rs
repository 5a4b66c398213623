//! Marks that a simulated task leaves or builds upon, as its node's config says. A refusal is told in the output and fails
//! nothing: what is simulated is the work, not whoever keeps the marks.

use cambium_proto::stigmergy::v1::{Marker, SenseMarkersRequest};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tonic::Status;

use crate::{Environment, Mark};

/// What a task does in the environment before it completes: it reads first, then leaves something of its own.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub(super) struct Marks {
    sense: Option<Sense>,
    place: Option<Place>,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
struct Place {
    region: String,
    r#type: String,
    #[serde(default)]
    payload: Option<Value>,
    #[serde(default)]
    intensity: Option<f64>,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
struct Sense {
    /// With all below it.
    region: String,
    #[serde(default)]
    r#type: Option<String>,
    /// What the strongest mark of others is to carry from now on.
    #[serde(default)]
    transform: Option<Value>,
}

/// What came of it, for the output.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(super) struct Marked {
    #[serde(skip_serializing_if = "Option::is_none")]
    sensed: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    transformed: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    placed: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    refused: Option<String>,
}

impl Marks {
    /// Does what is asked, up to the first refusal.
    pub(super) async fn leave(self, agent_id: &str, environment: &Environment) -> Marked {
        let mut marked = Marked::default();
        if let Err(status) = self.try_to(agent_id, environment, &mut marked).await {
            tracing::warn!(said = status.message(), "a mark was refused");
            marked.refused = Some(status.message().to_owned());
        }
        marked
    }

    async fn try_to(
        self,
        agent_id: &str,
        environment: &Environment,
        marked: &mut Marked,
    ) -> Result<(), Status> {
        if let Some(sense) = self.sense {
            let found = environment.sense(sense.request()).await?.markers;
            marked.sensed = Some(found.len());
            let open = found.iter().find(|mark| is_open_to(mark, agent_id));
            if let (Some(mark), Some(payload)) = (open, sense.transform) {
                let payload = payload.to_string().into();
                environment.transform(&mark.marker_id, payload, 0).await?;
                marked.transformed = Some(mark.marker_id.clone());
            }
        }
        if let Some(place) = self.place {
            let placed = environment.place(place.mark()).await?.marker;
            marked.placed = placed.map(|mark| mark.marker_id);
        }
        Ok(())
    }
}

impl Place {
    fn mark(self) -> Mark {
        let payload = self.payload.map(|payload| payload.to_string().into());
        Mark {
            region: self.region,
            kind: self.r#type,
            payload: payload.unwrap_or_default(),
            intensity: self.intensity,
            half_life_s: None,
        }
    }
}

impl Sense {
    fn request(&self) -> SenseMarkersRequest {
        SenseMarkersRequest {
            region: self.region.clone(),
            below: true,
            types: self.r#type.iter().cloned().collect(),
            ..SenseMarkersRequest::default()
        }
    }
}

/// Nobody builds upon a mark of his own, nor twice upon another's.
fn is_open_to(mark: &Marker, agent_id: &str) -> bool {
    mark.placed_by != agent_id && mark.transformed_by.iter().all(|one| one != agent_id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_is_left_as_the_config_has_it() {
        let config =
            r#"{"place": {"region": "r", "type": "knowledge.pattern", "payload": {"n": 1}}}"#;

        let marks: Marks = serde_json::from_str(config).unwrap();

        let mark = marks.place.unwrap().mark();
        assert_eq!(
            (mark.region.as_str(), mark.kind.as_str()),
            ("r", "knowledge.pattern")
        );
        assert_eq!((&*mark.payload, mark.intensity), (&br#"{"n":1}"#[..], None));
    }

    #[test]
    fn one_builds_once_and_only_upon_what_others_left() {
        let mark = |placed_by: &str, transformed_by: &[&str]| Marker {
            placed_by: placed_by.to_owned(),
            transformed_by: transformed_by.iter().map(|&one| one.to_owned()).collect(),
            ..Marker::default()
        };

        assert!(is_open_to(&mark("b", &["c"]), "a"));
        assert!(!is_open_to(&mark("a", &[]), "a"));
        assert!(!is_open_to(&mark("b", &["a"]), "a"));
    }
}

//! Which parts of who a mind is changed from one version to another. All may change; no change is hidden.

use super::Persona;
use crate::canonical;

/// The parts that make an identity.
pub const IDENTITY: [&str; 4] = ["publicName", "publicDescription", "presentation", "values"];

/// Those parts of the identity that differ; of a first version, all that it has.
#[must_use]
pub fn changed(from: Option<&Persona>, to: &Persona) -> Vec<&'static str> {
    let part = |persona: Option<&Persona>, name: &str| {
        let part = persona.and_then(|persona| persona.value.get(name));
        part.map(canonical::text)
    };
    let differs = |name: &&str| part(from, name) != part(Some(to), name);
    IDENTITY.into_iter().filter(differs).collect()
}

//! What minds write down, and what follows from it: who looks after what, when a ruling is looked at again, and whom it wakes.
//! A document never changes; a mind writes in its own record alone.

mod append;
mod read;
mod standing;
mod write;

use cambium_swarm::record::Document;
use serde_json::{Value, json};

use crate::app::Change;

pub(crate) use crate::store::document::Signed;
pub(crate) use standing::{second_mind, ties};
pub(crate) use write::{citable, of_ids, open, shelf, write};

impl Change<'_> {
    /// The caller's name under what is written in this change.
    pub(crate) fn signed(&self) -> Signed {
        let (turn, session) = self.fences();
        Signed {
            author: self.author(),
            turn,
            session,
        }
    }
}

/// The ids of what was written, for the audit.
pub(crate) fn names(written: &[Document]) -> Value {
    let ids = written.iter().map(Document::id);
    json!({"documents": ids.collect::<Vec<_>>()})
}

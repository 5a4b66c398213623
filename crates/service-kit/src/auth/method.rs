//! All that a server needs to know of a method when a call arrives, worked out before the first one does.

use std::sync::Arc;

use crate::principal::Kind;
use crate::server::{Meter, Pace};
use crate::token::Verifier;

#[derive(Debug)]
pub(crate) struct Method {
    pub(crate) path: &'static str,
    pub(crate) pace: Pace,
    pub(crate) meter: Meter,
    pub(super) access: Access,
}

#[derive(Clone, Debug)]
pub(super) enum Access {
    /// Anybody, token or not.
    Open,
    /// Whoever one of these lets in; nobody, if there are none.
    Granted(Vec<Grant>),
}

#[derive(Clone, Debug)]
pub(super) struct Grant {
    pub(super) verifier: Arc<Verifier>,
    pub(super) service: &'static str,
    pub(super) kinds: &'static [Kind],
}

impl Method {
    pub(super) fn new(path: &'static str, access: Access) -> Self {
        let pace = Pace::of(path, matches!(access, Access::Open));
        Self {
            path,
            pace,
            meter: Meter::of(path),
            access,
        }
    }
}

//! Every way a rule of swarm can say no (design: swarm, section 4). Knows no gRPC code.

mod failure;

use std::ops::RangeInclusive;

use chrono::{DateTime, SecondsFormat, Utc};

use crate::authority::Denial;
use crate::mind::Unmet;
use crate::persona::Fault;
use crate::share::Share;
use crate::text::TextError;
use crate::time::UntilError;
use crate::{Instance, Why};

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    #[error("`{field}` {why}")]
    Text { field: String, why: TextError },

    #[error("`{field}` is {given}, outside {least} to {most}")]
    Number {
        field: &'static str,
        given: i64,
        least: i64,
        most: i64,
    },

    #[error("`{field}` {why}")]
    Until {
        field: &'static str,
        why: UntilError,
    },

    #[error("`{field}` is none of the words that it may be")]
    UnknownWord { field: &'static str },

    #[error("a mind cannot lend to itself")]
    LoanToOneself,

    #[error("{lent} ppm of {} are lent already: no more than half may be", share.as_ppm())]
    OverHalfLent { lent: i64, share: Share },

    #[error("mind `{0}` has no share")]
    NoShare(Instance),

    #[error("no such turn was launched")]
    NeverLaunched,

    #[error("the turn or session is over")]
    TurnLost,

    #[error("another body has acknowledged the turn")]
    AlreadyAcknowledged,

    #[error("nothing may be launched: {0}")]
    Closed(Why),

    #[error("the name is in use, or was used before")]
    SlugTaken,

    #[error("the mind is open: only a proposal can be declined")]
    NotProposed,

    #[error("no such mind is open")]
    NoMind,

    #[error("the mind has retired")]
    Retired,

    #[error("the mind has moved to another host")]
    Moved,

    #[error("there are as many open minds as there may be")]
    TooManyMinds,

    #[error("the mind has no target to launch")]
    NoTarget,

    #[error("the mind cannot leave yet: {}", listed(.0))]
    NotReady(Vec<Unmet>),

    #[error("{0}")]
    Denied(Denial),

    #[error("`{field}` {why}")]
    Document { field: String, why: &'static str },

    #[error("document `{0}` exists with other content")]
    DocumentTaken(String),

    #[error("there is no document `{0}`")]
    NoDocument(String),

    #[error("`{0}` is not in force")]
    NotInForce(String),

    #[error("question `{0}` is closed")]
    QuestionClosed(String),

    #[error("the next resolution of `{subject}` is number {next}")]
    Sequence { subject: String, next: u32 },

    #[error("a withdrawal cannot be withdrawn")]
    TooDeep,

    #[error("`{0}` would be in force twice")]
    WouldDouble(String),

    #[error("`{0}` is cited with another kind or digest than it has")]
    CitationMismatch(String),

    #[error("nothing is held that could be handed on")]
    NothingHeld,

    #[error("the offer is over")]
    OfferOver,

    #[error("`{pointer}` {why}")]
    Persona { pointer: String, why: Fault },

    #[error("`personaId` names another mind")]
    PersonaForeign,

    #[error("only a canonical persona is stored")]
    PersonaNotCanonical,

    #[error("the stored persona is of {}", stored(.0))]
    PersonaStale(Option<DateTime<Utc>>),

    #[error("`updatedAt` is not later than the stored {}", stored(.0))]
    PersonaNotLater(Option<DateTime<Utc>>),

    #[error("`updatedAt` is over 5 minutes ahead")]
    PersonaAhead,

    #[error("the persona has {bytes} bytes, over the limit of {most}")]
    PersonaTooLarge { bytes: usize, most: usize },

    #[error("the stored persona cannot be read")]
    PersonaUnreadable,

    #[error("a persona is stored: it is imported once, before the first")]
    PersonaExists,

    #[error("the brake is not held")]
    BrakeNotHeld,

    #[error("line {line} of the bundle {why}")]
    Bundle { line: usize, why: &'static str },

    #[error("the bundle has over {most} bytes")]
    BundleTooLarge { most: usize },

    #[error("the mind is not as it was when that bundle was made: export it again")]
    BundleStale,

    #[error("the bytes are of no form that is known")]
    UnknownFormat,
}

impl Error {
    pub(crate) fn text(field: impl Into<String>, why: TextError) -> Self {
        let field = field.into();
        Self::Text { field, why }
    }

    pub(crate) fn document(field: impl Into<String>, why: &'static str) -> Self {
        let field = field.into();
        Self::Document { field, why }
    }
}

/// Gives a fault of a text the name of its field.
pub(crate) trait Text<T> {
    fn named(self, field: &str) -> Result<T, Error>;
}

impl<T> Text<T> for Result<T, TextError> {
    fn named(self, field: &str) -> Result<T, Error> {
        self.map_err(|why| Error::text(field, why))
    }
}

/// A number within its bounds, else which field is outside which.
pub(crate) fn bounded(
    field: &'static str,
    given: i64,
    bounds: RangeInclusive<i64>,
) -> Result<i64, Error> {
    if bounds.contains(&given) {
        return Ok(given);
    }
    Err(Error::Number {
        field,
        given,
        least: *bounds.start(),
        most: *bounds.end(),
    })
}

fn listed(unmet: &[Unmet]) -> String {
    let texts: Vec<String> = unmet.iter().map(ToString::to_string).collect();
    texts.join(", ")
}

fn stored(at: &Option<DateTime<Utc>>) -> String {
    at.map_or_else(
        || "nobody: none is stored".to_owned(),
        |at| at.to_rfc3339_opts(SecondsFormat::AutoSi, true),
    )
}

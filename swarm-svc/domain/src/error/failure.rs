//! What each refusal tells its caller to do, which it was, and which field was at fault.

use cambium_kernel::{ErrorKind, Failure};

use super::Error;

impl Failure for Error {
    fn kind(&self) -> ErrorKind {
        match self {
            Self::Text { .. }
            | Self::Number { .. }
            | Self::Until { .. }
            | Self::UnknownWord { .. }
            | Self::LoanToOneself
            | Self::Document { .. }
            | Self::Persona { .. }
            | Self::PersonaForeign
            | Self::PersonaNotCanonical
            | Self::PersonaNotLater(_)
            | Self::PersonaAhead
            | Self::Bundle { .. }
            | Self::UnknownFormat => ErrorKind::Invalid,
            Self::Denied(denial) => denial.kind(),
            Self::NoMind | Self::NoDocument(_) => ErrorKind::NotFound,
            Self::SlugTaken | Self::DocumentTaken(_) => ErrorKind::Taken,
            Self::TurnLost | Self::PersonaStale(_) => ErrorKind::Conflict,
            Self::TooManyMinds | Self::PersonaTooLarge { .. } | Self::BundleTooLarge { .. } => {
                ErrorKind::Exhausted
            }
            Self::PersonaUnreadable => ErrorKind::Internal,
            Self::OverHalfLent { .. }
            | Self::NoShare(_)
            | Self::NeverLaunched
            | Self::AlreadyAcknowledged
            | Self::Closed(_)
            | Self::NotProposed
            | Self::Retired
            | Self::Moved
            | Self::NoTarget
            | Self::NotReady(_)
            | Self::NotInForce(_)
            | Self::QuestionClosed(_)
            | Self::Sequence { .. }
            | Self::TooDeep
            | Self::WouldDouble(_)
            | Self::CitationMismatch(_)
            | Self::NothingHeld
            | Self::OfferOver
            | Self::PersonaExists
            | Self::BrakeNotHeld
            | Self::BundleStale => ErrorKind::Refused,
        }
    }

    fn reason(&self) -> &'static str {
        match self {
            Self::Text { .. } => "TEXT_INVALID",
            Self::Number { .. } => "NUMBER_OUT_OF_BOUNDS",
            Self::Until { .. } => "UNTIL_INVALID",
            Self::UnknownWord { .. } => "WORD_UNKNOWN",
            Self::LoanToOneself => "LOAN_TO_ONESELF",
            Self::OverHalfLent { .. } => "OVER_HALF_LENT",
            Self::NoShare(_) => "NO_SHARE",
            Self::NeverLaunched => "NEVER_LAUNCHED",
            Self::TurnLost => "TURN_LOST",
            Self::AlreadyAcknowledged => "ALREADY_ACKED",
            Self::Closed(why) => why.as_str(),
            Self::SlugTaken => "SLUG_TAKEN",
            Self::NotProposed => "NOT_PROPOSED",
            Self::NoMind => "MIND_UNKNOWN",
            Self::Retired => "MIND_RETIRED",
            Self::Moved => "MIND_MOVED",
            Self::TooManyMinds => "MINDS_TOO_MANY",
            Self::NoTarget => "NO_TARGET",
            Self::NotReady(_) => "NOT_READY",
            Self::Denied(denial) => denial.reason(),
            Self::Document { .. } => "DOCUMENT_INVALID",
            Self::DocumentTaken(_) => "DOCUMENT_TAKEN",
            Self::NoDocument(_) => "DOCUMENT_UNKNOWN",
            Self::NotInForce(_) => "NOT_IN_FORCE",
            Self::QuestionClosed(_) => "QUESTION_CLOSED",
            Self::Sequence { .. } => "SEQUENCE_NOT_NEXT",
            Self::TooDeep => "RESOLUTION_TOO_DEEP",
            Self::WouldDouble(_) => "IN_FORCE_TWICE",
            Self::CitationMismatch(_) => "CITATION_MISMATCH",
            Self::NothingHeld => "NOTHING_HELD",
            Self::OfferOver => "OFFER_OVER",
            Self::Persona { .. } => "PERSONA_INVALID",
            Self::PersonaForeign => "PERSONA_FOREIGN",
            Self::PersonaNotCanonical => "PERSONA_NOT_CANONICAL",
            Self::PersonaStale(_) => "PERSONA_STALE",
            Self::PersonaNotLater(_) => "PERSONA_NOT_LATER",
            Self::PersonaAhead => "PERSONA_AHEAD",
            Self::PersonaTooLarge { .. } => "PERSONA_TOO_LARGE",
            Self::PersonaUnreadable => "PERSONA_UNREADABLE",
            Self::PersonaExists => "PERSONA_EXISTS",
            Self::BrakeNotHeld => "BRAKE_NOT_HELD",
            Self::Bundle { .. } => "BUNDLE_INVALID",
            Self::BundleTooLarge { .. } => "BUNDLE_TOO_LARGE",
            Self::BundleStale => "BUNDLE_STALE",
            Self::UnknownFormat => "UNKNOWN_FORMAT",
        }
    }

    fn field(&self) -> Option<String> {
        match self {
            Self::Text { field, .. } | Self::Document { field, .. } => Some(field.clone()),
            Self::Number { field, .. }
            | Self::Until { field, .. }
            | Self::UnknownWord { field } => Some((*field).to_owned()),
            Self::LoanToOneself => Some("borrower".to_owned()),
            Self::Persona { pointer, .. } => Some(format!("value_json{pointer}")),
            Self::PersonaForeign => Some("value_json/personaId".to_owned()),
            Self::PersonaNotCanonical => Some("value_json/provenance/authority".to_owned()),
            Self::PersonaNotLater(_) | Self::PersonaAhead => {
                Some("value_json/updatedAt".to_owned())
            }
            Self::Bundle { .. } | Self::BundleTooLarge { .. } => Some("bundle".to_owned()),
            Self::BundleStale => Some("bundle_sha256".to_owned()),
            Self::UnknownFormat => Some("bytes".to_owned()),
            Self::OverHalfLent { .. }
            | Self::NoShare(_)
            | Self::NeverLaunched
            | Self::TurnLost
            | Self::AlreadyAcknowledged
            | Self::Closed(_)
            | Self::SlugTaken
            | Self::NotProposed
            | Self::NoMind
            | Self::Retired
            | Self::Moved
            | Self::TooManyMinds
            | Self::NoTarget
            | Self::NotReady(_)
            | Self::Denied(_)
            | Self::DocumentTaken(_)
            | Self::NoDocument(_)
            | Self::NotInForce(_)
            | Self::QuestionClosed(_)
            | Self::Sequence { .. }
            | Self::TooDeep
            | Self::WouldDouble(_)
            | Self::CitationMismatch(_)
            | Self::NothingHeld
            | Self::OfferOver
            | Self::PersonaStale(_)
            | Self::PersonaTooLarge { .. }
            | Self::PersonaUnreadable
            | Self::PersonaExists
            | Self::BrakeNotHeld => None,
        }
    }
}

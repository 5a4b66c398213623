//! Every way swarm can say no, and how that leaves: each wraps or names one failure, and hands on its kind and reason.

use std::time::Duration;

use cambium_kernel::{ErrorKind, Failure};
use cambium_service_kit::{call, database, page, receipt, status, token, watchers};
use cambium_swarm::mind::Unmet;
use cambium_swarm::{LoanId, SessionId, TurnId, WorkId};
use tonic::{Code, Status};
use tonic_types::{PreconditionViolation, StatusExt as _};

#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error(transparent)]
    Rule(#[from] cambium_swarm::Error),

    #[error(transparent)]
    Call(#[from] call::Error),

    #[error(transparent)]
    Receipt(#[from] receipt::Error),

    #[error(transparent)]
    Page(#[from] page::Error),

    #[error("a token for the mind could not be signed")]
    Token(#[from] token::TokenError),

    #[error("`{field}` {why}")]
    Field { field: String, why: String },

    #[error("there is no turn {0}")]
    NoTurn(TurnId),

    #[error("there is no version {0} of the persona")]
    NoVersion(i32),

    #[error("there is no loan {0}")]
    NoLoan(LoanId),

    #[error("there is no session {0}")]
    NoSession(SessionId),

    #[error("there is no work {0}")]
    NoWork(WorkId),

    #[error("a session with this mind is open already")]
    SessionOpen,

    #[error("another scheduler was faster: ask again")]
    Raced,

    #[error("runs that the turn started have not ended yet")]
    RunsNotEnded,

    #[error("hypha does not answer: try again later")]
    HyphaAway,

    #[error("the place {asked} is no longer kept: the lowest is {lowest}")]
    TooOld { asked: i64, lowest: i64 },

    #[error(transparent)]
    Watchers(#[from] watchers::TooMany),

    #[error("the reader was too slow: watch again")]
    SlowWatcher,

    #[error("the service is stopping: ask another replica")]
    Stopping,

    #[error("{what} is stored with what may not be: {why}")]
    Broken { what: String, why: String },

    #[error(transparent)]
    Database(#[from] database::Error),
}

impl Error {
    pub(crate) fn field(field: impl Into<String>, why: impl Into<String>) -> Self {
        Self::Field {
            field: field.into(),
            why: why.into(),
        }
    }

    pub(crate) fn broken(what: impl Into<String>, why: impl ToString) -> Self {
        Self::Broken {
            what: what.into(),
            why: why.to_string(),
        }
    }

    /// The failure inside, where there is one of its own.
    fn inner(&self) -> Option<&(dyn Failure + 'static)> {
        match self {
            Self::Rule(inner) => Some(inner),
            Self::Call(inner) => Some(inner),
            Self::Receipt(inner) => Some(inner),
            Self::Page(inner) => Some(inner),
            Self::Watchers(inner) => Some(inner),
            Self::Database(inner) => Some(inner),
            Self::Token(_)
            | Self::Field { .. }
            | Self::NoTurn(_)
            | Self::NoVersion(_)
            | Self::NoLoan(_)
            | Self::NoSession(_)
            | Self::NoWork(_)
            | Self::SessionOpen
            | Self::Raced
            | Self::RunsNotEnded
            | Self::HyphaAway
            | Self::TooOld { .. }
            | Self::SlowWatcher
            | Self::Stopping
            | Self::Broken { .. } => None,
        }
    }

    /// What the caller should do, and the name of the failure, where it is ours.
    const fn own(&self) -> (ErrorKind, &'static str) {
        match self {
            Self::Field { .. } => (ErrorKind::Invalid, "FIELD_INVALID"),
            Self::NoTurn(_) => (ErrorKind::NotFound, "TURN_UNKNOWN"),
            Self::NoVersion(_) => (ErrorKind::NotFound, "VERSION_UNKNOWN"),
            Self::NoLoan(_) => (ErrorKind::NotFound, "LOAN_UNKNOWN"),
            Self::NoSession(_) => (ErrorKind::NotFound, "SESSION_UNKNOWN"),
            Self::NoWork(_) => (ErrorKind::NotFound, "WORK_UNKNOWN"),
            Self::SessionOpen => (ErrorKind::Refused, "SESSION_OPEN"),
            Self::Raced => (ErrorKind::Conflict, "RACED"),
            Self::RunsNotEnded => (ErrorKind::Unavailable, "RUNS_NOT_ENDED"),
            Self::HyphaAway => (ErrorKind::Unavailable, "HYPHA_UNREACHABLE"),
            Self::TooOld { .. } => (ErrorKind::Stale, "CURSOR_TOO_OLD"),
            Self::SlowWatcher => (ErrorKind::Exhausted, "WATCHER_TOO_SLOW"),
            Self::Stopping => (ErrorKind::Unavailable, "STOPPING"),
            Self::Token(_) => (ErrorKind::Internal, "TOKEN_NOT_SIGNED"),
            Self::Broken { .. } => (ErrorKind::Internal, "ROW_BROKEN"),
            Self::Rule(_)
            | Self::Call(_)
            | Self::Receipt(_)
            | Self::Page(_)
            | Self::Watchers(_)
            | Self::Database(_) => (ErrorKind::Internal, "INTERNAL"),
        }
    }
}

impl Failure for Error {
    fn kind(&self) -> ErrorKind {
        self.inner().map_or_else(|| self.own().0, Failure::kind)
    }

    fn reason(&self) -> &'static str {
        self.inner().map_or_else(|| self.own().1, Failure::reason)
    }

    fn field(&self) -> Option<String> {
        match self {
            Self::Field { field, .. } => Some(field.clone()),
            Self::TooOld { .. } => Some("after_seq".to_owned()),
            _ => self.inner().and_then(Failure::field),
        }
    }

    fn wait(&self) -> Option<Duration> {
        match self {
            Self::RunsNotEnded | Self::HyphaAway => Some(Duration::from_secs(1)),
            _ => self.inner().and_then(Failure::wait),
        }
    }
}

impl From<sqlx::Error> for Error {
    fn from(error: sqlx::Error) -> Self {
        database::Error::from(error).into()
    }
}

impl From<Error> for Status {
    fn from(error: Error) -> Self {
        match error {
            Error::Rule(cambium_swarm::Error::NotReady(unmet)) => not_ready(unmet),
            Error::Rule(cambium_swarm::Error::PersonaUnreadable) => unreadable(error),
            error => status::of(error),
        }
    }
}

/// All that keeps a mind, each on its own.
fn not_ready(unmet: Vec<Unmet>) -> Status {
    let violations = unmet.iter().map(|one| {
        let (kind, subject) = (format!("{one:?}"), "mind");
        PreconditionViolation::new(kind, subject, one.to_string())
    });
    let violations: Vec<_> = violations.collect();
    let status = status::of(Error::from(cambium_swarm::Error::NotReady(unmet)));
    let mut details = status.get_error_details();
    details.set_precondition_failure(violations);
    Status::with_error_details(status.code(), status.message(), details)
}

/// The one fault of ours that its reader is told: what is stored is lost.
fn unreadable(error: Error) -> Status {
    let message = error.to_string();
    let details = status::of(error).get_error_details();
    Status::with_error_details(Code::DataLoss, message, details)
}

//! How a failure is told: one sentence, what to do next, and an exit code; with `--json`, also as a document.

use std::path::PathBuf;

use cambium_client::{refusal, worker};
use cambium_kernel::{ErrorKind, Failure as _};
use serde::Serialize;
use tonic::{Code, Status};

use crate::context::{emit, hint};
use crate::exit::Exit;

/// What the command itself refuses.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Refusal {
    #[error("{0}")]
    Usage(String),
    #[error("{} cannot be read: {problem}", path.display())]
    File { path: PathBuf, problem: String },
    #[error("no `cambium up` runs in {}", folder.display())]
    NotRunning { folder: PathBuf },
    #[error("there is no token to show to {url}")]
    NoCredentials { url: String },
    /// What is not there, and the command that lists what is.
    #[error("{0}")]
    Unknown(String, &'static str),
    #[error("only who holds the operator's key may act as an agent or sign tokens")]
    NoKey,
    #[error("this is a mind's own to do, and here no mind is spoken for")]
    NoMind,
}

/// A failure as people and programs hear it.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Told {
    code: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    reason: String,
    pub(crate) message: String,
    pub(crate) details: Vec<String>,
    #[serde(skip)]
    next: Option<String>,
    #[serde(skip)]
    pub(crate) exit: Exit,
}

/// Tells a failure and says how to exit.
pub(crate) fn report(error: &anyhow::Error, json: bool) -> Exit {
    let told = tell(error);
    if json {
        emit(&serde_json::json!({ "error": &told }).to_string());
    }
    hint(&format!("error: {}", told.message));
    if let Some(next) = &told.next {
        hint(&format!("next: {next}"));
    }
    told.exit
}

/// Finds the failure that decides: a status, a refused file, or our own refusal; else the whole chain is the message.
pub(crate) fn tell(error: &anyhow::Error) -> Told {
    for cause in error.chain() {
        if let Some(status) = status_of(cause) {
            return of_status(status);
        }
        if let Some(refused) = cause.downcast_ref::<cambium_formats::Error>() {
            return of_file(refused);
        }
        if let Some(refusal) = cause.downcast_ref::<Refusal>() {
            return of_refusal(refusal);
        }
        if let Some(local) = cause.downcast_ref::<cambium_client::Error>() {
            return of_client(local);
        }
    }
    Told {
        code: "FAILED".to_owned(),
        reason: String::new(),
        message: chain(error),
        details: Vec::new(),
        next: None,
        exit: Exit::Failed,
    }
}

fn status_of<'a>(cause: &'a (dyn std::error::Error + 'static)) -> Option<&'a Status> {
    if let Some(status) = cause.downcast_ref::<Status>() {
        return Some(status);
    }
    if let Some(error) = cause.downcast_ref::<worker::Error>() {
        return Some(error.status());
    }
    match cause.downcast_ref::<cambium_client::Error>() {
        Some(cambium_client::Error::Status(status)) => Some(status),
        _ => None,
    }
}

fn of_status(status: &Status) -> Told {
    let reason = refusal::reason(status);
    let is_away = refusal::is_transport(status) && reason.is_empty();
    let (exit, code) = if is_away {
        (Exit::Unreachable, Code::Unavailable)
    } else {
        (exit_of(status.code()), status.code())
    };
    let message = if is_away {
        format!("the service cannot be reached: {}", cause_of(status))
    } else {
        said(status)
    };
    Told {
        code: name(code),
        details: details(status),
        next: next_of(status, code, &reason),
        reason,
        message,
        exit,
    }
}

/// What the service says; a refusal without words is told by its code.
fn said(status: &Status) -> String {
    if status.message().is_empty() {
        return format!("the service answered {}", name(status.code()));
    }
    status.message().to_owned()
}

fn of_file(refused: &cambium_formats::Error) -> Told {
    Told {
        code: name(Code::InvalidArgument),
        reason: refused.reason().to_owned(),
        message: refused.to_string(),
        details: refused.details(),
        next: Some("correct the file and try again; `cambium graph validate FILE` checks it without storing it".to_owned()),
        exit: Exit::Usage,
    }
}

fn of_client(error: &cambium_client::Error) -> Told {
    let (code, exit) = match error.kind() {
        ErrorKind::Invalid => (Code::InvalidArgument, Exit::Usage),
        _ => (Code::Unauthenticated, Exit::Refused),
    };
    Told {
        code: name(code),
        reason: error.reason().to_owned(),
        message: error.to_string(),
        details: Vec::new(),
        next: None,
        exit,
    }
}

fn of_refusal(refusal: &Refusal) -> Told {
    let (code, exit, next) = match refusal {
        Refusal::Usage(_) => (Code::InvalidArgument, Exit::Usage, "see --help"),
        Refusal::File { .. } => (Code::InvalidArgument, Exit::Usage, "check the path"),
        Refusal::NotRunning { .. } => (
            Code::Unavailable,
            Exit::Unreachable,
            "start it with `cambium up --data DIR`, or leave --data out",
        ),
        Refusal::NoCredentials { .. } => (
            Code::Unauthenticated,
            Exit::Refused,
            "name the data folder of `cambium up` with --data, or a file that holds a token with --token-file",
        ),
        Refusal::Unknown(_, list) => {
            return Told {
                code: name(Code::NotFound),
                reason: String::new(),
                message: refusal.to_string(),
                details: Vec::new(),
                next: Some(format!("see what there is with `{list}`")),
                exit: Exit::Failed,
            };
        }
        Refusal::NoKey => (
            Code::PermissionDenied,
            Exit::Refused,
            "do it on the machine of `cambium up`, or name its data folder with --data",
        ),
        Refusal::NoMind => (
            Code::PermissionDenied,
            Exit::Refused,
            "do it inside `cambium mind operate NAME`",
        ),
    };
    Told {
        code: name(code),
        reason: String::new(),
        message: refusal.to_string(),
        details: Vec::new(),
        next: Some(next.to_owned()),
        exit,
    }
}

const fn exit_of(code: Code) -> Exit {
    match code {
        Code::Ok => Exit::Done,
        Code::InvalidArgument | Code::Unimplemented => Exit::Usage,
        Code::Unavailable | Code::DeadlineExceeded => Exit::Unreachable,
        Code::Unauthenticated
        | Code::PermissionDenied
        | Code::ResourceExhausted
        | Code::FailedPrecondition => Exit::Refused,
        Code::NotFound
        | Code::AlreadyExists
        | Code::Aborted
        | Code::OutOfRange
        | Code::Internal
        | Code::Unknown
        | Code::DataLoss
        | Code::Cancelled => Exit::Failed,
    }
}

/// What helps against a refusal of swarm's, whatever its code.
fn next_of_mind(reason: &str) -> Option<&'static str> {
    Some(match reason {
        "TURN_LOST" => {
            "the mind's turn or session is over: open another with `cambium mind operate NAME`"
        }
        "STEP_UP" => "log in again: show a token that is less than five minutes old",
        "MIND_UNKNOWN" => "see which minds there are with `cambium minds`",
        "DOCUMENT_UNKNOWN" => "see which there are with `cambium record list`",
        "WORK_UNKNOWN" => "see what there is with `cambium work list`",
        "LOAN_UNKNOWN" => "see which there are with `cambium loans`",
        "TURN_UNKNOWN" => "see which there were with `cambium turns`",
        "VERSION_UNKNOWN" => "see which there are with `cambium persona versions NAME`",
        "DOCUMENT_TAKEN" => "write under another label, or tell it from the first with --number",
        "NO_TARGET" => "say what carries its turns: `cambium mind target NAME --target graph:G`",
        "NOT_READY" => "settle what is named above, then try again",
        "SLUG_TAKEN" => "choose another name: a mind's name is its own for ever",
        "NO_SHARE" => "give it one: `cambium mind share NAME 1`",
        "PERSONA_STALE" => "read it again with `cambium persona show`, and write upon that",
        "CITATION_MISMATCH" => "read the document again with `cambium record show ID`",
        _ => return None,
    })
}

fn next_of(status: &Status, code: Code, reason: &str) -> Option<String> {
    if let Some(next) = next_of_mind(reason) {
        return Some(next.to_owned());
    }
    let next = match code {
        Code::Unavailable | Code::DeadlineExceeded => {
            "check that it runs (`cambium up` starts one here), or name another with --server"
        }
        Code::Unauthenticated => {
            "show a fresh token: run on the machine of `cambium up`, or name a file with --token-file"
        }
        Code::PermissionDenied => "ask somebody who may, or leave out --as to act as yourself",
        Code::NotFound => {
            "check the name and --workspace; `cambium runs`, `agents` and `graph list` show what there is"
        }
        Code::AlreadyExists => "choose another name or key",
        Code::Aborted => "try again: another writer was faster",
        Code::ResourceExhausted => {
            return refusal::wait(status)
                .map(|wait| format!("try again in {} s", wait.as_secs().max(1)));
        }
        Code::OutOfRange => {
            "start again from the beginning: the place to resume from is no longer kept"
        }
        Code::FailedPrecondition if reason == "RUN_ENDED" => "start a new run",
        Code::FailedPrecondition if reason == "RUN_NOT_ENDED" => {
            "wait for its end with `cambium watch`, or end it with `cambium cancel`"
        }
        Code::InvalidArgument => "correct what is named above; --help shows an example",
        Code::Unimplemented => "list what there is with `cambium call`",
        Code::Internal => "report it: the service has logged the cause",
        _ => return None,
    };
    Some(next.to_owned())
}

/// The fields at fault, each with what is wrong with it.
fn details(status: &Status) -> Vec<String> {
    let say = |(field, what): (String, String)| match (field.is_empty(), what.is_empty()) {
        (true, _) => what,
        (false, true) => field,
        (false, false) => format!("{field}: {what}"),
    };
    refusal::fields(status).into_iter().map(say).collect()
}

/// The innermost cause, which says more than the layers around it.
fn cause_of(status: &Status) -> String {
    let mut cause = std::error::Error::source(status);
    let mut text = status.message().to_owned();
    while let Some(inner) = cause {
        text = inner.to_string();
        cause = inner.source();
    }
    text
}

fn chain(error: &anyhow::Error) -> String {
    let mut parts: Vec<String> = Vec::new();
    for cause in error.chain() {
        let text = cause.to_string();
        if parts.last().is_none_or(|last| !last.ends_with(&text)) {
            parts.push(text);
        }
    }
    parts.join(": ")
}

/// The code as the wire's specification writes it.
fn name(code: Code) -> String {
    let camel = format!("{code:?}");
    let mut snake = String::new();
    for (at, c) in camel.char_indices() {
        if at > 0 && c.is_ascii_uppercase() {
            snake.push('_');
        }
        snake.push(c.to_ascii_uppercase());
    }
    snake
}

#[cfg(test)]
mod tests {
    use tonic_types::{ErrorDetails, StatusExt as _};

    use super::*;

    fn told(error: impl Into<anyhow::Error>) -> Told {
        tell(&error.into().context("while doing something"))
    }

    #[test]
    fn exit_codes_follow_what_the_caller_should_do() {
        let exit = |code| told(Status::new(code, "no")).exit;

        assert_eq!(exit(Code::InvalidArgument), Exit::Usage);
        assert_eq!(exit(Code::Unavailable), Exit::Unreachable);
        assert_eq!(exit(Code::PermissionDenied), Exit::Refused);
        assert_eq!(exit(Code::ResourceExhausted), Exit::Refused);
        assert_eq!(exit(Code::NotFound), Exit::Failed);
    }

    #[test]
    fn a_refused_file_names_its_offenders() {
        let refused =
            cambium_formats::Error::UnknownReferences(vec!["a".to_owned(), "b".to_owned()]);

        let told = told(refused);

        assert_eq!(
            (told.exit, told.details),
            (Exit::Usage, vec!["a".to_owned(), "b".to_owned()])
        );
        assert_eq!(told.code, "INVALID_ARGUMENT");
    }

    #[test]
    fn a_status_brings_its_reason_and_fields() {
        let mut details = ErrorDetails::with_error_info(
            "NODE_UNKNOWN",
            "cambium",
            std::collections::HashMap::new(),
        );
        details.add_bad_request_violation("graph.edges[3].to", "no node `x`");
        let status =
            Status::with_error_details(Code::InvalidArgument, "an edge names no node", details);

        let document = serde_json::to_value(told(status)).unwrap();

        assert_eq!(
            document,
            serde_json::json!({
                "code": "INVALID_ARGUMENT",
                "reason": "NODE_UNKNOWN",
                "message": "an edge names no node",
                "details": ["graph.edges[3].to: no node `x`"],
            })
        );
    }

    #[test]
    fn a_refusal_without_words_is_told_by_its_code() {
        let status = Status::new(Code::Unimplemented, "");

        assert_eq!(told(status).message, "the service answered UNIMPLEMENTED");
    }

    #[test]
    fn anything_else_is_told_from_the_outside_in() {
        let error = std::io::Error::other("disk full");

        assert_eq!(told(error).message, "while doing something: disk full");
    }
}

use std::time::Duration;

use proptest::prelude::*;

use super::*;

#[derive(Debug, thiserror::Error)]
#[error("{message}")]
struct Example {
    kind: ErrorKind,
    message: String,
    field: Option<String>,
    wait: Option<Duration>,
}

impl Failure for Example {
    fn kind(&self) -> ErrorKind {
        self.kind
    }

    fn reason(&self) -> &'static str {
        "EXAMPLE"
    }

    fn field(&self) -> Option<String> {
        self.field.clone()
    }

    fn wait(&self) -> Option<Duration> {
        self.wait
    }
}

fn example(kind: ErrorKind) -> Example {
    Example {
        kind,
        message: "secret table `x`".to_owned(),
        field: None,
        wait: None,
    }
}

const TABLE: [(ErrorKind, Code); 11] = [
    (ErrorKind::Invalid, Code::InvalidArgument),
    (ErrorKind::Unauthenticated, Code::Unauthenticated),
    (ErrorKind::Denied, Code::PermissionDenied),
    (ErrorKind::NotFound, Code::NotFound),
    (ErrorKind::Taken, Code::AlreadyExists),
    (ErrorKind::Conflict, Code::Aborted),
    (ErrorKind::Refused, Code::FailedPrecondition),
    (ErrorKind::Exhausted, Code::ResourceExhausted),
    (ErrorKind::Stale, Code::OutOfRange),
    (ErrorKind::Unavailable, Code::Unavailable),
    (ErrorKind::Internal, Code::Internal),
];

#[test]
fn every_kind_has_its_own_code_and_every_status_its_reason() {
    for (kind, code) in TABLE {
        let status = of(example(kind));

        let info = status.get_details_error_info().unwrap();
        assert_eq!(status.code(), code);
        assert_eq!(
            (info.reason.as_str(), info.domain.as_str()),
            ("EXAMPLE", "cambium")
        );
    }
}

#[test]
fn only_our_own_faults_hide_their_message() {
    for (kind, _) in TABLE {
        let ours = matches!(kind, ErrorKind::Internal | ErrorKind::Unavailable);

        let status = of(example(kind));

        assert_eq!(
            status.message(),
            if ours { OUR_FAULT } else { "secret table `x`" }
        );
    }
}

#[test]
fn a_failure_that_knows_its_field_names_it() {
    let failure = Example {
        field: Some("nodes[3].key".to_owned()),
        ..example(ErrorKind::Invalid)
    };

    let request = of(failure).get_details_bad_request().unwrap();

    assert_eq!(request.field_violations.len(), 1);
    assert_eq!(request.field_violations[0].field, "nodes[3].key");
    assert_eq!(request.field_violations[0].description, "secret table `x`");
}

#[test]
fn a_failure_that_knows_its_wait_says_it() {
    let wait = Some(Duration::from_millis(250));
    let failure = Example {
        wait,
        ..example(ErrorKind::Exhausted)
    };

    let retry = of(failure).get_details_retry_info().unwrap();

    assert_eq!(retry.retry_delay, wait);
    assert!(
        of(example(ErrorKind::Exhausted))
            .get_details_retry_info()
            .is_none()
    );
}

proptest! {
    #[test]
    fn any_message_leaves_as_it_was_or_cut_to_fit(message in "\\PC{0,3000}") {
        let status = of(Example { message: message.clone(), ..example(ErrorKind::Invalid) });

        let kept = status.message().trim_end_matches('…');
        prop_assert!(message.starts_with(kept));
        prop_assert!(status.message().len() <= MESSAGE_LIMIT + '…'.len_utf8());
        prop_assert!(message.len() > MESSAGE_LIMIT || status.message() == message);
    }
}

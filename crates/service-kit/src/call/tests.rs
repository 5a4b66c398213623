use cambium_proto::signal::v1::{DeliverRequest, Signal};
use chrono::DateTime;
use proptest::prelude::*;

use super::*;
use crate::principal::Kind;

fn ada() -> Principal {
    Principal {
        kind: Kind::Operator,
        name: "ada".to_owned(),
        workspaces: vec!["north".to_owned()],
        agents: Vec::new(),
        capabilities: Vec::new(),
        act: None,
        lease: None,
        fence: None,
        expires_at: DateTime::UNIX_EPOCH,
        issued_at: DateTime::UNIX_EPOCH,
    }
}

fn request(signal_id: &str) -> Request<DeliverRequest> {
    let signals = vec![Signal {
        signal_id: signal_id.to_owned(),
        ..Signal::default()
    }];
    let mut request = Request::new(DeliverRequest { signals });
    let principal = Arc::new(ada());
    request.extensions_mut().insert(Caller {
        principal,
        method: "/cambium.test/Do",
    });
    request
}

const ID: &str = "018f4c1e-7d3a-7000-8000-000000000001";

#[test]
fn a_call_says_who_calls_what_under_which_id() {
    let call = Call::of(&request("a"), ID).unwrap();

    assert_eq!(*call.principal, ada());
    assert_eq!(call.request_id, Uuid::try_parse(ID).unwrap());
    assert_eq!(call.method, "/cambium.test/Do");
}

#[test]
fn a_request_id_that_is_missing_or_no_uuid_is_refused_by_name() {
    let missing = Call::of(&request("a"), "").unwrap_err();
    let nil = Call::of(&request("a"), "00000000-0000-0000-0000-000000000000").unwrap_err();
    let text = Call::of(&request("a"), "once").unwrap_err();

    assert_eq!(missing, Error::RequestIdMissing);
    assert_eq!(
        (&nil, &text),
        (&Error::RequestIdMalformed, &Error::RequestIdMalformed)
    );
    assert_eq!(text.field().unwrap(), "request_id");
}

#[test]
fn a_request_that_bypassed_authentication_is_our_own_fault() {
    let error = Call::of(&Request::new(DeliverRequest::default()), ID).unwrap_err();

    assert_eq!(error.kind(), ErrorKind::Internal);
}

#[test]
fn a_workspace_the_caller_may_not_enter_looks_unknown() {
    let open = workspace(&ada(), "north", "workspace_id").unwrap();
    let closed = workspace(&ada(), "south", "workspace_id").unwrap_err();
    let empty = workspace(&ada(), "", "workspace_id").unwrap_err();

    assert_eq!(open.as_str(), "north");
    assert_eq!(
        (closed.kind(), closed.reason()),
        (ErrorKind::NotFound, "WORKSPACE_UNKNOWN")
    );
    assert_eq!(
        (empty.kind(), empty.field().unwrap().as_str()),
        (ErrorKind::Invalid, "workspace_id")
    );
    assert_eq!(empty.to_string(), "`workspace_id` is empty");
}

proptest! {
    #[test]
    fn bodies_hash_alike_exactly_when_they_are_alike(a in ".{0,8}", b in ".{0,8}") {
        let first = Call::of(&request(&a), ID).unwrap();
        let second = Call::of(&request(&b), ID).unwrap();

        prop_assert_eq!(first.body_hash == second.body_hash, a == b);
    }
}

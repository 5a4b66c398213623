//! The layer without a port: what time and streams do to a call.

use std::convert::Infallible;
use std::future::{pending, ready};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use cambium_kernel::ManualClock;
use http::{Request, Response};
use http_body::Frame;
use tonic::body::Body;
use tonic::{Code, Status};
use tonic_types::StatusExt;
use tower::{Layer, Service, service_fn};

use crate::auth::{Auth, Rule};
use crate::principal::Kind;
use crate::server::Layers;
use crate::server::admission::Limits;
use crate::token::tests::{key, noon, verifier, wish};
use crate::token::{Issuer, SigningKey};

const SHORT: &str = "/cambium.hypha.v1.RunService/StartRun";
const POLL: &str = "/cambium.hypha.v1.WorkerService/Poll";
const WATCH: &str = "/cambium.hypha.v1.RunService/WatchRun";

static RULES: [Rule; 3] = [
    Rule {
        method: SHORT,
        kinds: &[Kind::Operator],
    },
    Rule {
        method: POLL,
        kinds: &[Kind::Operator],
    },
    Rule {
        method: WATCH,
        kinds: &[Kind::Operator],
    },
];

fn house(limits: Limits) -> (SigningKey, Layers) {
    let operator = key(Issuer::Operator);
    let verifier = verifier(&[&operator], "hypha", &ManualClock::at(noon()));
    (
        operator,
        Layers::new(Auth::new(verifier, "hypha", &RULES), limits),
    )
}

fn request(key: &SigningKey, path: &str) -> Request<Body> {
    let token = key.mint(noon(), wish(Kind::Operator)).unwrap();
    let request = Request::post(path).header("authorization", format!("Bearer {token}"));
    request.body(Body::empty()).unwrap()
}

fn status(response: &Response<Body>) -> Option<Status> {
    Status::from_header_map(response.headers())
}

async fn hang(_: Request<Body>) -> Result<Response<Body>, Infallible> {
    pending().await
}

/// A stream that says nothing yet.
struct Endless;

impl http_body::Body for Endless {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        Poll::Pending
    }
}

#[tokio::test]
async fn a_clients_deadline_ends_any_call_just_before_the_transport_would() {
    let (key, layers) = house(Limits::apart(8, 8));
    let mut gate = layers.layer(service_fn(hang));

    for path in [SHORT, POLL] {
        let mut hurried = request(&key, path);
        hurried
            .headers_mut()
            .insert("grpc-timeout", "20m".parse().unwrap());

        // The transport makes its timer after the call, and looks at it after the call.
        let response = tokio::select! {
            biased;
            response = gate.call(hurried) => response.unwrap(),
            () = tokio::time::sleep(Duration::from_millis(20)) => panic!("the transport was first"),
        };

        let status = status(&response).unwrap();
        assert_eq!(status.code(), Code::DeadlineExceeded);
        assert_eq!(
            status.get_details_error_info().unwrap().reason,
            "DEADLINE_EXCEEDED"
        );
    }
}

#[tokio::test]
async fn a_held_call_takes_no_short_calls_room() {
    let (key, layers) = house(Limits::apart(1, 1));
    let mut gate = layers.layer(service_fn(hang));
    let mut held = Box::pin(gate.call(request(&key, POLL)));
    assert!(futures::poll!(&mut held).is_pending());

    let second = gate.call(request(&key, POLL)).await.unwrap();
    let mut short = Box::pin(gate.call(request(&key, SHORT)));

    assert_eq!(status(&second).unwrap().code(), Code::ResourceExhausted);
    assert!(futures::poll!(&mut short).is_pending());
}

#[tokio::test]
async fn a_stream_keeps_its_room_until_its_last_message() {
    let (key, layers) = house(Limits::apart(1, 1));
    let mut gate = layers.layer(service_fn(|_: Request<Body>| {
        ready(Ok::<_, Infallible>(Response::new(Body::new(Endless))))
    }));

    let first = gate.call(request(&key, WATCH)).await.unwrap();
    let second = gate.call(request(&key, WATCH)).await.unwrap();
    let poll = gate.call(request(&key, POLL)).await.unwrap();
    drop(first);
    let third = gate.call(request(&key, WATCH)).await.unwrap();

    assert_eq!(status(&second).unwrap().code(), Code::ResourceExhausted);
    assert_eq!(status(&poll).unwrap().code(), Code::ResourceExhausted);
    assert!(status(&third).is_none());
}

#[tokio::test]
async fn what_a_service_answers_with_details_is_left_as_it_is() {
    let (key, layers) = house(Limits::apart(8, 8));
    let answer = |_: Request<Body>| {
        let mut status = Status::internal("failed to decode Protobuf message: of another service");
        status
            .metadata_mut()
            .insert("x-kept", "yes".parse().unwrap());
        let details = tonic_types::ErrorDetails::with_error_info("BROKEN", "cambium", []);
        let detailed = Status::with_error_details(status.code(), status.message(), details);
        ready(Ok::<_, Infallible>(detailed.into_http()))
    };

    let response = layers
        .layer(service_fn(answer))
        .call(request(&key, SHORT))
        .await
        .unwrap();

    assert_eq!(status(&response).unwrap().code(), Code::Internal);
}

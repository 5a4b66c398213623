//! A real port with a real service, health and reflection behind the layers.

use cambium_kernel::ManualClock;
use cambium_proto::signal::v1::signal_service_server::{SignalService, SignalServiceServer};
use cambium_proto::signal::v1::{DeliverRequest, DeliverResponse, Signal};
use prost::Message;
use tokio::net::TcpListener;
use tonic::transport::{Channel, Endpoint};
use tonic::{Code, Request, Response, Status};
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_client::HealthClient;
use tonic_reflection::pb::v1::ServerReflectionRequest;
use tonic_reflection::pb::v1::server_reflection_client::ServerReflectionClient;
use tonic_reflection::pb::v1::server_reflection_request::MessageRequest;
use tonic_reflection::pb::v1::server_reflection_response::MessageResponse;
use tonic_types::StatusExt;

use super::raw;
use crate::auth::{Auth, Rule};
use crate::principal::Kind;
use crate::server::admission::Limits;
use crate::shutdown::Stop;
use crate::token::tests::{key, noon, verifier, wish};
use crate::token::{Issuer, SigningKey};
use crate::{call, reflection, server, telemetry};

const DELIVER: &str = "/cambium.signal.v1.SignalService/Deliver";
const START: &str = "/cambium.hypha.v1.RunService/StartRun";

static RULES: [Rule; 1] = [Rule {
    method: DELIVER,
    kinds: &[Kind::Operator],
}];

/// Says who called, in place of an error it was asked for.
struct Echo;

#[tonic::async_trait]
impl SignalService for Echo {
    async fn deliver(
        &self,
        request: Request<DeliverRequest>,
    ) -> Result<Response<DeliverResponse>, Status> {
        let principal = call::principal(&request)?;
        assert!(request.metadata().get("authorization").is_none());
        match request.get_ref().signals.first() {
            None => Ok(Response::new(DeliverResponse {})),
            Some(signal) if signal.r#type == "hang" => std::future::pending().await,
            Some(_) => Err(Status::internal(principal.subject())),
        }
    }
}

struct Port {
    channel: Channel,
    operator: SigningKey,
    stop: Stop,
}

impl Drop for Port {
    fn drop(&mut self) {
        self.stop.stop();
    }
}

impl Port {
    async fn open(limits: Limits) -> Self {
        let operator = key(Issuer::Operator);
        let clock = ManualClock::at(noon());
        let auth = Auth::new(verifier(&[&operator], "hypha", &clock), "hypha", &RULES);
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let stop = Stop::new();
        telemetry::metrics();
        tokio::spawn(serve(listener, auth, limits, stop.clone()));
        let channel = Endpoint::from_shared(address)
            .unwrap()
            .connect()
            .await
            .unwrap();
        Self {
            channel,
            operator,
            stop,
        }
    }

    fn token(&self) -> String {
        self.operator.mint(noon(), wish(Kind::Operator)).unwrap()
    }

    async fn call(&self, path: &'static str, body: Vec<u8>) -> Result<Code, Status> {
        let reply = raw::call(&self.channel, path, Some(&self.token()), body).await;
        reply.map(|_| Code::Ok)
    }
}

async fn serve(listener: TcpListener, auth: Auth, limits: Limits, stop: Stop) {
    let (v1, v1alpha) = reflection::services().unwrap();
    let (_, health) = tonic_health::server::health_reporter();
    server::builder()
        .layer(server::Layers::new(auth, limits))
        .add_service(SignalServiceServer::new(Echo).max_decoding_message_size(1_024))
        .add_service(health)
        .add_service(v1)
        .add_service(v1alpha)
        .serve_with_incoming_shutdown(server::incoming(listener), stop.stopped())
        .await
        .unwrap();
}

fn signal(r#type: &str) -> Vec<u8> {
    let signal = Signal {
        r#type: r#type.to_owned(),
        ..Signal::default()
    };
    DeliverRequest {
        signals: vec![signal],
    }
    .encode_to_vec()
}

fn reason(status: &Status) -> String {
    status.get_details_error_info().unwrap().reason
}

#[tokio::test]
async fn a_listed_caller_reaches_the_service_which_learns_who_it_is() {
    let port = Port::open(Limits::apart(8, 8)).await;

    let answered = port.call(DELIVER, Vec::new()).await.unwrap();
    let named = port.call(DELIVER, signal("name")).await.unwrap_err();

    assert_eq!(answered, Code::Ok);
    assert_eq!(
        (named.code(), named.message()),
        (Code::Internal, "operator:ada")
    );
}

#[tokio::test]
async fn a_call_without_a_good_token_is_unauthenticated_whatever_it_calls() {
    let port = Port::open(Limits::apart(8, 8)).await;

    for path in [DELIVER, START, "/no.such.Service/Method"] {
        let missing = raw::call(&port.channel, path, None, Vec::new())
            .await
            .unwrap_err();
        let invalid = raw::call(&port.channel, path, Some("a.b.c"), Vec::new())
            .await
            .unwrap_err();

        assert_eq!(
            (missing.code(), reason(&missing).as_str()),
            (Code::Unauthenticated, "TOKEN_MISSING")
        );
        assert_eq!(
            (invalid.code(), reason(&invalid).as_str()),
            (Code::Unauthenticated, "TOKEN_INVALID")
        );
        assert!(missing.metadata().contains_key("x-request-id"));
    }
}

#[tokio::test]
async fn a_method_that_no_rule_lists_is_denied_and_one_that_nobody_has_is_unimplemented() {
    let port = Port::open(Limits::apart(8, 8)).await;

    let unlisted = port.call(START, Vec::new()).await.unwrap_err();
    let unknown = port
        .call("/no.such.Service/Method", Vec::new())
        .await
        .unwrap_err();

    assert_eq!(
        (unlisted.code(), reason(&unlisted).as_str()),
        (Code::PermissionDenied, "NOT_PERMITTED")
    );
    assert_eq!(
        (unknown.code(), reason(&unknown).as_str()),
        (Code::Unimplemented, "METHOD_UNKNOWN")
    );
}

#[tokio::test]
async fn a_body_that_cannot_be_decoded_is_the_callers_fault() {
    let port = Port::open(Limits::apart(8, 8)).await;
    let bodies: [&[u8]; 4] = [
        b"\xff\xff\xff",         // a tag without end
        b"\x0a\x05ab",           // longer than it is
        b"\x08\x01",             // another wire type
        b"\x0a\x03\x12\x01\xff", // text that is not UTF-8
    ];

    for body in bodies {
        let refused = port.call(DELIVER, body.to_vec()).await.unwrap_err();

        assert_eq!(refused.code(), Code::InvalidArgument, "{refused}");
        assert_eq!(reason(&refused), "REQUEST_MALFORMED");
    }
}

#[tokio::test]
async fn a_body_over_its_limit_is_refused_for_good() {
    let port = Port::open(Limits::apart(8, 8)).await;

    let refused = port.call(DELIVER, vec![0; 1_025]).await.unwrap_err();

    assert_eq!(
        (refused.code(), reason(&refused).as_str()),
        (Code::ResourceExhausted, "REQUEST_TOO_LARGE")
    );
    assert!(refused.get_details_retry_info().is_none());
}

#[tokio::test]
async fn health_answers_strangers() {
    let port = Port::open(Limits::apart(8, 8)).await;

    let reply = HealthClient::new(port.channel.clone())
        .check(HealthCheckRequest::default())
        .await;

    assert_eq!(reply.unwrap().into_inner().status, 1);
}

/// Asks the reflection service for the names of all services.
async fn listed(port: &Port, token: Option<String>) -> Result<Vec<String>, Status> {
    let question = ServerReflectionRequest {
        host: String::new(),
        message_request: Some(MessageRequest::ListServices(String::new())),
    };
    let mut request = Request::new(tokio_stream::once(question));
    if let Some(token) = token {
        request
            .metadata_mut()
            .insert("authorization", format!("Bearer {token}").parse().unwrap());
    }
    let mut client = ServerReflectionClient::new(port.channel.clone());
    let mut replies = client.server_reflection_info(request).await?.into_inner();
    match replies.message().await?.unwrap().message_response {
        Some(MessageResponse::ListServicesResponse(list)) => Ok(list
            .service
            .into_iter()
            .map(|service| service.name)
            .collect()),
        other => panic!("no list of services: {other:?}"),
    }
}

#[tokio::test]
async fn reflection_shows_the_contracts_to_whoever_has_a_token() {
    let port = Port::open(Limits::apart(8, 8)).await;

    let stranger = listed(&port, None).await.unwrap_err();
    let services = listed(&port, Some(port.token())).await.unwrap();

    assert_eq!(stranger.code(), Code::Unauthenticated);
    for service in [
        "cambium.genesis.v1.AgentService",
        "cambium.hypha.v1.RunService",
        "cambium.signal.v1.SignalService",
        "grpc.health.v1.Health",
        "grpc.reflection.v1.ServerReflection",
    ] {
        assert!(
            services.iter().any(|name| name == service),
            "{service} in {services:?}"
        );
    }
}

#[tokio::test]
async fn a_full_process_sheds_short_calls_but_tells_its_health_and_frees_room_when_a_client_leaves()
{
    let port = Port::open(Limits::apart(1, 8)).await;
    let mut hanging = Box::pin(port.call(DELIVER, signal("hang")));
    assert!(futures::poll!(&mut hanging).is_pending());

    // The second call may overtake the first one on the wire, so it is sent until it meets it.
    let shed = loop {
        tokio::select! {
            biased;
            _ = &mut hanging => panic!("a call that hangs was answered"),
            reply = port.call(DELIVER, Vec::new()) => if let Err(status) = reply { break status },
        }
    };
    let health = HealthClient::new(port.channel.clone())
        .check(HealthCheckRequest::default())
        .await;
    drop(hanging);
    while port.call(DELIVER, Vec::new()).await.is_err() {}

    assert_eq!(
        (shed.code(), reason(&shed).as_str()),
        (Code::ResourceExhausted, "OVERLOADED")
    );
    assert!(shed.get_details_retry_info().unwrap().retry_delay.is_some());
    assert!(health.is_ok());
}

#[tokio::test]
async fn calls_are_counted_by_method_and_code() {
    let port = Port::open(Limits::apart(8, 8)).await;

    port.call(DELIVER, Vec::new()).await.unwrap();

    let line = "rpc_server_call_duration_seconds_count{rpc_method=\"cambium.signal.v1.SignalService/Deliver\",\
                rpc_response_status_code=\"OK\"}";
    assert!(telemetry::metrics().render().contains(line));
}

#[tokio::test]
async fn a_stopped_port_finishes_its_calls_and_closes() {
    let port = Port::open(Limits::apart(8, 8)).await;

    port.call(DELIVER, Vec::new()).await.unwrap();
    port.stop.stop();
    while port.call(DELIVER, Vec::new()).await.is_ok() {}

    let refused = port.call(DELIVER, Vec::new()).await.unwrap_err();
    assert_eq!(refused.code(), Code::Unavailable);
}

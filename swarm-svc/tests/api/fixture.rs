//! A real swarm on a port of its own, with a database of its own whose clock stands still. Its loops do not run: a test asks for every turn.

use std::net::SocketAddr;

use cambium_proto::signal::v1::signal_service_client::SignalServiceClient;
use cambium_proto::swarm::v1::control_service_client::ControlServiceClient;
use cambium_proto::swarm::v1::loan_service_client::LoanServiceClient;
use cambium_proto::swarm::v1::mind_service_client::MindServiceClient;
use cambium_proto::swarm::v1::persona_service_client::PersonaServiceClient;
use cambium_proto::swarm::v1::record_service_client::RecordServiceClient;
use cambium_proto::swarm::v1::routing_service_client::RoutingServiceClient;
use cambium_proto::swarm::v1::target::Target as Kind;
use cambium_proto::swarm::v1::timeline_service_client::TimelineServiceClient;
use cambium_proto::swarm::v1::{
    BodyTarget, HoldBrakeRequest, MintMindTokenRequest, OpenMindRequest, OperateMindRequest, Organ,
    ReleaseBrakeRequest, SetDialRequest, SetDialResponse, SetShareRequest, Target, Wakes,
};
use cambium_service_kit::config::Secret;
use cambium_service_kit::service;
use cambium_service_kit::shutdown::Stop;
use cambium_testkit::{Bearer, Database, Keys, with_token};
use chrono::{DateTime, TimeDelta, Utc};
use swarm_svc::{Config, MIGRATOR};
use tokio::net::TcpListener;
use tonic::Status;
use tonic::service::interceptor::InterceptedService;
use tonic::transport::{Channel, Endpoint};
use tonic_types::StatusExt as _;
use uuid::Uuid;

pub(crate) type Authorized = InterceptedService<Channel, Bearer>;

pub(crate) const WORKSPACE: &str = "default";
/// The body that every mind of a test has, unless it says otherwise.
pub(crate) const BODY: &str = "desk";

pub(crate) struct Fixture {
    pub(crate) database: Database,
    pub(crate) keys: Keys,
    now: std::sync::Mutex<DateTime<Utc>>,
    channel: Channel,
    stop: Stop,
}

/// Where a day, a week and a month begin.
pub(crate) fn first_instant() -> DateTime<Utc> {
    DateTime::from_timestamp(1_780_272_000, 0).unwrap()
}

/// Without hypha.
pub(crate) async fn start() -> Fixture {
    start_with(None).await
}

/// With hypha at that address, now or later.
pub(crate) async fn start_with(hypha: Option<String>) -> Fixture {
    let database = cambium_testkit::database("swarm", &MIGRATOR).await;
    database.stop_clock_at(first_instant()).await;
    let keys = Keys::new();
    let stop = Stop::new();
    let channel = serve(config(&database, &keys, hypha), &stop).await;
    Fixture {
        database,
        keys,
        now: std::sync::Mutex::new(first_instant()),
        channel,
        stop,
    }
}

fn config(database: &Database, keys: &Keys, hypha: Option<String>) -> Config {
    let anywhere = SocketAddr::from(([127, 0, 0, 1], 0));
    Config {
        listen: anywhere,
        admin: anywhere,
        database_url: Secret::new(database.url.as_str()),
        connections: 8,
        key: keys.swarm(),
        credentials: keys.credentials("swarm"),
        bundle: keys.bundle(),
        hypha,
        pulse: None,
    }
}

async fn serve(config: Config, stop: &Stop) -> Channel {
    let listener = TcpListener::bind(config.listen).await.unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let built = swarm_svc::build(config, stop.clone()).await.unwrap();
    tokio::spawn(service::serve(listener, built, stop.clone()));
    Endpoint::from_shared(address).unwrap().connect_lazy()
}

/// What each service is called by a client that shows this token.
macro_rules! clients {
    ($($name:ident, $bearing:ident: $client:ident;)*) => {
        impl Fixture {
            $(
                /// As the operator.
                pub(crate) fn $name(&self) -> $client<Authorized> {
                    self.$bearing(&self.keys.operator())
                }

                pub(crate) fn $bearing(&self, token: &str) -> $client<Authorized> {
                    $client::new(with_token(self.channel.clone(), token))
                }
            )*
        }
    };
}

clients! {
    minds, minds_bearing: MindServiceClient;
    personas, personas_bearing: PersonaServiceClient;
    control, control_bearing: ControlServiceClient;
    loans, loans_bearing: LoanServiceClient;
    timeline, timeline_bearing: TimelineServiceClient;
    records, records_bearing: RecordServiceClient;
    routing, routing_bearing: RoutingServiceClient;
}

impl Fixture {
    /// The clients of another process of the same service, on the same database.
    pub(crate) async fn replica(&self, token: &str) -> TimelineServiceClient<Authorized> {
        let config = config(&self.database, &self.keys, None);
        let channel = serve(config, &self.stop).await;
        TimelineServiceClient::new(with_token(channel, token))
    }

    /// Without a token.
    pub(crate) fn channel(&self) -> Channel {
        self.channel.clone()
    }

    /// Where that service delivers its signals.
    pub(crate) fn hears(&self, sender: &str) -> SignalServiceClient<Authorized> {
        SignalServiceClient::new(with_token(self.channel.clone(), &self.keys.service(sender)))
    }

    pub(crate) fn now(&self) -> DateTime<Utc> {
        *self.now.lock().unwrap()
    }

    /// Moves the clock, which stands still otherwise.
    pub(crate) async fn advance(&self, by: TimeDelta) {
        let now = {
            let mut now = self.now.lock().unwrap();
            *now += by;
            *now
        };
        self.database.stop_clock_at(now).await;
    }

    /// Whoever asks for turns.
    pub(crate) fn scheduler(&self) -> TimelineServiceClient<Authorized> {
        self.timeline_bearing(&self.keys.scheduler())
    }

    /// Whoever says what turns cost.
    pub(crate) fn meter(&self) -> TimelineServiceClient<Authorized> {
        self.timeline_bearing(&self.keys.meter())
    }

    /// The minds' body.
    pub(crate) fn body(&self) -> TimelineServiceClient<Authorized> {
        self.timeline_bearing(&self.keys.worker_named(BODY))
    }

    /// Opens a mind that always wakes, with this share, its brake held.
    pub(crate) async fn open(&self, mind: &str, share_ppm: i64) {
        self.minds().open_mind(opening(mind)).await.unwrap();
        self.share(mind, share_ppm).await.unwrap();
    }

    /// Opens a mind and lets it have turns.
    pub(crate) async fn open_released(&self, mind: &str, share_ppm: i64) {
        self.open(mind, share_ppm).await;
        self.release(mind).await;
    }

    pub(crate) async fn share(&self, mind: &str, share_ppm: i64) -> Result<(), Status> {
        let request = SetShareRequest {
            workspace_id: WORKSPACE.to_owned(),
            request_id: request_id(),
            instance: mind.to_owned(),
            share_ppm,
        };
        self.control().set_share(request).await.map(|_| ())
    }

    pub(crate) async fn release(&self, mind: &str) {
        let request = ReleaseBrakeRequest {
            workspace_id: WORKSPACE.to_owned(),
            request_id: request_id(),
            instance: mind.to_owned(),
        };
        self.control().release_brake(request).await.unwrap();
    }

    /// Holds one mind's brake; all of them without a name.
    pub(crate) async fn hold(&self, mind: &str) {
        let request = HoldBrakeRequest {
            workspace_id: WORKSPACE.to_owned(),
            request_id: request_id(),
            instance: mind.to_owned(),
            reason: "a test".to_owned(),
        };
        self.control().hold_brake(request).await.unwrap();
    }

    pub(crate) async fn dial(&self, dial: SetDialRequest) -> SetDialResponse {
        let request = SetDialRequest {
            workspace_id: WORKSPACE.to_owned(),
            request_id: request_id(),
            ..dial
        };
        self.control().set_dial(request).await.unwrap().into_inner()
    }

    /// A mind's token, by a session of the operator with it; of that organ.
    pub(crate) async fn operate(&self, mind: &str, organ: Organ) -> String {
        let request = OperateMindRequest {
            workspace_id: WORKSPACE.to_owned(),
            request_id: request_id(),
            instance: mind.to_owned(),
            preempt: false,
            ttl_s: None,
        };
        let session = self.control().operate_mind(request).await.unwrap();
        let session = session.into_inner().session.unwrap();
        let request = MintMindTokenRequest {
            workspace_id: WORKSPACE.to_owned(),
            session_id: session.session_id,
            organ: organ.into(),
            ..MintMindTokenRequest::default()
        };
        let minted = self.timeline().mint_mind_token(request).await.unwrap();
        minted.into_inner().token
    }
}

impl Drop for Fixture {
    fn drop(&mut self) {
        self.stop.stop();
    }
}

pub(crate) fn request_id() -> String {
    Uuid::new_v4().to_string()
}

/// Of a body by that name.
pub(crate) fn body_target(name: &str) -> Option<Target> {
    Some(Target {
        target: Some(Kind::Body(BodyTarget {
            name: name.to_owned(),
            organs: Vec::new(),
        })),
    })
}

/// A mind that always wakes, under a new request id.
pub(crate) fn opening(mind: &str) -> OpenMindRequest {
    OpenMindRequest {
        workspace_id: WORKSPACE.to_owned(),
        request_id: request_id(),
        instance: mind.to_owned(),
        display_name: mind.to_owned(),
        mission: "To be tested.".to_owned(),
        host: "here".to_owned(),
        target: body_target(BODY),
        wakes: Wakes::Always.into(),
        fresh: None,
    }
}

/// A dollar a turn at most, a thousand dollars an hour, one turn at a time.
pub(crate) fn ordinary_dial() -> SetDialRequest {
    SetDialRequest {
        heat_ppm: 1_000_000,
        base_rate_micro_usd_per_h: 1_000_000_000,
        base_run_micro_usd: 1_000_000,
        k: 1,
        ..SetDialRequest::default()
    }
}

pub(crate) fn reason(status: &Status) -> String {
    status.get_details_error_info().unwrap().reason
}

/// The one field at fault.
pub(crate) fn field(status: &Status) -> String {
    let mut violations = status.get_details_bad_request().unwrap().field_violations;
    assert_eq!(violations.len(), 1);
    violations.remove(0).field
}

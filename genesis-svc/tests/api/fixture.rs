//! A real genesis on a port of its own, with a database of its own.

mod life;
mod template;

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::Arc;

use cambium_kernel::SystemClock;
use cambium_proto::genesis::v1::agent_service_client::AgentServiceClient;
use cambium_proto::genesis::v1::compost_service_client::CompostServiceClient;
use cambium_proto::genesis::v1::spawn_service_client::SpawnServiceClient;
use cambium_proto::genesis::v1::template_service_client::TemplateServiceClient;
use cambium_proto::genesis::v1::{Agent, EnrollAgentRequest, EnrollAgentResponse, GetAgentRequest};
use cambium_proto::signal::v1::signal_service_client::SignalServiceClient;
use cambium_service_kit::config::Secret;
use cambium_service_kit::principal::Kind;
use cambium_service_kit::service;
use cambium_service_kit::shutdown::Stop;
use cambium_service_kit::token::{Issuer, Mint, SigningKey, Verifier};
use cambium_testkit::{Bearer, Database, Keys, with_token};
use chrono::{DateTime, TimeDelta, Utc};
use genesis_svc::{Config, MIGRATOR};
use tokio::net::TcpListener;
use tonic::service::interceptor::InterceptedService;
use tonic::transport::{Channel, Endpoint};
use tonic::{Response, Status};
use tonic_types::StatusExt as _;
use uuid::Uuid;

pub(crate) type Authorized = InterceptedService<Channel, Bearer>;
pub(crate) type Client = AgentServiceClient<Authorized>;

pub(crate) struct Fixture {
    pub(crate) database: Database,
    pub(crate) keys: Keys,
    /// An operator's.
    pub(crate) client: Client,
    channel: Channel,
    key: Arc<SigningKey>,
    /// Another operator's, whose logins a test dates itself.
    login: SigningKey,
    stop: Stop,
}

/// With nobody to hear its signals.
pub(crate) async fn start() -> Fixture {
    start_telling_all(&[]).await
}

/// With hypha at that address, now or later.
pub(crate) async fn start_telling(hypha: Option<String>) -> Fixture {
    let hypha = hypha.map(|address| ("hypha", address));
    start_telling_all(hypha.as_slice()).await
}

/// With these services to hear its signals, each at its address.
pub(crate) async fn start_telling_all(receivers: &[(&str, String)]) -> Fixture {
    let receivers = receivers
        .iter()
        .map(|(name, address)| ((*name).to_owned(), address.clone()))
        .collect();
    let database = cambium_testkit::database("genesis", &MIGRATOR).await;
    let keys = Keys::new();
    let key = Arc::new(SigningKey::generate("genesis-1", Issuer::Genesis).unwrap());
    let login = SigningKey::generate("login-1", Issuer::Operator).unwrap();
    let stop = Stop::new();
    let mut config = config(&database, &keys, &key, receivers);
    config.bundle = config.bundle.with(login.public());
    let channel = serve(config, &stop).await;
    let client = AgentServiceClient::new(with_token(channel.clone(), &keys.operator()));
    Fixture {
        database,
        keys,
        client,
        channel,
        key,
        login,
        stop,
    }
}

fn config(
    database: &Database,
    keys: &Keys,
    key: &Arc<SigningKey>,
    receivers: HashMap<String, String>,
) -> Config {
    let anywhere = SocketAddr::from(([127, 0, 0, 1], 0));
    Config {
        listen: anywhere,
        admin: anywhere,
        database_url: Secret::new(database.url.as_str()),
        connections: 8,
        key: Arc::clone(key),
        credentials: keys.credentials("genesis"),
        bundle: keys.bundle().with(key.public()),
        receivers,
    }
}

async fn serve(config: Config, stop: &Stop) -> Channel {
    let listener = TcpListener::bind(config.listen).await.unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let built = genesis_svc::build(config, stop.clone()).await.unwrap();
    tokio::spawn(service::serve(listener, built, stop.clone()));
    Endpoint::from_shared(address).unwrap().connect_lazy()
}

impl Fixture {
    /// Another process of the same service, on the same database.
    pub(crate) async fn replica(&self) -> Client {
        let config = config(&self.database, &self.keys, &self.key, HashMap::new());
        let channel = serve(config, &self.stop).await;
        AgentServiceClient::new(with_token(channel, &self.keys.operator()))
    }

    /// The token of an operator who logged in then.
    pub(crate) fn operator_since(&self, then: DateTime<Utc>) -> String {
        let wish = Mint {
            kind: Kind::Operator,
            name: "ada".to_owned(),
            audience: vec!["genesis".to_owned()],
            ttl: TimeDelta::minutes(15),
            workspaces: vec!["*".to_owned()],
            agents: Vec::new(),
            capabilities: Vec::new(),
            act: None,
            lease: None,
            fence: None,
        };
        self.login.mint(then, wish).unwrap()
    }

    pub(crate) fn bearing(&self, token: &str) -> Client {
        AgentServiceClient::new(with_token(self.channel.clone(), token))
    }

    pub(crate) fn templates(&self) -> TemplateServiceClient<Authorized> {
        self.templates_bearing(&self.keys.operator())
    }

    pub(crate) fn templates_bearing(&self, token: &str) -> TemplateServiceClient<Authorized> {
        TemplateServiceClient::new(with_token(self.channel.clone(), token))
    }

    pub(crate) fn spawns(&self) -> SpawnServiceClient<Authorized> {
        self.spawns_bearing(&self.keys.operator())
    }

    pub(crate) fn spawns_bearing(&self, token: &str) -> SpawnServiceClient<Authorized> {
        SpawnServiceClient::new(with_token(self.channel.clone(), token))
    }

    pub(crate) fn composts(&self) -> CompostServiceClient<Authorized> {
        CompostServiceClient::new(with_token(self.channel.clone(), &self.keys.operator()))
    }

    /// Where that service delivers its signals.
    pub(crate) fn hears(&self, sender: &str) -> SignalServiceClient<Authorized> {
        SignalServiceClient::new(with_token(self.channel.clone(), &self.keys.service(sender)))
    }

    pub(crate) fn verifier(&self, audience: &str) -> Verifier {
        let bundle = self.keys.bundle().with(self.key.public());
        Verifier::new(bundle, audience, Arc::new(SystemClock))
    }

    /// Enrolls under a new request id.
    pub(crate) async fn enroll(
        &mut self,
        name: &str,
        capabilities: &[&str],
    ) -> Result<EnrollAgentResponse, Status> {
        self.send(request(name, capabilities)).await
    }

    pub(crate) async fn send(
        &mut self,
        request: EnrollAgentRequest,
    ) -> Result<EnrollAgentResponse, Status> {
        self.client
            .enroll_agent(request)
            .await
            .map(Response::into_inner)
    }

    pub(crate) async fn ask(&mut self, request: GetAgentRequest) -> Result<Agent, Status> {
        let reply = self.client.get_agent(request).await?;
        Ok(reply.into_inner().agent.unwrap())
    }

    pub(crate) async fn count(&self, table: &'static str) -> i64 {
        let count = match table {
            "agent" => sqlx::query_scalar("SELECT count(*) FROM genesis.agent"),
            "receipt" => sqlx::query_scalar("SELECT count(*) FROM genesis.receipt"),
            "outbox" => sqlx::query_scalar("SELECT count(*) FROM genesis.outbox"),
            "compost" => sqlx::query_scalar("SELECT count(*) FROM genesis.compost"),
            "inbox" => sqlx::query_scalar("SELECT count(*) FROM genesis.inbox"),
            "learning" => sqlx::query_scalar("SELECT count(*) FROM genesis.learning"),
            "spawn" => sqlx::query_scalar("SELECT count(*) FROM genesis.spawn"),
            "template_version" => {
                sqlx::query_scalar("SELECT count(*) FROM genesis.template_version")
            }
            _ => panic!("{table} is no table of genesis"),
        };
        count.fetch_one(&self.database.owner).await.unwrap()
    }
}

impl Drop for Fixture {
    fn drop(&mut self) {
        self.stop.stop();
    }
}

/// In workspace `default`, under a new request id.
pub(crate) fn request(name: &str, capabilities: &[&str]) -> EnrollAgentRequest {
    EnrollAgentRequest {
        workspace_id: "default".to_owned(),
        request_id: Uuid::new_v4().to_string(),
        name: name.to_owned(),
        capabilities: capabilities.iter().map(|&name| name.to_owned()).collect(),
        ..EnrollAgentRequest::default()
    }
}

pub(crate) use life::{Tasks, failing, retirement, well};
pub(crate) use template::{put, spawn, spec};

pub(crate) fn reason(status: &Status) -> String {
    status.get_details_error_info().unwrap().reason
}

/// The one field at fault.
pub(crate) fn field(status: &Status) -> String {
    let mut violations = status.get_details_bad_request().unwrap().field_violations;
    assert_eq!(violations.len(), 1);
    violations.remove(0).field
}

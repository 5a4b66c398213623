//! A real immune on a port of its own, with a database of its own.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::ops::Deref;

use cambium_proto::immune::v1 as wire;
use cambium_proto::immune::v1::alert_service_client::AlertServiceClient;
use cambium_proto::immune::v1::generosity_service_client::GenerosityServiceClient;
use cambium_proto::immune::v1::quarantine_service_client::QuarantineServiceClient;
use cambium_proto::immune::v1::rule_service_client::RuleServiceClient;
use cambium_proto::immune::v1::standing_service_client::StandingServiceClient;
use cambium_proto::signal::v1::signal_service_client::SignalServiceClient;
use cambium_proto::signal::v1::{DeliverRequest, Signal};
use cambium_service_kit::config::Secret;
use cambium_service_kit::service;
use cambium_service_kit::shutdown::Stop;
use cambium_testkit::{Bearer, Database, Keys, with_token};
use immune_svc::{Config, MIGRATOR};
use sqlx::{AssertSqlSafe, PgPool};
use tokio::net::TcpListener;
use tonic::service::interceptor::InterceptedService;
use tonic::transport::{Channel, Endpoint};
use tonic::{Response, Status};
use tonic_types::StatusExt as _;
use uuid::Uuid;

pub(crate) type Shown = InterceptedService<Channel, Bearer>;

/// A running immune and its database.
pub(crate) struct Fixture {
    pub(crate) database: Database,
    party: Party,
    stop: Stop,
}

/// One replica, and whoever may call it.
#[derive(Clone)]
pub(crate) struct Party {
    pub(crate) keys: Keys,
    pub(crate) channel: Channel,
}

/// With nobody to hear its signals.
pub(crate) async fn start() -> Fixture {
    start_telling(&[]).await
}

/// With those services at those addresses, now or later.
pub(crate) async fn start_telling(receivers: &[(&str, String)]) -> Fixture {
    let database = cambium_testkit::database("immune", &MIGRATOR).await;
    let (keys, stop) = (Keys::new(), Stop::new());
    let channel = serve(config(&database, &keys, receivers), &stop).await;
    Fixture {
        database,
        party: Party { keys, channel },
        stop,
    }
}

fn config(database: &Database, keys: &Keys, receivers: &[(&str, String)]) -> Config {
    let anywhere = SocketAddr::from(([127, 0, 0, 1], 0));
    let named = receivers
        .iter()
        .map(|(name, address)| ((*name).to_owned(), address.clone()));
    Config {
        listen: anywhere,
        admin: anywhere,
        database_url: Secret::new(database.url.as_str()),
        connections: 8,
        credentials: keys.credentials("immune"),
        bundle: keys.bundle(),
        receivers: HashMap::from_iter(named),
    }
}

async fn serve(config: Config, stop: &Stop) -> Channel {
    let listener = TcpListener::bind(config.listen).await.unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let built = immune_svc::build(config, stop.clone()).await.unwrap();
    tokio::spawn(service::serve(listener, built, stop.clone()));
    Endpoint::from_shared(address).unwrap().connect_lazy()
}

impl Deref for Fixture {
    type Target = Party;

    fn deref(&self) -> &Party {
        &self.party
    }
}

impl Drop for Fixture {
    fn drop(&mut self) {
        self.stop.stop();
    }
}

impl Fixture {
    /// Another process of the same service, on the same database.
    pub(crate) async fn replica(&self) -> Party {
        let config = config(&self.database, &self.keys, &[]);
        let channel = serve(config, &self.stop).await;
        let keys = self.keys.clone();
        Party { keys, channel }
    }

    /// Ends the service and starts it afresh on the same database.
    pub(crate) async fn restart(&mut self) {
        self.stop.stop();
        self.stop = Stop::new();
        let config = config(&self.database, &self.keys, &[]);
        self.party.channel = serve(config, &self.stop).await;
    }

    pub(crate) fn owner(&self) -> &PgPool {
        &self.database.owner
    }

    pub(crate) async fn count(&self, table: &'static str) -> i64 {
        let count = format!("SELECT count(*) FROM immune.{table}");
        let count = sqlx::query_scalar(AssertSqlSafe(count));
        count.fetch_one(self.owner()).await.unwrap()
    }

    /// All that immune knows, to be compared with itself: a refused call leaves it as it was.
    pub(crate) async fn everything(&self) -> Vec<String> {
        let mut all = Vec::new();
        for table in [
            "standing",
            "agent",
            "ledger",
            "daily",
            "policy",
            "rule",
            "tally",
            "heard",
            "anomaly",
            "alert",
            "quarantine",
            "receipt",
            "outbox",
            "inbox",
        ] {
            let rows = format!("SELECT '{table} ' || t::text FROM immune.{table} t ORDER BY 1");
            let rows = sqlx::query_scalar::<_, String>(AssertSqlSafe(rows));
            all.extend(rows.fetch_all(self.owner()).await.unwrap());
        }
        all
    }

    /// Checks the laws that hold in every ledger: it follows from itself, and leads to the standing.
    pub(crate) async fn check_ledgers(&self) {
        let broken: i64 = sqlx::query_scalar(
            "SELECT count(*) FROM (
                 SELECT l.*, lag(after) OVER w AS last, row_number() OVER w AS place
                 FROM immune.ledger l WINDOW w AS (PARTITION BY workspace_id, agent_id, score ORDER BY seq)
             ) l
             WHERE seq <> place OR before <> coalesce(last, before)
                OR after <> least(greatest(before + delta, 0), 1000000)",
        )
        .fetch_one(self.owner())
        .await
        .unwrap();
        let astray: i64 = sqlx::query_scalar(
            "SELECT count(*) FROM immune.standing s WHERE EXISTS (
                 SELECT FROM immune.ledger l
                 WHERE l.workspace_id = s.workspace_id AND l.agent_id = s.agent_id
                   AND (l.score, l.seq, l.after) IN ((1, s.trust_seq, s.trust), (2, s.generosity_seq, s.generosity),
                                                     (3, s.health_seq, s.health))
                 HAVING count(*) <> (s.trust_seq > 0)::int + (s.generosity_seq > 0)::int + (s.health_seq > 0)::int
             )",
        )
        .fetch_one(self.owner())
        .await
        .unwrap();
        assert_eq!((broken, astray), (0, 0));
    }
}

impl Party {
    fn shown(&self, token: &str) -> Shown {
        with_token(self.channel.clone(), token)
    }

    pub(crate) fn standings(&self) -> StandingServiceClient<Shown> {
        self.standings_as(&self.keys.operator())
    }

    pub(crate) fn standings_as(&self, token: &str) -> StandingServiceClient<Shown> {
        StandingServiceClient::new(self.shown(token))
    }

    pub(crate) fn generosity_as(&self, token: &str) -> GenerosityServiceClient<Shown> {
        GenerosityServiceClient::new(self.shown(token))
    }

    /// As hypha calls it.
    pub(crate) fn generosity(&self) -> GenerosityServiceClient<Shown> {
        self.generosity_as(&self.keys.service("hypha"))
    }

    pub(crate) fn quarantines(&self) -> QuarantineServiceClient<Shown> {
        self.quarantines_as(&self.keys.operator())
    }

    pub(crate) fn quarantines_as(&self, token: &str) -> QuarantineServiceClient<Shown> {
        QuarantineServiceClient::new(self.shown(token))
    }

    pub(crate) fn rules(&self) -> RuleServiceClient<Shown> {
        self.rules_as(&self.keys.operator())
    }

    pub(crate) fn rules_as(&self, token: &str) -> RuleServiceClient<Shown> {
        RuleServiceClient::new(self.shown(token))
    }

    pub(crate) fn alerts(&self) -> AlertServiceClient<Shown> {
        self.alerts_as(&self.keys.operator())
    }

    pub(crate) fn alerts_as(&self, token: &str) -> AlertServiceClient<Shown> {
        AlertServiceClient::new(self.shown(token))
    }

    /// Delivers as that service.
    pub(crate) async fn deliver_as(&self, sender: &str, signals: &[Signal]) -> Result<(), Status> {
        let mut client = SignalServiceClient::new(self.shown(&self.keys.service(sender)));
        let signals = signals.to_vec();
        let delivered = client.deliver(DeliverRequest { signals }).await;
        delivered.map(drop)
    }

    /// Delivers as the service that each signal says it is from, in order.
    pub(crate) async fn deliver(&self, signals: &[Signal]) {
        let parts = signals.chunk_by(|a, b| a.source == b.source);
        for part in parts {
            self.deliver_as(&part[0].source, part).await.unwrap();
        }
    }

    pub(crate) async fn standing(&self, agent: Uuid) -> wire::Standing {
        let request = wire::GetStandingRequest {
            workspace_id: "default".to_owned(),
            agent_id: agent.to_string(),
            name: String::new(),
        };
        let reply = self.standings().get_standing(request).await;
        reply.unwrap().into_inner().standing.unwrap()
    }

    /// One score's ledger, the oldest first.
    pub(crate) async fn ledger(
        &self,
        agent: Uuid,
        score: wire::ScoreKind,
    ) -> Vec<wire::LedgerEntry> {
        let request = wire::ExplainStandingRequest {
            workspace_id: "default".to_owned(),
            agent_id: agent.to_string(),
            score: score.into(),
            page_size: 1_000,
            ..wire::ExplainStandingRequest::default()
        };
        let reply = self.standings().explain_standing(request).await.unwrap();
        let mut entries = reply.into_inner().entries;
        entries.reverse();
        entries
    }

    pub(crate) async fn all_alerts(&self) -> Vec<wire::Alert> {
        let request = wire::ListAlertsRequest {
            workspace_id: "default".to_owned(),
            include_acknowledged: true,
            page_size: 1_000,
            page_token: String::new(),
        };
        let reply = self.alerts().list_alerts(request).await.unwrap();
        reply.into_inner().alerts
    }

    pub(crate) async fn anomalies(&self) -> Vec<wire::Anomaly> {
        let request = wire::ListAnomaliesRequest {
            workspace_id: "default".to_owned(),
            page_size: 1_000,
            ..wire::ListAnomaliesRequest::default()
        };
        let reply = self.rules().list_anomalies(request).await.unwrap();
        reply.into_inner().anomalies
    }

    pub(crate) async fn quarantine(
        &self,
        agent: Uuid,
    ) -> Result<wire::QuarantineAgentResponse, Status> {
        let reply = self.quarantines().quarantine_agent(out(agent)).await;
        reply.map(Response::into_inner)
    }

    pub(crate) async fn is_out(&self, agent: Uuid) -> bool {
        let standing = self.standing(agent).await;
        standing
            .badges()
            .any(|badge| badge == wire::Badge::Quarantined)
    }
}

/// A wish to take an agent out, under a new request id.
pub(crate) fn out(agent: Uuid) -> wire::QuarantineAgentRequest {
    wire::QuarantineAgentRequest {
        workspace_id: "default".to_owned(),
        request_id: Uuid::new_v4().to_string(),
        agent_id: agent.to_string(),
        reason: "it went astray".to_owned(),
        duration: None,
        over_cap: false,
    }
}

/// A wish to let it back in.
pub(crate) fn back(agent: Uuid) -> wire::ReleaseQuarantineRequest {
    wire::ReleaseQuarantineRequest {
        workspace_id: "default".to_owned(),
        request_id: Uuid::new_v4().to_string(),
        agent_id: agent.to_string(),
        reason: "it was us".to_owned(),
    }
}

pub(crate) fn adjustment(agent: Uuid, delta: f64) -> wire::AdjustTrustRequest {
    wire::AdjustTrustRequest {
        workspace_id: "default".to_owned(),
        request_id: Uuid::new_v4().to_string(),
        agent_id: agent.to_string(),
        delta,
        reason: "seen at work".to_owned(),
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

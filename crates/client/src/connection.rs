//! One connection to Cambium: every call on it carries a token and a deadline. Connects when first used, and again
//! whenever it was cut off.

use std::sync::Arc;
use std::time::Duration;

use cambium_proto::genesis::v1::agent_service_client::AgentServiceClient;
use cambium_proto::hypha::v1::graph_service_client::GraphServiceClient;
use cambium_proto::hypha::v1::matching_service_client::MatchingServiceClient;
use cambium_proto::hypha::v1::run_service_client::RunServiceClient;
use cambium_proto::hypha::v1::task_service_client::TaskServiceClient;
use cambium_proto::hypha::v1::worker_service_client::WorkerServiceClient;
use cambium_proto::immune::v1::alert_service_client::AlertServiceClient;
use cambium_proto::immune::v1::generosity_service_client::GenerosityServiceClient;
use cambium_proto::immune::v1::quarantine_service_client::QuarantineServiceClient;
use cambium_proto::immune::v1::rule_service_client::RuleServiceClient;
use cambium_proto::immune::v1::standing_service_client::StandingServiceClient;
use cambium_proto::stigmergy::v1::marker_service_client::MarkerServiceClient;
use cambium_proto::swarm::v1::control_service_client::ControlServiceClient;
use cambium_proto::swarm::v1::loan_service_client::LoanServiceClient;
use cambium_proto::swarm::v1::mind_service_client::MindServiceClient;
use cambium_proto::swarm::v1::persona_service_client::PersonaServiceClient;
use cambium_proto::swarm::v1::record_service_client::RecordServiceClient;
use cambium_proto::swarm::v1::routing_service_client::RoutingServiceClient;
use cambium_proto::swarm::v1::timeline_service_client::TimelineServiceClient;
use tonic::metadata::MetadataValue;
use tonic::service::Interceptor;
use tonic::service::interceptor::InterceptedService;
use tonic::transport::{Channel, Endpoint};
use tonic::{GrpcMethod, Request, Status};

use crate::{Budget, Error, Policy, TokenSource};

/// A channel that shows who is calling.
pub type Authorized = InterceptedService<Channel, Bearer>;

/// Graphs and their inputs may be large; all else is paged or small.
const LARGEST_GRAPH: usize = 33 << 20;
const LARGEST_REPLY: usize = 8 << 20;
/// 500 markers may each carry 256 KiB; a reader of more asks for fewer.
const LARGEST_MARKERS: usize = 33 << 20;

/// How a connection behaves.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// The deadline of a call that sets none. Streams have none.
    pub deadline: Duration,
    pub connect_within: Duration,
    pub retry: Policy,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            deadline: Duration::from_secs(30),
            connect_within: Duration::from_secs(5),
            retry: Policy::default(),
        }
    }
}

/// A channel with its caller's credentials. Cheap to clone; clones share the channel and the retry budget.
#[derive(Clone, Debug)]
pub struct Connection {
    channel: Channel,
    bearer: Bearer,
    retry: Policy,
    budget: Arc<Budget>,
}

impl Connection {
    /// Prepares a connection; nothing is sent yet.
    pub fn open(url: &str, tokens: Arc<dyn TokenSource>, options: Options) -> Result<Self, Error> {
        let endpoint = Endpoint::from_shared(url.to_owned()).map_err(|error| Error::Address {
            url: url.to_owned(),
            problem: error.to_string(),
        })?;
        let channel = endpoint
            .tcp_nodelay(true)
            .connect_timeout(options.connect_within)
            .http2_keep_alive_interval(Duration::from_secs(30))
            .keep_alive_timeout(Duration::from_secs(10))
            .keep_alive_while_idle(true)
            .connect_lazy();
        Ok(Self {
            channel,
            bearer: Bearer {
                tokens,
                deadline: options.deadline,
            },
            retry: options.retry,
            budget: Arc::default(),
        })
    }

    /// The same channel for another caller.
    #[must_use]
    pub fn with_tokens(&self, tokens: Arc<dyn TokenSource>) -> Self {
        let mut other = self.clone();
        other.bearer.tokens = tokens;
        other
    }

    #[must_use]
    pub fn tokens(&self) -> &Arc<dyn TokenSource> {
        &self.bearer.tokens
    }

    /// The bare channel with credentials, for services that have no typed client here.
    #[must_use]
    pub fn authorized(&self) -> Authorized {
        InterceptedService::new(self.channel.clone(), self.bearer.clone())
    }

    #[must_use]
    pub fn graphs(&self) -> GraphServiceClient<Authorized> {
        GraphServiceClient::new(self.authorized()).max_decoding_message_size(LARGEST_GRAPH)
    }

    #[must_use]
    pub fn runs(&self) -> RunServiceClient<Authorized> {
        RunServiceClient::new(self.authorized()).max_decoding_message_size(LARGEST_REPLY)
    }

    #[must_use]
    pub fn tasks(&self) -> TaskServiceClient<Authorized> {
        TaskServiceClient::new(self.authorized()).max_decoding_message_size(LARGEST_REPLY)
    }

    #[must_use]
    pub fn workers(&self) -> WorkerServiceClient<Authorized> {
        WorkerServiceClient::new(self.authorized()).max_decoding_message_size(LARGEST_REPLY)
    }

    #[must_use]
    pub fn agents(&self) -> AgentServiceClient<Authorized> {
        AgentServiceClient::new(self.authorized()).max_decoding_message_size(LARGEST_REPLY)
    }

    #[must_use]
    pub fn matching(&self) -> MatchingServiceClient<Authorized> {
        MatchingServiceClient::new(self.authorized()).max_decoding_message_size(LARGEST_REPLY)
    }

    #[must_use]
    pub fn standings(&self) -> StandingServiceClient<Authorized> {
        StandingServiceClient::new(self.authorized()).max_decoding_message_size(LARGEST_REPLY)
    }

    #[must_use]
    pub fn generosity(&self) -> GenerosityServiceClient<Authorized> {
        GenerosityServiceClient::new(self.authorized()).max_decoding_message_size(LARGEST_REPLY)
    }

    #[must_use]
    pub fn quarantines(&self) -> QuarantineServiceClient<Authorized> {
        QuarantineServiceClient::new(self.authorized()).max_decoding_message_size(LARGEST_REPLY)
    }

    #[must_use]
    pub fn rules(&self) -> RuleServiceClient<Authorized> {
        RuleServiceClient::new(self.authorized()).max_decoding_message_size(LARGEST_REPLY)
    }

    #[must_use]
    pub fn alerts(&self) -> AlertServiceClient<Authorized> {
        AlertServiceClient::new(self.authorized()).max_decoding_message_size(LARGEST_REPLY)
    }

    #[must_use]
    pub fn markers(&self) -> MarkerServiceClient<Authorized> {
        MarkerServiceClient::new(self.authorized()).max_decoding_message_size(LARGEST_MARKERS)
    }

    #[must_use]
    pub fn minds(&self) -> MindServiceClient<Authorized> {
        MindServiceClient::new(self.authorized()).max_decoding_message_size(LARGEST_REPLY)
    }

    #[must_use]
    pub fn personas(&self) -> PersonaServiceClient<Authorized> {
        PersonaServiceClient::new(self.authorized()).max_decoding_message_size(LARGEST_REPLY)
    }

    #[must_use]
    pub fn control(&self) -> ControlServiceClient<Authorized> {
        ControlServiceClient::new(self.authorized()).max_decoding_message_size(LARGEST_REPLY)
    }

    #[must_use]
    pub fn loans(&self) -> LoanServiceClient<Authorized> {
        LoanServiceClient::new(self.authorized()).max_decoding_message_size(LARGEST_REPLY)
    }

    #[must_use]
    pub fn timeline(&self) -> TimelineServiceClient<Authorized> {
        TimelineServiceClient::new(self.authorized()).max_decoding_message_size(LARGEST_REPLY)
    }

    #[must_use]
    pub fn records(&self) -> RecordServiceClient<Authorized> {
        RecordServiceClient::new(self.authorized()).max_decoding_message_size(LARGEST_REPLY)
    }

    #[must_use]
    pub fn routing(&self) -> RoutingServiceClient<Authorized> {
        RoutingServiceClient::new(self.authorized()).max_decoding_message_size(LARGEST_REPLY)
    }

    /// Makes a call, and makes it again while that can help and the budget allows.
    ///
    /// Only for reads and for calls that carry a request id.
    pub async fn retrying<T, F>(&self, mut call: impl FnMut() -> F) -> Result<T, Status>
    where
        F: Future<Output = Result<tonic::Response<T>, Status>>,
    {
        self.budget.earn();
        let mut tried = 1;
        loop {
            let status = match call().await {
                Ok(reply) => return Ok(reply.into_inner()),
                Err(status) => status,
            };
            let pause = self.retry.pause(&status, tried, rand::random());
            match pause {
                Some(pause) if self.budget.spend() => tokio::time::sleep(pause).await,
                _ => return Err(status),
            }
            tried += 1;
        }
    }
}

/// Puts the caller's token and a deadline on every request.
#[derive(Clone, Debug)]
pub struct Bearer {
    tokens: Arc<dyn TokenSource>,
    deadline: Duration,
}

impl Interceptor for Bearer {
    fn call(&mut self, mut request: Request<()>) -> Result<Request<()>, Status> {
        let token = self
            .tokens
            .token()
            .map_err(|error| Status::unauthenticated(error.to_string()))?;
        let value = MetadataValue::try_from(format!("Bearer {token}")).map_err(|_| {
            Status::unauthenticated("the token holds characters that no header carries")
        })?;
        request.metadata_mut().insert("authorization", value);

        let has_deadline = request.metadata().contains_key("grpc-timeout");
        if !has_deadline && !is_stream(&request) {
            request.set_timeout(self.deadline);
        }
        Ok(request)
    }
}

/// Marks a request that ends when its reader leaves, never by the clock. Watches and reflection need no mark.
#[derive(Clone, Copy, Debug)]
pub struct NoDeadline;

fn is_stream(request: &Request<()>) -> bool {
    let extensions = request.extensions();
    let method = extensions.get::<GrpcMethod<'static>>();
    extensions.get::<NoDeadline>().is_some()
        || method.is_some_and(|method| {
            method.method().starts_with("Watch") || method.method().ends_with("ReflectionInfo")
        })
}

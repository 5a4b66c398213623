//! Keys and tokens of every kind of caller, for services under test. They live in memory and guard nothing else.

use std::fmt::Display;
use std::sync::Arc;

use cambium_kernel::{Clock, SystemClock};
use cambium_service_kit::outbox::Credentials;
use cambium_service_kit::principal::{Fence, Kind};
use cambium_service_kit::token::{Bundle, Issuer, Mint, SigningKey, Verifier, max_life};
use tonic::metadata::AsciiMetadataValue;
use tonic::service::Interceptor;
use tonic::service::interceptor::InterceptedService;
use tonic::transport::Channel;
use tonic::{Request, Status};

/// Every service that a token of ours is for.
const AUDIENCE: [&str; 6] = [
    "hypha",
    "genesis",
    "immune",
    "stigmergy",
    "swarm",
    "gateway",
];

/// A key of each issuer, and tokens that any service accepts which trusts [`Keys::bundle`].
#[derive(Clone, Debug)]
pub struct Keys {
    operator: Arc<SigningKey>,
    enrolment: Arc<SigningKey>,
    genesis: Arc<SigningKey>,
    service: Arc<SigningKey>,
    swarm: Arc<SigningKey>,
    bundle: Bundle,
}

impl Default for Keys {
    fn default() -> Self {
        Self::new()
    }
}

impl Keys {
    /// # Panics
    /// When the system has no randomness.
    #[must_use]
    pub fn new() -> Self {
        let [operator, enrolment, genesis, service, swarm] = [
            Issuer::Operator,
            Issuer::Enrolment,
            Issuer::Genesis,
            Issuer::Service,
            Issuer::Swarm,
        ]
        .map(key);
        let all = [&operator, &enrolment, &genesis, &service, &swarm];
        let bundle = all
            .iter()
            .fold(Bundle::default(), |bundle, key| bundle.with(key.public()));
        Self {
            operator,
            enrolment,
            genesis,
            service,
            swarm,
            bundle,
        }
    }

    /// What a service under test must trust.
    #[must_use]
    pub fn bundle(&self) -> Bundle {
        self.bundle.clone()
    }

    #[must_use]
    pub fn verifier(&self, audience: &str) -> Verifier {
        Verifier::new(self.bundle(), audience, Arc::new(SystemClock))
    }

    /// As whom a service's relay calls.
    #[must_use]
    pub fn credentials(&self, service: &'static str) -> Credentials {
        Credentials {
            key: Arc::clone(&self.service),
            service,
        }
    }

    /// An operator of every workspace.
    #[must_use]
    pub fn operator(&self) -> String {
        mint(&self.operator, wish(Kind::Operator, "ada"))
    }

    /// Somebody who may only look.
    #[must_use]
    pub fn viewer(&self) -> String {
        mint(&self.operator, wish(Kind::Viewer, "eve"))
    }

    /// A worker that works for these agents.
    #[must_use]
    pub fn worker(&self, agents: &[impl Display]) -> String {
        let agents = agents.iter().map(ToString::to_string).collect();
        mint(
            &self.enrolment,
            Mint {
                agents,
                ..wish(Kind::Worker, "worker-1")
            },
        )
    }

    #[must_use]
    pub fn agent(&self, id: impl Display) -> String {
        mint(&self.genesis, wish(Kind::Agent, &id.to_string()))
    }

    /// A worker, or a body, of that name.
    #[must_use]
    pub fn worker_named(&self, name: &str) -> String {
        mint(&self.enrolment, wish(Kind::Worker, name))
    }

    /// Whoever asks for turns.
    #[must_use]
    pub fn scheduler(&self) -> String {
        mint(&self.operator, wish(Kind::Scheduler, "wake"))
    }

    /// Whoever measures turns.
    #[must_use]
    pub fn meter(&self) -> String {
        mint(&self.operator, wish(Kind::Meter, "hook"))
    }

    /// A mind, within its turn or a session of its operator.
    #[must_use]
    pub fn mind(&self, name: &str, fence: Fence) -> String {
        let fence = Some(fence);
        mint(
            &self.swarm,
            Mint {
                fence,
                ..wish(Kind::Mind, name)
            },
        )
    }

    /// The key with which swarm makes the tokens of minds.
    #[must_use]
    pub fn swarm(&self) -> Arc<SigningKey> {
        Arc::clone(&self.swarm)
    }

    #[must_use]
    pub fn service(&self, name: &str) -> String {
        mint(&self.service, wish(Kind::Service, name))
    }

    /// An operator who may enter these workspaces only.
    #[must_use]
    pub fn operator_of(&self, workspaces: &[&str]) -> String {
        let workspaces = workspaces.iter().map(ToString::to_string).collect();
        mint(
            &self.operator,
            Mint {
                workspaces,
                ..wish(Kind::Operator, "bob")
            },
        )
    }
}

fn key(issuer: Issuer) -> Arc<SigningKey> {
    let key = SigningKey::generate(&format!("test-{issuer}"), issuer);
    Arc::new(key.expect("the system has randomness"))
}

fn wish(kind: Kind, name: &str) -> Mint {
    Mint {
        kind,
        name: name.to_owned(),
        audience: AUDIENCE.map(str::to_owned).to_vec(),
        ttl: max_life(kind),
        workspaces: vec!["*".to_owned()],
        agents: Vec::new(),
        capabilities: Vec::new(),
        act: None,
        lease: None,
        fence: None,
    }
}

fn mint(key: &SigningKey, wish: Mint) -> String {
    key.mint(SystemClock.now(), wish)
        .expect("the issuer may mint its own kinds")
}

/// Shows a token with every call.
#[derive(Clone)]
pub struct Bearer(AsciiMetadataValue);

impl std::fmt::Debug for Bearer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Bearer(***)")
    }
}

impl Interceptor for Bearer {
    fn call(&mut self, mut request: Request<()>) -> Result<Request<()>, Status> {
        request
            .metadata_mut()
            .insert("authorization", self.0.clone());
        Ok(request)
    }
}

/// A channel that shows `token` with every call, for `XServiceClient::new(..)`.
///
/// # Panics
/// When the token cannot stand in a header.
#[must_use]
pub fn with_token(channel: Channel, token: &str) -> InterceptedService<Channel, Bearer> {
    let mut value: AsciiMetadataValue = format!("Bearer {token}")
        .parse()
        .expect("a token is plain ASCII");
    value.set_sensitive(true);
    InterceptedService::new(channel, Bearer(value))
}

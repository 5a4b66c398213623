//! Another service of the house, called under one's own name. Retries nothing: what a failure means the caller knows.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use cambium_kernel::{Clock, SystemClock};
use chrono::TimeDelta;
use tonic::Request;
use tonic::metadata::AsciiMetadataValue;
use tonic::transport::{Channel, Endpoint};

use crate::principal::Kind;
use crate::token::{Mint, SigningKey, TokenError};

/// How long a token holds, and for how long of that it is used again.
const TOKEN_FOR: TimeDelta = TimeDelta::minutes(5);
const TOKEN_IS_FRESH_FOR: Duration = Duration::from_mins(3);

/// As whom a service calls others.
#[derive(Clone, Debug)]
pub struct Credentials {
    /// A key that may mint tokens of services.
    pub key: Arc<SigningKey>,
    pub service: &'static str,
}

/// A service's address is none.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the address of {name}, `{address}`, is not a URL such as http://127.0.0.1:7070: correct it and start again"
)]
pub struct BadAddress {
    name: &'static str,
    address: String,
}

/// Where another service is, and as whom it is called. Connects with the first call.
#[derive(Clone, Debug)]
pub struct Peer {
    name: &'static str,
    channel: Channel,
    credentials: Credentials,
    /// The last one, and since when there is it.
    token: Arc<Mutex<Option<(Instant, AsciiMetadataValue)>>>,
}

impl Peer {
    pub fn new(
        name: &'static str,
        address: &str,
        credentials: Credentials,
    ) -> Result<Self, BadAddress> {
        let bad = || BadAddress {
            name,
            address: address.to_owned(),
        };
        let endpoint = Endpoint::from_shared(address.to_owned()).map_err(|_| bad())?;
        if endpoint.uri().scheme().is_none() || endpoint.uri().authority().is_none() {
            return Err(bad());
        }
        let channel = endpoint
            .connect_timeout(Duration::from_secs(2))
            .http2_keep_alive_interval(Duration::from_secs(30))
            .keep_alive_timeout(Duration::from_secs(10))
            .tcp_nodelay(true)
            .connect_lazy();
        Ok(Self {
            name,
            channel,
            credentials,
            token: Arc::default(),
        })
    }

    #[must_use]
    pub const fn name(&self) -> &'static str {
        self.name
    }

    #[must_use]
    pub fn channel(&self) -> Channel {
        self.channel.clone()
    }

    /// A call with a deadline and a token for this service alone, of which two minutes are left.
    pub fn request<T>(&self, message: T, deadline: Duration) -> Result<Request<T>, TokenError> {
        let mut request = Request::new(message);
        request.set_timeout(deadline);
        request
            .metadata_mut()
            .insert("authorization", self.token()?);
        Ok(request)
    }

    /// The token of the last call, as long as it is fresh.
    fn token(&self) -> Result<AsciiMetadataValue, TokenError> {
        let mut last = self.token.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((minted, token)) = &*last
            && minted.elapsed() < TOKEN_IS_FRESH_FOR
        {
            return Ok(token.clone());
        }
        let token = self.mint()?;
        *last = Some((Instant::now(), token.clone()));
        Ok(token)
    }

    fn mint(&self) -> Result<AsciiMetadataValue, TokenError> {
        let wish = Mint {
            kind: Kind::Service,
            name: self.credentials.service.to_owned(),
            audience: vec![self.name.to_owned()],
            ttl: TOKEN_FOR,
            workspaces: vec!["*".to_owned()],
            agents: Vec::new(),
            capabilities: Vec::new(),
            act: None,
            lease: None,
            fence: None,
        };
        let token = self.credentials.key.mint(SystemClock.now(), wish)?;
        let mut value: AsciiMetadataValue = format!("Bearer {token}")
            .parse()
            .expect("a token is plain ASCII");
        value.set_sensitive(true);
        Ok(value)
    }
}

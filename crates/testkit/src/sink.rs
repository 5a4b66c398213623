//! A receiver of signals that keeps what it is sent, so that tests see what a relay delivers.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

use cambium_proto::signal::v1::signal_service_server::{SignalService, SignalServiceServer};
use cambium_proto::signal::v1::{DeliverRequest, DeliverResponse, Signal};
use cambium_service_kit::server;
use cambium_service_kit::shutdown::Stop;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tonic::{Request, Response, Status};

/// A running receiver, on a real port. Dropping it closes the port.
#[derive(Debug)]
pub struct SignalSink {
    address: SocketAddr,
    kept: Kept,
    stop: Stop,
    serving: JoinHandle<()>,
}

/// One call: the token it showed, and what it brought.
#[derive(Clone, Debug)]
struct Delivery {
    token: Option<String>,
    signals: Vec<Signal>,
}

#[derive(Clone, Debug, Default)]
struct Kept(Arc<Mutex<Vec<Delivery>>>);

impl SignalSink {
    /// Serves on a free port.
    pub async fn start() -> Self {
        Self::start_at(SocketAddr::from(([127, 0, 0, 1], 0))).await
    }

    /// Serves there, as after a restart: with nothing kept.
    ///
    /// # Panics
    /// When the port is taken.
    pub async fn start_at(address: SocketAddr) -> Self {
        let listener = TcpListener::bind(address).await.expect("the port is free");
        let address = listener
            .local_addr()
            .expect("a bound listener has an address");
        let (kept, stop) = (Kept::default(), Stop::new());
        let service = SignalServiceServer::new(kept.clone());
        let served = server::builder().add_service(service);
        let served =
            served.serve_with_incoming_shutdown(server::incoming(listener), stop.stopped());
        let serving =
            tokio::spawn(async move { served.await.expect("a sink serves until it is stopped") });
        Self {
            address,
            kept,
            stop,
            serving,
        }
    }

    #[must_use]
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// All signals so far, in the order in which they came; one that came twice stands there twice.
    #[must_use]
    pub fn received(&self) -> Vec<Signal> {
        self.kept
            .all()
            .into_iter()
            .flat_map(|delivery| delivery.signals)
            .collect()
    }

    /// The token of each call that showed one.
    #[must_use]
    pub fn tokens(&self) -> Vec<String> {
        self.kept
            .all()
            .into_iter()
            .filter_map(|delivery| delivery.token)
            .collect()
    }

    /// Ends it and waits until its port is closed.
    ///
    /// # Panics
    /// When it had not served well.
    pub async fn stop(mut self) {
        self.stop.stop();
        (&mut self.serving).await.expect("a sink does not panic");
    }
}

impl Drop for SignalSink {
    fn drop(&mut self) {
        self.stop.stop();
    }
}

impl Kept {
    fn all(&self) -> Vec<Delivery> {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}

#[tonic::async_trait]
impl SignalService for Kept {
    async fn deliver(
        &self,
        request: Request<DeliverRequest>,
    ) -> Result<Response<DeliverResponse>, Status> {
        let token = request
            .metadata()
            .get("authorization")
            .and_then(|value| value.to_str().ok());
        let token = token
            .and_then(|value| value.strip_prefix("Bearer "))
            .map(str::to_owned);
        let signals = request.into_inner().signals;
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(Delivery { token, signals });
        Ok(Response::new(DeliverResponse {}))
    }
}

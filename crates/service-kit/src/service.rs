//! A service ready to be served, alone on its port or together with others behind one.
//! Serves what it is given: which methods there are, and who may call them, the service has said.

use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tonic::service::RoutesBuilder;
use tonic_health::ServingStatus;
use tonic_health::server::HealthReporter;

use crate::auth::Auth;
use crate::shutdown::{Stop, signalled};
use crate::{admin, reflection, server, telemetry};

/// How long calls in flight may take to end once the service has been told to stop: longer than the longest deadline.
const DRAIN: Duration = Duration::from_secs(30);

/// The gRPC side of one service. Its loops run already; they end with the `Stop` they were given.
pub struct Service {
    name: &'static str,
    auth: Auth,
    ready: watch::Receiver<bool>,
    register: Register,
    receive: Option<Register>,
}

/// Adds routes; called once for each port that serves them.
type Register = Box<dyn Fn(&mut RoutesBuilder) + Send + Sync>;

impl Service {
    /// `ready` says whether it can answer (see [`crate::readiness`]); `register` adds its routes.
    pub fn new(
        name: &'static str,
        auth: Auth,
        ready: watch::Receiver<bool>,
        register: impl Fn(&mut RoutesBuilder) + Send + Sync + 'static,
    ) -> Self {
        Self {
            name,
            auth,
            ready,
            register: Box::new(register),
            receive: None,
        }
    }

    /// It hears signals: `receive` adds its `SignalService`. A delivery names no receiver, so it is heard only on a port
    /// that serves this service alone.
    #[must_use]
    pub fn hearing(mut self, receive: impl Fn(&mut RoutesBuilder) + Send + Sync + 'static) -> Self {
        self.receive = Some(Box::new(receive));
        self
    }

    /// Whether it can answer.
    #[must_use]
    pub fn ready(&self) -> watch::Receiver<bool> {
        self.ready.clone()
    }
}

impl fmt::Debug for Service {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Service")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

/// Serves one service on its port, with health and reflection and all that it hears, until told to stop; then finishes the
/// calls in flight.
pub async fn serve(listener: TcpListener, service: Service, stop: Stop) -> anyhow::Result<()> {
    serve_all(listener, vec![Arc::new(service)], stop).await
}

/// Serves all of them behind one port, as [`serve`] does one. Signals are heard only where there is one.
pub async fn serve_all(
    listener: TcpListener,
    services: Vec<Arc<Service>>,
    stop: Stop,
) -> anyhow::Result<()> {
    let (reporter, health) = tonic_health::server::health_reporter();
    let mut routes = RoutesBuilder::default();
    routes.add_service(health);
    let (v1, v1alpha) = reflection::services()?;
    routes.add_service(v1);
    routes.add_service(v1alpha);
    let mut auths = Vec::new();
    for service in &services {
        tokio::spawn(report(
            service.name,
            service.ready(),
            reporter.clone(),
            stop.clone(),
        ));
        auths.push(service.auth.clone());
        (service.register)(&mut routes);
    }
    if let [alone] = services.as_slice()
        && let Some(receive) = &alone.receive
    {
        receive(&mut routes);
    }
    let serving = server::builder()
        .layer(server::layers(Auth::merge(auths)))
        .add_routes(routes.routes())
        .serve_with_incoming_shutdown(server::incoming(listener), stop.stopped());
    tokio::pin!(serving);
    tokio::select! {
        served = &mut serving => return Ok(served?),
        () = stop.stopped() => {}
    }
    // A stream that nobody ends must not hold the process for ever.
    match tokio::time::timeout(DRAIN, serving).await {
        Ok(served) => Ok(served?),
        Err(_) => Ok(()),
    }
}

/// A whole process of one service: its port, its admin port, and an end when it is told to by a signal.
pub async fn run(
    listen: SocketAddr,
    admin: SocketAddr,
    build: impl AsyncFnOnce(Stop) -> anyhow::Result<Service>,
) -> anyhow::Result<()> {
    let listener = bind(listen).await?;
    let probes = bind(admin).await?;
    let stop = Stop::new();
    let service = build(stop.clone()).await?;
    let admin = admin::serve(
        probes,
        telemetry::metrics(),
        service.ready(),
        stop.stopped(),
    );
    let admin = tokio::spawn(admin);
    let asked = stop.clone();
    tokio::spawn(async move {
        signalled().await;
        asked.stop();
    });
    serve(listener, service, stop.clone()).await?;
    stop.stop();
    admin.await?
}

async fn bind(address: SocketAddr) -> anyhow::Result<TcpListener> {
    TcpListener::bind(address)
        .await
        .with_context(|| format!("cannot listen on {address}: is the port taken?"))
}

/// Passes every change on to the health service. Once told to stop a service is not ready: whoever asks goes elsewhere.
async fn report(
    name: &'static str,
    mut ready: watch::Receiver<bool>,
    reporter: HealthReporter,
    stop: Stop,
) {
    loop {
        let status = if *ready.borrow_and_update() && !stop.is_stopped() {
            ServingStatus::Serving
        } else {
            ServingStatus::NotServing
        };
        reporter.set_service_status("", status).await;
        reporter.set_service_status(name, status).await;
        if stop.is_stopped() {
            return;
        }
        tokio::select! {
            changed = ready.changed() => if changed.is_err() { return },
            () = stop.stopped() => {}
        }
    }
}

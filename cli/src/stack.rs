//! A whole stack in this process: private Postgres, all services on one port, an admin port. The callers speak to it
//! through real gRPC on loopback, as to any other.

mod services;

use std::net::SocketAddr;
use std::sync::Arc;

use anyhow::Context as _;
use cambium_client::TokenSource;
use cambium_service_kit::config::Secret;
use cambium_service_kit::database::{self, PoolOptions};
use cambium_service_kit::postgres::{Listen, Options, Private};
use cambium_service_kit::shutdown::Stop;
use cambium_service_kit::{admin, migrate, telemetry};
use sqlx::migrate::Migrator;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use crate::credentials;
use crate::folder::{Address, Folder, Guard};

/// All services share one database, each in its own schema.
const DATABASE: &str = "postgres";

/// What a stack should be.
#[derive(Clone, Debug)]
pub(crate) struct StackOptions {
    pub(crate) folder: Folder,
    /// 0 picks a free one.
    pub(crate) port: u16,
}

/// A running stack. Dropping it without [`Stack::stop`] stops Postgres, and the services with the process.
#[derive(Debug)]
pub(crate) struct Stack {
    address: Address,
    folder: Folder,
    stop: Stop,
    serving: JoinHandle<anyhow::Result<()>>,
    admin: JoinHandle<anyhow::Result<()>>,
    postgres: Option<Private>,
    _guard: Guard,
}

impl Stack {
    pub(crate) async fn start(options: StackOptions) -> anyhow::Result<Self> {
        let folder = options.folder;
        let guard = folder.open()?;
        let listener = listen(options.port).await?;
        let probes = listen(0).await?;
        let address = address_of(&listener, &probes)?;

        let postgres = start_postgres(&folder).await?;
        prepare(&postgres, "hypha", &hypha_svc::MIGRATOR).await?;
        prepare(&postgres, "genesis", &genesis_svc::MIGRATOR).await?;
        prepare(&postgres, "immune", &immune_svc::MIGRATOR).await?;
        prepare(&postgres, "stigmergy", &stigmergy_svc::MIGRATOR).await?;
        prepare(&postgres, "swarm", &swarm_svc::MIGRATOR).await?;

        let stop = Stop::new();
        let sources = services::Sources {
            folder: &folder,
            postgres: &postgres,
        };
        let running = services::start(&sources, listener, stop.clone()).await?;
        let metrics = telemetry::metrics();
        let admin = tokio::spawn(admin::serve(probes, metrics, running.ready, stop.stopped()));
        folder.write_database_url(&postgres.superuser_url(DATABASE))?;
        folder.write_address(&address)?;
        Ok(Self {
            address,
            folder,
            stop,
            serving: running.serving,
            admin,
            postgres: Some(postgres),
            _guard: guard,
        })
    }

    pub(crate) fn url(&self) -> &str {
        &self.address.url
    }

    pub(crate) const fn address(&self) -> &Address {
        &self.address
    }

    /// The private Postgres, for whoever measures it.
    pub(crate) fn postgres(&self) -> anyhow::Result<&Private> {
        self.postgres.as_ref().context("Postgres has been stopped")
    }

    /// The operator's tokens.
    pub(crate) fn token_source(&self) -> anyhow::Result<Arc<dyn TokenSource>> {
        credentials::operator(&self.folder)
    }

    /// Resolves if the services end by themselves, which is always a fault.
    pub(crate) async fn ended(&mut self) -> anyhow::Result<()> {
        let ended = (&mut self.serving).await;
        ended.context("the services ended unexpectedly")?
    }

    /// Finishes the calls in flight, then stops Postgres in order.
    pub(crate) async fn stop(mut self) -> anyhow::Result<()> {
        self.folder.forget_address();
        self.stop.stop();
        let served = if self.serving.is_finished() {
            Ok(Ok(()))
        } else {
            (&mut self.serving).await
        };
        self.admin.abort();
        let postgres = self.postgres.take();
        tokio::task::spawn_blocking(move || postgres.map(Private::stop)).await?;
        served?
    }
}

/// Loopback only: without TLS nobody else may listen in.
async fn listen(port: u16) -> anyhow::Result<TcpListener> {
    TcpListener::bind(SocketAddr::from(([127, 0, 0, 1], port))).await.with_context(|| {
        format!("port {port} of 127.0.0.1 cannot be used: stop whatever listens there, or choose another with --port (0 picks a free one)")
    })
}

fn address_of(listener: &TcpListener, probes: &TcpListener) -> anyhow::Result<Address> {
    let port = listener.local_addr()?.port();
    Ok(Address {
        url: format!("http://127.0.0.1:{port}"),
        pid: std::process::id(),
        port,
        admin_port: probes.local_addr()?.port(),
    })
}

async fn start_postgres(folder: &Folder) -> anyhow::Result<Private> {
    let options = Options {
        folder: folder.postgres(),
        durable: true,
        listen: Listen::Socket,
    };
    tokio::task::spawn_blocking(move || Private::start(options)).await?
}

/// Brings a service's schema up to date and lets its role in.
async fn prepare(
    postgres: &Private,
    service: &'static str,
    migrator: &Migrator,
) -> anyhow::Result<()> {
    let url = Secret::new(postgres.superuser_url(DATABASE));
    let pool = database::connect(
        &url,
        PoolOptions {
            max: 1,
            service: "cambium-up",
        },
    )?;
    migrate::apply(&pool, service, migrator, service).await?;
    postgres.admit(&pool, service).await?;
    pool.close().await;
    Ok(())
}

//! The swarm service as a process of its own.

use cambium_service_kit::config::Env;
use cambium_service_kit::service;
use cambium_service_kit::telemetry::{self, Format};
use swarm_svc::{Config, build};

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let env = Env::process();
    telemetry::init("swarm-svc", env.parsed("CAMBIUM_LOG_FORMAT", Format::Json)?)?;
    let config = Config::from_env(&env)?;
    tracing::info!(?config, "starting");
    let (listen, admin) = (config.listen, config.admin);
    service::run(listen, admin, async |stop| build(config, stop).await).await
}

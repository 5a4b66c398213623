//! A private Postgres for the length of one command. Never touches a server it did not start.

use std::process::ExitStatus;
use std::time::Duration;

use anyhow::Context as _;
use cambium_service_kit::postgres::{Listen, Options, Private};
use cambium_service_kit::shutdown;
use tokio::process::Command;
use tokio::time::timeout;

/// How long an interrupted command may take to end by itself.
const GRACE: Duration = Duration::from_secs(10);

/// Starts a server that keeps nothing. Dropping it stops it and removes its folder.
pub(crate) fn scratch() -> anyhow::Result<Private> {
    let folder = std::env::temp_dir().join(format!("cambium-xtask-{}", std::process::id()));
    let options = Options {
        folder,
        durable: false,
        listen: Listen::Loopback,
    };
    Private::start(options).context("starting a private Postgres")
}

/// Runs a command with `CAMBIUM_TEST_POSTGRES` set, and ends as it ended.
pub(crate) fn run(command: &[&str]) -> anyhow::Result<()> {
    let status = {
        let scratch = scratch()?;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        runtime.block_on(supervise(command, &scratch.superuser_url("postgres")))?
    };
    match status.code() {
        Some(0) => Ok(()),
        code => std::process::exit(code.unwrap_or(130)),
    }
}

/// Waits for the command; when interrupted, still waits for it, so that the server outlives it.
async fn supervise(command: &[&str], url: &str) -> anyhow::Result<ExitStatus> {
    let (program, arguments) = command.split_first().context("no command")?;
    let mut child = Command::from(crate::command(program))
        .args(arguments)
        .env("CAMBIUM_TEST_POSTGRES", url)
        .spawn()
        .with_context(|| format!("starting {program}"))?;
    tokio::select! {
        status = child.wait() => return Ok(status?),
        () = shutdown::signalled() => {}
    }
    if let Ok(status) = timeout(GRACE, child.wait()).await {
        return Ok(status?);
    }
    child.kill().await?;
    Ok(child.wait().await?)
}

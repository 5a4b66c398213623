//! What a process says about itself: log lines on stderr, and numbers for Prometheus.
//! Opens no port: `admin` shows the numbers to whoever may see them.

use std::io::IsTerminal;
use std::str::FromStr;
use std::sync::OnceLock;
use std::thread;
use std::time::Duration;

use anyhow::Context;
use metrics_exporter_prometheus::{
    Matcher, PrometheusBuilder, PrometheusHandle, PrometheusRecorder,
};
use tracing_subscriber::EnvFilter;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

use crate::config::Env;

/// How log lines look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// One JSON object a line, for machines.
    Json,
    /// For people.
    Pretty,
}

impl FromStr for Format {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "json" => Ok(Self::Json),
            "pretty" => Ok(Self::Pretty),
            _ => anyhow::bail!("neither `json` nor `pretty`"),
        }
    }
}

/// Sends log lines to stderr: those that `CAMBIUM_LOG` asks for, else from `info` up. Once per process.
pub fn init(service: &str, format: Format) -> anyhow::Result<()> {
    let wanted = Env::process()
        .text("CAMBIUM_LOG")
        .unwrap_or_else(|| "info".to_owned());
    let filter = EnvFilter::try_new(&wanted).context(
        "CAMBIUM_LOG is no filter: write something like `info` or `info,hypha_svc=debug`",
    )?;
    let registry = tracing_subscriber::registry().with(filter);
    let lines = tracing_subscriber::fmt::layer()
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal());
    match format {
        Format::Json => registry
            .with(lines.json().flatten_event(true).with_span_list(false))
            .try_init(),
        Format::Pretty => registry.with(lines).try_init(),
    }
    .context("log lines go somewhere already")?;
    tracing::info!(service, "telemetry is on");
    Ok(())
}

/// Reads the process's metrics.
#[derive(Clone)]
pub struct MetricsHandle(PrometheusHandle);

impl MetricsHandle {
    /// In Prometheus' text format.
    #[must_use]
    pub fn render(&self) -> String {
        self.0.render()
    }
}

impl std::fmt::Debug for MetricsHandle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("MetricsHandle").finish_non_exhaustive()
    }
}

/// Turns metrics on for the whole process. Every call returns the same ones.
pub fn metrics() -> MetricsHandle {
    static HANDLE: OnceLock<MetricsHandle> = OnceLock::new();
    HANDLE.get_or_init(install).clone()
}

fn install() -> MetricsHandle {
    let recorder = recorder();
    let handle = recorder.handle();
    if metrics::set_global_recorder(recorder).is_err() {
        tracing::warn!("another recorder of metrics is in place: ours stay empty");
    }
    keep_small(handle.clone());
    MetricsHandle(handle)
}

const SECONDS: [f64; 15] = [
    0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0,
];

/// For what is counted rather than timed, as the size of a batch.
const SIZES: [f64; 11] = [
    1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0, 512.0, 1_024.0,
];

fn recorder() -> PrometheusRecorder {
    PrometheusBuilder::new()
        .set_buckets(&SECONDS)
        .and_then(|builder| {
            builder.set_buckets_for_metric(Matcher::Suffix("_size".to_owned()), &SIZES)
        })
        .expect("neither list of buckets is empty")
        .build_recorder()
}

/// Folds samples into their buckets every few seconds: unread ones would pile up where nobody scrapes.
fn keep_small(handle: PrometheusHandle) {
    let upkeep = move || {
        loop {
            thread::sleep(Duration::from_secs(5));
            handle.run_upkeep();
        }
    };
    let started = thread::Builder::new()
        .name("metrics-upkeep".to_owned())
        .spawn(upkeep);
    if let Err(error) = started {
        tracing::error!(
            error = &error as &dyn std::error::Error,
            "metrics have no upkeep"
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metrics_are_installed_once_and_seen_through_every_handle() {
        let (first, second) = (metrics(), metrics());

        metrics::counter!("telemetry_test_total").increment(2);
        metrics::histogram!("telemetry_test_size").record(3.0);

        assert!(first.render().contains("telemetry_test_total 2"));
        assert!(
            second
                .render()
                .contains("telemetry_test_size_bucket{le=\"4\"} 1")
        );
    }

    #[test]
    fn a_format_reads_from_its_name() {
        assert_eq!("json".parse::<Format>().unwrap(), Format::Json);
        assert_eq!("pretty".parse::<Format>().unwrap(), Format::Pretty);
        assert!("xml".parse::<Format>().is_err());
    }
}

//! A recorded workflow, run again by simulated workers. Refuses a file that holds no graph before anything is started.

use std::path::PathBuf;

use cambium_formats::{Imported, Source};

use super::frame::Plan;
use super::job::{self, Job};
use crate::context::hint;
use crate::{file, graph};

/// Run a recorded workflow with simulated workers
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  cambium bench replay workflow.json\n  cambium bench replay workflow.json --speed 100 --json"
)]
pub(crate) struct Args {
    /// A WfFormat trace, or any other file that `cambium import` reads
    #[arg(value_name = "FILE")]
    path: PathBuf,
    /// Which graph of the file [default: the file's own]
    #[arg(long, value_name = "NAME")]
    graph: Option<String>,
    /// How many times faster than recorded [default: as fast as possible]
    #[arg(long, value_name = "X", value_parser = crate::demo::speed)]
    speed: Option<f64>,
    /// How often, one after the other
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    runs: u32,
    /// Tasks that the worker does at once
    #[arg(long, value_name = "N", default_value_t = 1_000, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    slots: u32,
}

impl Args {
    pub(super) fn plan(self) -> anyhow::Result<Plan> {
        let imported = import(&file::read(&self.path)?, self.graph.as_deref())?;
        hint(&format!(
            "{}: {}",
            imported.graph.name,
            graph::size(&imported.graph)
        ));
        Ok(Plan {
            scenario: "replay",
            client: "worker".to_owned(),
            in_flight: 1,
            job: Job::Replay(job::Replay {
                path: std::path::absolute(self.path)?,
                graph: self.graph,
                speed: self.speed,
                runs: self.runs,
                slots: self.slots,
            }),
            goals: Vec::new(),
        })
    }
}

/// Reads the graph here, without a service.
pub(super) fn import(content: &[u8], graph: Option<&str>) -> anyhow::Result<Imported> {
    Ok(cambium_formats::import(&Source {
        content,
        companion: None,
        format: None,
        graph,
        name: None,
    })?)
}

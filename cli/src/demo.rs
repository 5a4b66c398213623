//! `cambium demo`: a whole stack in a temporary folder, real worker processes, one graph done to its end, and what it
//! came to; or minds that take turns. Leaves nothing behind unless asked.

mod crew;
mod minds;
mod stage;

use std::path::PathBuf;

use cambium_formats::{Imported, Source};
use cambium_proto::hypha::v1::RunState;

use crate::context::{Context, hint};
use crate::exit::Exit;
use crate::summary::{self, Summary};
use crate::{file, graph, up};
use stage::Stage;

/// Our own example, and the input it is run with.
const EXAMPLE: &str = include_str!("../../examples/market-report.yaml");
const EXAMPLE_INPUT: &str = include_str!("../../examples/market-report.input.json");

/// Watch a whole graph being done: a stack of its own, simulated workers, and the figures at the end
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  cambium demo\n  cambium demo workflow.json.gz --json\n  cambium demo --swarm\n  cambium demo ci.yml --graph jobs --workers 8 --speed 100 --keep"
)]
pub(crate) struct Args {
    /// A file that holds a graph, of any format that `cambium import` reads [default: our own example]
    #[arg(value_name = "FILE")]
    path: Option<PathBuf>,
    /// Which graph of the file [default: the file's own]
    #[arg(long, value_name = "NAME")]
    graph: Option<String>,
    /// CrewAI's agents.yaml
    #[arg(long, value_name = "FILE")]
    agents: Option<PathBuf>,
    /// The run's input: JSON, or @FILE
    #[arg(long, value_name = "JSON")]
    input: Option<String>,
    /// How many worker processes
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u16).range(1..=64))]
    workers: u16,
    /// How many times faster than recorded [default: as fast as possible]
    #[arg(long, value_name = "X", value_parser = speed)]
    speed: Option<f64>,
    /// Leave the folder, so that `cambium up --data` can start it again
    #[arg(long)]
    keep: bool,
    /// Instead of a graph, minds that take turns from one wallet
    #[arg(long, conflicts_with_all = ["path", "graph", "agents", "input", "speed"])]
    swarm: bool,
    /// What the minds' turns cost: CSV with the columns `agent` and `usd` [default: ../shared/data/costs/turns.csv where it is, else
    /// our own example]
    #[arg(long, value_name = "FILE", requires = "swarm")]
    costs: Option<PathBuf>,
}

/// What is shown: the file as it is, and the graph read from it.
#[derive(Debug)]
struct Play {
    content: Vec<u8>,
    companion: Vec<u8>,
    imported: Imported,
    input: bytes::Bytes,
}

pub(crate) async fn run(args: Args, context: &Context) -> anyhow::Result<Exit> {
    if args.swarm {
        return minds::run(args.costs.as_ref(), args.keep, context).await;
    }
    let asked = up::asked_to_stop();
    let play = read(&args)?;
    hint(&format!(
        "{}: {}",
        play.imported.graph.name,
        graph::size(&play.imported.graph)
    ));

    let mut stage = Stage::new()?;
    let played = tokio::select! {
        played = stage.play(&play, &args) => played,
        () = asked.stopped() => Err(anyhow::anyhow!("interrupted")),
    };
    let kept = stage.close(args.keep).await?;
    let (summary, state) = played?;
    context.print_value(&summary, Summary::for_people)?;
    tell_next(&args, &summary, kept.as_ref());
    Ok(summary::exit(state))
}

/// Reads the file here first: what cannot be a graph is refused before anything is started.
fn read(args: &Args) -> anyhow::Result<Play> {
    let content = match &args.path {
        Some(path) => file::read(path)?,
        None => EXAMPLE.as_bytes().to_vec(),
    };
    let companion = file::read_if(args.agents.as_ref())?.to_vec();
    let imported = cambium_formats::import(&Source {
        content: &content,
        companion: Some(companion.as_slice()).filter(|companion| !companion.is_empty()),
        format: None,
        graph: args.graph.as_deref(),
        name: None,
    })?;
    let input = match (&args.input, &args.path) {
        (Some(text), _) => file::json(text)?,
        (None, Some(_)) => bytes::Bytes::new(),
        (None, None) => bytes::Bytes::from_static(EXAMPLE_INPUT.trim_ascii_end().as_bytes()),
    };
    Ok(Play {
        content,
        companion,
        imported,
        input,
    })
}

fn tell_next(args: &Args, summary: &Summary, kept: Option<&PathBuf>) {
    match kept {
        Some(folder) => {
            let data = folder.display();
            hint(&format!(
                "kept in {data}: start it again with `cambium up --data {data}`, then see"
            ));
            hint(&format!(
                "  cambium run-show {} --data {data}",
                summary.run_id
            ));
        }
        None if args.path.is_none() => {
            hint(
                "next: cambium demo FILE            a graph of yours: our YAML, WfFormat, CrewAI, Argo, GitHub Actions, dbt",
            );
            hint("      cambium up                   a stack that stays");
            hint("      cambium worker --help        a worker around any program");
        }
        None => {
            hint("next: `cambium up`, then `cambium run FILE --watch` with workers of your own")
        }
    }
}

/// Reads how many times faster than recorded.
pub(crate) fn speed(text: &str) -> anyhow::Result<f64> {
    let speed: f64 = text.parse()?;
    anyhow::ensure!(speed.is_finite() && speed > 0.0, "it must be above 0");
    Ok(speed)
}

/// Whether a run came to a good end.
type Played = (Summary, RunState);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_example_is_a_sound_graph_and_its_input_is_json() {
        let args = Args {
            path: None,
            graph: None,
            agents: None,
            input: None,
            workers: 1,
            speed: None,
            keep: false,
            swarm: false,
            costs: None,
        };

        let play = read(&args).unwrap();

        assert_eq!(play.imported.warnings, Vec::<String>::new());
        assert!(
            serde_json::from_slice::<serde_json::Value>(&play.input)
                .unwrap()
                .is_object()
        );
        assert!(play.imported.graph.nodes.len() >= 12);
    }

    #[test]
    fn a_speed_is_above_zero() {
        assert_eq!(speed("12.5").unwrap(), 12.5);
        for bad in ["0", "-1", "NaN", "inf", "fast"] {
            assert!(speed(bad).is_err(), "{bad}");
        }
    }
}

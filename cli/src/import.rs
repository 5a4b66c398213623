//! `cambium import`: turns a file of another system into our own form. Asks no service.

use clap::ValueEnum;

use crate::context::{Context, emit, hint};
use crate::exit::Exit;
use crate::graph;

/// Convert a file to our own form
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  cambium import ci.yml --to yaml > jobs.yaml\n  cambium import manifest.json.gz --graph parent_map --to json"
)]
pub(crate) struct Args {
    #[command(flatten)]
    file: graph::File,
    #[arg(long, value_enum, default_value_t = Form::Yaml)]
    to: Form,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Form {
    Yaml,
    Json,
}

pub(crate) fn run(args: &Args, context: &Context) -> anyhow::Result<Exit> {
    let imported = args.file.import()?;
    hint(&format!(
        "{} file: {}",
        imported.format,
        graph::size(&imported.graph)
    ));
    if imported.graphs.len() > 1 {
        hint(&format!(
            "the file has the graphs {}: choose with --graph",
            imported.graphs.join(", ")
        ));
    }
    let to = if context.globals.json {
        Form::Json
    } else {
        args.to
    };
    emit(&match to {
        Form::Yaml => cambium_formats::to_yaml(&imported.graph),
        Form::Json => cambium_formats::to_json(&imported.graph),
    });
    Ok(Exit::Done)
}

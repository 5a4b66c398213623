//! The `cambium` command: asks the services and prints what they say. Decides nothing.

mod agent_show;
mod agents;
mod alerts;
mod anomalies;
mod ask;
mod bar;
mod bench;
mod call;
mod cancel;
mod clock;
mod command;
mod commons;
mod completions;
mod context;
mod credentials;
mod demo;
mod discovery;
mod enroll;
mod exit;
mod failure;
mod file;
mod folder;
mod follow;
mod graph;
mod import;
mod json;
mod learnings;
mod live;
mod mark;
mod names;
mod pause;
mod policy;
mod quarantine;
mod quarantines;
mod release;
mod rerun;
mod resume;
mod retire;
mod rules;
mod run;
mod run_name;
mod run_show;
mod runs;
mod shell;
mod signal;
mod spawn;
mod stack;
mod standing;
mod summary;
mod table;
mod tasks;
mod templates;
mod token;
mod trust;
mod up;
mod watch;
mod weights;
mod why;
mod why_agent;
mod worker;

use clap::Parser as _;

#[tokio::main]
async fn main() -> std::process::ExitCode {
    let cli = command::Cli::parse();
    let context = context::Context::new(cli.globals);
    match cli.command.run(&context).await {
        Ok(exit) => exit.into(),
        Err(error) => failure::report(&error, context.globals.json).into(),
    }
}

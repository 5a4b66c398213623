//! The `cambium` command: asks the services and prints what they say. Decides nothing.

mod agenda;
mod agent_show;
mod agents;
mod alerts;
mod anomalies;
mod ask;
mod audit;
mod bar;
mod bench;
mod call;
mod cancel;
mod cite;
mod citing;
mod clock;
mod command;
mod commons;
mod completions;
mod context;
mod control;
mod credentials;
mod demo;
mod dial;
mod discovery;
mod enroll;
mod exit;
mod failure;
mod file;
mod folder;
mod follow;
mod fsck;
mod graph;
mod hand_off;
mod import;
mod json;
mod lead;
mod learnings;
mod lend;
mod live;
mod loans;
mod mark;
mod millionths;
mod mind;
mod minds;
mod money;
mod names;
mod page;
mod pause;
mod persona;
mod policy;
mod quarantine;
mod quarantines;
mod question;
mod record;
mod release;
mod rerun;
mod rest;
mod resume;
mod retire;
mod retire_request;
mod reviews;
mod rule;
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
mod stream;
mod summary;
mod table;
mod target;
mod tasks;
mod templates;
mod timeline;
mod token;
mod trust;
mod turn_show;
mod turns;
mod up;
mod wallet;
mod watch;
mod weights;
mod why;
mod why_agent;
mod why_mind;
mod work;
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

//! `cambium completions`: what a shell needs to complete our commands.

use clap::CommandFactory as _;
use clap_complete::Shell;

use crate::command::Cli;
use crate::exit::Exit;

/// Print a shell's completion script
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example:\n  cambium completions bash > ~/.local/share/bash-completion/completions/cambium"
)]
pub(crate) struct Args {
    shell: Shell,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<Exit> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "cambium", &mut script);
    crate::context::emit(&String::from_utf8(script)?);
    Ok(Exit::Done)
}

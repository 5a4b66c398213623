//! The commands, and the flags that all of them share.

#[cfg(test)]
mod lines;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

use crate::context::Context;
use crate::exit::Exit;
use crate::*;

/// Coordinates fleets of AI agents: graphs of work, done durably, with every handoff measured.
#[derive(Debug, Parser)]
#[command(
    name = "cambium",
    version,
    after_help = "Examples:\n  cambium demo                      # see a whole graph done\n  cambium up                        # start everything on this machine\n  cambium run graph.yaml --watch    # have your own graph done\n\nExit codes: 0 done, 1 what was asked for failed, 2 wrong usage or bad file, 3 cannot reach the service, 4 refused"
)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) globals: Globals,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// What every command understands.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Global options")]
pub(crate) struct Globals {
    /// Where the services listen [else CAMBIUM_SERVER, a running `cambium up`, https://localhost:7070]
    #[arg(long, global = true, value_name = "URL")]
    pub(crate) server: Option<String>,
    /// The data folder of `cambium up`
    #[arg(long, global = true, value_name = "DIR")]
    pub(crate) data: Option<PathBuf>,
    /// A file that holds the token to show [else CAMBIUM_TOKEN, a file in CAMBIUM_TOKEN_FILE, or signed with the data folder's key]
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) token_file: Option<PathBuf>,
    /// The workspace [else CAMBIUM_WORKSPACE, `default`]
    #[arg(long, global = true, value_name = "NAME")]
    pub(crate) workspace: Option<String>,
    /// Act as this agent, by name or id (operators only)
    #[arg(long = "as", global = true, value_name = "AGENT")]
    pub(crate) as_agent: Option<String>,
    /// Print one JSON document, or one per line for streams
    #[arg(long, global = true)]
    pub(crate) json: bool,
}

impl Globals {
    /// The flags that say where and as whom, as they are typed behind a command that is to reach the same.
    pub(crate) fn again(&self) -> String {
        let path = |path: &PathBuf| path.display().to_string();
        let flags = [
            ("--server", self.server.clone()),
            ("--data", self.data.as_ref().map(path)),
            ("--token-file", self.token_file.as_ref().map(path)),
            ("--workspace", self.workspace.clone()),
            ("--as", self.as_agent.clone()),
        ];
        let given = flags
            .into_iter()
            .filter_map(|(name, value)| Some(format!(" {name} {}", shell::word(&value?))));
        given.collect()
    }
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Up(up::Args),
    Demo(demo::Args),
    Run(run::Args),
    Graph(graph::Args),
    Import(import::Args),
    Runs(runs::Args),
    RunShow(run_show::Args),
    Watch(watch::Args),
    Cancel(cancel::Args),
    Pause(pause::Args),
    Resume(resume::Args),
    Rerun(rerun::Args),
    Signal(signal::Args),
    Why(why::Args),
    WhyAgent(why_agent::Args),
    Worker(worker::Args),
    Agents(agents::Args),
    AgentShow(agent_show::Args),
    Enroll(enroll::Args),
    Spawn(spawn::Args),
    Retire(retire::Args),
    Templates(templates::Args),
    Learnings(learnings::Args),
    Trust(trust::Args),
    Quarantine(quarantine::Args),
    Release(release::Args),
    Quarantines(quarantines::Args),
    Rules(rules::Args),
    Anomalies(anomalies::Args),
    Alerts(alerts::Args),
    Policy(policy::Args),
    Weights(weights::Args),
    Mark(mark::Args),
    Minds(minds::Args),
    Mind(mind::Args),
    Dial(dial::Args),
    Wallet(wallet::Args),
    Control(control::Args),
    Timeline(timeline::Args),
    Turns(turns::Args),
    TurnShow(turn_show::Args),
    WhyMind(why_mind::Args),
    Loans(loans::Args),
    Lead(lead::Args),
    Work(work::Args),
    Persona(persona::Args),
    Record(record::Args),
    Reviews(reviews::Args),
    Rest(rest::Args),
    Agenda(agenda::Args),
    Lend(lend::Args),
    HandOff(hand_off::Args),
    Rule(rule::Args),
    Question(question::Args),
    Cite(cite::Args),
    RetireRequest(retire_request::Args),
    Audit(audit::Args),
    Token(token::Args),
    Call(call::Args),
    Fsck(fsck::Args),
    Bench(bench::Args),
    Completions(completions::Args),
}

impl Command {
    pub(crate) async fn run(self, context: &Context) -> anyhow::Result<Exit> {
        match self {
            Self::Up(args) => Box::pin(up::run(args, context)).await,
            Self::Demo(args) => Box::pin(demo::run(args, context)).await,
            Self::Run(args) => run::run(args, context).await,
            Self::Graph(args) => graph::run(args, context).await,
            Self::Import(args) => import::run(&args, context),
            Self::Runs(args) => runs::run(args, context).await,
            Self::RunShow(args) => run_show::run(args, context).await,
            Self::Watch(args) => watch::run(args, context).await,
            Self::Cancel(args) => cancel::run(args, context).await,
            Self::Pause(args) => pause::run(args, context).await,
            Self::Resume(args) => resume::run(args, context).await,
            Self::Rerun(args) => rerun::run(args, context).await,
            Self::Signal(args) => signal::run(args, context).await,
            Self::Why(args) => why::run(args, context).await,
            Self::WhyAgent(args) => why_agent::run(args, context).await,
            Self::Worker(args) => Box::pin(worker::run(args, context)).await,
            Self::Agents(args) => agents::run(args, context).await,
            Self::AgentShow(args) => agent_show::run(args, context).await,
            Self::Enroll(args) => enroll::run(args, context).await,
            Self::Spawn(args) => spawn::run(args, context).await,
            Self::Retire(args) => retire::run(args, context).await,
            Self::Templates(args) => templates::run(args, context).await,
            Self::Learnings(args) => learnings::run(args, context).await,
            Self::Trust(args) => trust::run(args, context).await,
            Self::Quarantine(args) => quarantine::run(args, context).await,
            Self::Release(args) => release::run(args, context).await,
            Self::Quarantines(args) => quarantines::run(args, context).await,
            Self::Rules(args) => rules::run(args, context).await,
            Self::Anomalies(args) => anomalies::run(args, context).await,
            Self::Alerts(args) => alerts::run(args, context).await,
            Self::Policy(args) => policy::run(args, context).await,
            Self::Weights(args) => weights::run(args, context).await,
            Self::Mark(args) => mark::run(args, context).await,
            Self::Minds(args) => minds::run(args, context).await,
            Self::Mind(args) => Box::pin(mind::run(args, context)).await,
            Self::Dial(args) => dial::run(args, context).await,
            Self::Wallet(args) => wallet::run(args, context).await,
            Self::Control(args) => control::run(args, context).await,
            Self::Timeline(args) => timeline::run(args, context).await,
            Self::Turns(args) => turns::run(args, context).await,
            Self::TurnShow(args) => turn_show::run(args, context).await,
            Self::WhyMind(args) => why_mind::run(args, context).await,
            Self::Loans(args) => loans::run(args, context).await,
            Self::Lead(args) => lead::run(args, context).await,
            Self::Work(args) => work::run(args, context).await,
            Self::Persona(args) => persona::run(args, context).await,
            Self::Record(args) => record::run(args, context).await,
            Self::Reviews(args) => reviews::run(args, context).await,
            Self::Rest(args) => rest::run(args, context).await,
            Self::Agenda(args) => agenda::run(args, context).await,
            Self::Lend(args) => lend::run(args, context).await,
            Self::HandOff(args) => hand_off::run(args, context).await,
            Self::Rule(args) => rule::run(args, context).await,
            Self::Question(args) => question::run(args, context).await,
            Self::Cite(args) => cite::run(args, context).await,
            Self::RetireRequest(args) => retire_request::run(args, context).await,
            Self::Audit(args) => audit::run(args, context).await,
            Self::Token(args) => token::run(args, context).await,
            Self::Call(args) => call::run(args, context).await,
            Self::Fsck(args) => fsck::run(args, context).await,
            Self::Bench(args) => Box::pin(bench::run(args, context)).await,
            Self::Completions(args) => completions::run(&args, context),
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    fn without_example(command: &clap::Command, path: &str, found: &mut Vec<String>) {
        let path = format!("{path} {}", command.get_name());
        let help = command
            .get_after_help()
            .map(ToString::to_string)
            .unwrap_or_default();
        if !help.contains("cambium ") {
            found.push(path.clone());
        }
        for inner in command
            .get_subcommands()
            .filter(|inner| !inner.is_hide_set())
        {
            without_example(inner, &path, found);
        }
    }

    #[test]
    fn every_help_shows_an_example() {
        let mut found = Vec::new();

        without_example(&Cli::command(), "", &mut found);

        assert_eq!(found, Vec::<String>::new());
    }

    #[test]
    fn every_command_says_what_it_does() {
        let cli = Cli::command();

        let silent: Vec<&str> = cli
            .get_subcommands()
            .filter(|command| command.get_about().is_none())
            .map(clap::Command::get_name)
            .collect();

        assert_eq!(silent, Vec::<&str>::new());
    }

    #[test]
    fn flags_are_repeated_so_that_a_shell_reads_them() {
        let globals = Globals {
            data: Some("my data".into()),
            workspace: Some("north".to_owned()),
            json: true,
            ..Globals::default()
        };

        assert_eq!(globals.again(), " --data 'my data' --workspace north");
        assert_eq!(Globals::default().again(), "");
    }

    #[test]
    fn the_definition_is_sound() {
        Cli::command().debug_assert();
    }
}

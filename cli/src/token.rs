//! `cambium token`: prints a short token for other tools.

use cambium_service_kit::principal::Kind;
use chrono::TimeDelta;
use serde::Serialize;

use crate::clock;
use crate::context::Context;
use crate::credentials::{OPERATOR_LIFE, agent_wish, operator_wish, program_wish, sign};
use crate::exit::Exit;
use crate::failure::Refusal;

/// Print a token for grpcurl, buf curl and the like; with --as, an agent's, with --kind, a program's
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  cambium token\n  cambium token --as ada --ttl 5m\n  cambium token --kind meter --ttl 12h\n\nWith buf, for one (`cambium up` prints the address):\n  buf curl --protocol grpc --http2-prior-knowledge -H \"authorization: Bearer $(cambium token)\" --reflect-header '*' -d '{\"workspace_id\":\"default\"}' http://127.0.0.1:7070/cambium.hypha.v1.RunService/ListRuns"
)]
pub(crate) struct Args {
    /// How long it is good for, as in 90s or 5m; at most 15m, of a meter or a scheduler at most 24h
    #[arg(long, value_name = "TIME", default_value = "15m", value_parser = clock::span)]
    ttl: TimeDelta,
    /// For a program that measures what turns cost, or that asks for the next turn
    #[arg(long, value_enum, conflicts_with = "as_agent")]
    kind: Option<Program>,
    /// What that program is called [default: its kind]
    #[arg(long, value_name = "NAME", requires = "kind")]
    name: Option<String>,
}

/// What lets itself be let in by an operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Program {
    Meter,
    Scheduler,
}

impl From<Program> for Kind {
    fn from(program: Program) -> Self {
        match program {
            Program::Meter => Self::Meter,
            Program::Scheduler => Self::Scheduler,
        }
    }
}

#[derive(Serialize)]
struct Printed {
    token: String,
}

pub(crate) async fn run(args: Args, context: &Context) -> anyhow::Result<Exit> {
    let folder = context.folder();
    if !folder.key("operator").exists() {
        return Err(Refusal::NoKey.into());
    }
    let ttl = life(args.ttl, args.kind)?;
    let wish = match (args.kind, &context.globals.as_agent) {
        (Some(program), _) => {
            let kind = Kind::from(program);
            let name = args.name.unwrap_or_else(|| kind.as_str().to_owned());
            program_wish(kind, name, context.workspace(), ttl)
        }
        (None, None) => operator_wish(ttl),
        (None, Some(name)) => {
            let agent = context.agent(&context.own_connection()?, name).await?;
            agent_wish(&agent.agent_id, &context.workspace(), ttl)
        }
    };
    let printed = Printed {
        token: sign(&folder, wish)?,
    };
    context.print_value(&printed, |printed| printed.token.clone())?;
    Ok(Exit::Done)
}

/// Holds a length of time to what a token of that kind may live.
fn life(ttl: TimeDelta, kind: Option<Program>) -> Result<TimeDelta, Refusal> {
    let (most, told) = match kind {
        Some(_) => (TimeDelta::hours(24), "24h"),
        None => (OPERATOR_LIFE, "15m"),
    };
    if ttl <= TimeDelta::zero() || ttl > most {
        return Err(Refusal::Usage(format!("--ttl must be from 1s to {told}")));
    }
    Ok(ttl)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_lives_as_long_as_its_kind_may() {
        let minutes = TimeDelta::minutes;

        assert_eq!(life(minutes(5), None).unwrap(), minutes(5));
        assert_eq!(
            life(minutes(60), Some(Program::Meter)).unwrap(),
            minutes(60)
        );
        for (ttl, kind) in [
            (minutes(16), None),
            (minutes(0), None),
            (minutes(24 * 60 + 1), Some(Program::Scheduler)),
        ] {
            assert!(life(ttl, kind).is_err(), "{ttl} {kind:?}");
        }
    }
}

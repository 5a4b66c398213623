//! `cambium quarantine`: takes an agent out of work for a while.

use cambium_proto::immune::v1::{Quarantine, QuarantineAgentRequest};
use chrono::TimeDelta;

use crate::ask::ask;
use crate::context::{Context, hint, request_id};
use crate::exit::Exit;
use crate::table::moment;
use crate::{clock, shell};

/// Take an agent out of work: it loses what it holds and gets nothing new until the time is up
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  cambium quarantine ada --reason 'made up its sources'\n  cambium quarantine ada --reason 'still does' --for 24h --over-cap"
)]
pub(crate) struct Args {
    /// A name or an id
    agent: String,
    #[arg(long, value_name = "TEXT")]
    reason: String,
    /// How long, as in 90s, 10m, 24h or 7d [default: 10m the first time, twice as long each time up to 24h]
    #[arg(long = "for", value_name = "TIME", value_parser = clock::span)]
    span: Option<TimeDelta>,
    /// Even if too few would be left who can do what it can
    #[arg(long)]
    over_cap: bool,
}

pub(crate) async fn run(args: Args, context: &Context) -> anyhow::Result<Exit> {
    let connection = context.connection().await?;
    let agent = context.agent(&connection, &args.agent).await?;
    let request = QuarantineAgentRequest {
        workspace_id: context.workspace(),
        request_id: request_id(),
        agent_id: agent.agent_id,
        reason: args.reason,
        duration: args.span.map(clock::duration),
        over_cap: args.over_cap,
    };
    let reply = ask!(connection, quarantines.quarantine_agent(request))?;
    context.print(&reply, |reply| {
        told(&agent.name, &reply.quarantine.clone().unwrap_or_default())
    })?;
    hint(&format!(
        "undo it with: cambium release {} --reason TEXT{}",
        shell::word(&args.agent),
        context.globals.again()
    ));
    Ok(Exit::Done)
}

fn told(name: &str, quarantine: &Quarantine) -> String {
    let until = moment(quarantine.end_time.as_ref());
    let times = match quarantine.count {
        0 | 1 => "for the first time".to_owned(),
        count => format!("for the {count}. time"),
    };
    format!("{name} is in quarantine until {until}, {times}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_says_until_when_and_how_often_it_was_there() {
        let quarantine = Quarantine {
            count: 3,
            end_time: Some(prost_types::Timestamp::default()),
            ..Quarantine::default()
        };

        let told = told("ada", &quarantine);

        assert_eq!(
            told,
            "ada is in quarantine until 1970-01-01T00:00:00Z, for the 3. time"
        );
    }
}

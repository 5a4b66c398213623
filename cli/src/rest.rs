//! `cambium rest`: a mind takes no turn for a while. Its own to say.

use cambium_proto::swarm::v1::{EndRestRequest, RestRequest};
use chrono::{DateTime, TimeDelta, Utc};
use clap::ArgGroup;

use crate::ask::ask;
use crate::clock;
use crate::context::{Context, request_id};
use crate::exit::Exit;
use crate::mind::line;

/// Rest: no turn until then, and nothing lost; as the mind itself, inside `cambium mind operate`
#[derive(Debug, clap::Args)]
#[command(
    group(ArgGroup::new("how").required(true)),
    after_help = "Examples:\n  cambium rest --for 2h\n  cambium rest --until 2026-03-01T09:00:00Z\n  cambium rest --end"
)]
pub(crate) struct Args {
    /// How long, as in 90s, 10m, 24h or 7d; at most 30d
    #[arg(long = "for", value_name = "TIME", group = "how", value_parser = clock::span)]
    span: Option<TimeDelta>,
    /// A date, or a time as in 2026-03-01T09:00:00Z
    #[arg(long, value_name = "INSTANT", group = "how", value_parser = clock::instant)]
    until: Option<DateTime<Utc>>,
    /// Rest no longer
    #[arg(long, group = "how")]
    end: bool,
}

pub(crate) async fn run(args: Args, context: &Context) -> anyhow::Result<Exit> {
    let connection = context.as_mind().await?;
    if args.end {
        let request = EndRestRequest {
            workspace_id: context.workspace(),
            request_id: request_id(),
        };
        let reply = ask!(connection, minds.end_rest(request))?;
        context.print(&reply, |reply| line(reply.mind.as_ref()))?;
        return Ok(Exit::Done);
    }
    let request = RestRequest {
        workspace_id: context.workspace(),
        request_id: request_id(),
        until: clock::until(args.span, args.until)?,
    };
    let reply = ask!(connection, minds.rest(request))?;
    context.print(&reply, |reply| line(reply.mind.as_ref()))?;
    Ok(Exit::Done)
}

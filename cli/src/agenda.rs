//! `cambium agenda`: what wakes a mind. Its own to say.

use cambium_proto::swarm::v1::{SetAgendaRequest, Wakes};
use chrono::{DateTime, TimeDelta, Utc};
use clap::ArgGroup;

use crate::ask::ask;
use crate::clock;
use crate::context::{Context, request_id};
use crate::exit::Exit;
use crate::mind::{Waking, line};

/// Say what wakes the mind; as the mind itself, inside `cambium mind operate`
#[derive(Debug, clap::Args)]
#[command(
    group(ArgGroup::new("what").required(true).multiple(true)),
    after_help = "Examples:\n  cambium agenda --wakes always\n  cambium agenda --wake-in 8h"
)]
pub(crate) struct Args {
    #[arg(long, value_enum, group = "what")]
    wakes: Option<Waking>,
    /// A turn is due in this time, as in 10m, 8h or 7d
    #[arg(long, value_name = "TIME", group = "what", value_parser = clock::span)]
    wake_in: Option<TimeDelta>,
    /// A turn is due at this time, as in 2026-03-01T09:00:00Z
    #[arg(long, value_name = "INSTANT", group = "what", conflicts_with = "wake_in", value_parser = clock::instant)]
    wake_at: Option<DateTime<Utc>>,
}

pub(crate) async fn run(args: Args, context: &Context) -> anyhow::Result<Exit> {
    let connection = context.as_mind().await?;
    let wakes = args.wakes.map(Wakes::from);
    let request = SetAgendaRequest {
        workspace_id: context.workspace(),
        request_id: request_id(),
        wakes: wakes.unwrap_or_default().into(),
        wake_at: clock::until(args.wake_in, args.wake_at)?,
    };
    let reply = ask!(connection, minds.set_agenda(request))?;
    context.print(&reply, |reply| line(reply.mind.as_ref()))?;
    Ok(Exit::Done)
}

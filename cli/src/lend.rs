//! `cambium lend`: a mind gives another of its share for a time. Its own to give.

use cambium_proto::swarm::v1::LendShareRequest;
use chrono::{DateTime, TimeDelta, Utc};
use clap::ArgGroup;

use crate::ask::ask;
use crate::context::{Context, request_id};
use crate::exit::Exit;
use crate::loans::line;
use crate::{clock, millionths};

/// Lend another mind of one's own share, at most half of it and a day; as the mind itself, inside `cambium mind operate`
#[derive(Debug, clap::Args)]
#[command(
    group(ArgGroup::new("how").required(true)),
    after_help = "Example:\n  cambium lend weksa 0.5 --for 2h\n\nWhat is lent comes back by itself; the borrower may give it back before (`cambium loans return`)."
)]
pub(crate) struct Args {
    /// Who gets it
    #[arg(value_name = "MIND")]
    borrower: String,
    /// As in 1 or 0.5
    #[arg(value_name = "SHARE", value_parser = millionths::number)]
    share: i64,
    /// How long, as in 90s, 10m or 24h; at most 24h
    #[arg(long = "for", value_name = "TIME", group = "how", value_parser = clock::span)]
    span: Option<TimeDelta>,
    /// A time as in 2026-03-01T09:00:00Z
    #[arg(long, value_name = "INSTANT", group = "how", value_parser = clock::instant)]
    until: Option<DateTime<Utc>>,
}

pub(crate) async fn run(args: Args, context: &Context) -> anyhow::Result<Exit> {
    let connection = context.as_mind().await?;
    let request = LendShareRequest {
        workspace_id: context.workspace(),
        request_id: request_id(),
        borrower: args.borrower,
        share_ppm: args.share,
        until: clock::until(args.span, args.until)?,
    };
    let reply = ask!(connection, loans.lend_share(request))?;
    context.print(&reply, |reply| line(reply.loan.as_ref()))?;
    Ok(Exit::Done)
}

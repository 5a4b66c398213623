//! What a mind does with work, as itself.

use cambium_proto::swarm::v1::{CompleteWorkRequest, ReturnWorkRequest, RouteWorkRequest};

use super::line;
use crate::ask::ask;
use crate::citing::{self, Cited};
use crate::context::{Context, request_id};
use crate::exit::Exit;

/// Say that it is done, as the mind that holds it: inside `cambium mind operate`
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example:\n  cambium work complete 01977f3a-5c1e-7d44-9a51-0d7a2f6b8c10 --result docs/guide.md"
)]
pub(super) struct Complete {
    #[arg(value_name = "WORK")]
    work: String,
    /// Where the result is, in a line
    #[arg(
        long,
        value_name = "TEXT",
        default_value = "",
        hide_default_value = true
    )]
    result: String,
}

pub(super) async fn complete(args: Complete, context: &Context) -> anyhow::Result<Exit> {
    let connection = context.as_mind().await?;
    let request = CompleteWorkRequest {
        workspace_id: context.workspace(),
        request_id: request_id(),
        work_id: args.work,
        result_ref: args.result,
    };
    let reply = ask!(connection, routing.complete_work(request))?;
    context.print(&reply, |reply| line(reply.work.as_ref()))?;
    Ok(Exit::Done)
}

/// Give it back to whoever leads, as the mind that holds it: inside `cambium mind operate`
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example:\n  cambium work return 01977f3a-5c1e-7d44-9a51-0d7a2f6b8c10 --reason 'not my field'"
)]
pub(super) struct Return {
    #[arg(value_name = "WORK")]
    work: String,
    #[arg(long, value_name = "TEXT")]
    reason: String,
}

pub(super) async fn give_back(args: Return, context: &Context) -> anyhow::Result<Exit> {
    let connection = context.as_mind().await?;
    let request = ReturnWorkRequest {
        workspace_id: context.workspace(),
        request_id: request_id(),
        work_id: args.work,
        reason: args.reason,
    };
    let reply = ask!(connection, routing.return_work(request))?;
    context.print(&reply, |reply| line(reply.work.as_ref()))?;
    Ok(Exit::Done)
}

/// Offer work that is for nobody by name to a mind, as the lead: inside `cambium mind operate`
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example:\n  cambium work route 01977f3a-5c1e-7d44-9a51-0d7a2f6b8c10 weksa --reason 'it wrote that chapter'"
)]
pub(super) struct Route {
    #[arg(value_name = "WORK")]
    work: String,
    #[arg(value_name = "MIND")]
    to: String,
    #[arg(long, value_name = "TEXT")]
    reason: String,
    /// A document that speaks for it: ID, or ID@SHA256
    #[arg(long = "ref", value_name = "DOCUMENT", value_parser = citing::read)]
    refs: Vec<Cited>,
}

pub(super) async fn route(args: Route, context: &Context) -> anyhow::Result<Exit> {
    let connection = context.as_mind().await?;
    let request = RouteWorkRequest {
        workspace_id: context.workspace(),
        request_id: request_id(),
        work_id: args.work,
        to: args.to,
        refs: citing::cited(&connection, context, &args.refs).await?,
        reason: args.reason,
    };
    let reply = ask!(connection, routing.route_work(request))?;
    context.print(&reply, |reply| reply.offer.clone().unwrap_or_default().id)?;
    Ok(Exit::Done)
}

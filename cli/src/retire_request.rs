//! `cambium retire-request`: a mind asks to go. The right to ask is its own; its operator retires it.

use cambium_proto::swarm::v1::{RequestRetirementRequest, WithdrawRequestRequest};

use crate::ask::ask;
use crate::context::{Context, request_id};
use crate::exit::Exit;
use crate::mind::line;

/// Ask the operator to retire the mind; as the mind itself, inside `cambium mind operate`
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  cambium retire-request --reason 'my work is done'\n  cambium retire-request --withdraw"
)]
pub(crate) struct Args {
    #[arg(long, value_name = "TEXT", required_unless_present = "withdraw")]
    reason: Option<String>,
    /// Stay after all
    #[arg(long, conflicts_with = "reason")]
    withdraw: bool,
}

pub(crate) async fn run(args: Args, context: &Context) -> anyhow::Result<Exit> {
    let connection = context.as_mind().await?;
    let Some(reason) = args.reason else {
        let request = WithdrawRequestRequest {
            workspace_id: context.workspace(),
            request_id: request_id(),
        };
        let reply = ask!(connection, minds.withdraw_request(request))?;
        context.print(&reply, |reply| line(reply.mind.as_ref()))?;
        return Ok(Exit::Done);
    };
    let request = RequestRetirementRequest {
        workspace_id: context.workspace(),
        request_id: request_id(),
        reason,
    };
    let reply = ask!(connection, minds.request_retirement(request))?;
    context.print(&reply, |reply| line(reply.mind.as_ref()))?;
    Ok(Exit::Done)
}

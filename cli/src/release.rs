//! `cambium release`: ends an agent's quarantine before its time.

use cambium_proto::immune::v1::ReleaseQuarantineRequest;

use crate::ask::ask;
use crate::context::{Context, hint, request_id};
use crate::exit::Exit;
use crate::shell;

/// Let an agent out of quarantine at once
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  cambium release ada --reason 'the sources exist'")]
pub(crate) struct Args {
    /// A name or an id
    agent: String,
    #[arg(long, value_name = "TEXT")]
    reason: String,
}

pub(crate) async fn run(args: Args, context: &Context) -> anyhow::Result<Exit> {
    let connection = context.connection().await?;
    let agent = context.agent(&connection, &args.agent).await?;
    let request = ReleaseQuarantineRequest {
        workspace_id: context.workspace(),
        request_id: request_id(),
        agent_id: agent.agent_id,
        reason: args.reason,
    };
    let reply = ask!(connection, quarantines.release_quarantine(request))?;
    context.print(&reply, |reply| {
        let told = match reply.quarantine {
            Some(_) => "is released, on trial",
            None => "was in no quarantine",
        };
        format!("{} {told}", agent.name)
    })?;
    hint(&format!(
        "next: cambium agent-show {}{}",
        shell::word(&args.agent),
        context.globals.again()
    ));
    Ok(Exit::Done)
}

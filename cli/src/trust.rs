//! `cambium trust`: an operator's word on an agent.

use cambium_proto::immune::v1::AdjustTrustRequest;

use crate::ask::ask;
use crate::bar::bar;
use crate::context::{Context, hint, request_id};
use crate::exit::Exit;
use crate::shell;

/// Add to an agent's trust, or take from it, with a reason
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  cambium trust ada --by 0.05 --reason 'checked by hand'\n  cambium trust ada --by -0.1 --reason 'made up a source'"
)]
pub(crate) struct Args {
    /// A name or an id
    agent: String,
    /// Between -1 and 1
    #[arg(long, value_name = "X", allow_negative_numbers = true)]
    by: f64,
    #[arg(long, value_name = "TEXT")]
    reason: String,
}

pub(crate) async fn run(args: Args, context: &Context) -> anyhow::Result<Exit> {
    let connection = context.connection().await?;
    let agent = context.agent(&connection, &args.agent).await?;
    let request = AdjustTrustRequest {
        workspace_id: context.workspace(),
        request_id: request_id(),
        agent_id: agent.agent_id,
        delta: args.by,
        reason: args.reason,
    };
    let reply = ask!(connection, standings.adjust_trust(request))?;
    context.print(&reply, |reply| {
        let trust = reply
            .standing
            .as_ref()
            .map_or(0.0, |standing| standing.trust);
        format!("trust of {} {}", agent.name, bar(trust))
    })?;
    hint(&format!(
        "next: cambium why-agent {} --score trust{}",
        shell::word(&args.agent),
        context.globals.again()
    ));
    Ok(Exit::Done)
}

//! `cambium agent-show`: one agent.

use cambium_proto::genesis::v1::GetAgentResponse;

use crate::context::Context;
use crate::exit::Exit;
use crate::json::word;
use crate::table::moment;

/// Show one agent
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  cambium agent-show ada")]
pub(crate) struct Args {
    /// A name or an id
    agent: String,
}

pub(crate) async fn run(args: Args, context: &Context) -> anyhow::Result<Exit> {
    let connection = context.connection().await?;
    let agent = context.agent(&connection, &args.agent).await?;
    context.print(&GetAgentResponse { agent: Some(agent) }, |reply| {
        let agent = reply.agent.clone().unwrap_or_default();
        format!(
            "{}\n  agent         {}\n  state         {}\n  capabilities  {}\n  enrolled      {}",
            agent.name,
            agent.agent_id,
            word(agent.state().as_str_name(), "AGENT_STATE_"),
            agent.capabilities.join(", "),
            moment(agent.enroll_time.as_ref()),
        )
    })?;
    Ok(Exit::Done)
}

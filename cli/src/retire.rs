//! `cambium retire`: ends an agent's life in good order.

use cambium_proto::genesis::v1::RetireAgentRequest;

use crate::context::{Context, request_id};
use crate::exit::Exit;
use crate::json::word;

/// Retire an agent: it gets no new work, and is composted when what it holds has ended
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example:\n  cambium retire ada --failure 'timeout in search' --hint 'ask for sources first'"
)]
pub(crate) struct Args {
    /// A name or an id
    agent: String,
    /// How its tasks fail; repeat for more
    #[arg(long = "failure", value_name = "TEXT")]
    failures: Vec<String>,
    /// Which way its tasks go well; repeat for more
    #[arg(long = "hint", value_name = "TEXT")]
    hints: Vec<String>,
}

pub(crate) async fn run(args: Args, context: &Context) -> anyhow::Result<Exit> {
    let connection = context.connection().await?;
    let agent = context.agent(&connection, &args.agent).await?;
    let request = RetireAgentRequest {
        workspace_id: context.workspace(),
        request_id: request_id(),
        agent_id: agent.agent_id,
        failure_patterns: args.failures,
        routing_hints: args.hints,
    };
    let reply = connection.retrying(|| {
        let (mut agents, request) = (connection.agents(), request.clone());
        async move { agents.retire_agent(request).await }
    });
    context.print(&reply.await?, |reply| {
        let agent = reply.agent.clone().unwrap_or_default();
        word(agent.state().as_str_name(), "AGENT_STATE_")
    })?;
    Ok(Exit::Done)
}

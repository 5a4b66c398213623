//! `cambium spawn`: makes an agent from a template.

use cambium_proto::genesis::v1::SpawnRequest;
use cambium_proto::genesis::v1::spawn_service_client::SpawnServiceClient;

use crate::context::{Context, hint, request_id};
use crate::exit::Exit;

/// Make an agent from a template
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  cambium spawn writer\n  cambium spawn writer --reason 'the report is late'"
)]
pub(crate) struct Args {
    /// A template's name
    template: String,
    /// The agent that spawns it, by name or id [default: none; with --as, that agent]
    #[arg(long, value_name = "AGENT")]
    parent: Option<String>,
    /// Why
    #[arg(long, value_name = "TEXT", default_value = "asked for by hand")]
    reason: String,
}

pub(crate) async fn run(args: Args, context: &Context) -> anyhow::Result<Exit> {
    let connection = context.connection().await?;
    let parent = match &args.parent {
        Some(name) => context.agent(&connection, name).await?.agent_id,
        None => String::new(),
    };
    let request = SpawnRequest {
        workspace_id: context.workspace(),
        request_id: request_id(),
        template: args.template,
        parent_agent_id: parent,
        reason: args.reason,
        requires: Vec::new(),
    };
    let reply = connection.retrying(|| {
        let mut spawns = SpawnServiceClient::new(connection.authorized());
        let request = request.clone();
        async move { spawns.spawn(request).await }
    });
    let mut reply = reply.await?;
    reply.agent_token.clear(); // a terminal is no place for it: `cambium token` mints one
    if reply.agent.is_none() && !context.globals.json {
        hint("it waits for an operator: cambium call genesis.SpawnService/DecideSpawn");
    }
    context.print(&reply, |reply| match &reply.agent {
        Some(agent) => format!("agent {} {}", agent.name, agent.agent_id),
        None => {
            let spawn = reply.spawn.clone().unwrap_or_default();
            format!("spawn {}", spawn.spawn_id)
        }
    })?;
    Ok(Exit::Done)
}

//! `cambium agents`: who works here.

use cambium_proto::genesis::v1::ListAgentsRequest;

use crate::context::{Context, hint};
use crate::exit::Exit;
use crate::json::word;
use crate::table::{moment, table};

/// List agents by name
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  cambium agents --workspace north")]
pub(crate) struct Args {
    #[arg(long, value_name = "N", default_value_t = 50)]
    page_size: i32,
    #[arg(
        long,
        value_name = "TOKEN",
        default_value = "",
        hide_default_value = true
    )]
    page_token: String,
}

pub(crate) async fn run(args: Args, context: &Context) -> anyhow::Result<Exit> {
    let connection = context.connection().await?;
    let request = ListAgentsRequest {
        workspace_id: context.workspace(),
        page_size: args.page_size,
        page_token: args.page_token,
    };
    let reply = connection.retrying(|| {
        let (mut agents, request) = (connection.agents(), request.clone());
        async move { agents.list_agents(request).await }
    });
    let reply = reply.await?;
    if !reply.next_page_token.is_empty() && !context.globals.json {
        hint(&format!(
            "more: cambium agents --page-token {}",
            reply.next_page_token
        ));
    }
    context.print(&reply, |reply| {
        let rows = reply.agents.iter().map(|agent| {
            [
                agent.name.clone(),
                agent.agent_id.clone(),
                word(agent.state().as_str_name(), "AGENT_STATE_"),
                agent.capabilities.join(", "),
                moment(agent.enroll_time.as_ref()),
            ]
        });
        table(["name", "agent", "state", "capabilities", "enrolled"], rows)
    })?;
    Ok(Exit::Done)
}

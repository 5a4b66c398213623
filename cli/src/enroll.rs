//! `cambium enroll`: makes an agent, and the token file with which a worker works for it elsewhere.

use std::path::PathBuf;

use cambium_client::Connection;
use cambium_proto::genesis::v1::{EnrollAgentRequest, EnrollAgentResponse};

use crate::context::{Context, hint, request_id};
use crate::exit::Exit;
use crate::folder::{make_private, write_private};

/// Enrol an agent and write its worker's token file
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example:\n  cambium enroll ada --capability role:writer --capability translate:is --out ada.token"
)]
pub(crate) struct Args {
    name: String,
    /// What the agent can do; repeat for more
    #[arg(long = "capability", value_name = "CAPABILITY", required = true)]
    capabilities: Vec<String>,
    /// Where to write the worker's token [default: agents/NAME.token in the data folder]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

pub(crate) async fn run(args: Args, context: &Context) -> anyhow::Result<Exit> {
    let connection = context.connection().await?;
    let reply = enroll(
        &connection,
        &context.workspace(),
        &args.name,
        &args.capabilities,
    )
    .await?;
    let path = args
        .out
        .unwrap_or_else(|| context.folder().agent_token(&args.name));
    if let Some(parent) = path
        .parent()
        .filter(|parent| !parent.as_os_str().is_empty() && !parent.exists())
    {
        make_private(parent)?;
    }
    write_private(&path, &format!("{}\n", reply.worker_token))?;
    context.print(&reply, |reply| {
        let agent = reply.agent.clone().unwrap_or_default();
        format!("agent {} {}", agent.name, agent.agent_id)
    })?;
    hint(&format!(
        "a worker for it: cambium worker --agent {} --token-file {} --exec CMD",
        args.name,
        path.display()
    ));
    Ok(Exit::Done)
}

/// Makes the agent, or finds it if it was made alike before.
pub(crate) async fn enroll(
    connection: &Connection,
    workspace: &str,
    name: &str,
    capabilities: &[String],
) -> anyhow::Result<EnrollAgentResponse> {
    let request = EnrollAgentRequest {
        workspace_id: workspace.to_owned(),
        request_id: request_id(),
        name: name.to_owned(),
        capabilities: capabilities.to_vec(),
        ..EnrollAgentRequest::default()
    };
    let reply = connection.retrying(|| {
        let (mut agents, request) = (connection.agents(), request.clone());
        async move { agents.enroll_agent(request).await }
    });
    Ok(reply.await?)
}

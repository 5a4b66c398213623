//! `cambium learnings`: what a template has learned, and how sure that is.

use cambium_client::Connection;
use cambium_proto::genesis::v1::template_service_client::TemplateServiceClient;
use cambium_proto::genesis::v1::{
    ExplainLearningRequest, ExplainLearningResponse, Fared, Learning, ListLearningsRequest,
    RollBackLearningRequest,
};
use clap::Subcommand;

use crate::context::{Context, hint, request_id};
use crate::exit::Exit;
use crate::json::word;
use crate::table::{moment, table};

/// Show what a template has learned, explain it, roll it back
#[derive(Debug, clap::Args)]
#[command(
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true,
    after_help = "Examples:\n  cambium learnings writer\n  cambium learnings writer --all --json"
)]
pub(crate) struct Args {
    #[command(subcommand)]
    verb: Option<Verb>,
    /// A template's name
    #[arg(required = true)]
    template: Option<String>,
    /// Also those that are gone
    #[arg(long)]
    all: bool,
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

#[derive(Debug, Subcommand)]
enum Verb {
    /// Say who confirmed a learning, when and with what success
    #[command(
        after_help = "Example:\n  cambium learnings explain 0193a0b2-7d1c-7c3e-9f00-3c2f5a7f1e11"
    )]
    Explain {
        /// A learning's id
        learning: String,
    },
    /// Take a learning out of its template
    #[command(
        after_help = "Example:\n  cambium learnings roll-back 0193a0b2-7d1c-7c3e-9f00-3c2f5a7f1e11 --reason 'it is wrong'"
    )]
    RollBack {
        /// A learning's id
        learning: String,
        /// Why
        #[arg(long, value_name = "TEXT")]
        reason: String,
    },
}

pub(crate) async fn run(args: Args, context: &Context) -> anyhow::Result<Exit> {
    let connection = context.connection().await?;
    match args.verb {
        None => list(args, context, &connection).await?,
        Some(Verb::Explain { learning }) => explain(learning, context, &connection).await?,
        Some(Verb::RollBack { learning, reason }) => {
            roll_back(learning, reason, context, &connection).await?;
        }
    }
    Ok(Exit::Done)
}

async fn list(args: Args, context: &Context, connection: &Connection) -> anyhow::Result<()> {
    let template = args.template.unwrap_or_default();
    let request = ListLearningsRequest {
        workspace_id: context.workspace(),
        template: template.clone(),
        include_removed: args.all,
        page_size: args.page_size,
        page_token: args.page_token,
    };
    let reply = connection.retrying(|| {
        let mut templates = TemplateServiceClient::new(connection.authorized());
        let request = request.clone();
        async move { templates.list_learnings(request).await }
    });
    let reply = reply.await?;
    if !reply.next_page_token.is_empty() && !context.globals.json {
        hint(&format!(
            "more: cambium learnings {template} --page-token {}",
            reply.next_page_token
        ));
    }
    context.print(&reply, |reply| {
        let rows = reply.learnings.iter().map(row);
        table(
            ["learning", "kind", "agents", "success", "state", "pattern"],
            rows,
        )
    })
}

fn row(learning: &Learning) -> [String; 6] {
    let flag = if learning.flagged { ", flagged" } else { "" };
    let state = word(learning.state().as_str_name(), "LEARNING_STATE_");
    [
        learning.learning_id.clone(),
        word(learning.kind().as_str_name(), "LEARNING_KIND_"),
        learning.source_agent_count.to_string(),
        format!("{:.2}", learning.success_correlation),
        format!("{state}{flag}"),
        learning.pattern.clone(),
    ]
}

async fn explain(
    learning_id: String,
    context: &Context,
    connection: &Connection,
) -> anyhow::Result<()> {
    let request = ExplainLearningRequest {
        workspace_id: context.workspace(),
        learning_id,
    };
    let reply = connection.retrying(|| {
        let mut templates = TemplateServiceClient::new(connection.authorized());
        let request = request.clone();
        async move { templates.explain_learning(request).await }
    });
    context.print(&reply.await?, explained)
}

fn explained(reply: &ExplainLearningResponse) -> String {
    let learning = reply.learning.clone().unwrap_or_default();
    let rows = reply.confirmations.iter().map(|one| {
        [
            one.agent_name.clone(),
            format!("{:.3}", one.success_rate),
            moment(one.time.as_ref()),
            if one.flagged { "flagged" } else { "" }.to_owned(),
        ]
    });
    let mut text = format!(
        "{}\n  {} of template {}, {}\n  success {:.3}, {} losses\n  with it     {}\n  without it  {}\n",
        learning.pattern,
        word(learning.kind().as_str_name(), "LEARNING_KIND_"),
        learning.template,
        word(learning.state().as_str_name(), "LEARNING_STATE_"),
        learning.success_correlation,
        learning.losses,
        fared(reply.with.as_ref()),
        fared(reply.without.as_ref()),
    );
    if !learning.remove_reason.is_empty() {
        text += &format!(
            "  gone since {}: {}\n",
            moment(learning.remove_time.as_ref()),
            learning.remove_reason
        );
    }
    text + "\n" + &table(["confirmed by", "success", "when", ""], rows)
}

/// How agents fared.
fn fared(fared: Option<&Fared>) -> String {
    match fared {
        Some(Fared {
            agents,
            mean_success_rate,
        }) if *agents > 0 => format!("{mean_success_rate:.3}, the mean of {agents} agents"),
        Some(_) | None => "nobody yet".to_owned(),
    }
}

async fn roll_back(
    learning_id: String,
    reason: String,
    context: &Context,
    connection: &Connection,
) -> anyhow::Result<()> {
    let request = RollBackLearningRequest {
        workspace_id: context.workspace(),
        request_id: request_id(),
        learning_id,
        reason,
    };
    let reply = connection.retrying(|| {
        let mut templates = TemplateServiceClient::new(connection.authorized());
        let request = request.clone();
        async move { templates.roll_back_learning(request).await }
    });
    context.print(&reply.await?, |reply| {
        let learning = reply.learning.clone().unwrap_or_default();
        word(learning.state().as_str_name(), "LEARNING_STATE_")
    })
}

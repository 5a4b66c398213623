//! `cambium anomalies`: what the rules have found.

use cambium_proto::immune::v1::{Anomaly, ListAnomaliesRequest};

use crate::ask::ask;
use crate::bar::bar;
use crate::context::{Context, hint};
use crate::exit::Exit;
use crate::json::word;
use crate::table::{moment, table};

/// List every firing of a rule, newest first
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  cambium anomalies\n  cambium anomalies --agent ada --json")]
pub(crate) struct Args {
    /// Only this agent's, by name or id
    #[arg(long, value_name = "AGENT")]
    agent: Option<String>,
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
    let agent_id = match &args.agent {
        Some(agent) => context.agent(&connection, agent).await?.agent_id,
        None => String::new(),
    };
    let request = ListAnomaliesRequest {
        workspace_id: context.workspace(),
        agent_id,
        page_size: args.page_size,
        page_token: args.page_token,
    };
    let reply = ask!(connection, rules.list_anomalies(request))?;
    if !reply.next_page_token.is_empty() && !context.globals.json {
        let token = &reply.next_page_token;
        hint(&format!("more: cambium anomalies --page-token {token}"));
    }
    context.print(&reply, |reply| {
        let head = ["when", "agent", "rule", "severity", "response", "detail"];
        table(head, reply.anomalies.iter().map(row))
    })?;
    Ok(Exit::Done)
}

fn row(anomaly: &Anomaly) -> [String; 6] {
    let response = word(anomaly.response().as_str_name(), "RULE_RESPONSE_");
    [
        moment(anomaly.occur_time.as_ref()),
        anomaly.agent_name.clone(),
        anomaly.rule_id.clone(),
        bar(anomaly.severity),
        if anomaly.dry_run {
            format!("{response}, dry run")
        } else {
            response
        },
        anomaly.detail.clone(),
    ]
}

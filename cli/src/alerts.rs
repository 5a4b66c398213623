//! `cambium alerts`: what a person should look at, and that somebody has.

use cambium_client::Connection;
use cambium_proto::immune::v1::{
    AcknowledgeAlertRequest, Alert, ListAlertsRequest, ListAlertsResponse,
};
use clap::Subcommand;

use crate::ask::ask;
use crate::bar::bar;
use crate::context::{Context, hint, request_id};
use crate::exit::Exit;
use crate::table::{moment, table};

/// List alerts, newest first, or say that one has been looked at
#[derive(Debug, clap::Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "Examples:\n  cambium alerts\n  cambium alerts --all --json"
)]
pub(crate) struct Args {
    #[command(subcommand)]
    what: Option<What>,
    #[command(flatten)]
    list: List,
}

#[derive(Debug, clap::Args)]
struct List {
    /// Also those that were acknowledged
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
enum What {
    /// Say that you have looked at an alert, or at all of them
    #[command(after_help = "Example:\n  cambium alerts ack --all")]
    Ack(Ack),
}

#[derive(Debug, clap::Args)]
#[group(required = true, multiple = false)]
struct Ack {
    #[arg(value_name = "ID")]
    alert_id: Option<String>,
    /// All that nobody has looked at
    #[arg(long)]
    all: bool,
}

pub(crate) async fn run(args: Args, context: &Context) -> anyhow::Result<Exit> {
    match args.what {
        None => list(args.list, context).await,
        Some(What::Ack(ack)) => acknowledge(ack, context).await,
    }
}

async fn list(args: List, context: &Context) -> anyhow::Result<Exit> {
    let connection = context.connection().await?;
    let request = ListAlertsRequest {
        workspace_id: context.workspace(),
        include_acknowledged: args.all,
        page_size: args.page_size,
        page_token: args.page_token,
    };
    let reply = ask!(connection, alerts.list_alerts(request))?;
    if !context.globals.json {
        if !reply.next_page_token.is_empty() {
            let token = &reply.next_page_token;
            hint(&format!("more: cambium alerts --page-token {token}"));
        }
        if let Some(open) = reply
            .alerts
            .iter()
            .find(|alert| alert.acknowledge_time.is_none())
        {
            let flags = context.globals.again();
            hint(&format!(
                "next: cambium alerts ack {}{flags}",
                open.alert_id
            ));
        }
    }
    context.print(&reply, |reply| {
        let head = [
            "raised",
            "agent",
            "source",
            "severity",
            "text",
            "acknowledged",
            "alert",
        ];
        table(head, reply.alerts.iter().map(row))
    })?;
    Ok(Exit::Done)
}

fn row(alert: &Alert) -> [String; 7] {
    let seen = match &alert.acknowledge_time {
        Some(at) => format!("{} by {}", moment(Some(at)), alert.acknowledged_by),
        None => "-".to_owned(),
    };
    [
        moment(alert.raise_time.as_ref()),
        alert.agent_name.clone(),
        alert.source.clone(),
        bar(alert.severity),
        alert.text.clone(),
        seen,
        alert.alert_id.clone(),
    ]
}

/// Prints what was acknowledged, as a list.
async fn acknowledge(ack: Ack, context: &Context) -> anyhow::Result<Exit> {
    let connection = context.connection().await?;
    let ids = match ack.alert_id {
        Some(alert_id) => vec![alert_id],
        None => open(&connection, context).await?,
    };
    let mut seen = ListAlertsResponse::default();
    for alert_id in ids {
        let request = AcknowledgeAlertRequest {
            workspace_id: context.workspace(),
            request_id: request_id(),
            alert_id,
        };
        seen.alerts
            .extend(ask!(connection, alerts.acknowledge_alert(request))?.alert);
    }
    context.print(&seen, |seen| {
        if seen.alerts.is_empty() {
            return "nothing is left to look at".to_owned();
        }
        let lines: Vec<String> = seen
            .alerts
            .iter()
            .map(|alert| format!("acknowledged: {}", alert.text))
            .collect();
        lines.join("\n")
    })?;
    Ok(Exit::Done)
}

/// The ids of all alerts that nobody has looked at.
async fn open(connection: &Connection, context: &Context) -> anyhow::Result<Vec<String>> {
    let mut request = ListAlertsRequest {
        workspace_id: context.workspace(),
        ..ListAlertsRequest::default()
    };
    let mut ids = Vec::new();
    loop {
        let reply = ask!(connection, alerts.list_alerts(request.clone()))?;
        ids.extend(reply.alerts.into_iter().map(|alert| alert.alert_id));
        if reply.next_page_token.is_empty() {
            return Ok(ids);
        }
        request.page_token = reply.next_page_token;
    }
}

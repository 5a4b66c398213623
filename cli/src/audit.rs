//! `cambium audit`: who changed what of the minds, and what was refused.

use cambium_proto::swarm::v1::watch_audit_response::Item;
use cambium_proto::swarm::v1::{
    AuditEntry, ListAuditRequest, WatchAuditRequest, WatchAuditResponse,
};
use clap::Subcommand;

use crate::ask::ask;
use crate::context::{Context, emit, hint};
use crate::exit::Exit;
use crate::page::{Page, more};
use crate::table::{moment, table};
use crate::{json, stream};

/// List what was changed and what was refused, the newest first
#[derive(Debug, clap::Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "Examples:\n  cambium audit\n  cambium audit watch --json"
)]
pub(crate) struct Args {
    #[command(flatten)]
    page: Page,
    #[command(subcommand)]
    what: Option<What>,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Follow it, until Ctrl-C
    #[command(after_help = "Example:\n  cambium audit watch --from 120")]
    Watch {
        /// Only what came after this sequence; 0 is all that is kept
        #[arg(long, value_name = "SEQ", default_value_t = 0)]
        from: i64,
    },
}

pub(crate) async fn run(args: Args, context: &Context) -> anyhow::Result<Exit> {
    if let Some(What::Watch { from }) = args.what {
        return watch(from, context).await;
    }
    let connection = context.connection().await?;
    let request = ListAuditRequest {
        workspace_id: context.workspace(),
        page_size: args.page.page_size,
        page_token: args.page.page_token,
    };
    let reply = ask!(connection, control.list_audit(request))?;
    more(&reply.next_page_token, "cambium audit", context);
    context.print(&reply, |reply| {
        let rows = reply.entries.iter().map(|entry| {
            [
                entry.seq.to_string(),
                moment(entry.at.as_ref()),
                entry.actor.clone(),
                entry.action.clone(),
                dash(&entry.instance),
                came(entry),
            ]
        });
        table(["seq", "at", "who", "what", "mind", "came of it"], rows)
    })?;
    Ok(Exit::Done)
}

async fn watch(from: i64, context: &Context) -> anyhow::Result<Exit> {
    let connection = context.connection().await?;
    let mut after = from;
    let open = |after_seq| {
        let mut control = connection.control();
        let request = WatchAuditRequest {
            workspace_id: context.workspace(),
            after_seq,
        };
        async move { control.watch_audit(request).await }
    };
    stream::each(&mut after, open, |reply| told(reply, context)).await?;
    hint(&format!(
        "go on with: cambium audit watch --from {after}{}",
        context.globals.again()
    ));
    Ok(Exit::Done)
}

fn told(reply: &WatchAuditResponse, context: &Context) -> anyhow::Result<i64> {
    if context.globals.json {
        emit(&json::reply(reply)?);
    }
    Ok(match &reply.item {
        Some(Item::Entry(entry)) => {
            if !context.globals.json {
                emit(&line(entry));
            }
            entry.seq
        }
        Some(Item::HeartbeatSeq(seq)) => *seq,
        None => 0,
    })
}

fn line(entry: &AuditEntry) -> String {
    format!(
        "{:>6}  {}  {}  {}  {}  {}",
        entry.seq,
        moment(entry.at.as_ref()),
        entry.actor,
        entry.action,
        dash(&entry.instance),
        came(entry),
    )
}

fn dash(text: &str) -> String {
    if text.is_empty() { "-" } else { text }.to_owned()
}

fn came(entry: &AuditEntry) -> String {
    match (entry.allowed, entry.reason.as_str()) {
        (true, _) => "done".to_owned(),
        (false, "") => "refused".to_owned(),
        (false, reason) => format!("refused: {reason}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_refused_says_why() {
        let entry = AuditEntry {
            seq: 9,
            actor: "mind:eureka".to_owned(),
            action: "SetShare".to_owned(),
            reason: "NOT_OPERATOR".to_owned(),
            ..AuditEntry::default()
        };

        assert_eq!(
            line(&entry),
            "     9  -  mind:eureka  SetShare  -  refused: NOT_OPERATOR"
        );
    }
}

//! `cambium quarantines`: who is out of work, until when, and why.

use cambium_proto::immune::v1::{ListQuarantinesRequest, Quarantine};

use crate::ask::ask;
use crate::context::{Context, hint};
use crate::exit::Exit;
use crate::table::{moment, table};

/// List quarantines, newest first
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  cambium quarantines\n  cambium quarantines --all --json")]
pub(crate) struct Args {
    /// Also those that are over
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

pub(crate) async fn run(args: Args, context: &Context) -> anyhow::Result<Exit> {
    let connection = context.connection().await?;
    let request = ListQuarantinesRequest {
        workspace_id: context.workspace(),
        include_ended: args.all,
        page_size: args.page_size,
        page_token: args.page_token,
    };
    let reply = ask!(connection, quarantines.list_quarantines(request))?;
    if !reply.next_page_token.is_empty() && !context.globals.json {
        let token = &reply.next_page_token;
        hint(&format!("more: cambium quarantines --page-token {token}"));
    }
    context.print(&reply, |reply| {
        let head = ["agent", "state", "since", "until", "times", "by", "reason"];
        table(head, reply.quarantines.iter().map(row))
    })?;
    Ok(Exit::Done)
}

fn row(quarantine: &Quarantine) -> [String; 7] {
    let state = match (quarantine.active, quarantine.release_reason.as_str()) {
        (true, _) => "active".to_owned(),
        (false, "") => "over".to_owned(),
        (false, reason) => format!("released: {reason}"),
    };
    [
        quarantine.agent_name.clone(),
        state,
        moment(quarantine.start_time.as_ref()),
        moment(quarantine.end_time.as_ref()),
        quarantine.count.to_string(),
        quarantine.actor.clone(),
        quarantine.reason.clone(),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_release_says_why() {
        let quarantine = Quarantine {
            release_reason: "a mistake".to_owned(),
            ..Quarantine::default()
        };

        assert_eq!(row(&quarantine)[1], "released: a mistake");
        assert_eq!(row(&Quarantine::default())[1], "over");
    }
}

//! `cambium lead`: which mind gets the work that is for nobody by name.

use cambium_proto::swarm::v1::{GetLeadRequest, GetLeadResponse, MoveLeadRequest};
use clap::Subcommand;

use crate::ask::ask;
use crate::context::{Context, request_id};
use crate::exit::Exit;

/// Show who leads, or move the lead
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  cambium lead\n  cambium lead move eureka --reason 'it knows the house'\n\nThe lead is a role, not a rank: it gets work that is for nobody by name, and passes it on."
)]
pub(crate) struct Args {
    #[command(subcommand)]
    what: Option<What>,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Show who leads
    #[command(after_help = "Example:\n  cambium lead show --json")]
    Show,
    /// Move the lead to a mind, or to nobody; work that is for nobody by name goes along
    #[command(
        after_help = "Examples:\n  cambium lead move eureka --reason 'it knows the house'\n  cambium lead move --none --reason 'we try it without'"
    )]
    Move(Move),
}

#[derive(Debug, clap::Args)]
struct Move {
    #[arg(value_name = "MIND", required_unless_present = "none")]
    mind: Option<String>,
    /// Nobody leads from now on
    #[arg(long, conflicts_with = "mind")]
    none: bool,
    #[arg(long, value_name = "TEXT")]
    reason: String,
    /// When it is to be looked at again, at most a year ahead [default: in 90 days]
    #[arg(
        long,
        value_name = "DATE",
        default_value = "",
        hide_default_value = true
    )]
    review_on: String,
}

pub(crate) async fn run(args: Args, context: &Context) -> anyhow::Result<Exit> {
    let connection = context.connection().await?;
    let Some(What::Move(to)) = args.what else {
        let request = GetLeadRequest {
            workspace_id: context.workspace(),
        };
        let reply = ask!(connection, routing.get_lead(request))?;
        context.print(&reply, told)?;
        return Ok(Exit::Done);
    };
    let request = MoveLeadRequest {
        workspace_id: context.workspace(),
        request_id: request_id(),
        instance: to.mind.unwrap_or_default(),
        review_on: to.review_on,
        reason: to.reason,
    };
    let reply = ask!(connection, routing.move_lead(request))?;
    context.print(&reply, |reply| leads(&reply.lead))?;
    Ok(Exit::Done)
}

fn leads(mind: &str) -> String {
    match mind {
        "" => "nobody leads: work that is for nobody by name waits for the operator".to_owned(),
        mind => format!("{mind} leads"),
    }
}

fn told(lead: &GetLeadResponse) -> String {
    let leads = leads(&lead.instance);
    if lead.instance.is_empty() {
        return leads;
    }
    let overdue = if lead.review_overdue { ", overdue" } else { "" };
    format!(
        "{leads}\n  by      {}\n  review  {}{overdue}",
        lead.ruling_id, lead.review_on
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lead_is_told_with_its_ruling_and_its_review() {
        let lead = GetLeadResponse {
            instance: "eureka".to_owned(),
            ruling_id: "eureka:ruling:swarm-lead".to_owned(),
            review_on: "2026-03-01".to_owned(),
            review_overdue: true,
        };

        assert_eq!(
            told(&lead),
            "eureka leads\n  by      eureka:ruling:swarm-lead\n  review  2026-03-01, overdue"
        );
        assert!(told(&GetLeadResponse::default()).starts_with("nobody leads"));
    }
}

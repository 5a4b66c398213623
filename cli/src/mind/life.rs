//! How minds come and go: proposed, declined, shown, aimed, given an area, retired.

use cambium_proto::swarm::v1::{
    DeclineMindRequest, ProposeMindRequest, RetireMindRequest, SetTargetRequest,
    TakeStewardshipRequest,
};

use super::{line, open, told};
use crate::ask::ask;
use crate::context::{Context, hint, request_id};
use crate::exit::Exit;
use crate::failure::Refusal;
use crate::shell;
use crate::target::Aim;

/// Propose a mind: its name is kept until an operator opens or declines it
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example:\n  cambium mind propose scout --title 'The scout' --mission 'Look ahead.'"
)]
pub(super) struct Propose {
    /// a-z, 0-9 and hyphens
    #[arg(value_name = "MIND")]
    mind: String,
    /// What people call it [default: its name]
    #[arg(long, value_name = "TEXT")]
    title: Option<String>,
    /// What it is for
    #[arg(long, value_name = "TEXT")]
    mission: String,
    #[command(flatten)]
    aim: Aim,
}

pub(super) async fn propose(args: Propose, context: &Context) -> anyhow::Result<Exit> {
    let connection = context.connection().await?;
    let request = ProposeMindRequest {
        workspace_id: context.workspace(),
        request_id: request_id(),
        instance: args.mind.clone(),
        display_name: args.title.unwrap_or_else(|| args.mind.clone()),
        mission: args.mission,
        target: args.aim.target(),
    };
    let reply = ask!(connection, minds.propose_mind(request))?;
    context.print(&reply, |reply| line(reply.mind.as_ref()))?;
    hint(&format!(
        "next: cambium mind open {}{}",
        shell::word(&args.mind),
        context.globals.again()
    ));
    Ok(Exit::Done)
}

/// Decline a proposed mind: its name is free again
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  cambium mind decline scout --reason 'too many already'")]
pub(super) struct Decline {
    #[arg(value_name = "MIND")]
    mind: String,
    #[arg(long, value_name = "TEXT")]
    reason: String,
}

pub(super) async fn decline(args: Decline, context: &Context) -> anyhow::Result<Exit> {
    let connection = context.connection().await?;
    let request = DeclineMindRequest {
        workspace_id: context.workspace(),
        request_id: request_id(),
        instance: args.mind,
        reason: args.reason,
    };
    let reply = ask!(connection, minds.decline_mind(request))?;
    context.print(&reply, |reply| line(reply.mind.as_ref()))?;
    Ok(Exit::Done)
}

/// Show one mind
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  cambium mind show eureka")]
pub(super) struct Show {
    #[arg(value_name = "MIND")]
    mind: String,
}

pub(super) async fn show(args: Show, context: &Context) -> anyhow::Result<Exit> {
    let connection = context.connection().await?;
    let reply = open::get(&connection, context, &args.mind).await?;
    context.print(&reply, |reply| {
        told(
            &reply.mind.clone().unwrap_or_default(),
            &context.globals.again(),
        )
    })?;
    Ok(Exit::Done)
}

/// Say what carries a mind's turns, from its next one on
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  cambium mind target eureka --target graph:daily\n  cambium mind target eureka --target body:desk --organ self"
)]
pub(super) struct SetTarget {
    #[arg(value_name = "MIND")]
    mind: String,
    #[command(flatten)]
    aim: Aim,
}

pub(super) async fn set_target(args: SetTarget, context: &Context) -> anyhow::Result<Exit> {
    let target = args.aim.target();
    if target.is_none() {
        let say = "say what carries its turns with --target graph:NAME or body:NAME";
        return Err(Refusal::Usage(say.to_owned()).into());
    }
    let connection = context.connection().await?;
    let request = SetTargetRequest {
        workspace_id: context.workspace(),
        request_id: request_id(),
        instance: args.mind,
        target,
    };
    let reply = ask!(connection, minds.set_target(request))?;
    context.print(&reply, |reply| {
        let mind = reply.mind.clone().unwrap_or_default();
        let target = crate::target::shown(mind.target.as_ref());
        format!("{} goes to {target} from its next turn on", mind.instance)
    })?;
    Ok(Exit::Done)
}

/// Give a mind an area that nobody holds
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example:\n  cambium mind steward eureka docs --note 'it has written most of them'"
)]
pub(super) struct Steward {
    #[arg(value_name = "MIND")]
    mind: String,
    /// In a line
    area: String,
    /// Why
    #[arg(long, value_name = "TEXT")]
    note: String,
}

pub(super) async fn steward(args: Steward, context: &Context) -> anyhow::Result<Exit> {
    let connection = context.connection().await?;
    let request = TakeStewardshipRequest {
        workspace_id: context.workspace(),
        request_id: request_id(),
        instance: args.mind,
        area: args.area,
        note: args.note,
    };
    let reply = ask!(connection, routing.take_stewardship(request))?;
    context.print(&reply, |reply| {
        reply.document.clone().unwrap_or_default().id
    })?;
    Ok(Exit::Done)
}

/// Retire a mind: its record and its persona stay, to be read and cited for ever
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  cambium mind retire eureka --reason 'its work is done'")]
pub(super) struct Retire {
    #[arg(value_name = "MIND")]
    mind: String,
    #[arg(long, value_name = "TEXT")]
    reason: String,
}

pub(super) async fn retire(args: Retire, context: &Context) -> anyhow::Result<Exit> {
    let connection = context.connection().await?;
    let request = RetireMindRequest {
        workspace_id: context.workspace(),
        request_id: request_id(),
        instance: args.mind,
        reason: args.reason,
    };
    let reply = ask!(connection, minds.retire_mind(request))?;
    context.print(&reply, |reply| line(reply.mind.as_ref()))?;
    Ok(Exit::Done)
}

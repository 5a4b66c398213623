//! `cambium hand-off`: a mind passes on what it holds, and another takes it. Both their own to do.

use cambium_proto::swarm::v1::{
    AnswerHandOffRequest, DocumentName, OfferHandOffRequest, OfferHandOffResponse,
};
use clap::{ArgGroup, Subcommand};

use crate::ask::ask;
use crate::citing::{self, Cited, holder_of};
use crate::context::{Context, request_id};
use crate::exit::Exit;

/// Pass on work or an area, or answer such an offer; as the mind itself, inside `cambium mind operate`
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  cambium hand-off offer weksa --area docs --reason 'it knows them better'\n  cambium hand-off accept eureka:hand_off:01977f3a-5c1e-7d44-9a51-0d7a2f6b8c10"
)]
pub(crate) struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Offer what the mind holds to another; nothing moves until that accepts
    #[command(
        group(ArgGroup::new("which").required(true)),
        after_help = "Examples:\n  cambium hand-off offer weksa --work 01977f3a-5c1e-7d44-9a51-0d7a2f6b8c10 --reason 'it wrote that chapter'\n  cambium hand-off offer weksa --area docs --reason 'it knows them better' --ref weksa:ruling:docs"
    )]
    Offer(Offer),
    /// Take what was offered
    #[command(
        after_help = "Example:\n  cambium hand-off accept eureka:hand_off:01977f3a-5c1e-7d44-9a51-0d7a2f6b8c10"
    )]
    Accept(Answer),
    /// Leave it with its holder
    #[command(
        after_help = "Example:\n  cambium hand-off decline eureka:hand_off:01977f3a-5c1e-7d44-9a51-0d7a2f6b8c10 --reason 'I have too much'"
    )]
    Decline(Answer),
}

#[derive(Debug, clap::Args)]
struct Offer {
    /// Who is to have it
    #[arg(value_name = "MIND")]
    to: String,
    /// Work that the mind holds
    #[arg(long, value_name = "WORK", group = "which")]
    work: Option<String>,
    /// An area that is the mind's
    #[arg(long, value_name = "AREA", group = "which")]
    area: Option<String>,
    #[arg(long, value_name = "TEXT")]
    reason: String,
    /// A document that speaks for it: ID, or ID@SHA256
    #[arg(long = "ref", value_name = "DOCUMENT", value_parser = citing::read)]
    refs: Vec<Cited>,
}

#[derive(Debug, clap::Args)]
struct Answer {
    /// The offer's document
    #[arg(value_name = "OFFER")]
    offer: String,
    #[arg(
        long,
        value_name = "TEXT",
        default_value = "",
        hide_default_value = true
    )]
    reason: String,
}

pub(crate) async fn run(args: Args, context: &Context) -> anyhow::Result<Exit> {
    match args.what {
        What::Offer(args) => offer(args, context).await,
        What::Accept(args) => answer(args, true, context).await,
        What::Decline(args) => answer(args, false, context).await,
    }
}

async fn offer(args: Offer, context: &Context) -> anyhow::Result<Exit> {
    let connection = context.as_mind().await?;
    let request = OfferHandOffRequest {
        workspace_id: context.workspace(),
        request_id: request_id(),
        work_id: args.work.unwrap_or_default(),
        area: args.area.unwrap_or_default(),
        to: args.to,
        refs: citing::cited(&connection, context, &args.refs).await?,
        reason: args.reason,
    };
    let reply: OfferHandOffResponse = ask!(connection, routing.offer_hand_off(request))?;
    context.print(&reply, |reply| reply.offer.clone().unwrap_or_default().id)?;
    Ok(Exit::Done)
}

async fn answer(args: Answer, accept: bool, context: &Context) -> anyhow::Result<Exit> {
    let connection = context.as_mind().await?;
    let request = AnswerHandOffRequest {
        workspace_id: context.workspace(),
        request_id: request_id(),
        giver: holder_of(&args.offer).to_owned(),
        id: args.offer,
        accept,
        reason: args.reason,
    };
    let reply = ask!(connection, routing.answer_hand_off(request))?;
    context.print(&reply, |reply| written(&reply.written))?;
    Ok(Exit::Done)
}

/// Documents that were written, a line each.
pub(crate) fn written(documents: &[DocumentName]) -> String {
    if documents.is_empty() {
        return "nothing new: it was written before".to_owned();
    }
    let lines: Vec<&str> = documents.iter().map(|one| one.id.as_str()).collect();
    lines.join("\n")
}

//! `cambium work`: what there is for minds to do, and who holds it.

mod own;

use cambium_proto::swarm::v1::{
    AssignWorkRequest, ListWorkRequest, SubmitWorkRequest, WithdrawWorkRequest, Work, WorkState,
};
use clap::Subcommand;
use clap::builder::{PossibleValuesParser, TypedValueParser};

use crate::ask::ask;
use crate::citing::{self, Cited};
use crate::context::{Context, request_id};
use crate::exit::Exit;
use crate::json::{value, word};
use crate::page::{Page, more};
use crate::table::table;

/// Give minds work, see who holds it, and pass it on
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  cambium work submit 'The guide is out of date' --to eureka\n  cambium work list --state unrouted"
)]
pub(crate) struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Give work to a mind, or to whoever leads
    #[command(
        after_help = "Examples:\n  cambium work submit 'The guide is out of date' --body 'Chapter 3 names old commands.' --to eureka\n  cambium work submit 'Look at this ruling' --ref weksa:ruling:left"
    )]
    Submit(Submit),
    /// List work, the oldest first
    #[command(
        after_help = "Examples:\n  cambium work list --holder eureka\n  cambium work list --state unrouted --json"
    )]
    List(List),
    /// Have a mind hold it
    #[command(
        after_help = "Example:\n  cambium work assign 01977f3a-5c1e-7d44-9a51-0d7a2f6b8c10 eureka"
    )]
    Assign {
        #[arg(value_name = "WORK")]
        work: String,
        #[arg(value_name = "MIND")]
        to: String,
    },
    /// Take it back: nobody is to do it
    #[command(
        after_help = "Example:\n  cambium work withdraw 01977f3a-5c1e-7d44-9a51-0d7a2f6b8c10"
    )]
    Withdraw {
        #[arg(value_name = "WORK")]
        work: String,
    },
    Complete(own::Complete),
    Return(own::Return),
    Route(own::Route),
}

#[derive(Debug, clap::Args)]
struct Submit {
    /// In a few words
    title: String,
    /// In full [default: the title]
    #[arg(long, value_name = "TEXT")]
    body: Option<String>,
    /// The mind that is to hold it [default: whoever leads]
    #[arg(
        long,
        value_name = "MIND",
        default_value = "",
        hide_default_value = true
    )]
    to: String,
    /// A document that it is about: ID, or ID@SHA256
    #[arg(long = "ref", value_name = "DOCUMENT", value_parser = citing::read)]
    refs: Vec<Cited>,
}

#[derive(Debug, clap::Args)]
struct List {
    /// Only what this mind holds
    #[arg(
        long,
        value_name = "MIND",
        default_value = "",
        hide_default_value = true
    )]
    holder: String,
    #[arg(long, value_parser = state())]
    state: Option<WorkState>,
    #[command(flatten)]
    page: Page,
}

fn state() -> impl TypedValueParser<Value = WorkState> {
    let words = ["unrouted", "held", "offered", "done", "withdrawn"];
    PossibleValuesParser::new(words)
        .map(|word| WorkState::from_str_name(&value(&word, "WORK_STATE_")).unwrap_or_default())
}

pub(crate) async fn run(args: Args, context: &Context) -> anyhow::Result<Exit> {
    match args.what {
        What::Submit(args) => submit(args, context).await,
        What::List(args) => list(args, context).await,
        What::Assign { work, to } => assign(work, to, context).await,
        What::Withdraw { work } => withdraw(work, context).await,
        What::Complete(args) => own::complete(args, context).await,
        What::Return(args) => own::give_back(args, context).await,
        What::Route(args) => own::route(args, context).await,
    }
}

async fn submit(args: Submit, context: &Context) -> anyhow::Result<Exit> {
    let connection = context.connection().await?;
    let request = SubmitWorkRequest {
        workspace_id: context.workspace(),
        request_id: request_id(),
        body: args.body.unwrap_or_else(|| args.title.clone()),
        title: args.title,
        refs: citing::cited(&connection, context, &args.refs).await?,
        to: args.to,
    };
    let reply = ask!(connection, routing.submit_work(request))?;
    context.print(&reply, |reply| line(reply.work.as_ref()))?;
    Ok(Exit::Done)
}

async fn list(args: List, context: &Context) -> anyhow::Result<Exit> {
    let connection = context.connection().await?;
    let mut command = "cambium work list".to_owned();
    if !args.holder.is_empty() {
        command += &format!(" --holder {}", crate::shell::word(&args.holder));
    }
    if let Some(state) = args.state {
        command += &format!(" --state {}", word(state.as_str_name(), "WORK_STATE_"));
    }
    let request = ListWorkRequest {
        workspace_id: context.workspace(),
        page_size: args.page.page_size,
        page_token: args.page.page_token,
        holder: args.holder,
        state: args.state.unwrap_or_default().into(),
    };
    let reply = ask!(connection, routing.list_work(request))?;
    more(&reply.next_page_token, &command, context);
    context.print(&reply, |reply| {
        let rows = reply.work.iter().map(|work| {
            let by = work.submitted_by.clone();
            [work.work_id.clone(), stands(work), by, work.title.clone()]
        });
        table(["work", "state", "by", "title"], rows)
    })?;
    Ok(Exit::Done)
}

async fn assign(work_id: String, to: String, context: &Context) -> anyhow::Result<Exit> {
    let connection = context.connection().await?;
    let request = AssignWorkRequest {
        workspace_id: context.workspace(),
        request_id: request_id(),
        work_id,
        to,
    };
    let reply = ask!(connection, routing.assign_work(request))?;
    context.print(&reply, |reply| line(reply.work.as_ref()))?;
    Ok(Exit::Done)
}

async fn withdraw(work_id: String, context: &Context) -> anyhow::Result<Exit> {
    let connection = context.connection().await?;
    let request = WithdrawWorkRequest {
        workspace_id: context.workspace(),
        request_id: request_id(),
        work_id,
    };
    let reply = ask!(connection, routing.withdraw_work(request))?;
    context.print(&reply, |reply| line(reply.work.as_ref()))?;
    Ok(Exit::Done)
}

/// Its state, and by whom it is held.
fn stands(work: &Work) -> String {
    let state = word(work.state().as_str_name(), "WORK_STATE_");
    match work.state() {
        WorkState::Held => format!("held by {}", work.holder),
        WorkState::Offered => format!("offered by {} to {}", work.holder, work.offered_to),
        _ => state,
    }
}

fn line(work: Option<&Work>) -> String {
    let work = work.cloned().unwrap_or_default();
    format!("work {} is {}", work.work_id, stands(&work))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_says_who_holds_it() {
        let work = Work {
            work_id: "w1".to_owned(),
            holder: "eureka".to_owned(),
            offered_to: "weksa".to_owned(),
            state: WorkState::Held.into(),
            ..Work::default()
        };
        let offered = Work {
            state: WorkState::Offered.into(),
            ..work.clone()
        };

        assert_eq!(line(Some(&work)), "work w1 is held by eureka");
        assert_eq!(
            line(Some(&offered)),
            "work w1 is offered by eureka to weksa"
        );
        assert_eq!(line(None), "work  is unspecified");
    }
}

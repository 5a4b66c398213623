//! `cambium reviews`: which rulings are to be looked at again, and when.

use cambium_proto::swarm::v1::ListReviewsRequest;

use crate::ask::ask;
use crate::context::Context;
use crate::exit::Exit;
use crate::page::{Page, more};
use crate::table::table;

/// List rulings that are to be looked at again, by date
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  cambium reviews\n  cambium reviews --overdue --json")]
pub(crate) struct Args {
    /// Only those whose date has passed
    #[arg(long)]
    overdue: bool,
    #[command(flatten)]
    page: Page,
}

pub(crate) async fn run(args: Args, context: &Context) -> anyhow::Result<Exit> {
    let connection = context.connection().await?;
    let request = ListReviewsRequest {
        workspace_id: context.workspace(),
        overdue_only: args.overdue,
        page_size: args.page.page_size,
        page_token: args.page.page_token,
    };
    let reply = ask!(connection, records.list_reviews(request))?;
    let flag = if args.overdue { " --overdue" } else { "" };
    let command = format!("cambium reviews{flag}");
    more(&reply.next_page_token, &command, context);
    context.print(&reply, |reply| {
        let rows = reply.reviews.iter().map(|review| {
            let overdue = if review.overdue { ", overdue" } else { "" };
            [
                format!("{}{overdue}", review.review_on),
                review.ruling_id.clone(),
                review.cause.replace('_', " "),
                review.title.clone(),
            ]
        });
        table(["review on", "ruling", "because", "title"], rows)
    })?;
    Ok(Exit::Done)
}

//! `cambium loans`: the shares that minds have lent one another.

use cambium_proto::swarm::v1::{EndLoanRequest, ListLoansRequest, Loan, ReturnLoanRequest};
use clap::Subcommand;

use crate::ask::ask;
use crate::context::{Context, request_id};
use crate::exit::Exit;
use crate::minds::share;
use crate::page::{Page, more};
use crate::table::{moment, table};

/// List loans, the newest first; end one, or give one back
#[derive(Debug, clap::Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "Examples:\n  cambium loans --active\n  cambium loans end 01977f3a-5c1e-7d44-9a51-0d7a2f6b8c10"
)]
pub(crate) struct Args {
    /// Only those that count now
    #[arg(long)]
    active: bool,
    #[command(flatten)]
    page: Page,
    #[command(subcommand)]
    what: Option<What>,
}

#[derive(Debug, Subcommand)]
enum What {
    /// End a loan, as the operator
    #[command(after_help = "Example:\n  cambium loans end 01977f3a-5c1e-7d44-9a51-0d7a2f6b8c10")]
    End {
        #[arg(value_name = "LOAN")]
        loan: String,
    },
    /// Give back what was lent, as the mind that borrowed: inside `cambium mind operate`
    #[command(after_help = "Example:\n  cambium loans return 01977f3a-5c1e-7d44-9a51-0d7a2f6b8c10")]
    Return {
        #[arg(value_name = "LOAN")]
        loan: String,
    },
}

pub(crate) async fn run(args: Args, context: &Context) -> anyhow::Result<Exit> {
    match args.what {
        None => list(args.active, args.page, context).await,
        Some(What::End { loan }) => end(loan, context).await,
        Some(What::Return { loan }) => give_back(loan, context).await,
    }
}

async fn list(active: bool, page: Page, context: &Context) -> anyhow::Result<Exit> {
    let connection = context.connection().await?;
    let request = ListLoansRequest {
        workspace_id: context.workspace(),
        page_size: page.page_size,
        page_token: page.page_token,
        active_only: active,
    };
    let reply = ask!(connection, loans.list_loans(request))?;
    let flag = if active { " --active" } else { "" };
    more(
        &reply.next_page_token,
        &format!("cambium loans{flag}"),
        context,
    );
    context.print(&reply, |reply| told(&reply.loans))?;
    Ok(Exit::Done)
}

async fn end(loan_id: String, context: &Context) -> anyhow::Result<Exit> {
    let connection = context.connection().await?;
    let request = EndLoanRequest {
        workspace_id: context.workspace(),
        request_id: request_id(),
        loan_id,
    };
    let reply = ask!(connection, loans.end_loan(request))?;
    context.print(&reply, |reply| line(reply.loan.as_ref()))?;
    Ok(Exit::Done)
}

async fn give_back(loan_id: String, context: &Context) -> anyhow::Result<Exit> {
    let connection = context.as_mind().await?;
    let request = ReturnLoanRequest {
        workspace_id: context.workspace(),
        request_id: request_id(),
        loan_id,
    };
    let reply = ask!(connection, loans.return_loan(request))?;
    context.print(&reply, |reply| line(reply.loan.as_ref()))?;
    Ok(Exit::Done)
}

pub(crate) fn told(loans: &[Loan]) -> String {
    let rows = loans.iter().map(|loan| {
        [
            loan.loan_id.clone(),
            loan.lender.clone(),
            loan.borrower.clone(),
            share(loan.share_ppm),
            moment(loan.until.as_ref()),
            stands(loan),
        ]
    });
    table(["loan", "from", "to", "share", "until", "stands"], rows)
}

fn stands(loan: &Loan) -> String {
    match (loan.active, loan.ended_by.as_str()) {
        (true, _) => "active".to_owned(),
        (false, "") => "over".to_owned(),
        (false, by) => format!("ended by {by}"),
    }
}

/// A loan in a line.
pub(crate) fn line(loan: Option<&Loan>) -> String {
    let loan = loan.cloned().unwrap_or_default();
    let what = format!(
        "{} lends {} {}",
        loan.lender,
        loan.borrower,
        share(loan.share_ppm)
    );
    match loan.active {
        true => format!(
            "{what} until {}: loan {}",
            moment(loan.until.as_ref()),
            loan.loan_id
        ),
        false => format!("{what} no more"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn loan() -> Loan {
        Loan {
            loan_id: "l1".to_owned(),
            lender: "eureka".to_owned(),
            borrower: "weksa".to_owned(),
            share_ppm: 500_000,
            active: true,
            ..Loan::default()
        }
    }

    #[test]
    fn a_loan_is_told_from_one_that_is_over() {
        let over = Loan {
            active: false,
            ended_by: "operator:ada".to_owned(),
            ..loan()
        };

        let told = told(&[loan(), over.clone()]);

        assert!(
            told.contains("l1    eureka  weksa  0.5    -      active\n"),
            "{told}"
        );
        assert!(told.ends_with("ended by operator:ada"), "{told}");
        assert_eq!(line(Some(&over)), "eureka lends weksa 0.5 no more");
        assert_eq!(
            line(Some(&loan())),
            "eureka lends weksa 0.5 until -: loan l1"
        );
    }
}

//! Ends a document: another says so, and both stay.

use cambium_client::Connection;
use cambium_proto::swarm::v1::NewDocument;
use clap::ArgGroup;
use serde_json::{Map, Value, json};
use tonic::Code;

use super::append::{Draft, append};
use crate::citing::{self, holder_of};
use crate::clock;
use crate::context::Context;
use crate::exit::Exit;
use crate::hand_off::written;

/// More endings than a document can have.
const MOST: u32 = 64;

/// Close a campaign, or withdraw a document; as the mind itself, inside `cambium mind operate`
#[derive(Debug, clap::Args)]
#[command(
    group(ArgGroup::new("how").required(true)),
    after_help = "Examples:\n  cambium record end eureka:campaign:docs --closed 'all chapters are new' --why 'the goal is met'\n  cambium record end eureka:citation:left --withdrawn --why 'it was the wrong one'"
)]
pub(super) struct End {
    /// Its id
    #[arg(value_name = "DOCUMENT")]
    id: String,
    /// A campaign that came to its end: how
    #[arg(long, value_name = "TEXT", group = "how")]
    closed: Option<String>,
    /// It no longer holds
    #[arg(long, group = "how")]
    withdrawn: bool,
    /// The rationale
    #[arg(long, value_name = "TEXT")]
    why: String,
}

pub(super) async fn run(args: End, context: &Context) -> anyhow::Result<Exit> {
    let connection = context.as_mind().await?;
    let (outcome, more) = match args.closed {
        Some(reason) => ("closed", json!({"reason": reason})),
        None => ("withdrawn", json!({})),
    };
    let ending = Ending {
        subject: &args.id,
        outcome,
        rationale: &args.why,
        more,
    };
    let document = ending.document(&connection, context).await?;
    let reply = append(&connection, context, vec![document]).await?;
    context.print(&reply, |reply| written(&reply.written))?;
    Ok(Exit::Done)
}

/// What ends a document, and how.
pub(crate) struct Ending<'a> {
    pub(crate) subject: &'a str,
    pub(crate) outcome: &'a str,
    pub(crate) rationale: &'a str,
    /// What this outcome has besides.
    pub(crate) more: Value,
}

impl Ending<'_> {
    /// The resolution, under the number that is its subject's next.
    pub(crate) async fn document(
        &self,
        connection: &Connection,
        context: &Context,
    ) -> anyhow::Result<NewDocument> {
        let mut number = 1;
        while number < MOST && is_there(connection, context, &self.id(number)).await? {
            number += 1;
        }
        let draft = Draft {
            id: self.id(number),
            kind: "resolution".to_owned(),
            payload: self.payload(number, &clock::today()),
        };
        draft.document()
    }

    fn id(&self, number: u32) -> String {
        format!("{}.n{number}", self.subject)
    }

    fn payload(&self, number: u32, today: &str) -> Map<String, Value> {
        let whole = json!({
            "subject": self.subject,
            "sequence": number,
            "outcome": self.outcome,
            "rationale": self.rationale,
            "resolved_on": today,
        });
        let parts = [whole, self.more.clone()].into_iter();
        let parts = parts.filter_map(|part| match part {
            Value::Object(part) => Some(part),
            _ => None,
        });
        parts.flatten().collect()
    }
}

async fn is_there(connection: &Connection, context: &Context, id: &str) -> anyhow::Result<bool> {
    match citing::get(connection, context, holder_of(id), id).await {
        Ok(_) => Ok(true),
        Err(status) if status.code() == Code::NotFound => Ok(false),
        Err(status) => Err(status.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ending_says_by_what() {
        let ending = Ending {
            subject: "eureka:ruling:left",
            outcome: "superseded",
            rationale: "We know more.",
            more: json!({"by": "eureka:ruling:right"}),
        };

        let payload = Value::Object(ending.payload(2, "2026-03-01"));

        assert_eq!(ending.id(2), "eureka:ruling:left.n2");
        assert_eq!(
            payload,
            json!({
                "subject": "eureka:ruling:left", "sequence": 2, "outcome": "superseded",
                "rationale": "We know more.", "resolved_on": "2026-03-01", "by": "eureka:ruling:right",
            })
        );
    }
}

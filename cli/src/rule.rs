//! `cambium rule`: a ruling, in a mind's own record as that mind, or in any as the operator.

use cambium_client::Connection;
use cambium_proto::swarm::v1::{ForeignRef, NewDocument, RuleAsOperatorRequest};
use serde_json::{Map, Value};

use crate::ask::ask;
use crate::citing::{self, Cited};
use crate::clock;
use crate::context::{Context, request_id};
use crate::exit::Exit;
use crate::failure::Refusal;
use crate::hand_off::written;
use crate::record::{Draft, Ending, append};

/// Rule: decide something for good, until a later ruling; as the mind inside `cambium mind operate`, or with --holder as the operator
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  cambium rule left --title 'Left' --text 'We go left.'\n  cambium rule left --title 'Left' --text 'We go left.' --answers eureka:question:way --choice left --precedent weksa:ruling:left\n  cambium rule left --title 'Left' --text 'We go left.' --holder eureka"
)]
pub(crate) struct Args {
    /// a-z, 0-9 and hyphens: the document is NAME:ruling:LABEL
    #[arg(value_name = "LABEL")]
    label: String,
    #[arg(long, value_name = "TEXT")]
    title: String,
    /// What is decided
    #[arg(long, value_name = "TEXT")]
    text: String,
    /// The question that it answers
    #[arg(long, value_name = "QUESTION")]
    answers: Option<String>,
    /// Which of the question's options
    #[arg(long, value_name = "LABEL", requires = "answers")]
    choice: Option<String>,
    /// A document of another mind that it follows: ID, or ID@SHA256
    #[arg(long = "precedent", value_name = "DOCUMENT", value_parser = citing::read)]
    precedents: Vec<Cited>,
    /// An earlier ruling of the same record that it takes the place of
    #[arg(long, value_name = "RULING")]
    supersedes: Option<String>,
    /// When it is to be looked at again, at most a year ahead
    #[arg(long, value_name = "DATE")]
    review_on: Option<String>,
    /// Tells a ruling from an earlier one under the same label
    #[arg(long, value_name = "N")]
    number: Option<u32>,
    /// As the operator: in this mind's record
    #[arg(long, value_name = "MIND")]
    holder: Option<String>,
    /// As the operator: in whose name
    #[arg(long, value_enum, requires = "holder")]
    authority: Option<Authority>,
    /// As the operator: in its own words
    #[arg(long, value_name = "TEXT", requires = "holder")]
    quote: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Authority {
    Operator,
    Standing,
}

impl Authority {
    const fn word(self) -> &'static str {
        match self {
            Self::Operator => "operator",
            Self::Standing => "standing",
        }
    }
}

pub(crate) async fn run(args: Args, context: &Context) -> anyhow::Result<Exit> {
    let Some(holder) = args.holder.clone() else {
        let connection = context.as_mind().await?;
        let mind = context.mind().ok_or(Refusal::NoMind)?;
        let documents = documents(&args, &mind, &connection, context).await?;
        let reply = append(&connection, context, documents).await?;
        context.print(&reply, |reply| written(&reply.written))?;
        return Ok(Exit::Done);
    };
    let connection = context.connection().await?;
    let request = RuleAsOperatorRequest {
        workspace_id: context.workspace(),
        request_id: request_id(),
        documents: documents(&args, &holder, &connection, context).await?,
        holder,
    };
    let reply = ask!(connection, records.rule_as_operator(request))?;
    context.print(&reply, |reply| written(&reply.written))?;
    Ok(Exit::Done)
}

/// The ruling, and what ends the one before it.
async fn documents(
    args: &Args,
    holder: &str,
    connection: &Connection,
    context: &Context,
) -> anyhow::Result<Vec<NewDocument>> {
    let precedents = citing::cited(connection, context, &args.precedents).await?;
    let ruling = args.ruling(holder, &precedents, &clock::today());
    let mut documents = vec![ruling.document()?];
    if let Some(subject) = &args.supersedes {
        let ending = Ending {
            subject,
            outcome: "superseded",
            rationale: &args.text,
            more: serde_json::json!({ "by": ruling.id }),
        };
        documents.push(ending.document(connection, context).await?);
    }
    Ok(documents)
}

impl Args {
    fn ruling(&self, holder: &str, precedents: &[ForeignRef], today: &str) -> Draft {
        let authority = match (self.authority, &self.holder) {
            (Some(authority), _) => authority.word(),
            (None, Some(_)) => Authority::Operator.word(),
            (None, None) => "mind",
        };
        let mut payload = Map::new();
        let mut put = |name: &str, text: Option<&str>| {
            if let Some(text) = text {
                payload.insert(name.to_owned(), text.into());
            }
        };
        put("label", Some(&self.label));
        put("title", Some(&self.title));
        put("ruling", Some(&self.text));
        put("authority", Some(authority));
        put("answers", self.answers.as_deref());
        put("choice", self.choice.as_deref());
        put("operator_quote", self.quote.as_deref());
        put("review_on", self.review_on.as_deref());
        put("ruled_on", Some(today));
        if !precedents.is_empty() {
            let cited = precedents.iter().map(citing::payload).collect();
            payload.insert("precedents".to_owned(), Value::Array(cited));
        }
        Draft {
            id: labelled(holder, "ruling", &self.label, self.number),
            kind: "ruling".to_owned(),
            payload,
        }
    }
}

/// What a document is called.
pub(crate) fn labelled(holder: &str, kind: &str, label: &str, number: Option<u32>) -> String {
    match number {
        None => format!("{holder}:{kind}:{label}"),
        Some(number) => format!("{holder}:{kind}:{label}-{number}"),
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;
    use serde_json::json;

    use super::*;

    #[derive(Debug, clap::Parser)]
    struct Line {
        #[command(flatten)]
        args: Args,
    }

    fn read(words: &[&str]) -> Result<Args, clap::Error> {
        let whole = ["rule", "left", "--title", "Left", "--text", "We go left."];
        Line::try_parse_from([&whole, words].concat()).map(|line| line.args)
    }

    #[test]
    fn a_minds_ruling_has_what_was_said_and_no_more() {
        let draft = read(&[]).unwrap().ruling("eureka", &[], "2026-03-01");

        assert_eq!(draft.id, "eureka:ruling:left");
        assert_eq!(
            Value::Object(draft.payload),
            json!({
                "label": "left", "title": "Left", "ruling": "We go left.", "authority": "mind",
                "ruled_on": "2026-03-01",
            })
        );
    }

    #[test]
    fn an_operators_ruling_may_answer_and_follow() {
        let words = [
            "--holder",
            "eureka",
            "--quote",
            "Left.",
            "--answers",
            "eureka:question:way",
            "--choice",
            "left",
            "--number",
            "2",
        ];
        let cited = ForeignRef {
            instance: "weksa".to_owned(),
            id: "weksa:ruling:left".to_owned(),
            ..ForeignRef::default()
        };

        let draft = read(&words)
            .unwrap()
            .ruling("eureka", &[cited], "2026-03-01");

        assert_eq!(draft.id, "eureka:ruling:left-2");
        assert_eq!(draft.payload["authority"], "operator");
        assert_eq!(draft.payload["choice"], "left");
        assert_eq!(draft.payload["precedents"][0]["id"], "weksa:ruling:left");
    }

    #[test]
    fn the_operators_words_are_for_the_operator() {
        for words in [
            &["--quote", "Left."][..],
            &["--authority", "standing"],
            &["--choice", "left"],
        ] {
            assert!(read(words).is_err(), "{words:?}");
        }
    }
}

//! `cambium question`: a question that is to be answered by a ruling.

use cambium_proto::swarm::v1::OpenQuestionRequest;
use serde_json::{Map, Value, json};

use crate::ask::ask;
use crate::clock;
use crate::context::{Context, request_id};
use crate::exit::Exit;
use crate::failure::Refusal;
use crate::hand_off::written;
use crate::record::{Draft, append};
use crate::rule::labelled;

/// Ask something that a ruling is to answer; as the mind inside `cambium mind operate`, or with --holder as the operator
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  cambium question way --title 'Which way?' --text 'Left or right?' --option left='By the river.' --option right='Over the hill.' --recommend left\n  cambium question way --title 'Which way?' --text 'Left or right?' --option left=Left. --option right=Right. --recommend left --between eureka,weksa --holder eureka"
)]
pub(crate) struct Args {
    /// a-z, 0-9 and hyphens: the document is NAME:question:LABEL
    #[arg(value_name = "LABEL")]
    label: String,
    #[arg(long, value_name = "TEXT")]
    title: String,
    /// What is asked
    #[arg(long, value_name = "TEXT")]
    text: String,
    /// What it may be answered with, 2 to 8 of them
    #[arg(long = "option", value_name = "LABEL=TEXT", required = true, value_parser = option)]
    options: Vec<(String, String)>,
    /// Which of them whoever asks would choose
    #[arg(long, value_name = "LABEL")]
    recommend: String,
    /// The minds that are of two opinions: the operator answers
    #[arg(long, value_name = "MINDS", value_delimiter = ',')]
    between: Vec<String>,
    /// The campaign that it is about
    #[arg(long, value_name = "CAMPAIGN")]
    campaign: Option<String>,
    /// Tells a question from an earlier one under the same label
    #[arg(long, value_name = "N")]
    number: Option<u32>,
    /// As the operator: in this mind's record
    #[arg(long, value_name = "MIND")]
    holder: Option<String>,
}

/// Reads `LABEL=TEXT`.
fn option(text: &str) -> anyhow::Result<(String, String)> {
    let parts = text
        .split_once('=')
        .filter(|(label, text)| !label.is_empty() && !text.is_empty());
    let (label, text) =
        parts.ok_or_else(|| anyhow::anyhow!("write LABEL=TEXT, as in left='Go left.'"))?;
    Ok((label.to_owned(), text.to_owned()))
}

pub(crate) async fn run(args: Args, context: &Context) -> anyhow::Result<Exit> {
    let Some(holder) = args.holder.clone() else {
        let connection = context.as_mind().await?;
        let mind = context.mind().ok_or(Refusal::NoMind)?;
        let document = args.question(&mind, &clock::today()).document()?;
        let reply = append(&connection, context, vec![document]).await?;
        context.print(&reply, |reply| written(&reply.written))?;
        return Ok(Exit::Done);
    };
    let connection = context.connection().await?;
    let request = OpenQuestionRequest {
        workspace_id: context.workspace(),
        request_id: request_id(),
        question: Some(args.question(&holder, &clock::today()).document()?),
        holder,
    };
    let reply = ask!(connection, records.open_question(request))?;
    context.print(&reply, |reply| written(&reply.written))?;
    Ok(Exit::Done)
}

impl Args {
    fn question(&self, holder: &str, today: &str) -> Draft {
        let options = self.options.iter();
        let options = options.map(|(label, text)| json!({"label": label, "text": text}));
        let mut payload = Map::from_iter([
            ("label".to_owned(), json!(self.label)),
            ("title".to_owned(), json!(self.title)),
            ("question".to_owned(), json!(self.text)),
            ("options".to_owned(), Value::Array(options.collect())),
            ("recommended".to_owned(), json!(self.recommend)),
            ("asked_on".to_owned(), json!(today)),
        ]);
        if !self.between.is_empty() {
            payload.insert("between".to_owned(), json!(self.between));
        }
        if let Some(campaign) = &self.campaign {
            payload.insert("campaign".to_owned(), json!(campaign));
        }
        Draft {
            id: labelled(holder, "question", &self.label, self.number),
            kind: "question".to_owned(),
            payload,
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;

    #[derive(Debug, clap::Parser)]
    struct Line {
        #[command(flatten)]
        args: Args,
    }

    #[test]
    fn an_option_has_a_label_and_a_text() {
        assert_eq!(
            option("left=a=b").unwrap(),
            ("left".to_owned(), "a=b".to_owned())
        );
        for bad in ["", "left", "=text", "left="] {
            assert!(option(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_question_has_its_options_in_order() {
        let words = [
            "question",
            "way",
            "--title",
            "Which way?",
            "--text",
            "Left or right?",
            "--option",
            "right=Right.",
            "--option",
            "left=Left.",
            "--recommend",
            "left",
            "--between",
            "eureka,weksa",
        ];

        let args = Line::try_parse_from(words).unwrap().args;
        let draft = args.question("eureka", "2026-03-01");

        assert_eq!(draft.id, "eureka:question:way");
        assert_eq!(
            Value::Object(draft.payload),
            json!({
                "label": "way", "title": "Which way?", "question": "Left or right?",
                "options": [{"label": "right", "text": "Right."}, {"label": "left", "text": "Left."}],
                "recommended": "left", "asked_on": "2026-03-01", "between": ["eureka", "weksa"],
            })
        );
    }
}

//! `cambium cite`: another mind's documents, as they are now. Precedent, and never binding.

use cambium_proto::swarm::v1::ForeignRef;
use serde_json::{Map, Value, json};

use crate::citing::{self, Cited};
use crate::context::Context;
use crate::exit::Exit;
use crate::failure::Refusal;
use crate::hand_off::written;
use crate::record::{Draft, append};
use crate::rule::labelled;

/// Cite documents of other minds; as the mind itself, inside `cambium mind operate`
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  cambium cite river weksa:ruling:left --note 'they went by the river'\n  cambium cite river weksa:ruling:left --note 'as we do' --about eureka:ruling:left"
)]
pub(crate) struct Args {
    /// a-z, 0-9 and hyphens: the document is NAME:citation:LABEL
    #[arg(value_name = "LABEL")]
    label: String,
    /// One to eight: ID, or ID@SHA256 for what was read then
    #[arg(value_name = "DOCUMENT", required = true, value_parser = citing::read)]
    documents: Vec<Cited>,
    /// What for, in a line
    #[arg(long, value_name = "TEXT")]
    note: String,
    /// A document of the mind's own that it speaks for
    #[arg(long, value_name = "DOCUMENT")]
    about: Option<String>,
}

pub(crate) async fn run(args: Args, context: &Context) -> anyhow::Result<Exit> {
    let connection = context.as_mind().await?;
    let mind = context.mind().ok_or(Refusal::NoMind)?;
    let cited = citing::cited(&connection, context, &args.documents).await?;
    let document = args.citation(&mind, &cited).document()?;
    let reply = append(&connection, context, vec![document]).await?;
    context.print(&reply, |reply| written(&reply.written))?;
    Ok(Exit::Done)
}

impl Args {
    fn citation(&self, holder: &str, cited: &[ForeignRef]) -> Draft {
        let cited: Vec<Value> = cited.iter().map(citing::payload).collect();
        let mut payload = Map::from_iter([
            ("refs".to_owned(), Value::Array(cited)),
            ("note".to_owned(), json!(self.note)),
        ]);
        if let Some(about) = &self.about {
            payload.insert("about".to_owned(), json!(about));
        }
        Draft {
            id: labelled(holder, "citation", &self.label, None),
            kind: "citation".to_owned(),
            payload,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_citation_names_its_documents() {
        let args = Args {
            label: "river".to_owned(),
            documents: Vec::new(),
            note: "they went by the river".to_owned(),
            about: None,
        };
        let cited = ForeignRef {
            id: "weksa:ruling:left".to_owned(),
            ..ForeignRef::default()
        };

        let draft = args.citation("eureka", &[cited]);

        assert_eq!(draft.id, "eureka:citation:river");
        assert_eq!(draft.payload["refs"][0]["id"], "weksa:ruling:left");
        assert_eq!(draft.payload.get("about"), None);
    }
}

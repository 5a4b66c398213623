//! Writes documents into a mind's record: all of them or none.

use std::path::PathBuf;

use cambium_client::Connection;
use cambium_proto::swarm::v1::{
    AppendRecordRequest, AppendRecordResponse, DocumentKind, NewDocument,
};
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::ask::ask;
use crate::context::{Context, request_id};
use crate::exit::Exit;
use crate::failure::Refusal;
use crate::file;
use crate::hand_off::written;
use crate::json::value;

/// Write documents into the record, all or none; as the mind itself, inside `cambium mind operate`
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example:\n  cambium record append documents.json\n\nThe file is JSON: [{\"id\":\"eureka:campaign:docs\",\"kind\":\"campaign\",\"payload\":{\"label\":\"docs\",\"title\":…,\"goal\":…,\"started_on\":\"2026-03-01\"}}, …], or one of them."
)]
pub(super) struct Append {
    /// `-` reads standard input
    #[arg(value_name = "FILE")]
    path: PathBuf,
}

/// A document that is to be written.
#[derive(Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Draft {
    pub(crate) id: String,
    pub(crate) kind: String,
    pub(crate) payload: Map<String, Value>,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Drafts {
    Several(Vec<Draft>),
    One(Draft),
}

pub(super) async fn run(args: Append, context: &Context) -> anyhow::Result<Exit> {
    let wrong = |problem: String| Refusal::File {
        path: args.path.clone(),
        problem,
    };
    let drafts = read(&file::read(&args.path)?).map_err(|error| wrong(format!("{error:#}")))?;
    let documents = drafts.iter().map(Draft::document);
    let documents: anyhow::Result<Vec<NewDocument>> = documents.collect();
    let documents = documents.map_err(|error| wrong(format!("{error:#}")))?;
    let connection = context.as_mind().await?;
    let reply = append(&connection, context, documents).await?;
    context.print(&reply, |reply| written(&reply.written))?;
    Ok(Exit::Done)
}

fn read(bytes: &[u8]) -> anyhow::Result<Vec<Draft>> {
    let document: Value = serde_json::from_slice(bytes)?;
    Ok(match serde_json::from_value(document) {
        Ok(Drafts::Several(drafts)) => drafts,
        Ok(Drafts::One(draft)) => vec![draft],
        Err(_) => anyhow::bail!("it is no list of documents, each with id, kind and payload"),
    })
}

impl Draft {
    pub(crate) fn document(&self) -> anyhow::Result<NewDocument> {
        let kind = DocumentKind::from_str_name(&value(&self.kind, "DOCUMENT_KIND_"));
        let kind = kind.filter(|kind| *kind != DocumentKind::Unspecified);
        let kind = kind.ok_or_else(|| anyhow::anyhow!("`{}` is no kind of document", self.kind))?;
        Ok(NewDocument {
            id: self.id.clone(),
            kind: kind.into(),
            payload: serde_json::to_vec(&self.payload)?,
        })
    }
}

/// As the mind whose token is shown.
pub(crate) async fn append(
    connection: &Connection,
    context: &Context,
    documents: Vec<NewDocument>,
) -> anyhow::Result<AppendRecordResponse> {
    let request = AppendRecordRequest {
        workspace_id: context.workspace(),
        request_id: request_id(),
        documents,
    };
    Ok(ask!(connection, records.append_record(request))?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_holds_one_document_or_several() {
        let one = r#"{"id":"eureka:hand_off:a","kind":"hand_off","payload":{"n":1}}"#;

        let alone = read(one.as_bytes()).unwrap();
        let listed = read(format!("[{one},{one}]").as_bytes()).unwrap();

        assert_eq!((alone.len(), listed.len()), (1, 2));
        let document = alone[0].document().unwrap();
        assert_eq!(document.kind(), DocumentKind::HandOff);
        assert_eq!(document.payload, br#"{"n":1}"#);
        for bad in ["", "3", r#"{"id":"a"}"#, "[{}]"] {
            assert!(read(bad.as_bytes()).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_kind_that_is_none_is_named() {
        let draft = Draft {
            id: "a".to_owned(),
            kind: "song".to_owned(),
            payload: Map::new(),
        };

        let refused = draft.document().unwrap_err().to_string();

        assert_eq!(refused, "`song` is no kind of document");
    }
}

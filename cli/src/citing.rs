//! Documents, as people and minds name them: `weksa:ruling:left`, or `weksa:ruling:left@SHA256` for what was read then.

use cambium_client::Connection;
use cambium_proto::swarm::v1::{DocumentKind, ForeignRef, GetDocumentRequest, GetDocumentResponse};
use serde_json::{Value, json};

use crate::ask::ask;
use crate::context::Context;
use crate::json::{value, word};

/// A document that is to be cited.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Cited {
    id: String,
    /// None: as it is now.
    sha256: Option<String>,
}

/// Reads `ID` or `ID@SHA256`.
pub(crate) fn read(text: &str) -> anyhow::Result<Cited> {
    let is_digest = |end: &str| end.len() == 64 && end.chars().all(|c| c.is_ascii_hexdigit());
    let (id, sha256) = match text.rsplit_once('@') {
        Some((id, end)) if is_digest(end) => (id, Some(end.to_lowercase())),
        _ => (text, None),
    };
    anyhow::ensure!(
        kind_of(id) != DocumentKind::Unspecified,
        "write a document's id, as in weksa:ruling:left, or ID@SHA256"
    );
    Ok(Cited {
        id: id.to_owned(),
        sha256,
    })
}

/// In whose record a document begins its life.
pub(crate) fn holder_of(id: &str) -> &str {
    id.split(':').next().unwrap_or_default()
}

/// What a document is, by its id; unspecified for what is none.
pub(crate) fn kind_of(id: &str) -> DocumentKind {
    let is_number = |end: &str| !end.is_empty() && end.chars().all(|c| c.is_ascii_digit());
    let numbered = id.rsplit_once(".n").is_some_and(|(_, end)| is_number(end));
    let kind = match id.split(':').nth(1) {
        Some(_) if numbered => "resolution",
        Some(kind) => kind,
        None => "",
    };
    DocumentKind::from_str_name(&value(kind, "DOCUMENT_KIND_")).unwrap_or_default()
}

/// A kind as documents write it.
pub(crate) fn kind_word(kind: DocumentKind) -> String {
    word(kind.as_str_name(), "DOCUMENT_KIND_").replace(' ', "_")
}

/// Each of them with its digest: that of now, where none was named.
pub(crate) async fn cited(
    connection: &Connection,
    context: &Context,
    all: &[Cited],
) -> anyhow::Result<Vec<ForeignRef>> {
    let mut found = Vec::new();
    for one in all {
        let sha256 = match &one.sha256 {
            Some(sha256) => sha256.clone(),
            None => {
                let reply = get(connection, context, holder_of(&one.id), &one.id).await?;
                reply.document.unwrap_or_default().payload_sha256
            }
        };
        found.push(ForeignRef {
            instance: holder_of(&one.id).to_owned(),
            kind: kind_of(&one.id).into(),
            id: one.id.clone(),
            payload_sha256: sha256,
        });
    }
    Ok(found)
}

/// One document.
pub(crate) async fn get(
    connection: &Connection,
    context: &Context,
    holder: &str,
    id: &str,
) -> Result<GetDocumentResponse, tonic::Status> {
    let request = GetDocumentRequest {
        workspace_id: context.workspace(),
        holder: holder.to_owned(),
        id: id.to_owned(),
    };
    ask!(connection, records.get_document(request))
}

/// As a payload holds it.
pub(crate) fn payload(cited: &ForeignRef) -> Value {
    json!({
        "instance": cited.instance,
        "kind": kind_word(cited.kind()),
        "id": cited.id,
        "payload_sha256": cited.payload_sha256,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_is_named_with_or_without_its_digest() {
        let sha256 = "AB".repeat(32);

        let now = read("weksa:ruling:left").unwrap();
        let then = read(&format!("weksa:ruling:left@{sha256}")).unwrap();

        assert_eq!((now.id.as_str(), now.sha256), ("weksa:ruling:left", None));
        assert_eq!(then.id, "weksa:ruling:left");
        assert_eq!(then.sha256, Some(sha256.to_lowercase()));
        for bad in ["", "weksa", "weksa:song:left", "weksa:"] {
            assert!(read(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn an_id_says_whose_it_is_and_of_which_kind() {
        assert_eq!(holder_of("weksa:hand_off:docs"), "weksa");
        assert_eq!(kind_of("weksa:hand_off:docs"), DocumentKind::HandOff);
        assert_eq!(kind_of("weksa:ruling:left.n2"), DocumentKind::Resolution);
        assert_eq!(kind_of("weksa:ruling:left.now"), DocumentKind::Ruling);
        assert_eq!(kind_word(DocumentKind::HandOff), "hand_off");
    }

    #[test]
    fn a_citation_is_written_as_documents_hold_it() {
        let cited = ForeignRef {
            instance: "weksa".to_owned(),
            kind: DocumentKind::HandOff.into(),
            id: "weksa:hand_off:docs".to_owned(),
            payload_sha256: "ab".to_owned(),
        };

        assert_eq!(
            payload(&cited).to_string(),
            r#"{"instance":"weksa","kind":"hand_off","id":"weksa:hand_off:docs","payload_sha256":"ab"}"#
        );
    }
}

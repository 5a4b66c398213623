//! What minds write down: all of it or none, once, in their own record alone.

use cambium_proto::swarm::v1::{
    AppendRecordRequest, AppendRecordResponse, CitationState, Document, DocumentKind, ForeignRef,
    GetDocumentRequest, ListDocumentsRequest, NewDocument, Organ, VerifyCitationsRequest,
};
use serde_json::{Value, json};
use tonic::{Code, Status};

use crate::fixture::{Fixture, WORKSPACE, field, reason, request_id, start};

pub(crate) fn document(kind: DocumentKind, id: &str, payload: &Value) -> NewDocument {
    NewDocument {
        id: id.to_owned(),
        kind: kind.into(),
        payload: payload.to_string().into_bytes(),
    }
}

pub(crate) fn question(holder: &str, label: &str, between: &[&str]) -> NewDocument {
    let payload = json!({
        "label": label, "title": "Which way?", "question": "Left or right?",
        "options": [{"label": "left", "text": "Left."}, {"label": "right", "text": "Right."}],
        "recommended": "left", "between": between, "asked_on": "2026-06-01",
    });
    let id = format!("{holder}:question:{label}");
    document(DocumentKind::Question, &id, &payload)
}

/// A ruling, with more fields than every ruling has.
pub(crate) fn ruling(holder: &str, label: &str, authority: &str, more: &Value) -> NewDocument {
    let mut payload = json!({
        "label": label, "title": "Left", "ruling": "We go left.", "authority": authority,
        "ruled_on": "2026-06-01",
    });
    let more = more.as_object().unwrap().clone();
    payload.as_object_mut().unwrap().extend(more);
    let id = format!("{holder}:ruling:{label}");
    document(DocumentKind::Ruling, &id, &payload)
}

/// The end of something, for its first time.
pub(crate) fn ended(subject: &str, outcome: &str, more: &Value) -> NewDocument {
    let mut payload = json!({
        "subject": subject, "sequence": 1, "outcome": outcome, "rationale": "So it is.",
        "resolved_on": "2026-06-01",
    });
    let more = more.as_object().unwrap().clone();
    payload.as_object_mut().unwrap().extend(more);
    document(DocumentKind::Resolution, &format!("{subject}.n1"), &payload)
}

pub(crate) fn citation(holder: &str, label: &str, of: &Document, sha256: &str) -> NewDocument {
    let cited = json!({
        "instance": of.holder, "kind": "ruling", "id": of.id, "payload_sha256": sha256,
    });
    let payload = json!({"refs": [cited], "note": "As eureka saw it."});
    let id = format!("{holder}:citation:{label}");
    document(DocumentKind::Citation, &id, &payload)
}

impl Fixture {
    pub(crate) async fn append(
        &self,
        token: &str,
        documents: Vec<NewDocument>,
    ) -> Result<AppendRecordResponse, Status> {
        let request = AppendRecordRequest {
            workspace_id: WORKSPACE.to_owned(),
            request_id: request_id(),
            documents,
        };
        let appended = self.records_bearing(token).append_record(request).await?;
        Ok(appended.into_inner())
    }

    pub(crate) async fn document(&self, id: &str) -> Document {
        let request = GetDocumentRequest {
            workspace_id: WORKSPACE.to_owned(),
            holder: id.split(':').next().unwrap().to_owned(),
            id: id.to_owned(),
        };
        let found = self.records().get_document(request).await.unwrap();
        found.into_inner().document.unwrap()
    }

    /// All of a mind's, the newest first; but for who it is.
    async fn written(&self, holder: &str) -> Vec<Document> {
        let request = ListDocumentsRequest {
            workspace_id: WORKSPACE.to_owned(),
            holder: holder.to_owned(),
            ..ListDocumentsRequest::default()
        };
        let listed = self.records().list_documents(request).await.unwrap();
        let mut documents = listed.into_inner().documents;
        documents.retain(|one| one.kind() != DocumentKind::Identity);
        documents
    }

    /// How the one citation of all records stands.
    async fn cited(&self) -> CitationState {
        let request = VerifyCitationsRequest {
            workspace_id: WORKSPACE.to_owned(),
            ..VerifyCitationsRequest::default()
        };
        let verified = self.records().verify_citations(request).await.unwrap();
        let verified = verified.into_inner().citations;
        assert_eq!(verified.len(), 1);
        verified[0].citation.as_ref().unwrap().state()
    }
}

#[tokio::test]
async fn what_a_mind_answers_itself_is_closed_and_a_replay_is_no_news() {
    let swarm = start().await;
    swarm.open("weksa", 1_000_000).await;
    let weksa = swarm.operate("weksa", Organ::Self_).await;
    let answers = json!({"answers": "weksa:question:way", "choice": "left"});
    let documents = vec![
        question("weksa", "way", &[]),
        ruling("weksa", "left", "mind", &answers),
    ];

    let written = swarm.append(&weksa, documents.clone()).await.unwrap();
    let again = swarm.append(&weksa, documents.clone()).await.unwrap();

    let ids: Vec<&str> = written.written.iter().map(|one| one.id.as_str()).collect();
    assert_eq!(
        ids,
        [
            "weksa:question:way",
            "weksa:ruling:left",
            "weksa:question:way.n1"
        ]
    );
    assert_eq!(again.written, []);
    let asked = swarm.document("weksa:question:way").await;
    assert!(!asked.in_force);
    assert_eq!(asked.payload_sha256, written.written[0].payload_sha256);
    assert_eq!(asked.author, "mind:weksa");
    assert!(!asked.session_id.is_empty());
    assert!(swarm.document("weksa:ruling:left").await.in_force);
    let mut seqs: Vec<i64> = swarm
        .written("weksa")
        .await
        .iter()
        .map(|one| one.seq)
        .collect();
    seqs.sort_unstable();
    assert_eq!(seqs.len(), 3);
    assert!(seqs.windows(2).all(|two| two[1] == two[0] + 1));

    let other = json!({"answers": "weksa:question:way", "choice": "right"});
    let closed = vec![ruling("weksa", "right", "mind", &other)];
    let closed = swarm.append(&weksa, closed).await.unwrap_err();
    assert_eq!(closed.code(), Code::FailedPrecondition);
    assert_eq!(reason(&closed), "QUESTION_CLOSED");
    let taken = vec![ruling("weksa", "left", "mind", &json!({}))];
    let taken = swarm.append(&weksa, taken).await.unwrap_err();
    assert_eq!(taken.code(), Code::AlreadyExists);
}

#[tokio::test]
async fn of_a_call_all_documents_are_written_or_none() {
    let swarm = start().await;
    swarm.open("weksa", 1_000_000).await;
    let weksa = swarm.operate("weksa", Organ::Self_).await;
    let never = ended("weksa:question:never", "withdrawn", &json!({}));

    let unknown = vec![question("weksa", "way", &[]), never];
    let unknown = swarm.append(&weksa, unknown).await.unwrap_err();
    let mut bad = question("weksa", "way", &[]);
    bad.payload = b"{\"label\": \"way\"}".to_vec();
    let bad = swarm.append(&weksa, vec![bad]).await.unwrap_err();
    let none = swarm.append(&weksa, vec![]).await.unwrap_err();

    assert_eq!(unknown.code(), Code::NotFound);
    assert_eq!(
        (bad.code(), field(&bad)),
        (Code::InvalidArgument, "title".to_owned())
    );
    assert_eq!(field(&none), "documents");
    assert_eq!(swarm.written("weksa").await, []);
}

#[tokio::test]
async fn a_mind_writes_neither_in_anothers_record_nor_above_itself() {
    let swarm = start().await;
    swarm.open("weksa", 1_000_000).await;
    swarm.open("eureka", 1_000_000).await;
    let weksa = swarm.operate("weksa", Organ::Self_).await;
    let area = json!({"area": "docs", "sequence": 1, "note": "Mine.", "assigned_on": "2026-06-01"});
    let identity = json!({
        "instance": "weksa", "display_name": "W", "created_at": "2026-06-01T00:00:00Z", "host": "x",
    });

    for denied in [
        question("eureka", "way", &[]),
        ruling("weksa", "up", "operator", &json!({})),
        ruling("weksa", "up", "standing", &json!({})),
        ruling("weksa", "up", "mind", &json!({"operator_quote": "Yes."})),
        question("weksa", "fork", &["weksa", "eureka"]),
        document(DocumentKind::Stewardship, "weksa:stewardship:a", &area),
        document(DocumentKind::Identity, "weksa:identity:b", &identity),
    ] {
        let id = denied.id.clone();
        let refused = swarm.append(&weksa, vec![denied]).await.unwrap_err();
        let expected = match id.as_str() {
            "weksa:ruling:up" => [Code::PermissionDenied, Code::InvalidArgument],
            _ => [Code::PermissionDenied; 2],
        };
        assert!(expected.contains(&refused.code()), "{id}: {refused:?}");
    }
    assert_eq!(swarm.written("weksa").await, []);
    assert_eq!(swarm.written("eureka").await, []);
}

#[tokio::test]
async fn a_citation_is_hashed_again_at_every_read() {
    let swarm = start().await;
    swarm.open("weksa", 1_000_000).await;
    swarm.open("eureka", 1_000_000).await;
    let eureka = swarm.operate("eureka", Organ::Self_).await;
    let weksa = swarm.operate("weksa", Organ::Self_).await;
    let ruled = vec![ruling("eureka", "left", "mind", &json!({}))];
    swarm.append(&eureka, ruled).await.unwrap();
    let ruled = swarm.document("eureka:ruling:left").await;

    let wrong = citation("weksa", "a", &ruled, &"0".repeat(64));
    let wrong = swarm.append(&weksa, vec![wrong]).await.unwrap_err();
    assert_eq!(wrong.code(), Code::FailedPrecondition);
    assert_eq!(reason(&wrong), "CITATION_MISMATCH");
    let right = citation("weksa", "a", &ruled, &ruled.payload_sha256);
    swarm.append(&weksa, vec![right]).await.unwrap();

    let cites = swarm.document("weksa:citation:a").await;
    let cited: &ForeignRef = cites.citations[0].r#ref.as_ref().unwrap();
    assert_eq!(cited.payload_sha256, ruled.payload_sha256);
    assert_eq!(cites.citations[0].state(), CitationState::Verified);
    for (change, state) in [
        (
            "UPDATE swarm.document SET payload = payload || '{\"title\": \"Right\"}' WHERE id = 'eureka:ruling:left'",
            CitationState::Altered,
        ),
        (
            "DELETE FROM swarm.document WHERE id = 'eureka:ruling:left'",
            CitationState::Missing,
        ),
        (
            "UPDATE swarm.mind SET state = 'moved', closed_at = swarm.now(), moved_to = 'there' WHERE instance = 'eureka'",
            CitationState::Remote,
        ),
    ] {
        let change = format!(
            "SET session_replication_role = replica; {change}; RESET session_replication_role"
        );
        let change = sqlx::raw_sql(sqlx::AssertSqlSafe(change));
        change.execute(&swarm.database.owner).await.unwrap();
        assert_eq!(swarm.cited().await, state);
    }
}

#[tokio::test]
async fn who_may_only_look_sees_no_payload() {
    let swarm = start().await;
    swarm.open("weksa", 1_000_000).await;
    let weksa = swarm.operate("weksa", Organ::Self_).await;
    let asked = vec![question("weksa", "way", &[])];
    swarm.append(&weksa, asked).await.unwrap();

    let mut seen = swarm.records_bearing(&swarm.keys.viewer());
    let request = GetDocumentRequest {
        workspace_id: WORKSPACE.to_owned(),
        holder: "weksa".to_owned(),
        id: "weksa:question:way".to_owned(),
    };
    let seen = seen.get_document(request).await.unwrap().into_inner();

    let seen = seen.document.unwrap();
    assert_eq!(seen.payload, b"");
    assert!(seen.in_force);
    let whole = swarm.document("weksa:question:way").await;
    assert!(whole.payload.starts_with(b"{\"asked_on\":\"2026-06-01\""));
}

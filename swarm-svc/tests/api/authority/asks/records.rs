//! Records.

use cambium_proto::swarm::v1 as wire;
use cambium_proto::swarm::v1::NewDocument;
use serde_json::json;

use super::{Ask, eureka, looked};
use crate::authority::calls::{append, asked};
use crate::authority::raw::call;
use crate::fixture::{WORKSPACE, request_id};
use crate::record::{ended, question, ruling};

/// What a mind may write, and what it may not, whoever it is.
fn written(lead: &str) -> Vec<(&'static str, Vec<NewDocument>)> {
    let none = json!({});
    let by = |by: &str| json!({"by": by});
    let names_lead = json!({"label": "swarm-lead", "names_lead": "weksa"});
    let over = ended("eureka:ruling:first", "superseded", &by("weksa:ruling:own"));
    let lead = format!("{lead}:ruling:swarm-lead");
    let lead_over = ended(&lead, "superseded", &by("weksa:ruling:own"));
    let standing = ruling("weksa", "swarm-lead-9", "standing", &names_lead);
    let between = question("weksa", "fork", &["weksa", "eureka"]);
    let foreign_between = question("eureka", "fork", &["weksa", "eureka"]);
    vec![
        ("of its own", vec![ruling("weksa", "own", "mind", &none)]),
        ("a question", vec![question("weksa", "way", &[])]),
        ("a question between minds", vec![between]),
        ("another's question between minds", vec![foreign_between]),
        ("another's question", vec![question("eureka", "way", &[])]),
        (
            "another's ruling",
            vec![ruling("eureka", "own", "mind", &none)],
        ),
        ("over another's ruling", vec![over]),
        ("over the lead's ruling", vec![lead_over]),
        ("a standing ruling", vec![standing]),
    ]
}

pub(super) fn records(lead: &str) -> Vec<Ask> {
    let given = ruling("weksa", "given", "operator", &json!({}));
    let rule = asked!(RuleAsOperatorRequest {
        holder: "weksa".to_owned(),
        documents: vec![given],
    });
    let fork = question("weksa", "other-fork", &["weksa", "eureka"]);
    let open = asked!(OpenQuestionRequest {
        holder: "weksa".to_owned(),
        question: Some(fork)
    });
    let get = looked!(GetDocumentRequest {
        holder: eureka(),
        id: "eureka:ruling:first".to_owned(),
    });
    let verify = looked!(VerifyCitationsRequest {});
    let appended = written(lead).into_iter();
    let mut asks: Vec<Ask> = appended
        .map(|(about, documents)| (about, append(documents)))
        .collect();
    asks.extend([
        ("", call("RecordService/RuleAsOperator", &rule)),
        ("", call("RecordService/OpenQuestion", &open)),
        ("", call("RecordService/GetDocument", &get)),
        (
            "",
            call(
                "RecordService/ListDocuments",
                &looked!(ListDocumentsRequest {}),
            ),
        ),
        ("", call("RecordService/VerifyCitations", &verify)),
        (
            "",
            call("RecordService/ListReviews", &looked!(ListReviewsRequest {})),
        ),
    ]);
    asks
}

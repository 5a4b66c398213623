//! Verbs that are documents in a record.

use cambium_proto::swarm::v1 as wire;
use cambium_proto::swarm::v1::NewDocument;
use serde_json::json;

use super::{append, asked};
use crate::authority::raw::{Call, call};
use crate::authority::rows::{Condition, Row};
use crate::authority::stage::Stage;
use crate::fixture::{WORKSPACE, request_id};
use crate::record::{citation, ended, question, ruling};

fn rule(holder: &str, documents: Vec<NewDocument>) -> Call {
    let request = asked!(RuleAsOperatorRequest {
        holder: holder.to_owned(),
        documents: documents,
    });
    call("RecordService/RuleAsOperator", &request)
}

/// The one that the row is about.
pub(super) async fn documents(
    stage: &Stage,
    row: &Row,
    action: &str,
    condition: &Condition,
) -> Call {
    let (own, thing) = (row.name.as_str(), row.thing.as_str());
    let none = json!({});
    let answers = json!({"answers": "eureka:question:fork", "choice": "left"});
    let over = |by: &str| {
        let by = json!({"by": by});
        ended(&format!("{thing}:ruling:first"), "superseded", &by)
    };
    let is_operator = row.kind == "operator";
    match action {
        "AppendRecord" => append(vec![question(own, "way", &[])]),
        "RuleAsMind" => append(vec![ruling(own, "own", "mind", &none)]),
        "SupersedeRuling" if is_operator => {
            let given = ruling(thing, "given", "operator", &none);
            let by = format!("{thing}:ruling:given");
            rule(thing, vec![given, over(&by)])
        }
        "SupersedeRuling" => {
            let by = format!("{own}:ruling:own");
            append(vec![ruling(own, "own", "mind", &none), over(&by)])
        }
        "OpenQuestion" => append(vec![question(own, "fork", &[own, "weksa"])]),
        "RuleCrossMind" if is_operator => {
            let ruled = ruling("eureka", "fork", "operator", &answers);
            rule("eureka", vec![ruled])
        }
        "RuleCrossMind" => append(vec![ruling(own, "own", "mind", &answers)]),
        "Cite" => {
            let cited = stage.swarm.document(&format!("{thing}:ruling:first")).await;
            let sha256 = match condition["digest"].as_str() {
                "match" => cited.payload_sha256.clone(),
                _ => "0".repeat(64),
            };
            append(vec![citation(own, "c", &cited, &sha256)])
        }
        other => panic!("the cases have a new verb: {other}"),
    }
}

//! By which verb something is written, as far as what it is says so: one call may write documents of several.
//! Decides nothing: the table of authority does.

use serde_json::{Map, Value};

use super::{Document, Kind};
use crate::authority::Action;
use crate::{Error, Instance};

/// The verb by which a mind appends a document. A hand-off comes of an offer, which moves something with it.
pub fn verb(kind: Kind, payload: &Map<String, Value>) -> Result<Action, Error> {
    let text = |field: &str| payload.get(field).and_then(Value::as_str).unwrap_or("");
    let is_fork = || {
        let between = payload.get("between").and_then(Value::as_array);
        between.is_some_and(|minds| !minds.is_empty())
    };
    Ok(match kind {
        Kind::HandOff => return Err(Error::document("kind", "is written by an offer")),
        Kind::Ruling => Action::RuleAsMind,
        Kind::Resolution if text("outcome") == "superseded" => Action::SupersedeRuling,
        Kind::Question if is_fork() => Action::OpenQuestion,
        Kind::Citation => Action::Cite,
        Kind::Identity | Kind::Campaign | Kind::Question | Kind::Resolution | Kind::Stewardship => {
            Action::AppendRecord
        }
    })
}

/// Whether documents are one ruling in a mind's record, and resolutions that belong to it.
pub fn is_one_ruling(holder: &Instance, documents: &[Document]) -> Result<(), Error> {
    let (rulings, others): (Vec<_>, Vec<_>) = documents
        .iter()
        .partition(|document| document.kind() == Kind::Ruling);
    let [ruling] = rulings[..] else {
        return Err(Error::document(
            "documents",
            "are not one ruling and what belongs to it",
        ));
    };
    if ruling.holder() != holder {
        return Err(Error::document("holder", "is not the ruling's"));
    }
    let belongs = |one: &&Document| {
        let names = ["by", "ruling"].map(|field| one.stated(field) == Some(ruling.id()));
        one.kind() == Kind::Resolution && names.contains(&true)
    };
    match others.iter().all(belongs) {
        true => Ok(()),
        false => Err(Error::document(
            "documents",
            "hold what does not belong to the ruling",
        )),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::record::sample::{mind, question, resolved, ruling};

    #[test]
    fn each_document_has_its_verb() {
        let of = |document: &Document| verb(document.kind(), document.payload());
        let own = ruling("weksa:ruling:own", "mind", json!({}));
        let over = resolved(
            "weksa:ruling:own",
            1,
            "superseded",
            json!({"by": "weksa:ruling:b"}),
        );
        let closed = resolved("weksa:campaign:c", 1, "closed", json!({"reason": "Done."}));
        let plain = question("weksa:question:way", &[]);
        let fork = question("weksa:question:way", &["weksa", "eureka"]);

        assert_eq!(of(&own), Ok(Action::RuleAsMind));
        assert_eq!(of(&over), Ok(Action::SupersedeRuling));
        assert_eq!(of(&closed), Ok(Action::AppendRecord));
        assert_eq!(of(&plain), Ok(Action::AppendRecord));
        assert_eq!(of(&fork), Ok(Action::OpenQuestion));
        assert_eq!(verb(Kind::Citation, &Map::new()), Ok(Action::Cite));
        assert!(verb(Kind::HandOff, &Map::new()).is_err());
    }

    #[test]
    fn an_operator_rules_once_and_ends_what_that_ends() {
        let new = ruling("weksa:ruling:new", "operator", json!({}));
        let over = |by: &str| resolved("weksa:ruling:old", 1, "superseded", json!({"by": by}));
        let weksa = mind("weksa");

        assert!(is_one_ruling(&weksa, &[new.clone(), over("weksa:ruling:new")]).is_ok());
        for bad in [
            vec![],
            vec![new.clone(), new.clone()],
            vec![new.clone(), over("weksa:ruling:other")],
            vec![new.clone(), question("weksa:question:way", &[])],
        ] {
            assert!(is_one_ruling(&weksa, &bad).is_err());
        }
        assert!(is_one_ruling(&mind("eureka"), &[new]).is_err());
    }
}

//! How the lead moves: a standing ruling that names it, or says that there is none, takes the place of the one before
//! (design: swarm, section 9). Moves no work.

use chrono::NaiveDate;
use serde_json::{Value, json};

use super::hand_over::parts;
use super::shelf::Shelf;
use super::{Document, Kind, resolution_id};
use crate::{Error, Instance};

/// What the operator says of the lead.
#[derive(Clone, Copy, Debug)]
pub struct Appointment<'a> {
    /// In whose record it is written: the new lead's, or the last one's where there is to be none.
    pub holder: &'a Instance,
    pub names: Option<&'a Instance>,
    pub review_on: Option<&'a str>,
    pub reason: &'a str,
}

const LABEL: &str = "swarm-lead";

/// The ruling, and the end of the one before. `taken` are the ids of the holder's rulings that begin as this one's.
pub fn appointed(
    appointment: &Appointment<'_>,
    taken: &[String],
    today: NaiveDate,
    shelf: &Shelf,
) -> Result<Vec<Document>, Error> {
    let mut payload = parts(json!({
        "label": LABEL,
        "title": "Lead of the swarm",
        "ruling": appointment.reason,
        "authority": "standing",
        "ruled_on": today.to_string(),
    }));
    let named = appointment.names.map(Instance::as_str);
    for (field, text) in [("names_lead", named), ("review_on", appointment.review_on)] {
        if let Some(text) = text {
            payload.insert(field.to_owned(), Value::String(text.to_owned()));
        }
    }
    let holder = appointment.holder.clone();
    let id = free_id(&holder, taken);
    let ruling = Document::new(holder, Kind::Ruling, &id, payload)?;
    let over = shelf
        .lead_ruling()
        .map(|last| superseding(last, &ruling, appointment.reason, today, shelf));
    let documents = [Some(Ok(ruling)), over].into_iter().flatten();
    documents.collect()
}

fn superseding(
    last: &Document,
    by: &Document,
    rationale: &str,
    today: NaiveDate,
    shelf: &Shelf,
) -> Result<Document, Error> {
    let sequence = shelf.next_resolution(last.id());
    let payload = json!({
        "subject": last.id(),
        "sequence": sequence,
        "outcome": "superseded",
        "by": by.id(),
        "rationale": rationale,
        "resolved_on": today.to_string(),
    });
    let id = resolution_id(last.id(), sequence);
    Document::new(last.holder().clone(), Kind::Resolution, &id, parts(payload))
}

/// The label itself, or the label with the next number: a mind leads as often as the operator wants.
fn free_id(holder: &Instance, taken: &[String]) -> String {
    let base = format!("{holder}:{}:{LABEL}", Kind::Ruling);
    let number = |id: &String| match id.strip_prefix(&base)? {
        "" => Some(1),
        rest => rest.strip_prefix('-')?.parse::<u32>().ok(),
    };
    match taken.iter().filter_map(number).max() {
        None => base,
        Some(last) => format!("{base}-{}", last.max(1).saturating_add(1)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::sample::{lead, mind, resolved, shelf};
    use crate::record::{Author, admit};

    fn today() -> NaiveDate {
        NaiveDate::from_ymd_opt(2026, 12, 1).unwrap()
    }

    #[test]
    fn a_lead_takes_the_place_of_the_one_before_and_may_be_prolonged() {
        let (eureka, weksa) = (mind("eureka"), mind("weksa"));
        let appointment = Appointment {
            holder: &weksa,
            names: Some(&weksa),
            review_on: Some("2027-01-01"),
            reason: "Once more.",
        };
        let known = shelf(vec![lead("weksa", "swarm-lead")]);
        let taken = ["weksa:ruling:swarm-lead".to_owned()];

        let again = appointed(&appointment, &taken, today(), &known).unwrap();

        assert_eq!(again[0].id(), "weksa:ruling:swarm-lead-2");
        assert_eq!(again[1].id(), "weksa:ruling:swarm-lead.n1");
        let written = admit(again, &Author::Operator, &known).unwrap();
        let known = shelf(
            vec![lead("weksa", "swarm-lead")]
                .into_iter()
                .chain(written)
                .collect(),
        );
        assert_eq!(known.lead(), Some(weksa.clone()));
        let other = Appointment {
            holder: &eureka,
            names: Some(&eureka),
            ..appointment
        };
        let moved = appointed(&other, &[], today(), &known).unwrap();
        assert_eq!(moved[0].id(), "eureka:ruling:swarm-lead");
        assert_eq!(moved[1].text("subject"), "weksa:ruling:swarm-lead-2");
        assert!(admit(moved, &Author::Operator, &known).is_ok());
    }

    #[test]
    fn a_ruling_that_names_nobody_leaves_no_lead() {
        let weksa = mind("weksa");
        let nobody = Appointment {
            holder: &weksa,
            names: None,
            review_on: None,
            reason: "Nobody now.",
        };
        let known = shelf(vec![lead("weksa", "swarm-lead")]);

        let ended = appointed(
            &nobody,
            &["weksa:ruling:swarm-lead".to_owned()],
            today(),
            &known,
        );

        let written = admit(ended.unwrap(), &Author::Operator, &known).unwrap();
        let known = shelf(
            vec![lead("weksa", "swarm-lead")]
                .into_iter()
                .chain(written)
                .collect(),
        );
        assert_eq!(known.lead(), None);
        assert!(known.lead_ruling().is_some());
    }

    #[test]
    fn a_lead_ends_only_by_the_operators_word() {
        let known = shelf(vec![
            lead("weksa", "swarm-lead"),
            crate::record::sample::ruling("weksa:ruling:given", "operator", json!({})),
        ]);
        let over = resolved(
            "weksa:ruling:swarm-lead",
            1,
            "superseded",
            json!({"by": "weksa:ruling:given"}),
        );

        let refused = admit(vec![over], &Author::Mind(mind("weksa")), &known);

        let denial = crate::authority::Denial::AuthorityAbove;
        assert_eq!(refused, Err(Error::Denied(denial)));
    }
}

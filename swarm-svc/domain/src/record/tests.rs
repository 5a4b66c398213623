use chrono::NaiveDate;
use proptest::prelude::*;
use serde_json::json;

use super::sample::*;
use super::*;
use crate::authority::Denial;
use crate::canonical;

#[test]
fn a_document_is_its_canonical_bytes() {
    let one = document(
        "weksa:campaign:quiet",
        json!({"label": "quiet", "title": "Quiet", "goal": "Less.", "started_on": "2026-11-30"}),
    );
    let other = document(
        "weksa:campaign:quiet",
        json!({"started_on": "2026-11-30", "goal": "Less.", "title": "Quiet", "label": "quiet"}),
    );

    assert_eq!(one.sha256(), other.sha256());
    assert_eq!(
        canonical::text(&Value::Object(one.payload().clone())),
        r#"{"goal":"Less.","label":"quiet","started_on":"2026-11-30","title":"Quiet"}"#
    );
    assert_eq!(
        one.sha256(),
        canonical::sha256(
            br#"{"goal":"Less.","label":"quiet","started_on":"2026-11-30","title":"Quiet"}"#
        )
    );
}

#[test]
fn what_has_not_the_form_of_its_kind_names_the_field() {
    let good =
        json!({"label": "quiet", "title": "Quiet", "goal": "Less.", "started_on": "2026-11-30"});
    let with = |name: &str, value: Value| {
        let mut payload = good.clone();
        payload[name] = value;
        payload
    };
    let cases = [
        ("weksa:campaign:quiet", with("title", json!(null)), "title"),
        ("weksa:campaign:quiet", with("goal", json!(1)), "goal"),
        (
            "weksa:campaign:quiet",
            with("started_on", json!("2026-02-30")),
            "started_on",
        ),
        ("weksa:campaign:quiet", with("more", json!("x")), "payload"),
        ("weksa:campaign:loud", good.clone(), "id"),
        ("weksa:question:quiet", good.clone(), "payload"),
    ];

    for (id, payload, field) in cases {
        let error = made(id, &payload).unwrap_err();
        assert_eq!(
            cambium_kernel::Failure::field(&error).as_deref(),
            Some(field),
            "{error}"
        );
    }
}

#[test]
fn a_replay_is_no_news_and_other_bytes_under_an_id_are_refused() {
    let known = shelf(vec![question("weksa:question:way", &[])]);
    let mut other = question("weksa:question:way", &[]).payload().clone();
    other["title"] = json!("Where?");
    let other = document("weksa:question:way", Value::Object(other));

    assert_eq!(
        admit(vec![question("weksa:question:way", &[])], &weksa(), &known),
        Ok(vec![])
    );
    assert_eq!(
        admit(vec![other], &weksa(), &known),
        Err(Error::DocumentTaken("weksa:question:way".to_owned()))
    );
}

#[test]
fn an_answer_closes_its_question_once() {
    let known = shelf(vec![question("weksa:question:way", &[])]);
    let answer = |id: &str, choice: &str| {
        ruling(
            id,
            "mind",
            json!({"answers": "weksa:question:way", "choice": choice}),
        )
    };

    let admitted = admit(vec![answer("weksa:ruling:left", "left")], &weksa(), &known).unwrap();

    assert_eq!(admitted[1].id(), "weksa:question:way.n1");
    assert_eq!(admitted[1].text("outcome"), "answered");
    let mut all = admitted.clone();
    all.push(question("weksa:question:way", &[]));
    let again = admit(
        vec![answer("weksa:ruling:right", "right")],
        &weksa(),
        &shelf(all),
    );
    assert_eq!(
        again,
        Err(Error::QuestionClosed("weksa:question:way".to_owned()))
    );
    let odd = admit(vec![answer("weksa:ruling:up", "up")], &weksa(), &known);
    assert_eq!(odd, Err(Error::document("choice", "was not offered")));
}

#[test]
fn no_mind_rules_above_or_beside_itself() {
    let known = shelf(vec![
        question("eureka:question:fork", &["eureka", "weksa"]),
        question("weksa:question:fork", &["eureka", "weksa"]),
        ruling("weksa:ruling:given", "operator", json!({})),
        ruling("weksa:ruling:own", "mind", json!({})),
    ]);
    let denied = |documents: Vec<Document>| match admit(documents, &weksa(), &known) {
        Err(Error::Denied(denial)) => denial,
        other => panic!("{other:?}"),
    };

    assert_eq!(
        denied(vec![ruling("eureka:ruling:a", "mind", json!({}))]),
        Denial::ForeignHolder
    );
    assert_eq!(
        denied(vec![ruling("weksa:ruling:a", "operator", json!({}))]),
        Denial::AuthorityAbove
    );
    assert_eq!(
        denied(vec![lead("weksa", "swarm-lead")]),
        Denial::AuthorityAbove
    );
    assert_eq!(
        denied(vec![question("weksa:question:b", &["eureka"])]),
        Denial::BetweenMinds
    );
    let fork = json!({"answers": "weksa:question:fork"});
    assert_eq!(
        denied(vec![ruling("weksa:ruling:a", "mind", fork)]),
        Denial::BetweenMinds
    );
    let theirs = json!({"answers": "eureka:question:fork"});
    assert_eq!(
        denied(vec![ruling("weksa:ruling:a", "mind", theirs)]),
        Denial::ForeignHolder
    );
    let over = resolved(
        "weksa:ruling:given",
        1,
        "superseded",
        json!({"by": "weksa:ruling:own"}),
    );
    assert_eq!(denied(vec![over]), Denial::AuthorityAbove);
    let theirs = resolved("eureka:question:fork", 1, "withdrawn", json!({}));
    assert_eq!(denied(vec![theirs]), Denial::ForeignHolder);
    let area =
        json!({"area": "acme/tools", "sequence": 1, "note": "n", "assigned_on": "2026-11-30"});
    assert_eq!(
        denied(vec![document("weksa:stewardship:tools", area)]),
        Denial::AuthorityAbove
    );
}

#[test]
fn the_operator_answers_a_fork_and_supersedes_any_ruling() {
    let known = shelf(vec![
        question("eureka:question:fork", &["eureka", "weksa"]),
        ruling("weksa:ruling:own", "mind", json!({})),
    ]);
    let answer = ruling(
        "eureka:ruling:left",
        "operator",
        json!({"answers": "eureka:question:fork", "operator_quote": "Left."}),
    );
    let over = resolved(
        "weksa:ruling:own",
        1,
        "superseded",
        json!({"by": "eureka:ruling:left"}),
    );

    let admitted = admit(vec![answer, over], &Author::Operator, &known).unwrap();

    assert_eq!(admitted.len(), 3);
}

#[test]
fn a_resolution_is_taken_back_once_and_never_puts_two_in_force() {
    let old = ruling("weksa:ruling:old", "mind", json!({}));
    let new = ruling("weksa:ruling:new", "mind", json!({}));
    let over = resolved(
        "weksa:ruling:old",
        1,
        "superseded",
        json!({"by": "weksa:ruling:new"}),
    );
    let undo = resolved("weksa:ruling:old.n1", 1, "withdrawn", json!({}));
    let both = shelf(vec![old, new, over]);
    assert_eq!(
        admit(vec![undo], &weksa(), &both),
        Err(Error::WouldDouble("weksa:ruling:old".to_owned()))
    );

    let campaign = document(
        "weksa:campaign:c",
        json!({"label": "c", "title": "C", "goal": "g", "started_on": "2026-11-30"}),
    );
    let close = resolved("weksa:campaign:c", 1, "closed", json!({"reason": "done"}));
    let undo = resolved("weksa:campaign:c.n1", 1, "withdrawn", json!({}));
    let redo = resolved("weksa:campaign:c.n1.n1", 1, "withdrawn", json!({}));
    let early = resolved("weksa:campaign:c", 3, "closed", json!({"reason": "again"}));
    let again = resolved("weksa:campaign:c", 2, "closed", json!({"reason": "again"}));
    let shelf = shelf(vec![campaign, close.clone(), undo]);
    assert!(shelf.is_in_force(shelf.get("weksa:campaign:c").unwrap()));
    assert!(!shelf.is_in_force(&close));
    assert_eq!(admit(vec![redo], &weksa(), &shelf), Err(Error::TooDeep));
    assert!(matches!(
        admit(vec![early], &weksa(), &shelf),
        Err(Error::Sequence { next: 2, .. })
    ));
    assert_eq!(admit(vec![again], &weksa(), &shelf).unwrap().len(), 1);
}

#[test]
fn what_was_cited_is_found_altered_missing_or_as_it_was() {
    let cited = ruling("eureka:ruling:own", "mind", json!({}));
    let own = ForeignRef::of(&cited);
    let wrong = ForeignRef {
        payload_sha256: "0".repeat(64),
        ..own.clone()
    };
    let citation = |cited: &ForeignRef| {
        document(
            "weksa:citation:c",
            json!({"refs": [cited.to_value()], "note": "as there"}),
        )
    };
    let known = shelf(vec![cited.clone()]);

    assert!(admit(vec![citation(&own)], &weksa(), &known).is_ok());
    assert_eq!(
        admit(vec![citation(&wrong)], &weksa(), &known),
        Err(Error::CitationMismatch("eureka:ruling:own".to_owned()))
    );
    let payload = Value::Object(cited.payload().clone());
    assert_eq!(
        verify(&own, Some((Kind::Ruling, &payload)), false),
        Citation::Verified
    );
    assert_eq!(
        verify(&own, Some((Kind::Ruling, &json!({}))), false),
        Citation::Altered
    );
    assert_eq!(verify(&own, None, false), Citation::Missing);
    assert_eq!(verify(&own, None, true), Citation::Remote);
}

#[test]
fn an_area_goes_over_whole() {
    let held = document(
        "weksa:stewardship:tools",
        json!({"area": "acme/tools", "sequence": 1, "note": "n", "assigned_on": "2026-11-30"}),
    );
    let offer = json!({"from": "weksa", "to": "eureka", "what": "acme/tools", "reason": "Too much.", "handed_on": "2026-11-30"});
    let offer = document("weksa:hand_off:tools", offer);
    let today = NaiveDate::from_ymd_opt(2026, 12, 1).unwrap();
    let known = shelf(vec![held, offer.clone()]);
    let forged = document(
        "eureka:hand_off:tools",
        json!({"from": "weksa", "to": "eureka", "what": "acme/docs", "reason": "r", "handed_on": "2026-11-30"}),
    );
    assert_eq!(
        admit(vec![forged], &Author::Mind(mind("eureka")), &known),
        Err(Error::Denied(Denial::NotTheGiver))
    );

    let documents = accepted(&offer, Thing::Area, today, &known).unwrap();
    let admitted = admit(documents, &Author::Operator, &known).unwrap();

    let after = Shelf::new(
        known
            .of(Kind::HandOff)
            .chain(known.of(Kind::Stewardship))
            .cloned()
            .chain(admitted),
    );
    assert_eq!(
        after.steward("acme/tools").unwrap().holder(),
        &mind("eureka")
    );
    assert_eq!(
        after.get("eureka:hand_off:tools").unwrap().sha256(),
        offer.sha256()
    );
    let back = resolved("weksa:hand_off:tools", 1, "withdrawn", json!({}));
    assert_eq!(admit(vec![back], &weksa(), &after), Err(Error::OfferOver));
    let again = accepted(&offer, Thing::Area, today, &after);
    assert_eq!(again, Err(Error::OfferOver));
}

#[test]
fn an_offer_of_an_area_that_is_gone_is_over_and_a_withdrawn_one_stays_so() {
    let offer = Offer {
        giver: &mind("weksa"),
        to: &mind("eureka"),
        what: "acme/tools",
        refs: &[],
        reason: "Too much.",
    };
    let today = NaiveDate::from_ymd_opt(2026, 12, 1).unwrap();
    let made = offer.document("tools", today).unwrap();
    let known = shelf(vec![made.clone()]);

    assert_eq!(
        held_area(&mind("weksa"), "acme/tools", &known),
        Err(Error::NothingHeld)
    );
    assert_eq!(
        accepted(&made, Thing::Area, today, &known),
        Err(Error::OfferOver)
    );
    assert_eq!(
        accepted(&made, Thing::Work, today, &known).unwrap().len(),
        1
    );

    let back = withdrawal(&made, "Not needed.", today, &known).unwrap();
    let known = shelf(vec![made.clone(), back]);
    assert_eq!(
        accepted(&made, Thing::Work, today, &known),
        Err(Error::OfferOver)
    );
    let undo = resolved("weksa:hand_off:tools.n1", 1, "withdrawn", json!({}));
    assert_eq!(admit(vec![undo], &weksa(), &known), Err(Error::OfferOver));
}

#[test]
fn the_same_may_be_offered_again_after_it_came_back() {
    let offer = Offer {
        giver: &mind("weksa"),
        to: &mind("eureka"),
        what: "0197",
        refs: &[],
        reason: "Too much.",
    };
    let today = NaiveDate::from_ymd_opt(2026, 12, 1).unwrap();
    let (first, second) = (
        offer.document("a", today).unwrap(),
        offer.document("b", today).unwrap(),
    );
    let copy = accepted(&first, Thing::Work, today, &shelf(vec![first.clone()])).unwrap();
    let known = shelf([vec![first.clone(), second.clone()], copy].concat());

    assert!(is_accepted(&first, &known) && !is_accepted(&second, &known));
    let declined = withdrawal(&second, "No.", today, &known).unwrap();
    assert!(admit(vec![declined], &Author::Operator, &known).is_ok());
}

#[test]
fn what_was_superseded_comes_not_back_while_its_successors_successor_stands() {
    let over = |old: &str, new: &str| {
        let by = json!({"by": format!("weksa:ruling:{new}")});
        resolved(&format!("weksa:ruling:{old}"), 1, "superseded", by)
    };
    let rulings =
        ["a", "b", "c"].map(|label| ruling(&format!("weksa:ruling:{label}"), "mind", json!({})));
    let known = shelf([rulings.to_vec(), vec![over("a", "b"), over("b", "c")]].concat());
    let undo = resolved("weksa:ruling:a.n1", 1, "withdrawn", json!({}));

    let refused = admit(vec![undo], &weksa(), &known);

    assert_eq!(
        refused,
        Err(Error::WouldDouble("weksa:ruling:a".to_owned()))
    );
}

#[test]
fn a_mind_does_not_play_one_ruling_of_the_operator_against_another() {
    let given = |label: &str| ruling(&format!("weksa:ruling:{label}"), "operator", json!({}));
    let known = shelf(vec![given("a"), given("b")]);
    let over = resolved(
        "weksa:ruling:a",
        1,
        "superseded",
        json!({"by": "weksa:ruling:b"}),
    );

    assert_eq!(
        admit(vec![over.clone()], &weksa(), &known),
        Err(Error::Denied(Denial::AuthorityAbove))
    );
    assert!(admit(vec![over], &Author::Operator, &known).is_ok());
}

#[test]
fn there_is_one_lead_and_the_same_mind_may_be_it_again() {
    let first = shelf(vec![lead("weksa", "swarm-lead")]);
    let second = lead("weksa", "swarm-lead-2");
    let over = resolved(
        "weksa:ruling:swarm-lead",
        1,
        "superseded",
        json!({"by": "weksa:ruling:swarm-lead-2"}),
    );

    assert_eq!(first.lead(), Some(mind("weksa")));
    assert_eq!(
        admit(vec![second.clone()], &Author::Operator, &first),
        Err(Error::WouldDouble("swarm-lead".to_owned()))
    );
    assert!(admit(vec![second, over], &Author::Operator, &first).is_ok());
}

proptest! {
    #[test]
    fn a_refused_batch_leaves_nothing_and_an_admitted_one_is_replayed_as_nothing(
        labels in prop::collection::vec("[a-c]", 1..5), choice in prop::sample::select(vec!["left", "up"])
    ) {
        let known = shelf(vec![question("weksa:question:way", &[])]);
        let answers = json!({"answers": "weksa:question:way", "choice": choice});
        let batch: Vec<Document> = labels
            .iter()
            .enumerate()
            .map(|(n, label)| ruling(&format!("weksa:ruling:{label}"), "mind", if n == 0 { answers.clone() } else { json!({}) }))
            .collect();

        if let Ok(admitted) = admit(batch.clone(), &weksa(), &known) {
            let all = known.of(Kind::Question).cloned().chain(admitted);
            prop_assert_eq!(admit(batch, &weksa(), &Shelf::new(all)), Ok(vec![]));
            prop_assert_eq!(choice, "left");
        }
    }
}

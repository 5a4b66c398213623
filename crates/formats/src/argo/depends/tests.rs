use TaskState::{Failed, Omitted, Skipped, Succeeded};
use proptest::prelude::*;

use super::*;

fn condition(text: &str) -> Condition {
    parse(text).unwrap().condition
}

fn edges(edges: &[(&str, &[TaskState])]) -> Vec<(String, Vec<TaskState>)> {
    edges
        .iter()
        .map(|&(task, on)| (task.to_owned(), on.to_vec()))
        .collect()
}

fn cel(text: &str) -> String {
    condition(text).to_cel(&|name| name.to_uppercase())
}

#[test]
fn a_clause_for_each_task_is_edges_that_must_all_fire() {
    let each = |text: &str| match condition(text).meaning() {
        Meaning::EachFires(edges) => edges,
        other => panic!("{text}: {other:?}"),
    };

    assert_eq!(each("A"), edges(&[("A", &[Succeeded, Skipped])]));
    assert_eq!(
        each(" a-1&&B.Failed "),
        edges(&[("a-1", &[Succeeded, Skipped]), ("B", &[Failed])])
    );
    assert_eq!(each("(A && B.Omitted) && C.Errored").len(), 3);
    assert_eq!(
        each("(A.Succeeded || A.Failed) && B.Skipped"),
        edges(&[("A", &[Succeeded, Failed]), ("B", &[Skipped])])
    );
    assert_eq!(each("A.Failed || A.Errored"), edges(&[("A", &[Failed])]));
    assert_eq!(
        each("!A.Succeeded && B"),
        edges(&[
            ("A", &[Failed, Skipped, Omitted]),
            ("B", &[Succeeded, Skipped])
        ])
    );
}

#[test]
fn a_plain_disjunction_is_edges_of_which_one_must_fire() {
    let some = condition("A || B.Failed || (C.Omitted || A.Failed)").meaning();

    let expected = edges(&[
        ("A", &[Succeeded, Failed, Skipped]),
        ("B", &[Failed]),
        ("C", &[Omitted]),
    ]);
    assert_eq!(some, Meaning::SomeFires(expected));
}

#[test]
fn whatever_else_is_computed() {
    let computed = |text: &str| match condition(text).meaning() {
        Meaning::Computed(tasks) => tasks,
        other => panic!("{text}: {other:?}"),
    };

    assert_eq!(computed("(A || B) && C"), ["A", "B", "C"]);
    assert_eq!(computed("A && B || C"), ["A", "B", "C"]);
    assert_eq!(computed("A && A.Succeeded && B"), ["A", "B"]);
    assert_eq!(computed("A.Succeeded && A.Failed"), ["A"]);
    assert_eq!(computed("!(A && B)"), ["A", "B"]);
}

#[test]
fn cel_asks_for_end_states_by_key() {
    assert_eq!(
        cel("(a.Succeeded || b.Failed) && c"),
        r#"(state["A"] == 'succeeded' || state["B"] == 'failed') && state["C"] in ['succeeded', 'skipped']"#
    );
    assert_eq!(
        cel("a.Omitted && b.Errored || !c.Skipped"),
        r#"(state["A"] == 'omitted' && state["B"] == 'failed') || !(state["C"] == 'skipped')"#
    );
}

#[test]
fn what_is_no_condition_is_refused_at_its_place() {
    let fault = |text: &str| parse(text).unwrap_err();

    assert_eq!(fault(""), Fault::End);
    assert_eq!(fault("A &&"), Fault::End);
    assert_eq!(fault("(A"), Fault::End);
    assert_eq!(
        fault("A B"),
        Fault::Unexpected {
            found: "B".into(),
            at: 2
        }
    );
    assert_eq!(
        fault("A & B"),
        Fault::Unexpected {
            found: "&".into(),
            at: 2
        }
    );
    assert_eq!(fault("A.Done"), Fault::State("Done".into()));
    assert_eq!(fault("A."), Fault::State(String::new()));
    assert_eq!(fault(&"(".repeat(100_000)), Fault::Depth);
    assert_eq!(fault(&"!".repeat(100_000)), Fault::Depth);
}

#[test]
fn what_has_no_equal_here_is_marked() {
    assert!(parse("A.Daemoned").unwrap().asks_daemoned);
    assert!(
        parse("A.AnySucceeded || B.AllFailed")
            .unwrap()
            .asks_of_several
    );
    assert_eq!(condition("A.AllFailed"), condition("A.Failed"));
}

proptest! {
    #[test]
    fn no_text_brings_the_reader_down(text in r"[AB.!()&| \-SuceddFail\u{e4}]{0,40}") {
        if let Ok(depends) = parse(&text) {
            depends.condition.meaning();
            depends.condition.to_cel(&|name| name.to_owned());
        }
    }
}

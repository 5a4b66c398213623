use std::collections::HashMap;

use super::*;

static TABLE: [(&str, &[&str]); 2] = [
    ("coord.gratitude", &["immune"]),
    ("coord.task_settled", &["immune", "genesis"]),
];

fn routes(known: &[&str]) -> Routes {
    let addresses = known
        .iter()
        .map(|name| ((*name).to_owned(), "http://127.0.0.1:1".to_owned()));
    Routes::new(&TABLE, addresses.collect::<HashMap<_, _>>())
}

fn signal(kind: &str, traceparent: String) -> Signal {
    Signal {
        r#type: kind.to_owned(),
        traceparent,
        ..Signal::default()
    }
}

fn signals(row: &Row) -> Vec<String> {
    let request = DeliverRequest::decode(row.1.as_slice()).unwrap();
    request
        .signals
        .into_iter()
        .map(|signal| signal.traceparent)
        .collect()
}

#[test]
fn each_receiver_gets_its_signals_in_one_row() {
    let batch = vec![
        signal("coord.gratitude", "a".to_owned()),
        signal("coord.task_settled", "b".to_owned()),
        signal("coord.gratitude", "c".to_owned()),
    ];

    let rows = rows(&routes(&["immune", "genesis"]), batch);

    let told: Vec<_> = rows
        .iter()
        .map(|row| (row.0, signals(row).concat()))
        .collect();
    assert_eq!(
        told,
        [("immune", "abc".to_owned()), ("genesis", "b".to_owned())]
    );
}

#[test]
fn a_receiver_without_an_address_is_left_out() {
    let routes = routes(&["genesis"]);

    assert_eq!(routes.receivers("coord.task_settled"), ["genesis"]);
    assert!(routes.receivers("coord.gratitude").is_empty());
    assert!(routes.receivers("coord.unheard_of").is_empty());
}

#[test]
fn a_row_that_is_full_is_followed_by_another() {
    let half = "x".repeat(ROW_BYTES / 2);
    let batch = (0..3)
        .map(|_| signal("coord.gratitude", half.clone()))
        .collect();

    let rows = rows(&routes(&["immune"]), batch);

    assert_eq!(rows.iter().map(|row| signals(row).len()).sum::<usize>(), 3);
    assert!(rows.len() > 1 && rows.iter().all(|row| row.1.len() <= ROW_BYTES));
}

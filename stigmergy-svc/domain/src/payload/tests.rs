use proptest::prelude::*;

use super::*;

fn canonical(bytes: &[u8]) -> Result<String, PayloadFault> {
    Ok(Payload::parse(bytes)?.map_or_else(String::new, Payload::into_string))
}

fn documents() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        (-1e6_f64..1e6).prop_map(Value::from),
        "[^\0]{0,8}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 32, 4, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            proptest::collection::vec(("[^\0]{0,4}", inner), 0..4)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn the_canonical_form_says_the_same(document in documents()) {
        let form = canonical(document.to_string().as_bytes()).unwrap();

        prop_assert_eq!(serde_json::from_str::<Value>(&form).unwrap(), document);
    }

    #[test]
    fn the_canonical_form_of_a_canonical_form_is_itself(document in documents()) {
        let form = canonical(document.to_string().as_bytes()).unwrap();

        prop_assert_eq!(canonical(form.as_bytes()).unwrap(), form);
    }

    #[test]
    fn spaces_make_no_difference(document in documents()) {
        let spaced = serde_json::to_string_pretty(&document).unwrap();

        prop_assert_eq!(canonical(spaced.as_bytes()), canonical(document.to_string().as_bytes()));
    }

    #[test]
    fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..64)) {
        let _ = canonical(&bytes);
    }
}

#[test]
fn keys_are_sorted_and_the_last_of_equal_ones_counts() {
    let form = canonical(br#" { "b" : [1, 2.50], "a": null, "b": {"y":"\u00e9","x":1e2} } "#);

    assert_eq!(form.unwrap(), r#"{"a":null,"b":{"x":100.0,"y":"é"}}"#);
}

#[test]
fn no_bytes_are_no_payload() {
    assert_eq!(Payload::parse(b""), Ok(None));
}

#[test]
fn what_a_reader_could_not_hold_is_refused() {
    for text in [r#""a\u0000b""#, r#"{"a\u0000":1}"#] {
        assert_eq!(canonical(text.as_bytes()), Err(PayloadFault::Nul));
    }
    let others: [&[u8]; 8] = [
        b"\"a\0b\"",
        b"\"\\ud800\"",
        b"\"\\udc00x\"",
        b"NaN",
        b"[1e999]",
        b"\"\xff\"",
        b"{} {}",
        b"   ",
    ];
    for bytes in others {
        let fault = canonical(bytes).unwrap_err();

        assert!(
            matches!(fault, PayloadFault::NotJson(_)),
            "{bytes:?}: {fault}"
        );
    }
}

#[test]
fn nesting_ends_at_32() {
    let nested = |depth: usize| format!("{}1{}", "[".repeat(depth), "]".repeat(depth));

    assert!(canonical(nested(32).as_bytes()).is_ok());
    assert_eq!(canonical(nested(33).as_bytes()), Err(PayloadFault::TooDeep));
    assert!(canonical(nested(100_000).as_bytes()).is_err());
}

#[test]
fn a_payload_has_at_most_256_kib() {
    let text = |size: usize| format!("\"{}\"", "x".repeat(size - 2));

    assert!(canonical(text(LIMIT).as_bytes()).is_ok());
    assert_eq!(
        canonical(text(LIMIT + 1).as_bytes()),
        Err(PayloadFault::TooLarge { size: LIMIT + 1 })
    );
}

#[test]
fn a_summary_ends_between_characters() {
    let long = "é".repeat(300);

    assert_eq!(summary(&long).chars().count(), 200);
    assert_eq!(summary("short"), "short");
}

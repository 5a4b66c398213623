use proptest::prelude::*;
use serde_json::Value;

use super::*;

fn checked(text: impl AsRef<[u8]>) -> Result<(), PayloadFault> {
    check(text.as_ref(), 1 << 20, 64)
}

fn documents() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        "\\PC*".prop_map(Value::from),
        "[\\u{1}-\\u{1f}\"\\\\/é😀]{0,8}".prop_map(Value::from),
    ];
    leaf.prop_recursive(6, 64, 8, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..8).prop_map(Value::from),
            proptest::collection::btree_map("\\PC{0,6}", inner, 0..8)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

/// Text that is JSON, or was before something happened to it.
fn near_documents() -> impl Strategy<Value = Vec<u8>> {
    let damage = proptest::collection::vec((any::<proptest::sample::Index>(), edits()), 0..3);
    (documents(), any::<bool>(), damage).prop_map(|(document, pretty, damage)| {
        let text = if pretty {
            serde_json::to_vec_pretty(&document)
        } else {
            serde_json::to_vec(&document)
        };
        let mut text = text.unwrap();
        for (place, with) in damage {
            let place = place.index(text.len() + 1);
            text.splice(place..(place + 1).min(text.len()), with);
        }
        text
    })
}

fn edits() -> impl Strategy<Value = Vec<u8>> {
    let pieces = [
        "", ",", ":", "]", "}", "[", "{", "\"", "\\", "0", "-", ".", "e9", " ", "\\u", "true",
        "nul", "\u{7f}", "é",
    ];
    prop_oneof![
        proptest::sample::select(pieces.to_vec()).prop_map(|piece| piece.as_bytes().to_vec()),
        any::<u8>().prop_map(|byte| vec![byte]),
    ]
}

/// What serde_json makes of it, less the rules that are ours alone.
fn is_json(bytes: &[u8]) -> bool {
    fn has_nul(value: &Value) -> bool {
        match value {
            Value::String(text) => text.contains('\0'),
            Value::Array(items) => items.iter().any(has_nul),
            Value::Object(members) => members
                .iter()
                .any(|(name, value)| name.contains('\0') || has_nul(value)),
            _ => false,
        }
    }
    bytes.is_empty() || serde_json::from_slice(bytes).is_ok_and(|value| !has_nul(&value))
}

proptest! {
    #[test]
    fn every_document_passes(document in documents()) {
        prop_assert_eq!(checked(serde_json::to_vec(&document).unwrap()), Ok(()));
    }

    #[test]
    fn what_passes_is_what_the_json_reader_reads(bytes in near_documents()) {
        let passes = checked(&bytes).is_ok();

        prop_assert_eq!(passes, is_json(&bytes), "{}", String::from_utf8_lossy(&bytes));
    }

    #[test]
    fn no_bytes_break_the_check(bytes in proptest::collection::vec(any::<u8>(), 0..64)) {
        prop_assert_eq!(checked(&bytes).is_ok(), is_json(&bytes));
    }
}

#[test]
fn each_fault_has_its_name() {
    use PayloadFault::{LoneSurrogate, NotJson, Nul, TooDeep, TooLarge};

    for (text, fault) in [
        (&b"[1,]"[..], NotJson { at: 3 }),
        (b"{\"a\":1,}", NotJson { at: 7 }),
        (b"1 2", NotJson { at: 2 }),
        (b"01", NotJson { at: 1 }),
        (b"1e999", NotJson { at: 0 }),
        (b"\"\xff\"", NotJson { at: 1 }),
        (b"\"\xc3\"", NotJson { at: 1 }),
        (b"\"a\nb\"", NotJson { at: 2 }),
        (b"\xef\xbb\xbf1", NotJson { at: 0 }),
        (b" ", NotJson { at: 1 }),
        (b"[1", NotJson { at: 2 }),
        (b"\"a\\u0000\"", Nul),
        (b"\"a\0\"", Nul),
        (b"1\0", Nul),
        (br#""\ud800""#, LoneSurrogate),
        (br#""\ud800\u0041""#, LoneSurrogate),
        (br#""\udc00\ud800""#, LoneSurrogate),
        (br#""\ud800\n""#, LoneSurrogate),
    ] {
        assert_eq!(
            checked(text),
            Err(fault),
            "{}",
            String::from_utf8_lossy(text)
        );
    }
    assert_eq!(checked(br#""\ud83d\ude00""#), Ok(()));
    assert_eq!(check(b"123", 2, 64), Err(TooLarge { size: 3, limit: 2 }));
    assert_eq!(
        (TooDeep.code(), TooLarge { size: 3, limit: 2 }.code()),
        (INVALID, TOO_LARGE)
    );
}

#[test]
fn no_bytes_are_null() {
    assert_eq!(checked(""), Ok(()));
}

#[test]
fn sixty_four_levels_pass_and_one_more_does_not() {
    let nested = |depth: usize| "[".repeat(depth) + &"]".repeat(depth);
    let objects = |depth: usize| "{\"a\":".repeat(depth) + "1" + &"}".repeat(depth);

    assert_eq!(checked(nested(64)), Ok(()));
    assert_eq!(checked(objects(64)), Ok(()));
    assert_eq!(checked(nested(65)), Err(PayloadFault::TooDeep));
    assert_eq!(checked(objects(65)), Err(PayloadFault::TooDeep));
    assert_eq!(checked("[".repeat(1 << 20)), Err(PayloadFault::TooDeep));
}

#[test]
fn the_deepest_that_can_be_asked_for_is_what_the_json_reader_reads() {
    let nested = |depth: usize| "[".repeat(depth) + &"]".repeat(depth);

    for depth in [DEEPEST, DEEPEST + 1] {
        let reads = serde_json::from_str::<Value>(&nested(depth)).is_ok();

        assert_eq!(
            check(nested(depth).as_bytes(), 1 << 20, usize::MAX).is_ok(),
            reads
        );
    }
}

use proptest::prelude::*;
use serde_json::json;

use super::*;

#[test]
fn a_key_is_written_bare_or_quoted() {
    let key = |text| Root::Inputs(NodeKey::parse(text).unwrap());

    for (text, root, members) in [
        ("input", Root::Input, &[][..]),
        ("input.a.b", Root::Input, &["a", "b"]),
        ("inputs.plan", key("plan"), &[]),
        ("inputs.plan.steps", key("plan"), &["steps"]),
        ("inputs.my-node.steps", key("my-node"), &["steps"]),
        ("inputs[\"v1.2:a\"].steps", key("v1.2:a"), &["steps"]),
        ("input[\"a b\"].c", Root::Input, &["a b", "c"]),
    ] {
        let path = Path::parse(text).unwrap();

        assert_eq!(
            (path.root(), path.members()),
            (
                &root,
                &members
                    .iter()
                    .map(|it| (*it).to_owned())
                    .collect::<Vec<_>>()[..]
            )
        );
    }
}

#[test]
fn what_is_no_path_is_refused() {
    for text in [
        "",
        "output.a",
        "inputs",
        "input.",
        "input..a",
        "input.a[0]",
        "inputs[\"\"]",
        "inputs[\"a",
        "input a",
        ".a",
        "state.a",
    ] {
        assert_eq!(
            Path::parse(text),
            Err(Error::PathInvalid(text.to_owned())),
            "{text}"
        );
    }
}

#[test]
fn a_missing_member_selects_nothing() {
    let document = json!({"a": {"b": [1]}});

    assert_eq!(
        Path::parse("input.a.b").unwrap().select(&document),
        Some(&json!([1]))
    );
    assert_eq!(Path::parse("input.a.c").unwrap().select(&document), None);
    assert_eq!(Path::parse("input.a.b.c").unwrap().select(&document), None);
}

proptest! {
    #[test]
    fn a_path_reads_back_what_it_prints(members in proptest::collection::vec("[^\"\\\\]{1,8}", 0..4), key in "[A-Za-z0-9_.:-]{1,8}") {
        let path = Path::new(Root::Inputs(NodeKey::parse(&key).unwrap()), members);

        prop_assert_eq!(Path::parse(&path.to_string()), Ok(path));
    }

    #[test]
    fn no_text_breaks_the_parser(text in ".*") {
        let _ = Path::parse(&text);
    }
}

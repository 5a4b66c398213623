//! Whatever bytes come in, an answer comes out: a graph or a refusal, never a panic.

use cambium_kernel::Failure as _;
use proptest::prelude::*;

use crate::{Error, Format, Source, import, to_json, to_yaml};

/// A small file of each kind, to be broken.
const SEEDS: [&str; 6] = [
    "name: r\nnodes:\n  a: {config: {x: [1, 2.5, ~]}}\n  b: {join: {quorum: 1}}\n  c: {needs: a}\nedges:\n- {from: a, to: b, on: [failed]}\n",
    r#"{"name":"w","schemaVersion":"1.4","workflow":{"tasks":[{"name":"a","children":["b"]},{"name":"b","parents":["a"],"runtimeInSeconds":1e3}]}}"#,
    "a: {description: x, agent: r}\nb:\n  description: &d >\n    y\n  expected_output: *d\n  context: [a]\n",
    "apiVersion: argoproj.io/v1alpha1\nspec:\n  templates:\n  - {name: m, dag: {tasks: [{name: A, template: t}, {name: B, template: t, depends: '!(A.Failed || A) && A'}]}}\n  - {name: t, script: {source: exit 1}}\n",
    "on: push\njobs:\n  a: {runs-on: x, steps: [{run: y}]}\n  b: {needs: [a], if: always()}\n",
    r#"{"metadata":{"dbt_schema_version":"v"},"nodes":{},"parent_map":{"model.p.a":[],"test.p.b":["model.p.a"]}}"#,
];

fn formats() -> impl Strategy<Value = Format> {
    prop::sample::select(Format::ALL.to_vec())
}

/// Imports as recognised and as asked; what comes out must be fit to write and to show.
fn answer(content: &[u8], asked: Format) {
    for format in [None, Some(asked)] {
        match import(&Source {
            content,
            format,
            companion: Some(content),
            ..Source::default()
        }) {
            Ok(read) => {
                assert!(!read.graph.nodes.is_empty());
                assert!(!to_yaml(&read.graph).is_empty() && !to_json(&read.graph).is_empty());
            }
            Err(error) => assert!(!error.to_string().is_empty() && !error.reason().is_empty()),
        }
    }
}

proptest! {
    #[test]
    fn broken_files_are_answered(
        format in formats(),
        seed in prop::sample::select(SEEDS.to_vec()),
        cuts in prop::collection::vec((any::<prop::sample::Index>(), any::<Option<u8>>(), 0_usize..3), 1..6),
    ) {
        let mut bytes = seed.as_bytes().to_vec();
        for (place, byte, removed) in cuts {
            let at = place.index(bytes.len() + 1);
            let end = (at + removed).min(bytes.len());
            bytes.splice(at..end, byte);
        }

        answer(&bytes, format);
    }

    #[test]
    fn pieces_in_any_order_are_answered(
        format in formats(),
        pieces in prop::collection::vec((prop::sample::select(SEEDS.to_vec()), any::<prop::sample::Index>(), 1_usize..40), 1..6),
    ) {
        let bytes: Vec<u8> = pieces
            .iter()
            .flat_map(|(seed, at, length)| {
                let at = at.index(seed.len());
                seed.as_bytes()[at..(at + length).min(seed.len())].to_vec()
            })
            .collect();

        answer(&bytes, format);
    }

    #[test]
    fn any_bytes_are_answered(format in formats(), bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        answer(&bytes, format);
        answer(&[&[0x1f, 0x8b], &bytes[..]].concat(), format);
    }
}

#[test]
fn every_seed_is_a_good_file_of_its_kind() {
    for (seed, format) in SEEDS.iter().zip(Format::ALL) {
        let read = import(&Source {
            content: seed.as_bytes(),
            ..Source::default()
        });
        assert_eq!(read.map(|read| read.format), Ok(format));
    }
}

#[test]
fn nesting_without_end_is_refused() {
    for open in ["[", "{\"a\":", "{a: ", "- ", "!", "? ", "&a [", "a:\n "] {
        answer(open.repeat(50_000).as_bytes(), Format::Cambium);
        answer(
            format!("nodes: {}", open.repeat(50_000)).as_bytes(),
            Format::CrewAi,
        );
    }
}

#[test]
fn aliases_that_repeat_one_another_are_refused() {
    let mut text = String::from("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
    for level in 1..12 {
        let alias = format!("*a{},", level - 1).repeat(10);
        text.push_str(&format!("a{level}: &a{level} [{alias}]\n"));
    }

    let refusal = import(&Source {
        content: text.as_bytes(),
        ..Source::default()
    })
    .unwrap_err();

    assert!(matches!(refusal, Error::Yaml { .. }), "{refusal}");
}

#[test]
fn formats_are_known_by_their_names() {
    let names: Vec<String> = Format::ALL.iter().map(Format::to_string).collect();

    assert_eq!(
        names,
        [
            "cambium",
            "wfformat",
            "crewai",
            "argo",
            "github-actions",
            "dbt"
        ]
    );
    for format in Format::ALL {
        assert_eq!(format.to_string().parse(), Ok(format));
    }
    let refusal = "airflow".parse::<Format>().unwrap_err();
    assert_eq!(
        (refusal.reason(), refusal.field()),
        ("FORMAT_NAME_UNKNOWN", Some("format".to_owned()))
    );
}

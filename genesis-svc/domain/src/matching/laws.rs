use proptest::prelude::*;

use super::*;

/// Texts that are often alike.
fn texts() -> impl Strategy<Value = String> {
    let words = prop::sample::select(vec![
        "timeout",
        "timeouts",
        "task",
        "tasks",
        "role",
        "the",
        "of",
        "42",
        "a1b2c3",
        "Ünïcode",
        "時間",
    ]);
    prop_oneof![
        prop::collection::vec(words, 0..6).prop_map(|words| words.join(" ")),
        "\\PC{0,40}",
    ]
}

fn thresholds() -> impl Strategy<Value = Score> {
    (300_000..=1_000_000).prop_map(|millionths| Score::from_millionths(millionths).unwrap())
}

proptest! {
    #[test]
    fn the_answer_is_the_same_either_way_and_every_time(
        left in texts(), right in texts(), threshold in thresholds()
    ) {
        let (a, b) = (Normal::of(&left), Normal::of(&right));

        prop_assert_eq!(a.matches(&b, threshold), b.matches(&a, threshold));
        prop_assert_eq!(a.similarity(&b), b.similarity(&a));
        prop_assert_eq!(Normal::of(&left).matches(&Normal::of(&right), threshold), a.matches(&b, threshold));
    }

    #[test]
    fn every_text_matches_itself_and_its_normal_form(text in texts(), threshold in thresholds()) {
        let normal = Normal::of(&text);

        prop_assert!(normal.matches(&normal, threshold));
        prop_assert_eq!(Normal::of(normal.as_str()), normal);
    }

    #[test]
    fn a_lower_threshold_never_parts_what_a_higher_one_joined(
        left in texts(), right in texts(), one in thresholds(), two in thresholds()
    ) {
        let (a, b) = (Normal::of(&left), Normal::of(&right));

        prop_assert!(!a.matches(&b, one.max(two)) || a.matches(&b, one.min(two)));
    }

    #[test]
    fn a_probe_leaves_no_match_out(left in texts(), more in texts(), threshold in thresholds()) {
        let longer = Normal::of(&format!("{left} {more}"));
        let left = Normal::of(&left);

        for (a, b) in [(&left, &longer), (&longer, &left)] {
            let (probe, codes) = (a.probe(threshold), b.codes());
            let is_found = probe.codes.iter().any(|code| codes.contains(code))
                && (probe.least..=probe.most).contains(&b.size());

            prop_assert!(is_found || a == b || !a.matches(b, threshold));
        }
    }
}

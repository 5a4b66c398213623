use super::*;

fn normal(text: &str) -> String {
    Normal::of(text).as_str().to_owned()
}

fn matches(left: &str, right: &str) -> bool {
    Normal::of(left).matches(&Normal::of(right), THRESHOLD)
}

#[test]
fn two_tellings_of_one_thing_have_one_form() {
    assert_eq!(
        normal("Timeout after 30s (task 42)!"),
        "timeout after #s task #"
    );
    assert_eq!(normal("ＴＩＭＥＯＵＴ\tafter…"), "timeout after");
    assert_eq!(
        normal("run 018efed1-9951-5512-a991-d2115e718547 failed"),
        "run # # # # # failed"
    );
    assert_eq!(normal("step tsk_9f8Ab3Zk2, gpt4o"), "step tsk # gpt#o");
    assert_eq!(normal("  --  "), "");
}

#[test]
fn trigrams_are_counted_as_pg_trgm_counts_them() {
    let cat = Normal::of("cat");

    assert_eq!(
        cat.trigrams,
        BTreeSet::from([
            [' ', ' ', 'c'],
            [' ', 'c', 'a'],
            ['c', 'a', 't'],
            ['a', 't', ' ']
        ])
    );
    assert_eq!(
        Normal::of("word").similarity(&Normal::of("two words")),
        Score::from_millionths(363_636).unwrap()
    );
}

#[test]
fn a_plural_is_the_same_pattern_and_another_failure_is_not() {
    assert!(matches("Blurring role", "blurring roles"));
    assert!(!matches(
        "disobey task specification",
        "disobey role specification"
    ));
}

#[test]
fn a_number_is_no_difference() {
    assert!(matches("HTTP 500 from host-17", "http 404 from host-3"));
    assert!(matches("42", "7"));
    assert!(!matches("42", "seven"));
}

#[test]
fn other_scripts_have_trigrams_too() {
    assert!(matches("タイムアウト 30", "タイムアウト 45"));
    assert!(!matches("タイムアウト", "メモリ不足"));
}

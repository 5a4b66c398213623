use super::*;

fn burst() -> Rule {
    built_in("failure-burst").unwrap()
}

fn field(rule: Rule) -> String {
    use cambium_kernel::Failure as _;
    rule.checked().unwrap_err().field().unwrap()
}

#[test]
fn the_built_in_rules_are_rules_and_sorted() {
    let all = built_ins();

    assert!(all.iter().all(|rule| rule.clone().checked().is_ok()));
    assert!(all.is_sorted_by(|a, b| a.id < b.id));
}

#[test]
fn hoarding_is_logged_from_half_an_intensity_on() {
    let rule = built_in("context-hoarding").unwrap();

    assert_eq!(rule.response, Response::Log);
    assert_eq!(
        (rule.threshold, rule.severity),
        (clamped(500_000), clamped(500_000))
    );
    assert!(rule.counts("stress.context_hoarding", clamped(500_000)));
    assert!(!rule.counts("stress.context_hoarding", clamped(499_999)));
    assert!(!rule.counts("stress.overextension", Score::ONE));
}

#[test]
fn what_is_no_rule_is_refused_by_the_name_of_its_field() {
    let text = |id: &str| Rule {
        id: id.to_owned(),
        ..burst()
    };
    for id in ["", "Burst", "a b", "é", &"a".repeat(65)] {
        assert_eq!(field(text(id)), "rule.rule_id");
    }
    for signal_type in ["", "task", "task.", ".failed", "task failed", "Task.failed"] {
        let rule = Rule {
            signal_type: signal_type.to_owned(),
            ..burst()
        };
        assert_eq!(field(rule), "rule.signal_type");
    }
    for min_count in [0, 1_001] {
        assert_eq!(
            field(Rule {
                min_count,
                ..burst()
            }),
            "rule.min_count"
        );
    }
    for of_last in [0, 9, 101] {
        assert_eq!(
            field(Rule {
                span: Span::OfLast(of_last),
                ..burst()
            }),
            "rule.of_last"
        );
    }
    for seconds in [0, 86_401] {
        let span = Span::Within(TimeDelta::seconds(seconds));
        assert_eq!(field(Rule { span, ..burst() }), "rule.window");
    }
    let weighed = Rule {
        threshold: clamped(1),
        ..burst()
    };
    assert_eq!(field(weighed), "rule.threshold");
    let stale = Rule {
        signal_type: "task.stale".to_owned(),
        ..burst()
    };
    assert_eq!(field(stale), "rule.signal_type");
}

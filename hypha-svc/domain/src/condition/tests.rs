use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::EndState;
use crate::path::Root;

fn node(source: &str) -> Condition {
    Condition::compile(source, Place::Node).unwrap()
}

fn refusal(source: &str) -> Refusal {
    Condition::compile(source, Place::Node).unwrap_err()
}

/// Evaluates over a run input.
fn over(source: &str, input: &serde_json::Value) -> Result<bool, ConditionFault> {
    let input = serde_json::to_vec(input).unwrap();
    node(source).evaluate(&Scope {
        input: Some(&input),
        ..Scope::default()
    })
}

#[test]
fn a_condition_reads_what_it_names_and_no_more() {
    let condition =
        node("input.a.b > 1 && inputs[\"my-node\"].?ok.orValue(true) && has(inputs.x.y)");

    let reads: Vec<_> = condition.reads().iter().map(ToString::to_string).collect();

    assert_eq!(
        reads,
        [
            "input[\"a\"][\"b\"]",
            "inputs[\"my-node\"][\"ok\"]",
            "inputs[\"x\"][\"y\"]"
        ]
    );
}

#[test]
fn numbers_are_ints_so_that_sums_work() {
    let input = json!({"n": 3, "neg": -2, "half": 0.5, "big": u64::MAX});

    assert_eq!(over("input.n + input.neg == 1", &input), Ok(true));
    assert_eq!(
        over(
            "input.n + 1 > 3 && double(input.n) * input.half == 1.5",
            &input
        ),
        Ok(true)
    );
    assert_eq!(over("input.big > 1.0e19", &input), Ok(true));
}

#[test]
fn inputs_are_found_by_their_key() {
    let condition = node("inputs.plan.ok && inputs['my-node'].score >= 2 && !has(inputs.absent)");
    let inputs = [
        ("plan", &br#"{"ok": true}"#[..]),
        ("my-node", br#"{"a": [{"score": 1}], "score": 2}"#),
    ];

    assert_eq!(
        condition.evaluate(&Scope {
            inputs: &inputs,
            ..Scope::default()
        }),
        Ok(true)
    );
}

#[test]
fn an_edge_sees_the_output_and_a_join_sees_states() {
    let edge = Condition::compile("output.score > 0.8 && input == null", Place::Edge).unwrap();
    let join = Condition::compile(
        "state.a == 'failed' || state['b-c'] == 'skipped'",
        Place::Join,
    )
    .unwrap();
    let states = [
        ("a", EndState::Succeeded),
        ("b-c", EndState::Skipped),
        ("d", EndState::Failed),
    ];

    let scope = Scope {
        output: Some(br#"{"score": 0.9}"#),
        states: &states,
        ..Scope::default()
    };

    assert_eq!(edge.evaluate(&scope), Ok(true));
    assert_eq!(join.evaluate(&scope), Ok(true));
    assert!(matches!(join.reads()[0].root(), Root::State(_)));
}

#[test]
fn no_answer_is_a_fault_and_never_false() {
    let input = json!({"n": 1, "text": "a", "list": [1]});

    for source in [
        "input.absent > 1",
        "input.absent.deeper == 1",
        "input.n.deeper == 1",
        "has(inputs.absent.ok)",
        "input.text > 1",
        "1 / (input.n - 1) == 1",
        "input.list[7] == 1",
        "input.n + 9223372036854775807 > 0",
        "input.n",
        "'true'",
    ] {
        let fault = over(source, &input).unwrap_err();

        assert_eq!(fault.condition, source);
        assert!(
            !fault.reason.is_empty() && fault.reason.len() <= 800,
            "{}",
            fault.reason
        );
    }
}

#[test]
fn the_net_result_counts() {
    assert_eq!(over("false && input.absent", &json!({})), Ok(false));
    assert_eq!(over("input.absent || true", &json!({})), Ok(true));
    assert_eq!(over("input.?absent.orValue(3) == 3", &json!({})), Ok(true));
}

#[test]
fn presence_is_tested_without_copying() {
    let large = json!({"big": "x".repeat(LEAVES), "small": 1, "nothing": null});

    assert_eq!(
        over(
            "has(input.big) && input.small == 1 && !has(input.absent)",
            &large
        ),
        Ok(true)
    );
    assert_eq!(over("has(input.nothing)", &large), Ok(true));
    let fault = over("input.big == 'x'", &large).unwrap_err();
    assert_eq!(fault.reason, "what it names is above 65536 bytes");
}

#[test]
fn leaves_count_together() {
    let half = "x".repeat(LEAVES / 2);
    let input = json!({"a": half, "b": half, "c": 1});

    assert_eq!(over("size(input.a) > 1 && input.c == 1", &input), Ok(true));
    assert!(over("input.a == input.b", &input).is_err());
}

#[test]
fn a_member_given_twice_is_the_last_one_and_escapes_are_read() {
    let input = br#" {"a": {"x": 1}, "\u0061": {"x": "}\"]"} , "b":-1.5e0} "#;
    let scope = Scope {
        input: Some(input),
        ..Scope::default()
    };

    assert_eq!(
        node("input.a.x == '}\"]' && input.b == -1.5").evaluate(&scope),
        Ok(true)
    );
}

#[test]
fn documents_that_are_no_json_are_a_fault() {
    for input in [
        &b"{"[..],
        b"{\"a\"",
        b"{\"a\":",
        b"{\"a\":1",
        b"{a:1}",
        b"{\"a\":tru}",
        b"{\"a\":\"",
        b"{\"a\" 1}",
    ] {
        let scope = Scope {
            input: Some(input),
            ..Scope::default()
        };

        assert!(
            node("input.a == 1").evaluate(&scope).is_err(),
            "{}",
            String::from_utf8_lossy(input)
        );
    }
}

#[test]
fn loops_over_a_list_work_within_their_bounds() {
    let input = json!({"items": [{"ok": true, "n": 1}, {"ok": false, "n": 5}]});

    assert_eq!(over("input.items.exists(it, it.n > 4)", &input), Ok(true));
    assert_eq!(
        over(
            "input.items.all(it, it.ok) || input.items.exists_one(it, it['n'] == 1)",
            &input
        ),
        Ok(true)
    );
    assert_eq!(
        over("size(input.items) == 2 && 5 in [1, 5]", &input),
        Ok(true)
    );
}

#[test]
fn what_could_run_away_is_refused() {
    let long_and = format!("{}true", "true && ".repeat(120));
    let deep = format!("{}true", "!(".repeat(24)) + &")".repeat(24);
    let sum = |terms: usize| vec!["1"; terms].join(" + ") + " > 0";

    assert_eq!(refusal("input.map(x, input) == []"), Refusal::Builds);
    assert_eq!(
        refusal("size(input.filter(x, x > 1)) == 0"),
        Refusal::Builds
    );
    assert_eq!(refusal("a.b{c: 1} == 1"), Refusal::Builds);
    assert_eq!(refusal("input.a.all(x, x.all(y, y))"), Refusal::NestedLoop);
    assert_eq!(
        refusal("[input.a.all(x, x)].all(y, y)"),
        Refusal::NestedLoop
    );
    assert_eq!(
        refusal("input.a.all(x, x > input.b)"),
        Refusal::LoopNames("input".to_owned())
    );
    assert_eq!(refusal(&long_and), Refusal::TooLarge);
    assert_eq!(refusal(&deep), Refusal::TooDeep);
    assert_eq!(refusal(&sum(9)), Refusal::LongSum);
    assert_eq!(
        refusal("'a' + ('b' + 'c' + 'd') + ('e' + 'f' + 'g' + 'h' + 'i') == ''"),
        Refusal::LongSum
    );
    assert!(Condition::compile(&sum(8), Place::Node).is_ok());
    assert_eq!(
        refusal(&format!("{:1025}", "true")),
        Refusal::TooLong(1_025)
    );
}

#[test]
fn only_known_names_and_functions_pass() {
    let unknown = |source| match refusal(source) {
        Refusal::UnknownName { name, .. } => name,
        other => panic!("{source}: {other}"),
    };

    assert_eq!(unknown("nope == 1"), "nope");
    assert_eq!(unknown("output.a == 1"), "output");
    assert_eq!(unknown("state.a == 'failed'"), "state");
    assert_eq!(unknown("inputs.my-node.ok"), "node");
    assert_eq!(
        refusal("type(input.a) == int"),
        Refusal::UnknownFunction("type".to_owned())
    );
    assert_eq!(
        refusal("input.a.matches('x*')"),
        Refusal::UnknownFunction("matches".to_owned())
    );
    assert_eq!(
        refusal("timestamp('x') == 1"),
        Refusal::UnknownFunction("timestamp".to_owned())
    );
    assert_eq!(refusal("size(inputs) > 1"), Refusal::WithoutKey("inputs"));
    assert_eq!(
        refusal("inputs[input.key].ok"),
        Refusal::WithoutKey("inputs")
    );
    assert!(matches!(refusal("input.a =="), Refusal::Syntax(_)));
    assert!(matches!(refusal(""), Refusal::Syntax(_)));
    assert!(matches!(refusal("input.`a`"), Refusal::Syntax(_)));
    for (source, place) in [
        ("inputs.a", Place::Edge),
        ("input.a", Place::Join),
        ("output.a", Place::Join),
    ] {
        assert!(matches!(
            Condition::compile(source, place),
            Err(Refusal::UnknownName { .. })
        ));
    }
}

/// Runs on a stack as small as the threads of a server have.
fn on_a_small_stack<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(2 << 20);
        thread.spawn_scoped(scope, work).unwrap().join().unwrap()
    })
}

#[test]
fn twenty_four_brackets_compile_on_a_small_stack_and_one_more_is_refused() {
    for (open, close) in [("(", ")"), ("[", "]"), ("{1:", "}")] {
        let nested = |depth: usize| format!("{}1{}", open.repeat(depth), close.repeat(depth));

        let (within, beyond) = on_a_small_stack(|| {
            (
                Condition::compile(&nested(24), Place::Node),
                Condition::compile(&nested(25), Place::Node),
            )
        });

        // Lists and maps reach the depth of operations as well; round brackets leave no trace.
        assert!(
            matches!(within, Ok(_) | Err(Refusal::TooDeep)),
            "{within:?}"
        );
        assert_eq!(beyond.unwrap_err(), Refusal::TooNested);
    }
}

#[test]
fn nesting_without_brackets_stays_on_a_small_stack() {
    let long =
        |piece: &str, end: &str| piece.repeat((bounds::BYTES - end.len()) / piece.len()) + end;

    for source in [
        long("1?1:", "1"),
        long("1+", "1"),
        long("-", "1"),
        long("!", "1"),
        long("true&&", "true"),
        long("1==", "1"),
        long("input.", "a"),
        long("1,", "1"),
        "input".to_owned() + &"[0]".repeat(300),
        long("x.all(x,", "1"),
        long("'('+", "1"),
    ] {
        // Signs cancel each other out; all else is refused.
        let compiled = on_a_small_stack(|| Condition::compile(&source, Place::Node));
        assert_eq!(compiled.is_ok(), source.starts_with(['!', '-']), "{source}");
    }
}

#[test]
fn the_deepest_conditions_are_evaluated_on_a_small_stack() {
    let deepest = format!("{}true{}", "!(".repeat(22), ")".repeat(22));
    let widest = vec!["1 == 1"; 40].join(" && ");

    let answers = on_a_small_stack(|| {
        [deepest, widest].map(|source| node(&source).evaluate(&Scope::default()))
    });

    assert_eq!(answers, [Ok(true), Ok(true)]);
}

proptest! {
    #[test]
    fn no_text_breaks_the_compiler(source in "[a-z0-9 ()\\[\\]{}.,?:!&|+=<>'\"\\\\\\-]{0,60}") {
        let _ = Condition::compile(&source, Place::Node);
    }

    #[test]
    fn copying_only_what_is_named_changes_no_answer(a in any::<i32>(), b in "\\PC{0,8}", limit in any::<i32>()) {
        let input = json!({"noise": [b, {"a": 1}], "deep": {"a": a, "noise": b}, "b": b});

        let answer = over(&format!("input.deep.a < {limit} && input.b == input.deep.noise"), &input);
        let whole = over(&format!("input == input && input.deep.a < {limit}"), &input);

        prop_assert_eq!(&answer, &Ok(a < limit));
        prop_assert_eq!(whole, answer);
    }
}

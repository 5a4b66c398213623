use cambium_kernel::{ErrorKind, Failure as _};
use serde_json::json;

use super::*;
use crate::{holdout, matching};

fn draft() -> Draft {
    Draft {
        role: "writer".to_owned(),
        instructions: "Write what the plan asks for.".to_owned(),
        capabilities: vec!["role:writer".to_owned()],
        config: json!({ "model": "large" }),
        limits: None,
        serves_minds: Vec::new(),
        requires_approval: false,
        match_threshold: matching::THRESHOLD,
        holdout_share: holdout::SHARE,
    }
}

fn field(draft: Draft) -> String {
    let refused = Spec::new(draft).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Invalid);
    refused.field().unwrap()
}

#[test]
fn what_is_whole_is_taken() {
    let spec = Spec::new(draft()).unwrap();

    assert_eq!(spec.limits(), Limits::MOST);
    assert_eq!(spec.config["model"], "large");
}

#[test]
fn a_template_may_ask_for_less_and_never_for_more() {
    let of = |live_agents| {
        let limits = Some(Caps {
            live_agents,
            ..Caps::default()
        });
        Spec::new(Draft { limits, ..draft() })
    };

    assert_eq!(of(3).unwrap().limits().live_agents, 3);
    assert_eq!(
        of(101).unwrap_err().field().as_deref(),
        Some("limits.live_agents")
    );
}

#[test]
fn what_has_no_form_is_named() {
    let cases = [
        (
            "role",
            Draft {
                role: " ".to_owned(),
                ..draft()
            },
        ),
        (
            "role",
            Draft {
                role: "r".repeat(201),
                ..draft()
            },
        ),
        (
            "instructions",
            Draft {
                instructions: "i".repeat(20_001),
                ..draft()
            },
        ),
        (
            "instructions",
            Draft {
                instructions: "a\0b".to_owned(),
                ..draft()
            },
        ),
        (
            "capabilities[0]",
            Draft {
                capabilities: vec![String::new()],
                ..draft()
            },
        ),
        (
            "config",
            Draft {
                config: json!([1]),
                ..draft()
            },
        ),
        (
            "config",
            Draft {
                config: json!({ "a": "b".repeat(65_536) }),
                ..draft()
            },
        ),
        (
            "config.a[0]",
            Draft {
                config: json!({ "a": ["\0"] }),
                ..draft()
            },
        ),
        (
            "config.inherited_learnings",
            Draft {
                config: json!({ "inherited_learnings": [] }),
                ..draft()
            },
        ),
        (
            "serves_minds[1]",
            Draft {
                serves_minds: vec!["weksa".to_owned(), String::new()],
                ..draft()
            },
        ),
        (
            "match_threshold",
            Draft {
                match_threshold: Score::of::<499_999>(),
                ..draft()
            },
        ),
    ];

    for (name, draft) in cases {
        assert_eq!(field(draft), name);
    }
}

#[test]
fn a_secret_is_refused_by_its_path() {
    let config = json!({ "tools": [{ "url": "https://ada:hush@tools.example" }] });
    let refused = Spec::new(Draft { config, ..draft() }).unwrap_err();

    assert_eq!(refused.reason(), "TEMPLATE_HOLDS_SECRET");
    assert_eq!(refused.field().as_deref(), Some("config.tools[0].url"));
    assert!(!refused.to_string().contains("hush"));
}

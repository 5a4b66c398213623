use cambium_kernel::Failure as _;

use super::*;

const FILE: &str = "
name: writer
role: writer
instructions: |
  Write what the plan asks for.
  Ask when it does not say.
capabilities: [role:writer, translate:is]
config:
  model: large
  version: \"007\"
limits: { live_agents: 3 }
requires_approval: true
";

fn spec(text: &str) -> (String, Spec) {
    let file = from_yaml(text).unwrap();
    (file.name, Spec::new(file.draft).unwrap())
}

fn field(text: &str) -> String {
    from_yaml(text).unwrap_err().field().unwrap()
}

#[test]
fn a_file_reads_the_same_after_it_was_written() {
    let (name, read) = spec(FILE);

    let written = to_yaml(&name, &read, "[]");

    assert_eq!(spec(&written), (name, read.clone()));
    assert_eq!(read.config["version"], "007");
    assert_eq!(read.caps.live_agents, 3);
    assert_eq!(read.match_threshold, matching::THRESHOLD);
}

#[test]
fn texts_that_look_like_something_else_stay_texts() {
    let (name, mut read) = spec(FILE);
    for text in ["yes", "null", "1.5", "- a", "a: b", "#", "x\ty\n", "'"] {
        read.role = text.to_owned();
        read.instructions = format!("{text}\n  {text}\n\n");

        let written = to_yaml(&name, &read, "[]");

        assert_eq!(spec(&written).1, read, "{written}");
    }
}

#[test]
fn learnings_are_written_for_people_and_read_past() {
    let (name, read) = spec(FILE);

    let written = to_yaml(&name, &read, r#"[{"pattern":"late"}]"#);
    let file = from_yaml(&written).unwrap();

    assert!(written.contains("late"));
    assert_eq!(file.left_out, ["perennial_learnings"]);
}

#[test]
fn what_is_wrong_is_named_by_its_path() {
    assert_eq!(field("- a"), "yaml");
    assert_eq!(field("role: a\nrole: b"), "yaml");
    assert_eq!(field("rolle: a"), "rolle");
    assert_eq!(field("role: [a]"), "role");
    assert_eq!(field("capabilities: [a, 1]"), "capabilities[1]");
    assert_eq!(field("limits: { agents: 1 }"), "limits.agents");
    assert_eq!(field("limits: { live_agents: -1 }"), "limits.live_agents");
    assert_eq!(field("requires_approval: maybe"), "requires_approval");
    assert_eq!(field("match_threshold: 2"), "match_threshold");
    assert_eq!(field(&format!("role: {}", "a".repeat(MOST_BYTES))), "yaml");
}

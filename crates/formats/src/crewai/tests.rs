use crate::{Error, Format, Imported, Source, import};

const TASKS: &str = "
research:
  description: >
    Find three facts about {topic}.
  expected_output: Three facts.
  agent: reader
write:
  description: Write a page.
  expected_output: A page.
  agent: writer
  context: [research]
  human_input: true
print:
  description: Print it.
  context:
    - write
    - research
";
const AGENTS: &str = "
reader: {role: Librarian, goal: Know where it stands, backstory: Years among books}
editor: {role: Editor, goal: Cut, backstory: None}
";

fn read(tasks: &str) -> Result<Imported, Error> {
    import(&Source {
        content: tasks.as_bytes(),
        ..Source::default()
    })
}

#[test]
fn context_is_edges_and_the_agent_a_capability() {
    let read = read(TASKS).unwrap();

    let node = |key: &str| {
        read.graph
            .nodes
            .iter()
            .find(|node| node.key == key)
            .unwrap()
    };
    let edges: Vec<_> = read
        .graph
        .edges
        .iter()
        .map(|edge| (edge.from.as_str(), edge.to.as_str()))
        .collect();
    assert_eq!(
        (read.format, read.graph.name.as_str()),
        (Format::CrewAi, "crewai")
    );
    assert_eq!(
        edges,
        [
            ("research", "write"),
            ("write", "print"),
            ("research", "print")
        ]
    );
    assert_eq!(node("write").requires, ["role:writer"]);
    assert_eq!(node("print").requires, Vec::<String>::new());
    assert_eq!(
        node("research").instructions,
        "Find three facts about {topic}.\n\nExpected output: Three facts."
    );
    assert_eq!(
        node("research").retry.as_ref().unwrap().max_attempts,
        Some(1)
    );
    assert_eq!(
        read.warnings,
        ["`human_input` is not translated and was left out: task `write`"]
    );
}

#[test]
fn the_companion_says_who_the_agents_are() {
    let source = Source {
        content: TASKS.as_bytes(),
        companion: Some(AGENTS.as_bytes()),
        ..Source::default()
    };

    let read = import(&source).unwrap();

    assert_eq!(
        read.graph.nodes[0].instructions,
        "Role: Librarian\n\nGoal: Know where it stands\n\nBackstory: Years among books\n\nFind three facts about {topic}.\n\nExpected output: Three facts."
    );
    assert!(
        read.warnings
            .contains(&"agent `writer` of task `write` is not in the companion file".to_owned())
    );
}

#[test]
fn agents_alone_are_refused_with_the_hint() {
    let asked = Source {
        content: AGENTS.as_bytes(),
        format: Some(Format::CrewAi),
        ..Source::default()
    };

    assert_eq!(read(AGENTS), Err(Error::AgentsFileAlone));
    assert_eq!(import(&asked), Err(Error::AgentsFileAlone));
    assert!(
        Error::AgentsFileAlone
            .to_string()
            .ends_with("pass this one with --agents")
    );
}

#[test]
fn tasks_that_wait_on_one_another_are_refused_with_the_cycle() {
    let text = "
draft: {description: Draft it., context: [review]}
review: {description: Review it., context: [draft]}
file: {description: File it., context: [review]}
";

    assert_eq!(
        read(text),
        Err(Error::Cycle(vec!["review".into(), "draft".into()]))
    );
}

#[test]
fn unknown_context_is_refused_with_the_whole_list() {
    let text = "
a: {description: x, context: [zebra, b]}
b: {description: x, context: [yak, zebra]}
";

    assert_eq!(
        read(text),
        Err(Error::UnknownReferences(vec!["yak".into(), "zebra".into()]))
    );
}

#[test]
fn a_broken_companion_is_told_apart_from_the_file() {
    let source = Source {
        content: TASKS.as_bytes(),
        companion: Some(b"a: [1"),
        ..Source::default()
    };

    let refusal = import(&source).unwrap_err();

    assert!(
        refusal
            .to_string()
            .starts_with("in the companion file: the file is no YAML: line 1"),
        "{refusal}"
    );
}

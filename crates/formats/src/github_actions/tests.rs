use crate::{Error, Format, Imported, Source, import};

fn read(text: &str) -> Result<Imported, Error> {
    import(&Source {
        content: text.as_bytes(),
        ..Source::default()
    })
}

#[test]
fn needs_are_edges_whether_one_or_a_list() {
    let text = "
name: Build
on: [push]
jobs:
  lint:
    runs-on: here
    steps:
      - uses: checkout@v1
      - name: Look
        run: make lint
  test:
    name: All tests
    needs: lint
    if: always()
    strategy: {matrix: {os: [a, b]}}
    runs-on: here
  ship:
    needs: [lint, test]
    if: github.ref == 'x'
    uses: ./ship.yml
";

    let read = read(text).unwrap();

    let edges: Vec<_> = read
        .graph
        .edges
        .iter()
        .map(|edge| (edge.from.as_str(), edge.to.as_str()))
        .collect();
    assert_eq!(
        (read.format, read.graph.name.as_str()),
        (Format::GithubActions, "Build")
    );
    assert_eq!(
        edges,
        [("lint", "test"), ("lint", "ship"), ("test", "ship")]
    );
    assert_eq!(
        read.graph.nodes[0].instructions,
        "uses: checkout@v1\n# Look\nmake lint"
    );
    assert_eq!(read.graph.nodes[1].name, "All tests");
    assert_eq!(read.graph.nodes[2].instructions, "uses: ./ship.yml");
    assert_eq!(
        read.warnings,
        [
            "`if` is not translated and was left out: tasks `test`, `ship`",
            "`strategy` is not translated and was left out: task `test`",
        ]
    );
}

#[test]
fn jobs_that_need_one_another_are_refused_with_the_cycle() {
    let text = "
on: push
jobs:
  first: {needs: third, runs-on: here}
  second: {needs: [first], runs-on: here}
  third: {needs: second, runs-on: here}
";

    let Err(Error::Cycle(cycle)) = read(text) else {
        panic!("no cycle")
    };

    assert_eq!(cycle, ["second", "third", "first"]);
}

#[test]
fn unknown_needs_and_needing_oneself_are_refused() {
    let unknown = read("on: push\njobs: {a: {needs: [b, c], runs-on: x}}");
    let own = read("on: push\njobs: {a: {needs: a, runs-on: x}}");

    assert_eq!(
        unknown,
        Err(Error::UnknownReferences(vec!["b".into(), "c".into()]))
    );
    assert_eq!(own, Err(Error::SelfEdges(vec!["a".into()])));
}

//! Walks the real files beside the project, where they are: every graph must come out exactly as it was counted.
//! Never fails for want of data.

#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests are tests to everyone but the lint"
)]

use std::collections::{BTreeSet, HashMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};

use cambium_formats::{Error, Format, Imported, Source, import};
use cambium_kernel::Failure as _;
use cambium_proto::hypha::v1::{Edge, Graph, JoinKind, TaskState};
use serde_json::Value;

/// The folder with `expected.json`, if the data is there.
fn folder(name: &str) -> Option<PathBuf> {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    if !data.is_dir() {
        println!("skipped: ../shared/data is absent");
        return None;
    }
    Some(data.join(name))
}

fn expected(folder: &Path) -> Value {
    serde_json::from_slice(&fs::read(folder.join("expected.json")).unwrap()).unwrap()
}

fn read(file: &Path, graph: Option<&str>) -> Result<Imported, Error> {
    import(&Source {
        content: &fs::read(file).unwrap(),
        graph,
        ..Source::default()
    })
}

fn texts(list: &Value) -> Vec<String> {
    list.as_array()
        .unwrap()
        .iter()
        .map(|text| text.as_str().unwrap().to_owned())
        .collect()
}

fn keys(graph: &Graph) -> Vec<String> {
    graph.nodes.iter().map(|node| node.key.clone()).collect()
}

fn pairs(graph: &Graph) -> Vec<Vec<String>> {
    let mut pairs: Vec<_> = graph
        .edges
        .iter()
        .map(|edge| vec![edge.from.clone(), edge.to.clone()])
        .collect();
    pairs.sort();
    pairs
}

fn format_of(kind: &str) -> Option<Format> {
    match kind {
        "crewai" => Some(Format::CrewAi),
        "argo" => Some(Format::Argo),
        "gha" => Some(Format::GithubActions),
        "dbt" => Some(Format::Dbt),
        _ => None,
    }
}

#[test]
fn every_definition_gives_the_nodes_and_edges_that_were_counted() {
    let Some(folder) = folder("dags") else { return };
    let mut graphs = 0;

    for (file, facts) in expected(&folder)["files"].as_object().unwrap() {
        let Some(format) = format_of(facts["kind"].as_str().unwrap()) else {
            continue;
        };
        for (name, graph) in facts["graphs"].as_object().unwrap() {
            let read = read(&folder.join(file), Some(name));
            if let Some(unknown) = graph.get("unknown_references") {
                let refusal = read.unwrap_err();
                assert_eq!(refusal.reason(), "GRAPH_UNKNOWN_REFERENCE");
                assert_eq!(refusal.details(), texts(unknown), "{file}");
                continue;
            }
            let read = read.unwrap_or_else(|error| panic!("{file}, {name}: {error}"));
            let edges: Vec<Vec<String>> = graph["edge_list"]
                .as_array()
                .unwrap()
                .iter()
                .map(texts)
                .collect();
            assert_eq!(read.format, format, "{file}");
            assert_eq!(keys(&read.graph), texts(&graph["nodes"]), "{file}, {name}");
            assert_eq!(pairs(&read.graph), edges, "{file}, {name}");
            assert!(read.graphs.contains(name), "{file}, {name}");
            graphs += 1;
        }
    }

    assert_eq!(graphs, 17);
}

#[test]
fn the_names_of_all_graphs_are_told() {
    let Some(folder) = folder("dags") else { return };

    for (file, facts) in expected(&folder)["files"].as_object().unwrap() {
        let is_known = format_of(facts["kind"].as_str().unwrap()).is_some();
        if let (true, Ok(read)) = (is_known, read(&folder.join(file), None)) {
            let told: BTreeSet<_> = read.graphs.iter().cloned().collect();
            let counted: BTreeSet<_> = facts["graphs"]
                .as_object()
                .unwrap()
                .keys()
                .cloned()
                .collect();
            assert_eq!(told, counted, "{file}");
        }
    }
}

#[test]
fn kinds_without_an_importer_are_refused_by_name() {
    let Some(folder) = folder("dags") else { return };

    for (file, facts) in expected(&folder)["files"].as_object().unwrap() {
        let (reason, word) = match facts["kind"].as_str().unwrap() {
            "tekton" => ("FORMAT_UNSUPPORTED", "Tekton"),
            "flowise" => ("FORMAT_UNSUPPORTED", "Flowise"),
            "langgraph" => ("FORMAT_UNSUPPORTED", "LangGraph"),
            "crewai-agents" => ("AGENTS_FILE_ALONE", "--agents"),
            _ => continue,
        };
        let refusal = read(&folder.join(file), None).unwrap_err();
        assert_eq!(refusal.reason(), reason, "{file}");
        assert!(refusal.to_string().contains(word), "{file}: {refusal}");
    }
}

#[test]
fn agents_join_the_instructions_of_their_tasks() {
    let Some(folder) = folder("dags") else { return };
    let content = fs::read(folder.join("crewai-travelmate.tasks.yaml")).unwrap();
    let agents = fs::read(folder.join("crewai-travelmate.agents.yaml")).unwrap();
    let counted =
        &expected(&folder)["files"]["crewai-travelmate.tasks.yaml"]["graphs"]["tasks"]["agents"];

    let read = import(&Source {
        content: &content,
        companion: Some(&agents),
        ..Source::default()
    })
    .unwrap();

    assert!(
        !read
            .warnings
            .iter()
            .any(|warning| warning.contains("companion")),
        "{:?}",
        read.warnings
    );
    for node in &read.graph.nodes {
        assert_eq!(
            node.requires,
            [format!("role:{}", counted[&node.key].as_str().unwrap())]
        );
        assert!(
            node.instructions.starts_with("Role: "),
            "{}",
            node.instructions
        );
    }
}

#[test]
fn the_workflow_that_goes_on_after_failures_says_which_edges_fire() {
    let Some(folder) = folder("dags") else { return };

    let read = read(&folder.join("argo-dag-continue-on-fail.yaml"), None).unwrap();

    let unharmed = vec![
        i32::from(TaskState::Succeeded),
        i32::from(TaskState::Skipped),
    ];
    let on = |from: &str, to: &str| {
        let is_it = |edge: &&Edge| edge.from == from && edge.to == to;
        read.graph.edges.iter().find(is_it).unwrap().on.clone()
    };
    assert_eq!(read.graph.fail_fast, Some(false));
    assert_eq!(on("B", "D"), [i32::from(TaskState::Failed)]);
    assert_eq!(on("C", "D"), unharmed);
    assert_eq!(on("E", "G"), unharmed);
    for node in &read.graph.nodes {
        let fails = ["B", "E"].contains(&node.key.as_str());
        let config = if fails {
            r#"{"simulate":{"runtime_s":0,"fail_code":"EXIT_1"}}"#
        } else {
            ""
        };
        assert_eq!(node.config, config, "{}", node.key);
        assert!(
            node.join
                .as_ref()
                .is_none_or(|join| join.kind() == JoinKind::All)
        );
        assert_eq!(node.retry.as_ref().unwrap().max_attempts, Some(1));
    }
}

#[test]
fn every_recorded_run_gives_the_counts_that_were_taken() {
    let Some(folder) = folder("wfinstances") else {
        return;
    };

    for (file, facts) in expected(&folder)["instances"].as_object().unwrap() {
        let read = read(&folder.join(file), None).unwrap_or_else(|error| panic!("{file}: {error}"));
        let counts = Counts::of(&read.graph);
        let fact = |name: &str| usize::try_from(facts[name].as_u64().unwrap()).unwrap();
        assert_eq!(read.format, Format::WfFormat);
        assert_eq!(counts.tasks, fact("tasks"), "{file}");
        assert_eq!(counts.edges, fact("edges"), "{file}");
        assert_eq!(counts.roots, fact("roots"), "{file}");
        assert_eq!(counts.sinks, fact("sinks"), "{file}");
        assert_eq!(counts.isolated, fact("isolated"), "{file}");
        assert_eq!(counts.max_fan_in, fact("max_fan_in"), "{file}");
        assert_eq!(
            counts.tasks - counts.names,
            fact("duplicate_names"),
            "{file}"
        );
        let recorded = facts["runtime"]["sum_s"].as_f64().unwrap();
        assert!((runtime(&read.graph) - recorded).abs() < 1e-6, "{file}");
        assert_eq!(
            read.warnings
                .iter()
                .any(|warning| warning.contains("no edges")),
            counts.edges == 0,
            "{file}"
        );
    }
}

struct Counts {
    tasks: usize,
    edges: usize,
    roots: usize,
    sinks: usize,
    isolated: usize,
    max_fan_in: usize,
    names: usize,
}

impl Counts {
    fn of(graph: &Graph) -> Self {
        let mut fan_in: HashMap<&str, usize> = HashMap::new();
        let mut feeding = HashSet::new();
        for edge in &graph.edges {
            *fan_in.entry(&edge.to).or_default() += 1;
            feeding.insert(edge.from.as_str());
        }
        let keys = || graph.nodes.iter().map(|node| node.key.as_str());
        Self {
            tasks: graph.nodes.len(),
            edges: graph.edges.len(),
            roots: keys().filter(|key| !fan_in.contains_key(key)).count(),
            sinks: keys().filter(|key| !feeding.contains(key)).count(),
            isolated: keys()
                .filter(|key| !fan_in.contains_key(key) && !feeding.contains(key))
                .count(),
            max_fan_in: fan_in.values().copied().max().unwrap_or(0),
            names: graph
                .nodes
                .iter()
                .map(|node| node.name.as_str())
                .collect::<HashSet<_>>()
                .len(),
        }
    }
}

fn runtime(graph: &Graph) -> f64 {
    let seconds = |config: &[u8]| {
        let config: Value = serde_json::from_slice(config).unwrap();
        config["simulate"]["runtime_s"].as_f64().unwrap()
    };
    graph.nodes.iter().map(|node| seconds(&node.config)).sum()
}

//! dbt's manifest.json: what is built from what, as `parent_map` has it.
//! Runs no SQL; a node's code is handed on as instructions.

use std::collections::HashSet;

use cambium_proto::hypha::v1::Node;

use crate::draft::{Draft, chosen, graph_name};
use crate::fields::{Field, text_at};
use crate::{Error, Format, Read, Source};

const WITHOUT_TESTS: &str = "without_tests_and_exposures";
const ALL: &str = "parent_map";
/// What checks or shows data and builds none, by the first word of its id.
const CHECKS_OR_SHOWS: [&str; 3] = ["test", "unit_test", "exposure"];
/// The tables of a manifest that describe the ids of `parent_map`.
const TABLES: [&str; 8] = [
    "nodes",
    "sources",
    "exposures",
    "metrics",
    "semantic_models",
    "saved_queries",
    "unit_tests",
    "functions",
];

pub(crate) fn read(root: Field, source: &Source) -> Result<Read, Error> {
    let graph = chosen(source, &[WITHOUT_TESTS, ALL])?;
    let all = root.need("parent_map")?.entries()?;
    let is_left_out =
        |id: &str| graph == WITHOUT_TESTS && CHECKS_OR_SHOWS.contains(&resource_type(id));
    let left_out: HashSet<&str> = all
        .iter()
        .map(|&(id, _)| id)
        .filter(|id| is_left_out(id))
        .collect();
    let kept: Vec<_> = all
        .iter()
        .filter(|(id, _)| !left_out.contains(id))
        .collect();
    let ids: Vec<String> = kept
        .iter()
        .map(|(id, _)| id.to_owned().to_owned())
        .collect();
    let mut draft = Draft::new(&ids)?;
    for (id, parents) in &kept {
        draft.add(id, node(&root, id));
        for parent in parents.items()? {
            let parent = parent.text()?;
            if !left_out.contains(parent) {
                draft.link(parent, id, &[]);
            }
        }
    }
    let project = text_at(&root, &["metadata", "project_name"]);
    let name = if graph == ALL {
        project.map(|project| format!("{project}.{ALL}"))
    } else {
        project.map(str::to_owned)
    };
    let name = graph_name(source, name.as_deref(), Format::Dbt)?;
    draft.finish(name, vec![WITHOUT_TESTS.to_owned(), ALL.to_owned()])
}

fn resource_type(id: &str) -> &str {
    id.split('.').next().unwrap_or_default()
}

fn node(root: &Field, id: &str) -> Node {
    let described = TABLES.iter().find_map(|table| root.descend(&[table, id]));
    let part = |name| {
        described
            .as_ref()
            .and_then(|node| text_at(node, &[name]))
            .unwrap_or_default()
    };
    let texts = [part("description"), part("raw_code")];
    let texts: Vec<_> = texts
        .into_iter()
        .map(str::trim)
        .filter(|text| !text.is_empty())
        .collect();
    Node {
        name: part("name").to_owned(),
        instructions: texts.join("\n\n"),
        ..Node::default()
    }
}

#[cfg(test)]
mod tests;

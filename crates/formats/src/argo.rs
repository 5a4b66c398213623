//! Argo Workflows' DAG templates: tasks, what they depend on, and which of them are bound to fail.
//! Runs no container and expands no template into another; what is not translated is said.

mod depends;
mod template;

use std::collections::{BTreeSet, HashSet};

use cambium_proto::hypha::v1::{Join, JoinKind, Node, TaskState};

use crate::draft::{Draft, chosen, graph_name};
use crate::fields::{Field, text_at};
use crate::{Error, Format, Read, Source};
use depends::{Depends, Meaning};
use template::Templates;

const NOT_TRANSLATED: [&str; 6] = [
    "when",
    "withItems",
    "withParam",
    "withSequence",
    "hooks",
    "onExit",
];

pub(crate) fn read(root: Field, source: &Source) -> Result<Read, Error> {
    let spec = root
        .descend(&["spec", "workflowSpec"])
        .map_or_else(|| root.need("spec"), Ok)?;
    let templates = Templates::new(&spec)?;
    let graphs = templates.dags();
    let graph = match templates.entrypoint().filter(|_| source.graph.is_none()) {
        Some(entrypoint) if graphs.contains(&entrypoint) => entrypoint,
        Some(_) | None => chosen(source, &graphs)?,
    };
    let dag = templates.dag(graph)?;
    let tasks = Tasks::new(&dag)?;
    let mut draft = Draft::new(&tasks.names)?;
    draft
        .warnings
        .extend(overall_warnings(source, &templates, &dag, graph));
    tasks.draw(&templates, &mut draft)?;
    let in_file = file_name(&root, graph, &templates);
    let name = graph_name(source, in_file.as_deref(), Format::Argo)?;
    let mut read = draft.finish(name, graphs.iter().map(|&graph| graph.to_owned()).collect())?;
    read.graph.fail_fast = Some(dag.get("failFast").map_or(Ok(false), |flag| flag.flag())?);
    Ok(read)
}

/// The workflow's name; a graph that is not where the workflow starts adds its own.
fn file_name(root: &Field, graph: &str, templates: &Templates) -> Option<String> {
    let named = text_at(root, &["metadata", "name"])
        .or_else(|| text_at(root, &["metadata", "generateName"]))?;
    let named = named.trim_end_matches('-');
    let starts_here = templates
        .entrypoint()
        .is_none_or(|entrypoint| entrypoint == graph);
    Some(if starts_here {
        named.to_owned()
    } else {
        format!("{named}.{graph}")
    })
}

fn overall_warnings(
    source: &Source,
    templates: &Templates,
    dag: &Field,
    graph: &str,
) -> Vec<String> {
    let mut warnings = Vec::new();
    if let Some(entrypoint) = templates.entrypoint()
        && source.graph.is_none()
        && entrypoint != graph
    {
        warnings.push(format!(
            "the entrypoint `{entrypoint}` is no DAG: `{graph}` was read in its place"
        ));
    }
    if dag.get("target").is_some() {
        warnings.push("`target` is not translated: every task of the DAG runs".to_owned());
    }
    warnings
}

/// The tasks of one DAG, and what the whole of them decides about each.
struct Tasks<'a> {
    tasks: Vec<Field<'a>>,
    names: Vec<String>,
    /// Those whose failure does not hold back what lists them under `dependencies`.
    tolerated: HashSet<String>,
}

impl<'a> Tasks<'a> {
    fn new(dag: &Field<'a>) -> Result<Self, Error> {
        let tasks = dag.need("tasks")?.items()?;
        let names = tasks
            .iter()
            .map(|task| task.need("name")?.label())
            .collect::<Result<Vec<_>, _>>()?;
        let continues = |task: &Field| {
            let flag = |name| {
                task.descend(&["continueOn", name])
                    .is_some_and(|flag| flag.value == true)
            };
            flag("failed") || flag("error")
        };
        let tolerated = tasks
            .iter()
            .zip(&names)
            .filter(|(task, _)| continues(task))
            .map(|(_, name)| name.clone());
        Ok(Self {
            tolerated: tolerated.collect(),
            tasks,
            names,
        })
    }

    fn draw(&self, templates: &Templates, draft: &mut Draft) -> Result<(), Error> {
        let mut daemoned = BTreeSet::new();
        for (task, name) in self.tasks.iter().zip(&self.names) {
            for part in NOT_TRANSLATED
                .iter()
                .filter(|part| task.get(part).is_some())
            {
                draft.left_out.note(part, name);
            }
            let node = templates.node(task, name, draft)?;
            let list = task.get("dependencies");
            let join = match condition(task, name)? {
                Some(_) if list.is_some() => {
                    return Err(invalid(name, "the task has `dependencies` too"));
                }
                Some(depends) if depends.asks_daemoned => {
                    daemoned.insert(name.clone());
                    None
                }
                Some(depends) => link_depends(draft, name, &depends),
                None => {
                    self.link_listed(draft, name, list)?;
                    None
                }
            };
            draft.add(name, Node { join, ..node });
        }
        if daemoned.is_empty() {
            Ok(())
        } else {
            Err(Error::DaemonedUnsupported(daemoned.into_iter().collect()))
        }
    }

    /// The older list: each must be unharmed, or may fail if it says that things go on then.
    fn link_listed(&self, draft: &mut Draft, name: &str, list: Option<Field>) -> Result<(), Error> {
        for upstream in list.map_or_else(|| Ok(Vec::new()), |list| list.labels())? {
            if self.tolerated.contains(&upstream) {
                draft.link(
                    &upstream,
                    name,
                    &[TaskState::Succeeded, TaskState::Failed, TaskState::Skipped],
                );
            } else {
                draft.link(&upstream, name, &depends::UNHARMED);
            }
        }
        Ok(())
    }
}

/// What `depends` says; an empty text says nothing.
fn condition(task: &Field, name: &str) -> Result<Option<Depends>, Error> {
    let Some(depends) = task.get("depends") else {
        return Ok(None);
    };
    let text = depends.text()?.trim();
    let parsed =
        (!text.is_empty()).then(|| depends::parse(text).map_err(|fault| invalid(name, fault)));
    parsed.transpose()
}

fn link_depends(draft: &mut Draft, name: &str, depends: &Depends) -> Option<Join> {
    if depends.asks_of_several {
        draft.warnings.push(format!(
            "`.AnySucceeded` and `.AllFailed` are read as `.Succeeded` and `.Failed`: task `{name}`"
        ));
    }
    match depends.condition.meaning() {
        Meaning::EachFires(edges) => {
            edges
                .iter()
                .for_each(|(upstream, on)| draft.link(upstream, name, on));
            None
        }
        Meaning::SomeFires(edges) => {
            edges
                .iter()
                .for_each(|(upstream, on)| draft.link(upstream, name, on));
            Some(Join {
                kind: JoinKind::Settled.into(),
                ..Join::default()
            })
        }
        Meaning::Computed(upstream) => {
            upstream
                .iter()
                .for_each(|upstream| draft.link(upstream, name, &[]));
            let expr = depends
                .condition
                .to_cel(&|name| draft.keys.get(name).unwrap_or(name).to_owned());
            Some(Join {
                kind: JoinKind::Expr.into(),
                expr,
                ..Join::default()
            })
        }
    }
}

fn invalid(task: &str, fault: impl ToString) -> Error {
    Error::DependsInvalid {
        task: task.to_owned(),
        fault: fault.to_string(),
    }
}

#[cfg(test)]
mod tests;

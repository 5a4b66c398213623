//! WfCommons' WfFormat 1.4 and 1.5: recorded runs of scientific workflows.
//! Takes edges as declared and never infers one from files that tasks share.

use std::collections::HashMap;

use cambium_proto::hypha::v1::Node;
use serde_json::json;

use crate::draft::{Draft, chosen, graph_name};
use crate::fields::{Field, text_at};
use crate::{Error, Format, Read, Source};

const GRAPHS: [&str; 1] = ["tasks"];

pub(crate) fn read(root: Field, source: &Source) -> Result<Read, Error> {
    chosen(source, &GRAPHS)?;
    let workflow = root.need("workflow")?;
    let specification = workflow.get("specification");
    let tasks = match &specification {
        Some(specification) => specification.need("tasks")?.items()?,
        None => workflow.need("tasks")?.items()?,
    };
    let ids = tasks.iter().map(id).collect::<Result<Vec<_>, _>>()?;
    let mut draft = Draft::new(&ids)?;
    let runs = executions(&workflow)?;
    for (task, id) in tasks.iter().zip(&ids) {
        draft.add(id, node(task, runs.get(id.as_str()).unwrap_or(task))?);
    }
    let by_name = if specification.is_none() {
        Some(Names::of(&tasks, &ids)?)
    } else {
        None
    };
    link(&mut draft, &tasks, &ids, by_name.as_ref())?;
    if !draft.has_edges() {
        draft
            .warnings
            .push("the file declares no edges: every task stands alone".to_owned());
    }
    if let Some(version) = root
        .get("schemaVersion")
        .map(|version| version.label())
        .transpose()?
        && !["1.4", "1.5"].contains(&version.as_str())
    {
        draft.warnings.push(format!(
            "schema {version} was read as if it were 1.4 or 1.5"
        ));
    }
    draft.finish(
        graph_name(source, text_at(&root, &["name"]), Format::WfFormat)?,
        GRAPHS.map(str::to_owned).to_vec(),
    )
}

/// Tasks are told apart by id: names repeat. Schema 1.4 lets the id be absent.
fn id(task: &Field) -> Result<String, Error> {
    match task.get("id") {
        Some(id) => id.label(),
        None => task.need("name")?.label(),
    }
}

/// Schema 1.5 records how tasks ran apart from what they are.
fn executions<'a>(workflow: &Field<'a>) -> Result<HashMap<String, Field<'a>>, Error> {
    let Some(execution) = workflow.get("execution") else {
        return Ok(HashMap::new());
    };
    let runs = execution.list("tasks")?;
    runs.into_iter()
        .map(|run| Ok((run.need("id")?.label()?, run)))
        .collect()
}

fn node(task: &Field, run: &Field) -> Result<Node, Error> {
    let seconds = run.get("runtimeInSeconds").or_else(|| run.get("runtime"));
    let config = match seconds {
        Some(field) => {
            let seconds = field.number()?;
            if seconds < 0.0 {
                return Err(field.invalid("zero seconds or more"));
            }
            json!({"simulate": {"runtime_s": seconds}}).to_string()
        }
        None => String::new(),
    };
    Ok(Node {
        name: task
            .get("name")
            .map(|name| name.label())
            .transpose()?
            .unwrap_or_default(),
        instructions: command(&run.get("command").or_else(|| task.get("command"))),
        config: config.into(),
        ..Node::default()
    })
}

fn command(command: &Option<Field>) -> String {
    let Some(command) = command else {
        return String::new();
    };
    let program = text_at(command, &["program"]);
    let arguments = command.value["arguments"].as_array().into_iter().flatten();
    let words: Vec<_> = program
        .into_iter()
        .chain(arguments.filter_map(|argument| argument.as_str()))
        .collect();
    words.join(" ")
}

/// The ids behind each name, for schema 1.4, where parents and children are names.
struct Names(HashMap<String, Vec<String>>);

impl Names {
    fn of(tasks: &[Field], ids: &[String]) -> Result<Self, Error> {
        let mut names: HashMap<String, Vec<String>> = HashMap::new();
        for (task, id) in tasks.iter().zip(ids) {
            names
                .entry(task.need("name")?.label()?)
                .or_default()
                .push(id.clone());
        }
        Ok(Self(names))
    }

    /// The one task of that name. What is no name stays as it is: an id, or a stranger for the refusal to list.
    fn resolve(&self, name: String, ambiguous: &mut Vec<String>) -> String {
        match self.0.get(&name).map(Vec::as_slice) {
            Some([id]) => id.clone(),
            Some(_) => {
                ambiguous.push(name.clone());
                name
            }
            None => name,
        }
    }
}

/// An edge may be declared at either end; declared at both it is one.
fn link(
    draft: &mut Draft,
    tasks: &[Field],
    ids: &[String],
    names: Option<&Names>,
) -> Result<(), Error> {
    let mut ambiguous = Vec::new();
    let mut resolve = |field: &Field| -> Result<String, Error> {
        let name = field.label()?;
        Ok(names.map_or_else(
            || name.clone(),
            |names| names.resolve(name.clone(), &mut ambiguous),
        ))
    };
    let mut edges = Vec::new();
    for (task, id) in tasks.iter().zip(ids) {
        for parent in task.list("parents")? {
            edges.push((resolve(&parent)?, id.clone()));
        }
        for child in task.list("children")? {
            edges.push((id.clone(), resolve(&child)?));
        }
    }
    if !ambiguous.is_empty() {
        ambiguous.sort();
        ambiguous.dedup();
        return Err(Error::AmbiguousParent(ambiguous));
    }
    for (from, to) in edges {
        draft.link(&from, &to, &[]);
    }
    Ok(())
}

#[cfg(test)]
mod tests;

//! CrewAI's tasks.yaml, with agents.yaml beside it: tasks, their context, the agent each wants.
//! Fills no `{placeholders}` in: texts are handed on as they stand.

use cambium_proto::hypha::v1::Node;
use serde_json::Value;

use crate::draft::{Draft, chosen, graph_name};
use crate::fields::{Field, text_at};
use crate::{Error, Format, Read, Source};

const GRAPHS: [&str; 1] = ["tasks"];
const READ: [&str; 5] = ["name", "description", "expected_output", "agent", "context"];

pub(crate) fn read(root: Field, agents: Option<&Value>, source: &Source) -> Result<Read, Error> {
    chosen(source, &GRAPHS)?;
    let agents = agents.map(Field::root);
    let tasks = root.entries()?;
    let names: Vec<String> = tasks.iter().map(|&(name, _)| name.to_owned()).collect();
    let mut draft = Draft::new(&names)?;
    for (name, task) in &tasks {
        let node = node(&mut draft.warnings, name, task, agents.as_ref())?;
        draft.add(name, node);
        for part in task.unknown(&READ)? {
            draft
                .left_out
                .note(part.rsplit('.').next().unwrap_or(&part), name);
        }
        if let Some(context) = task.get("context") {
            for upstream in context.labels()? {
                draft.link(&upstream, name, &[]);
            }
        }
    }
    draft.finish(
        graph_name(source, None, Format::CrewAi)?,
        GRAPHS.map(str::to_owned).to_vec(),
    )
}

fn node(
    warnings: &mut Vec<String>,
    name: &str,
    task: &Field,
    agents: Option<&Field>,
) -> Result<Node, Error> {
    let agent = task.get("agent").map(|agent| agent.label()).transpose()?;
    // Folded text (`>`) ends in a line break.
    let agent = agent.map(|agent| agent.trim().to_owned());
    let profile = match (&agent, agents) {
        (Some(agent), Some(agents)) => {
            let profile = agents.get(agent);
            if profile.is_none() {
                warnings.push(format!(
                    "agent `{agent}` of task `{name}` is not in the companion file"
                ));
            }
            profile
        }
        (None, _) | (_, None) => None,
    };
    Ok(Node {
        name: task
            .get("name")
            .map(|name| name.label())
            .transpose()?
            .unwrap_or_default(),
        instructions: instructions(task, profile.as_ref())?,
        requires: agent
            .map(|agent| format!("role:{agent}"))
            .into_iter()
            .collect(),
        ..Node::default()
    })
}

/// Who the agent is, what it shall do, what is expected of it.
fn instructions(task: &Field, profile: Option<&Field>) -> Result<String, Error> {
    let mut parts = Vec::new();
    for (part, heading) in [
        ("role", "Role"),
        ("goal", "Goal"),
        ("backstory", "Backstory"),
    ] {
        if let Some(text) = profile.and_then(|profile| text_at(profile, &[part])) {
            parts.push(format!("{heading}: {}", text.trim()));
        }
    }
    if let Some(description) = task.get("description") {
        parts.push(description.text()?.trim().to_owned());
    }
    if let Some(expected) = task.get("expected_output") {
        parts.push(format!("Expected output: {}", expected.text()?.trim()));
    }
    Ok(parts.join("\n\n"))
}

#[cfg(test)]
mod tests;

//! What a task's template says about it: its words, whether it is bound to fail, how often it is tried.

use cambium_proto::hypha::v1::{Node, Retry};
use serde_json::json;

use crate::Error;
use crate::draft::Draft;
use crate::fields::{Field, text_at};

/// The templates of a workflow.
pub(super) struct Templates<'a> {
    by_name: Vec<(&'a str, Field<'a>)>,
    entrypoint: Option<&'a str>,
    defaults: Option<Field<'a>>,
}

impl<'a> Templates<'a> {
    pub(super) fn new(spec: &Field<'a>) -> Result<Self, Error> {
        let templates = spec.need("templates")?.items()?;
        let named = templates
            .into_iter()
            .map(|template| Ok((template.need("name")?.text()?, template)));
        Ok(Self {
            by_name: named.collect::<Result<_, Error>>()?,
            entrypoint: text_at(spec, &["entrypoint"]),
            defaults: spec.get("templateDefaults"),
        })
    }

    /// Where the workflow starts, whatever kind of template that is.
    pub(super) const fn entrypoint(&self) -> Option<&'a str> {
        self.entrypoint
    }

    /// The names of the templates that are DAGs, in the file's order.
    pub(super) fn dags(&self) -> Vec<&'a str> {
        let dags = self
            .by_name
            .iter()
            .filter(|(_, template)| template.get("dag").is_some());
        dags.map(|&(name, _)| name).collect()
    }

    pub(super) fn dag(&self, name: &str) -> Result<Field<'a>, Error> {
        let template = self.find(name).ok_or_else(|| Error::FieldMissing {
            path: "spec.templates[].dag".to_owned(),
        })?;
        template.need("dag")
    }

    fn find(&self, name: &str) -> Option<Field<'a>> {
        self.by_name
            .iter()
            .find(|&&(known, _)| known == name)
            .map(|(_, template)| template.clone())
    }

    pub(super) fn node(
        &self,
        task: &Field<'a>,
        name: &str,
        draft: &mut Draft,
    ) -> Result<Node, Error> {
        let Some(template) = self.of_task(task, name, draft) else {
            return Ok(Node {
                name: name.to_owned(),
                ..Node::default()
            });
        };
        let words = words(&template);
        let fails = words.iter().find_map(|text| exit_code(text)).map(|code| {
            json!({"simulate": {"runtime_s": 0, "fail_code": format!("EXIT_{code}")}}).to_string()
        });
        let defaults = self
            .defaults
            .as_ref()
            .and_then(|defaults| defaults.get("retryStrategy"));
        let retry = template
            .get("retryStrategy")
            .or(defaults)
            .map(|strategy| retry(&strategy, name, draft));
        Ok(Node {
            name: name.to_owned(),
            instructions: words.join(" "),
            config: fails.unwrap_or_default().into(),
            retry: retry.transpose()?,
            ..Node::default()
        })
    }

    /// The template a task runs, if the file holds it; one that is a graph itself stays a single task.
    fn of_task(&self, task: &Field<'a>, name: &str, draft: &mut Draft) -> Option<Field<'a>> {
        if task.get("templateRef").is_some() {
            draft.left_out.note("templateRef", name);
        }
        let called = text_at(task, &["template"]);
        let template = task.get("inline").or_else(|| self.find(called?));
        if let (Some(called), None) = (called, &template) {
            draft
                .left_out
                .note(&format!("template {called} (not in the file)"), name);
        }
        for kind in ["dag", "steps"] {
            if template
                .as_ref()
                .is_some_and(|template| template.get(kind).is_some())
            {
                draft
                    .left_out
                    .note(&format!("{kind} of {}", called.unwrap_or("inline")), name);
            }
        }
        template
    }
}

/// Commands, arguments and script sources, in that order.
fn words<'a>(template: &Field<'a>) -> Vec<&'a str> {
    let set = template
        .descend(&["containerSet", "containers"])
        .and_then(|set| set.items().ok())
        .unwrap_or_default();
    let bodies = ["container", "script"]
        .into_iter()
        .filter_map(|kind| template.get(kind))
        .chain(set);
    let mut words = Vec::new();
    for body in bodies {
        for part in ["command", "args"] {
            let list = body
                .get(part)
                .and_then(|list| list.items().ok())
                .unwrap_or_default();
            words.extend(list.iter().filter_map(|word| word.value.as_str()));
        }
        words.extend(text_at(&body, &["source"]));
    }
    words
}

/// The N of the first `exit N` that is not zero.
fn exit_code(text: &str) -> Option<u32> {
    text.match_indices("exit").find_map(|(at, word)| {
        let stands_alone =
            !text[..at].ends_with(|c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.'));
        let rest = &text[at + word.len()..];
        let argument = rest.trim_start_matches([' ', '\t']);
        let digits = argument
            .find(|c: char| !c.is_ascii_digit())
            .unwrap_or(argument.len());
        let ends = !argument[digits..].starts_with(|c: char| c.is_alphanumeric() || c == '_');
        let is_exit = stands_alone && ends && argument.len() < rest.len();
        argument[..digits]
            .parse()
            .ok()
            .filter(|&code| is_exit && code > 0)
    })
}

/// `limit` counts what comes after the first attempt; back-off and conditions are left out.
fn retry(strategy: &Field, name: &str, draft: &mut Draft) -> Result<Retry, Error> {
    for part in strategy.map()?.keys().filter(|part| *part != "limit") {
        draft.left_out.note(&format!("retryStrategy.{part}"), name);
    }
    let Some(limit) = strategy.get("limit") else {
        draft.left_out.note("retryStrategy without limit", name);
        return Ok(Retry::default());
    };
    let attempts = limit
        .label()?
        .parse::<u32>()
        .ok()
        .map(|limit| limit.saturating_add(1));
    if attempts.is_none() {
        draft.left_out.note("retryStrategy.limit", name);
    }
    Ok(Retry {
        max_attempts: Some(attempts.unwrap_or(1)),
        ..Retry::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shell_that_exits_with_a_number_but_zero_is_bound_to_fail() {
        assert_eq!(exit_code("echo no; exit 1"), Some(1));
        assert_eq!(exit_code("exit 0 || exit  3"), Some(3));
        assert_eq!(exit_code("exit 0"), None);
        assert_eq!(exit_code("exit"), None);
        assert_eq!(exit_code("exit1; my_exit 2; sys.exit 3; exit 4x"), None);
        assert_eq!(exit_code("exit 99999999999999"), None);
    }
}

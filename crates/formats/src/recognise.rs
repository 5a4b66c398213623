//! Which format a file has, from its content alone. Reads no more than it needs to tell.

use serde_json::Value;

use crate::{Error, Format};

/// The document of a file that holds its tasks.
pub(crate) struct Document {
    pub(crate) format: Format,
    pub(crate) value: Value,
}

/// What a document looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Tasks(Format),
    /// A kind of graph that has no importer.
    Foreign(&'static str),
    CrewAiAgents,
    Unknown,
}

/// The first document that has tasks, of the format that was asked for if one was.
pub(crate) fn choose(documents: Vec<Value>, asked: Option<Format>) -> Result<Document, Error> {
    let kinds: Vec<Kind> = documents.iter().map(kind).collect();
    let format_at = |index: usize| match kinds[index] {
        Kind::Tasks(format) => asked
            .is_none_or(|asked| asked == format)
            .then_some((index, format)),
        Kind::Foreign(_) | Kind::CrewAiAgents | Kind::Unknown => None,
    };
    // Whoever names a format is taken at their word: the importer says what is missing.
    let recognised = (0..kinds.len())
        .find_map(format_at)
        .or(asked.map(|asked| (0, asked)));
    if kinds.contains(&Kind::CrewAiAgents)
        && recognised.is_none_or(|(index, _)| kinds[index] == Kind::CrewAiAgents)
    {
        return Err(Error::AgentsFileAlone);
    }
    let (index, format) = recognised.ok_or_else(|| refusal(&kinds))?;
    let value = documents
        .into_iter()
        .nth(index)
        .ok_or(Error::FormatUnknown)?;
    Ok(Document { format, value })
}

fn refusal(kinds: &[Kind]) -> Error {
    let foreign = kinds.iter().find_map(|kind| match kind {
        Kind::Foreign(kind) => Some(Error::FormatUnsupported { kind }),
        Kind::Tasks(_) | Kind::CrewAiAgents | Kind::Unknown => None,
    });
    foreign.unwrap_or(Error::FormatUnknown)
}

/// The surest signs come first: a schema or an API version, then shapes.
fn kind(document: &Value) -> Kind {
    if let Some(version) = document["apiVersion"].as_str() {
        return kubernetes(version, document);
    }
    if document["workflow"].is_object() && !document["schemaVersion"].is_null() {
        return Kind::Tasks(Format::WfFormat);
    }
    if document["metadata"]["dbt_schema_version"].is_string() || document["parent_map"].is_object()
    {
        return Kind::Tasks(Format::Dbt);
    }
    if let Some(kind) = drawn(document) {
        return Kind::Foreign(kind);
    }
    if has_jobs(document) {
        return Kind::Tasks(Format::GithubActions);
    }
    crew(document)
}

fn kubernetes(version: &str, document: &Value) -> Kind {
    if version.starts_with("tekton.dev/") {
        return Kind::Foreign("a Tekton pipeline");
    }
    if !version.starts_with("argoproj.io/") {
        return Kind::Unknown;
    }
    let specs = [&document["spec"], &document["spec"]["workflowSpec"]];
    let mut templates = specs
        .into_iter()
        .filter_map(|spec| spec["templates"].as_array())
        .flatten();
    if templates.any(|template| template["dag"].is_object()) {
        Kind::Tasks(Format::Argo)
    } else {
        Kind::Foreign("an Argo resource without a DAG template")
    }
}

/// Graphs of tools that draw: nodes with a position, or edges from `source` to `target`.
fn drawn(document: &Value) -> Option<&'static str> {
    let nodes = document["nodes"].as_array()?;
    let edges = document["edges"].as_array().map_or(&[][..], Vec::as_slice);
    if nodes.iter().any(|node| node.get("position").is_some()) {
        return Some("a Flowise flow");
    }
    edges
        .iter()
        .any(|edge| edge.get("source").is_some())
        .then_some("a LangGraph graph")
}

fn has_jobs(document: &Value) -> bool {
    let Some(jobs) = document["jobs"].as_object() else {
        return false;
    };
    let signs = ["runs-on", "steps", "uses", "needs"];
    jobs.values()
        .any(|job| signs.iter().any(|sign| job.get(sign).is_some()))
}

/// Our own form has `nodes`; CrewAI's files are maps of maps that have nothing else in common.
fn crew(document: &Value) -> Kind {
    let Some(map) = document.as_object().filter(|map| !map.is_empty()) else {
        return Kind::Unknown;
    };
    let entries_have = |signs: &[&str]| {
        map.values()
            .any(|entry| signs.iter().any(|sign| entry[sign].is_string()))
    };
    let all_maps = map.values().all(Value::is_object);
    if all_maps && entries_have(&["description", "expected_output"]) {
        Kind::Tasks(Format::CrewAi)
    } else if all_maps && entries_have(&["role", "goal", "backstory"]) {
        Kind::CrewAiAgents
    } else if map.contains_key("nodes") {
        Kind::Tasks(Format::Cambium)
    } else {
        Kind::Unknown
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_file_is_known_by_its_content() {
        let argo = json!({"apiVersion": "argoproj.io/v1alpha1", "spec": {"templates": [{"dag": {"tasks": []}}]}});

        assert_eq!(kind(&argo), Kind::Tasks(Format::Argo));
        assert_eq!(
            kind(&json!({"schemaVersion": "1.5", "workflow": {}})),
            Kind::Tasks(Format::WfFormat)
        );
        assert_eq!(
            kind(&json!({"nodes": {}, "parent_map": {}})),
            Kind::Tasks(Format::Dbt)
        );
        assert_eq!(
            kind(&json!({"on": "push", "jobs": {"a": {"runs-on": "x"}}})),
            Kind::Tasks(Format::GithubActions)
        );
        assert_eq!(
            kind(&json!({"write": {"description": "x"}})),
            Kind::Tasks(Format::CrewAi)
        );
        assert_eq!(
            kind(&json!({"nodes": {"a": {}}})),
            Kind::Tasks(Format::Cambium)
        );
        assert_eq!(
            kind(&json!({"nodes": [{"key": "a"}], "edges": []})),
            Kind::Tasks(Format::Cambium)
        );
        assert_eq!(kind(&json!({"services": {"web": {}}})), Kind::Unknown);
        assert_eq!(kind(&json!("text")), Kind::Unknown);
    }

    #[test]
    fn kinds_without_an_importer_are_refused_by_name() {
        let refusal = |document: Value| choose(vec![document], None).err().unwrap().to_string();

        let tekton = refusal(json!({"apiVersion": "tekton.dev/v1", "kind": "Pipeline"}));
        let flowise = refusal(json!({"nodes": [{"id": "a", "position": {}}], "edges": []}));
        let langgraph =
            refusal(json!({"nodes": [{"id": "a"}], "edges": [{"source": "a", "target": "a"}]}));

        assert_eq!(
            tekton,
            "the file holds a Tekton pipeline, which cannot be imported"
        );
        assert_eq!(
            flowise,
            "the file holds a Flowise flow, which cannot be imported"
        );
        assert_eq!(
            langgraph,
            "the file holds a LangGraph graph, which cannot be imported"
        );
        assert_eq!(choose(vec![], None).err(), Some(Error::FormatUnknown));
    }

    #[test]
    fn the_first_document_with_tasks_is_taken() {
        let documents = vec![
            json!({"apiVersion": "v1", "kind": "ConfigMap"}),
            json!({"nodes": {"a": {}}}),
            json!({"nodes": {"b": {}}}),
        ];

        let document = choose(documents, None).ok().unwrap();

        assert_eq!(document.format, Format::Cambium);
        assert_eq!(document.value, json!({"nodes": {"a": {}}}));
    }
}

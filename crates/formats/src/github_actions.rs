//! GitHub Actions workflows: jobs and what they need.
//! Evaluates no expression: `if:` makes no edge and no condition.

use cambium_proto::hypha::v1::Node;

use crate::draft::{Draft, chosen, graph_name};
use crate::fields::{Field, text_at};
use crate::{Error, Format, Read, Source};

const GRAPHS: [&str; 1] = ["jobs"];
/// What changes whether, or how often, a job runs.
const NOT_TRANSLATED: [&str; 3] = ["if", "strategy", "continue-on-error"];

pub(crate) fn read(root: Field, source: &Source) -> Result<Read, Error> {
    chosen(source, &GRAPHS)?;
    let jobs = root.need("jobs")?.entries()?;
    let ids: Vec<String> = jobs.iter().map(|&(id, _)| id.to_owned()).collect();
    let mut draft = Draft::new(&ids)?;
    for (id, job) in &jobs {
        job.map()?;
        draft.add(id, node(job)?);
        for part in NOT_TRANSLATED.iter().filter(|part| job.get(part).is_some()) {
            draft.left_out.note(part, id);
        }
        if let Some(needs) = job.get("needs") {
            for upstream in needs.labels()? {
                draft.link(&upstream, id, &[]);
            }
        }
    }
    let name = graph_name(source, text_at(&root, &["name"]), Format::GithubActions)?;
    draft.finish(name, GRAPHS.map(str::to_owned).to_vec())
}

fn node(job: &Field) -> Result<Node, Error> {
    let mut lines: Vec<String> = text_at(job, &["uses"])
        .map(|uses| format!("uses: {uses}"))
        .into_iter()
        .collect();
    for step in job.list("steps")? {
        let part = |name| text_at(&step, &[name]).map(str::trim);
        lines.extend(part("name").map(|name| format!("# {name}")));
        lines.extend(part("uses").map(|uses| format!("uses: {uses}")));
        lines.extend(part("run").map(str::to_owned));
    }
    Ok(Node {
        name: job
            .get("name")
            .map(|name| name.label())
            .transpose()?
            .unwrap_or_default(),
        instructions: lines.join("\n"),
        ..Node::default()
    })
}

#[cfg(test)]
mod tests;

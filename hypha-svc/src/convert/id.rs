//! Task ids: `<run_id>/<key>`, a member `<run_id>/<key>[i]`, counted from 0.

use cambium_hypha::Graph;
use cambium_kernel::{LeaseId, RunId};
use cambium_proto::hypha::v1 as wire;

use crate::error::Error;
use crate::store::engine::TaskKey;

/// A task as its id names it; whether the run and the node exist is still open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Named<'a> {
    pub(crate) run: RunId,
    pub(crate) key: &'a str,
    /// From 1; 0 for the node itself.
    pub(crate) member: u32,
}

pub(crate) fn run(field: &'static str, text: &str) -> Result<RunId, Error> {
    text.parse()
        .map_err(|_| Error::field(field, format!("`{text}` is not a UUID")))
}

pub(crate) fn parse_task<'a>(field: &'static str, text: &'a str) -> Result<Named<'a>, Error> {
    let wrong = || Error::field(field, format!("`{text}` is not `<run_id>/<key>`"));
    let (run, node) = text.split_once('/').ok_or_else(wrong)?;
    let run = run.parse().map_err(|_| wrong())?;
    let Some(open) = node.strip_suffix(']') else {
        return Ok(Named {
            run,
            key: node,
            member: 0,
        });
    };
    let (key, index) = open.rsplit_once('[').ok_or_else(wrong)?;
    let index: u32 = index.parse().map_err(|_| wrong())?;
    Ok(Named {
        run,
        key,
        member: index.checked_add(1).ok_or_else(wrong)?,
    })
}

pub(crate) fn task(graph: &Graph, task: TaskKey) -> String {
    format!("{}/{}", task.run, node(graph, task.n, task.i))
}

/// `key`, or `key[i]` of a member.
pub(crate) fn node(graph: &Graph, n: u32, i: u32) -> String {
    let key = graph
        .nodes()
        .get(n as usize)
        .map_or("?", |node| node.key.as_str());
    match i.checked_sub(1) {
        Some(index) => format!("{key}[{index}]"),
        None => key.to_owned(),
    }
}

/// A lease as a worker presents it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Presented<'a> {
    pub(crate) task: Named<'a>,
    pub(crate) lease: LeaseId,
    pub(crate) epoch: i32,
}

pub(crate) fn lease(lease: Option<&wire::Lease>) -> Result<Presented<'_>, Error> {
    let lease = lease.ok_or_else(|| Error::field("lease", "is missing"))?;
    let task = parse_task("lease.task_id", &lease.task_id)?;
    let id = lease
        .lease_id
        .parse()
        .map_err(|_| Error::field("lease.lease_id", "is not 32 hexadecimal digits"))?;
    if lease.epoch < 1 {
        return Err(Error::field("lease.epoch", "is below 1"));
    }
    Ok(Presented {
        task,
        lease: id,
        epoch: lease.epoch,
    })
}

//! What a node may hold, whatever its edges.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use cambium_kernel::{Capability, check_name};
use chrono::TimeDelta;

use super::check::{at_node, none};
use super::{JoinSpec, MAX_CONFIG, MAX_DEPTH, MAX_INSTRUCTIONS, NodeKey, NodeSpec, RetrySpec};
use crate::error::{Offender, shown};
use crate::{Error, Timeouts, payload};

const MAX_CAPABILITIES: usize = 100;
const MAX_CODES: usize = 100;
const MAX_ATTEMPTS: u32 = 10_000;
const MAX_FACTOR_MILLI: u32 = 100_000;
const DAY_MS: u32 = 86_400_000;
const LONGEST_TIMEOUT: TimeDelta = TimeDelta::days(3_660);

/// Finds nodes by their keys.
pub(super) fn index(nodes: &[NodeSpec]) -> Result<HashMap<NodeKey, u32>, Error> {
    let keys = nodes.iter().map(|node| NodeKey::parse(&node.key));
    let bad = keys.clone().enumerate().filter(|(_, key)| key.is_err());
    none(
        bad.map(|(at, _)| at_node(at, "key", &nodes[at].key)),
        Error::NodeKey,
    )?;

    let mut index = HashMap::with_capacity(nodes.len());
    let mut again = Vec::new();
    for (at, key) in (0_u32..).zip(keys.flatten()) {
        match index.entry(key) {
            Entry::Vacant(free) => drop(free.insert(at)),
            Entry::Occupied(first) => again.push(at_node(at as usize, "key", first.key().as_str())),
        }
    }
    none(again, Error::DuplicateNode)?;
    Ok(index)
}

pub(super) fn check(nodes: &[NodeSpec]) -> Result<(), Error> {
    none(each(nodes, texts), Error::Text)?;
    none(each(nodes, config), Error::Config)?;
    none(
        each(nodes, |at, node| {
            capabilities(at, "requires", &node.requires)
        }),
        Error::Capability,
    )?;
    none(
        each(nodes, |at, node| capabilities(at, "prefers", &node.prefers)),
        Error::Capability,
    )?;
    none(each(nodes, priority), Error::Priority)?;
    none(each(nodes, |at, node| retry(at, &node.retry)), Error::Retry)?;
    none(
        each(nodes, |at, node| timeouts(at, &node.timeouts)),
        Error::Timeout,
    )
}

fn each(
    nodes: &[NodeSpec],
    rule: impl Fn(usize, &NodeSpec) -> Option<Offender>,
) -> impl Iterator<Item = Offender> {
    nodes
        .iter()
        .enumerate()
        .filter_map(move |(at, node)| rule(at, node))
}

/// The database holds no NUL in text, and what travels with every attempt must fit into a reply.
fn texts(at: usize, node: &NodeSpec) -> Option<Offender> {
    if node.instructions.len() > MAX_INSTRUCTIONS {
        let what = format!(
            "has {} bytes, above {MAX_INSTRUCTIONS}",
            node.instructions.len()
        );
        return Some(at_node(at, "instructions", what));
    }
    if !node.spawn_template.is_empty()
        && let Err(fault) = check_name(&node.spawn_template)
    {
        return Some(at_node(at, "spawn_template", fault.to_string()));
    }
    [("name", &node.name), ("instructions", &node.instructions)]
        .into_iter()
        .find(|(_, text)| text.contains('\0'))
        .map(|(field, _)| at_node(at, field, "holds a NUL character"))
}

fn config(at: usize, node: &NodeSpec) -> Option<Offender> {
    let fault = payload::check(&node.config, MAX_CONFIG, MAX_DEPTH).err()?;
    Some(at_node(at, "config", fault.to_string()))
}

fn capabilities(at: usize, field: &str, texts: &[String]) -> Option<Offender> {
    if texts.len() > MAX_CAPABILITIES {
        let what = format!(
            "names {} capabilities, above {MAX_CAPABILITIES}",
            texts.len()
        );
        return Some(at_node(at, field, what));
    }
    let parsed = texts.iter().map(|text| Capability::parse(text)).enumerate();
    let (place, fault) = parsed
        .filter_map(|(place, parsed)| Some((place, parsed.err()?)))
        .next()?;
    Some(at_node(at, &format!("{field}[{place}]"), fault.to_string()))
}

fn priority(at: usize, node: &NodeSpec) -> Option<Offender> {
    (node.priority > 9).then(|| at_node(at, "priority", node.priority.to_string()))
}

fn retry(at: usize, retry: &RetrySpec) -> Option<Offender> {
    let within = [
        ("max_attempts", retry.max_attempts, 1, MAX_ATTEMPTS),
        ("initial_ms", retry.initial_ms, 0, DAY_MS),
        ("factor_milli", retry.factor_milli, 1_000, MAX_FACTOR_MILLI),
        ("cap_ms", retry.cap_ms, 0, DAY_MS),
    ];
    for (field, value, low, high) in within {
        if let Some(value) = value.filter(|value| !(low..=high).contains(value)) {
            let what = format!("is {value}, outside {low} to {high}");
            return Some(at_node(at, &format!("retry.{field}"), what));
        }
    }
    if retry.non_retryable.len() > MAX_CODES {
        let what = format!(
            "names {} codes, above {MAX_CODES}",
            retry.non_retryable.len()
        );
        return Some(at_node(at, "retry.non_retryable", what));
    }
    let bad = retry
        .non_retryable
        .iter()
        .find_map(|code| Some((code, check_name(code).err()?)))?;
    let what = format!("names the code {}, which {}", shown(bad.0), bad.1);
    Some(at_node(at, "retry.non_retryable", what))
}

/// Only who takes the first of several outputs leaves losers.
pub(super) fn losers(nodes: &[NodeSpec]) -> Result<(), Error> {
    let offends = |node: &NodeSpec| {
        node.cancel_losers && !matches!(node.join, JoinSpec::Any | JoinSpec::Quorum(_))
    };
    let offenders = nodes.iter().enumerate().filter(|(_, node)| offends(node));
    none(
        offenders.map(|(at, _)| {
            at_node(
                at,
                "join.cancel_losers",
                "is set beside a join other than any and quorum",
            )
        }),
        Error::Losers,
    )
}

fn timeouts(at: usize, timeouts: &Timeouts) -> Option<Offender> {
    let clocks = [
        ("queue", timeouts.queue),
        ("run", timeouts.run),
        ("total", timeouts.total),
    ];
    let within = TimeDelta::milliseconds(1)..=LONGEST_TIMEOUT;
    let (clock, span) = clocks
        .into_iter()
        .filter_map(|(clock, span)| Some((clock, span?)))
        .find(|(_, span)| !within.contains(span))?;
    let what = format!(
        "is {} ms, outside 1 ms to ten years",
        span.num_milliseconds()
    );
    Some(at_node(at, &format!("timeouts.{clock}_ms"), what))
}

//! Our own form into a graph.

use cambium_kernel::check_name;
use cambium_proto::hypha::v1::{Edge, FanOut, Graph, Join, JoinKind, Node, Retry, Timeouts};

use super::names;
use crate::draft::{chosen, graph_name};
use crate::fields::Field;
use crate::{Error, Format, Read, Source};

pub(crate) fn read(root: Field, source: &Source) -> Result<Read, Error> {
    let in_file = root.get("name").map(|name| name.text()).transpose()?;
    if let Some(name) = in_file {
        check_name(name).map_err(|fault| Error::NameInvalid {
            name: name.to_owned(),
            fault,
        })?;
    }
    let name = match (source.name, in_file) {
        (None, Some(name)) => name.to_owned(),
        (Some(_), _) | (None, None) => graph_name(source, None, Format::Cambium)?,
    };
    let known = in_file.unwrap_or(name.as_str());
    chosen(source, &[known])?;
    let graphs = vec![known.to_owned()];
    let graph = graph(&root, name)?;
    Ok(Read {
        graph,
        warnings: Vec::new(),
        graphs,
    })
}

fn graph(root: &Field, name: String) -> Result<Graph, Error> {
    let mut unknown = root.unknown(&names::GRAPH)?;
    let mut nodes = Vec::new();
    let mut edges = Vec::new();
    for (key, field) in keyed(&root.need("nodes")?)? {
        if !field.value.is_null() {
            unknown.extend(unknown_in_node(&field)?);
            edges.extend(needed(&key, &field)?);
        }
        nodes.push(node(key, &field)?);
    }
    for field in root.list("edges")? {
        unknown.extend(field.unknown(&names::EDGE)?);
        edges.push(edge(&field)?);
    }
    if !unknown.is_empty() {
        unknown.sort();
        return Err(Error::FieldUnknown(unknown));
    }
    let fail_fast = root.get("fail_fast").map(|flag| flag.flag()).transpose()?;
    Ok(Graph {
        name,
        nodes,
        edges,
        fail_fast,
        retain_days: whole(root, "retain_days")?,
        fair_key: text(root, "fair_key")?,
        spawn: root
            .get("spawn")
            .map(|flag| flag.flag())
            .transpose()?
            .unwrap_or(false),
    })
}

/// Nodes are a map by key, or a list of which each holds its key.
fn keyed<'a>(nodes: &Field<'a>) -> Result<Vec<(String, Field<'a>)>, Error> {
    if nodes.value.is_array() {
        return nodes
            .items()?
            .into_iter()
            .map(|node| Ok((node.need("key")?.label()?, node)))
            .collect();
    }
    let entries = nodes.entries()?.into_iter();
    entries
        .map(|(key, node)| match node.get("key") {
            Some(inner) if inner.label()? != key => {
                Err(inner.invalid(format!("the key `{key}` it stands under")))
            }
            Some(_) | None => Ok((key.to_owned(), node)),
        })
        .collect()
}

fn unknown_in_node(field: &Field) -> Result<Vec<String>, Error> {
    let mut unknown = field.unknown(&names::NODE)?;
    for (part, known) in [
        ("retry", &names::RETRY[..]),
        ("timeouts", &names::TIMEOUTS[..]),
    ] {
        if let Some(part) = field.get(part) {
            unknown.extend(part.unknown(known)?);
        }
    }
    Ok(unknown)
}

/// The shorthand for edges that say no more than where they start.
fn needed(key: &str, field: &Field) -> Result<Vec<Edge>, Error> {
    let Some(needs) = field.get("needs") else {
        return Ok(Vec::new());
    };
    let edge = |from| Edge {
        from,
        to: key.to_owned(),
        ..Edge::default()
    };
    Ok(needs.labels()?.into_iter().map(edge).collect())
}

fn text(field: &Field, name: &str) -> Result<String, Error> {
    field
        .get(name)
        .map_or_else(|| Ok(String::new()), |text| Ok(text.text()?.to_owned()))
}

fn texts(field: &Field, name: &str) -> Result<Vec<String>, Error> {
    field
        .list(name)?
        .iter()
        .map(|text| Ok(text.text()?.to_owned()))
        .collect()
}

fn whole<T: TryFrom<u64>>(field: &Field, name: &str) -> Result<Option<T>, Error> {
    field.get(name).map(|number| number.whole()).transpose()
}

fn node(key: String, field: &Field) -> Result<Node, Error> {
    let config = field.value.get("config").map(|config| config.to_string());
    Ok(Node {
        key,
        name: text(field, "name")?,
        instructions: text(field, "instructions")?,
        config: config.unwrap_or_default().into(),
        requires: texts(field, "requires")?,
        prefers: texts(field, "prefers")?,
        spawn_template: text(field, "spawn_template")?,
        priority: whole(field, "priority")?,
        retry: field
            .get("retry")
            .map(|retry| self::retry(&retry))
            .transpose()?,
        timeouts: field
            .get("timeouts")
            .map(|timeouts| self::timeouts(&timeouts))
            .transpose()?,
        when: text(field, "when")?,
        join: self::join_of(field)?,
        fan_out: field
            .get("fan_out")
            .map(|fan_out| self::fan_out(&fan_out))
            .transpose()?,
    })
}

fn retry(field: &Field) -> Result<Retry, Error> {
    Ok(Retry {
        max_attempts: whole(field, "max_attempts")?,
        initial_ms: whole(field, "initial_ms")?,
        factor_milli: whole(field, "factor_milli")?,
        cap_ms: whole(field, "cap_ms")?,
        non_retryable: texts(field, "non_retryable")?,
    })
}

fn timeouts(field: &Field) -> Result<Timeouts, Error> {
    Ok(Timeouts {
        queue_ms: whole(field, "queue_ms")?,
        run_ms: whole(field, "run_ms")?,
        total_ms: whole(field, "total_ms")?,
    })
}

/// The join with its flag, which stands beside it: `join: any`, `cancel_losers: true`.
fn join_of(field: &Field) -> Result<Option<Join>, Error> {
    let written = field.get("join").map(|it| join(&it)).transpose()?;
    let Some(flag) = field.get("cancel_losers") else {
        return Ok(written);
    };
    let usual = Join {
        kind: JoinKind::All.into(),
        ..Join::default()
    };
    Ok(Some(Join {
        cancel_losers: flag.flag()?,
        ..written.unwrap_or(usual)
    }))
}

fn join(field: &Field) -> Result<Join, Error> {
    let expected =
        || field.invalid("`all`, `any`, `settled`, `{quorum: N}` or `{expr: CONDITION}`");
    if let Some(word) = field.value.as_str() {
        let (_, kind) = names::JOINS
            .iter()
            .find(|(name, _)| *name == word)
            .ok_or_else(expected)?;
        return Ok(Join {
            kind: (*kind).into(),
            ..Join::default()
        });
    }
    match field.entries().map_err(|_| expected())?.as_slice() {
        [("quorum", needed)] => Ok(Join {
            kind: JoinKind::Quorum.into(),
            needed: needed.whole()?,
            ..Join::default()
        }),
        [("expr", expr)] => Ok(Join {
            kind: JoinKind::Expr.into(),
            expr: expr.text()?.to_owned(),
            ..Join::default()
        }),
        _ => Err(expected()),
    }
}

fn fan_out(field: &Field) -> Result<FanOut, Error> {
    let over = match field.value.as_str() {
        Some(over) => over,
        None => match field.entries()?.as_slice() {
            [("over", over)] => over.text()?,
            _ => return Err(field.invalid("a path such as `inputs.plan.items`")),
        },
    };
    Ok(FanOut {
        over: over.to_owned(),
    })
}

fn edge(field: &Field) -> Result<Edge, Error> {
    Ok(Edge {
        from: field.need("from")?.label()?,
        to: field.need("to")?.label()?,
        data: field.get("data").map(|data| data.flag()).transpose()?,
        on: field
            .get("on")
            .map_or_else(|| Ok(Vec::new()), |on| ends(&on))?,
        when: text(field, "when")?,
    })
}

/// One end state or a list of them.
fn ends(field: &Field) -> Result<Vec<i32>, Error> {
    let end = |name: String| {
        let known = names::ENDS.iter().find(|(known, _)| *known == name);
        let expected = names::ENDS.map(|(name, _)| name).join(", ");
        known
            .map(|(_, state)| (*state).into())
            .ok_or_else(|| field.invalid(format!("of {expected}: `{name}`")))
    };
    field.labels()?.into_iter().map(end).collect()
}

//! Why a task that is not ready waits: on nodes before it, or on the members of its own fan-out.

use cambium_hypha::Join;
use cambium_proto::hypha::v1::{Reason, ReasonKind};
use sqlx::PgConnection;

use super::words::{counted, quoted, reason, series, series_of};
use super::{Case, doing};
use crate::error::Error;
use crate::store;
use crate::store::engine::TaskKey;
use crate::store::tally::Fan;
use crate::store::why::Unended;

/// Nodes that one answer names.
const NAMED: i64 = 10;

/// Nothing, if there is no such member.
pub(super) async fn explain(
    conn: &mut PgConnection,
    case: &Case,
    task: TaskKey,
) -> Result<Option<Reason>, Error> {
    let name = case.name(task);
    if let Some(fan) = store::why::fan(conn, task.run, task.n).await? {
        if task.i > 0 {
            return Ok(None);
        }
        return Ok(Some(on_members(conn, &name, fan).await?));
    }
    if task.i > 0 {
        return Ok(None);
    }
    Ok(Some(on_edges(conn, case, task, &name).await?))
}

async fn on_members(conn: &mut PgConnection, name: &str, fan: Fan) -> Result<Reason, Error> {
    let states = store::why::states(conn, fan.run, Some(fan.n)).await?;
    let mut parts = vec![format!("{} ended", have(fan.ended))];
    if fan.failed > 0 {
        parts[0] += &format!(" ({} failed)", fan.failed);
    }
    parts.extend(states.iter().map(|(state, members)| {
        let is = if *members == 1 { "is" } else { "are" };
        format!("{members} {is} {}", doing(*state))
    }));
    let text = format!(
        "it has fanned out and waits for its {}: {}",
        counted(fan.total, "member"),
        series(&parts)
    );
    Ok(reason(ReasonKind::WaitingOnMembers, name, text))
}

fn have(count: u32) -> String {
    if count == 1 {
        "1 has".to_owned()
    } else {
        format!("{count} have")
    }
}

async fn on_edges(
    conn: &mut PgConnection,
    case: &Case,
    task: TaskKey,
    name: &str,
) -> Result<Reason, Error> {
    let graph = case.info.graph();
    let incoming = graph.incoming(task.n).iter();
    let upstream: Vec<u32> = incoming.map(|e| graph.edges()[*e as usize].from).collect();
    let (fired, dead) = store::why::tally(conn, task.run, task.n).await?;
    let open = store::why::unended(conn, task.run, &upstream, NAMED).await?;
    let settled = usize::try_from(fired + dead).unwrap_or(usize::MAX);
    let total = upstream.len().saturating_sub(settled).max(open.len());
    let named: Vec<String> = open.iter().map(|one| told(case, task, *one)).collect();
    let join = &graph.nodes()[task.n as usize].join;
    let text = format!(
        "it waits for {}: {}",
        series_of(&named, total),
        rule(join, fired, upstream.len())
    );
    let mut why = reason(ReasonKind::WaitingOnEdges, name, text);
    why.subjects = open
        .iter()
        .map(|one| case.name(TaskKey { n: one.n, ..task }))
        .collect();
    Ok(why)
}

/// A node that has not ended, and what it is doing now.
fn told(case: &Case, task: TaskKey, node: Unended) -> String {
    let name = quoted(&case.name(TaskKey { n: node.n, ..task }));
    match (node.members, node.state) {
        (Some((ended, total)), _) => format!("{name} ({ended} of {total} members ended)"),
        (None, Some(state)) => format!("{name} ({})", doing(state)),
        (None, None) => format!("{name} (waiting itself)"),
    }
}

/// When the node starts.
fn rule(join: &Join, fired: u32, total: usize) -> String {
    match join {
        Join::All if total == 1 => "it starts if the edge from there fires".to_owned(),
        Join::All => format!("it starts once all of its {total} edges have fired, {fired} so far"),
        Join::Any => "it starts with the first edge that fires".to_owned(),
        Join::Settled => {
            format!("it starts once all have ended and an edge has fired, {fired} so far")
        }
        Join::Quorum(needed) => {
            format!("it starts once {needed} of its {total} edges have fired, {fired} so far")
        }
        Join::Expr(condition) => format!(
            "once all have ended, `{}` decides whether it starts",
            condition.source()
        ),
    }
}

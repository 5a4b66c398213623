//! What follows when rules fire: a note, an alert, a quarantine as far as the caps allow. Always a row that says so.

use std::collections::{BTreeMap, BTreeSet};

use cambium_immune::{Bite, Commons, Response, Rule, Span};
use cambium_kernel::{AgentId, WorkspaceId};
use chrono::{DateTime, Utc};
use sqlx::PgConnection;
use uuid::Uuid;

use super::book::{Book, Term, Why};
use super::fold::Fold;
use crate::error::Error;
use crate::store;
use crate::store::Key;
use crate::store::alert::New;
use crate::store::anomaly::Anomaly;

/// The source of alerts that a cap raised.
pub(super) const CAP: &str = "quarantine-cap";

/// A rule that has seen enough.
#[derive(Clone, Debug)]
pub(super) struct Firing {
    pub(super) key: Key,
    pub(super) rule: Rule,
    pub(super) at: DateTime<Utc>,
    pub(super) depth: u32,
}

impl Firing {
    fn is_loud(&self) -> bool {
        !self.rule.is_dry_run && self.rule.response != Response::Log
    }

    fn quarantines(&self) -> bool {
        !self.rule.is_dry_run && self.rule.response == Response::Quarantine
    }

    /// What was seen.
    fn seen(&self) -> String {
        let Rule {
            signal_type,
            min_count,
            ..
        } = &self.rule;
        match self.rule.span {
            Span::Within(_) if *min_count == 1 => format!("`{signal_type}`"),
            Span::Within(window) => {
                format!(
                    "`{signal_type}` {min_count} times within {} s",
                    window.num_seconds()
                )
            }
            Span::OfLast(of_last) => {
                format!("`{signal_type}` {min_count} times in the last {of_last} settlements")
            }
        }
    }
}

impl Fold {
    /// Does what the rules that fired ask for.
    pub(super) async fn resolve(&mut self, conn: &mut PgConnection) -> Result<(), Error> {
        let firings = std::mem::take(&mut self.firings);
        if firings.is_empty() {
            return Ok(());
        }
        let loud: BTreeSet<String> = firings
            .iter()
            .filter(|firing| firing.is_loud())
            .map(|firing| firing.key.workspace.to_string())
            .collect();
        let mut commons = BTreeMap::new();
        if !loud.is_empty() {
            // Who is out, and who drains, this batch may have changed.
            self.book.flush(conn).await?;
            let loud: Vec<String> = loud.into_iter().collect();
            store::lock_workspaces(conn, &loud).await?;
            for (workspace, leaving) in leaving(&firings) {
                let shared = store::agent::commons(conn, &workspace, &leaving).await?;
                commons.insert(workspace, shared);
            }
        }
        let names = store::agent::names(conn, firings.iter().map(|firing| &firing.key)).await?;
        for firing in &firings {
            let name = names
                .get(&firing.key)
                .map_or_else(|| firing.key.agent.to_string(), Clone::clone);
            let commons = commons.entry(firing.key.workspace.clone()).or_default();
            respond(&mut self.book, firing, &name, commons);
        }
        Ok(())
    }
}

/// Whom a rule would take out, by workspace.
fn leaving(firings: &[Firing]) -> BTreeMap<WorkspaceId, Vec<AgentId>> {
    let mut leaving: BTreeMap<WorkspaceId, Vec<AgentId>> = BTreeMap::new();
    for firing in firings.iter().filter(|firing| firing.quarantines()) {
        leaving
            .entry(firing.key.workspace.clone())
            .or_default()
            .push(firing.key.agent);
    }
    leaving
}

fn respond(book: &mut Book, firing: &Firing, name: &str, commons: &mut Commons) {
    let (id, seen) = (Uuid::now_v7(), firing.seen());
    let done = if firing.rule.is_dry_run {
        "dry run: nothing was done".to_owned()
    } else {
        if firing.is_loud() {
            take_trust(book, firing, id);
        }
        match firing.rule.response {
            Response::Log => "logged".to_owned(),
            Response::Alert => {
                let text = format!("agent `{name}`: {seen}");
                alert(book, firing, &firing.rule.id, text);
                "an alert was raised".to_owned()
            }
            Response::Quarantine => take_out(book, firing, name, commons),
        }
    };
    book.anomalies.push(Anomaly {
        id,
        key: firing.key.clone(),
        rule: firing.rule.id.clone(),
        severity: firing.rule.severity,
        response: firing.rule.response,
        is_dry_run: firing.rule.is_dry_run,
        detail: format!("{seen}; {done}"),
        occurred_at: firing.at,
    });
}

/// Tells what was done.
fn take_out(book: &mut Book, firing: &Firing, name: &str, commons: &mut Commons) -> String {
    let key = &firing.key;
    let stay = book.account(key).and_then(|account| account.stay);
    if stay.is_some() {
        return "the agent is in quarantine already".to_owned();
    }
    if let Some(bite) = commons.bite(key.agent) {
        let text = format!(
            "rule `{}` would put agent `{name}` in quarantine, but {bite}",
            firing.rule.id
        );
        alert(book, firing, CAP, text);
        return format!("no quarantine, since {bite}; an alert was raised instead");
    }
    commons.take_out(key.agent);
    let term = Term {
        actor: firing.rule.id.clone(),
        reason: firing.seen(),
        length: None,
        over_cap: false,
    };
    match book.take_out(key, term, firing.depth) {
        Some(one) => format!("in quarantine until {}", one.ends_at.to_rfc3339()),
        None => "the agent is gone".to_owned(),
    }
}

fn take_trust(book: &mut Book, firing: &Firing, anomaly: Uuid) {
    let now = book.now;
    let Some(account) = book.change(&firing.key, firing.depth) else {
        return;
    };
    let entries = account.standing.fall_for_anomaly(firing.rule.severity, now);
    let said = format!("rule `{}` fired", firing.rule.id);
    let why = Why {
        occurred_at: firing.at,
        ..Why::here(format!("anomaly:{anomaly}"), &said, now)
    };
    book.write(&firing.key, entries, &why);
}

fn alert(book: &mut Book, firing: &Firing, source: &str, text: String) {
    book.alerts.push(New {
        id: Uuid::now_v7(),
        key: firing.key.clone(),
        source: source.to_owned(),
        severity: firing.rule.severity,
        text,
    });
}

/// An alert that a person went beyond a cap.
pub(super) fn over_cap(key: &Key, name: &str, actor: &str, bite: &Bite) -> New {
    New {
        id: Uuid::now_v7(),
        key: key.clone(),
        source: CAP.to_owned(),
        severity: cambium_kernel::Score::ONE,
        text: format!("`{actor}` put agent `{name}` in quarantine, although {bite}"),
    }
}

//! Rules as data: putting them, listing them, trying them on what was heard, and what they found.

use std::collections::BTreeMap;

use cambium_immune::{Event, Outcome, Recent, Rule, Span, Tally, built_in};
use cambium_kernel::{AgentId, WorkspaceId};
use cambium_proto::immune::v1 as wire;
use cambium_service_kit::call::Call;
use cambium_service_kit::{database, receipt};
use chrono::{DateTime, TimeDelta, Utc};
use sqlx::PgConnection;
use uuid::Uuid;

use super::{ATTEMPTS, App};
use crate::convert;
use crate::error::Error;
use crate::store;
use crate::store::Key;
use cambium_service_kit::page::Page;

/// What a dry run tries: a rule that is stored, or one that is not.
#[derive(Clone, Debug)]
pub(crate) enum Tried {
    Stored(String),
    Given(Box<Rule>),
}

/// Rules that a workspace may have beside the built-in ones.
const MOST_RULES: usize = 100;
/// Signals that a dry run looks at.
const MOST_SIGNALS: i64 = 500_000;
/// Agents that a dry run names.
const MOST_AGENTS: usize = 100;

impl App {
    pub(crate) async fn rules(&self, workspace: &WorkspaceId) -> Result<Vec<Rule>, Error> {
        let mut conn = self.pool.acquire().await?;
        store::rule::of(&mut conn, workspace).await
    }

    /// Puts the next version, if `wish` replaces the present one.
    pub(crate) async fn put_rule(
        &self,
        call: &Call,
        workspace: &WorkspaceId,
        wish: &Rule,
    ) -> Result<wire::PutRuleResponse, Error> {
        database::retry_conflicts(ATTEMPTS, || self.put_rule_once(call, workspace, wish)).await
    }

    async fn put_rule_once(
        &self,
        call: &Call,
        workspace: &WorkspaceId,
        wish: &Rule,
    ) -> Result<wire::PutRuleResponse, Error> {
        let mut tx = self.pool.begin().await?;
        if let Some(reply) = receipt::find(&mut tx, store::SCHEMA, call, workspace).await? {
            return Ok(reply);
        }
        store::lock_workspaces(&mut tx, &[workspace.to_string()]).await?;
        let rules = store::rule::of(&mut tx, workspace).await?;
        let known = rules.iter().find(|rule| rule.id == wish.id);
        let current = known.map_or(0, |rule| rule.version);
        if wish.version != current {
            return Err(Error::VersionMoved {
                given: wish.version,
                current,
            });
        }
        let own = rules.iter().filter(|rule| built_in(&rule.id).is_none());
        if known.is_none() && own.count() >= MOST_RULES {
            return Err(Error::TooManyRules(MOST_RULES));
        }
        let next = Rule {
            version: current + 1,
            ..wish.clone()
        };
        store::rule::put(&mut tx, workspace, &next, &call.principal.subject()).await?;
        let reply = wire::PutRuleResponse {
            rule: Some(convert::rule_to_wire(&next)),
        };
        receipt::insert(&mut tx, store::SCHEMA, call, workspace, &reply).await?;
        tx.commit().await?;
        Ok(reply)
    }

    /// How often the rule would have fired since then, on what was kept. Changes nothing.
    pub(crate) async fn dry_run(
        &self,
        workspace: &WorkspaceId,
        tried: &Tried,
        hours: i32,
    ) -> Result<wire::DryRunRuleResponse, Error> {
        let mut conn = self.pool.acquire().await?;
        let rule = match tried {
            Tried::Given(rule) => Rule::clone(rule),
            Tried::Stored(id) => {
                let mut rules = store::rule::of(&mut conn, workspace).await?;
                let place = rules.iter().position(|rule| rule.id == *id);
                rules.swap_remove(place.ok_or_else(|| Error::NoRule(id.clone()))?)
            }
        };
        let since = store::now(&mut conn).await? - TimeDelta::hours(hours.into());
        let firings = match rule.span {
            Span::Within(_) => by_time(&mut conn, workspace, &rule, since).await?,
            Span::OfLast(_) => by_settlements(&mut conn, workspace, &rule, since).await?,
        };
        let keys: Vec<Key> = firings
            .keys()
            .map(|agent| Key {
                workspace: workspace.clone(),
                agent: *agent,
            })
            .collect();
        let names = store::agent::names(&mut conn, &keys).await?;
        let mut agents: Vec<wire::DryRunAgent> = keys
            .iter()
            .map(|key| wire::DryRunAgent {
                agent_id: key.agent.to_string(),
                agent_name: names.get(key).cloned().unwrap_or_default(),
                firings: firings[&key.agent],
            })
            .collect();
        agents.sort_by_key(|agent| std::cmp::Reverse(agent.firings));
        agents.truncate(MOST_AGENTS);
        let firings = firings.values().sum();
        let times = if firings == 1 { "time" } else { "times" };
        Ok(wire::DryRunRuleResponse {
            firings,
            agents,
            summary: format!("would have fired {firings} {times}"),
        })
    }

    pub(crate) async fn anomalies(
        &self,
        workspace: &WorkspaceId,
        agent: Option<AgentId>,
        page: &Page<(DateTime<Utc>, Uuid)>,
    ) -> Result<wire::ListAnomaliesResponse, Error> {
        let mut conn = self.pool.acquire().await?;
        let found =
            store::anomaly::list(&mut conn, workspace, agent, page.after, page.size + 1).await?;
        let names = store::agent::names(&mut conn, found.iter().map(|one| &one.key)).await?;
        let cursors: Vec<_> = found.iter().map(|one| (one.occurred_at, one.id)).collect();
        let wire = found.iter().map(|one| {
            let name = names.get(&one.key).map_or("", String::as_str);
            convert::anomaly_to_wire(one, name)
        });
        let (anomalies, next_page_token) = page.cut(wire, &cursors);
        Ok(wire::ListAnomaliesResponse {
            anomalies,
            next_page_token,
        })
    }
}

/// Firings of each agent for which there were any.
type Firings = BTreeMap<AgentId, i64>;

async fn by_time(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    rule: &Rule,
    since: DateTime<Utc>,
) -> Result<Firings, Error> {
    let signals = store::heard::since(
        conn,
        workspace.as_str(),
        &rule.signal_type,
        since,
        MOST_SIGNALS,
    )
    .await?;
    let (mut tallies, mut firings) = (BTreeMap::<AgentId, Tally>::new(), Firings::new());
    let nothing = Recent::default();
    for (agent, intensity, at) in signals {
        let tally = tallies.entry(agent).or_default();
        if intensity >= rule.threshold && tally.count(rule, at, &nothing) {
            *firings.entry(agent).or_default() += 1;
        }
    }
    Ok(firings)
}

async fn by_settlements(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    rule: &Rule,
    since: DateTime<Utc>,
) -> Result<Firings, Error> {
    let settled = store::ledger::settlements(conn, workspace.as_str(), since, MOST_SIGNALS).await?;
    let mut known = BTreeMap::<AgentId, (Recent, Tally)>::new();
    let mut firings = Firings::new();
    for (agent, event, at) in settled {
        let Some(outcome) = outcome(event) else {
            continue;
        };
        let (recent, tally) = known.entry(agent).or_default();
        recent.push(outcome);
        if outcome.signal_type() == rule.signal_type && tally.count(rule, at, recent) {
            *firings.entry(agent).or_default() += 1;
        }
    }
    Ok(firings)
}

const fn outcome(event: Event) -> Option<Outcome> {
    match event {
        Event::TaskSucceeded => Some(Outcome::Succeeded),
        Event::TaskFailed => Some(Outcome::Failed),
        Event::InvalidOutput => Some(Outcome::InvalidOutput),
        Event::LeaseLost => Some(Outcome::LeaseLost),
        Event::Contribution
        | Event::Consumption
        | Event::KnowledgeShare
        | Event::IdleDrift
        | Event::Adjustment
        | Event::Anomaly
        | Event::TrialReturn => None,
    }
}

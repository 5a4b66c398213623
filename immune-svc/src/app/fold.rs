//! A batch of facts, folded in memory in the order in which they came: one round trip for each table, however many facts.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use cambium_immune::{Action, Change, Credit, Policy, Rule, ScoreKind, Stress};
use cambium_kernel::Score;
use chrono::{DateTime, Utc};
use sqlx::PgConnection;

use super::App;
use super::book::{Book, Why};
use super::fact::{Fact, Told, What};
use super::firing::Firing;
use crate::error::Error;
use crate::store;
use crate::store::agent::Agent;
use crate::store::daily::{Count, Of};
use crate::store::heard::Heard;
use crate::store::tally::Tallies;
use crate::store::{Key, cause_key};

/// Everything a batch needs to be decided, and what was decided so far.
pub(super) struct Fold {
    pub(super) book: Book,
    policies: BTreeMap<String, Policy>,
    rules: BTreeMap<String, Vec<Rule>>,
    daily: BTreeMap<Count, u32>,
    tallies: Tallies,
    /// What each fact did that has a row in the ledger.
    recorded: HashMap<store::ledger::Asked, (Action, Score)>,
    /// Facts that have none.
    heard_before: HashSet<store::heard::Asked>,
    heard: Vec<Heard>,
    agents: Vec<(Key, Agent)>,
    pub(super) firings: Vec<Firing>,
}

impl App {
    /// Applies facts in the transaction of `conn`; tells of each what it did.
    pub(crate) async fn apply(
        &self,
        conn: &mut PgConnection,
        facts: &[Fact],
    ) -> Result<Vec<Told>, Error> {
        let mut fold = Fold::load(conn, facts).await?;
        let told = facts.iter().map(|fact| fold.hear(fact)).collect();
        fold.finish(conn, self).await?;
        Ok(told)
    }
}

impl Fold {
    async fn load(conn: &mut PgConnection, facts: &[Fact]) -> Result<Self, Error> {
        let keys: BTreeSet<Key> = facts.iter().map(|fact| fact.key.clone()).collect();
        let mut book = Book::open(conn, &keys).await?;
        let missing: BTreeSet<Key> = facts
            .iter()
            .filter(|fact| fact.opens && book.account(&fact.key).is_none())
            .map(|fact| fact.key.clone())
            .collect();
        if !missing.is_empty() {
            let missing: Vec<Key> = missing.into_iter().collect();
            store::standing::open(conn, &missing).await?;
            book = Book::open(conn, &keys).await?;
        }
        let workspaces: BTreeSet<String> =
            keys.iter().map(|key| key.workspace.to_string()).collect();
        let workspaces: Vec<String> = workspaces.into_iter().collect();
        let counts: BTreeSet<Count> = facts
            .iter()
            .filter_map(|fact| count(fact, book.now))
            .collect();
        let counts: Vec<Count> = counts.into_iter().collect();
        let asked: Vec<_> = facts.iter().filter_map(ledger_cause).collect();
        let heard: Vec<_> = facts.iter().filter_map(heard_cause).collect();
        Ok(Self {
            policies: store::policy::of_each(conn, &workspaces).await?,
            rules: store::rule::of_each(conn, &workspaces).await?,
            daily: if counts.is_empty() {
                BTreeMap::new()
            } else {
                store::daily::load(conn, &counts).await?
            },
            tallies: store::tally::load(conn, &keys).await?,
            recorded: if asked.is_empty() {
                HashMap::new()
            } else {
                store::ledger::known(conn, &asked).await?
            },
            heard_before: if heard.is_empty() {
                HashSet::new()
            } else {
                store::heard::known(conn, &heard).await?
            },
            heard: Vec::new(),
            agents: Vec::new(),
            firings: Vec::new(),
            book,
        })
    }

    fn hear(&mut self, fact: &Fact) -> Told {
        if self.book.account(&fact.key).is_none() {
            return Told::Unknown;
        }
        let asked = ledger_cause(fact);
        if let Some((action, score)) = asked.as_ref().and_then(|asked| self.recorded.get(asked)) {
            return Told::Recorded {
                action: *action,
                score: *score,
            };
        }
        if let Some(heard) = heard_cause(fact)
            && !self.heard_before.insert(heard)
        {
            return self.told(fact, Action::None);
        }
        let action = self.take(fact);
        let told = self.told(fact, action);
        if let (Some(asked), Told::Recorded { action, score }) = (asked, told) {
            self.recorded.insert(asked, (action, score));
        }
        told
    }

    fn told(&self, fact: &Fact, action: Action) -> Told {
        match self.book.account(&fact.key) {
            Some(account) => Told::Recorded {
                action,
                score: account.standing.generosity.score,
            },
            None => Told::Unknown,
        }
    }

    /// A fact that is new, about an agent that is there.
    fn take(&mut self, fact: &Fact) -> Action {
        let at = fact.occurred_at.unwrap_or(self.book.now);
        match &fact.what {
            What::Contribution { receiver } => {
                let credit = self.credit(fact, |credited, policy| {
                    Credit::of_gratitude(fact.key.agent, *receiver, credited, policy)
                });
                self.moved(fact, |standing, policy, _| {
                    standing.contribute(credit, policy)
                })
            }
            What::Consumption => self.moved(fact, |standing, policy, _| standing.consume(policy)),
            What::KnowledgeShare => {
                let credit = self.credit(fact, Credit::of_share);
                self.moved(fact, |standing, policy, _| standing.share(credit, policy))
            }
            What::Settled(settlement) => self.moved(fact, |standing, policy, now| {
                standing.settle(settlement, policy, now)
            }),
            What::Stale | What::RateLimited => {
                for signal_type in types(&fact.what) {
                    self.count(fact, signal_type, fact.intensity, fact.cause.clone(), at);
                }
                Action::None
            }
            What::Spawned { agent, is_external } => {
                self.agents.push((fact.key.clone(), agent.clone()));
                if let Some(account) = self.book.change(&fact.key, fact.depth)
                    && *is_external
                {
                    account.standing.begin_as_external();
                }
                Action::None
            }
            What::Retired { is_draining } => {
                if let Some(account) = self.book.change(&fact.key, fact.depth) {
                    account.is_draining = true;
                    if !is_draining {
                        account.closed_at.get_or_insert(at);
                    }
                }
                Action::None
            }
        }
    }

    fn policy(&self, key: &Key) -> Policy {
        let policy = self.policies.get(key.workspace.as_str());
        policy.cloned().unwrap_or_default()
    }

    fn credit(&mut self, fact: &Fact, judge: impl FnOnce(&mut u32, &Policy) -> Credit) -> Credit {
        let policy = self.policy(&fact.key);
        match count(fact, self.book.now) {
            Some(count) => judge(self.daily.entry(count).or_default(), &policy),
            None => judge(&mut 0, &policy),
        }
    }

    /// Moves the scores, writes it down, and lets the rules count the fact and what it set off.
    fn moved(
        &mut self,
        fact: &Fact,
        step: impl FnOnce(&mut cambium_immune::Standing, &Policy, DateTime<Utc>) -> Change,
    ) -> Action {
        let (policy, now) = (self.policy(&fact.key), self.book.now);
        let at = fact.occurred_at.unwrap_or(now);
        let Some(account) = self.book.change(&fact.key, fact.depth) else {
            return Action::None;
        };
        let clock = account.clock(now);
        let change = step(&mut account.standing, &policy, clock);
        let standing = &account.standing;
        let (gave, health) = (standing.generosity.seq, standing.health.seq);
        let action = change
            .entries
            .iter()
            .map(|entry| entry.action)
            .find(|action| *action != Action::None);
        self.book.write(&fact.key, change.entries, &why(fact, at));
        if let Some(share) = change.advice {
            self.book.advise(&fact.key, share, fact.depth);
        }
        for signal_type in types(&fact.what) {
            self.count(fact, signal_type, fact.intensity, fact.cause.clone(), at);
        }
        // Heard here and now rather than through the outbox: they are for immune's own rules, and this transaction is theirs.
        for stress in change.stress {
            let (signal_type, cause) = match stress {
                Stress::Hoarding { .. } => ("stress.context_hoarding", format!("hoarding:{gave}")),
                Stress::Overextension => (
                    "stress.overextension",
                    format!("overextension:{gave}:{health}"),
                ),
            };
            self.count(fact, signal_type, stress.intensity(), cause, at);
        }
        action.unwrap_or_default()
    }

    /// Lets the rules count a signal. Of an agent that has retired nothing is counted: nobody could act on it.
    fn count(
        &mut self,
        fact: &Fact,
        signal_type: &str,
        intensity: Score,
        cause: String,
        at: DateTime<Utc>,
    ) {
        let Some(account) = self.book.account(&fact.key) else {
            return;
        };
        // A signal from the future would put all others out of its window.
        let at = at.min(self.book.now);
        let rules = self.rules.get(fact.key.workspace.as_str());
        let rules = rules.map_or(&[][..], Vec::as_slice);
        let mut is_counted = false;
        for rule in rules {
            if account.closed_at.is_some() || !rule.counts(signal_type, intensity) {
                continue;
            }
            is_counted = true;
            let of = (fact.key.clone(), rule.id.clone());
            let tally = self.tallies.entry(of).or_default();
            if tally.count(rule, at, &account.standing.recent) {
                self.firings.push(Firing {
                    key: fact.key.clone(),
                    rule: rule.clone(),
                    at,
                    depth: fact.depth,
                });
            }
        }
        if is_counted || is_kept(signal_type) {
            self.heard.push(Heard {
                key: fact.key.clone(),
                signal_type: signal_type.to_owned(),
                cause,
                intensity,
                occurred_at: at,
            });
        }
    }

    async fn finish(mut self, conn: &mut PgConnection, app: &App) -> Result<(), Error> {
        for (key, agent) in &self.agents {
            store::agent::upsert(conn, key, agent).await?;
        }
        self.resolve(conn).await?;
        if !self.daily.is_empty() {
            store::daily::save(conn, &self.daily).await?;
        }
        if !self.heard.is_empty() {
            store::tally::save(conn, &self.tallies).await?;
            store::heard::insert(conn, &self.heard, self.book.now).await?;
        }
        self.book.save(conn, &app.routes).await
    }
}

fn why(fact: &Fact, at: DateTime<Utc>) -> Why {
    let counterpart = match &fact.what {
        What::Contribution { receiver } => *receiver,
        _ => None,
    };
    Why {
        cause: fact.cause.clone(),
        counterpart,
        run: fact.run.clone(),
        occurred_at: at,
        said: fact.said.clone(),
    }
}

/// What is counted together with the fact: by the UTC date on which it happened.
fn count(fact: &Fact, now: DateTime<Utc>) -> Option<Count> {
    let of = match &fact.what {
        // The giver earns nothing by it, so nothing is counted.
        What::Contribution { receiver } if *receiver == Some(fact.key.agent) => return None,
        What::Contribution { receiver } => Of::Gratitudes(*receiver),
        What::KnowledgeShare => Of::Shares,
        _ => return None,
    };
    Some(Count {
        giver: fact.key.clone(),
        of,
        day: fact.occurred_at.unwrap_or(now).date_naive(),
    })
}

/// Where the ledger would have the fact.
fn ledger_cause(fact: &Fact) -> Option<store::ledger::Asked> {
    let kind = match fact.what {
        What::Contribution { .. } | What::Consumption | What::KnowledgeShare => {
            ScoreKind::Generosity
        }
        What::Settled(_) => ScoreKind::Trust,
        What::Stale | What::RateLimited | What::Spawned { .. } | What::Retired { .. } => {
            return None;
        }
    };
    Some((fact.key.clone(), kind, cause_key(&fact.cause)))
}

/// Where the log of signals would have the fact, if the ledger has not.
fn heard_cause(fact: &Fact) -> Option<store::heard::Asked> {
    match fact.what {
        What::Stale => Some((fact.key.clone(), "task.stale", cause_key(&fact.cause))),
        What::RateLimited => Some((
            fact.key.clone(),
            "stress.rate_limited",
            cause_key(&fact.cause),
        )),
        _ => None,
    }
}

/// Under which types rules count it.
fn types(what: &What) -> &'static [&'static str] {
    match what {
        What::Contribution { .. } => &["coord.gratitude"],
        What::Consumption => &["coord.dead_end"],
        What::KnowledgeShare => &["coord.marker_placed"],
        What::Settled(settlement) => match settlement.outcome.signal_type() {
            "task.failed" => &["task.failed", "coord.task_settled"],
            "task.lease_lost" => &["task.lease_lost", "coord.task_settled"],
            _ => &["task.succeeded", "coord.task_settled"],
        },
        What::Stale => &["task.stale", "coord.task_settled"],
        What::RateLimited => &["stress.rate_limited"],
        What::Spawned { .. } | What::Retired { .. } => &[],
    }
}

/// Kept even if no rule counts it: what is rare, and what a new rule may want to look back on.
fn is_kept(signal_type: &str) -> bool {
    signal_type.starts_with("stress.")
        || matches!(
            signal_type,
            "task.failed" | "task.lease_lost" | "task.stale" | "coord.dead_end"
        )
}

//! The open book of one transaction: accounts that are locked, what happened to them, and everything to be written for it.
//! Whatever changes an account passes through here, so that each change has its row and is told to others.

use std::collections::{BTreeMap, BTreeSet};

use cambium_immune::{Entry, Event};
use cambium_kernel::{AgentId, Score};
use cambium_service_kit::outbox::{self, Routes};
use chrono::{DateTime, TimeDelta, Utc};
use sqlx::PgConnection;
use uuid::Uuid;

use crate::convert::signal;
use crate::error::Error;
use crate::store;
use crate::store::Key;
use crate::store::alert::New;
use crate::store::anomaly::Anomaly;
use crate::store::ledger::Step;
use crate::store::quarantine::Quarantine;
use crate::store::standing::{Account, Stay};

/// The fact behind steps of the ledger.
#[derive(Clone, Debug)]
pub(super) struct Why {
    pub(super) cause: String,
    pub(super) counterpart: Option<AgentId>,
    pub(super) run: String,
    pub(super) occurred_at: DateTime<Utc>,
    pub(super) said: String,
}

impl Why {
    /// Of something that immune itself, or an operator, does now.
    pub(super) fn here(cause: String, said: &str, now: DateTime<Utc>) -> Self {
        Self {
            cause,
            counterpart: None,
            run: String::new(),
            occurred_at: now,
            said: said.to_owned(),
        }
    }
}

#[derive(Debug)]
pub(super) struct Book {
    pub(super) now: DateTime<Utc>,
    accounts: BTreeMap<Key, Account>,
    /// What has changed, and how many signals led to it.
    changed: BTreeMap<Key, u32>,
    steps: Vec<(Key, Step)>,
    advice: Vec<(Key, Score, u32)>,
    pub(super) anomalies: Vec<Anomaly>,
    pub(super) alerts: Vec<New>,
    quarantines: Vec<Quarantine>,
}

impl Book {
    /// Locks those of the agents that there are.
    pub(super) async fn open(conn: &mut PgConnection, keys: &BTreeSet<Key>) -> Result<Self, Error> {
        let accounts = store::standing::lock(conn, keys).await?;
        // Read once the locks are held, so that no account sees time step back.
        let now = store::now(conn).await?;
        Ok(Self {
            now,
            accounts,
            changed: BTreeMap::new(),
            steps: Vec::new(),
            advice: Vec::new(),
            anomalies: Vec::new(),
            alerts: Vec::new(),
            quarantines: Vec::new(),
        })
    }

    /// The book of one agent that must be there.
    pub(super) async fn open_one(conn: &mut PgConnection, key: &Key) -> Result<Self, Error> {
        let book = Self::open(conn, &BTreeSet::from([key.clone()])).await?;
        match book.account(key) {
            Some(_) => Ok(book),
            None => Err(Error::NoAgent(key.agent.to_string())),
        }
    }

    pub(super) fn account(&self, key: &Key) -> Option<&Account> {
        self.accounts.get(key)
    }

    /// The account, to be changed: others will be told.
    pub(super) fn change(&mut self, key: &Key, depth: u32) -> Option<&mut Account> {
        let account = self.accounts.get_mut(key)?;
        let deepest = self.changed.entry(key.clone()).or_default();
        *deepest = depth.max(*deepest);
        Some(account)
    }

    /// Writes down steps that the account has just taken.
    pub(super) fn write(&mut self, key: &Key, entries: Vec<Entry>, why: &Why) {
        let Some(account) = self.accounts.get(key) else {
            return;
        };
        let rows = account.standing.ledger_rows();
        let before = rows - i64::try_from(entries.len()).unwrap_or(0);
        for (row_no, mut entry) in (before + 1..).zip(entries) {
            // What idleness did has no fact behind it but time.
            let cause = if entry.event == Event::IdleDrift {
                format!("idle_drift:{}", entry.seq)
            } else {
                entry.reason = join(entry.reason.take(), &why.said);
                why.cause.clone()
            };
            let step = Step {
                row_no,
                entry,
                cause,
                counterpart: why.counterpart,
                run: why.run.clone(),
                occurred_at: why.occurred_at,
                recorded_at: self.now,
            };
            self.steps.push((key.clone(), step));
        }
    }

    /// Advises whoever employs the agent.
    pub(super) fn advise(&mut self, key: &Key, share: Score, depth: u32) {
        self.advice.push((key.clone(), share, depth));
    }

    /// Takes the agent out. That it may go was judged before.
    pub(super) fn take_out(&mut self, key: &Key, term: Term, depth: u32) -> Option<Quarantine> {
        let now = self.now;
        let account = self.change(key, depth)?;
        account.quarantine_count += 1;
        let count = account.quarantine_count;
        let length = term.length.unwrap_or_else(|| cambium_immune::stay(count));
        let one = Quarantine {
            id: Uuid::now_v7(),
            key: key.clone(),
            reason: term.reason,
            actor: term.actor,
            started_at: now,
            ends_at: now + length,
            is_active: true,
            count,
            over_cap: term.over_cap,
            release_reason: String::new(),
        };
        account.stay = Some(Stay {
            id: one.id,
            until: one.ends_at,
        });
        self.quarantines.push(one.clone());
        Some(one)
    }

    /// Writes a quarantine that has changed.
    pub(super) fn note(&mut self, quarantine: Quarantine) {
        self.quarantines.push(quarantine);
    }

    /// Writes the standings so far, so that this transaction's own questions see them.
    pub(super) async fn flush(&self, conn: &mut PgConnection) -> Result<(), Error> {
        store::standing::save(conn, &self.changed_accounts()).await
    }

    /// Writes everything, and tells who must hear of it once this has committed.
    pub(super) async fn save(
        mut self,
        conn: &mut PgConnection,
        routes: &Routes,
    ) -> Result<(), Error> {
        let signals = self.signals();
        let workspaces = self.workspaces();
        if workspaces.is_empty() {
            return Ok(());
        }
        store::ledger::insert(conn, std::mem::take(&mut self.steps)).await?;
        if !self.changed.is_empty() {
            store::standing::save(conn, &self.changed_accounts()).await?;
        }
        for one in &self.quarantines {
            store::quarantine::save(conn, one).await?;
        }
        if !self.anomalies.is_empty() {
            store::anomaly::insert(conn, &self.anomalies).await?;
        }
        if !self.alerts.is_empty() {
            // Held already by whoever judged: then this is no second lock.
            store::lock_workspaces(conn, &workspaces).await?;
            store::alert::insert(conn, &self.alerts, self.now).await?;
        }
        outbox::insert(conn, store::SCHEMA, &outbox::rows(routes, signals)).await?;
        store::notify(conn, &workspaces).await
    }

    fn changed_accounts(&self) -> BTreeMap<Key, Account> {
        let changed = self
            .changed
            .keys()
            .filter_map(|key| self.accounts.get_key_value(key));
        changed
            .map(|(key, account)| (key.clone(), account.clone()))
            .collect()
    }

    /// Numbers the changes: one for each agent, however much happened to it, and its advice.
    fn signals(&mut self) -> Vec<cambium_proto::signal::v1::Signal> {
        let mut signals = Vec::new();
        for (key, depth) in &self.changed {
            if let Some(account) = self.accounts.get_mut(key) {
                account.seq += 1;
                account.updated_at = self.now;
                signals.push(signal::standing_changed(key, account, self.now, depth + 1));
            }
        }
        for (key, share, depth) in &self.advice {
            if let Some(account) = self.accounts.get_mut(key) {
                account.advice_seq += 1;
                let seq = account.advice_seq;
                signals.push(signal::load_advice(key, seq, *share, self.now, depth + 1));
            }
        }
        signals
    }

    /// Those in which anything is to be told.
    fn workspaces(&self) -> Vec<String> {
        let changed = self.changed.keys();
        let fired = self.anomalies.iter().map(|anomaly| &anomaly.key);
        let alerted = self.alerts.iter().map(|alert| &alert.key);
        let all: BTreeSet<String> = changed
            .chain(fired)
            .chain(alerted)
            .map(|key| key.workspace.to_string())
            .collect();
        all.into_iter().collect()
    }
}

/// How a quarantine begins.
#[derive(Clone, Debug)]
pub(super) struct Term {
    pub(super) actor: String,
    pub(super) reason: String,
    /// Nothing: ten minutes, and twice as long each time.
    pub(super) length: Option<TimeDelta>,
    pub(super) over_cap: bool,
}

fn join(reason: Option<String>, said: &str) -> Option<String> {
    match reason {
        Some(reason) if !said.is_empty() => Some(format!("{reason}; {said}")),
        None if !said.is_empty() => Some(said.to_owned()),
        reason => reason,
    }
}

//! A standing as a row, and many as columns.

use std::collections::BTreeMap;

use cambium_immune::{Busy, Recent, Standing, Track, Vitals};
use chrono::{DateTime, Utc};
use uuid::Uuid;

use super::{Account, Stay};
use crate::error::Error;
use crate::store::{Key, score};

pub(super) struct Row {
    pub(super) workspace_id: String,
    pub(super) agent_id: Uuid,
    pub(super) trust: i32,
    pub(super) trust_start: i32,
    pub(super) trust_moved_at: DateTime<Utc>,
    pub(super) trust_seq: i64,
    pub(super) generosity: i32,
    pub(super) generosity_seq: i64,
    pub(super) health: i32,
    pub(super) health_seq: i64,
    pub(super) failures: i32,
    pub(super) losses: i32,
    pub(super) busy_minute: i64,
    pub(super) busy_ms: Vec<i32>,
    pub(super) recent: String,
    pub(super) settled: i64,
    pub(super) is_overextended: bool,
    pub(super) is_advised: bool,
    pub(super) advice_seq: i64,
    pub(super) is_draining: bool,
    pub(super) closed_at: Option<DateTime<Utc>>,
    pub(super) quarantine_id: Option<Uuid>,
    pub(super) quarantine_until: Option<DateTime<Utc>>,
    pub(super) quarantine_count: i32,
    pub(super) seq: i64,
    pub(super) updated_at: DateTime<Utc>,
    pub(super) changed_in: i64,
}

impl Row {
    pub(super) fn account(self) -> Result<(Key, Account), Error> {
        let key = Key::from_row(&self.workspace_id, self.agent_id)?;
        let broken = |why: &str| Error::broken(format!("the standing of {}", self.agent_id), why);
        let standing = Standing {
            trust: track(self.trust, self.trust_seq)?,
            trust_start: score(self.trust_start)?,
            trust_moved_at: self.trust_moved_at,
            generosity: track(self.generosity, self.generosity_seq)?,
            health: track(self.health, self.health_seq)?,
            vitals: Vitals {
                failures: score(self.failures)?,
                losses: score(self.losses)?,
                busy: Busy {
                    minute: self.busy_minute,
                    full_ms: full_ms(&self.busy_ms).ok_or_else(|| broken("its busy minutes"))?,
                },
            },
            recent: Recent::parse(&self.recent, self.settled)
                .ok_or_else(|| broken("its last outcomes"))?,
            is_overextended: self.is_overextended,
            is_advised: self.is_advised,
        };
        let account = Account {
            standing,
            stay: self
                .quarantine_id
                .zip(self.quarantine_until)
                .map(|(id, until)| Stay { id, until }),
            quarantine_count: u32::try_from(self.quarantine_count).unwrap_or(0),
            advice_seq: self.advice_seq,
            is_draining: self.is_draining,
            closed_at: self.closed_at,
            seq: self.seq,
            updated_at: self.updated_at,
            changed_in: self.changed_in,
        };
        Ok((key, account))
    }
}

fn track(millionths: i32, seq: i64) -> Result<Track, Error> {
    let score = score(millionths)?;
    Ok(Track { score, seq })
}

fn full_ms(stored: &[i32]) -> Option<[u32; Busy::MINUTES]> {
    let minutes: Option<Vec<u32>> = stored.iter().map(|ms| u32::try_from(*ms).ok()).collect();
    minutes?.try_into().ok()
}

/// Many standings, for `unnest`.
#[derive(Default)]
pub(super) struct Columns {
    pub(super) workspaces: Vec<String>,
    pub(super) agents: Vec<Uuid>,
    pub(super) trust: Vec<i32>,
    pub(super) trust_start: Vec<i32>,
    pub(super) trust_moved_at: Vec<DateTime<Utc>>,
    pub(super) trust_seq: Vec<i64>,
    pub(super) generosity: Vec<i32>,
    pub(super) generosity_seq: Vec<i64>,
    pub(super) health: Vec<i32>,
    pub(super) health_seq: Vec<i64>,
    pub(super) failures: Vec<i32>,
    pub(super) losses: Vec<i32>,
    pub(super) busy_minute: Vec<i64>,
    /// As array literals: arrays of arrays do not pass as columns.
    pub(super) busy_ms: Vec<String>,
    pub(super) recent: Vec<String>,
    pub(super) settled: Vec<i64>,
    pub(super) is_overextended: Vec<bool>,
    pub(super) is_advised: Vec<bool>,
    pub(super) advice_seq: Vec<i64>,
    pub(super) is_draining: Vec<bool>,
    pub(super) closed_at: Vec<Option<DateTime<Utc>>>,
    pub(super) quarantine_id: Vec<Option<Uuid>>,
    pub(super) quarantine_until: Vec<Option<DateTime<Utc>>>,
    pub(super) quarantine_count: Vec<i32>,
    pub(super) seq: Vec<i64>,
    pub(super) updated_at: Vec<DateTime<Utc>>,
}

impl Columns {
    pub(super) fn of(accounts: &BTreeMap<Key, Account>) -> Self {
        let mut columns = Self::default();
        for (key, account) in accounts {
            columns.push(key, account);
        }
        columns
    }

    fn push(&mut self, key: &Key, account: &Account) {
        let standing = &account.standing;
        self.workspaces.push(key.workspace.to_string());
        self.agents.push(key.agent.as_uuid());
        self.trust.push(standing.trust.score.as_millionths());
        self.trust_start.push(standing.trust_start.as_millionths());
        self.trust_moved_at.push(standing.trust_moved_at);
        self.trust_seq.push(standing.trust.seq);
        self.generosity
            .push(standing.generosity.score.as_millionths());
        self.generosity_seq.push(standing.generosity.seq);
        self.health.push(standing.health.score.as_millionths());
        self.health_seq.push(standing.health.seq);
        self.push_evidence(standing);
        self.is_overextended.push(standing.is_overextended);
        self.is_advised.push(standing.is_advised);
        self.advice_seq.push(account.advice_seq);
        self.is_draining.push(account.is_draining);
        self.closed_at.push(account.closed_at);
        self.quarantine_id.push(account.stay.map(|stay| stay.id));
        self.quarantine_until
            .push(account.stay.map(|stay| stay.until));
        self.quarantine_count
            .push(i32::try_from(account.quarantine_count).unwrap_or(i32::MAX));
        self.seq.push(account.seq);
        self.updated_at.push(account.updated_at);
    }

    fn push_evidence(&mut self, standing: &Standing) {
        let Vitals {
            failures,
            losses,
            busy,
        } = standing.vitals;
        self.failures.push(failures.as_millionths());
        self.losses.push(losses.as_millionths());
        self.busy_minute.push(busy.minute);
        let minutes = busy.full_ms.map(|ms| ms.to_string());
        self.busy_ms.push(format!("{{{}}}", minutes.join(",")));
        self.recent.push(standing.recent.as_text());
        self.settled.push(standing.recent.settled());
    }
}

//! Facts from other services, turned into genesis' own: how tasks ended, who holds nothing any more, who is in quarantine.
//! Decides nothing by them: an agent is composted by its loop.

use std::collections::BTreeMap;
use std::sync::Arc;

use cambium_genesis::{Pattern, harvest};
use cambium_kernel::AgentId;
use cambium_proto::signal::v1::signal::Payload;
use cambium_proto::signal::v1::{AgentDrained, Signal, StandingChanged, TaskOutcome, TaskSettled};
use cambium_service_kit::inbox::Receptor;
use chrono::{DateTime, Utc};
use sqlx::PgConnection;
use tokio::sync::Notify;
use uuid::Uuid;

use crate::convert;
use crate::error::Error;
use crate::store::{self, evidence, standing, tally};

#[derive(Debug)]
pub(crate) struct Receptors {
    /// Wakes whoever composts.
    pub(crate) composting: Arc<Notify>,
}

/// An agent, by its workspace.
type Who = (String, Uuid);

impl Receptor for Receptors {
    type Error = Error;

    fn may_say(&self, sender: &str, signal: &Signal) -> bool {
        match &signal.payload {
            Some(Payload::TaskSettled(_) | Payload::AgentDrained(_)) => sender == "hypha",
            Some(Payload::StandingChanged(_)) => sender == "immune",
            Some(_) | None => true,
        }
    }

    async fn apply(&self, conn: &mut PgConnection, signals: &[Signal]) -> Result<(), Error> {
        let heard = Heard::of(signals)?;
        if !heard.standings.is_empty() {
            heard.note_standings(conn).await?;
        }
        if !heard.ended.is_empty() {
            heard.note_tasks(conn).await?;
        }
        for ((workspace, agent), settled) in &heard.drained {
            let agent = AgentId::from_uuid(*agent);
            store::agent::life::note_drained(conn, workspace, agent, *settled).await?;
        }
        Ok(())
    }

    fn applied(&self) {
        self.composting.notify_one();
    }
}

/// How many tasks ended, in all and well.
#[derive(Clone, Copy, Debug, Default)]
struct Count {
    settled: i64,
    ended: i64,
    succeeded: i64,
}

/// What a delivery says, by agent, so that it is written in few statements and in one order.
#[derive(Debug, Default)]
struct Heard {
    ended: BTreeMap<Who, Count>,
    tallies: BTreeMap<(Who, &'static str, String), Count>,
    drained: BTreeMap<Who, i64>,
    standings: BTreeMap<Who, Standing>,
}

/// The last that was said of an agent, and whether any of it was a quarantine.
#[derive(Debug)]
struct Standing {
    seq: i64,
    quarantined: bool,
    end: Option<DateTime<Utc>>,
    was_quarantined: bool,
}

impl Heard {
    fn of(signals: &[Signal]) -> Result<Self, Error> {
        let mut heard = Self::default();
        for signal in signals {
            let workspace = &signal.workspace_id;
            match &signal.payload {
                Some(Payload::TaskSettled(told)) => heard.task(workspace, told)?,
                Some(Payload::AgentDrained(told)) => heard.drain(workspace, told)?,
                Some(Payload::StandingChanged(told)) => heard.standing(workspace, told)?,
                Some(_) | None => {}
            }
        }
        Ok(heard)
    }

    fn task(&mut self, workspace: &str, told: &TaskSettled) -> Result<(), Error> {
        let who = who(workspace, "task_settled.agent_id", &told.agent_id)?;
        let outcome = told.outcome();
        let has_ended = !matches!(outcome, TaskOutcome::Stale | TaskOutcome::Unspecified);
        let has_succeeded = outcome == TaskOutcome::Succeeded;
        let count = Count {
            settled: 1,
            ended: has_ended.into(),
            succeeded: has_succeeded.into(),
        };
        self.ended.entry(who.clone()).or_default().add(count);
        if !has_ended {
            return Ok(());
        }
        let failure = failure(told).filter(|_| !has_succeeded);
        let asked = told
            .requires
            .iter()
            .filter_map(|name| harvest::capability(name));
        let given = told
            .upstream
            .iter()
            .filter_map(|node| harvest::upstream(node));
        for pattern in asked.chain(given).chain(failure) {
            let key = (
                who.clone(),
                pattern.kind().as_str(),
                pattern.as_str().to_owned(),
            );
            self.tallies.entry(key).or_default().add(count);
        }
        Ok(())
    }

    fn drain(&mut self, workspace: &str, told: &AgentDrained) -> Result<(), Error> {
        let who = who(workspace, "agent_drained.agent_id", &told.agent_id)?;
        self.drained.insert(who, told.settled_count);
        Ok(())
    }

    fn standing(&mut self, workspace: &str, told: &StandingChanged) -> Result<(), Error> {
        let who = who(workspace, "standing_changed.agent_id", &told.agent_id)?;
        let end = told.quarantine_end_time.as_ref();
        let next = Standing {
            seq: told.seq,
            quarantined: told.quarantined,
            end: end.and_then(convert::time_of),
            was_quarantined: told.quarantined,
        };
        let last = self.standings.remove(&who);
        let was_quarantined =
            next.was_quarantined || last.as_ref().is_some_and(|last| last.was_quarantined);
        let newer = match last {
            Some(last) if last.seq > next.seq => last,
            Some(_) | None => next,
        };
        let newer = Standing {
            was_quarantined,
            ..newer
        };
        self.standings.insert(who, newer);
        Ok(())
    }

    async fn note_tasks(&self, conn: &mut PgConnection) -> Result<(), Error> {
        let mut batch = evidence::Batch::default();
        for ((workspace, agent), count) in &self.ended {
            batch.workspaces.push(workspace.clone());
            batch.agents.push(*agent);
            batch.settled.push(count.settled);
            batch.ended.push(count.ended);
            batch.succeeded.push(count.succeeded);
        }
        evidence::add(conn, &batch).await?;
        let mut batch = tally::Batch::default();
        for (((workspace, agent), kind, pattern), count) in &self.tallies {
            batch.workspaces.push(workspace.clone());
            batch.agents.push(*agent);
            batch.kinds.push((*kind).to_owned());
            batch.patterns.push(pattern.clone());
            batch.ended.push(count.ended);
            batch.succeeded.push(count.succeeded);
        }
        tally::add(conn, &batch).await
    }

    /// A quarantine, whenever it is heard of, takes back what the agent said: candidates wait no longer, what it confirmed is
    /// flagged. Its template is locked first, so that no compost counts it meanwhile.
    async fn note_standings(&self, conn: &mut PgConnection) -> Result<(), Error> {
        let held = self.standings.iter();
        let held = held.filter(|(_, standing)| standing.was_quarantined);
        let (workspaces, agents): (Vec<String>, Vec<Uuid>) =
            held.map(|(who, _)| who.clone()).unzip();
        if !agents.is_empty() {
            store::template::lock_of(conn, &workspaces, &agents).await?;
        }
        let mut said = standing::Said::default();
        for ((workspace, agent), standing) in &self.standings {
            said.workspaces.push(workspace.clone());
            said.agents.push(*agent);
            said.seqs.push(standing.seq);
            said.quarantined.push(standing.quarantined);
            said.ends.push(standing.end);
        }
        standing::upsert(conn, &said).await?;
        if !agents.is_empty() {
            store::pattern::withdraw(conn, &workspaces, &agents).await?;
            store::confirmation::flag(conn, &workspaces, &agents).await?;
        }
        Ok(())
    }
}

impl Count {
    const fn add(&mut self, other: Self) {
        self.settled += other.settled;
        self.ended += other.ended;
        self.succeeded += other.succeeded;
    }
}

fn who(workspace: &str, field: &'static str, agent: &str) -> Result<Who, Error> {
    let agent: AgentId = agent
        .parse()
        .map_err(|_| Error::field(field, "is not a UUID"))?;
    Ok((workspace.to_owned(), agent.as_uuid()))
}

/// How a task failed. Where nobody gave a code, the outcome is one.
fn failure(told: &TaskSettled) -> Option<Pattern> {
    let outcome = told.outcome().as_str_name();
    let own = outcome.strip_prefix("TASK_OUTCOME_").unwrap_or(outcome);
    let code = match told.failure_code.as_str() {
        "" => own,
        code => code,
    };
    harvest::failure(code, &told.detail)
}

//! Facts from other services, turned into hypha's own: who the agents are, how they stand, and who leaves.

use cambium_kernel::{AgentId, Score};
use cambium_proto::signal::v1::{
    AgentSpawned, LoadAdvice, Signal, StandingChanged, signal::Payload,
};
use cambium_service_kit::inbox::Receptor;
use sqlx::PgConnection;

use crate::convert;
use crate::engine::Engine;
use crate::error::Error;
use crate::store;
use crate::store::agent::Agent;
use crate::store::standing::Word;

/// States of leaving, as the store numbers them.
const DRAINING: i16 = 1;
const RETIRED: i16 = 2;

#[derive(Clone, Debug)]
pub(crate) struct Receptors {
    pub(crate) engine: Engine,
}

impl Receptor for Receptors {
    type Error = Error;

    fn may_say(&self, sender: &str, signal: &Signal) -> bool {
        match &signal.payload {
            Some(Payload::AgentSpawned(_) | Payload::AgentRetired(_)) => sender == "genesis",
            Some(Payload::StandingChanged(_) | Payload::LoadAdvice(_)) => sender == "immune",
            // Without effect here, whoever says it.
            _ => true,
        }
    }

    async fn apply(&self, conn: &mut PgConnection, signals: &[Signal]) -> Result<(), Error> {
        let mut words = Vec::new();
        let mut urgent = false;
        for signal in signals {
            match &signal.payload {
                Some(Payload::AgentSpawned(spawned)) => {
                    store::agent::upsert(conn, &agent(&signal.workspace_id, spawned)?).await?;
                }
                Some(Payload::StandingChanged(changed)) => words.push(word(changed)?),
                Some(Payload::LoadAdvice(advice)) => {
                    urgent = true;
                    advise(conn, advice).await?;
                }
                Some(Payload::AgentRetired(retired)) => {
                    urgent = true;
                    let id = agent_id("agent_retired.agent_id", &retired.agent_id)?;
                    let leaving = if retired.draining { DRAINING } else { RETIRED };
                    store::standing::leave(conn, id, leaving).await?;
                }
                _ => {}
            }
        }
        if !words.is_empty() {
            urgent |= words.iter().any(|word| word.quarantined);
            store::standing::note(conn, &words).await?;
        }
        if urgent {
            store::standing::tell(conn).await?;
        }
        Ok(())
    }

    fn applied(&self) {
        self.engine.standings.notify_one();
    }
}

fn agent(workspace: &str, spawned: &AgentSpawned) -> Result<Agent, Error> {
    let id = agent_id("agent_spawned.agent_id", &spawned.agent_id)?;
    let texts = [&spawned.name].into_iter();
    for text in texts
        .chain(&spawned.capabilities)
        .chain(&spawned.serves_minds)
    {
        convert::name("agent_spawned", text)?;
    }
    Ok(Agent {
        id,
        workspace: workspace.to_owned(),
        name: spawned.name.clone(),
        capabilities: spawned.capabilities.clone(),
        serves_minds: spawned.serves_minds.clone(),
        learnings: spawned.inherited_learnings.clone(),
    })
}

fn word(changed: &StandingChanged) -> Result<Word, Error> {
    let until = changed.quarantine_end_time.as_ref();
    Ok(Word {
        agent: agent_id("standing_changed.agent_id", &changed.agent_id)?,
        seq: changed.seq,
        trust: score("standing_changed.trust", changed.trust)?,
        generosity: score("standing_changed.generosity", changed.generosity)?,
        health: score("standing_changed.health", changed.health)?,
        quarantined: changed.quarantined,
        quarantine_until: until
            .map(|at| convert::time_from_wire("standing_changed.quarantine_end_time", at))
            .transpose()?,
    })
}

async fn advise(conn: &mut PgConnection, advice: &LoadAdvice) -> Result<(), Error> {
    let agent = agent_id("load_advice.agent_id", &advice.agent_id)?;
    let share = score("load_advice.share", advice.share)?;
    store::standing::advise(conn, agent, advice.seq, share).await?;
    Ok(())
}

fn agent_id(field: &'static str, text: &str) -> Result<AgentId, Error> {
    text.parse()
        .map_err(|_| Error::field(field, "is not a UUID"))
}

fn score(field: &'static str, value: f64) -> Result<Score, Error> {
    Score::from_f64(value).ok_or_else(|| Error::field(field, "is outside 0 to 1"))
}

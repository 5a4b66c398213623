//! Composting: what a life came to is written down once, and its template learns from it. The rules are the domain's.

use std::collections::{BTreeMap, BTreeSet};

use cambium_genesis::compost::{Candidate, Life, Promotion, Soil, Yield, compost};
use cambium_genesis::harvest::{Found, harvest};
use cambium_genesis::learning::Learning as Weighed;
use cambium_genesis::{Agent, LearningId, Origin, Pattern, PatternKind, TemplateName, matching};
use cambium_kernel::{AgentId, Score, SignalId, WorkspaceId};
use cambium_proto::genesis::v1 as wire;
use cambium_service_kit::database;
use chrono::{DateTime, Utc};
use sqlx::PgConnection;
use uuid::Uuid;

use crate::app::App;
use crate::convert::{self, Page};
use crate::error::Error;
use crate::store;
use crate::store::agent::life::Due;
use crate::store::compost::Compost;
use crate::store::learning::{Learning, State};
use crate::store::pattern::State as Waiting;

/// Lives that are looked at in one go.
const BATCH: i64 = 100;

/// Candidates that are looked at for one pattern: three lineages are among far fewer.
const ALIKE: i64 = 1_000;

/// Why a learning is gone that nobody confirmed.
const PRUNED: &str = "not confirmed for so long that nothing of it was left";

impl App {
    /// Composts every agent whose life is over. One that cannot be composted keeps no other waiting.
    pub(crate) async fn compost_all(&self) -> Result<(), Error> {
        let mut conn = self.pool.acquire().await?;
        let due = store::agent::life::due(&mut conn, BATCH).await?;
        drop(conn);
        if due.is_empty() {
            return Ok(());
        }
        for Due { workspace, id } in due {
            let workspace = WorkspaceId::parse(&workspace).map_err(|why| Error::Broken {
                what: format!("agent {id}"),
                why: why.to_string(),
            })?;
            let done = database::retry_conflicts(3, || self.compost(&workspace, id)).await;
            if let Err(error) = done {
                let error = &error as &dyn std::error::Error;
                tracing::warn!(error, agent.id = %id, "an agent was not composted; tried again later");
            }
        }
        self.relay.notify();
        Ok(())
    }

    async fn compost(&self, workspace: &WorkspaceId, id: AgentId) -> Result<(), Error> {
        let mut tx = self.pool.begin().await?;
        let agent = store::agent::by_id(&mut tx, workspace, id).await?;
        let agent = agent.ok_or_else(|| Error::NoAgent(id.to_string()))?;
        let ground = Ground::locked(&mut tx, &agent).await?;
        let Some(last) = store::agent::life::last_words(&mut tx, workspace, id).await? else {
            return Ok(()); // another replica was faster
        };
        let evidence = store::evidence::of(&mut tx, workspace, id).await?;
        let inherited = store::agent::inheritance(&mut tx, workspace, id).await?;
        let inherited = inherited.ok_or_else(|| Error::NoAgent(id.to_string()))?;
        let tallies = store::tally::take(&mut tx, workspace, id).await?;
        let said = [
            (PatternKind::Failure, last.failures),
            (PatternKind::Routing, last.hints),
        ];
        let added = said.into_iter().flat_map(|(kind, texts)| {
            let texts = texts.into_iter();
            texts.map(move |text| Pattern::from_stored(kind, text))
        });
        let count = |number: i64| u64::try_from(number).unwrap_or_default();
        let life = Life {
            agent: id,
            lineage: agent.root,
            success: Score::ratio(count(evidence.succeeded), count(evidence.ended)),
            is_quarantined: store::standing::is_quarantined(&mut tx, workspace, id).await?,
            found: harvest(added.collect(), tallies),
            inherited: convert::inherited_patterns(&inherited.text)?,
            confirmed: ground.confirmed(&mut tx, agent.root).await?,
        };
        let now = store::now(&mut tx).await?;
        let record = Compost {
            agent: id,
            agent_name: agent.name.clone(),
            origin: agent.origin.clone(),
            root: agent.root,
            number: ground.number(),
            success: life.success,
            is_incomplete: last.settled_in_all.is_none_or(|all| evidence.settled < all),
            evidence,
            inherited: inherited.ids,
            held_out: inherited.held_out,
            enrolled_at: agent.enrolled_at,
            composted_at: now,
            match_version: matching::VERSION,
            match_threshold: ground.threshold,
        };
        ground.take(&mut tx, &record, &life, now).await?;
        self.bury(&mut tx, &agent, now).await?;
        tx.commit().await?;
        tracing::info!(agent.id = %id, success = ?life.success, "an agent was composted");
        Ok(())
    }

    /// Its life is over: its place is free, and others are told.
    async fn bury(
        &self,
        tx: &mut PgConnection,
        agent: &Agent,
        now: DateTime<Utc>,
    ) -> Result<(), Error> {
        store::agent::life::retire(tx, &agent.workspace, agent.id).await?;
        if let Some(parent) = agent.parent {
            store::agent::life::count_children(tx, &agent.workspace, parent, -1, 0).await?;
        }
        let signal =
            convert::agent_retired(SignalId::generate(), &agent.workspace, agent.id, false, now);
        self.tell(tx, vec![signal]).await
    }

    pub(crate) async fn record(
        &self,
        workspace: &WorkspaceId,
        agent: AgentId,
    ) -> Result<wire::GetCompostResponse, Error> {
        let mut conn = self.pool.acquire().await?;
        let compost = store::compost::find(&mut conn, workspace, agent).await?;
        let compost = compost.ok_or(Error::NoCompost(agent))?;
        let kept = store::pattern::of(&mut conn, workspace, &[agent.as_uuid()]).await?;
        let kept: Vec<_> = kept.iter().collect();
        Ok(wire::GetCompostResponse {
            compost: Some(convert::compost_to_wire(&compost, &kept)),
        })
    }

    pub(crate) async fn records(
        &self,
        workspace: &WorkspaceId,
        template: Option<&TemplateName>,
        page: &Page,
    ) -> Result<wire::ListCompostsResponse, Error> {
        let before = page.after(place)?;
        let mut conn = self.pool.acquire().await?;
        let found =
            store::compost::list(&mut conn, workspace, template, before, page.limit()).await?;
        let ids: Vec<Uuid> = found.iter().map(|one| one.agent.as_uuid()).collect();
        let patterns = store::pattern::of(&mut conn, workspace, &ids).await?;
        let mut kept: BTreeMap<Uuid, Vec<_>> = BTreeMap::new();
        for pattern in &patterns {
            kept.entry(pattern.agent.as_uuid())
                .or_default()
                .push(pattern);
        }
        let none = Vec::new();
        let (composts, next_page_token) = convert::cut(
            page,
            &found,
            |one| format!("{} {}", one.composted_at.timestamp_micros(), one.agent),
            |one| convert::compost_to_wire(one, kept.get(&one.agent.as_uuid()).unwrap_or(&none)),
        );
        Ok(wire::ListCompostsResponse {
            composts,
            next_page_token,
        })
    }
}

/// A record's place in the list: when it was made, and of whom.
fn place(text: &str) -> Option<(DateTime<Utc>, AgentId)> {
    let (at, agent) = text.split_once(' ')?;
    let at = DateTime::from_timestamp_micros(at.parse().ok()?)?;
    Some((at, agent.parse().ok()?))
}

/// The template that an agent is composted for, locked; an agent from outside has none, and leaves a record only.
struct Ground {
    workspace: WorkspaceId,
    template: Option<TemplateName>,
    composts: i64,
    threshold: Score,
    learnings: Vec<Learning>,
}

impl Ground {
    /// Locks the template, then the agent and its parent.
    async fn locked(tx: &mut PgConnection, agent: &Agent) -> Result<Self, Error> {
        let workspace = agent.workspace.clone();
        let mut ground = Self {
            workspace,
            template: None,
            composts: 0,
            threshold: matching::THRESHOLD,
            learnings: Vec::new(),
        };
        if let Some(Origin { template, .. }) = &agent.origin {
            let head = store::template::lock(tx, &ground.workspace, template).await?;
            let current =
                store::version::find(tx, &ground.workspace, template, head.version).await?;
            ground.composts = head.composts;
            ground.threshold = current.spec.match_threshold;
            ground.learnings = store::learning::active(tx, &ground.workspace, template).await?;
            ground.template = Some(template.clone());
        }
        let ids = [Some(agent.id), agent.parent].into_iter().flatten();
        let ids: Vec<Uuid> = ids.map(AgentId::as_uuid).collect();
        store::agent::life::lock(tx, &ground.workspace, &ids).await?;
        Ok(ground)
    }

    /// Counts this compost in; 0 without a template.
    fn number(&self) -> i64 {
        self.template.as_ref().map_or(0, |_| self.composts + 1)
    }

    async fn confirmed(
        &self,
        tx: &mut PgConnection,
        root: AgentId,
    ) -> Result<BTreeSet<LearningId>, Error> {
        let known = self.learnings.iter();
        let known: Vec<Uuid> = known.map(|one| one.weighed.id.as_uuid()).collect();
        store::confirmation::of_lineage(tx, &self.workspace, &known, root).await
    }

    /// Takes a life in: decides what it leaves behind, and writes that down.
    async fn take(
        mut self,
        tx: &mut PgConnection,
        record: &Compost,
        life: &Life,
        now: DateTime<Utc>,
    ) -> Result<(), Error> {
        store::compost::insert(tx, &self.workspace, record).await?;
        let Some(template) = self.template.clone() else {
            let patterns = life.found.iter().map(|one| (one.clone(), Waiting::None));
            let patterns: Vec<_> = patterns.collect();
            return store::pattern::insert(tx, &self.workspace, record, &patterns).await;
        };
        let soil = Soil {
            compost: record.number,
            threshold: self.threshold,
            learnings: self
                .learnings
                .iter()
                .map(|one| one.weighed.clone())
                .collect(),
            candidates: self.candidates(tx, &template, life).await?,
        };
        let result = compost(&soil, life);
        let patterns = patterns(&life.found, &result, life.is_quarantined);
        store::pattern::insert(tx, &self.workspace, record, &patterns).await?;
        self.apply(tx, life, &result, record, now).await?;
        for promotion in &result.promoted {
            self.promote(tx, &template, promotion, record, now).await?;
        }
        store::template::count_compost(tx, &self.workspace, &template).await?;
        let learnings = store::learning::active(tx, &self.workspace, &template).await?;
        let learnings = convert::learnings_to_json(&learnings);
        store::template::set_learnings(tx, &self.workspace, &template, &learnings).await
    }

    /// Those that match a pattern of this life, and those that match them: a pattern that waits may qualify by a newcomer.
    async fn candidates(
        &self,
        tx: &mut PgConnection,
        template: &TemplateName,
        life: &Life,
    ) -> Result<Vec<Candidate>, Error> {
        let own = life.found.iter().map(|found| found.pattern.clone());
        let mut asked: BTreeSet<Pattern> = BTreeSet::new();
        let mut found: BTreeMap<(AgentId, usize), Candidate> = BTreeMap::new();
        let mut to_ask: Vec<Pattern> = own.collect();
        for _ in 0..2 {
            let mut newcomers = Vec::new();
            for pattern in std::mem::take(&mut to_ask) {
                if !asked.insert(pattern.clone()) {
                    continue;
                }
                let alike = store::pattern::alike(
                    tx,
                    &self.workspace,
                    template,
                    &pattern,
                    self.threshold,
                    ALIKE,
                );
                for candidate in alike.await? {
                    if candidate.pattern.matches(&pattern, self.threshold) {
                        newcomers.push(candidate.pattern.clone());
                        found.insert((candidate.agent, candidate.position), candidate);
                    }
                }
            }
            to_ask = newcomers;
        }
        Ok(found.into_values().collect())
    }

    /// Confirmations, refreshments, losses and ends of what is known.
    async fn apply(
        &mut self,
        tx: &mut PgConnection,
        life: &Life,
        result: &Yield,
        record: &Compost,
        now: DateTime<Utc>,
    ) -> Result<(), Error> {
        for learning in &mut self.learnings {
            let id = learning.weighed.id;
            let is_confirmed = result.confirmed.contains(&id);
            if is_confirmed {
                let voice = voice(
                    life,
                    &learning.weighed.pattern,
                    record.number,
                    self.threshold,
                );
                store::confirmation::insert(tx, &self.workspace, id, &voice, now).await?;
                learning.weighed.voices += 1;
                learning.weighed.success_sum += millionths(life.success);
            }
            if is_confirmed || result.refreshed.contains(&id) {
                learning.weighed.confirmed_at = record.number;
                learning.confirmed_at = now;
            } else if result.faded.contains(&id) {
                learning.weighed.losses += 1;
            } else {
                continue;
            }
            if result.removed.contains(&id) {
                learning.state = State::Pruned;
                learning.removed_at = Some(now);
                learning.remove_reason = PRUNED.to_owned();
            }
            store::learning::update(tx, &self.workspace, learning).await?;
        }
        Ok(())
    }

    async fn promote(
        &self,
        tx: &mut PgConnection,
        template: &TemplateName,
        promotion: &Promotion,
        record: &Compost,
        now: DateTime<Utc>,
    ) -> Result<(), Error> {
        let Promotion {
            pattern,
            voices,
            spoken_for,
        } = promotion;
        let agents: Vec<Uuid> = spoken_for.iter().map(|one| one.agent.as_uuid()).collect();
        let first = store::compost::first(tx, &self.workspace, &agents).await?;
        let learning = Learning {
            weighed: Weighed {
                id: LearningId::generate(),
                pattern: pattern.clone(),
                voices: u32::try_from(voices.len()).unwrap_or(u32::MAX),
                success_sum: voices.iter().map(|voice| millionths(voice.success)).sum(),
                losses: 0,
                confirmed_at: record.number,
            },
            template: template.clone(),
            state: State::Active,
            first_at: first.unwrap_or(now),
            confirmed_at: now,
            removed_at: None,
            remove_reason: String::new(),
            removed_by: String::new(),
            is_flagged: false,
        };
        store::learning::insert(tx, &self.workspace, &learning).await?;
        for voice in voices {
            store::confirmation::insert(tx, &self.workspace, learning.weighed.id, voice, now)
                .await?;
        }
        tracing::info!(learning.id = %learning.weighed.id, template.name = %template, "a pattern was promoted");
        store::pattern::promote(tx, &self.workspace, spoken_for).await
    }
}

/// Each pattern of a record with what it is to the template from now on. Those that are promoted at once wait for a moment.
fn patterns(found: &[Found], result: &Yield, is_quarantined: bool) -> Vec<(Found, Waiting)> {
    let waits = |position: usize| {
        let mut candidates = result.candidates.iter();
        candidates.any(|candidate| candidate.position == position)
    };
    let state = |position| match is_quarantined {
        true => Waiting::Withdrawn,
        false if waits(position) => Waiting::Waiting,
        false => Waiting::None,
    };
    let numbered = found.iter().enumerate();
    numbered
        .map(|(position, found)| (found.clone(), state(position)))
        .collect()
}

/// What a life said of a learning that it confirms.
fn voice(life: &Life, pattern: &Pattern, number: i64, threshold: Score) -> Candidate {
    let mut said = life.found.iter().enumerate();
    let said = said.find(|(_, found)| found.pattern.matches(pattern, threshold));
    let (position, own) = said.map_or((0, pattern), |(position, found)| (position, &found.pattern));
    Candidate {
        agent: life.agent,
        lineage: life.lineage,
        success: life.success,
        position,
        pattern: own.clone(),
        compost: number,
    }
}

fn millionths(score: Score) -> u64 {
    u64::from(score.as_millionths().unsigned_abs())
}

//! Decides a batch, call by call and in memory: each sees what those before it did. Reads and writes nothing.

mod outcome;

use std::collections::{BTreeMap, BTreeSet};

use cambium_kernel::{AgentId, MarkerId, WorkspaceId};
use cambium_proto::signal::v1::Signal;
use cambium_service_kit::receipt;
use cambium_stigmergy::payload::Payload;
use cambium_stigmergy::rate::{Accepted, Admission};
use cambium_stigmergy::{Author, Category, Marker, Placement, Region};
use chrono::{DateTime, TimeDelta, Utc};
use prost::Message as _;
use uuid::Uuid;

use super::{Answer, Op, Wish};
use crate::convert;
use crate::error::Error;
use crate::store::agent::State;
use crate::store::event::{Event, Kind};
use crate::store::marker::Stored;
use crate::store::rate::Refused;
use crate::store::standing::{Standing, Standings};
use crate::store::touch::{Loaded, NewVersion};

/// A region is noted as alive for longer than it is, so that not every touch must write it down.
const SLACK: TimeDelta = TimeDelta::seconds(60);

type Key<T> = (WorkspaceId, T);

/// A mark as the batch has it by now.
#[derive(Debug)]
struct Draft {
    stored: Stored,
    is_new: bool,
    is_touched: bool,
    is_rewritten: bool,
}

#[derive(Debug, Default)]
struct Window {
    accepted: Accepted,
    is_touched: bool,
}

/// How long a region is noted as alive.
#[derive(Debug)]
struct Alive {
    until: DateTime<Utc>,
    is_touched: bool,
}

#[derive(Debug)]
struct Receipt {
    body_hash: Vec<u8>,
    reply: Vec<u8>,
    is_new: bool,
}

/// What the batch comes to.
#[derive(Debug, Default)]
pub(super) struct Plan {
    now: DateTime<Utc>,
    last_seqs: BTreeMap<WorkspaceId, i64>,
    standings: BTreeMap<WorkspaceId, Standings>,
    states: BTreeMap<Key<AgentId>, State>,
    markers: BTreeMap<Key<MarkerId>, Draft>,
    windows: BTreeMap<Key<(Author, Region)>, Window>,
    regions: BTreeMap<Key<Region>, Alive>,
    receipts: BTreeMap<(String, Uuid), Receipt>,
    events: Vec<(WorkspaceId, Event)>,
    versions: Vec<NewVersion>,
    signals: Vec<Signal>,
    /// Who ran into the limit.
    pub(super) refused: Vec<Refused>,
}

impl Plan {
    /// Takes in what was found for the calls.
    pub(super) fn new(now: DateTime<Utc>, ops: &[Op], loaded: Vec<Loaded>) -> Self {
        let mut plan = Self {
            now,
            ..Self::default()
        };
        for (op, loaded) in ops.iter().zip(loaded) {
            plan.take_in(op, loaded);
        }
        plan
    }

    fn take_in(&mut self, op: &Op, loaded: Loaded) {
        let of = || op.workspace.clone();
        self.last_seqs.insert(of(), loaded.last_seq);
        let standings = self.standings.entry(of()).or_default();
        standings.0.extend(loaded.standing);
        if let (Some(agent), Some(state)) = (op.author.agent(), loaded.state) {
            self.states.insert((of(), agent), state);
        }
        let region = match (&op.wish, &loaded.marker) {
            (Wish::Place { placement, .. }, _) => Some(&placement.region),
            (_, Some(stored)) => Some(&stored.marker.region),
            (_, None) => None,
        };
        if let Some(region) = region {
            let window = Window {
                accepted: Accepted::from_times(loaded.accepted),
                is_touched: false,
            };
            let author = (op.author.clone(), region.clone());
            self.windows.insert((of(), author), window);
            if let Some(until) = loaded.region_live_until {
                let alive = Alive {
                    until,
                    is_touched: false,
                };
                self.regions.insert((of(), region.clone()), alive);
            }
        }
        if let Some(stored) = loaded.marker {
            let draft = Draft {
                stored,
                is_new: false,
                is_touched: false,
                is_rewritten: false,
            };
            self.markers.insert((of(), draft.stored.marker.id), draft);
        }
        if let Some((body_hash, reply)) = loaded.receipt {
            let receipt = Receipt {
                body_hash,
                reply,
                is_new: false,
            };
            let key = (op.scope.clone(), op.call.request_id);
            self.receipts.insert(key, receipt);
        }
    }

    /// Whose word the marks are that are touched, but for the callers: what is thought of them is told in the replies.
    pub(super) fn authors(&self) -> BTreeSet<(&WorkspaceId, AgentId)> {
        let markers = self.markers.iter();
        let agents = markers.flat_map(|((workspace, _), draft)| {
            let agents = draft.stored.marker.agents();
            agents.map(move |agent| (workspace, agent))
        });
        agents.collect()
    }

    pub(super) fn know(&mut self, standings: Vec<(String, AgentId, Standing)>) {
        for (workspace, agent, standing) in standings {
            let known = self.standings.iter_mut();
            for (_, standings) in known.filter(|(w, _)| w.as_str() == workspace) {
                standings.0.insert(agent, standing);
            }
        }
    }

    /// Answers one call: may they, have they already, do it, remember the reply. What is refused leaves no trace, but for
    /// the times that a clock which was set back had left in the future.
    pub(super) fn decide(&mut self, op: &Op) -> Result<Answer, Error> {
        self.authorize(op)?;
        if let Some(answer) = self.answered(op)? {
            return Ok(answer);
        }
        let (marker, is_capped) = match &op.wish {
            Wish::Place {
                placement,
                is_capped,
                payload,
            } => (self.place(op, placement, payload.as_ref())?, *is_capped),
            Wish::Reinforce(marker) => (self.reinforce(op, *marker)?, false),
            Wish::Transform {
                marker,
                payload,
                expected_version,
            } => {
                let done = self.transform(op, *marker, payload.as_ref(), *expected_version);
                (done?, false)
            }
        };
        Ok(self.reply(op, marker, is_capped))
    }

    /// What may change is asked here, in the transaction that it decides about.
    fn authorize(&self, op: &Op) -> Result<(), Error> {
        let Some(agent) = op.author.agent() else {
            return Ok(());
        };
        if self.states.get(&(op.workspace.clone(), agent)) == Some(&State::Retired) {
            return Err(Error::Retired(agent));
        }
        let standing = self.standings.get(&op.workspace);
        match standing.and_then(|standings| standings.of(agent)) {
            Some(standing) if standing.is_quarantined => Err(Error::Quarantined(agent)),
            Some(_) | None => Ok(()),
        }
    }

    fn answered(&self, op: &Op) -> Result<Option<Answer>, Error> {
        let id = op.call.request_id;
        let Some(receipt) = self.receipts.get(&(op.scope.clone(), id)) else {
            return Ok(None);
        };
        if receipt.body_hash != op.call.body_hash {
            return Err(receipt::Error::Taken(id).into());
        }
        let reply = Answer::decode(receipt.reply.as_slice());
        Ok(Some(
            reply.map_err(|error| receipt::Error::Unreadable(id, error))?,
        ))
    }

    fn place(
        &mut self,
        op: &Op,
        wish: &Placement,
        payload: Option<&Payload>,
    ) -> Result<MarkerId, Error> {
        self.admit(op, &wish.region)?;
        let id = MarkerId::generate();
        let marker = Marker::place(id, wish.clone(), op.author.clone(), self.now);
        if let (Category::Knowledge, Some(_)) = (marker.kind.category(), op.author.agent()) {
            self.signals
                .push(convert::signal::marker_placed(&op.workspace, &marker));
        }
        let draft = Draft {
            stored: Stored {
                marker,
                payload: payload.map(|payload| payload.as_str().to_owned()),
                written_at: self.now,
                has_faded: false,
            },
            is_new: true,
            is_touched: true,
            is_rewritten: true,
        };
        self.note(op, Kind::Placed, &draft.stored.marker, 0, None);
        self.markers.insert((op.workspace.clone(), id), draft);
        Ok(id)
    }

    fn reinforce(&mut self, op: &Op, id: MarkerId) -> Result<MarkerId, Error> {
        let before = self.live(op, id)?.marker.clone();
        self.admit(op, &before.region)?;
        let loudness = before.intensity_at(self.now).as_millionths();
        let after = before.reinforce(self.now);
        self.note(op, Kind::Reinforced, &after, loudness, None);
        self.store(op, after, None);
        Ok(id)
    }

    fn transform(
        &mut self,
        op: &Op,
        id: MarkerId,
        payload: Option<&Payload>,
        expected_version: i64,
    ) -> Result<MarkerId, Error> {
        let agent = op.author.agent().ok_or(Error::NotAnAgent)?;
        let before = self.live(op, id)?.clone();
        before.marker.may_transform(agent)?;
        before.marker.expect_version(expected_version)?;
        self.admit(op, &before.marker.region)?;
        let loudness = before.marker.intensity_at(self.now).as_millionths();
        let after = before.marker.clone().transform(agent, self.now)?;
        let payload = payload.map(|payload| payload.as_str().to_owned());
        let summaries = (
            convert::payload::summary(before.payload.as_deref()),
            convert::payload::summary(payload.as_deref()),
        );
        self.note(op, Kind::Transformed, &after, loudness, Some(summaries));
        self.versions.push(NewVersion {
            workspace: op.workspace.clone(),
            marker: id.as_uuid(),
            depth: depth(&before.marker),
            author: before.author(),
            written_at: before.written_at,
            hash: convert::payload::hash(before.payload.as_deref()),
            payload: before.payload,
        });
        self.store(op, after, Some(payload));
        Ok(id)
    }

    fn live(&self, op: &Op, id: MarkerId) -> Result<&Stored, Error> {
        let draft = self.markers.get(&(op.workspace.clone(), id));
        draft
            .map(|draft| &draft.stored)
            .filter(|stored| stored.is_live(self.now))
            .ok_or(Error::NoMarker(id))
    }

    /// Asked last: whatever else refuses a call, waiting would not help.
    fn admit(&mut self, op: &Op, region: &Region) -> Result<(), Error> {
        let key = (op.workspace.clone(), (op.author.clone(), region.clone()));
        let window = self.windows.entry(key).or_default();
        window.is_touched |= window.accepted.settle(self.now);
        match window.accepted.admit(self.now) {
            Admission::Admitted => {
                window.is_touched = true;
                Ok(())
            }
            Admission::Refused { wait } => {
                if op.author.agent().is_some() {
                    self.refused.push(Refused {
                        workspace: op.workspace.to_string(),
                        author: op.author.to_string(),
                        region: region.to_string(),
                    });
                }
                let region = region.clone();
                Err(cambium_stigmergy::Error::RateLimited { region, wait }.into())
            }
        }
    }

    /// Numbers what happened, and sees to it that the region is known as long as the mark lives.
    fn note(
        &mut self,
        op: &Op,
        kind: Kind,
        after: &Marker,
        before: i32,
        summaries: Option<(String, String)>,
    ) {
        let last = self.last_seqs.entry(op.workspace.clone()).or_default();
        *last += 1;
        let event = Event {
            seq: *last,
            kind,
            at: self.now,
            marker: after.id,
            region: after.region.to_string(),
            marker_type: after.kind.to_string(),
            actor: Some(op.author.to_string()),
            before,
            after: after.intensity.as_millionths(),
            depth: depth(after),
            summaries,
        };
        self.events.push((op.workspace.clone(), event));
        self.keep_alive(&op.workspace, after);
    }

    fn keep_alive(&mut self, workspace: &WorkspaceId, marker: &Marker) {
        let end = marker.expires_at();
        let key = (workspace.clone(), marker.region.clone());
        let known = self.regions.get(&key).map(|alive| alive.until);
        if known.is_none_or(|until| until < end) {
            let alive = Alive {
                until: end + SLACK,
                is_touched: true,
            };
            self.regions.insert(key, alive);
        }
    }

    /// Puts the mark in the place of what it was, with another payload if it got one.
    fn store(&mut self, op: &Op, marker: Marker, payload: Option<Option<String>>) {
        let key = (op.workspace.clone(), marker.id);
        let Some(draft) = self.markers.get_mut(&key) else {
            return;
        };
        draft.stored.marker = marker;
        draft.is_touched = true;
        if let Some(payload) = payload {
            draft.stored.payload = payload;
            draft.stored.written_at = self.now;
            draft.is_rewritten = true;
        }
    }

    fn reply(&mut self, op: &Op, id: MarkerId, is_capped: bool) -> Answer {
        let draft = self.markers.get(&(op.workspace.clone(), id));
        let standings = self.standings.entry(op.workspace.clone()).or_default();
        let stored = draft.map(|draft| &draft.stored);
        let answer = Answer {
            marker: stored.map(|s| convert::marker::to_wire(s, standings, self.now)),
            capped: is_capped,
            faded: stored.is_some_and(|stored| !stored.is_live(self.now)),
        };
        let receipt = Receipt {
            body_hash: op.call.body_hash.to_vec(),
            reply: answer.encode_to_vec(),
            is_new: true,
        };
        let key = (op.scope.clone(), op.call.request_id);
        self.receipts.insert(key, receipt);
        answer
    }
}

fn depth(marker: &Marker) -> i32 {
    i32::try_from(marker.depth()).unwrap_or(i32::MAX)
}

//! A vector's swarm, behind the service: each step is the call that somebody would make.

use std::collections::{BTreeMap, BTreeSet};

use cambium_proto::swarm::v1 as wire;
use cambium_proto::swarm::v1::{Reserve, TickResponse, Turn, Wakes, Why};
use chrono::{DateTime, TimeDelta, Utc};
use futures::future::join_all;
use prost_types::Timestamp;
use serde_json::{Value, json};
use tonic::{Code, Status};
use uuid::Uuid;

use crate::fixture::{BODY, Fixture, WORKSPACE, first_instant, opening, reason, request_id, start};

pub(super) struct Game<'a> {
    pub(super) swarm: Fixture,
    switches: &'a Value,
    /// Each mind's newest turn.
    pub(super) newest: BTreeMap<String, Turn>,
    /// Each mind's open session.
    pub(super) sessions: BTreeMap<String, String>,
    /// Whose bodies take their turns by steps of their own.
    external: Vec<String>,
    /// The others that have a turn.
    running: BTreeSet<String>,
}

/// A body is given up after 120 s without a sign.
const SILENCE: TimeDelta = TimeDelta::seconds(100);

pub(super) fn text<'a>(step: &'a Value, key: &str) -> &'a str {
    step[key].as_str().unwrap()
}

fn timestamp(at: DateTime<Utc>) -> Timestamp {
    Timestamp {
        seconds: at.timestamp(),
        nanos: i32::try_from(at.timestamp_subsec_nanos()).unwrap(),
    }
}

/// Instants of the vectors count from the first.
pub(super) fn instant(us: i64) -> DateTime<Utc> {
    first_instant() + TimeDelta::microseconds(us)
}

pub(super) fn optional(value: &Value) -> Option<Timestamp> {
    value.as_i64().map(|us| timestamp(instant(us)))
}

impl<'a> Game<'a> {
    pub(super) async fn start(vector: &'a Value) -> Self {
        let mut game = Self {
            swarm: start().await,
            switches: &vector["switches"],
            newest: BTreeMap::new(),
            sessions: BTreeMap::new(),
            external: Vec::new(),
            running: BTreeSet::new(),
        };
        game.set_dial(&vector["dial"]).await;
        game.set_wallet(&game.switches["wallet"]).await;
        for mind in vector["minds"].as_array().unwrap() {
            game.open(mind).await;
        }
        game
    }

    async fn open(&mut self, mind: &Value) {
        let name = text(mind, "instance");
        let wakes = mind["wakes"].as_str().unwrap_or("always");
        let request = wire::OpenMindRequest {
            wakes: match wakes {
                "work" => Wakes::Work,
                _ => Wakes::Always,
            }
            .into(),
            ..opening(name)
        };
        self.swarm.minds().open_mind(request).await.unwrap();
        if wakes == "work" {
            self.has_run_before(name).await;
        }
        if mind["body"] == "external" {
            self.external.push(name.to_owned());
        }
        assert_eq!(self.set_share(mind).await, json!({"refused": null}));
        if mind["released"] != false {
            self.swarm.release(name).await;
        }
    }

    /// A mind that was never launched wakes for its first turn; these have had theirs.
    async fn has_run_before(&self, name: &str) {
        let before = self.swarm.now() - TimeDelta::microseconds(1);
        let update = sqlx::query(
            "UPDATE swarm.launch SET last_run_at = $2 WHERE workspace_id = 'default' AND instance = $1",
        );
        let update = update.bind(name).bind(before);
        update.execute(&self.swarm.database.owner).await.unwrap();
    }

    /// Something that wakes a mind, whatever it is.
    async fn work(&self, name: &str) {
        let update = sqlx::query(
            "UPDATE swarm.launch
             SET reason_at = greatest(swarm.now(), launched_at + interval '1 microsecond'), due_at = swarm.now()
             WHERE workspace_id = 'default' AND instance = $1",
        );
        let update = update.bind(name);
        update.execute(&self.swarm.database.owner).await.unwrap();
    }

    async fn set_dial(&mut self, dial: &Value) {
        if dial.is_null() {
            return;
        }
        let number = |key: &str| dial[key].as_i64().unwrap();
        let reserve = match self.switches["reserve"].as_str() {
            Some("none") => Reserve::None,
            _ => Reserve::Cap,
        };
        self.swarm
            .dial(wire::SetDialRequest {
                heat_ppm: number("heat_ppm"),
                base_rate_micro_usd_per_h: number("base_rate_micro_usd_per_h"),
                base_run_micro_usd: number("base_run_micro_usd"),
                k: number("k"),
                reserve: reserve.into(),
                burst_micro_usd: self.switches["burst_micro_usd"].as_i64(),
                floor_micro_usd: self.switches["floor_micro_usd"].as_i64(),
                ..wire::SetDialRequest::default()
            })
            .await;
    }

    async fn set_wallet(&self, wallet: &Value) {
        let period = match wallet["period"].as_str() {
            Some("week") => wire::Period::Week,
            Some("month") => wire::Period::Month,
            Some("day") => wire::Period::Day,
            _ => wire::Period::Unspecified,
        };
        let request = wire::SetWalletRequest {
            workspace_id: WORKSPACE.to_owned(),
            request_id: request_id(),
            limit_micro_usd: wallet["limit_micro_usd"].as_i64(),
            period: period.into(),
        };
        self.swarm.control().set_wallet(request).await.unwrap();
    }

    /// Share and haste, as the operator sets them: one after the other.
    async fn set_share(&self, step: &Value) -> Value {
        let name = text(step, "instance");
        let Some(share_ppm) = step["share_ppm"].as_i64() else {
            return refused(self.remove_share(name).await);
        };
        if let Err(status) = self.swarm.share(name, share_ppm).await {
            return refused(Err(status));
        }
        let haste = &step["haste"];
        let request = wire::SetHasteRequest {
            workspace_id: WORKSPACE.to_owned(),
            request_id: request_id(),
            instance: name.to_owned(),
            haste_ppm: haste["multiplier_ppm"].as_i64(),
            until: optional(&haste["until_us"]),
        };
        refused(self.swarm.control().set_haste(request).await.map(|_| ()))
    }

    async fn remove_share(&self, name: &str) -> Result<(), Status> {
        let request = wire::RemoveShareRequest {
            workspace_id: WORKSPACE.to_owned(),
            request_id: request_id(),
            instance: name.to_owned(),
        };
        self.swarm.control().remove_share(request).await.map(|_| ())
    }

    pub(super) async fn play(&mut self, step: &Value) -> Value {
        match text(step, "op") {
            "tick" => self.tick().await,
            "race" => self.race(step["ticks"].as_u64().unwrap()).await,
            "rounds" => self.rounds(step).await,
            "settle" => {
                let cost = step["cost"].as_i64();
                self.settle(text(step, "instance"), cost).await
            }
            "lend" => self.lend(step).await,
            "set_share" => self.set_share(step).await,
            "preview" => self.preview(step["n"].as_i64().unwrap()).await,
            "when_dry" => self.when_dry().await,
            "state" => self.state().await,
            op => {
                self.command(op, step).await;
                Value::Null
            }
        }
    }

    async fn command(&mut self, op: &str, step: &Value) {
        match op {
            "advance" => {
                let by = TimeDelta::microseconds(step["us"].as_i64().unwrap());
                return self.advance(by).await;
            }
            "set_dial" => return self.set_dial(&step["dial"]).await,
            "set_wallet" => return self.set_wallet(&step["wallet"]).await,
            _ => {}
        }
        let name = text(step, "instance").to_owned();
        match op {
            "hold" => self.swarm.hold(&name).await,
            "release" => self.swarm.release(&name).await,
            "work" => self.work(&name).await,
            "rest" => self.rest(&name, &step["until_us"]).await,
            "ack" => self.acknowledge(&name).await,
            "heartbeat" => self.beat(&name).await,
            "session_open" => self.open_session(&name, step).await,
            "session_close" => self.close_session(&name).await,
            other => panic!("the vectors have a new step: {other}"),
        }
    }

    /// Silence of a graph's runs proves nothing; that of a body would, so that what runs shows that it lives.
    async fn advance(&self, by: TimeDelta) {
        let mut left = by;
        while !self.running.is_empty() && left > SILENCE {
            self.swarm.advance(SILENCE).await;
            left -= SILENCE;
            for name in &self.running {
                self.beat(name).await;
            }
        }
        self.swarm.advance(left).await;
    }

    async fn tick(&mut self) -> Value {
        let request = wire::TickRequest {
            workspace_id: WORKSPACE.to_owned(),
        };
        let reply = self.swarm.scheduler().tick(request).await.unwrap();
        self.told(reply.into_inner()).await
    }

    /// What a tick answered. A turn of a graph runs from its launch; here a body takes it at once.
    async fn told(&mut self, reply: TickResponse) -> Value {
        let skip = why(reply.skip());
        let Some(turn) = reply.turn else {
            return json!({"launched": null, "skip": skip});
        };
        let name = turn.instance.clone();
        let told = json!({
            "launched": name, "skip": null, "slot": turn.slot, "epoch": turn.epoch,
            "cap": turn.cap_micro_usd, "share": turn.share_ppm, "haste": turn.haste_ppm,
        });
        self.newest.insert(name.clone(), turn);
        if !self.external.contains(&name) {
            self.acknowledge(&name).await;
            self.running.insert(name);
        }
        told
    }

    /// As many schedulers at once: whoever loses a race asks again.
    async fn race(&mut self, ticks: u64) -> Value {
        let asked = (0..ticks).map(|_| {
            let mut scheduler = self.swarm.scheduler();
            async move {
                loop {
                    let request = wire::TickRequest {
                        workspace_id: WORKSPACE.to_owned(),
                    };
                    match scheduler.tick(request).await {
                        Ok(reply) => return reply.into_inner(),
                        Err(status) => assert_eq!(reason(&status), "RACED", "{status}"),
                    }
                }
            }
        });
        let mut replies = join_all(asked).await;
        replies.sort_by_key(|reply| reply.turn.as_ref().map_or(i32::MAX, |turn| turn.slot));
        let (mut launched, mut slots, mut skips) = (Vec::new(), Vec::new(), Vec::new());
        for reply in replies {
            let told = self.told(reply).await;
            if told["launched"].is_null() {
                skips.push(told["skip"].clone());
            } else {
                launched.push(told["launched"].clone());
                slots.push(told["slot"].clone());
            }
        }
        json!({"launched": launched, "slots": slots, "skips": skips})
    }

    async fn rounds(&mut self, step: &Value) -> Value {
        let (mut order, mut counts) = (Vec::new(), BTreeMap::new());
        for mind in step["cost"].as_object().unwrap().keys() {
            counts.insert(mind.clone(), 0);
        }
        for _ in 0..step["count"].as_u64().unwrap() {
            let told = self.tick().await;
            if let Some(name) = told["launched"].as_str() {
                self.settle(name, step["cost"][name].as_i64()).await;
                *counts.entry(name.to_owned()).or_insert(0) += 1;
                order.push(name.to_owned());
            }
            let by = TimeDelta::microseconds(step["advance_us"].as_i64().unwrap());
            self.advance(by).await;
        }
        json!({"order": order, "counts": counts})
    }

    /// By the meter, of the mind's newest turn, or of one that never was.
    async fn settle(&mut self, name: &str, cost: Option<i64>) -> Value {
        let turn = self.newest.get(name);
        let turn_id = turn.map_or_else(|| Uuid::now_v7().to_string(), |turn| turn.turn_id.clone());
        let request = wire::RecordChargeRequest {
            workspace_id: WORKSPACE.to_owned(),
            request_id: request_id(),
            turn_id: turn_id.clone(),
            cost_micro_usd: cost,
            ..wire::RecordChargeRequest::default()
        };
        let reply = match self.swarm.meter().record_charge(request).await {
            Ok(reply) => reply.into_inner(),
            Err(status) if status.code() == Code::InvalidArgument => {
                return json!({"note": "invalid"});
            }
            Err(status) => return json!({"note": reason(&status).to_lowercase()}),
        };
        self.running.remove(name);
        let charge = reply.charge.unwrap();
        let request = wire::GetTurnRequest {
            workspace_id: WORKSPACE.to_owned(),
            turn_id,
        };
        let turn = self.swarm.timeline().get_turn(request).await.unwrap();
        let outcome = turn.into_inner().turn.unwrap().outcome();
        let outcome = outcome.as_str_name().trim_start_matches("TURN_OUTCOME_");
        json!({
            "note": if reply.already { json!("already") } else { Value::Null },
            "cost": charge.cost_micro_usd, "measured": charge.measured, "vdelta": charge.vdelta,
            "outcome": outcome.to_lowercase(),
        })
    }

    async fn acknowledge(&self, name: &str) {
        let turn = &self.newest[name];
        let request = wire::AckGrantRequest {
            workspace_id: WORKSPACE.to_owned(),
            turn_id: turn.turn_id.clone(),
            epoch: turn.epoch,
            holder: BODY.to_owned(),
        };
        self.swarm.body().ack_grant(request).await.unwrap();
    }

    async fn beat(&self, name: &str) {
        let turn = &self.newest[name];
        let request = wire::HeartbeatRequest {
            workspace_id: WORKSPACE.to_owned(),
            turn_id: turn.turn_id.clone(),
            epoch: turn.epoch,
            holder: BODY.to_owned(),
        };
        self.swarm.body().heartbeat(request).await.unwrap();
    }
}

fn why(why: Why) -> Value {
    json!(why.as_str_name().trim_start_matches("WHY_"))
}

pub(super) fn refused(answer: Result<(), Status>) -> Value {
    let why = match answer {
        Ok(()) => Value::Null,
        Err(status) if status.code() == Code::InvalidArgument => json!("invalid"),
        Err(status) => match reason(&status).as_str() {
            "OVER_HALF_LENT" => json!("more_than_half"),
            "NO_SHARE" => json!("not_on_timeline"),
            other => panic!("{other}: {status}"),
        },
    };
    json!({"refused": why})
}

//! The vectors of the design, step by step, where they are.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use cambium_kernel::{ErrorKind, Failure as _};
use chrono::{DateTime, TimeDelta, Utc};
use serde_json::{Value, json};

use super::swarm::{Swarm, named};
use super::views;
use crate::charge::{Finding, Outcome, Settlement, Source};
use crate::dial::{Dial, Reserve, Setting};
use crate::loan::Offer;
use crate::member::Wakes;
use crate::share::{Haste, Share};
use crate::turn::{Body, Proof, State};
use crate::wallet::{Period, Wallet};
use crate::{Error, Instance};

/// Instants of the vectors count from a UTC midnight, at which a week and a month begin too.
fn instant(us: i64) -> DateTime<Utc> {
    let midnight = DateTime::from_timestamp(1_780_272_000, 0).unwrap();
    midnight + TimeDelta::microseconds(us)
}

pub(super) fn us(at: DateTime<Utc>) -> i64 {
    (at - instant(0)).num_microseconds().unwrap()
}

fn text(step: &Value, key: &str) -> Instance {
    named(step[key].as_str().unwrap())
}

fn optional(value: &Value) -> Option<DateTime<Utc>> {
    value.as_i64().map(instant)
}

struct Game<'a> {
    swarm: Swarm,
    switches: &'a Value,
}

impl<'a> Game<'a> {
    fn start(vector: &'a Value) -> Self {
        let mut game = Self {
            swarm: Swarm::new(instant(0)),
            switches: &vector["switches"],
        };
        game.set_dial(&vector["dial"]);
        game.set_wallet(&game.switches["wallet"]);
        for mind in vector["minds"].as_array().unwrap() {
            game.open(mind);
        }
        game
    }

    fn open(&mut self, mind: &Value) {
        let name = text(mind, "instance");
        let wakes = mind["wakes"].as_str().unwrap_or("always");
        let body = if mind["body"] == "external" {
            Body::External
        } else {
            Body::Graph
        };
        self.swarm.open(&name, Wakes::parse(wakes).unwrap(), body);
        assert_eq!(self.set_share(&name, mind), json!({"refused": null}));
        if mind["released"] != false {
            self.swarm.release(&name);
        }
    }

    fn set_dial(&mut self, dial: &Value) {
        if dial.is_null() {
            return;
        }
        let number = |key: &str| dial[key].as_i64().unwrap();
        let setting = Setting {
            heat_ppm: number("heat_ppm"),
            base_rate_micro_usd_per_h: number("base_rate_micro_usd_per_h"),
            base_run_micro_usd: number("base_run_micro_usd"),
            k: number("k"),
            reserve: if self.switches["reserve"] == "none" {
                Reserve::None
            } else {
                Reserve::Cap
            },
            burst_micro_usd: self.switches["burst_micro_usd"].as_i64(),
            floor_micro_usd: self.switches["floor_micro_usd"].as_i64(),
            turn_max_s: None,
        };
        let new = Dial::new(setting).unwrap();
        let swarm = &mut self.swarm;
        swarm.bucket = swarm.bucket.redialled(swarm.dial.as_ref(), &new, swarm.now);
        swarm.dial = Some(new);
    }

    fn set_wallet(&mut self, wallet: &Value) {
        self.swarm.wallet = wallet["limit_micro_usd"].as_i64().map(|limit| {
            let period = Period::parse(wallet["period"].as_str().unwrap()).unwrap();
            Wallet::new(limit, period).unwrap()
        });
    }

    fn set_share(&mut self, name: &Instance, step: &Value) -> Value {
        let share = step["share_ppm"].as_i64().map(Share::from_ppm).transpose();
        let wish = &step["haste"];
        let factor = wish["multiplier_ppm"].as_i64();
        let haste = factor
            .map(|factor| Haste::new(factor, optional(&wish["until_us"]), self.swarm.now))
            .transpose();
        match (share, haste) {
            (Ok(share), Ok(haste)) => {
                self.swarm.set_share(name, share, haste);
                json!({"refused": null})
            }
            (Err(error), _) | (_, Err(error)) => refused(&error),
        }
    }

    fn play(&mut self, step: &Value) -> Value {
        match step["op"].as_str().unwrap() {
            "tick" => self.tick(step),
            "race" => self.race(step["ticks"].as_u64().unwrap()),
            "rounds" => self.rounds(step),
            "settle" => self.settle(
                &text(step, "instance"),
                step["cost"].as_i64(),
                Source::Meter,
            ),
            "late_start" => {
                self.settle(&text(step, "instance"), step["cost"].as_i64(), Source::Run)
            }
            "lend" => self.lend(step),
            "set_share" => self.set_share(&text(step, "instance"), step),
            "preview" => views::preview(&mut self.swarm, step["n"].as_u64().unwrap()),
            "when_dry" => views::when_dry(&mut self.swarm),
            "state" => views::state(&self.swarm),
            op => {
                self.command(op, step);
                Value::Null
            }
        }
    }

    fn command(&mut self, op: &str, step: &Value) {
        if op == "advance" {
            self.swarm.now += TimeDelta::microseconds(step["us"].as_i64().unwrap());
            return;
        }
        if op == "set_dial" {
            return self.set_dial(&step["dial"]);
        }
        if op == "set_wallet" {
            return self.set_wallet(&step["wallet"]);
        }
        let name = text(step, "instance");
        let now = self.swarm.now;
        let swarm = &mut self.swarm;
        match op {
            "hold" => swarm.hold(&name),
            "release" => swarm.release(&name),
            "rest" => {
                let agenda = swarm
                    .mind(&name)
                    .agenda
                    .resting(optional(&step["until_us"]), now);
                swarm.mind(&name).agenda = agenda.unwrap();
            }
            "work" => swarm.mind(&name).launch = swarm.mind(&name).launch.touched(now),
            "withdraw" => swarm.withdraw(swarm.newest(&name).unwrap()),
            "ack" | "heartbeat" => {
                let index = swarm.newest(&name).unwrap();
                let turn = swarm.turns[index].clone();
                let (epoch, starts) = (turn.epoch, turn.state == State::Granted);
                swarm.turns[index] = match op {
                    "ack" => turn.acknowledged(epoch, "body", now).unwrap(),
                    _ => turn.beaten(epoch, "body", now).unwrap(),
                };
                if starts {
                    let at = swarm.turns[index].launched_at;
                    swarm.mind(&name).launch = swarm.mind(&name).launch.ran(at);
                }
            }
            "session_open" => {
                let ttl = (instant(step["until_us"].as_i64().unwrap()) - now).num_seconds();
                swarm.operate(&name, step["preempt"] == true, ttl);
            }
            "session_close" => {
                let open = swarm.sessions.iter_mut().filter(|one| one.instance == name);
                open.for_each(|session| session.closed_at = Some(now));
            }
            other => panic!("the vectors have a new step: {other}"),
        }
    }

    fn tick(&mut self, step: &Value) -> Value {
        let evidence = step["evidence"].as_object().into_iter().flatten();
        let evidence: BTreeMap<Instance, Proof> = evidence
            .map(|(name, what)| {
                (
                    named(name),
                    if what == "alive" {
                        Proof::Alive
                    } else {
                        Proof::Gone
                    },
                )
            })
            .collect();
        let flips = step["brake_flips"].as_array().into_iter().flatten();
        let flips: Vec<Instance> = flips.map(|name| named(name.as_str().unwrap())).collect();
        match self.swarm.tick(&evidence, &flips) {
            Ok(turn) => json!({
                "launched": turn.instance.as_str(), "skip": null, "slot": turn.slot, "epoch": turn.epoch,
                "cap": turn.cap.as_micros(), "share": turn.share.as_ppm(), "haste": turn.haste.as_ppm(),
            }),
            Err(why) => json!({"launched": null, "skip": why.as_str()}),
        }
    }

    /// Ticks that race are ticks in some order.
    fn race(&mut self, ticks: u64) -> Value {
        let (mut launched, mut slots, mut skips) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..ticks {
            match self.swarm.tick(&BTreeMap::new(), &[]) {
                Ok(turn) => {
                    launched.push(turn.instance.as_str().to_owned());
                    slots.push(turn.slot);
                }
                Err(why) => skips.push(why.as_str()),
            }
        }
        json!({"launched": launched, "slots": slots, "skips": skips})
    }

    fn rounds(&mut self, step: &Value) -> Value {
        let (mut order, mut counts) = (Vec::new(), BTreeMap::new());
        for mind in step["cost"].as_object().unwrap().keys() {
            counts.insert(mind.clone(), 0);
        }
        for _ in 0..step["count"].as_u64().unwrap() {
            if let Ok(turn) = self.swarm.tick(&BTreeMap::new(), &[]) {
                let name = turn.instance.as_str().to_owned();
                self.settle(&turn.instance, step["cost"][&name].as_i64(), Source::Meter);
                *counts.entry(name.clone()).or_insert(0) += 1;
                order.push(name);
            }
            self.swarm.now += TimeDelta::microseconds(step["advance_us"].as_i64().unwrap());
        }
        json!({"order": order, "counts": counts})
    }

    fn settle(&mut self, of: &Instance, cost: Option<i64>, source: Source) -> Value {
        let finding = Finding {
            cost_micro_usd: cost,
            declared_micro_usd: None,
            source,
            outcome: Outcome::Ended,
        };
        let (charge, note) = match self.swarm.settle(self.swarm.newest(of), finding) {
            Ok(Settlement::New(charge)) => (charge, Value::Null),
            Ok(Settlement::Already(charge)) => (charge, json!("already")),
            Err(error) => {
                let is_invalid = error.kind() == ErrorKind::Invalid;
                return json!({"note": if is_invalid { "invalid" } else { "never_launched" }});
            }
        };
        json!({
            "note": note, "cost": charge.cost.as_micros(), "measured": charge.is_measured,
            "vdelta": charge.vdelta, "outcome": charge.outcome.as_str(),
        })
    }

    fn lend(&mut self, step: &Value) -> Value {
        let offer = Offer {
            lender: text(step, "lender"),
            borrower: text(step, "borrower"),
            share_ppm: step["share_ppm"].as_i64().unwrap(),
            until: optional(&step["until_us"]),
        };
        match self.swarm.lend(offer) {
            Ok(()) => json!({"refused": null}),
            Err(error) => refused(&error),
        }
    }
}

fn refused(error: &Error) -> Value {
    json!({"refused": match error {
        Error::OverHalfLent { .. } => "more_than_half",
        Error::NoShare(_) => "not_on_timeline",
        _ if error.kind() == ErrorKind::Invalid => "invalid",
        other => panic!("{other}"),
    }})
}

/// What `expected` names is so in `actual`; of maps by name, what they name.
fn agrees(expected: &Value, actual: &Value) -> bool {
    match expected {
        Value::Object(parts) => parts.iter().all(|(key, part)| agrees(part, &actual[key])),
        other => other == actual,
    }
}

#[test]
fn every_vector_of_the_design_is_played_as_it_says() {
    let path =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/cases/swarm-vectors.json");
    let Ok(file) = fs::read(path) else {
        println!("skipped: ../shared/cases is absent");
        return;
    };
    let file: Value = serde_json::from_slice(&file).unwrap();

    let mut wrong = Vec::new();
    for vector in file["vectors"].as_array().unwrap() {
        let mut game = Game::start(vector);
        for (n, step) in vector["steps"].as_array().unwrap().iter().enumerate() {
            let actual = game.play(step);
            if !agrees(&step["expect"], &actual) && !step["expect"].is_null() {
                wrong.push(format!(
                    "{} step {n}: {step}\n  was {actual}",
                    vector["name"]
                ));
                break;
            }
        }
    }

    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

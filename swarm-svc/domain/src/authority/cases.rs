//! The cases of the design, where they are: each of swarm's rows is decided as it says, and those that pass the table are refused by
//! the state that the row describes.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use cambium_kernel::{ErrorKind, Failure, Usd};
use chrono::{DateTime, TimeDelta, Utc};
use serde_json::json;

use super::*;
use crate::bucket::Bucket;
use crate::charge::{Finding, Outcome, Source, settle};
use crate::dial::{Dial, Reserve, Setting};
use crate::launch::Launch;
use crate::loan::{Loan, Offer, Parties, lend};
use crate::member::{Agenda, Brake, Standing};
use crate::mind::State;
use crate::persona::{Fresh, Put, born, put};
use crate::record::{Author, Document, ForeignRef, Kind as Sort, Shelf, admit};
use crate::share::Share;
use crate::tick::{Round, may_launch};
use crate::wallet::{Limit, Period, Spending, Wallet};
use crate::{LoanId, Why};

fn now() -> DateTime<Utc> {
    "2026-11-30T12:00:00Z".parse().unwrap()
}

fn name(text: &str) -> Instance {
    Instance::parse(text).unwrap()
}

type Condition = BTreeMap<String, String>;

/// One line of the file.
struct Case {
    id: u32,
    principals: Vec<Principal>,
    actions: Vec<String>,
    resource: String,
    conditions: Vec<Condition>,
    code: String,
}

/// Splits a line at its commas, but for those within quotes.
fn columns(line: &str) -> Vec<String> {
    let (mut columns, mut is_quoted) = (vec![String::new()], false);
    for c in line.chars() {
        match c {
            '"' => is_quoted = !is_quoted,
            ',' if !is_quoted => columns.push(String::new()),
            c => columns.last_mut().unwrap().push(c),
        }
    }
    columns
}

fn principals(text: &str, organ: &str) -> Vec<Principal> {
    let (kind, who) = text.split_once(':').unwrap_or((text, ""));
    let who = who.to_owned();
    vec![match kind {
        "operator" => Principal::Operator(who),
        "agent" => Principal::Agent(who),
        "worker" => Principal::Worker(who),
        "service" => Principal::Service(who),
        "scheduler" => Principal::Scheduler,
        "meter" => Principal::Meter,
        "viewer" => Principal::Viewer(who),
        "mind" => {
            let organs: &[Organ] = match organ {
                "persona" => &[Organ::Persona],
                "self" => &[Organ::Own],
                _ => &[Organ::Persona, Organ::Own],
            };
            return organs
                .iter()
                .map(|organ| Principal::Mind(name(&who), *organ))
                .collect();
        }
        _ => Principal::Anonymous,
    }]
}

fn case(line: &str) -> Case {
    let columns = columns(line);
    let pairs = |text: &str| {
        let pairs = text.split(';').filter_map(|pair| pair.split_once('='));
        pairs
            .map(|(key, value)| (key.to_owned(), value.to_owned()))
            .collect()
    };
    Case {
        id: columns[0].parse().unwrap(),
        principals: principals(&columns[1], &columns[2]),
        actions: columns[3].split(" | ").map(str::to_owned).collect(),
        resource: columns[4].clone(),
        conditions: columns[5].split(" | ").map(pairs).collect(),
        code: columns[7].clone(),
    }
}

/// Whose thing it is: the mind that the resource names, or who gives.
fn facts(case: &Case, principal: &Principal, condition: &Condition) -> Facts {
    let given = condition.get("from").cloned();
    let (kind, named) = case.resource.split_once(':').unwrap_or(("", ""));
    let own = match principal {
        Principal::Mind(mind, _) => Some(mind.clone()),
        _ => None,
    };
    let mind = match kind {
        "share" | "brake" | "mind" | "persona" | "record" | "ruling" => Instance::parse(named).ok(),
        "loan" => named.split_once("->").map(|(lender, _)| name(lender)),
        "turn" => named.split_once('/').map(|(mind, _)| name(mind)),
        "question" => own.clone(),
        _ => given.map(|mind| name(&mind)),
    };
    Facts {
        mind,
        is_lead: own.is_some() && condition.get("lead").map(|lead| name(lead)) == own,
        login_age_s: Some(
            condition
                .get("login_age")
                .map_or(60, |age| age.trim_end_matches('s').parse().unwrap()),
        ),
        ..Facts::default()
    }
}

fn number(condition: &Condition, key: &str) -> Option<i64> {
    condition.get(key).map(|value| value.parse().unwrap())
}

/// What the state says to whom the table lets through.
fn refusal(action: Action, condition: &Condition) -> Option<Error> {
    match action {
        Action::LendShare => lending(condition).err(),
        Action::PutPersona if condition["cas"] == "stale" => stale().err(),
        Action::Cite if condition["digest"] == "mismatch" => citing().err(),
        Action::RecordCharge if condition["turn"] == "never_launched" => {
            let finding = Finding {
                cost_micro_usd: number(condition, "cost_micro_usd"),
                declared_micro_usd: None,
                source: Source::Meter,
                outcome: Outcome::Ended,
            };
            settle(None, None, finding).err()
        }
        Action::Launch => launching(condition).err(),
        _ => None,
    }
}

fn lending(condition: &Condition) -> Result<Loan, Error> {
    let own = Share::from_ppm(1_000_000).ok();
    let borrowed = number(condition, "borrowed_of_own_ppm").map(|share_ppm| Loan {
        id: LoanId::generate(),
        lender: name("norn"),
        borrower: name("weksa"),
        share_ppm,
        from: now(),
        until: now() + TimeDelta::hours(1),
        ended_at: None,
    });
    let offer = Offer {
        lender: name("weksa"),
        borrower: name("eureka"),
        share_ppm: number(condition, "of_own_ppm").unwrap(),
        until: Some(now() + TimeDelta::hours(1)),
    };
    let loans: Vec<Loan> = borrowed.into_iter().collect();
    lend(
        LoanId::generate(),
        offer,
        Parties {
            lender: own,
            borrower: own,
        },
        &loans,
        now(),
    )
}

fn stale() -> Result<(), Error> {
    let fresh = Fresh {
        public_name: "Weksa",
        public_description: "",
        voice_summary: "",
    };
    let stored = born(&name("weksa"), fresh, now())?;
    let json = stored.value().to_string();
    let wish = Put {
        value_json: &json,
        expected_updated_at: Some(now() - TimeDelta::seconds(1)),
        faculty: "f",
        agent: "a",
        session: "s",
        tool: "t",
    };
    put(&name("weksa"), Some(&stored), &wish, now()).map(drop)
}

fn citing() -> Result<(), Error> {
    let parts = |value: serde_json::Value| value.as_object().unwrap().clone();
    let ruling = json!({"label": "a", "title": "A", "ruling": "A.", "authority": "mind", "ruled_on": "2026-11-30"});
    let ruling = Document::new(
        name("eureka"),
        Sort::Ruling,
        "eureka:ruling:a",
        parts(ruling),
    )?;
    let cited = ForeignRef {
        payload_sha256: "0".repeat(64),
        ..ForeignRef::of(&ruling)
    };
    let citation = json!({"refs": [cited.to_value()], "note": "n"});
    let citation = Document::new(
        name("weksa"),
        Sort::Citation,
        "weksa:citation:c",
        parts(citation),
    )?;
    admit(
        vec![citation],
        &Author::Mind(name("weksa")),
        &Shelf::new([ruling]),
    )
    .map(drop)
}

fn launching(condition: &Condition) -> Result<(), Error> {
    let cap = number(condition, "cap_micro_usd").unwrap_or(400_000);
    let setting = Setting {
        heat_ppm: 1_000_000,
        base_rate_micro_usd_per_h: 2_000_000,
        base_run_micro_usd: cap,
        k: number(condition, "k").unwrap_or(2),
        reserve: Reserve::Cap,
        burst_micro_usd: Some(cap),
        floor_micro_usd: None,
        turn_max_s: None,
    };
    let left = number(condition, "wallet_left_micro_usd").map(|left| {
        let wallet = Wallet::new(left, Period::Day).unwrap();
        Limit::Of(wallet, Spending::default())
    });
    let round = Round {
        now: now(),
        dial: Some(Dial::new(setting)?),
        bucket: Bucket {
            level: Usd::from_micros(number(condition, "bucket_micro_usd").unwrap_or(0)),
            ..Bucket::empty(now())
        },
        reserved: Usd::from_micros(number(condition, "reserved_micro_usd").unwrap_or(0)),
        limit: left.unwrap_or(Limit::Open),
        taken: (0..number(condition, "live").unwrap_or(0))
            .map(|slot| u32::try_from(slot).unwrap())
            .collect(),
        preempted_until: None,
    };
    let is = |key: &str, value: &str| condition.get(key).is_some_and(|given| given == value);
    let mind = Standing {
        state: State::Open,
        brake: if is("brake", "held") {
            Brake::Held
        } else {
            Brake::Released
        },
        share: (!is("share", "absent")).then(|| Share::from_ppm(1_000_000).unwrap()),
        session_until: None,
        agenda: Agenda::default(),
        launch: Launch::default(),
        reviews: Vec::new(),
        has_unreadable_persona: false,
        is_live: false,
    };
    may_launch(&round, &mind)
}

/// Plays one action of one principal under one condition, and says what was wrong about it.
fn play(
    case: &Case,
    principal: &Principal,
    action: &str,
    condition: &Condition,
) -> Result<(), String> {
    let decided = match Action::parse(action) {
        Some(action) => decide(principal, action, &facts(case, principal, condition))
            .and_then(|_| refusal(action, condition).map_or(Ok(()), Err)),
        None => Err(Error::Denied(Denial::NoRule)),
    };
    let expected = match case.code.as_str() {
        "OK" => None,
        "PERMISSION_DENIED" => Some(ErrorKind::Denied),
        "FAILED_PRECONDITION" => Some(ErrorKind::Refused),
        "ABORTED" => Some(ErrorKind::Conflict),
        other => return Err(format!("unknown code {other}")),
    };
    let actual = decided.as_ref().err().map(Failure::kind);
    if actual == expected {
        return Ok(());
    }
    Err(format!(
        "case {}: {principal:?} {action} {condition:?} was {decided:?}",
        case.id
    ))
}

/// The rows that are swarm's: its own verbs on its own things, reading, health, and what no map knows.
fn is_ours(id: u32) -> bool {
    matches!(id, 1..=47 | 65 | 72..=74)
}

#[test]
fn every_case_of_swarm_is_decided_as_the_design_says() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/cases/authority.csv");
    let Ok(file) = fs::read_to_string(path) else {
        println!("skipped: ../shared/cases is absent");
        return;
    };

    let cases: Vec<Case> = file
        .lines()
        .skip(1)
        .map(case)
        .filter(|case| is_ours(case.id))
        .collect();
    let mut wrong = Vec::new();
    for case in &cases {
        for principal in &case.principals {
            for action in &case.actions {
                let played = case
                    .conditions
                    .iter()
                    .map(|condition| play(case, principal, action, condition));
                wrong.extend(played.filter_map(Result::err));
            }
        }
    }

    assert_eq!(cases.len(), 51);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_closed_gate_is_named() {
    let named = |pairs: &[(&str, &str)]| {
        let condition = pairs
            .iter()
            .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
            .collect();
        launching(&condition)
    };

    for (pairs, why) in [
        (vec![("brake", "held")], Why::Brake),
        (vec![("share", "absent")], Why::Share),
        (vec![("reserved_micro_usd", "1")], Why::Bucket),
        (vec![("live", "1"), ("k", "1")], Why::Slots),
        (vec![("wallet_left_micro_usd", "399999")], Why::Wallet),
    ] {
        assert_eq!(named(&pairs), Err(Error::Closed(why)));
    }
    assert_eq!(named(&[]), Ok(()));
}

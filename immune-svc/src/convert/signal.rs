//! The facts that immune tells other services.

use cambium_kernel::{Score, SignalId};
use cambium_proto::signal::v1::signal::Payload;
use cambium_proto::signal::v1::{LoadAdvice, Signal, SignalClass, StandingChanged};
use chrono::{DateTime, Utc};

use super::time_to_wire;
use crate::store::Key;
use crate::store::standing::Account;

pub(crate) const STANDING_CHANGED: &str = "coord.standing_changed";
pub(crate) const LOAD_ADVICE: &str = "coord.load_advice";

/// What immune thinks of an agent from now on.
pub(crate) fn standing_changed(
    key: &Key,
    account: &Account,
    now: DateTime<Utc>,
    depth: u32,
) -> Signal {
    let standing = &account.standing;
    let payload = StandingChanged {
        agent_id: key.agent.to_string(),
        seq: account.seq,
        trust: account.trust_at(now).as_f64(),
        generosity: standing.generosity.score.as_f64(),
        health: standing.health.score.as_f64(),
        quarantined: account.stay.is_some(),
        quarantine_end_time: account.stay.map(|stay| time_to_wire(stay.until)),
    };
    signal(
        key,
        STANDING_CHANGED,
        Payload::StandingChanged(payload),
        now,
        depth,
    )
}

/// How much of its slots the agent should use from now on.
pub(crate) fn load_advice(
    key: &Key,
    seq: i64,
    share: Score,
    now: DateTime<Utc>,
    depth: u32,
) -> Signal {
    let payload = LoadAdvice {
        agent_id: key.agent.to_string(),
        seq,
        share: share.as_f64(),
    };
    signal(key, LOAD_ADVICE, Payload::LoadAdvice(payload), now, depth)
}

fn signal(key: &Key, kind: &str, payload: Payload, now: DateTime<Utc>, depth: u32) -> Signal {
    Signal {
        signal_id: SignalId::generate().to_string(),
        r#type: kind.to_owned(),
        class: SignalClass::Coordination.into(),
        intensity: 0.5,
        workspace_id: key.workspace.to_string(),
        workflow_run_id: String::new(),
        source: "immune".to_owned(),
        emit_time: Some(time_to_wire(now)),
        causal_depth: depth,
        traceparent: String::new(),
        payload: Some(payload),
    }
}

//! Signals as the other services would tell them.

use std::sync::LazyLock;

use cambium_kernel::{Clock as _, SystemClock};
use cambium_proto::signal::v1::signal::Payload;
use cambium_proto::signal::v1::{
    AgentRetired, AgentSpawned, DeadEnd, Gratitude, MarkerPlaced, RateLimited, Signal, SignalClass,
    TaskOutcome, TaskSettled,
};
use prost_types::{Duration, Timestamp};
use uuid::Uuid;

/// When things happen unless a test says otherwise: yesterday at 12:00 UTC, in seconds since 1970.
pub(crate) fn noon() -> i64 {
    // Once, so that no test sees midnight pass.
    static NOON: LazyLock<i64> = LazyLock::new(|| {
        let today = SystemClock.now().timestamp().div_euclid(86_400);
        today * 86_400 - 43_200
    });
    *NOON
}

pub(crate) fn at(seconds: i64) -> Timestamp {
    Timestamp { seconds, nanos: 0 }
}

fn signal(source: &str, kind: &str, payload: Payload) -> Signal {
    Signal {
        signal_id: Uuid::now_v7().to_string(),
        r#type: kind.to_owned(),
        class: SignalClass::Coordination.into(),
        intensity: 0.5,
        workspace_id: "default".to_owned(),
        workflow_run_id: String::new(),
        source: source.to_owned(),
        emit_time: Some(at(noon())),
        causal_depth: 0,
        traceparent: String::new(),
        payload: Some(payload),
    }
}

/// `to` used an output of `from`.
pub(crate) fn thanks(from: Uuid, to: Uuid) -> Signal {
    let run = Uuid::now_v7().to_string();
    let payload = Gratitude {
        from_task_id: format!("{run}/a"),
        to_task_id: format!("{run}/b"),
        from_agent_id: from.to_string(),
        to_agent_id: to.to_string(),
        workflow_run_id: run.clone(),
    };
    Signal {
        workflow_run_id: run,
        ..signal("hypha", "coord.gratitude", Payload::Gratitude(payload))
    }
}

pub(crate) fn dead_end(agent: Uuid) -> Signal {
    let payload = DeadEnd {
        agent_id: agent.to_string(),
        workflow_run_id: Uuid::now_v7().to_string(),
    };
    signal("hypha", "coord.dead_end", Payload::DeadEnd(payload))
}

pub(crate) fn settled(agent: Uuid, outcome: TaskOutcome) -> Signal {
    let payload = TaskSettled {
        task_id: format!("{}/a", Uuid::now_v7()),
        epoch: 1,
        agent_id: agent.to_string(),
        outcome: outcome.into(),
        duration: Some(Duration {
            seconds: 1,
            nanos: 0,
        }),
        slots: 2,
        busy: 1,
        ..TaskSettled::default()
    };
    signal("hypha", "coord.task_settled", Payload::TaskSettled(payload))
}

pub(crate) fn placed(agent: Uuid, marker_type: &str) -> Signal {
    let payload = MarkerPlaced {
        marker_id: Uuid::now_v7().to_string(),
        agent_id: agent.to_string(),
        region: "docs".to_owned(),
        marker_type: marker_type.to_owned(),
    };
    signal(
        "stigmergy",
        "coord.marker_placed",
        Payload::MarkerPlaced(payload),
    )
}

pub(crate) fn limited(agent: Uuid) -> Signal {
    let payload = RateLimited {
        agent_id: agent.to_string(),
        region: "docs".to_owned(),
    };
    Signal {
        class: SignalClass::Stress.into(),
        ..signal(
            "stigmergy",
            "stress.rate_limited",
            Payload::RateLimited(payload),
        )
    }
}

/// Of a template.
pub(crate) fn spawned(agent: Uuid, name: &str, capabilities: &[&str]) -> Signal {
    let payload = AgentSpawned {
        agent_id: agent.to_string(),
        name: name.to_owned(),
        capabilities: capabilities.iter().map(|&name| name.to_owned()).collect(),
        template: "scribe".to_owned(),
        template_version: 1,
        root_agent_id: agent.to_string(),
        ..AgentSpawned::default()
    };
    signal(
        "genesis",
        "coord.agent_spawned",
        Payload::AgentSpawned(payload),
    )
}

/// From outside.
pub(crate) fn enrolled(agent: Uuid, name: &str) -> Signal {
    let mut signal = spawned(agent, name, &["write"]);
    if let Some(Payload::AgentSpawned(spawned)) = &mut signal.payload {
        spawned.template.clear();
        spawned.template_version = 0;
    }
    signal
}

pub(crate) fn retired(agent: Uuid, draining: bool) -> Signal {
    let payload = AgentRetired {
        agent_id: agent.to_string(),
        draining,
    };
    signal(
        "genesis",
        "coord.agent_retired",
        Payload::AgentRetired(payload),
    )
}

/// The same, as it happened at another time.
pub(crate) fn on(mut signal: Signal, seconds: i64) -> Signal {
    signal.emit_time = Some(at(seconds));
    signal
}

/// The same fact, told again under another id.
pub(crate) fn again(signal: &Signal) -> Signal {
    Signal {
        signal_id: Uuid::now_v7().to_string(),
        ..signal.clone()
    }
}

pub(crate) fn agents<const N: usize>() -> [Uuid; N] {
    std::array::from_fn(|_| Uuid::now_v7())
}

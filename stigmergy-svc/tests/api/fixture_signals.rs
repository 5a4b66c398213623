//! What immune and genesis would tell, delivered to the real port.

use cambium_proto::signal::v1::signal::Payload;
use cambium_proto::signal::v1::signal_service_client::SignalServiceClient;
use cambium_proto::signal::v1::{
    AgentRetired, AgentSpawned, DeliverRequest, Signal, SignalClass, StandingChanged,
};
use cambium_testkit::with_token;
use tonic::Status;

use crate::fixture::{Fixture, WORKSPACE, agent, id};

impl Fixture {
    /// As the service that the first of them names.
    pub(crate) async fn deliver(&self, signals: Vec<Signal>) -> Result<(), Status> {
        let token = self.keys.service(&signals[0].source);
        let mut client = SignalServiceClient::new(with_token(self.channel.clone(), &token));
        client.deliver(DeliverRequest { signals }).await?;
        Ok(())
    }

    /// Immune's word on an agent, with everything at 0.5.
    pub(crate) async fn judge(&self, name: &str, seq: i64, quarantined: bool) {
        let change = StandingChanged {
            quarantined,
            ..standing(name, seq, 0.5)
        };
        self.deliver(vec![changed(change)]).await.unwrap();
    }
}

pub(crate) fn standing(name: &str, seq: i64, trust: f64) -> StandingChanged {
    StandingChanged {
        agent_id: agent(name).to_string(),
        seq,
        trust,
        generosity: 0.5,
        health: 0.5,
        quarantined: false,
        quarantine_end_time: None,
    }
}

pub(crate) fn changed(change: StandingChanged) -> Signal {
    signal(
        "immune",
        "coord.standing_changed",
        Payload::StandingChanged(change),
    )
}

pub(crate) fn spawned(name: &str) -> Signal {
    let spawned = AgentSpawned {
        agent_id: agent(name).to_string(),
        name: name.to_owned(),
        ..AgentSpawned::default()
    };
    signal(
        "genesis",
        "coord.agent_spawned",
        Payload::AgentSpawned(spawned),
    )
}

pub(crate) fn retired(name: &str, draining: bool) -> Signal {
    let retired = AgentRetired {
        agent_id: agent(name).to_string(),
        draining,
    };
    signal(
        "genesis",
        "coord.agent_retired",
        Payload::AgentRetired(retired),
    )
}

fn signal(source: &str, kind: &str, payload: Payload) -> Signal {
    Signal {
        signal_id: id(),
        r#type: kind.to_owned(),
        class: SignalClass::Coordination.into(),
        intensity: 1.0,
        workspace_id: WORKSPACE.to_owned(),
        source: source.to_owned(),
        payload: Some(payload),
        ..Signal::default()
    }
}

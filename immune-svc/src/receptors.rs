//! Facts from other services, turned into immune's own. Each type is believed from the service that owns it and from no other.

use std::sync::Arc;

use cambium_proto::signal::v1::Signal;
use cambium_service_kit::inbox::Receptor;
use sqlx::PgConnection;

use crate::app::App;
use crate::convert::heard;
use crate::error::Error;

#[derive(Clone, Debug)]
pub(crate) struct Receptors(pub(crate) Arc<App>);

/// Who says what. A type that is not here is kept and ignored, whoever says it.
const OWNERS: &[(&str, &str)] = &[
    ("coord.gratitude", "hypha"),
    ("coord.dead_end", "hypha"),
    ("coord.task_settled", "hypha"),
    ("coord.marker_placed", "stigmergy"),
    ("stress.rate_limited", "stigmergy"),
    ("coord.agent_spawned", "genesis"),
    ("coord.agent_retired", "genesis"),
    // Applied where they arise; said by anybody else they are false.
    ("stress.context_hoarding", "immune"),
    ("stress.overextension", "immune"),
];

impl Receptor for Receptors {
    type Error = Error;

    fn may_say(&self, sender: &str, signal: &Signal) -> bool {
        let owner = OWNERS.iter().find(|(kind, _)| *kind == signal.r#type);
        owner.is_none_or(|(_, owner)| *owner == sender)
    }

    async fn apply(&self, conn: &mut PgConnection, signals: &[Signal]) -> Result<(), Error> {
        let mut facts = Vec::with_capacity(signals.len());
        for signal in signals {
            facts.extend(heard::fact_from_wire(signal)?);
        }
        if !facts.is_empty() {
            self.0.apply(conn, &facts).await?;
        }
        Ok(())
    }

    fn applied(&self) {
        self.0.relay.notify();
    }
}

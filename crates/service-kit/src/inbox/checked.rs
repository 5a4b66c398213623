//! What every signal must be, whatever it means. One that came about through too many others is dropped and counted.

use cambium_kernel::{Failure, WorkspaceId, check_name};
use cambium_proto::signal::v1::Signal;
use uuid::Uuid;

use super::Error;

/// How many signals may have led to one: beyond that, services are answering each other.
const DEEPEST: u32 = 8;

/// A signal whose envelope is whole.
#[derive(Debug)]
pub(super) struct Checked {
    pub(super) id: Uuid,
    pub(super) signal: Signal,
}

/// Checks every signal; one that is malformed refuses the batch.
pub(super) fn all<E: Failure>(signals: Vec<Signal>) -> Result<Vec<Checked>, Error<E>> {
    let mut checked = Vec::with_capacity(signals.len());
    for (index, signal) in signals.into_iter().enumerate() {
        let id = check(&signal).map_err(|(field, why)| Error::Malformed { index, field, why })?;
        if signal.causal_depth > DEEPEST {
            metrics::counter!("cambium_signals_dropped_total", "reason" => "too_deep").increment(1);
            tracing::warn!(signal.id = %id, signal.r#type, signal.causal_depth, "a signal was dropped: too deep");
        } else {
            checked.push(Checked { id, signal });
        }
    }
    Ok(checked)
}

fn check(signal: &Signal) -> Result<Uuid, (&'static str, String)> {
    let id = Uuid::try_parse(&signal.signal_id)
        .map_err(|_| ("signal_id", "is not a UUID".to_owned()))?;
    check_name(&signal.r#type).map_err(|why| ("type", why.to_string()))?;
    WorkspaceId::parse(&signal.workspace_id).map_err(|why| ("workspace_id", why.to_string()))?;
    // Also refuses what is no number.
    if !(0.0..=1.0).contains(&signal.intensity) {
        return Err((
            "intensity",
            format!("is {}, but must be from 0 to 1", signal.intensity),
        ));
    }
    Ok(id)
}

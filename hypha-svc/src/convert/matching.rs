//! Weights between the wire and the domain.

use cambium_hypha::matching::{Shares, Weights};
use cambium_kernel::Score;
use cambium_proto::hypha::v1 as wire;

use crate::error::Error;
use crate::store::weights::Version;

/// Checked weights, and the version they replace.
pub(crate) fn weights_from_wire(weights: Option<&wire::Weights>) -> Result<Version, Error> {
    let given = weights.ok_or_else(|| Error::field("weights", "is missing"))?;
    let share = |field: &str, value: f64| {
        let score = Score::from_f64(value);
        score.ok_or_else(|| Error::field(format!("weights.{field}"), "is outside 0 to 1"))
    };
    let shares = Shares {
        capability: share("capability", given.capability)?,
        trust: share("trust", given.trust)?,
        health: share("health", given.health)?,
        load: share("load", given.load)?,
        generosity: share("generosity", given.generosity)?,
    };
    let explore_every = u32::try_from(given.explore_every)
        .map_err(|_| Error::field("weights.explore_every", "is below 0"))?;
    if given.version < 0 {
        return Err(Error::field("weights.version", "is below 0"));
    }
    Ok(Version {
        weights: Weights::new(shares, explore_every)?,
        version: given.version,
    })
}

pub(crate) fn weights_to_wire(version: &Version) -> wire::Weights {
    let shares = version.weights.shares();
    wire::Weights {
        capability: shares.capability.as_f64(),
        trust: shares.trust.as_f64(),
        health: shares.health.as_f64(),
        load: shares.load.as_f64(),
        generosity: shares.generosity.as_f64(),
        explore_every: i32::try_from(version.weights.explore_every()).unwrap_or(i32::MAX),
        version: version.version,
    }
}

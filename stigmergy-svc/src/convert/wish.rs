//! What somebody wants to do to a mark, as it came.

use cambium_proto::stigmergy::v1 as wire;
use cambium_stigmergy::payload::{Payload, PayloadFault};
use cambium_stigmergy::{Asked, HalfLife, Intensity, MarkerType, Placement, Region};

use super::marker_id;
use crate::error::Error;
use crate::touch::Wish;

pub(crate) fn place_from_wire(request: &wire::PlaceMarkerRequest) -> Result<Wish, Error> {
    let usual = Asked {
        intensity: Intensity::DEFAULT,
        is_capped: false,
    };
    let asked = request.intensity.map(Intensity::asked).transpose()?;
    let asked = asked.unwrap_or(usual);
    let placement = Placement {
        region: Region::parse(&request.region)?,
        kind: MarkerType::parse(&request.r#type)?,
        intensity: asked.intensity,
        half_life: request
            .half_life_s
            .map(HalfLife::from_seconds)
            .transpose()?,
    };
    Ok(Wish::Place {
        placement,
        is_capped: asked.is_capped,
        payload: payload(&request.payload)?,
    })
}

pub(crate) fn reinforce_from_wire(request: &wire::ReinforceMarkerRequest) -> Result<Wish, Error> {
    Ok(Wish::Reinforce(marker_id(&request.marker_id)?))
}

pub(crate) fn transform_from_wire(request: &wire::TransformMarkerRequest) -> Result<Wish, Error> {
    if request.expected_version < 0 {
        return Err(Error::field("expected_version", "is below 0"));
    }
    Ok(Wish::Transform {
        marker: marker_id(&request.marker_id)?,
        payload: payload(&request.payload)?,
        expected_version: request.expected_version,
    })
}

fn payload(bytes: &[u8]) -> Result<Option<Payload>, Error> {
    let rule = |fault: PayloadFault| Error::Rule(fault.into());
    Payload::parse(bytes).map_err(rule)
}

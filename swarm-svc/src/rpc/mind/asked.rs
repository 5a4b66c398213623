//! What is asked of minds, read off the wire; and a bundle, cut into parts and put together again.

use cambium_proto::swarm::v1 as wire;
use cambium_swarm::Instance;
use cambium_swarm::transfer::MOST_BYTES;
use tonic::{Request, Status, Streaming};

use super::Exported;
use crate::app::mind::{Birth, Proposal};
use crate::convert::mind as wired;
use crate::error::Error;

/// A part of a bundle, in bytes.
const PART: usize = 256 * 1024;

pub(super) fn proposal(request: wire::ProposeMindRequest) -> Result<Proposal, Error> {
    Ok(Proposal {
        instance: Instance::parse(&request.instance)?,
        display_name: request.display_name,
        mission: request.mission,
        target: wired::target_from_wire(request.target)?,
    })
}

pub(super) fn birth(request: wire::OpenMindRequest) -> Result<Birth, Error> {
    Ok(Birth {
        instance: Instance::parse(&request.instance)?,
        display_name: request.display_name,
        mission: request.mission,
        host: request.host,
        target: wired::target_from_wire(request.target)?,
        wakes: wired::wakes_from_wire(request.wakes)?.unwrap_or_default(),
        fresh: request.fresh,
    })
}

/// A bundle, in order.
pub(super) fn parts(bundle: &str) -> Vec<Exported> {
    let parts = bundle.as_bytes().chunks(PART);
    let parts = parts.map(|part| {
        Ok(wire::ExportMindResponse {
            chunk: part.to_vec(),
        })
    });
    parts.collect()
}

/// All messages as one: the first says where to, and who it is, and each carries a part of the bundle.
pub(super) async fn whole(
    request: Request<Streaming<wire::ReceiveMindRequest>>,
) -> Result<Request<wire::ReceiveMindRequest>, Status> {
    let (metadata, extensions, mut stream) = request.into_parts();
    let mut whole = stream.message().await?.unwrap_or_default();
    loop {
        if whole.chunk.len() > MOST_BYTES {
            let most = MOST_BYTES;
            return Err(Error::from(cambium_swarm::Error::BundleTooLarge { most }).into());
        }
        let Some(next) = stream.message().await? else {
            return Ok(Request::from_parts(metadata, extensions, whole));
        };
        whole.chunk.extend(next.chunk);
    }
}

pub(super) fn text(bytes: Vec<u8>) -> Result<String, Error> {
    String::from_utf8(bytes).map_err(|_| Error::field("bundle", "is no UTF-8"))
}

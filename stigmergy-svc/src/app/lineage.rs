//! Everything that a mark has carried, and who wrote it.

use cambium_kernel::{MarkerId, WorkspaceId};
use cambium_proto::stigmergy::v1 as wire;
use cambium_service_kit::principal::{Kind, Principal};

use super::{App, ROOM};
use crate::convert::{payload, time_to_wire};
use crate::error::Error;
use crate::store;
use crate::store::marker::Stored;
use crate::store::payload::Version;

/// Versions read at once.
const MOST: usize = 100;

impl App {
    /// A mark that has faded still has one, until it is deleted.
    pub(crate) async fn lineage(
        &self,
        principal: &Principal,
        workspace: &WorkspaceId,
        id: MarkerId,
        from_depth: i32,
    ) -> Result<wire::GetLineageResponse, Error> {
        if from_depth < 0 {
            return Err(Error::field("from_depth", "is below 0"));
        }
        let mut conn = self.pool.acquire().await?;
        let stored = store::marker::by_id(&mut conn, workspace, id).await?;
        let present = version_of(stored.ok_or(Error::NoMarker(id))?);
        let most = i64::try_from(MOST + 1).unwrap_or(i64::MAX);
        let earlier =
            store::payload::from_depth(&mut conn, workspace, id, from_depth, most).await?;
        let is_whole = earlier.len() <= MOST;
        // The mark may have been transformed between the two looks: then its present payload is the last one known.
        let versions = earlier
            .into_iter()
            .take(MOST)
            .filter(|version| version.depth < present.depth)
            .collect();
        let present = (is_whole && present.depth >= from_depth).then_some(present);
        let mut reply = fitting(versions, present);
        reply.more |= !is_whole;
        if principal.kind == Kind::Viewer {
            for version in &mut reply.versions {
                version.payload.clear();
            }
        }
        Ok(reply)
    }
}

fn version_of(stored: Stored) -> Version {
    Version {
        depth: i32::try_from(stored.marker.depth()).unwrap_or(i32::MAX),
        author: stored.author().to_string(),
        written_at: stored.written_at,
        hash: payload::hash(stored.payload.as_deref()).to_vec(),
        payload: stored.payload,
    }
}

/// As many as a reply has room for, but at least one.
fn fitting(versions: Vec<Version>, present: Option<Version>) -> wire::GetLineageResponse {
    let mut reply = wire::GetLineageResponse::default();
    let mut bytes = 0;
    for version in versions.into_iter().chain(present) {
        bytes += version.payload.as_ref().map_or(0, String::len);
        if bytes > ROOM && !reply.versions.is_empty() {
            reply.more = true;
            break;
        }
        reply.versions.push(wire::PayloadVersion {
            depth: version.depth,
            author: version.author,
            write_time: Some(time_to_wire(version.written_at)),
            payload_hash: payload::hex(&version.hash),
            payload: version.payload.unwrap_or_default().into_bytes(),
        });
    }
    reply
}

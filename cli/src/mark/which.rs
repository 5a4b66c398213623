//! Which mark somebody means: by its id, or by the region whose strongest mark it is.

use cambium_client::Connection;
use cambium_proto::stigmergy::v1::SenseMarkersRequest;
use uuid::Uuid;

use crate::ask::ask;
use crate::context::Context;
use crate::failure::Refusal;

/// A mark, as it is typed.
#[derive(Debug, clap::Args)]
pub(super) struct Which {
    /// A mark's id, or a region: its strongest mark
    #[arg(value_name = "ID|REGION")]
    which: String,
}

impl Which {
    pub(super) async fn id(
        self,
        connection: &Connection,
        context: &Context,
    ) -> anyhow::Result<String> {
        if Uuid::try_parse(&self.which).is_ok() {
            return Ok(self.which);
        }
        let request = SenseMarkersRequest {
            workspace_id: context.workspace(),
            region: self.which.clone(),
            limit: 1,
            ..SenseMarkersRequest::default()
        };
        let reply = ask!(connection, markers.sense_markers(request))?;
        let strongest = reply.markers.into_iter().next();
        strongest.map(|marker| marker.marker_id).ok_or_else(|| {
            let text = format!("there is no mark in `{}`", self.which);
            Refusal::Unknown(text, "cambium mark regions").into()
        })
    }
}

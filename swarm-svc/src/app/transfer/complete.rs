//! The old side of a transfer: it is read-only from then on, and says where the mind has gone. Refused if anything was written since
//! the bundle was made.

use cambium_kernel::WorkspaceId;
use cambium_proto::swarm::v1 as wire;
use cambium_service_kit::call::Call;
use cambium_swarm::authority::Action;
use cambium_swarm::mind::State;
use cambium_swarm::{Instance, canonical, text};
use serde_json::json;

use super::packed;
use crate::app::mind::{leave, look, touch_all};
use crate::app::{About, App};
use crate::error::Error;
use crate::store::mind::{self, Mind};

impl App {
    pub(crate) async fn complete_transfer(
        &self,
        call: &Call,
        workspace: &WorkspaceId,
        instance: &Instance,
        (to_host, sha256): (&str, &str),
    ) -> Result<wire::CompleteTransferResponse, Error> {
        let mut change = self.begin(call, workspace).await?;
        if let Some(reply) = change.admit(Action::OpenMind, Some(instance)).await? {
            return Ok(reply);
        }
        text::line(to_host).map_err(|why| Error::field("to_host", why.to_string()))?;
        if !canonical::is_digest(sha256) {
            return Err(Error::field(
                "bundle_sha256",
                "is no SHA-256 in lower-case hex",
            ));
        }
        touch_all(change.conn(), workspace, instance).await?;
        let known = mind::lock(change.conn(), workspace, instance).await?;
        let known = known.ok_or(cambium_swarm::Error::NoMind)?;
        let is_done = known.state == State::Moved && known.moved_to.as_deref() == Some(to_host);
        if !is_done {
            let (_, now_sha256) = packed(change.conn(), workspace, instance).await?;
            if now_sha256 != sha256 {
                return Err(cambium_swarm::Error::BundleStale.into());
            }
            let moved = Mind {
                state: State::Moved,
                moved_to: Some(to_host.to_owned()),
                closed_at: Some(change.now().await?),
                ..known
            };
            let by = change.author();
            leave(change.conn(), workspace, &moved, &by).await?;
        }
        let mind = Some(look(change.conn(), workspace, instance).await?);
        let about = About::mind(
            instance,
            json!({"to_host": to_host, "bundle_sha256": sha256}),
        );
        change
            .finish(wire::CompleteTransferResponse { mind }, about)
            .await
    }
}

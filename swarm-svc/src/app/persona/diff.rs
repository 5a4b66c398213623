//! Which parts of who a mind is differ between two versions. No change is hidden.

use cambium_kernel::WorkspaceId;
use cambium_proto::swarm::v1 as wire;
use cambium_swarm::Instance;
use cambium_swarm::persona::changed;

use super::put::stored;
use crate::app::App;
use crate::error::Error;
use crate::store::{mind, persona};

impl App {
    pub(crate) async fn diff_identity(
        &self,
        workspace: &WorkspaceId,
        instance: &Instance,
        (from, to): (i32, i32),
    ) -> Result<wire::DiffIdentityResponse, Error> {
        let mut conn = self.pool.acquire().await?;
        let found = mind::find(&mut conn, workspace, instance).await?;
        found.ok_or(cambium_swarm::Error::NoMind)?;
        let before = persona::find(&mut conn, workspace, instance, Some(from)).await?;
        let after = persona::find(&mut conn, workspace, instance, Some(to)).await?;
        let (before, after) = (stored(before, from)?, stored(after, to)?);
        let parts = changed(Some(&before), &after).into_iter();
        Ok(wire::DiffIdentityResponse {
            parts: parts.map(str::to_owned).collect(),
        })
    }
}

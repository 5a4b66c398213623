//! How merits count in a workspace: read and put.

use cambium_hypha::matching::Weights;
use cambium_kernel::WorkspaceId;
use cambium_proto::hypha::v1 as wire;
use cambium_service_kit::call::Call;
use cambium_service_kit::database::retry_conflicts;
use cambium_service_kit::receipt;

use super::App;
use crate::convert::matching::weights_to_wire;
use crate::error::Error;
use crate::store;
use crate::store::weights::Version;

impl App {
    /// The workspace's weights, or the defaults, which are version 0.
    pub(crate) async fn weights(&self, workspace: &WorkspaceId) -> Result<Version, Error> {
        let mut conn = self.pool.acquire().await?;
        let known = store::weights::find(&mut conn, workspace).await?;
        Ok(known.unwrap_or(Version {
            weights: Weights::default(),
            version: 0,
        }))
    }

    /// Puts the next version, once a request id.
    pub(crate) async fn put_weights(
        &self,
        call: &Call,
        workspace: &WorkspaceId,
        wish: &Version,
    ) -> Result<wire::PutWeightsResponse, Error> {
        let reply = retry_conflicts(3, || self.replace(call, workspace, wish)).await?;
        self.engine.standings.notify_one();
        Ok(reply)
    }

    async fn replace(
        &self,
        call: &Call,
        workspace: &WorkspaceId,
        wish: &Version,
    ) -> Result<wire::PutWeightsResponse, Error> {
        let mut tx = self.pool.begin().await?;
        if let Some(known) = receipt::find(&mut tx, store::SCHEMA, call, workspace).await? {
            return Ok(known);
        }
        if !store::weights::put(&mut tx, workspace, &wish.weights, wish.version).await? {
            return Err(Error::WeightsMoved(wish.version));
        }
        store::standing::tell(&mut tx).await?;
        let put = Version {
            version: wish.version + 1,
            ..*wish
        };
        let reply = wire::PutWeightsResponse {
            weights: Some(weights_to_wire(&put)),
        };
        receipt::insert(&mut tx, store::SCHEMA, call, workspace, &reply).await?;
        tx.commit().await?;
        Ok(reply)
    }
}

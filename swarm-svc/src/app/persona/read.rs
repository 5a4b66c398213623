//! Reading personas and their receipts. Private notes are for the mind itself and its operator alone, and who may
//! only look sees that there is a persona, and none of it.

use cambium_kernel::WorkspaceId;
use cambium_proto::swarm::v1 as wire;
use cambium_service_kit::page::Page;
use cambium_service_kit::principal::Principal;
use cambium_swarm::Instance;

use crate::app::App;
use crate::convert::{self, persona as wired};
use crate::error::Error;
use crate::store::{mind, persona};

impl App {
    /// A version; the newest where none is named.
    pub(crate) async fn persona(
        &self,
        caller: &Principal,
        workspace: &WorkspaceId,
        instance: &Instance,
        version: Option<i32>,
    ) -> Result<wire::GetPersonaResponse, Error> {
        let (reader, permit) = (convert::actor(caller)?, self.may_read(caller)?);
        let mut conn = self.pool.acquire().await?;
        let found = mind::find(&mut conn, workspace, instance).await?;
        found.ok_or(cambium_swarm::Error::NoMind)?;
        let stored = persona::find(&mut conn, workspace, instance, version).await?;
        match (&stored, version) {
            (persona::Stored::Absent, Some(version)) => Err(Error::NoVersion(version)),
            _ => Ok(wired::persona_to_wire(&stored, (&reader, permit), instance)),
        }
    }

    /// Newest first.
    pub(crate) async fn persona_versions(
        &self,
        caller: &Principal,
        workspace: &WorkspaceId,
        instance: &Instance,
        page: &Page<i64>,
    ) -> Result<wire::ListPersonaVersionsResponse, Error> {
        let permit = self.may_read(caller)?;
        let mut conn = self.pool.acquire().await?;
        let found = mind::find(&mut conn, workspace, instance).await?;
        found.ok_or(cambium_swarm::Error::NoMind)?;
        let limit = page.size + 1;
        let receipts = persona::list(&mut conn, workspace, instance, page.after, limit).await?;
        let cursors: Vec<i64> = receipts.iter().map(|one| one.version.into()).collect();
        let receipts = receipts.into_iter();
        let shown = receipts.map(|receipt| wired::receipt_to_wire(receipt, permit));
        let (versions, next_page_token) = page.cut(shown, &cursors);
        Ok(wire::ListPersonaVersionsResponse {
            versions,
            next_page_token,
        })
    }
}

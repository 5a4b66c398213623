//! Reading work. Changes nothing.

use cambium_kernel::WorkspaceId;
use cambium_proto::swarm::v1 as wire;
use cambium_service_kit::page::Page;
use cambium_swarm::authority::Permit;

use crate::app::App;
use crate::convert::routing::work_to_wire;
use crate::error::Error;
use crate::store::work::{self, Filter, Place};

impl App {
    pub(crate) async fn work(
        &self,
        workspace: &WorkspaceId,
        filter: &Filter,
        page: &Page<Place>,
        permit: Permit,
    ) -> Result<wire::ListWorkResponse, Error> {
        let mut conn = self.pool.acquire().await?;
        let found = work::list(&mut conn, workspace, filter, page).await?;
        let places: Vec<Place> = found.iter().map(|item| Place(item.id.as_uuid())).collect();
        let shown = found.iter().map(|item| wire::Work {
            body: match permit {
                Permit::Full => item.body.clone(),
                Permit::Redacted => String::new(),
            },
            ..work_to_wire(item)
        });
        let (work, next_page_token) = page.cut(shown, &places);
        Ok(wire::ListWorkResponse {
            work,
            next_page_token,
        })
    }
}

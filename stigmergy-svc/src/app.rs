//! The use cases of stigmergy. Those that change marks share transactions (`touch`); the others read, and never write.

mod lineage;
mod look;
pub(crate) mod watch;

use std::fmt;

use cambium_kernel::{AgentId, WorkspaceId};
use cambium_proto::stigmergy::v1 as wire;
use cambium_service_kit::call::Call;
use cambium_service_kit::principal::{Kind, Principal};
use cambium_service_kit::shutdown::Stop;
use cambium_service_kit::watchers::Watchers;
use chrono::{DateTime, Utc};
use sqlx::{PgConnection, PgPool};
use tokio::sync::broadcast;
use uuid::Uuid;

use crate::convert;
use crate::error::Error;
use crate::store;
use crate::store::marker::Stored;
use crate::store::standing::Standings;
use crate::touch::{Answer, Touches, Wish};

/// Clients take replies of up to 4 MiB; a mark may carry 256 KiB.
const ROOM: usize = 3 << 20;

/// What every use case needs.
#[derive(Clone)]
pub(crate) struct App {
    pub(crate) pool: PgPool,
    pub(crate) touches: Touches,
    /// Says which workspace has new events.
    pub(crate) news: broadcast::Sender<WorkspaceId>,
    pub(crate) watchers: Watchers,
    pub(crate) stop: Stop,
}

// Nothing in it is for a log.
impl fmt::Debug for App {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("App").finish_non_exhaustive()
    }
}

impl App {
    /// Places, reinforces or transforms: whatever the wish is, it is the caller's own.
    pub(crate) async fn touch(
        &self,
        call: Call,
        workspace: WorkspaceId,
        wish: Wish,
    ) -> Result<Answer, Error> {
        let author = convert::author(&call.principal)?;
        self.touches.touch(call, workspace, author, wish).await
    }
}

/// How a caller sees marks: at one moment, with what is thought of their authors, and a viewer without what they carry.
struct View {
    now: DateTime<Utc>,
    standings: Standings,
    is_redacted: bool,
}

impl View {
    async fn of(
        conn: &mut PgConnection,
        principal: &Principal,
        workspace: &WorkspaceId,
        marks: &[Stored],
        now: DateTime<Utc>,
    ) -> Result<Self, Error> {
        let agents = marks.iter().flat_map(|stored| stored.marker.agents());
        let mut agents: Vec<Uuid> = agents.map(AgentId::as_uuid).collect();
        agents.sort_unstable();
        agents.dedup();
        let standings = store::standing::of_agents(conn, workspace, &agents).await?;
        Ok(Self {
            now,
            standings,
            is_redacted: principal.kind == Kind::Viewer,
        })
    }

    fn is_quarantined(&self, stored: &Stored) -> bool {
        convert::marker::is_quarantined(stored, &self.standings)
    }

    fn to_wire(&self, stored: &Stored) -> wire::Marker {
        let mut marker = convert::marker::to_wire(stored, &self.standings, self.now);
        if self.is_redacted {
            marker.payload.clear();
        }
        marker
    }
}

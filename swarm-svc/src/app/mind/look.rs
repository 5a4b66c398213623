//! Looking at minds: what people see of their state, their agenda and their share. Changes nothing.

use std::collections::BTreeMap;

use cambium_kernel::WorkspaceId;
use cambium_proto::swarm::v1 as wire;
use cambium_service_kit::page::Page;
use cambium_swarm::Instance;
use cambium_swarm::mind::{Shown, shown};
use chrono::{DateTime, Utc};
use sqlx::PgConnection;

use crate::app::App;
use crate::convert::mind::{Seen, mind_to_wire};
use crate::error::Error;
use crate::store::mind::{self, Mind};
use crate::store::standing::{self, Placed};
use crate::store::{self, lead};

/// Minds read at once.
const ROWS: i64 = 200;

/// A mind as people see it, and until when it looks so if nothing happens.
pub(super) struct Looked {
    pub(super) instance: Instance,
    pub(super) shown: Shown,
    pub(super) mind: wire::Mind,
    pub(super) until: Option<DateTime<Utc>>,
}

/// One mind, whatever its state.
pub(crate) async fn look(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    instance: &Instance,
) -> Result<wire::Mind, Error> {
    let found = mind::find(conn, workspace, instance).await?;
    let found = found.ok_or(cambium_swarm::Error::NoMind)?;
    let looked = looked(conn, workspace, vec![found]).await?;
    let first = looked.into_iter().next();
    Ok(first.ok_or(cambium_swarm::Error::NoMind)?.mind)
}

/// These minds, in their order.
pub(super) async fn looked(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    minds: Vec<Mind>,
) -> Result<Vec<Looked>, Error> {
    let names: Vec<Instance> = minds.iter().map(|mind| mind.instance.clone()).collect();
    let placed = standing::load(conn, workspace, Some(&names)).await?;
    let placed: BTreeMap<Instance, Placed> = placed
        .into_iter()
        .map(|one| (one.instance.clone(), one))
        .collect();
    let lead = lead::current(conn, workspace).await?;
    let now = store::now(conn).await?;
    let seen = minds.into_iter().filter_map(|mind| {
        let standing = &placed.get(&mind.instance)?.standing;
        let shown = shown(standing, now);
        let seen = Seen {
            workspace: workspace.as_str(),
            mind: &mind,
            shown,
            agenda: &standing.agenda,
            is_lead: lead.as_ref() == Some(&mind.instance),
            share_ppm: standing.share.map_or(0, |share| share.as_ppm()),
        };
        let ends = [standing.session_until, standing.agenda.rest_until];
        Some(Looked {
            mind: mind_to_wire(&seen),
            shown,
            until: ends.into_iter().flatten().filter(|at| *at > now).min(),
            instance: mind.instance,
        })
    });
    Ok(seen.collect())
}

impl App {
    pub(crate) async fn mind(
        &self,
        workspace: &WorkspaceId,
        instance: &Instance,
    ) -> Result<wire::GetMindResponse, Error> {
        let mut conn = self.pool.acquire().await?;
        let mind = Some(look(&mut conn, workspace, instance).await?);
        Ok(wire::GetMindResponse { mind })
    }

    /// By name; those of one state, or all.
    pub(crate) async fn minds(
        &self,
        workspace: &WorkspaceId,
        state: Option<Shown>,
        page: &Page<String>,
    ) -> Result<wire::ListMindsResponse, Error> {
        let mut conn = self.pool.acquire().await?;
        let wanted = usize::try_from(page.size).unwrap_or(usize::MAX);
        let mut after = page.after.clone().unwrap_or_default();
        let mut found: Vec<Looked> = Vec::new();
        while found.len() <= wanted {
            let rows = mind::list(&mut conn, workspace, &after, ROWS).await?;
            let Some(last) = rows.last() else {
                break;
            };
            after = last.instance.to_string();
            let seen = looked(&mut conn, workspace, rows).await?;
            let fits = |one: &Looked| state.is_none_or(|state| one.shown == state);
            found.extend(seen.into_iter().filter(fits));
        }
        let cursors: Vec<String> = found.iter().map(|one| one.instance.to_string()).collect();
        let (minds, next_page_token) = page.cut(found.into_iter().map(|one| one.mind), &cursors);
        Ok(wire::ListMindsResponse {
            minds,
            next_page_token,
        })
    }
}

//! Looking at marks: one, those of a part of the environment, and what a part of it amounts to.

use std::collections::{BTreeMap, HashMap};

use cambium_kernel::{MarkerId, WorkspaceId};
use cambium_proto::stigmergy::v1 as wire;
use cambium_service_kit::page::Page;
use cambium_service_kit::principal::Principal;
use cambium_stigmergy::Region;
use prost::Message as _;
use uuid::Uuid;

use super::{App, ROOM, View};
use crate::error::Error;
use crate::store;
use crate::store::region::Range;
use crate::store::sense::{Search, Sum};

/// Regions that one gradient tells of, at most.
const MOST_REGIONS: usize = 1_000;

impl App {
    pub(crate) async fn marker(
        &self,
        principal: &Principal,
        workspace: &WorkspaceId,
        id: MarkerId,
    ) -> Result<wire::GetMarkerResponse, Error> {
        let mut conn = self.pool.acquire().await?;
        let stored = store::marker::by_id(&mut conn, workspace, id).await?;
        let now = store::now(&mut conn).await?;
        let stored = stored.filter(|stored| stored.is_live(now));
        let stored = [stored.ok_or(Error::NoMarker(id))?];
        let view = View::of(&mut conn, principal, workspace, &stored, now).await?;
        let [stored] = stored;
        Ok(wire::GetMarkerResponse {
            marker: Some(view.to_wire(&stored)),
        })
    }

    /// Live marks, one more than asked for: whether it is there says whether there were more.
    pub(crate) async fn sense(
        &self,
        principal: &Principal,
        workspace: &WorkspaceId,
        search: &Search,
    ) -> Result<wire::SenseMarkersResponse, Error> {
        let mut conn = self.pool.acquire().await?;
        let now = store::now(&mut conn).await?;
        let mut found = store::sense::marks(&mut conn, workspace, search, now).await?;
        let view = View::of(&mut conn, principal, workspace, &found, now).await?;
        // A quarantine may have come between the two looks.
        found.retain(|stored| search.include_quarantined || !view.is_quarantined(stored));
        let mut reply = wire::SenseMarkersResponse {
            more: found.len() > search.limit,
            ..wire::SenseMarkersResponse::default()
        };
        let mut bytes = 0;
        for stored in found.iter().take(search.limit) {
            let marker = view.to_wire(stored);
            bytes += marker.encoded_len();
            if bytes > ROOM && !reply.markers.is_empty() {
                reply.more = true;
                break;
            }
            reply.markers.push(marker);
        }
        Ok(reply)
    }

    pub(crate) async fn gradient(
        &self,
        principal: &Principal,
        workspace: &WorkspaceId,
        region: Option<&Region>,
        include_quarantined: bool,
    ) -> Result<wire::SenseGradientResponse, Error> {
        let mut conn = self.pool.acquire().await?;
        let now = store::now(&mut conn).await?;
        let range = Range::within(region);
        // With the slash behind the region's own name.
        let skip = region.map_or(0, |region| region.as_str().len() + 1);
        let skip = i32::try_from(skip).unwrap_or(i32::MAX);
        let sums = store::sense::sums(&mut conn, workspace, &range, skip, include_quarantined, now)
            .await?;
        let (children, more) = strongest(by_child(sums));
        let ids: Vec<Uuid> = children.iter().map(|c| c.strongest.as_uuid()).collect();
        let mut found = store::marker::by_ids(&mut conn, workspace, &ids).await?;
        for stored in &mut found {
            stored.payload = None;
        }
        let view = View::of(&mut conn, principal, workspace, &found, now).await?;
        let found: HashMap<MarkerId, wire::Marker> = found
            .iter()
            .map(|stored| (stored.marker.id, view.to_wire(stored)))
            .collect();
        let regions = children.into_iter().map(|child| wire::RegionGradient {
            region: region.map_or_else(
                || child.name.clone(),
                |region| format!("{region}/{}", child.name),
            ),
            strongest: found.get(&child.strongest).cloned(),
            sums: child.sums,
        });
        Ok(wire::SenseGradientResponse {
            regions: regions.collect(),
            more,
        })
    }

    pub(crate) async fn regions(
        &self,
        workspace: &WorkspaceId,
        region: Option<&Region>,
        page: &Page<String>,
    ) -> Result<wire::ListRegionsResponse, Error> {
        let mut conn = self.pool.acquire().await?;
        let range = Range::within(region);
        let (after, limit) = (page.after.as_deref().unwrap_or_default(), page.size + 1);
        let found = store::region::list(&mut conn, workspace, &range, after, limit).await?;
        let cursors: Vec<String> = found.iter().map(|one| one.region.clone()).collect();
        let regions = found.into_iter().map(|one| wire::RegionSummary {
            region: one.region,
            markers: one.markers,
        });
        let (regions, next_page_token) = page.cut(regions, &cursors);
        Ok(wire::ListRegionsResponse {
            regions,
            next_page_token,
        })
    }
}

/// What is at and below one region that is right below the one asked for.
struct Child {
    name: String,
    strongest: MarkerId,
    loudest: i32,
    sums: Vec<wire::CategorySum>,
}

/// By name.
fn by_child(sums: Vec<Sum>) -> Vec<Child> {
    let mut children: BTreeMap<String, Child> = BTreeMap::new();
    for sum in sums {
        let child = children.entry(sum.child.clone()).or_insert(Child {
            name: sum.child,
            strongest: sum.strongest,
            loudest: sum.loudest,
            sums: Vec::new(),
        });
        if sum.loudest > child.loudest {
            (child.loudest, child.strongest) = (sum.loudest, sum.strongest);
        }
        child.sums.push(wire::CategorySum {
            category: sum.category,
            intensity: share(sum.sum),
            markers: sum.markers,
        });
    }
    children.into_values().collect()
}

/// As many as a reply tells of, by name, and whether there were more.
fn strongest(mut children: Vec<Child>) -> (Vec<Child>, bool) {
    let more = children.len() > MOST_REGIONS;
    if more {
        children.sort_by_key(|child| std::cmp::Reverse(child.loudest));
        children.truncate(MOST_REGIONS);
        children.sort_by(|a, b| a.name.cmp(&b.name));
    }
    (children, more)
}

#[expect(
    clippy::cast_precision_loss,
    reason = "sums of marks stay far below 2^53 millionths"
)]
fn share(millionths: i64) -> f64 {
    millionths as f64 / 1e6
}

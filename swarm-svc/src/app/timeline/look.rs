//! Reading turns and the timeline. Changes nothing: the bucket is shown as a refill would leave it.

use cambium_kernel::WorkspaceId;
use cambium_proto::swarm::v1 as wire;
use cambium_service_kit::page::Page;
use cambium_swarm::mind::State;
use cambium_swarm::pick;
use cambium_swarm::tick::Round;
use cambium_swarm::{Instance, TurnId};
use sqlx::PgConnection;

use super::held::Held;
use super::tick::round;
use crate::app::App;
use crate::convert::{self, timeline as wired};
use crate::error::Error;
use crate::store::{self, bucket, setting, standing, timeline};

/// How far a list of turns was read: the last turn's id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Before(pub(crate) TurnId);

impl cambium_service_kit::page::Cursor for Before {
    fn as_text(&self) -> String {
        self.0.to_string()
    }

    fn parse(text: &str) -> Option<Self> {
        text.parse().ok().map(Self)
    }
}

impl App {
    pub(crate) async fn turn(
        &self,
        workspace: &WorkspaceId,
        id: TurnId,
    ) -> Result<wire::GetTurnResponse, Error> {
        let mut conn = self.pool.acquire().await?;
        let stored = store::turn::find(&mut conn, workspace, id).await?;
        let stored = stored.ok_or(Error::NoTurn(id))?;
        let charge = store::charge::find(&mut conn, workspace, id).await?;
        let grant = store::grant::find(&mut conn, workspace, id).await?;
        Ok(wire::GetTurnResponse {
            turn: Some(wired::turn_to_wire(&stored, charge.as_ref())),
            grant: grant.as_ref().map(wired::grant_to_wire),
        })
    }

    pub(crate) async fn turns(
        &self,
        workspace: &WorkspaceId,
        (mind, live_only): (Option<&Instance>, bool),
        page: &Page<Before>,
    ) -> Result<wire::ListTurnsResponse, Error> {
        let mut conn = self.pool.acquire().await?;
        let before = page.after.map(|before| before.0);
        let limit = page.size + 1;
        let found =
            store::turn::list(&mut conn, workspace, (mind, live_only), before, limit).await?;
        let ids: Vec<TurnId> = found.iter().map(|stored| stored.turn.id).collect();
        let charges = store::charge::of(&mut conn, workspace, &ids).await?;
        let cursors: Vec<Before> = ids.into_iter().map(Before).collect();
        let shown = found
            .iter()
            .map(|stored| wired::turn_to_wire(stored, charges.get(&stored.turn.id)));
        let (turns, next_page_token) = page.cut(shown, &cursors);
        Ok(wire::ListTurnsResponse {
            turns,
            next_page_token,
        })
    }

    pub(crate) async fn timeline(
        &self,
        workspace: &WorkspaceId,
    ) -> Result<wire::GetTimelineResponse, Error> {
        let mut conn = self.pool.acquire().await?;
        let round = seen(&mut conn, workspace).await?;
        let placed = standing::load(&mut conn, workspace, None).await?;
        let rows = timeline::all(&mut conn, workspace).await?;
        let live = store::turn::live(&mut conn, workspace).await?;
        let (_, seq) = store::event::reach(&mut conn, workspace).await?;
        let min_vtime = timeline::min_vtime(&mut conn, workspace).await?;
        let open = placed
            .iter()
            .filter(|one| one.standing.state == State::Open);
        let members: Vec<_> = open
            .clone()
            .filter(|one| one.standing.is_member(round.now))
            .filter_map(|one| Some((one.instance.clone(), one.effective(round.now)?)))
            .collect();
        let k = round.dial.map_or(1, |dial| dial.k());
        let infeasible = pick::infeasible(&members, k);
        let mut minds: Vec<wire::TimelineMind> = open
            .map(|one| {
                let turn = live
                    .iter()
                    .find(|stored| stored.turn.instance == one.instance);
                wire::TimelineMind {
                    instance: one.instance.to_string(),
                    vtime: rows
                        .get(&one.instance)
                        .map_or(min_vtime, |row| row.seat.vtime)
                        .as_units(),
                    effective_ppm: one.effective(round.now).map_or(0, |share| share.as_ppm()),
                    haste_ppm: one.factor(round.now).as_ppm(),
                    member: one.standing.is_member(round.now),
                    live_turn_id: turn
                        .map_or_else(String::new, |stored| stored.turn.id.to_string()),
                    infeasible: infeasible.contains(&one.instance),
                    share_ppm: one.standing.share.map_or(0, |share| share.as_ppm()),
                }
            })
            .collect();
        minds.sort_by(|a, b| {
            let key = |mind: &wire::TimelineMind| (!mind.member, mind.vtime, -mind.effective_ppm);
            key(a)
                .cmp(&key(b))
                .then_with(|| a.instance.cmp(&b.instance))
        });
        Ok(wire::GetTimelineResponse {
            minds,
            min_vtime: min_vtime.as_units(),
            bucket_micro_usd: round.bucket.level.as_micros(),
            reserved_micro_usd: round.reserved.as_micros(),
            burst_micro_usd: round.dial.map_or(0, |dial| dial.burst().as_micros()),
            k: round.dial.map_or(0, |dial| dial.k().into()),
            live: i32::try_from(live.len()).unwrap_or(i32::MAX),
            wallet: wired::wallet_to_wire(&round.limit, round.now),
            seq,
        })
    }
}

/// What a tick would read now, without taking the bucket.
pub(super) async fn seen(conn: &mut PgConnection, workspace: &WorkspaceId) -> Result<Round, Error> {
    let dial = setting::dial(conn, workspace).await?;
    let now = store::now(conn).await?;
    let stored = bucket::find(conn, workspace).await?;
    let bucket = match (&dial, stored) {
        (Some(dial), Some(bucket)) => bucket.refilled(dial, now),
        (Some(dial), None) => cambium_swarm::bucket::Bucket::lost(dial, now),
        (None, Some(bucket)) => bucket,
        (None, None) => cambium_swarm::bucket::Bucket::empty(now),
    };
    let held = Held {
        now,
        dial,
        bucket,
        turn: None,
        has_moved: false,
        steps: Vec::new(),
    };
    round(conn, workspace, &held).await
}

/// An instant, where there is one.
pub(super) fn at(at: Option<chrono::DateTime<chrono::Utc>>) -> Option<prost_types::Timestamp> {
    at.map(convert::time)
}

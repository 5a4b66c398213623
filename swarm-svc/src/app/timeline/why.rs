//! Why a mind has no turn, what is likely next, and when the wallet runs dry (design: swarm, section 11).

use cambium_kernel::WorkspaceId;
use cambium_proto::swarm::v1 as wire;
use cambium_swarm::forecast::{self, Burn, Runner};
use cambium_swarm::pick::Candidate;
use cambium_swarm::wallet::Limit;
use cambium_swarm::{Instance, Why};
use chrono::{DateTime, Utc};
use sqlx::PgConnection;

use super::look::{at, seen};
use crate::app::App;
use crate::convert::timeline as wired;
use crate::error::Error;
use crate::store::persona::Stored as Persona;
use crate::store::standing::Placed;
use crate::store::{self, setting, standing, timeline};

/// A mind's place is counted no further.
const MOST_PLACES: i64 = 10_000;

impl App {
    pub(crate) async fn explain(
        &self,
        workspace: &WorkspaceId,
        mind: &Instance,
    ) -> Result<wire::ExplainMindResponse, Error> {
        let mut conn = self.pool.acquire().await?;
        let mut placed = standing::of(&mut conn, workspace, mind).await?;
        let persona = store::persona::newest(&mut conn, workspace, mind).await?;
        placed.standing.has_unreadable_persona = matches!(persona, Persona::Unreadable);
        let round = seen(&mut conn, workspace).await?;
        let live = store::turn::live(&mut conn, workspace).await?;
        let own = live.iter().find(|stored| stored.turn.instance == *mind);
        let order = timeline::runnable(&mut conn, workspace, MOST_PLACES).await?;
        let place = place(&mut conn, workspace, &placed, &order, round.now).await?;
        let deadline = own.map(|stored| stored.turn.deadline);
        let found = forecast::explain(&placed.standing, &round, deadline, place == Some(0));
        let why = found.map(|found| found.why);
        let first = order.first().filter(|_| why == Some(Why::Behind));
        Ok(wire::ExplainMindResponse {
            why: why.map_or(0, |why| wired::why_to_wire(why).into()),
            until: at(found.and_then(|found| found.until)),
            text: wired::sentence(why).to_owned(),
            first: first.map_or_else(String::new, |one| one.instance.to_string()),
            place: place.map_or(0, |place| i32::try_from(place + 1).unwrap_or(i32::MAX)),
        })
    }

    pub(crate) async fn preview(
        &self,
        workspace: &WorkspaceId,
        n: usize,
    ) -> Result<wire::PreviewTurnsResponse, Error> {
        let mut conn = self.pool.acquire().await?;
        let Some(dial) = setting::dial(&mut conn, workspace).await? else {
            return Ok(wire::PreviewTurnsResponse::default());
        };
        let runners = runners(&mut conn, workspace, &dial).await?;
        let turns = forecast::preview(runners, dial.floor(), n).into_iter();
        Ok(wire::PreviewTurnsResponse {
            turns: turns
                .map(|turn| wire::PreviewedTurn {
                    instance: turn.instance.to_string(),
                    assumed_cost_micro_usd: turn.cost.as_micros(),
                })
                .collect(),
        })
    }

    pub(crate) async fn forecast(
        &self,
        workspace: &WorkspaceId,
    ) -> Result<wire::ForecastWalletResponse, Error> {
        let mut conn = self.pool.acquire().await?;
        let round = seen(&mut conn, workspace).await?;
        let wallet = wired::wallet_to_wire(&round.limit, round.now);
        let (Limit::Of(limit, spending), Some(dial)) = (round.limit, round.dial) else {
            return Ok(wire::ForecastWalletResponse {
                wallet,
                ..wire::ForecastWalletResponse::default()
            });
        };
        let charged = store::charge::of_last_day(&mut conn, workspace).await?;
        let first = store::turn::first_launch(&mut conn, workspace).await?;
        let burn = first.map(|first_launch| Burn {
            charged,
            first_launch,
        });
        let held = round.held(&dial);
        let dry = forecast::dry(
            (&limit, spending),
            (&round.bucket, held),
            &dial,
            burn,
            round.now,
        );
        Ok(wire::ForecastWalletResponse {
            wallet,
            remaining_micro_usd: dry.remaining.as_micros(),
            burn_micro_usd_per_h: dry.burn_per_h.as_micros(),
            expected_dry: at(dry.expected),
            earliest_dry: at(dry.earliest),
        })
    }
}

/// A mind's place among the runnable, from 0. One that no tick has seen yet is put where the next one will.
async fn place(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    placed: &Placed,
    order: &[Candidate],
    now: DateTime<Utc>,
) -> Result<Option<usize>, Error> {
    let known = order.iter().position(|one| one.instance == placed.instance);
    let Some(share) = placed
        .effective(now)
        .filter(|_| known.is_none() && placed.standing.is_member(now) && !placed.standing.is_live)
    else {
        return Ok(known);
    };
    let least = timeline::min_vtime(conn, workspace).await?;
    let own = std::slice::from_ref(&placed.instance);
    let rows = timeline::rows(conn, workspace, own).await?;
    let vtime = rows
        .get(&placed.instance)
        .map_or(least, |row| row.seat.vtime);
    let own = Candidate {
        instance: placed.instance.clone(),
        vtime: vtime.max(least),
        share,
    };
    Ok(Some(order.iter().filter(|one| one.is_before(&own)).count()))
}

/// The members, each with what its turns cost on average.
async fn runners(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    dial: &cambium_swarm::dial::Dial,
) -> Result<Vec<Runner>, Error> {
    let now = store::now(conn).await?;
    let placed = standing::load(conn, workspace, None).await?;
    let members: Vec<_> = placed
        .iter()
        .filter(|one| one.standing.is_member(now))
        .collect();
    let names: Vec<String> = members.iter().map(|one| one.instance.to_string()).collect();
    let costs = store::charge::newest_costs(conn, workspace, &names).await?;
    let rows = timeline::all(conn, workspace).await?;
    let least = timeline::min_vtime(conn, workspace).await?;
    let live = store::turn::live(conn, workspace).await?;
    let runners = members.into_iter().filter_map(|one| {
        let known = costs
            .get(one.instance.as_str())
            .map_or(&[][..], Vec::as_slice);
        let turn = live
            .iter()
            .find(|stored| stored.turn.instance == one.instance);
        Some(Runner {
            candidate: Candidate {
                instance: one.instance.clone(),
                vtime: rows.get(&one.instance).map_or(least, |row| row.seat.vtime),
                share: one.effective(now)?,
            },
            haste: one.factor(now),
            mean: forecast::mean(known, dial.cap()),
            live: turn.map(|stored| (stored.turn.share, stored.turn.haste, stored.turn.floor)),
        })
    });
    Ok(runners.collect())
}

//! A turn's charge: once, under the bucket's row, by what the launch wrote down (design: swarm, section 6, `settle`).

use cambium_kernel::{Usd, WorkspaceId};
use cambium_swarm::charge::{self, Charge, Finding, Outcome, Settlement, Source};
use cambium_swarm::turn::State;
use cambium_swarm::{Instance, TurnId};
use serde_json::{Value, json};
use sqlx::PgConnection;

use super::METER;
use super::held::{Held, hold};
use crate::app::App;
use crate::error::Error;
use crate::store::charge::Settled;
use crate::store::timeline::Row;
use crate::store::turn::Stored;
use crate::store::{self, audit, bucket, event, launch, timeline};

/// What somebody found out about a turn.
#[derive(Clone, Debug)]
pub(crate) struct Found {
    pub(crate) finding: Finding,
    /// As the audit calls whoever found it.
    pub(crate) by: String,
    pub(crate) evidence: Value,
}

impl Found {
    /// As swarm itself found it.
    pub(super) fn ours(cost: Option<Usd>, source: Source, outcome: Outcome) -> Self {
        Self {
            finding: Finding {
                cost_micro_usd: cost.map(Usd::as_micros),
                declared_micro_usd: None,
                source,
                outcome,
            },
            by: METER.to_owned(),
            evidence: Value::Null,
        }
    }
}

impl App {
    /// Settles in a transaction of its own.
    pub(super) async fn settle_alone(
        &self,
        workspace: &WorkspaceId,
        turn: TurnId,
        found: &Found,
    ) -> Result<(Settled, bool), Error> {
        let mut tx = self.pool.begin().await?;
        let settled = settle(&mut tx, workspace, turn, found).await?;
        tx.commit().await?;
        Ok(settled)
    }
}

/// Settles a turn, and says whether it had its charge before: then that one stands, and another figure is kept in the audit.
pub(crate) async fn settle(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    id: TurnId,
    found: &Found,
) -> Result<(Settled, bool), Error> {
    let held = hold(conn, workspace, Some(id)).await?;
    settle_held(conn, workspace, id, held, found).await
}

/// As [`settle`], by whoever holds the bucket's row already.
pub(super) async fn settle_held(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    id: TurnId,
    held: Held,
    found: &Found,
) -> Result<(Settled, bool), Error> {
    let charged = store::charge::find(conn, workspace, id).await?;
    let turn = held.turn.as_ref().map(|stored| &stored.turn);
    let settlement = charge::settle(turn, charged.map(|known| known.charge), found.finding)?;
    match (settlement, charged, held.turn.clone()) {
        (Settlement::New(charge), _, Some(stored)) => {
            charge_turn(conn, workspace, &held, stored, charge, found).await?;
            held.tell(conn, workspace).await?;
            let at = held.now;
            Ok((Settled { charge, at }, false))
        }
        (_, Some(known), _) => {
            tell_other(conn, workspace, id, &known.charge, found).await?;
            held.tell(conn, workspace).await?;
            Ok((known, true))
        }
        _ => Err(cambium_swarm::Error::NeverLaunched.into()),
    }
}

async fn charge_turn(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    held: &Held,
    mut stored: Stored,
    charge: Charge,
    found: &Found,
) -> Result<(), Error> {
    store::charge::insert(conn, workspace, &stored.turn, &charge, held.now).await?;
    let after = held.bucket.charged(charge.cost);
    bucket::put(conn, workspace, &after).await?;
    let levels = (held.bucket.level, after.level);
    bucket::log(
        conn,
        workspace,
        bucket::Kind::Settle,
        levels,
        Some(stored.turn.id),
    )
    .await?;

    stored.outcome = Some(charge.outcome);
    if charge.outcome != Outcome::LateStart {
        stored.turn.state = State::Settled;
        stored.ended_at = Some(held.now);
        // Whoever settled it otherwise than by its own runs' end has hypha end those.
        stored.is_closing = charge.source != Source::Run;
        rested(conn, workspace, held, &stored).await?;
    }
    store::turn::update(conn, workspace, &stored).await?;
    advance(
        conn,
        workspace,
        &stored.turn.instance,
        &charge,
        stored.turn.id,
    )
    .await?;
    tell(conn, workspace, &stored, &charge, found).await
}

/// The mind's launch row and agenda, as its turn leaves them.
async fn rested(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    held: &Held,
    stored: &Stored,
) -> Result<(), Error> {
    let mind = &stored.turn.instance;
    let row = launch::lock(conn, workspace, mind).await?;
    let row = row.ran(stored.turn.launched_at).settled();
    launch::update(conn, workspace, mind, &row).await?;
    let agenda = store::mind::agenda(conn, workspace, mind).await?;
    let holds_work = store::work::is_held(conn, workspace, mind).await?;
    let next = agenda.settled(holds_work, held.now);
    if next != agenda {
        store::mind::put_agenda(conn, workspace, mind, &next, None).await?;
    }
    Ok(())
}

/// Moves the mind's clock, whether or not it is still a member.
async fn advance(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    mind: &Instance,
    charge: &Charge,
    turn: TurnId,
) -> Result<(), Error> {
    let own = std::slice::from_ref(mind);
    let mut rows = timeline::rows(conn, workspace, own).await?;
    let eff_ppm = rows.get(mind).map_or(0, |row| row.eff_ppm);
    let seats = rows
        .iter()
        .map(|(mind, row)| (mind.clone(), row.seat))
        .collect();
    let (mut line, _) = timeline::around(conn, workspace, own, seats).await?;
    let before = line.min_vtime();
    let step = line.charge(mind, charge.vdelta);
    timeline::log(conn, workspace, &step, Some(turn)).await?;
    if let Some(seat) = line.seats().get(mind) {
        rows.insert(
            mind.clone(),
            Row {
                seat: *seat,
                eff_ppm,
            },
        );
        timeline::put(conn, workspace, &rows).await?;
    }
    if line.min_vtime() != before {
        timeline::put_min_vtime(conn, workspace, line.min_vtime()).await?;
    }
    rebase(conn, workspace).await
}

/// Once a clock has gone so far that sums could overflow, all go back by the least.
async fn rebase(conn: &mut PgConnection, workspace: &WorkspaceId) -> Result<(), Error> {
    if !timeline::is_far(conn, workspace).await? {
        return Ok(());
    }
    let mut rows = timeline::all(conn, workspace).await?;
    let seats = rows
        .iter()
        .map(|(mind, row)| (mind.clone(), row.seat))
        .collect();
    let least = timeline::min_vtime(conn, workspace).await?;
    let mut line = cambium_swarm::timeline::Timeline::stored(least, seats);
    for step in line.rebase() {
        timeline::log(conn, workspace, &step, None).await?;
    }
    for (mind, row) in &mut rows {
        row.seat = line.seats().get(mind).copied().unwrap_or(row.seat);
    }
    timeline::put(conn, workspace, &rows).await?;
    timeline::put_min_vtime(conn, workspace, line.min_vtime()).await
}

async fn tell(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    stored: &Stored,
    charge: &Charge,
    found: &Found,
) -> Result<(), Error> {
    let body = json!({
        "cost_micro_usd": charge.cost.as_micros(),
        "measured": charge.is_measured,
        "vdelta": charge.vdelta,
        "outcome": charge.outcome.as_str(),
        "source": charge.source.as_str(),
        "overrun": charge.is_overrun,
        "evidence": found.evidence,
    });
    let entry = entry(
        found,
        stored.turn.id,
        Some(&stored.turn.instance),
        body.clone(),
    );
    audit::insert(conn, workspace, &entry).await?;
    let told = event::New {
        kind: event::Kind::Settled,
        instance: Some(stored.turn.instance.clone()),
        turn: Some(stored.turn.id),
        body,
    };
    event::insert(conn, workspace, told).await
}

/// A later figure that differs changes nothing, and is not lost.
async fn tell_other(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    id: TurnId,
    known: &Charge,
    found: &Found,
) -> Result<(), Error> {
    let cost = found.finding.cost_micro_usd;
    if cost.is_none() || (known.is_measured && cost == Some(known.cost.as_micros())) {
        return Ok(());
    }
    let body = json!({"later_cost_micro_usd": cost, "evidence": found.evidence});
    audit::insert(conn, workspace, &entry(found, id, None, body)).await
}

fn entry(found: &Found, turn: TurnId, mind: Option<&Instance>, body: Value) -> audit::Entry {
    audit::Entry {
        actor: found.by.clone(),
        action: "RecordCharge".to_owned(),
        instance: mind.cloned(),
        turn: Some(turn),
        refusal: None,
        body,
    }
}

//! Tables `swarm.charge` and `swarm.spending`: what turns cost, once each, and what the launches of a day cost together.

use cambium_kernel::{Usd, WorkspaceId};
use cambium_swarm::TurnId;
use cambium_swarm::charge::{Charge, Outcome, Source};
use cambium_swarm::forecast::REMEMBERED;
use cambium_swarm::turn::Turn;
use chrono::{DateTime, Utc};
use sqlx::PgConnection;
use std::collections::BTreeMap;
use uuid::Uuid;

use crate::error::Error;

/// A charge, and when it was made.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Settled {
    pub(crate) charge: Charge,
    pub(crate) at: DateTime<Utc>,
}

struct Row {
    turn_id: Uuid,
    cost: i64,
    measured: bool,
    declared: Option<i64>,
    vdelta: i64,
    source: String,
    overrun: bool,
    settled_at: DateTime<Utc>,
    outcome: Option<String>,
}

impl TryFrom<Row> for Settled {
    type Error = Error;

    fn try_from(row: Row) -> Result<Self, Error> {
        let broken = || Error::broken(format!("the charge of turn {}", row.turn_id), "its words");
        let outcome = row.outcome.as_deref().and_then(Outcome::parse);
        Ok(Self {
            charge: Charge {
                cost: Usd::from_micros(row.cost),
                is_measured: row.measured,
                declared: row.declared.map(Usd::from_micros),
                vdelta: row.vdelta,
                source: Source::parse(&row.source).ok_or_else(broken)?,
                outcome: outcome.ok_or_else(broken)?,
                is_overrun: row.overrun,
            },
            at: row.settled_at,
        })
    }
}

/// Charges a turn, and counts it among its day's. The day is its launch's: so it belongs to that period of the wallet.
pub(crate) async fn insert(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    turn: &Turn,
    charge: &Charge,
    now: DateTime<Utc>,
) -> Result<(), Error> {
    let insert = sqlx::query!(
        r#"
        INSERT INTO swarm.charge
            (workspace_id, turn_id, cost, measured, declared, vdelta, source, overrun, settled_at)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
        "#,
        workspace.as_str(),
        turn.id.as_uuid(),
        charge.cost.as_micros(),
        charge.is_measured,
        charge.declared.map(Usd::as_micros),
        charge.vdelta,
        charge.source.as_str(),
        charge.is_overrun,
        now,
    );
    insert.execute(&mut *conn).await?;
    let add = sqlx::query!(
        r#"
        INSERT INTO swarm.spending (workspace_id, day, spent)
        VALUES ($1, $2, $3)
        ON CONFLICT (workspace_id, day) DO UPDATE SET spent = spending.spent + excluded.spent
        "#,
        workspace.as_str(),
        turn.launched_at.date_naive(),
        charge.cost.as_micros(),
    );
    add.execute(conn).await?;
    Ok(())
}

pub(crate) async fn find(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    turn: TurnId,
) -> Result<Option<Settled>, Error> {
    let found = of(conn, workspace, &[turn]).await?;
    Ok(found.into_values().next())
}

/// The charges of these turns.
pub(crate) async fn of(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    turns: &[TurnId],
) -> Result<BTreeMap<TurnId, Settled>, Error> {
    let ids: Vec<Uuid> = turns.iter().map(|turn| turn.as_uuid()).collect();
    let rows = sqlx::query_as!(
        Row,
        r#"
        SELECT c.turn_id, c.cost, c.measured, c.declared, c.vdelta, c.source, c.overrun, c.settled_at, t.outcome
        FROM swarm.charge c
        JOIN swarm.turn t ON t.workspace_id = c.workspace_id AND t.turn_id = c.turn_id
        WHERE c.workspace_id = $1 AND c.turn_id = ANY($2)
        "#,
        workspace.as_str(),
        &ids,
    );
    let rows = rows.fetch_all(conn).await?;
    let settled = rows
        .into_iter()
        .map(|row| Ok((TurnId::from_uuid(row.turn_id), Settled::try_from(row)?)));
    settled.collect()
}

/// The newest measured costs of each mind, newest first, as many as a mean is taken of.
pub(crate) async fn newest_costs(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    minds: &[String],
) -> Result<BTreeMap<String, Vec<Usd>>, Error> {
    let rows = sqlx::query!(
        r#"
        SELECT m.instance AS "instance!", c.cost
        FROM unnest($2::text[]) AS m (instance)
        CROSS JOIN LATERAL (
            SELECT c.cost, t.turn_id
            FROM swarm.turn t
            JOIN swarm.charge c ON c.workspace_id = t.workspace_id AND c.turn_id = t.turn_id
            WHERE t.workspace_id = $1 AND t.instance = m.instance AND c.measured
            ORDER BY t.turn_id DESC
            LIMIT $3
        ) c
        ORDER BY m.instance, c.turn_id DESC
        "#,
        workspace.as_str(),
        minds,
        i64::try_from(REMEMBERED).unwrap_or(i64::MAX),
    )
    .fetch_all(conn)
    .await?;
    let mut costs: BTreeMap<String, Vec<Usd>> = BTreeMap::new();
    for row in rows {
        let of_mind = costs.entry(row.instance).or_default();
        of_mind.push(Usd::from_micros(row.cost));
    }
    Ok(costs)
}

/// The sum of what was charged in the last 24 hours.
pub(crate) async fn of_last_day(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
) -> Result<Usd, Error> {
    let sum = sqlx::query_scalar!(
        r#"
        SELECT coalesce(sum(cost), 0)::bigint AS "sum!"
        FROM swarm.charge
        WHERE workspace_id = $1 AND settled_at > swarm.now() - interval '24 hours'
        "#,
        workspace.as_str(),
    );
    Ok(Usd::from_micros(sum.fetch_one(conn).await?))
}

//! Tables `swarm.timeline`, `swarm.timeline_mind` and `swarm.vtime_event`: the clock of each mind, and each change of it.
//! Soft state: what is lost begins anew, and says so in the log.

use std::collections::BTreeMap;

use cambium_kernel::WorkspaceId;
use cambium_swarm::pick::Candidate;
use cambium_swarm::share::EffectiveShare;
use cambium_swarm::timeline::{Seat, Step, Timeline, Vtime};
use cambium_swarm::{Instance, TurnId};
use sqlx::PgConnection;

use crate::error::Error;
use crate::store;

/// A mind's row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Row {
    pub(crate) seat: Seat,
    /// After loans, as of the last sync; 0 without a share.
    pub(crate) eff_ppm: i64,
}

/// Makes the swarm's row if it is not there. A row that was lost has all minds looked at again: they begin anew at 0.
pub(crate) async fn mend(conn: &mut PgConnection, workspace: &WorkspaceId) -> Result<(), Error> {
    let made = sqlx::query!(
        "INSERT INTO swarm.timeline (workspace_id, min_vtime) VALUES ($1, 0) ON CONFLICT DO NOTHING",
        workspace.as_str(),
    );
    if made.execute(&mut *conn).await?.rows_affected() == 0 {
        return Ok(());
    }
    let all = sqlx::query!(
        "UPDATE swarm.launch SET due_at = swarm.now() WHERE workspace_id = $1",
        workspace.as_str(),
    );
    all.execute(conn).await?;
    Ok(())
}

/// Has every open mind looked at whose row was lost.
pub(crate) async fn find_lost(conn: &mut PgConnection) -> Result<u64, Error> {
    let lost = sqlx::query!(
        r#"
        UPDATE swarm.launch l
        SET due_at = swarm.now()
        FROM swarm.mind m
        WHERE m.workspace_id = l.workspace_id AND m.instance = l.instance AND m.state = 'open'
          AND NOT EXISTS (
              SELECT FROM swarm.timeline_mind t
              WHERE t.workspace_id = m.workspace_id AND t.instance = m.instance
          )
        "#,
    );
    Ok(lost.execute(conn).await?.rows_affected())
}

/// The rows of these minds.
pub(crate) async fn rows(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    minds: &[Instance],
) -> Result<BTreeMap<Instance, Row>, Error> {
    let names: Vec<String> = minds.iter().map(|mind| mind.as_str().to_owned()).collect();
    let found = sqlx::query!(
        r#"
        SELECT instance, vtime, member, eff_ppm
        FROM swarm.timeline_mind
        WHERE workspace_id = $1 AND instance = ANY($2)
        "#,
        workspace.as_str(),
        &names,
    )
    .fetch_all(conn)
    .await?;
    let rows = found.into_iter().map(|row| {
        let seat = Seat {
            vtime: Vtime::from_units(row.vtime),
            is_member: row.member,
        };
        let eff_ppm = row.eff_ppm;
        Ok((store::instance(&row.instance)?, Row { seat, eff_ppm }))
    });
    rows.collect()
}

/// The timeline as far as these minds matter to it: their seats, and the one that is least among the members beside them.
pub(crate) async fn around(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    minds: &[Instance],
    seats: BTreeMap<Instance, Seat>,
) -> Result<(Timeline, Option<Instance>), Error> {
    let names: Vec<String> = minds.iter().map(|mind| mind.as_str().to_owned()).collect();
    let least = sqlx::query!(
        r#"
        SELECT instance, vtime
        FROM swarm.timeline_mind
        WHERE workspace_id = $1 AND member AND instance <> ALL($2)
        ORDER BY vtime
        LIMIT 1
        "#,
        workspace.as_str(),
        &names,
    )
    .fetch_optional(&mut *conn)
    .await?;
    let mut seats = seats;
    let mut other = None;
    if let Some(row) = least {
        let name = store::instance(&row.instance)?;
        let vtime = Vtime::from_units(row.vtime);
        seats.insert(
            name.clone(),
            Seat {
                vtime,
                is_member: true,
            },
        );
        other = Some(name);
    }
    Ok((
        Timeline::stored(min_vtime(conn, workspace).await?, seats),
        other,
    ))
}

pub(crate) async fn min_vtime(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
) -> Result<Vtime, Error> {
    let found = sqlx::query_scalar!(
        "SELECT min_vtime FROM swarm.timeline WHERE workspace_id = $1",
        workspace.as_str(),
    );
    let found = found.fetch_optional(conn).await?;
    Ok(Vtime::from_units(found.unwrap_or(0)))
}

pub(crate) async fn put_min_vtime(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    min_vtime: Vtime,
) -> Result<(), Error> {
    let put = sqlx::query!(
        r#"
        INSERT INTO swarm.timeline (workspace_id, min_vtime)
        VALUES ($1, $2)
        ON CONFLICT (workspace_id) DO UPDATE SET min_vtime = excluded.min_vtime
        "#,
        workspace.as_str(),
        min_vtime.as_units(),
    );
    put.execute(conn).await?;
    Ok(())
}

/// Writes rows, new or changed.
pub(crate) async fn put(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    rows: &BTreeMap<Instance, Row>,
) -> Result<(), Error> {
    let names: Vec<String> = rows.keys().map(|mind| mind.as_str().to_owned()).collect();
    let vtimes: Vec<i64> = rows.values().map(|row| row.seat.vtime.as_units()).collect();
    let members: Vec<bool> = rows.values().map(|row| row.seat.is_member).collect();
    let shares: Vec<i64> = rows.values().map(|row| row.eff_ppm).collect();
    let put = sqlx::query!(
        r#"
        INSERT INTO swarm.timeline_mind (workspace_id, instance, vtime, member, eff_ppm)
        SELECT $1, instance, vtime, member, eff_ppm
        FROM unnest($2::text[], $3::bigint[], $4::boolean[], $5::bigint[]) AS new (instance, vtime, member, eff_ppm)
        ON CONFLICT (workspace_id, instance) DO UPDATE
        SET vtime = excluded.vtime, member = excluded.member, eff_ppm = excluded.eff_ppm
        "#,
        workspace.as_str(),
        &names,
        &vtimes,
        &members,
        &shares,
    );
    put.execute(conn).await?;
    Ok(())
}

/// Writes down a change of a mind's clock.
pub(crate) async fn log(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    step: &Step,
    turn: Option<TurnId>,
) -> Result<(), Error> {
    let insert = sqlx::query!(
        r#"
        INSERT INTO swarm.vtime_event (workspace_id, instance, seq, n, kind, before, after, at, turn_id)
        VALUES ($1, $2, swarm.next_seq($1, 'vtime:' || $2), swarm.next_seq($1, 'vtime'), $3, $4, $5, swarm.now(), $6)
        "#,
        workspace.as_str(),
        step.instance.as_str(),
        step.cause.as_str(),
        step.before.as_units(),
        step.after.as_units(),
        turn.map(TurnId::as_uuid),
    );
    insert.execute(conn).await?;
    Ok(())
}

/// Where the log left a mind's clock.
pub(crate) async fn logged(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    mind: &Instance,
) -> Result<Option<Vtime>, Error> {
    let last = sqlx::query_scalar!(
        r#"
        SELECT after
        FROM swarm.vtime_event
        WHERE workspace_id = $1 AND instance = $2
        ORDER BY seq DESC
        LIMIT 1
        "#,
        workspace.as_str(),
        mind.as_str(),
    );
    Ok(last.fetch_optional(conn).await?.map(Vtime::from_units))
}

/// Members without a live turn in the order of their turns: least vtime, then the larger share, then the name.
pub(crate) async fn runnable(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    limit: i64,
) -> Result<Vec<Candidate>, Error> {
    let rows = sqlx::query!(
        r#"
        SELECT m.instance, m.vtime, m.eff_ppm
        FROM swarm.timeline_mind m
        WHERE m.workspace_id = $1 AND m.member
          AND NOT EXISTS (
              SELECT FROM swarm.turn t
              WHERE t.workspace_id = m.workspace_id AND t.instance = m.instance
                AND t.state IN ('granted', 'running')
          )
        ORDER BY m.vtime, m.eff_ppm DESC, m.instance
        LIMIT $2
        "#,
        workspace.as_str(),
        limit,
    )
    .fetch_all(conn)
    .await?;
    let candidates = rows.into_iter().map(|row| {
        Ok(Candidate {
            instance: store::instance(&row.instance)?,
            vtime: Vtime::from_units(row.vtime),
            share: EffectiveShare::from_ppm(row.eff_ppm)?,
        })
    });
    candidates.collect()
}

/// Every row, by name.
pub(crate) async fn all(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
) -> Result<BTreeMap<Instance, Row>, Error> {
    let found = sqlx::query!(
        "SELECT instance, vtime, member, eff_ppm FROM swarm.timeline_mind WHERE workspace_id = $1",
        workspace.as_str(),
    )
    .fetch_all(conn)
    .await?;
    let rows = found.into_iter().map(|row| {
        let seat = Seat {
            vtime: Vtime::from_units(row.vtime),
            is_member: row.member,
        };
        let eff_ppm = row.eff_ppm;
        Ok((store::instance(&row.instance)?, Row { seat, eff_ppm }))
    });
    rows.collect()
}

/// Whether some clock has gone so far that sums could overflow.
pub(crate) async fn is_far(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
) -> Result<bool, Error> {
    let far = sqlx::query_scalar!(
        r#"
        SELECT EXISTS (SELECT FROM swarm.timeline_mind WHERE workspace_id = $1 AND vtime > $2) AS "far!"
        "#,
        workspace.as_str(),
        Vtime::TOO_FAR.as_units(),
    );
    Ok(far.fetch_one(conn).await?)
}

/// Drops the row of a mind that has left.
pub(crate) async fn delete(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    mind: &Instance,
) -> Result<(), Error> {
    let delete = sqlx::query!(
        "DELETE FROM swarm.timeline_mind WHERE workspace_id = $1 AND instance = $2",
        workspace.as_str(),
        mind.as_str(),
    );
    delete.execute(conn).await?;
    Ok(())
}

//! Tables `swarm.timeline` and `swarm.timeline_mind`, as an operator's reset takes hold of them: all at once.
//! Whoever calls holds the bucket's row.

use std::collections::BTreeMap;

use cambium_kernel::WorkspaceId;
use cambium_swarm::Instance;
use cambium_swarm::timeline::{Seat, Step, Timeline, Vtime};
use sqlx::PgConnection;

use crate::error::Error;
use crate::store;

/// Locks every mind's row, by name, and reads the timeline whole.
pub(crate) async fn lock(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
) -> Result<Timeline, Error> {
    let rows = sqlx::query!(
        r#"
        SELECT instance, vtime, member
        FROM swarm.timeline_mind
        WHERE workspace_id = $1
        ORDER BY instance
        FOR UPDATE
        "#,
        workspace.as_str(),
    )
    .fetch_all(&mut *conn)
    .await?;
    let min_vtime = sqlx::query_scalar!(
        "SELECT min_vtime FROM swarm.timeline WHERE workspace_id = $1 FOR UPDATE",
        workspace.as_str(),
    );
    let min_vtime = min_vtime.fetch_optional(conn).await?.unwrap_or(0);
    let seats = rows.into_iter().map(|row| {
        let seat = Seat {
            vtime: Vtime::from_units(row.vtime),
            is_member: row.member,
        };
        Ok((store::instance(&row.instance)?, seat))
    });
    let seats: Result<BTreeMap<Instance, Seat>, Error> = seats.collect();
    Ok(Timeline::stored(Vtime::from_units(min_vtime), seats?))
}

/// Writes where the steps led, and the least vtime.
pub(crate) async fn write(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    min_vtime: Vtime,
    steps: &[Step],
) -> Result<(), Error> {
    let after: Vec<i64> = steps.iter().map(|step| step.after.as_units()).collect();
    let minds = sqlx::query!(
        r#"
        UPDATE swarm.timeline_mind m
        SET vtime = new.vtime
        FROM unnest($2::text[], $3::bigint[]) AS new (instance, vtime)
        WHERE m.workspace_id = $1 AND m.instance = new.instance
        "#,
        workspace.as_str(),
        &names(steps),
        &after,
    );
    minds.execute(&mut *conn).await?;
    let least = sqlx::query!(
        "UPDATE swarm.timeline SET min_vtime = $2 WHERE workspace_id = $1",
        workspace.as_str(),
        min_vtime.as_units(),
    );
    least.execute(conn).await?;
    Ok(())
}

fn names(steps: &[Step]) -> Vec<String> {
    let names = steps.iter().map(|step| step.instance.as_str().to_owned());
    names.collect()
}

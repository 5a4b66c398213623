//! Table `immune.daily`: how many gratitudes of a pair, or shares of an agent, were credited on a day.

use std::collections::BTreeMap;

use cambium_kernel::AgentId;
use chrono::NaiveDate;
use sqlx::{PgConnection, PgPool};
use uuid::Uuid;

use super::Key;
use crate::error::Error;

/// What is counted together.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Count {
    pub(crate) giver: Key,
    pub(crate) of: Of,
    pub(crate) day: NaiveDate,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Of {
    /// Of gratitudes by one receiver; by nobody knows whom.
    Gratitudes(Option<AgentId>),
    Shares,
}

impl Of {
    const fn code(self) -> i16 {
        match self {
            Self::Gratitudes(_) => 1,
            Self::Shares => 2,
        }
    }

    fn receiver(self) -> Uuid {
        match self {
            Self::Gratitudes(receiver) => receiver.map_or(Uuid::nil(), AgentId::as_uuid),
            Self::Shares => Uuid::nil(),
        }
    }
}

#[derive(Default)]
struct Columns {
    workspaces: Vec<String>,
    givers: Vec<Uuid>,
    receivers: Vec<Uuid>,
    kinds: Vec<i16>,
    days: Vec<NaiveDate>,
}

fn columns<'a>(counts: impl IntoIterator<Item = &'a Count>) -> Columns {
    let mut columns = Columns::default();
    for count in counts {
        columns.workspaces.push(count.giver.workspace.to_string());
        columns.givers.push(count.giver.agent.as_uuid());
        columns.receivers.push(count.of.receiver());
        columns.kinds.push(count.of.code());
        columns.days.push(count.day);
    }
    columns
}

/// How far each of these has come; nothing for one that has not begun.
pub(crate) async fn load(
    conn: &mut PgConnection,
    counts: &[Count],
) -> Result<BTreeMap<Count, u32>, Error> {
    let asked = columns(counts);
    let rows = sqlx::query!(
        r#"
        SELECT asked.place AS "place!", d.credited
        FROM unnest($1::text[], $2::uuid[], $3::uuid[], $4::smallint[], $5::date[])
             WITH ORDINALITY AS asked (workspace_id, giver_id, receiver_id, kind, day, place)
        JOIN immune.daily d USING (workspace_id, giver_id, receiver_id, kind, day)
        "#,
        &asked.workspaces,
        &asked.givers,
        &asked.receivers,
        &asked.kinds,
        &asked.days,
    )
    .fetch_all(conn)
    .await?;
    let found = rows.into_iter().filter_map(|row| {
        let place = usize::try_from(row.place - 1).ok()?;
        let count = counts.get(place)?.clone();
        Some((count, u32::try_from(row.credited).unwrap_or(0)))
    });
    Ok(found.collect())
}

/// Writes how far they have come. Their givers are locked.
pub(crate) async fn save(
    conn: &mut PgConnection,
    counts: &BTreeMap<Count, u32>,
) -> Result<(), Error> {
    let to = columns(counts.keys());
    let credited: Vec<i32> = counts
        .values()
        .map(|credited| i32::try_from(*credited).unwrap_or(i32::MAX))
        .collect();
    sqlx::query!(
        r#"
        INSERT INTO immune.daily (workspace_id, giver_id, receiver_id, kind, day, credited)
        SELECT * FROM unnest($1::text[], $2::uuid[], $3::uuid[], $4::smallint[], $5::date[], $6::integer[])
        ON CONFLICT (workspace_id, giver_id, receiver_id, kind, day) DO UPDATE SET credited = EXCLUDED.credited
        "#,
        &to.workspaces,
        &to.givers,
        &to.receivers,
        &to.kinds,
        &to.days,
        &credited,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Forgets up to `limit` counts of days over forty days ago, of which no signal can come any more; tells how many.
pub(crate) async fn forget(pool: &PgPool, limit: i64) -> Result<u64, Error> {
    let done = sqlx::query!(
        r#"
        DELETE FROM immune.daily d
        USING (
            SELECT workspace_id, giver_id, receiver_id, kind, day FROM immune.daily
            WHERE day < (immune.now() AT TIME ZONE 'UTC')::date - 40
            ORDER BY day
            LIMIT $1
            FOR UPDATE SKIP LOCKED -- another replica may be forgetting too
        ) old
        WHERE (d.workspace_id, d.giver_id, d.receiver_id, d.kind, d.day)
            = (old.workspace_id, old.giver_id, old.receiver_id, old.kind, old.day)
        "#,
        limit,
    )
    .execute(pool)
    .await?;
    Ok(done.rows_affected())
}

//! Tables `swarm.mind` and `swarm.agenda`: who the minds are, and what each decides for itself.

use cambium_kernel::WorkspaceId;
use cambium_swarm::Instance;
use cambium_swarm::member::{Agenda, Wakes};
use cambium_swarm::mind::State;
use cambium_swarm::target::Target;
use chrono::{DateTime, Utc};
use serde_json::Value;
use sqlx::PgConnection;

use crate::error::Error;
use crate::store;

/// A mind, as far as it is no matter of turns.
#[derive(Clone, Debug)]
pub(crate) struct Mind {
    pub(crate) instance: Instance,
    pub(crate) display_name: String,
    pub(crate) mission: String,
    pub(crate) host: Option<String>,
    pub(crate) state: State,
    pub(crate) target: Option<Target>,
    pub(crate) proposed_by: String,
    /// Why it was declined or retired.
    pub(crate) reason: String,
    pub(crate) opened_at: Option<DateTime<Utc>>,
    pub(crate) closed_at: Option<DateTime<Utc>>,
    pub(crate) moved_to: Option<String>,
}

struct Row {
    instance: String,
    display_name: String,
    mission: String,
    host: Option<String>,
    state: String,
    target: Option<Value>,
    proposed_by: String,
    reason: String,
    opened_at: Option<DateTime<Utc>>,
    closed_at: Option<DateTime<Utc>>,
    moved_to: Option<String>,
}

impl TryFrom<Row> for Mind {
    type Error = Error;

    fn try_from(row: Row) -> Result<Self, Error> {
        let state = State::parse(&row.state);
        Ok(Self {
            state: state
                .ok_or_else(|| Error::broken(format!("mind `{}`", row.instance), &row.state))?,
            instance: store::instance(&row.instance)?,
            display_name: row.display_name,
            mission: row.mission,
            host: row.host,
            // A target that cannot be read is none: nothing is launched by it.
            target: row.target.as_ref().and_then(Target::from_value),
            proposed_by: row.proposed_by,
            reason: row.reason,
            opened_at: row.opened_at,
            closed_at: row.closed_at,
            moved_to: row.moved_to,
        })
    }
}

pub(crate) async fn find(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    instance: &Instance,
) -> Result<Option<Mind>, Error> {
    let row = sqlx::query_as!(
        Row,
        r#"
        SELECT instance, display_name, mission, host, state, target, proposed_by, reason, opened_at, closed_at, moved_to
        FROM swarm.mind
        WHERE workspace_id = $1 AND instance = $2
        "#,
        workspace.as_str(),
        instance.as_str(),
    );
    row.fetch_optional(conn)
        .await?
        .map(Mind::try_from)
        .transpose()
}

/// Reads a mind and keeps others from changing it until the transaction ends.
pub(crate) async fn lock(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    instance: &Instance,
) -> Result<Option<Mind>, Error> {
    let row = sqlx::query_as!(
        Row,
        r#"
        SELECT instance, display_name, mission, host, state, target, proposed_by, reason, opened_at, closed_at, moved_to
        FROM swarm.mind
        WHERE workspace_id = $1 AND instance = $2
        FOR UPDATE
        "#,
        workspace.as_str(),
        instance.as_str(),
    );
    row.fetch_optional(conn)
        .await?
        .map(Mind::try_from)
        .transpose()
}

/// A mind that may be changed: it is open.
pub(crate) async fn lock_open(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    instance: &Instance,
) -> Result<Mind, Error> {
    let mind = lock(conn, workspace, instance).await?;
    let mind = mind.ok_or(cambium_swarm::Error::NoMind)?;
    mind.state.writable()?;
    Ok(mind)
}

/// Those after a name, by name.
pub(crate) async fn list(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    after: &str,
    limit: i64,
) -> Result<Vec<Mind>, Error> {
    let rows = sqlx::query_as!(
        Row,
        r#"
        SELECT instance, display_name, mission, host, state, target, proposed_by, reason, opened_at, closed_at, moved_to
        FROM swarm.mind
        WHERE workspace_id = $1 AND instance > $2
        ORDER BY instance
        LIMIT $3
        "#,
        workspace.as_str(),
        after,
        limit,
    );
    let rows = rows.fetch_all(conn).await?;
    rows.into_iter().map(Mind::try_from).collect()
}

pub(crate) async fn open_count(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
) -> Result<usize, Error> {
    let count = sqlx::query_scalar!(
        r#"SELECT count(*) AS "count!" FROM swarm.mind WHERE workspace_id = $1 AND state = 'open'"#,
        workspace.as_str(),
    );
    Ok(usize::try_from(count.fetch_one(conn).await?).unwrap_or(0))
}

/// Writes a mind, new or changed, whole.
pub(crate) async fn put(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    mind: &Mind,
) -> Result<(), Error> {
    let put = sqlx::query!(
        r#"
        INSERT INTO swarm.mind
            (workspace_id, instance, display_name, mission, host, state, target, proposed_by, reason,
             opened_at, closed_at, moved_to)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)
        ON CONFLICT (workspace_id, instance) DO UPDATE
        SET display_name = excluded.display_name, mission = excluded.mission, host = excluded.host,
            state = excluded.state, target = excluded.target, proposed_by = excluded.proposed_by,
            reason = excluded.reason, opened_at = excluded.opened_at, closed_at = excluded.closed_at,
            moved_to = excluded.moved_to
        "#,
        workspace.as_str(),
        mind.instance.as_str(),
        mind.display_name,
        mind.mission,
        mind.host,
        mind.state.as_str(),
        mind.target.as_ref().map(Target::to_value),
        mind.proposed_by,
        mind.reason,
        mind.opened_at,
        mind.closed_at,
        mind.moved_to,
    );
    put.execute(conn).await?;
    Ok(())
}

/// What a mind decided; the default where it has decided nothing.
pub(crate) async fn agenda(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    instance: &Instance,
) -> Result<Agenda, Error> {
    let row = sqlx::query!(
        r#"
        SELECT wakes, wake_at, rest_until, retirement_asked_at
        FROM swarm.agenda
        WHERE workspace_id = $1 AND instance = $2
        "#,
        workspace.as_str(),
        instance.as_str(),
    )
    .fetch_optional(conn)
    .await?;
    let Some(row) = row else {
        return Ok(Agenda::default());
    };
    Ok(Agenda {
        wakes: Wakes::parse(&row.wakes)?,
        wake_at: row.wake_at,
        rest_until: row.rest_until,
        retirement_asked_at: row.retirement_asked_at,
    })
}

/// Writes what a mind decided; the reason why it asked to retire stands beside it.
pub(crate) async fn put_agenda(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    instance: &Instance,
    agenda: &Agenda,
    retirement_reason: Option<&str>,
) -> Result<(), Error> {
    let put = sqlx::query!(
        r#"
        INSERT INTO swarm.agenda
            (workspace_id, instance, wakes, wake_at, rest_until, retirement_asked_at, retirement_reason)
        VALUES ($1, $2, $3, $4, $5, $6, coalesce($7, ''))
        ON CONFLICT (workspace_id, instance) DO UPDATE
        SET wakes = excluded.wakes, wake_at = excluded.wake_at, rest_until = excluded.rest_until,
            retirement_asked_at = excluded.retirement_asked_at,
            retirement_reason = coalesce($7, agenda.retirement_reason)
        "#,
        workspace.as_str(),
        instance.as_str(),
        agenda.wakes.as_str(),
        agenda.wake_at,
        agenda.rest_until,
        agenda.retirement_asked_at,
        retirement_reason,
    );
    put.execute(conn).await?;
    Ok(())
}

/// Makes those who give out names wait for one another until the transaction ends: a name is given once, and a second birth knows
/// that it is the second. Taken before any other lock.
pub(crate) async fn lock_names(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
) -> Result<(), Error> {
    let lock = sqlx::query!(
        r#"
        INSERT INTO swarm.log_head AS head (workspace_id, log, seq)
        VALUES ($1, 'mind', 0)
        ON CONFLICT (workspace_id, log) DO UPDATE SET seq = head.seq
        "#,
        workspace.as_str(),
    );
    lock.execute(conn).await?;
    Ok(())
}

/// Those of these names that there are, by name.
pub(crate) async fn of(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    names: &[String],
) -> Result<Vec<Mind>, Error> {
    let rows = sqlx::query_as!(
        Row,
        r#"
        SELECT instance, display_name, mission, host, state, target, proposed_by, reason, opened_at, closed_at, moved_to
        FROM swarm.mind
        WHERE workspace_id = $1 AND instance = ANY($2)
        ORDER BY instance
        "#,
        workspace.as_str(),
        names,
    );
    let rows = rows.fetch_all(conn).await?;
    rows.into_iter().map(Mind::try_from).collect()
}

//! Tables `swarm.turn` and `swarm.reservation`: launches, from their grant to their end, and what is held back for them meanwhile.

mod row;

use cambium_kernel::{Usd, WorkspaceId};
use cambium_swarm::charge::Outcome;
use cambium_swarm::dial::Reserve;
use cambium_swarm::target::Target;
use cambium_swarm::turn::{State, Turn};
use cambium_swarm::{Instance, TurnId};
use chrono::{DateTime, Utc};
use sqlx::PgConnection;
use uuid::Uuid;

use crate::error::Error;
use crate::store;

pub(crate) use row::Row;

/// A turn, with what the rules do not read of it.
#[derive(Clone, Debug)]
pub(crate) struct Stored {
    pub(crate) turn: Turn,
    pub(crate) target: Target,
    pub(crate) reserve: Reserve,
    pub(crate) outcome: Option<Outcome>,
    pub(crate) run_id: Option<Uuid>,
    pub(crate) ended_at: Option<DateTime<Utc>>,
    /// hypha is still to be told that nothing more of it may run.
    pub(crate) is_closing: bool,
    pub(crate) persona_version: Option<i32>,
}

/// Whether a mind's turn lives, which it does until the transaction ends.
pub(crate) async fn fence(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    mind: &Instance,
    turn: TurnId,
) -> Result<bool, Error> {
    let live = sqlx::query_scalar!(
        r#"
        SELECT state IN ('granted', 'running') AS "live!"
        FROM swarm.turn
        WHERE workspace_id = $1 AND turn_id = $2 AND instance = $3
        FOR SHARE
        "#,
        workspace.as_str(),
        turn.as_uuid(),
        mind.as_str(),
    );
    Ok(live.fetch_optional(conn).await?.unwrap_or(false))
}

/// Adds a turn and its reservation. A slot or a mind that has a live one refuses it.
pub(crate) async fn insert(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    stored: &Stored,
) -> Result<(), Error> {
    let turn = &stored.turn;
    let insert = sqlx::query!(
        r#"
        INSERT INTO swarm.turn
            (workspace_id, turn_id, instance, epoch, slot, state, cap, share_ppm, haste_ppm, floor, reserve, target,
             launched_at, alive_until, deadline, persona_version)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16)
        "#,
        workspace.as_str(),
        turn.id.as_uuid(),
        turn.instance.as_str(),
        turn.epoch,
        i32::try_from(turn.slot).unwrap_or(i32::MAX),
        turn.state.as_str(),
        turn.cap.as_micros(),
        turn.share.as_ppm(),
        turn.haste.as_ppm(),
        turn.floor.as_micros(),
        stored.reserve.as_str(),
        stored.target.to_value(),
        turn.launched_at,
        turn.alive_until,
        turn.deadline,
        stored.persona_version,
    );
    insert.execute(&mut *conn).await?;
    let reserve = sqlx::query!(
        r#"
        INSERT INTO swarm.reservation (workspace_id, turn_id, amount, wallet_period)
        VALUES ($1, $2, $3, $4)
        "#,
        workspace.as_str(),
        turn.id.as_uuid(),
        turn.cap.as_micros(),
        turn.launched_at.date_naive(),
    );
    reserve.execute(conn).await?;
    Ok(())
}

pub(crate) async fn find(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    id: TurnId,
) -> Result<Option<Stored>, Error> {
    let row = sqlx::query_as!(
        Row,
        r#"
        SELECT turn_id, instance, epoch, slot, state, outcome, cap, share_ppm, haste_ppm, floor, reserve, target,
               external_holder, run_id, launched_at, alive_until, deadline, ended_at, closing, persona_version
        FROM swarm.turn
        WHERE workspace_id = $1 AND turn_id = $2
        "#,
        workspace.as_str(),
        id.as_uuid(),
    );
    row.fetch_optional(conn)
        .await?
        .map(Stored::try_from)
        .transpose()
}

/// Reads a turn and keeps it as it is until the transaction ends.
pub(crate) async fn lock(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    id: TurnId,
) -> Result<Option<Stored>, Error> {
    let row = sqlx::query_as!(
        Row,
        r#"
        SELECT turn_id, instance, epoch, slot, state, outcome, cap, share_ppm, haste_ppm, floor, reserve, target,
               external_holder, run_id, launched_at, alive_until, deadline, ended_at, closing, persona_version
        FROM swarm.turn
        WHERE workspace_id = $1 AND turn_id = $2
        FOR UPDATE
        "#,
        workspace.as_str(),
        id.as_uuid(),
    );
    row.fetch_optional(conn)
        .await?
        .map(Stored::try_from)
        .transpose()
}

/// The live turns, by launch.
pub(crate) async fn live(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
) -> Result<Vec<Stored>, Error> {
    let rows = sqlx::query_as!(
        Row,
        r#"
        SELECT turn_id, instance, epoch, slot, state, outcome, cap, share_ppm, haste_ppm, floor, reserve, target,
               external_holder, run_id, launched_at, alive_until, deadline, ended_at, closing, persona_version
        FROM swarm.turn
        WHERE workspace_id = $1 AND state IN ('granted', 'running')
        ORDER BY launched_at, turn_id
        "#,
        workspace.as_str(),
    );
    row::all(rows.fetch_all(conn).await?)
}

/// Turns that are over, and of which hypha does not know that.
pub(crate) async fn closing(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    limit: i64,
) -> Result<Vec<Stored>, Error> {
    let rows = sqlx::query_as!(
        Row,
        r#"
        SELECT turn_id, instance, epoch, slot, state, outcome, cap, share_ppm, haste_ppm, floor, reserve, target,
               external_holder, run_id, launched_at, alive_until, deadline, ended_at, closing, persona_version
        FROM swarm.turn
        WHERE workspace_id = $1 AND closing
        ORDER BY turn_id
        LIMIT $2
        "#,
        workspace.as_str(),
        limit,
    );
    row::all(rows.fetch_all(conn).await?)
}

/// Newest first, before a turn; of one mind or of all.
pub(crate) async fn list(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    (mind, live_only): (Option<&Instance>, bool),
    before: Option<TurnId>,
    limit: i64,
) -> Result<Vec<Stored>, Error> {
    let rows = sqlx::query_as!(
        Row,
        r#"
        SELECT turn_id, instance, epoch, slot, state, outcome, cap, share_ppm, haste_ppm, floor, reserve, target,
               external_holder, run_id, launched_at, alive_until, deadline, ended_at, closing, persona_version
        FROM swarm.turn
        WHERE workspace_id = $1 AND ($2::text IS NULL OR instance = $2)
          AND ($3::uuid IS NULL OR turn_id < $3)
          AND (NOT $4 OR state IN ('granted', 'running'))
        ORDER BY turn_id DESC
        LIMIT $5
        "#,
        workspace.as_str(),
        mind.map(Instance::as_str),
        before.map(TurnId::as_uuid),
        live_only,
        limit,
    );
    row::all(rows.fetch_all(conn).await?)
}

/// Writes where a turn stands. The end of a live one closes its reservation.
pub(crate) async fn update(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    stored: &Stored,
) -> Result<(), Error> {
    let turn = &stored.turn;
    let update = sqlx::query!(
        r#"
        UPDATE swarm.turn
        SET state = $3, outcome = $4, external_holder = $5, run_id = $6, alive_until = $7, ended_at = $8, closing = $9,
            target = $10
        WHERE workspace_id = $1 AND turn_id = $2
        "#,
        workspace.as_str(),
        turn.id.as_uuid(),
        turn.state.as_str(),
        stored.outcome.map(Outcome::as_str),
        turn.holder,
        stored.run_id,
        turn.alive_until,
        stored.ended_at,
        stored.is_closing,
        stored.target.to_value(),
    );
    update.execute(&mut *conn).await?;
    if turn.state.is_live() {
        return Ok(());
    }
    let close = sqlx::query!(
        r#"
        UPDATE swarm.reservation
        SET closed_at = swarm.now()
        WHERE workspace_id = $1 AND turn_id = $2 AND closed_at IS NULL
        "#,
        workspace.as_str(),
        turn.id.as_uuid(),
    );
    close.execute(conn).await?;
    Ok(())
}

/// hypha knows that it is over.
pub(crate) async fn closed(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    id: TurnId,
) -> Result<(), Error> {
    let update = sqlx::query!(
        "UPDATE swarm.turn SET closing = false WHERE workspace_id = $1 AND turn_id = $2",
        workspace.as_str(),
        id.as_uuid(),
    );
    update.execute(conn).await?;
    Ok(())
}

/// A sign of life was seen: it never shortens what was granted.
pub(crate) async fn heard(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    id: TurnId,
    alive_until: DateTime<Utc>,
) -> Result<(), Error> {
    let update = sqlx::query!(
        r#"
        UPDATE swarm.turn
        SET alive_until = greatest(alive_until, $3)
        WHERE workspace_id = $1 AND turn_id = $2 AND state IN ('granted', 'running')
        "#,
        workspace.as_str(),
        id.as_uuid(),
        alive_until,
    );
    update.execute(conn).await?;
    Ok(())
}

/// What is held back for live turns.
pub(crate) async fn reserved(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
) -> Result<Usd, Error> {
    let sum = sqlx::query_scalar!(
        r#"
        SELECT coalesce(sum(amount), 0)::bigint AS "sum!"
        FROM swarm.reservation
        WHERE workspace_id = $1 AND closed_at IS NULL
        "#,
        workspace.as_str(),
    );
    Ok(Usd::from_micros(sum.fetch_one(conn).await?))
}

/// When the mind's newest turn before this one that ran was launched.
pub(crate) async fn ran_before(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    turn: &Turn,
) -> Result<Option<DateTime<Utc>>, Error> {
    let last = sqlx::query_scalar!(
        r#"
        SELECT max(launched_at)
        FROM swarm.turn
        WHERE workspace_id = $1 AND instance = $2 AND turn_id < $3 AND state = 'settled'
        "#,
        workspace.as_str(),
        turn.instance.as_str(),
        turn.id.as_uuid(),
    );
    Ok(last.fetch_one(conn).await?)
}

/// When the first turn of the swarm was launched.
pub(crate) async fn first_launch(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
) -> Result<Option<DateTime<Utc>>, Error> {
    let first = sqlx::query_scalar!(
        "SELECT launched_at FROM swarm.turn WHERE workspace_id = $1 ORDER BY turn_id LIMIT 1",
        workspace.as_str(),
    );
    Ok(first.fetch_optional(conn).await?)
}

/// Workspaces that a loop has something to do in: where a dial is set, a turn lives, or one is closing.
pub(crate) async fn workspaces(conn: &mut PgConnection) -> Result<Vec<WorkspaceId>, Error> {
    let names = sqlx::query_scalar!(
        r#"
        SELECT workspace_id AS "workspace_id!" FROM swarm.dial
        UNION
        SELECT workspace_id FROM swarm.turn WHERE closing OR state IN ('granted', 'running')
        "#,
    )
    .fetch_all(conn)
    .await?;
    let read = |name: &String| {
        WorkspaceId::parse(name).map_err(|why| Error::broken(format!("workspace `{name}`"), why))
    };
    names.iter().map(read).collect()
}

/// The state of a turn, by its word.
fn state(text: &str) -> Result<State, Error> {
    State::parse(text).ok_or_else(|| Error::broken("a turn's state", text))
}

fn instance(text: &str) -> Result<Instance, Error> {
    store::instance(text)
}

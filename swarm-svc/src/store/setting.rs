//! Tables `swarm.dial`, `swarm.wallet` and `swarm.brake`: what the operator set for all minds, or for one.
//! What is out of its bounds is read as absent: nothing is launched by it.

use std::collections::BTreeMap;

use cambium_kernel::WorkspaceId;
use cambium_swarm::Instance;
use cambium_swarm::dial::{Dial, Reserve, Setting};
use cambium_swarm::wallet::{Limit, Period, Spending, Wallet};
use chrono::{DateTime, Utc};
use sqlx::PgConnection;

use crate::error::Error;

/// What was set, when and by whom.
#[derive(Clone, Debug)]
pub(crate) struct Set<T> {
    pub(crate) value: T,
    pub(crate) at: DateTime<Utc>,
    /// As in `operator:ada`.
    pub(crate) by: String,
}

pub(crate) async fn dial(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
) -> Result<Option<Dial>, Error> {
    Ok(dial_set(conn, workspace).await?.map(|set| set.value))
}

pub(crate) async fn dial_set(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
) -> Result<Option<Set<Dial>>, Error> {
    let row = sqlx::query!(
        r#"
        SELECT
            heat_ppm, base_rate_micro_usd_per_h, base_run_micro_usd, k, reserve, burst_micro_usd, floor_micro_usd,
            turn_max_s, set_at, set_by
        FROM swarm.dial
        WHERE workspace_id = $1
        "#,
        workspace.as_str(),
    );
    let row = row.fetch_optional(conn).await?;
    Ok(row.and_then(|row| {
        let setting = Setting {
            heat_ppm: row.heat_ppm,
            base_rate_micro_usd_per_h: row.base_rate_micro_usd_per_h,
            base_run_micro_usd: row.base_run_micro_usd,
            k: row.k,
            reserve: Reserve::parse(&row.reserve)?,
            burst_micro_usd: Some(row.burst_micro_usd),
            floor_micro_usd: Some(row.floor_micro_usd),
            turn_max_s: Some(row.turn_max_s),
        };
        Some(Set {
            value: Dial::new(setting).ok()?,
            at: row.set_at,
            by: row.set_by,
        })
    }))
}

/// Whether a dial was ever set, even if it cannot be read.
pub(crate) async fn has_dial(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
) -> Result<bool, Error> {
    let has = sqlx::query_scalar!(
        r#"SELECT EXISTS (SELECT FROM swarm.dial WHERE workspace_id = $1) AS "has!""#,
        workspace.as_str(),
    );
    Ok(has.fetch_one(conn).await?)
}

/// Writes the dial, new or changed, whole.
pub(crate) async fn put_dial(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    set: &Set<Dial>,
) -> Result<(), Error> {
    let dial = &set.value;
    let setting = dial.setting();
    let put = sqlx::query!(
        r#"
        INSERT INTO swarm.dial
            (workspace_id, heat_ppm, base_rate_micro_usd_per_h, base_run_micro_usd, k, reserve, burst_micro_usd,
             floor_micro_usd, turn_max_s, set_at, set_by)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
        ON CONFLICT (workspace_id) DO UPDATE
        SET heat_ppm = excluded.heat_ppm, base_rate_micro_usd_per_h = excluded.base_rate_micro_usd_per_h,
            base_run_micro_usd = excluded.base_run_micro_usd, k = excluded.k, reserve = excluded.reserve,
            burst_micro_usd = excluded.burst_micro_usd, floor_micro_usd = excluded.floor_micro_usd,
            turn_max_s = excluded.turn_max_s, set_at = excluded.set_at, set_by = excluded.set_by
        "#,
        workspace.as_str(),
        setting.heat_ppm,
        setting.base_rate_micro_usd_per_h,
        setting.base_run_micro_usd,
        setting.k,
        setting.reserve.as_str(),
        dial.burst().as_micros(),
        dial.floor().as_micros(),
        dial.turn_max().num_seconds(),
        set.at,
        set.by,
    );
    put.execute(conn).await?;
    Ok(())
}

/// None where there is none, or it is out of its bounds: [`limit`] tells these apart.
pub(crate) async fn wallet_set(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
) -> Result<Option<Set<Wallet>>, Error> {
    let row = sqlx::query!(
        "SELECT limit_micro_usd, period, set_at, set_by FROM swarm.wallet WHERE workspace_id = $1",
        workspace.as_str(),
    );
    let row = row.fetch_optional(conn).await?;
    Ok(row.and_then(|row| {
        let period = Period::parse(&row.period).ok()?;
        Some(Set {
            value: Wallet::new(row.limit_micro_usd, period).ok()?,
            at: row.set_at,
            by: row.set_by,
        })
    }))
}

/// Writes the wallet, new or changed, whole.
pub(crate) async fn put_wallet(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    set: &Set<Wallet>,
) -> Result<(), Error> {
    let put = sqlx::query!(
        r#"
        INSERT INTO swarm.wallet (workspace_id, limit_micro_usd, period, set_at, set_by)
        VALUES ($1, $2, $3, $4, $5)
        ON CONFLICT (workspace_id) DO UPDATE
        SET limit_micro_usd = excluded.limit_micro_usd, period = excluded.period,
            set_at = excluded.set_at, set_by = excluded.set_by
        "#,
        workspace.as_str(),
        set.value.limit.as_micros(),
        set.value.period.as_str(),
        set.at,
        set.by,
    );
    put.execute(conn).await?;
    Ok(())
}

/// Takes the wallet away, if there is one.
pub(crate) async fn delete_wallet(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
) -> Result<(), Error> {
    let delete = sqlx::query!(
        "DELETE FROM swarm.wallet WHERE workspace_id = $1",
        workspace.as_str(),
    );
    delete.execute(conn).await?;
    Ok(())
}

/// The wallet with what its period has cost and holds, as of now.
pub(crate) async fn limit(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
) -> Result<Limit, Error> {
    let row = sqlx::query!(
        "SELECT limit_micro_usd, period FROM swarm.wallet WHERE workspace_id = $1",
        workspace.as_str(),
    );
    let Some(row) = row.fetch_optional(&mut *conn).await? else {
        return Ok(Limit::Open);
    };
    let wallet =
        Period::parse(&row.period).and_then(|period| Wallet::new(row.limit_micro_usd, period));
    let Ok(wallet) = wallet else {
        return Ok(Limit::Unreadable);
    };
    let spending = spending(conn, workspace, &wallet).await?;
    Ok(Limit::Of(wallet, spending))
}

async fn spending(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    wallet: &Wallet,
) -> Result<Spending, Error> {
    let first = wallet.period.first_day(crate::store::now(conn).await?);
    let sums = sqlx::query!(
        r#"
        SELECT
            coalesce((SELECT sum(spent) FROM swarm.spending WHERE workspace_id = $1 AND day >= $2), 0)::bigint AS "spent!",
            coalesce((
                SELECT sum(amount) FROM swarm.reservation
                WHERE workspace_id = $1 AND closed_at IS NULL AND wallet_period >= $2
            ), 0)::bigint AS "held!"
        "#,
        workspace.as_str(),
        first,
    )
    .fetch_one(conn)
    .await?;
    Ok(Spending {
        spent: cambium_kernel::Usd::from_micros(sums.spent),
        held: cambium_kernel::Usd::from_micros(sums.held),
    })
}

/// The last read before a launch: whether the brake is released, which it stays until the transaction ends. No row: it holds.
pub(crate) async fn brake_released(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    mind: &Instance,
) -> Result<bool, Error> {
    let released = sqlx::query_scalar!(
        "SELECT released FROM swarm.brake WHERE workspace_id = $1 AND instance = $2 FOR SHARE",
        workspace.as_str(),
        mind.as_str(),
    );
    Ok(released.fetch_optional(conn).await?.unwrap_or(false))
}

/// The minds with a live turn whose brake holds, and since when. A brake that is not there has held since the launch.
pub(crate) async fn held_since(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
) -> Result<BTreeMap<Instance, DateTime<Utc>>, Error> {
    let rows = sqlx::query!(
        r#"
        SELECT t.instance, coalesce(b.set_at, t.launched_at) AS "since!"
        FROM swarm.turn t
        LEFT JOIN swarm.brake b ON b.workspace_id = t.workspace_id AND b.instance = t.instance
        WHERE t.workspace_id = $1 AND t.state IN ('granted', 'running') AND NOT coalesce(b.released, false)
        "#,
        workspace.as_str(),
    )
    .fetch_all(conn)
    .await?;
    let held = rows
        .into_iter()
        .map(|row| Ok((crate::store::instance(&row.instance)?, row.since)));
    held.collect()
}

//! Table `swarm.share`: the weight that an operator gave a mind, and the haste on it. Without a row a mind is not on the timeline.
//! Every value that a row ever had is kept by the table itself.

use cambium_kernel::WorkspaceId;
use cambium_swarm::Instance;
use cambium_swarm::share::{Factor, Haste, Share};
use chrono::{DateTime, Utc};
use sqlx::PgConnection;

use crate::error::Error;
use crate::store;

/// A mind's own share, as it was set.
#[derive(Clone, Debug)]
pub(crate) struct Set {
    pub(crate) instance: Instance,
    pub(crate) share: Share,
    pub(crate) haste: Option<Haste>,
    pub(crate) at: DateTime<Utc>,
    /// As in `operator:ada`.
    pub(crate) by: String,
}

struct Row {
    instance: String,
    share_ppm: i64,
    haste_ppm: Option<i64>,
    haste_until: Option<DateTime<Utc>>,
    set_at: DateTime<Utc>,
    set_by: String,
}

impl Row {
    /// None where the share is out of its bounds, which reads as absent.
    fn set(self) -> Result<Option<Set>, Error> {
        let Ok(share) = Share::from_ppm(self.share_ppm) else {
            return Ok(None);
        };
        let factor = self.haste_ppm.and_then(|ppm| Factor::from_ppm(ppm).ok());
        let haste = factor.zip(self.haste_until);
        Ok(Some(Set {
            instance: store::instance(&self.instance)?,
            share,
            haste: haste.map(|(factor, until)| Haste { factor, until }),
            at: self.set_at,
            by: self.set_by,
        }))
    }
}

pub(crate) async fn find(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    mind: &Instance,
) -> Result<Option<Set>, Error> {
    let row = sqlx::query_as!(
        Row,
        r#"
        SELECT instance, share_ppm, haste_ppm, haste_until, set_at, set_by
        FROM swarm.share
        WHERE workspace_id = $1 AND instance = $2
        "#,
        workspace.as_str(),
        mind.as_str(),
    );
    let row = row.fetch_optional(conn).await?;
    row.map_or(Ok(None), Row::set)
}

/// Those of all minds, by name.
pub(crate) async fn list(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
) -> Result<Vec<Set>, Error> {
    let rows = sqlx::query_as!(
        Row,
        r#"
        SELECT instance, share_ppm, haste_ppm, haste_until, set_at, set_by
        FROM swarm.share
        WHERE workspace_id = $1
        ORDER BY instance
        "#,
        workspace.as_str(),
    );
    let rows = rows.fetch_all(conn).await?.into_iter();
    rows.filter_map(|row| row.set().transpose()).collect()
}

/// Writes a mind's row, new or changed, whole.
pub(crate) async fn put(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    set: &Set,
) -> Result<(), Error> {
    let put = sqlx::query!(
        r#"
        INSERT INTO swarm.share (workspace_id, instance, share_ppm, haste_ppm, haste_until, set_at, set_by)
        VALUES ($1, $2, $3, $4, $5, $6, $7)
        ON CONFLICT (workspace_id, instance) DO UPDATE
        SET share_ppm = excluded.share_ppm, haste_ppm = excluded.haste_ppm, haste_until = excluded.haste_until,
            set_at = excluded.set_at, set_by = excluded.set_by
        "#,
        workspace.as_str(),
        set.instance.as_str(),
        set.share.as_ppm(),
        set.haste.map(|haste| haste.factor.as_ppm()),
        set.haste.map(|haste| haste.until),
        set.at,
        set.by,
    );
    put.execute(conn).await?;
    Ok(())
}

/// Takes a mind's row away, if it has one.
pub(crate) async fn delete(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    mind: &Instance,
) -> Result<(), Error> {
    let delete = sqlx::query!(
        "DELETE FROM swarm.share WHERE workspace_id = $1 AND instance = $2",
        workspace.as_str(),
        mind.as_str(),
    );
    delete.execute(conn).await?;
    Ok(())
}

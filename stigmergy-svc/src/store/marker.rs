//! Table `stigmergy.marker`, by id: one mark, or some that are known.

use cambium_kernel::{AgentId, MarkerId, WorkspaceId};
use cambium_stigmergy::{Author, HalfLife, Intensity, Marker, MarkerType, Region};
use chrono::{DateTime, Utc};
use sqlx::PgConnection;
use uuid::Uuid;

use crate::error::Error;

/// A mark with what it carries.
#[derive(Clone, Debug)]
pub(crate) struct Stored {
    pub(crate) marker: Marker,
    /// Canonical JSON.
    pub(crate) payload: Option<String>,
    /// When it got this payload.
    pub(crate) written_at: DateTime<Utc>,
    /// Its silence was noticed. Then it is over, even if a clock that was set back says otherwise.
    pub(crate) has_faded: bool,
}

impl Stored {
    pub(crate) fn is_live(&self, now: DateTime<Utc>) -> bool {
        !self.has_faded && self.marker.is_live(now)
    }

    /// Whose word the present payload is.
    pub(crate) fn author(&self) -> Author {
        match self.marker.transformed_by.last() {
            Some(last) => Author::Agent(*last),
            None => self.marker.placed_by.clone(),
        }
    }
}

/// A row, as every statement that reads marks selects it.
#[derive(Debug)]
pub(super) struct Row {
    pub(super) marker_id: Uuid,
    pub(super) region: String,
    pub(super) kind: String,
    pub(super) placed_by: String,
    pub(super) intensity: i32,
    pub(super) half_life_s: i32,
    pub(super) placed_at: DateTime<Utc>,
    pub(super) refreshed_at: DateTime<Utc>,
    pub(super) transformed_by: Vec<Uuid>,
    pub(super) version: i64,
    pub(super) canonical: Option<String>,
    pub(super) written_at: DateTime<Utc>,
    pub(super) has_faded: bool,
}

impl TryFrom<Row> for Stored {
    type Error = Error;

    fn try_from(row: Row) -> Result<Self, Error> {
        let id = MarkerId::from_uuid(row.marker_id);
        let broken = |why: String| Error::Broken {
            what: format!("marker {id}"),
            why,
        };
        let rule = |why: cambium_stigmergy::Error| broken(why.to_string());
        let author = Author::parse(&row.placed_by);
        let lineage = row.transformed_by.into_iter();
        let marker = Marker {
            id,
            region: Region::parse(&row.region).map_err(rule)?,
            kind: MarkerType::parse(&row.kind).map_err(rule)?,
            placed_by: author.ok_or_else(|| broken(format!("placed by `{}`", row.placed_by)))?,
            intensity: Intensity::from_millionths(row.intensity).map_err(rule)?,
            half_life: HalfLife::from_seconds(row.half_life_s).map_err(rule)?,
            placed_at: row.placed_at,
            refreshed_at: row.refreshed_at,
            transformed_by: lineage.map(AgentId::from_uuid).collect(),
            version: row.version,
        };
        Ok(Self {
            marker,
            payload: row.canonical,
            written_at: row.written_at,
            has_faded: row.has_faded,
        })
    }
}

/// These marks as far as they exist, live or not, in any order.
pub(crate) async fn by_ids(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    ids: &[Uuid],
) -> Result<Vec<Stored>, Error> {
    let rows = sqlx::query_as!(
        Row,
        r#"
        SELECT marker_id, region, type AS kind, placed_by, intensity, half_life_s, placed_at, refreshed_at,
               transformed_by, version, canonical, written_at, faded_at IS NOT NULL AS "has_faded!"
        FROM stigmergy.marker
        WHERE workspace_id = $1 AND marker_id = ANY ($2)
        "#,
        workspace.as_str(),
        ids,
    )
    .fetch_all(conn)
    .await?;
    rows.into_iter().map(Stored::try_from).collect()
}

/// One mark, live or not.
pub(crate) async fn by_id(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    id: MarkerId,
) -> Result<Option<Stored>, Error> {
    Ok(by_ids(conn, workspace, &[id.as_uuid()]).await?.pop())
}

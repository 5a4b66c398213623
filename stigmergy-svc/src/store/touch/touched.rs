//! Marks that were there, as a batch leaves them.

use cambium_kernel::{AgentId, WorkspaceId};
use sqlx::PgConnection;

use super::write::{array, list};
use crate::error::Error;
use crate::store::marker::Stored;

/// A mark as it is after the batch.
#[derive(Clone, Debug)]
pub(crate) struct Touched<'a> {
    pub(crate) workspace: &'a WorkspaceId,
    pub(crate) stored: &'a Stored,
    /// Its payload is not the one that is stored.
    pub(crate) is_rewritten: bool,
}

impl<'a> Touched<'a> {
    fn payload(&'a self) -> Option<&'a str> {
        self.stored.payload.as_deref().filter(|_| self.is_rewritten)
    }
}

/// By key, so that no plan reads the table; whatever never changes is given along and not looked at.
pub(super) async fn write(conn: &mut PgConnection, markers: &[Touched<'_>]) -> Result<(), Error> {
    sqlx::query!(
        r#"
        INSERT INTO stigmergy.marker AS m
            (workspace_id, marker_id, region, type, category, placed_by, placer, intensity, half_life_s, placed_at,
             refreshed_at, expires_at, transformed_by, transformation_depth, version, payload, canonical, written_at)
        SELECT n.workspace_id, n.marker_id, n.region, n.type, split_part(n.type, '.', 1), n.placed_by, n.placer,
               n.intensity, n.half_life_s, n.placed_at, n.refreshed_at, n.expires_at, n.transformed_by::uuid[],
               cardinality(n.transformed_by::uuid[]), n.version, n.canonical::jsonb, n.canonical, n.written_at
        FROM unnest($1::text[], $2::uuid[], $3::text[], $4::text[], $5::text[], $6::uuid[], $7::int[], $8::int[],
                    $9::timestamptz[], $10::timestamptz[], $11::timestamptz[], $12::text[], $13::bigint[],
                    $14::text[], $15::timestamptz[])
             AS n (workspace_id, marker_id, region, type, placed_by, placer, intensity, half_life_s, placed_at,
                   refreshed_at, expires_at, transformed_by, version, canonical, written_at)
        ON CONFLICT ON CONSTRAINT marker_pk
        DO UPDATE SET intensity = excluded.intensity, refreshed_at = excluded.refreshed_at,
                      expires_at = excluded.expires_at, transformed_by = excluded.transformed_by,
                      transformation_depth = excluded.transformation_depth, version = excluded.version,
                      -- What was not rewritten does not travel: only depth tells a new payload from an old one.
                      payload = CASE WHEN m.transformation_depth = excluded.transformation_depth
                                     THEN m.payload ELSE excluded.payload END,
                      canonical = CASE WHEN m.transformation_depth = excluded.transformation_depth
                                       THEN m.canonical ELSE excluded.canonical END,
                      written_at = excluded.written_at
        "#,
        &list(markers, |t| t.workspace.as_str()) as _,
        &list(markers, |t| t.stored.marker.id.as_uuid()),
        &list(markers, |t| t.stored.marker.region.as_str()) as _,
        &list(markers, |t| t.stored.marker.kind.as_str()) as _,
        &list(markers, |t| t.stored.marker.placed_by.to_string()),
        &list(markers, |t| t.stored
            .marker
            .placed_by
            .agent()
            .map(AgentId::as_uuid)) as _,
        &list(markers, |t| t.stored.marker.intensity.as_millionths()),
        &list(markers, |t| t.stored.marker.half_life.as_seconds()),
        &list(markers, |t| t.stored.marker.placed_at),
        &list(markers, |t| t.stored.marker.refreshed_at),
        &list(markers, |t| t.stored.marker.expires_at()),
        &list(markers, |t| array(t.stored.marker.transformed_by.iter())),
        &list(markers, |t| t.stored.marker.version),
        &list(markers, Touched::payload) as _,
        &list(markers, |t| t.stored.written_at),
    )
    .execute(conn)
    .await?;
    Ok(())
}

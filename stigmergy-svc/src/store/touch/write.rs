//! What a batch of touches changes, written at once.
//!
//! One statement is for every batch; marks that were there, a new region, a replaced payload and a signal have one each, of
//! which most batches need few: a statement pays for every table it names, used or not.

use std::fmt::Write as _;

use cambium_kernel::{AgentId, WorkspaceId};
use cambium_service_kit::outbox;
use cambium_stigmergy::rate::Accepted;
use cambium_stigmergy::{Author, Region};
use chrono::{DateTime, SecondsFormat, Utc};
use sqlx::PgConnection;
use uuid::Uuid;

use super::touched::{self, Touched};
use crate::error::Error;
use crate::store::event::Event;
use crate::store::marker::Stored;

/// The last operations of one author in one region.
#[derive(Clone, Debug)]
pub(crate) struct Window<'a> {
    pub(crate) workspace: &'a WorkspaceId,
    pub(crate) author: &'a Author,
    pub(crate) region: &'a Region,
    pub(crate) accepted: &'a Accepted,
}

/// A payload that was replaced.
#[derive(Clone, Debug)]
pub(crate) struct NewVersion {
    pub(crate) workspace: WorkspaceId,
    pub(crate) marker: Uuid,
    pub(crate) depth: i32,
    pub(crate) author: Author,
    pub(crate) written_at: DateTime<Utc>,
    pub(crate) hash: [u8; 32],
    pub(crate) payload: Option<String>,
}

/// A reply to be remembered.
#[derive(Clone, Debug)]
pub(crate) struct NewReceipt<'a> {
    pub(crate) scope: &'a str,
    pub(crate) request_id: Uuid,
    pub(crate) body_hash: &'a [u8],
    pub(crate) reply: &'a [u8],
}

/// Everything that a batch changes.
#[derive(Debug, Default)]
pub(crate) struct Written<'a> {
    pub(crate) now: DateTime<Utc>,
    pub(crate) last_seqs: Vec<(&'a WorkspaceId, i64)>,
    /// Marks that are new, and those that were there.
    pub(crate) placed: Vec<(&'a WorkspaceId, &'a Stored)>,
    pub(crate) touched: Vec<Touched<'a>>,
    pub(crate) windows: Vec<Window<'a>>,
    pub(crate) events: &'a [(WorkspaceId, Event)],
    pub(crate) receipts: Vec<NewReceipt<'a>>,
    pub(crate) regions: Vec<(&'a WorkspaceId, &'a Region, DateTime<Utc>)>,
    pub(crate) versions: &'a [NewVersion],
    pub(crate) signals: Vec<outbox::Row>,
}

pub(crate) async fn write(conn: &mut PgConnection, written: &Written<'_>) -> Result<(), Error> {
    if !written.regions.is_empty() {
        regions(conn, &written.regions).await?;
    }
    if !written.versions.is_empty() {
        versions(conn, written.versions).await?;
    }
    if !written.touched.is_empty() {
        touched::write(conn, &written.touched).await?;
    }
    outbox::insert(conn, crate::store::SCHEMA, &written.signals).await?;
    touches(conn, written).await
}

/// Regions last at least so long; none is made to end sooner.
async fn regions(
    conn: &mut PgConnection,
    regions: &[(&WorkspaceId, &Region, DateTime<Utc>)],
) -> Result<(), Error> {
    let workspaces: Vec<&str> = regions.iter().map(|(w, ..)| w.as_str()).collect();
    let names: Vec<&str> = regions.iter().map(|(_, r, _)| r.as_str()).collect();
    let ends: Vec<DateTime<Utc>> = regions.iter().map(|(.., end)| *end).collect();
    sqlx::query!(
        r#"
        INSERT INTO stigmergy.region AS r (workspace_id, region, live_until)
        SELECT * FROM unnest($1::text[], $2::text[], $3::timestamptz[])
        ON CONFLICT ON CONSTRAINT region_pk
        DO UPDATE SET live_until = greatest(r.live_until, excluded.live_until)
        "#,
        &workspaces as _,
        &names as _,
        &ends,
    )
    .execute(conn)
    .await?;
    Ok(())
}

async fn versions(conn: &mut PgConnection, versions: &[NewVersion]) -> Result<(), Error> {
    let workspaces: Vec<&str> = versions.iter().map(|v| v.workspace.as_str()).collect();
    let markers: Vec<Uuid> = versions.iter().map(|v| v.marker).collect();
    let depths: Vec<i32> = versions.iter().map(|v| v.depth).collect();
    let authors: Vec<String> = versions.iter().map(|v| v.author.to_string()).collect();
    let times: Vec<DateTime<Utc>> = versions.iter().map(|v| v.written_at).collect();
    let hashes: Vec<&[u8]> = versions.iter().map(|v| v.hash.as_slice()).collect();
    let payloads: Vec<Option<&str>> = versions.iter().map(|v| v.payload.as_deref()).collect();
    sqlx::query!(
        r#"
        INSERT INTO stigmergy.payload_version
            (workspace_id, marker_id, depth, author, written_at, payload_hash, canonical)
        SELECT * FROM unnest($1::text[], $2::uuid[], $3::int[], $4::text[], $5::timestamptz[], $6::bytea[], $7::text[])
        "#,
        &workspaces as _,
        &markers,
        &depths,
        &authors,
        &times,
        &hashes as _,
        &payloads as _,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// New marks, windows, events, receipts, and the last number given out.
#[expect(
    clippy::too_many_lines,
    reason = "one statement, and a list for each of its columns"
)]
async fn touches(conn: &mut PgConnection, written: &Written<'_>) -> Result<(), Error> {
    let Written {
        last_seqs,
        placed,
        windows,
        events,
        receipts,
        ..
    } = written;
    sqlx::query!(
        r#"
        WITH numbered AS (
            INSERT INTO stigmergy.workspace (workspace_id, last_seq)
            SELECT * FROM unnest($1::text[], $2::bigint[])
            ON CONFLICT ON CONSTRAINT workspace_pk DO UPDATE SET last_seq = excluded.last_seq
        ), placed AS (
            INSERT INTO stigmergy.marker
                (workspace_id, marker_id, region, type, category, placed_by, placer, intensity, half_life_s, placed_at,
                 refreshed_at, expires_at, transformed_by, transformation_depth, version, payload, canonical, written_at)
            SELECT n.workspace_id, n.marker_id, n.region, n.type, split_part(n.type, '.', 1), n.placed_by, n.placer,
                   n.intensity, n.half_life_s, n.placed_at, n.refreshed_at, n.expires_at, n.transformed_by::uuid[],
                   cardinality(n.transformed_by::uuid[]), n.version, n.canonical::jsonb, n.canonical, n.written_at
            FROM unnest($3::text[], $4::uuid[], $5::text[], $6::text[], $7::text[], $8::uuid[], $9::int[], $10::int[],
                        $11::timestamptz[], $12::timestamptz[], $13::timestamptz[], $14::text[], $15::bigint[],
                        $16::text[], $17::timestamptz[])
                 AS n (workspace_id, marker_id, region, type, placed_by, placer, intensity, half_life_s, placed_at,
                       refreshed_at, expires_at, transformed_by, version, canonical, written_at)
        ), counted AS (
            INSERT INTO stigmergy.rate (workspace_id, author, region, accepted)
            SELECT n.workspace_id, n.author, n.region, n.accepted::timestamptz[]
            FROM unnest($18::text[], $19::text[], $20::text[], $21::text[]) AS n (workspace_id, author, region, accepted)
            ON CONFLICT ON CONSTRAINT rate_pk DO UPDATE SET accepted = excluded.accepted
        ), told AS (
            INSERT INTO stigmergy.marker_event
                (workspace_id, seq, kind, marker_id, region, type, actor, intensity_before, intensity_after,
                 transformation_depth, old_payload_summary, new_payload_summary, at)
            SELECT n.*, $38::timestamptz
            FROM unnest($22::text[], $23::bigint[], $24::smallint[], $25::uuid[], $26::text[], $27::text[], $28::text[],
                        $29::int[], $30::int[], $31::int[], $32::text[], $33::text[]) AS n
        )
        INSERT INTO stigmergy.receipt (scope, request_id, body_hash, reply, created_at)
        SELECT n.*, $38::timestamptz FROM unnest($34::text[], $35::uuid[], $36::bytea[], $37::bytea[]) AS n
        "#,
        &list(last_seqs, |(w, _)| w.as_str()) as _,
        &list(last_seqs, |(_, seq)| *seq),
        &list(placed, |(w, _)| w.as_str()) as _,
        &list(placed, |(_, s)| s.marker.id.as_uuid()),
        &list(placed, |(_, s)| s.marker.region.as_str()) as _,
        &list(placed, |(_, s)| s.marker.kind.as_str()) as _,
        &list(placed, |(_, s)| s.marker.placed_by.to_string()),
        &list(placed, |(_, s)| s
            .marker
            .placed_by
            .agent()
            .map(AgentId::as_uuid)) as _,
        &list(placed, |(_, s)| s.marker.intensity.as_millionths()),
        &list(placed, |(_, s)| s.marker.half_life.as_seconds()),
        &list(placed, |(_, s)| s.marker.placed_at),
        &list(placed, |(_, s)| s.marker.refreshed_at),
        &list(placed, |(_, s)| s.marker.expires_at()),
        &list(placed, |(_, s)| array(s.marker.transformed_by.iter())),
        &list(placed, |(_, s)| s.marker.version),
        &list(placed, |(_, s)| s.payload.as_deref()) as _,
        &list(placed, |(_, s)| s.written_at),
        &list(windows, |w| w.workspace.as_str()) as _,
        &list(windows, |w| w.author.to_string()),
        &list(windows, |w| w.region.as_str()) as _,
        &list(windows, |w| array(
            w.accepted
                .times()
                .iter()
                .map(|time| time.to_rfc3339_opts(SecondsFormat::Micros, true))
        )),
        &list(events, |(w, _)| w.as_str()) as _,
        &list(events, |(_, e)| e.seq),
        &list(events, |(_, e)| e.kind.number()),
        &list(events, |(_, e)| e.marker.as_uuid()),
        &list(events, |(_, e)| e.region.as_str()) as _,
        &list(events, |(_, e)| e.marker_type.as_str()) as _,
        &list(events, |(_, e)| e.actor.as_deref()) as _,
        &list(events, |(_, e)| e.before),
        &list(events, |(_, e)| e.after),
        &list(events, |(_, e)| e.depth),
        &list(events, |(_, e)| e
            .summaries
            .as_ref()
            .map(|(old, _)| old.as_str())) as _,
        &list(events, |(_, e)| e
            .summaries
            .as_ref()
            .map(|(_, new)| new.as_str())) as _,
        &list(receipts, |r| r.scope) as _,
        &list(receipts, |r| r.request_id),
        &list(receipts, |r| r.body_hash) as _,
        &list(receipts, |r| r.reply) as _,
        written.now,
    )
    .execute(conn)
    .await?;
    Ok(())
}

pub(super) fn list<'a, T, U>(items: &'a [T], of: impl Fn(&'a T) -> U) -> Vec<U> {
    items.iter().map(of).collect()
}

/// The text of an array, since arrays of arrays do not pass `unnest`. Items that need no quotes only.
pub(super) fn array(items: impl Iterator<Item = impl std::fmt::Display>) -> String {
    let mut text = "{".to_owned();
    for (place, item) in items.enumerate() {
        let comma = if place > 0 { "," } else { "" };
        write!(text, "{comma}{item}").expect("a String takes all that is written to it");
    }
    text.push('}');
    text
}

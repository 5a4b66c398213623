//! Everything that deciding a batch of touches needs, in one look. Taken after the workspaces' locks, so it holds.

use cambium_kernel::{AgentId, MarkerId, WorkspaceId};
use cambium_stigmergy::{Author, Region};
use chrono::{DateTime, Utc};
use sqlx::PgConnection;
use uuid::Uuid;

use crate::error::Error;
use crate::store::agent::State;
use crate::store::marker::{Row as MarkerRow, Stored};
use crate::store::standing::{self, Standing};

/// What one call asks about.
#[derive(Clone, Debug)]
pub(crate) struct Asked<'a> {
    pub(crate) workspace: &'a WorkspaceId,
    pub(crate) author: &'a Author,
    /// Of its receipt.
    pub(crate) scope: &'a str,
    pub(crate) request_id: Uuid,
    /// The mark it touches, or the region where it places one.
    pub(crate) marker: Option<MarkerId>,
    pub(crate) region: Option<&'a Region>,
}

/// What is there for one call.
#[derive(Debug)]
pub(crate) struct Loaded {
    /// The last number given out in the workspace.
    pub(crate) last_seq: i64,
    /// Hash of the body and the reply, if the call was answered before.
    pub(crate) receipt: Option<(Vec<u8>, Vec<u8>)>,
    /// How far the caller's life has gone, if it is an agent that was heard of.
    pub(crate) state: Option<State>,
    /// Of the caller, if anything is known of it.
    pub(crate) standing: Option<(AgentId, Standing)>,
    pub(crate) marker: Option<Stored>,
    /// The caller's last operations in the region.
    pub(crate) accepted: Vec<DateTime<Utc>>,
    pub(crate) region_live_until: Option<DateTime<Utc>>,
}

/// The columns of the query, `None` where nothing was found.
struct Row {
    now: DateTime<Utc>,
    last_seq: i64,
    body_hash: Option<Vec<u8>>,
    reply: Option<Vec<u8>>,
    state: Option<i16>,
    agent_id: Option<Uuid>,
    trust: Option<i32>,
    generosity: Option<i32>,
    health: Option<i32>,
    quarantined: Option<bool>,
    marker_id: Option<Uuid>,
    region: Option<String>,
    kind: Option<String>,
    placed_by: Option<String>,
    intensity: Option<i32>,
    half_life_s: Option<i32>,
    placed_at: Option<DateTime<Utc>>,
    refreshed_at: Option<DateTime<Utc>>,
    transformed_by: Option<Vec<Uuid>>,
    version: Option<i64>,
    canonical: Option<String>,
    written_at: Option<DateTime<Utc>>,
    has_faded: bool,
    accepted: Option<Vec<DateTime<Utc>>>,
    live_until: Option<DateTime<Utc>>,
}

/// The time, and for each call, in their order, what is there.
pub(crate) async fn load(
    conn: &mut PgConnection,
    asked: &[Asked<'_>],
) -> Result<(DateTime<Utc>, Vec<Loaded>), Error> {
    let rows = select(conn, asked).await?;
    let now = rows.first().map(|row| row.now);
    let now = now.ok_or_else(|| Error::Broken {
        what: "a batch".to_owned(),
        why: "nothing was asked".to_owned(),
    })?;
    let loaded = rows.into_iter().map(Loaded::try_from);
    Ok((now, loaded.collect::<Result<_, _>>()?))
}

async fn select(conn: &mut PgConnection, asked: &[Asked<'_>]) -> Result<Vec<Row>, sqlx::Error> {
    let workspaces: Vec<&str> = asked.iter().map(|a| a.workspace.as_str()).collect();
    let authors: Vec<String> = asked.iter().map(|a| a.author.to_string()).collect();
    let agents: Vec<Option<Uuid>> = asked
        .iter()
        .map(|a| a.author.agent().map(AgentId::as_uuid))
        .collect();
    let scopes: Vec<&str> = asked.iter().map(|a| a.scope).collect();
    let requests: Vec<Uuid> = asked.iter().map(|a| a.request_id).collect();
    let markers: Vec<Option<Uuid>> = asked
        .iter()
        .map(|a| a.marker.map(MarkerId::as_uuid))
        .collect();
    let regions: Vec<Option<&str>> = asked.iter().map(|a| a.region.map(Region::as_str)).collect();
    sqlx::query_as!(
        Row,
        r#"
        SELECT (SELECT stigmergy.now()) AS "now!", coalesce(w.last_seq, 0) AS "last_seq!",
               c.body_hash AS "body_hash?", c.reply AS "reply?", a.state AS "state?",
               o.agent_id,
               s.trust AS "trust?", s.generosity AS "generosity?", s.health AS "health?",
               s.quarantined AND (s.quarantine_ends_at IS NULL OR s.quarantine_ends_at > (SELECT stigmergy.now()))
                   AS "quarantined?",
               m.marker_id AS "marker_id?", m.region AS "region?", m.type AS "kind?", m.placed_by AS "placed_by?",
               m.intensity AS "intensity?", m.half_life_s AS "half_life_s?", m.placed_at AS "placed_at?",
               m.refreshed_at AS "refreshed_at?", m.transformed_by AS "transformed_by?", m.version AS "version?",
               m.canonical AS "canonical?", m.written_at AS "written_at?", m.faded_at IS NOT NULL AS "has_faded!",
               r.accepted AS "accepted?", g.live_until AS "live_until?"
        FROM unnest($1::text[], $2::text[], $3::uuid[], $4::text[], $5::uuid[], $6::uuid[], $7::text[])
             WITH ORDINALITY AS o (workspace_id, author, agent_id, scope, request_id, marker_id, region, n)
        LEFT JOIN stigmergy.workspace w ON w.workspace_id = o.workspace_id
        LEFT JOIN stigmergy.receipt c ON c.scope = o.scope AND c.request_id = o.request_id
        LEFT JOIN stigmergy.agent a ON a.workspace_id = o.workspace_id AND a.agent_id = o.agent_id
        LEFT JOIN stigmergy.marker m ON m.workspace_id = o.workspace_id AND m.marker_id = o.marker_id
        LEFT JOIN LATERAL (
            SELECT t.accepted FROM stigmergy.rate t
            WHERE t.workspace_id = o.workspace_id AND t.author = o.author AND t.region = coalesce(m.region, o.region)
            OFFSET 0 -- by the whole key: as a join it might be by its first two columns, and read an author's every region
        ) r ON true
        LEFT JOIN LATERAL (
            SELECT t.live_until FROM stigmergy.region t
            WHERE t.workspace_id = o.workspace_id AND t.region = coalesce(m.region, o.region)
            OFFSET 0
        ) g ON true
        LEFT JOIN stigmergy.standing s ON s.workspace_id = o.workspace_id AND s.agent_id = o.agent_id
        ORDER BY o.n
        "#,
        &workspaces as _,
        &authors,
        &agents as _,
        &scopes as _,
        &requests,
        &markers as _,
        &regions as _,
    )
    .fetch_all(conn)
    .await
}

impl TryFrom<Row> for Loaded {
    type Error = Error;

    fn try_from(mut row: Row) -> Result<Self, Error> {
        Ok(Self {
            last_seq: row.last_seq,
            receipt: row.body_hash.take().zip(row.reply.take()),
            state: row.state.map(State::of),
            standing: row.standing()?,
            accepted: row.accepted.take().unwrap_or_default(),
            region_live_until: row.live_until,
            marker: row.marker()?,
        })
    }
}

impl Row {
    fn standing(&self) -> Result<Option<(AgentId, Standing)>, Error> {
        let known = || {
            let scores = [self.trust?, self.generosity?, self.health?];
            Some((
                AgentId::from_uuid(self.agent_id?),
                scores,
                self.quarantined?,
            ))
        };
        let whole = known().map(|(agent, scores, quarantined)| {
            Ok((agent, standing::of_row(agent, scores, quarantined)?))
        });
        whole.transpose()
    }

    /// A mark is there as a whole, or not at all.
    fn marker(self) -> Result<Option<Stored>, Error> {
        let whole = || {
            Some(MarkerRow {
                marker_id: self.marker_id?,
                region: self.region?,
                kind: self.kind?,
                placed_by: self.placed_by?,
                intensity: self.intensity?,
                half_life_s: self.half_life_s?,
                placed_at: self.placed_at?,
                refreshed_at: self.refreshed_at?,
                transformed_by: self.transformed_by?,
                version: self.version?,
                canonical: self.canonical,
                written_at: self.written_at?,
                has_faded: self.has_faded,
            })
        };
        whole().map(Stored::try_from).transpose()
    }
}

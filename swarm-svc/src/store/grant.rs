//! Table `swarm.grant`: what a scheduler saw when it launched a turn, so that anybody can see that it was that mind's.

use cambium_kernel::{Usd, WorkspaceId};
use cambium_swarm::pick::Candidate;
use cambium_swarm::share::EffectiveShare;
use cambium_swarm::timeline::Vtime;
use cambium_swarm::{Instance, TurnId, Why};
use serde_json::{Value, json};
use sqlx::PgConnection;

use crate::error::Error;
use crate::store;

/// The gate's numbers, and the minds in their order.
#[derive(Clone, Debug)]
pub(crate) struct Grant {
    pub(crate) bucket: Usd,
    pub(crate) reserved: Usd,
    pub(crate) k: u32,
    pub(crate) live: u32,
    pub(crate) candidates: Vec<Candidate>,
    pub(crate) passed_over: Vec<(Instance, Why)>,
}

pub(crate) async fn insert(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    turn: TurnId,
    grant: &Grant,
) -> Result<(), Error> {
    let candidates: Vec<Value> = grant.candidates.iter().map(candidate_to_value).collect();
    let passed: Vec<Value> = grant.passed_over.iter().map(passed_to_value).collect();
    let insert = sqlx::query!(
        r#"
        INSERT INTO swarm.grant
            (workspace_id, turn_id, bucket, reserved, k, live, candidates, passed_over, vtime_seq)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8,
                coalesce((SELECT seq FROM swarm.log_head WHERE workspace_id = $1 AND log = 'vtime'), 0))
        "#,
        workspace.as_str(),
        turn.as_uuid(),
        grant.bucket.as_micros(),
        grant.reserved.as_micros(),
        i32::try_from(grant.k).unwrap_or(i32::MAX),
        i32::try_from(grant.live).unwrap_or(i32::MAX),
        Value::Array(candidates),
        Value::Array(passed),
    );
    insert.execute(conn).await?;
    Ok(())
}

pub(crate) async fn find(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    turn: TurnId,
) -> Result<Option<Grant>, Error> {
    let row = sqlx::query!(
        r#"
        SELECT bucket, reserved, k, live, candidates, passed_over
        FROM swarm.grant
        WHERE workspace_id = $1 AND turn_id = $2
        "#,
        workspace.as_str(),
        turn.as_uuid(),
    );
    let Some(row) = row.fetch_optional(conn).await? else {
        return Ok(None);
    };
    let broken = || Error::broken(format!("the grant of turn {turn}"), "its lists");
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let candidates = list(&row.candidates);
    let candidates: Option<Vec<Candidate>> = candidates.iter().map(candidate_from_value).collect();
    let passed = list(&row.passed_over);
    let passed: Option<Vec<(Instance, Why)>> = passed.iter().map(passed_from_value).collect();
    Ok(Some(Grant {
        bucket: Usd::from_micros(row.bucket),
        reserved: Usd::from_micros(row.reserved),
        k: u32::try_from(row.k).unwrap_or(0),
        live: u32::try_from(row.live).unwrap_or(0),
        candidates: candidates.ok_or_else(broken)?,
        passed_over: passed.ok_or_else(broken)?,
    }))
}

fn candidate_to_value(candidate: &Candidate) -> Value {
    json!({
        "instance": candidate.instance.as_str(),
        "vtime": candidate.vtime.as_units(),
        "eff_ppm": candidate.share.as_ppm(),
    })
}

fn candidate_from_value(value: &Value) -> Option<Candidate> {
    Some(Candidate {
        instance: store::instance(value["instance"].as_str()?).ok()?,
        vtime: Vtime::from_units(value["vtime"].as_i64()?),
        share: EffectiveShare::from_ppm(value["eff_ppm"].as_i64()?).ok()?,
    })
}

fn passed_to_value((mind, why): &(Instance, Why)) -> Value {
    json!({"instance": mind.as_str(), "why": why.as_str()})
}

fn passed_from_value(value: &Value) -> Option<(Instance, Why)> {
    let mind = store::instance(value["instance"].as_str()?).ok()?;
    Some((mind, Why::parse(value["why"].as_str()?)?))
}

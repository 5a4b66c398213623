//! Table `immune.tally`: what each rule has counted of each agent.

use std::collections::BTreeMap;

use cambium_immune::Tally;
use chrono::DateTime;
use sqlx::PgConnection;

use super::{Key, columns};
use crate::error::Error;

/// A rule's memory of an agent.
pub(crate) type Tallies = BTreeMap<(Key, String), Tally>;

pub(crate) async fn load<'a>(
    conn: &mut PgConnection,
    keys: impl IntoIterator<Item = &'a Key>,
) -> Result<Tallies, Error> {
    let (workspaces, agents) = columns(keys);
    let rows = sqlx::query!(
        r#"
        SELECT t.workspace_id, t.agent_id, t.rule_id, t.times, t.spent
        FROM unnest($1::text[], $2::uuid[]) AS asked (workspace_id, agent_id)
        JOIN immune.tally t ON t.workspace_id = asked.workspace_id AND t.agent_id = asked.agent_id
        "#,
        &workspaces,
        &agents,
    )
    .fetch_all(conn)
    .await?;
    rows.into_iter()
        .map(|row| {
            let tally = Tally {
                times: row
                    .times
                    .iter()
                    .filter_map(|micros| DateTime::from_timestamp_micros(*micros))
                    .collect(),
                spent: row.spent,
            };
            let key = Key::from_row(&row.workspace_id, row.agent_id)?;
            Ok(((key, row.rule_id), tally))
        })
        .collect()
}

/// Their agents are locked.
pub(crate) async fn save(conn: &mut PgConnection, tallies: &Tallies) -> Result<(), Error> {
    let (workspaces, agents) = columns(tallies.keys().map(|(key, _)| key));
    let rules: Vec<String> = tallies.keys().map(|(_, rule)| rule.clone()).collect();
    let times: Vec<String> = tallies.values().map(times).collect();
    let spent: Vec<i64> = tallies.values().map(|tally| tally.spent).collect();
    sqlx::query!(
        r#"
        INSERT INTO immune.tally (workspace_id, agent_id, rule_id, times, spent)
        SELECT workspace_id, agent_id, rule_id, times::bigint[], spent
        FROM unnest($1::text[], $2::uuid[], $3::text[], $4::text[], $5::bigint[])
             AS new (workspace_id, agent_id, rule_id, times, spent)
        ON CONFLICT (workspace_id, agent_id, rule_id) DO UPDATE
        SET times = EXCLUDED.times, spent = EXCLUDED.spent
        "#,
        &workspaces,
        &agents,
        &rules,
        &times,
        &spent,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// As an array literal: arrays of several lengths do not pass as one.
fn times(tally: &Tally) -> String {
    let micros: Vec<String> = tally
        .times
        .iter()
        .map(|time| time.timestamp_micros().to_string())
        .collect();
    format!("{{{}}}", micros.join(","))
}

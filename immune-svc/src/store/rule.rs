//! Table `immune.rule`: the rules that workspaces have made or changed.

use std::collections::BTreeMap;

use cambium_immune::{Response, Rule, Span, built_ins};
use cambium_kernel::WorkspaceId;
use chrono::TimeDelta;
use sqlx::PgConnection;

use super::score;
use crate::error::Error;

struct Row {
    workspace_id: String,
    rule_id: String,
    signal_type: String,
    threshold: i32,
    severity: i32,
    response: String,
    window_ms: i64,
    of_last: i32,
    min_count: i32,
    is_dry_run: bool,
    is_enabled: bool,
    version: i64,
}

impl TryFrom<Row> for Rule {
    type Error = Error;

    fn try_from(row: Row) -> Result<Self, Self::Error> {
        let broken = |why: String| Error::broken(format!("rule `{}`", row.rule_id), why);
        let count = |count: i32| u32::try_from(count).map_err(|why| broken(why.to_string()));
        Ok(Self {
            signal_type: row.signal_type.clone(),
            threshold: score(row.threshold)?,
            severity: score(row.severity)?,
            response: Response::parse(&row.response).ok_or_else(|| broken(row.response.clone()))?,
            span: match count(row.of_last)? {
                0 => Span::Within(TimeDelta::milliseconds(row.window_ms)),
                of_last => Span::OfLast(of_last),
            },
            min_count: count(row.min_count)?,
            is_dry_run: row.is_dry_run,
            is_enabled: row.is_enabled,
            version: row.version,
            id: row.rule_id,
        })
    }
}

/// The rules of a workspace, its own and the built-in ones that it has not changed, by id.
pub(crate) async fn of(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
) -> Result<Vec<Rule>, Error> {
    let mut all = of_each(conn, &[workspace.to_string()]).await?;
    Ok(all.remove(workspace.as_str()).unwrap_or_default())
}

/// The same of each of these workspaces.
pub(crate) async fn of_each(
    conn: &mut PgConnection,
    workspaces: &[String],
) -> Result<BTreeMap<String, Vec<Rule>>, Error> {
    let rows = sqlx::query_as!(
        Row,
        r#"
        SELECT workspace_id, rule_id, signal_type, threshold, severity, response, window_ms, of_last, min_count,
               is_dry_run, is_enabled, version
        FROM immune.rule
        WHERE workspace_id = ANY ($1)
        "#,
        workspaces,
    )
    .fetch_all(conn)
    .await?;
    let mut all: BTreeMap<String, BTreeMap<String, Rule>> = workspaces
        .iter()
        .map(|workspace| {
            let rules = built_ins().into_iter().map(|rule| (rule.id.clone(), rule));
            (workspace.clone(), rules.collect())
        })
        .collect();
    for row in rows {
        let workspace = row.workspace_id.clone();
        let rule = Rule::try_from(row)?;
        all.entry(workspace)
            .or_default()
            .insert(rule.id.clone(), rule);
    }
    Ok(all
        .into_iter()
        .map(|(workspace, rules)| (workspace, rules.into_values().collect()))
        .collect())
}

/// Puts a version of a rule over the one before. The workspace is locked, and the versions were compared.
pub(crate) async fn put(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    rule: &Rule,
    put_by: &str,
) -> Result<(), Error> {
    let (window_ms, of_last) = match rule.span {
        Span::Within(window) => (window.num_milliseconds(), 0),
        Span::OfLast(of_last) => (0, i32::try_from(of_last).unwrap_or(i32::MAX)),
    };
    sqlx::query!(
        r#"
        INSERT INTO immune.rule (
            workspace_id, rule_id, signal_type, threshold, severity, response, window_ms, of_last, min_count, is_dry_run,
            is_enabled, version, put_by, put_at
        ) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, immune.now())
        ON CONFLICT (workspace_id, rule_id) DO UPDATE SET
            signal_type = EXCLUDED.signal_type, threshold = EXCLUDED.threshold, severity = EXCLUDED.severity,
            response = EXCLUDED.response, window_ms = EXCLUDED.window_ms, of_last = EXCLUDED.of_last,
            min_count = EXCLUDED.min_count, is_dry_run = EXCLUDED.is_dry_run, is_enabled = EXCLUDED.is_enabled,
            version = EXCLUDED.version, put_by = EXCLUDED.put_by, put_at = EXCLUDED.put_at
        "#,
        workspace.as_str(),
        rule.id,
        rule.signal_type,
        rule.threshold.as_millionths(),
        rule.severity.as_millionths(),
        rule.response.as_str(),
        window_ms,
        of_last,
        i32::try_from(rule.min_count).unwrap_or(i32::MAX),
        rule.is_dry_run,
        rule.is_enabled,
        rule.version,
        put_by,
    )
    .execute(conn)
    .await?;
    Ok(())
}

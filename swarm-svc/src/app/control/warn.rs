//! What an operator is told of what was set: never a reason to refuse it.

use cambium_kernel::WorkspaceId;
use cambium_swarm::Instance;
use cambium_swarm::dial::Dial;
use cambium_swarm::share::EffectiveShare;
use cambium_swarm::warning::{self, Warning};
use chrono::{DateTime, Utc};
use sqlx::PgConnection;

use crate::error::Error;
use crate::store::{self, standing};

/// Of the members' shares, as they stand now. Without a dial there are no slots that could be the limit.
pub(super) async fn of_shares(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    dial: Option<&Dial>,
    now: DateTime<Utc>,
) -> Result<Vec<Warning>, Error> {
    let Some(dial) = dial else {
        return Ok(Vec::new());
    };
    let placed = standing::load(conn, workspace, None).await?;
    let members = placed.iter().filter(|one| one.standing.is_member(now));
    let members: Vec<(Instance, EffectiveShare)> = members
        .filter_map(|one| Some((one.instance.clone(), one.effective(now)?)))
        .collect();
    Ok(warning::of_shares(&members, dial))
}

/// Of rulings in force whose day of review has passed.
pub(super) async fn of_reviews(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    now: DateTime<Utc>,
) -> Result<Vec<Warning>, Error> {
    let today = now.date_naive();
    let reviews = store::warning::reviews_before(conn, workspace, today).await?;
    let warnings = reviews
        .into_iter()
        .filter_map(|(holder, ruling, day)| warning::of_review(holder, ruling, day, today));
    Ok(warnings.collect())
}

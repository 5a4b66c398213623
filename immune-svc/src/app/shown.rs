//! Standings as people see them: with name, badges, and why an agent is in quarantine.

use std::collections::HashMap;

use cambium_immune::Policy;
use chrono::{DateTime, Utc};
use sqlx::PgConnection;
use uuid::Uuid;

use crate::error::Error;
use crate::store;
use crate::store::Key;
use crate::store::standing::Account;

/// A standing, and what belongs beside it.
#[derive(Clone, Debug)]
pub(crate) struct Shown {
    pub(crate) key: Key,
    pub(crate) account: Account,
    pub(crate) name: String,
    pub(crate) quarantine_reason: String,
    pub(crate) policy: Policy,
    /// When it was looked at: idle trust is shown as it was then.
    pub(crate) at: DateTime<Utc>,
}

/// Adds what belongs beside them. All are of one workspace.
pub(super) async fn shown(
    conn: &mut PgConnection,
    accounts: Vec<(Key, Account)>,
) -> Result<Vec<Shown>, Error> {
    let Some((first, _)) = accounts.first() else {
        return Ok(Vec::new());
    };
    let policy = store::policy::of(conn, &first.workspace).await?;
    let at = store::now(conn).await?;
    let mut names = store::agent::names(conn, accounts.iter().map(|(key, _)| key)).await?;
    let stays: Vec<Uuid> = accounts
        .iter()
        .filter_map(|(_, account)| account.stay.map(|stay| stay.id))
        .collect();
    let mut reasons: HashMap<Uuid, String> = HashMap::new();
    if !stays.is_empty() {
        let quarantines = store::quarantine::by_ids(conn, &stays).await?;
        reasons.extend(quarantines.into_iter().map(|one| (one.id, one.reason)));
    }
    let show = |(key, account): (Key, Account)| Shown {
        name: names.remove(&key).unwrap_or_default(),
        quarantine_reason: account
            .stay
            .and_then(|stay| reasons.remove(&stay.id))
            .unwrap_or_default(),
        policy: policy.clone(),
        at,
        key,
        account,
    };
    Ok(accounts.into_iter().map(show).collect())
}

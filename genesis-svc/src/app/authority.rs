//! What a caller may do, as far as that depends on who it is to an agent, and on how it stands.

use cambium_kernel::{AgentId, WorkspaceId};
use cambium_service_kit::principal::{Kind, Principal};
use chrono::{DateTime, TimeDelta, Utc};
use sqlx::PgConnection;

use crate::error::Error;
use crate::store;

/// How old a login may be that takes back what others rely on.
const LOGIN: TimeDelta = TimeDelta::minutes(5);

/// Refuses a login that is not recent.
pub(crate) fn recently_logged_in(caller: &Principal, now: DateTime<Utc>) -> Result<(), Error> {
    if now - caller.issued_at > LOGIN {
        return Err(Error::StepUp);
    }
    Ok(())
}

/// The agent that calls, if it is one. One in quarantine changes nothing.
pub(super) async fn agent(
    tx: &mut PgConnection,
    caller: &Principal,
    workspace: &WorkspaceId,
) -> Result<Option<AgentId>, Error> {
    if caller.kind != Kind::Agent {
        return Ok(None);
    }
    let id = caller.name.parse();
    let id = id.map_err(|_| Error::Denied("the token names no agent of ours"))?;
    if store::standing::is_quarantined(tx, workspace, id).await? {
        return Err(Error::Quarantined);
    }
    Ok(Some(id))
}

/// Who the parent of a spawn is: an agent that calls spawns for itself alone, anybody else for whom it names.
pub(super) async fn parent(
    tx: &mut PgConnection,
    caller: &Principal,
    workspace: &WorkspaceId,
    named: Option<AgentId>,
) -> Result<Option<AgentId>, Error> {
    if caller.kind == Kind::Service && caller.name != "hypha" {
        return Err(Error::Denied("of the services hypha alone spawns"));
    }
    match (agent(tx, caller, workspace).await?, named) {
        (None, named) => Ok(named),
        (Some(own), None) => Ok(Some(own)),
        (Some(own), Some(named)) if own == named => Ok(Some(own)),
        (Some(_), Some(_)) => Err(Error::Denied("an agent spawns in its own name only")),
    }
}

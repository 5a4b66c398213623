//! The doors of immune: a call is read, handed to one use case, and answered.

mod alert;
mod generosity;
mod quarantine;
mod rule;
mod standing;

use std::sync::Arc;

use cambium_kernel::WorkspaceId;
use cambium_service_kit::call;
use cambium_service_kit::principal::Principal;
use tonic::Request;

use crate::error::Error;

pub(crate) use alert::AlertRpc;
pub(crate) use generosity::GenerosityRpc;
pub(crate) use quarantine::QuarantineRpc;
pub(crate) use rule::RuleRpc;
pub(crate) use standing::StandingRpc;

/// Who calls, and in which workspace.
fn entered<T>(
    request: &Request<T>,
    workspace: impl Fn(&T) -> &str,
) -> Result<(Arc<Principal>, WorkspaceId), Error> {
    let principal = call::principal(request)?;
    let workspace = workspace(request.get_ref());
    let workspace = call::workspace(&principal, workspace, "workspace_id")?;
    Ok((principal, workspace))
}

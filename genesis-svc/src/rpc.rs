//! The doors of genesis: a call is read, handed to one use case, and answered.

mod agent;
mod compost;
mod spawn;
mod template;

use std::sync::Arc;

use cambium_kernel::WorkspaceId;
use cambium_service_kit::call;
use cambium_service_kit::principal::Principal;
use tonic::Request;

use crate::convert;
use crate::error::Error;

pub(crate) use agent::AgentRpc;
pub(crate) use compost::CompostRpc;
pub(crate) use spawn::SpawnRpc;
pub(crate) use template::TemplateRpc;

/// Who calls, and in which workspace.
fn entered<T>(
    request: &Request<T>,
    workspace: impl Fn(&T) -> &str,
) -> Result<(Arc<Principal>, WorkspaceId), Error> {
    let caller = call::principal(request)?;
    let workspace = convert::workspace(&caller, workspace(request.get_ref()))?;
    Ok((caller, workspace))
}

//! The wire: converts, calls one use case, converts back.

pub(crate) mod graph;
pub(crate) mod matching;
pub(crate) mod run;
pub(crate) mod task;
pub(crate) mod work;
pub(crate) mod worker;

use std::sync::Arc;

use cambium_kernel::WorkspaceId;
use cambium_service_kit::call;
use cambium_service_kit::principal::Principal;
use tonic::Request;

use crate::error::Error;

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

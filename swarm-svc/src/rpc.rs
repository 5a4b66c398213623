//! The doors of swarm: a call is read, handed to one use case, and answered.

mod control;
mod loan;
mod mind;
mod persona;
mod record;
mod routing;
mod timeline;

use std::sync::Arc;

use cambium_kernel::WorkspaceId;
use cambium_service_kit::call;
use cambium_service_kit::database::retry_conflicts;
use cambium_service_kit::principal::Principal;
use cambium_swarm::Instance;
use tonic::{Request, Response, Status};

use crate::convert;
use crate::error::Error;

pub(crate) use control::ControlRpc;
pub(crate) use loan::LoanRpc;
pub(crate) use mind::MindRpc;
pub(crate) use persona::PersonaRpc;
pub(crate) use record::RecordRpc;
pub(crate) use routing::RoutingRpc;
pub(crate) use timeline::TimelineRpc;

/// Who calls, and in which workspace.
fn entered<T>(
    request: &Request<T>,
    workspace: impl Fn(&T) -> &str,
) -> Result<(Arc<Principal>, WorkspaceId), Error> {
    let caller = call::principal(request)?;
    let workspace = convert::workspace(&caller, workspace(request.get_ref()))?;
    Ok((caller, workspace))
}

/// A mind's name that a filter may leave out.
fn named(field: &'static str, text: &str) -> Result<Option<String>, Error> {
    let name = Some(text).filter(|text| !text.is_empty());
    let name = name
        .map(|name| Instance::parse_as(field, name))
        .transpose()?;
    Ok(name.map(|name| name.to_string()))
}

/// Answers with a change, begun afresh as long as another writer won.
async fn changed<R, F>(change: impl FnMut() -> F) -> Result<Response<R>, Status>
where
    F: Future<Output = Result<R, Error>>,
{
    Ok(Response::new(retry_conflicts(3, change).await?))
}

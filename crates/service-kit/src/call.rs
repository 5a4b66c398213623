//! What a handler knows of a call before it reads the body: who calls, which method, under which request id.
//! Decides nothing: what the caller may do is asked of `auth` before, and of the service after.

use std::sync::Arc;

use cambium_kernel::{ErrorKind, Failure, NameError, WorkspaceId};
use ring::digest::{SHA256, digest};
use tonic::{Request, Status};
use uuid::Uuid;

use crate::principal::Principal;
use crate::status;

/// Why a call cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    #[error("`request_id` is missing: send a new UUID, and the same one again when retrying")]
    RequestIdMissing,

    #[error("`request_id` is not a UUID")]
    RequestIdMalformed,

    #[error("`{field}` {why}")]
    WorkspaceMalformed { field: &'static str, why: NameError },

    #[error("workspace `{0}` is not known")]
    WorkspaceUnknown(WorkspaceId),

    #[error("the method was reached without passing the authentication layer")]
    CallerMissing,
}

impl Failure for Error {
    fn kind(&self) -> ErrorKind {
        match self {
            Self::RequestIdMissing | Self::RequestIdMalformed | Self::WorkspaceMalformed { .. } => {
                ErrorKind::Invalid
            }
            Self::WorkspaceUnknown(_) => ErrorKind::NotFound,
            Self::CallerMissing => ErrorKind::Internal,
        }
    }

    fn reason(&self) -> &'static str {
        match self {
            Self::RequestIdMissing | Self::RequestIdMalformed => "REQUEST_ID_INVALID",
            Self::WorkspaceMalformed { .. } => "WORKSPACE_INVALID",
            Self::WorkspaceUnknown(_) => "WORKSPACE_UNKNOWN",
            Self::CallerMissing => "CALLER_MISSING",
        }
    }

    fn field(&self) -> Option<String> {
        match self {
            Self::RequestIdMissing | Self::RequestIdMalformed => Some("request_id".to_owned()),
            Self::WorkspaceMalformed { field, .. } => Some((*field).to_owned()),
            Self::WorkspaceUnknown(_) | Self::CallerMissing => None,
        }
    }
}

impl From<Error> for Status {
    fn from(error: Error) -> Self {
        status::from_failure(&error)
    }
}

/// What the authentication layer leaves in a request's extensions.
#[derive(Clone, Debug)]
pub struct Caller {
    pub principal: Arc<Principal>,
    /// The gRPC path, as in `/cambium.hypha.v1.RunService/StartRun`.
    pub method: &'static str,
}

/// A call that changes something, and may be sent again under the same request id.
#[derive(Clone, Debug)]
pub struct Call {
    pub principal: Arc<Principal>,
    pub request_id: Uuid,
    /// The gRPC path, as in `/cambium.hypha.v1.RunService/StartRun`.
    pub method: &'static str,
    /// SHA-256 of the body as it was understood: the same id with another body is another request.
    pub body_hash: [u8; 32],
}

impl Call {
    /// Reads the call off its request. `request_id` is the body's field of that name.
    pub fn of<T: prost::Message>(request: &Request<T>, request_id: &str) -> Result<Self, Error> {
        let caller = caller(request)?;
        Ok(Self {
            principal: Arc::clone(&caller.principal),
            request_id: parse_request_id(request_id)?,
            method: caller.method,
            body_hash: body_hash(request.get_ref()),
        })
    }
}

/// Who calls, for methods that carry no request id.
pub fn principal<T>(request: &Request<T>) -> Result<Arc<Principal>, Error> {
    caller(request).map(|caller| Arc::clone(&caller.principal))
}

/// The workspace a field names, if the caller may enter it. A closed one looks like one that does not exist.
pub fn workspace(
    principal: &Principal,
    text: &str,
    field: &'static str,
) -> Result<WorkspaceId, Error> {
    let workspace =
        WorkspaceId::parse(text).map_err(|why| Error::WorkspaceMalformed { field, why })?;
    if principal.may_enter(&workspace) {
        Ok(workspace)
    } else {
        Err(Error::WorkspaceUnknown(workspace))
    }
}

fn caller<T>(request: &Request<T>) -> Result<&Caller, Error> {
    request
        .extensions()
        .get::<Caller>()
        .ok_or(Error::CallerMissing)
}

fn parse_request_id(text: &str) -> Result<Uuid, Error> {
    if text.is_empty() {
        return Err(Error::RequestIdMissing);
    }
    match Uuid::try_parse(text) {
        Ok(id) if !id.is_nil() => Ok(id),
        Ok(_) | Err(_) => Err(Error::RequestIdMalformed),
    }
}

fn body_hash(body: &impl prost::Message) -> [u8; 32] {
    let hash = digest(&SHA256, &body.encode_to_vec());
    hash.as_ref().try_into().expect("SHA-256 has 32 bytes")
}

#[cfg(test)]
mod tests;

//! The reply to each request id, kept in the transaction of its effect: asking again changes nothing.
//! Never decides whether the caller may: that is asked again before the receipt is looked for.
//!
//! Works on a table that the service's migrations make:
//! `receipt(scope text, request_id uuid, body_hash bytea, reply bytea, created_at timestamptz)`, unique by the first two.

use cambium_kernel::{ErrorKind, Failure, WorkspaceId};
use prost::Message;
use sqlx::{AssertSqlSafe, PgConnection};
use uuid::Uuid;

use crate::call::Call;
use crate::database;

/// Why a receipt is not to be had.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("request id {0} was used before with another body: send a new id")]
    Taken(Uuid),

    #[error("the stored reply to request {0} cannot be read")]
    Unreadable(Uuid, #[source] prost::DecodeError),

    #[error(transparent)]
    Database(#[from] database::Error),
}

impl From<sqlx::Error> for Error {
    fn from(error: sqlx::Error) -> Self {
        Self::Database(error.into())
    }
}

impl Failure for Error {
    fn kind(&self) -> ErrorKind {
        match self {
            Self::Taken(_) => ErrorKind::Taken,
            Self::Unreadable(..) => ErrorKind::Internal,
            Self::Database(error) => error.kind(),
        }
    }

    fn reason(&self) -> &'static str {
        match self {
            Self::Taken(_) => "REQUEST_ID_REUSED",
            Self::Unreadable(..) => "RECEIPT_UNREADABLE",
            Self::Database(error) => error.reason(),
        }
    }

    fn field(&self) -> Option<String> {
        match self {
            Self::Taken(_) => Some("request_id".to_owned()),
            Self::Unreadable(..) | Self::Database(_) => None,
        }
    }

    fn wait(&self) -> Option<std::time::Duration> {
        match self {
            Self::Taken(_) | Self::Unreadable(..) => None,
            Self::Database(error) => error.wait(),
        }
    }
}

/// Within what a request id is one: the method, the workspace and who calls.
#[must_use]
pub fn scope(call: &Call, workspace: &WorkspaceId) -> String {
    // No name holds a line break, so no two scopes read the same.
    format!("{}\n{workspace}\n{}", call.method, call.principal.subject())
}

/// The reply that this call was given before, if it was. The same id with another body is refused.
pub async fn find<R: Message + Default>(
    conn: &mut PgConnection,
    schema: &'static str,
    call: &Call,
    workspace: &WorkspaceId,
) -> Result<Option<R>, Error> {
    let select = format!(
        "SELECT body_hash, reply FROM {schema}.receipt WHERE scope = $1 AND request_id = $2"
    );
    let found: Option<(Vec<u8>, Vec<u8>)> = sqlx::query_as(AssertSqlSafe(select))
        .bind(scope(call, workspace))
        .bind(call.request_id)
        .fetch_optional(conn)
        .await?;
    let Some((body_hash, reply)) = found else {
        return Ok(None);
    };
    if body_hash != call.body_hash {
        return Err(Error::Taken(call.request_id));
    }
    let reply =
        R::decode(reply.as_slice()).map_err(|error| Error::Unreadable(call.request_id, error))?;
    Ok(Some(reply))
}

/// Keeps the reply. If the same call was answered meanwhile this is a conflict: begun afresh, it finds that answer.
pub async fn insert(
    conn: &mut PgConnection,
    schema: &'static str,
    call: &Call,
    workspace: &WorkspaceId,
    reply: &impl Message,
) -> Result<(), Error> {
    let insert = format!(
        "INSERT INTO {schema}.receipt (scope, request_id, body_hash, reply, created_at)
         VALUES ($1, $2, $3, $4, {schema}.now())"
    );
    sqlx::query(AssertSqlSafe(insert))
        .bind(scope(call, workspace))
        .bind(call.request_id)
        .bind(call.body_hash.as_slice())
        .bind(reply.encode_to_vec())
        .execute(conn)
        .await?;
    Ok(())
}

//! Every change to a mark that a caller makes, in one place, many calls to a transaction.
//!
//! A call becomes an [`Op`]; the committer drains what waits, and for all of it at once (`commit`) takes the workspaces'
//! locks, loads what is there, decides call by call in memory (`plan`), writes, and only after the commit answers. A call
//! that is refused changes nothing and stops nobody else's.
//!
//! Refuses to hold truth in memory: what is decided upon was read under the lock, in the same transaction.

mod commit;
mod op;
mod plan;

use cambium_proto::stigmergy::v1::PlaceMarkerResponse;
use cambium_service_kit::outbox::{Routes, Wake};
use cambium_service_kit::{batch, receipt};
use sqlx::PgPool;
use tokio::sync::{broadcast, mpsc, oneshot};

pub(crate) use commit::run;
pub(crate) use op::{Op, Wish};

use cambium_kernel::WorkspaceId;
use cambium_service_kit::call::Call;
use cambium_stigmergy::Author;

use crate::error::Error;
use crate::store::rate::Refused;

/// What every touch is answered with. It reads as the answer to a reinforcement or a transformation too: those have the
/// mark under the same number, and nothing else.
pub(crate) type Answer = PlaceMarkerResponse;

/// Calls of one transaction, at most.
pub(crate) const BATCH: usize = 128;

/// Calls waiting for the committer, at most.
const BACKLOG: usize = 1_024;

/// Refusals that wait to be told, at most. What finds no room is not told: the next one will be.
const TELL: usize = 256;

/// What a committer needs.
#[derive(Clone, Debug)]
pub(crate) struct Toucher {
    pub(crate) pool: PgPool,
    pub(crate) routes: Routes,
    /// Wakes the relay after a commit that filled the outbox.
    pub(crate) relay: Wake,
    /// Says which workspace has new events, to whoever watches here.
    pub(crate) news: broadcast::Sender<WorkspaceId>,
    tell: mpsc::Sender<Refused>,
}

/// The end that callers hold.
#[derive(Clone, Debug)]
pub(crate) struct Touches(batch::Sender<Op>);

/// The ends that the loops hold.
#[derive(Debug)]
pub(crate) struct Ends {
    pub(crate) ops: batch::Receiver<Op>,
    pub(crate) refused: mpsc::Receiver<Refused>,
}

pub(crate) fn new(pool: PgPool, routes: Routes, relay: Wake) -> (Touches, Toucher, Ends) {
    let (sender, ops) = batch::channel(BACKLOG);
    let (tell, refused) = mpsc::channel(TELL);
    let toucher = Toucher {
        pool,
        routes,
        relay,
        news: broadcast::channel(1_024).0,
        tell,
    };
    (Touches(sender), toucher, Ends { ops, refused })
}

impl Touches {
    /// Hands one call in, and waits until what it did is stored.
    pub(crate) async fn touch(
        &self,
        call: Call,
        workspace: WorkspaceId,
        author: Author,
        wish: Wish,
    ) -> Result<Answer, Error> {
        let (reply, answer) = oneshot::channel();
        let scope = receipt::scope(&call, &workspace);
        let op = Op {
            call,
            scope,
            workspace,
            author,
            wish,
            reply,
        };
        self.0.submit(op).await?;
        answer.await.map_err(|_| Error::Stopping)?
    }
}

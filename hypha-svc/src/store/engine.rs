//! The statements of the hot path (design: hot-path). Everything between them is decided in Rust.
//! They lock runs first, ascending; whoever locks otherwise invites deadlocks.

use cambium_kernel::RunId;
use uuid::Uuid;

mod claim;
mod fence;
mod write;

pub(crate) use claim::{Candidate, Claim, Search, candidates, lease};
pub(crate) use fence::{Fence, FenceRequest, Fenced, HotRow, RunHead, fence};
pub(crate) use write::{
    Counts, NewEnd, NewEvents, NewHot, NewRun, RunChange, Write, Written, write,
};

/// Names a task in the store: node `n` of a run, member `i` of its fan-out from 1, or 0 for the node itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct TaskKey {
    pub(crate) run: RunId,
    pub(crate) n: u32,
    pub(crate) i: u32,
}

impl TaskKey {
    /// From the columns that name a task in every table.
    pub(crate) fn of_row(run_id: Uuid, n: i32, i: i32) -> Self {
        Self {
            run: RunId::from_uuid(run_id),
            n: unsigned(n),
            i: unsigned(i),
        }
    }
}

/// A count or index for an `integer` column. Graphs are bounded far below the type's end.
pub(crate) fn signed(value: u32) -> i32 {
    i32::try_from(value).unwrap_or(i32::MAX)
}

/// The reverse of [`signed`].
pub(crate) fn unsigned(value: i32) -> u32 {
    u32::try_from(value).unwrap_or(0)
}

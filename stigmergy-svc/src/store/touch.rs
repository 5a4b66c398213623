//! What a batch of touches reads and writes: one statement each way, and others for what most batches do without.

mod load;
mod touched;
mod write;

pub(crate) use load::{Asked, Loaded, load};
pub(crate) use touched::Touched;
pub(crate) use write::{NewReceipt, NewVersion, Window, Written, write};

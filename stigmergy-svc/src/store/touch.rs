//! What a batch of touches reads and writes: one statement each way, and three more for what is rarely there.

mod load;
mod write;

pub(crate) use load::{Asked, Loaded, load};
pub(crate) use write::{NewReceipt, NewVersion, Touched, Window, Written, write};

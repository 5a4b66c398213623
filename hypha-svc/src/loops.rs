//! What happens again and again: no input, idempotent, safe on any number of replicas.

pub(crate) mod commit;
pub(crate) mod decide;
pub(crate) mod expire;
pub(crate) mod forget;
pub(crate) mod listen;
pub(crate) mod pulse;
pub(crate) mod spawn;
pub(crate) mod standing;
pub(crate) mod sweep;

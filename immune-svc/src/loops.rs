//! What happens again and again. Without input, and safe on any number of replicas.

pub(crate) mod expire;
pub(crate) mod forget;
pub(crate) mod listen;
pub(crate) mod record;

//! What happens again and again. Without input, and safe on any number of replicas.

pub(crate) mod dispatch;
pub(crate) mod forget;
pub(crate) mod listen;
pub(crate) mod offers;
pub(crate) mod tick;

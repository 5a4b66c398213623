//! What happens again and again. Without input, and safe on any number of replicas.

pub(crate) mod compost;
pub(crate) mod forget;

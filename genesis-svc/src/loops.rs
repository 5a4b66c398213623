//! What happens again and again. Without input, and safe on any number of replicas.

pub(crate) mod forget;

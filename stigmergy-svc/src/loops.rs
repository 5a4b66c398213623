//! What happens again and again. Without input, and safe on any number of replicas.

pub(crate) mod commit;
pub(crate) mod fade;
pub(crate) mod forget;
pub(crate) mod tell;

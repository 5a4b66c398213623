//! Other services, called with a deadline and never inside a transaction.

pub(crate) mod genesis;

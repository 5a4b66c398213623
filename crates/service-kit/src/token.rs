//! Credentials: EdDSA JSON web tokens, the keys that sign them, and the bundle of keys that verify them.
//! Knows no other algorithm, and decides nothing about what a caller may do once it is known.

mod bundle;
mod claims;
mod crypto;
mod error;
mod issuer;
mod key;
mod verifier;

pub use bundle::Bundle;
pub use claims::Mint;
pub use crypto::install as install_crypto;
pub use error::{KeyError, TokenError};
pub use issuer::{Issuer, max_life};
pub use key::{PublicKey, SigningKey};
pub use verifier::Verifier;

#[cfg(test)]
pub(crate) mod tests;

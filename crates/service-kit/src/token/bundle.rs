//! The public keys that a service trusts, and what each may sign.

use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::key::{unreachable_file, write_private};
use super::{KeyError, PublicKey};

/// A file of public keys. A key id stands in it once.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Bundle(Vec<PublicKey>);

impl Bundle {
    pub fn load(path: &Path) -> Result<Self, KeyError> {
        let text = fs::read(path).map_err(|source| unreachable_file(path, source))?;
        let keys: Vec<PublicKey> =
            serde_json::from_slice(&text).map_err(|_| KeyError::Malformed {
                path: path.to_owned(),
            })?;
        Ok(keys.into_iter().fold(Self::default(), Self::with))
    }

    pub fn save(&self, path: &Path) -> Result<(), KeyError> {
        write_private(path, self)
    }

    /// Adds a key, in the place of an older one of the same id.
    #[must_use]
    pub fn with(mut self, key: PublicKey) -> Self {
        self.0.retain(|known| known.kid != key.kid);
        self.0.push(key);
        self
    }

    #[must_use]
    pub fn keys(&self) -> &[PublicKey] {
        &self.0
    }
}

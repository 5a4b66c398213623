//! A private key that signs tokens, and the public half that others verify them with.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::Arc;
use std::{fmt, process};

use anyhow::Context as _;
use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use chrono::{DateTime, Utc};
use jsonwebtoken::{Algorithm, EncodingKey, Header};
use ring::rand::SystemRandom;
use ring::signature::{Ed25519KeyPair, KeyPair};
use serde::{Deserialize, Serialize};

use super::claims::{Claims, Mint};
use super::{Issuer, KeyError, TokenError, crypto};
use crate::config::Env;

/// What verifies the tokens of one [`SigningKey`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PublicKey {
    /// Names the key in the tokens it signed.
    pub kid: String,
    pub issuer: Issuer,
    /// The Ed25519 point, base64url without padding.
    pub x: String,
}

/// Signs tokens as one issuer.
pub struct SigningKey {
    pkcs8: Vec<u8>,
    encoding: EncodingKey,
    header: Header,
    public: PublicKey,
}

/// A key as its file keeps it.
#[derive(Serialize, Deserialize)]
struct Stored {
    kid: String,
    issuer: Issuer,
    /// PKCS#8, base64.
    private: String,
}

impl SigningKey {
    pub fn generate(kid: &str, issuer: Issuer) -> Result<Self, KeyError> {
        let document = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new())
            .map_err(|_| KeyError::NoRandomness)?;
        Self::from_pkcs8(kid.to_owned(), issuer, document.as_ref().to_vec())
    }

    pub fn load(path: &Path) -> Result<Self, KeyError> {
        let malformed = || KeyError::Malformed {
            path: path.to_owned(),
        };
        let text = fs::read(path).map_err(|source| unreachable_file(path, source))?;
        let stored: Stored = serde_json::from_slice(&text).map_err(|_| malformed())?;
        let pkcs8 = STANDARD.decode(&stored.private).map_err(|_| malformed())?;
        Self::from_pkcs8(stored.kid, stored.issuer, pkcs8).map_err(|_| malformed())
    }

    /// The key in the file that a setting names.
    pub fn named(env: &Env, name: &'static str) -> anyhow::Result<Arc<Self>> {
        let key = Self::load(Path::new(&env.required(name)?)).context(name)?;
        Ok(Arc::new(key))
    }

    /// Writes the key, private part and all, for its owner's eyes only (0600).
    pub fn save(&self, path: &Path) -> Result<(), KeyError> {
        let stored = Stored {
            kid: self.public.kid.clone(),
            issuer: self.public.issuer,
            private: STANDARD.encode(&self.pkcs8),
        };
        write_private(path, &stored)
    }

    #[must_use]
    pub fn public(&self) -> PublicKey {
        self.public.clone()
    }

    /// Signs a token for `wish`, good from `now` on. Refuses what no verifier would accept.
    pub fn mint(&self, now: DateTime<Utc>, wish: Mint) -> Result<String, TokenError> {
        let claims = Claims::of(wish, self.public.issuer, now)?;
        self.sign(&claims)
    }

    /// Signs any claims, good or bad.
    pub(super) fn sign(&self, claims: &Claims) -> Result<String, TokenError> {
        crypto::install();
        jsonwebtoken::encode(&self.header, claims, &self.encoding)
            .map_err(|_| TokenError::Malformed)
    }

    fn from_pkcs8(kid: String, issuer: Issuer, pkcs8: Vec<u8>) -> Result<Self, KeyError> {
        let Ok(pair) = Ed25519KeyPair::from_pkcs8(&pkcs8) else {
            return Err(KeyError::NotEd25519 { kid });
        };
        let mut header = Header::new(Algorithm::EdDSA);
        header.kid = Some(kid.clone());
        let x = URL_SAFE_NO_PAD.encode(pair.public_key().as_ref());
        let encoding = EncodingKey::from_ed_der(&pkcs8);
        let public = PublicKey { kid, issuer, x };
        Ok(Self {
            pkcs8,
            encoding,
            header,
            public,
        })
    }
}

// The private part stays out of logs.
impl fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SigningKey")
            .field("public", &self.public)
            .finish_non_exhaustive()
    }
}

/// Replaces a file at once and whole, readable by its owner only.
pub(super) fn write_private(path: &Path, content: &impl Serialize) -> Result<(), KeyError> {
    let write = || -> io::Result<()> {
        let fresh = path.with_extension(format!("{}.new", process::id()));
        let mut options = OpenOptions::new();
        let mut file = options
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .open(&fresh)?;
        file.write_all(&serde_json::to_vec_pretty(content)?)?;
        file.write_all(b"\n")?;
        file.sync_all()?;
        fs::rename(&fresh, path)
    };
    write().map_err(|source| unreachable_file(path, source))
}

pub(super) fn unreachable_file(path: &Path, source: io::Error) -> KeyError {
    KeyError::File {
        path: path.to_owned(),
        source,
    }
}

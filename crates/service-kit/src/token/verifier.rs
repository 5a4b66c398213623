//! Tells whose a token is, and remembers the answer for a minute.
//! Keeps no token: answers are kept under the token's hash, so that a memory dump holds no credential.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use cambium_kernel::Clock;
use chrono::{DateTime, TimeDelta, Utc};
use jsonwebtoken::{Algorithm, DecodingKey, Validation, decode, decode_header, errors};
use quick_cache::sync::Cache;
use ring::digest::{SHA256, digest};

use super::claims::{Claims, check_life, check_mint, parse_subject, time};
use super::{Bundle, Issuer, TokenError, crypto};
use crate::principal::Principal;

const MAX_BYTES: usize = 4_096;
/// How far two machines' clocks may lie apart.
const TOLERANCE: TimeDelta = TimeDelta::seconds(60);
const CACHE_ENTRIES: usize = 10_000;
const CACHE_LIFE: TimeDelta = TimeDelta::seconds(60);

/// Verifies the tokens that are meant for one service.
pub struct Verifier {
    keys: HashMap<String, Key>,
    audience: String,
    clock: Arc<dyn Clock>,
    validation: Validation,
    cache: Cache<[u8; 32], Known>,
}

struct Key {
    issuer: Issuer,
    decoding: DecodingKey,
}

/// A token found good at `from`, to be looked at again at `until`.
#[derive(Clone)]
struct Known {
    principal: Arc<Principal>,
    from: DateTime<Utc>,
    until: DateTime<Utc>,
}

impl Verifier {
    /// A key of the bundle that is no Ed25519 key verifies nothing.
    #[must_use]
    pub fn new(bundle: Bundle, audience: &str, clock: Arc<dyn Clock>) -> Self {
        crypto::install();
        Self {
            keys: bundle.keys().iter().filter_map(decoding_key).collect(),
            audience: audience.to_owned(),
            clock,
            validation: signature_only(),
            cache: Cache::new(CACHE_ENTRIES),
        }
    }

    /// Whose token it is, if it is good here and now.
    pub fn verify(&self, token: &str) -> Result<Arc<Principal>, TokenError> {
        if token.len() > MAX_BYTES {
            return Err(TokenError::TooLarge { bytes: token.len() });
        }
        let now = self.clock.now();
        let key = fingerprint(token);
        if let Some(known) = self.cache.get(&key)
            && known.from <= now
            && now < known.until
        {
            return Ok(known.principal);
        }
        let principal = Arc::new(self.judge(token, now)?);
        let until = principal.expires_at.min(now + CACHE_LIFE);
        if now < until {
            let principal = Arc::clone(&principal);
            self.cache.insert(
                key,
                Known {
                    principal,
                    from: now,
                    until,
                },
            );
        }
        Ok(principal)
    }

    fn judge(&self, token: &str, now: DateTime<Utc>) -> Result<Principal, TokenError> {
        let (issuer, claims) = self.signed_claims(token)?;
        let (kind, _) = parse_subject(&claims.sub)?;
        if claims.iss != issuer.as_str() {
            return Err(TokenError::WrongIssuer);
        }
        check_mint(issuer, kind, claims.act.as_deref())?;
        if !claims.aud.contains(&self.audience) {
            return Err(TokenError::WrongAudience);
        }
        check_times(&claims, now)?;
        if claims.jti.is_empty() {
            return Err(TokenError::Malformed);
        }
        let principal = claims.into_principal()?;
        check_life(kind, principal.expires_at - principal.issued_at)?;
        Ok(principal)
    }

    /// The claims, once algorithm, key and signature are as they should be.
    fn signed_claims(&self, token: &str) -> Result<(Issuer, Claims), TokenError> {
        let header = decode_header(token).map_err(|error| refused(&error))?;
        if header.alg != Algorithm::EdDSA {
            return Err(TokenError::WrongAlgorithm);
        }
        let kid = header.kid.as_deref().unwrap_or_default();
        let key = self.keys.get(kid).ok_or(TokenError::UnknownKey)?;
        let data = decode::<Claims>(token, &key.decoding, &self.validation);
        Ok((key.issuer, data.map_err(|error| refused(&error))?.claims))
    }
}

impl fmt::Debug for Verifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Verifier")
            .field("audience", &self.audience)
            .finish_non_exhaustive()
    }
}

/// The library checks the signature alone: it reads a clock of its own, and we have ours.
fn signature_only() -> Validation {
    let mut validation = Validation::new(Algorithm::EdDSA);
    validation.validate_exp = false;
    validation.validate_nbf = false;
    validation.validate_aud = false;
    validation.required_spec_claims.clear();
    validation
}

fn decoding_key(key: &super::PublicKey) -> Option<(String, Key)> {
    let decoding = DecodingKey::from_ed_components(&key.x).ok()?;
    Some((
        key.kid.clone(),
        Key {
            issuer: key.issuer,
            decoding,
        },
    ))
}

fn fingerprint(token: &str) -> [u8; 32] {
    let hash = digest(&SHA256, token.as_bytes());
    hash.as_ref().try_into().expect("SHA-256 has 32 bytes")
}

fn check_times(claims: &Claims, now: DateTime<Utc>) -> Result<(), TokenError> {
    if now - TOLERANCE >= time(claims.exp)? {
        return Err(TokenError::Expired);
    }
    // One issued ahead of its time could outlive the longest life.
    if now + TOLERANCE < time(claims.nbf)?.max(time(claims.iat)?) {
        return Err(TokenError::NotYetValid);
    }
    Ok(())
}

fn refused(error: &errors::Error) -> TokenError {
    match error.kind() {
        errors::ErrorKind::InvalidSignature => TokenError::WrongSignature,
        errors::ErrorKind::InvalidAlgorithm | errors::ErrorKind::InvalidAlgorithmName => {
            TokenError::WrongAlgorithm
        }
        _ => TokenError::Malformed,
    }
}

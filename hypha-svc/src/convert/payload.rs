//! Payloads: UTF-8 JSON that travels as bytes and is never parsed twice.

use bytes::Bytes;
use cambium_hypha::payload::{PayloadFault, check};
use sha2::{Digest, Sha256};

use crate::error::Error;

/// Inputs, outputs and signals.
pub(crate) const LIMIT: usize = 1 << 20;
pub(crate) const CHECKPOINT_LIMIT: usize = 256 << 10;
const DEPTH: usize = 64;

/// Checks a payload; an empty one is null.
pub(crate) fn from_wire(field: &'static str, bytes: &Bytes, limit: usize) -> Result<Bytes, Error> {
    match check(bytes, limit, DEPTH) {
        Ok(()) => Ok(or_null(bytes)),
        Err(fault @ PayloadFault::TooLarge { .. }) => Err(Error::Output(fault)),
        Err(fault) => Err(Error::field(field, fault.to_string())),
    }
}

/// Checks an output, whose fault also ends its task.
pub(crate) fn output(bytes: &Bytes) -> Result<Bytes, PayloadFault> {
    check(bytes, LIMIT, DEPTH)?;
    Ok(or_null(bytes))
}

fn or_null(bytes: &Bytes) -> Bytes {
    if bytes.is_empty() {
        Bytes::from_static(b"null")
    } else {
        bytes.clone()
    }
}

/// A JSON list of documents.
pub(crate) fn list<'a>(items: impl Iterator<Item = &'a [u8]>) -> Vec<u8> {
    let mut list = vec![b'['];
    for (place, item) in items.enumerate() {
        if place > 0 {
            list.push(b',');
        }
        list.extend_from_slice(if item.is_empty() { b"null" } else { item });
    }
    list.push(b']');
    list
}

/// Tells bodies of one attempt apart: eight bytes of a hash are its receipt.
pub(crate) fn fingerprint(kind: &str, parts: &[&[u8]]) -> i64 {
    let mut hash = Sha256::new();
    hash.update(kind.as_bytes());
    for part in parts {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    }
    let digest = hash.finalize();
    let mut eight = [0; 8];
    eight.copy_from_slice(&digest[..8]);
    i64::from_le_bytes(eight)
}

//! Payloads: what a hash of one is made of, and what tells one from another at a glance.

use std::fmt::Write as _;

use sha2::{Digest as _, Sha256};

/// SHA-256 of the canonical JSON; of nothing where there is none.
pub(crate) fn hash(canonical: Option<&str>) -> [u8; 32] {
    Sha256::digest(canonical.unwrap_or_default()).into()
}

/// The first 200 characters of the canonical JSON, a space, and the hash of it all. Without a payload, the hash of nothing.
pub(crate) fn summary(canonical: Option<&str>) -> String {
    let hash = hex(&hash(canonical));
    match canonical {
        Some(text) => format!("{} {hash}", cambium_stigmergy::payload::summary(text)),
        None => hash,
    }
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(2 * bytes.len());
    for byte in bytes {
        write!(text, "{byte:02x}").expect("a String takes all that is written to it");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOTHING: &str = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

    #[test]
    fn no_payload_has_the_hash_of_nothing() {
        assert_eq!(hex(&hash(None)), NOTHING);
        assert_eq!(summary(None), NOTHING);
    }

    #[test]
    fn a_summary_ends_with_the_hash_of_the_whole() {
        let long = format!("\"{}\"", "x".repeat(400));

        let told = summary(Some(&long));

        let (start, end) = told.split_once(' ').unwrap();
        assert_eq!(start.len(), 200);
        assert_eq!(end, hex(&hash(Some(&long))));
    }
}

//! Names one call in logs and in the replies that people report.

use std::fmt;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};

use http::{HeaderMap, HeaderName, HeaderValue};

pub(super) const HEADER: HeaderName = HeaderName::from_static("x-request-id");

const MAX_BYTES: usize = 64;

#[derive(Clone, Debug)]
pub(super) enum RequestId {
    /// The client's, so that its logs and ours can be laid side by side.
    Given(HeaderValue),
    /// The number of the call in this process.
    Made(u64),
}

impl RequestId {
    pub(super) fn of(headers: &HeaderMap) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        match headers.get(HEADER) {
            Some(given) if is_fit(given.as_bytes()) => Self::Given(given.clone()),
            Some(_) | None => Self::Made(NEXT.fetch_add(1, Ordering::Relaxed)),
        }
    }

    pub(super) fn to_header(&self) -> HeaderValue {
        match self {
            Self::Given(value) => value.clone(),
            Self::Made(_) => self
                .to_string()
                .parse()
                .expect("hexadecimal digits fit a header"),
        }
    }
}

impl fmt::Display for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Given(value) => f.write_str(value.to_str().unwrap_or_default()),
            Self::Made(number) => write!(f, "{:08x}-{number:x}", *PROCESS),
        }
    }
}

/// Tells this process's calls from another's.
static PROCESS: LazyLock<u32> = LazyLock::new(rand::random);

/// Whether a client's id may stand in our logs: short, and plain text.
fn is_fit(id: &[u8]) -> bool {
    let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_.:".contains(byte);
    (1..=MAX_BYTES).contains(&id.len()) && id.iter().all(is_plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &'static str) -> RequestId {
        RequestId::of(&HeaderMap::from_iter([(
            HEADER,
            HeaderValue::from_static(text),
        )]))
    }

    #[test]
    fn a_clients_id_is_kept_if_it_is_fit_for_a_log() {
        assert_eq!(
            of("0af7651916cd43dd8448eb211c80319c").to_string(),
            "0af7651916cd43dd8448eb211c80319c"
        );
        assert!(matches!(of("a b"), RequestId::Made(_)));
        assert!(matches!(of(""), RequestId::Made(_)));
    }

    #[test]
    fn ids_made_here_differ() {
        let (first, second) = (of(""), of(""));

        assert_ne!(first.to_string(), second.to_string());
        assert_eq!(first.to_header(), first.to_string());
    }
}

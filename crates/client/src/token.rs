//! Where a caller's tokens come from. Makes none itself: who may sign holds a key, and this crate knows none.

use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::Error;

/// Gives the token for one call.
pub trait TokenSource: Send + Sync + fmt::Debug {
    fn token(&self) -> Result<Arc<str>, Error>;

    /// Hears that a service did not accept the last token, so that a kept one is not offered again.
    fn refused(&self) {}
}

/// The same token for every call, until it ends.
#[derive(Clone)]
pub struct StaticToken(Arc<str>);

impl StaticToken {
    #[must_use]
    pub fn new(token: &str) -> Self {
        Self(token.trim().into())
    }

    /// The token itself, to hand it on to its owner.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TokenSource for StaticToken {
    fn token(&self) -> Result<Arc<str>, Error> {
        Ok(Arc::clone(&self.0))
    }
}

impl fmt::Debug for StaticToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("StaticToken(***)")
    }
}

/// Whatever a file holds at the time of the call, so that a renewed file needs no restart.
#[derive(Clone, Debug)]
pub struct TokenFile(PathBuf);

impl TokenFile {
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self(path.into())
    }
}

impl TokenSource for TokenFile {
    fn token(&self) -> Result<Arc<str>, Error> {
        let text = std::fs::read_to_string(&self.0).map_err(|error| Error::TokenFile {
            path: self.0.clone(),
            problem: error.to_string(),
        })?;
        Ok(text.trim().into())
    }
}

/// Tokens signed by whoever holds the key, each used for a while: services remember the tokens they have verified.
pub struct Signed<F> {
    sign: F,
    keep: Duration,
    last: Mutex<Option<(Arc<str>, Instant)>>,
}

impl<F> Signed<F>
where
    F: Fn() -> Result<String, Error> + Send + Sync,
{
    /// `keep` must be well below the life of what `sign` makes.
    pub fn new(keep: Duration, sign: F) -> Self {
        Self {
            sign,
            keep,
            last: Mutex::default(),
        }
    }
}

impl<F> TokenSource for Signed<F>
where
    F: Fn() -> Result<String, Error> + Send + Sync,
{
    fn token(&self) -> Result<Arc<str>, Error> {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        match &*last {
            Some((token, since)) if since.elapsed() < self.keep => Ok(Arc::clone(token)),
            _ => {
                let token: Arc<str> = (self.sign)()?.into();
                *last = Some((Arc::clone(&token), Instant::now()));
                Ok(token)
            }
        }
    }

    fn refused(&self) {
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

impl<F> fmt::Debug for Signed<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Signed(***)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_renewed_file_is_read_at_the_next_call() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("token");
        std::fs::write(&path, "first\n").unwrap();
        let source = TokenFile::new(&path);

        let first = source.token().unwrap();
        std::fs::write(&path, "second\n").unwrap();

        assert_eq!(&*first, "first");
        assert_eq!(&*source.token().unwrap(), "second");
    }

    #[test]
    fn a_missing_file_is_named() {
        let error = TokenFile::new("/nowhere/token").token().unwrap_err();

        assert!(
            error
                .to_string()
                .starts_with("token file /nowhere/token cannot be read")
        );
    }

    #[test]
    fn a_signed_token_is_kept_until_it_is_refused() {
        let signed = std::sync::atomic::AtomicU32::new(0);
        let source = Signed::new(Duration::from_secs(600), || {
            let count = signed.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            Ok(format!("token-{count}"))
        });

        let (first, second) = (source.token().unwrap(), source.token().unwrap());
        source.refused();

        assert_eq!((&*first, &*second), ("token-0", "token-0"));
        assert_eq!(&*source.token().unwrap(), "token-1");
    }

    #[test]
    fn a_token_never_shows_in_debug_output() {
        assert_eq!(
            format!("{:?}", StaticToken::new("secret")),
            "StaticToken(***)"
        );
    }
}

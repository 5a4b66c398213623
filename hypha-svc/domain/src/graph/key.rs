//! Names of nodes within their graph.

use std::borrow::Borrow;
use std::fmt;
use std::sync::Arc;

use crate::Error;

/// Names a node: 1 to 128 characters out of `A-Za-z0-9_.:-`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeKey(Arc<str>);

impl NodeKey {
    pub fn parse(text: &str) -> Result<Self, Error> {
        let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"_.:-".contains(&byte);
        if (1..=128).contains(&text.len()) && text.bytes().all(allowed) {
            Ok(Self(text.into()))
        } else {
            Err(Error::KeyInvalid(text.to_owned()))
        }
    }

    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Borrow<str> for NodeKey {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for NodeKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for NodeKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", &*self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_has_up_to_128_plain_characters() {
        for good in ["a", "Z9_.:-", &"k".repeat(128)] {
            assert_eq!(NodeKey::parse(good).unwrap().as_str(), good);
        }
        for bad in ["", "a b", "a/b", "a[0]", "é", "a\0", &"k".repeat(129)] {
            assert_eq!(NodeKey::parse(bad), Err(Error::KeyInvalid(bad.to_owned())));
        }
    }
}

//! A marker's type: a category, and whatever kinds its users agree on.

use std::fmt;
use std::sync::Arc;

use crate::{Category, Error};

/// So many bytes a type may have.
const LONGEST: usize = 128;

/// Dotted words of `a-z0-9_-`, the first of them a category, as in `knowledge.pattern`.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct MarkerType {
    // INVARIANT: `text` starts with the category's word, and is nothing but that or goes on with a dot.
    category: Category,
    text: Arc<str>,
}

impl MarkerType {
    /// Any kind of a known category is a type; of an unknown category none is.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let malformed = |why| Error::TypeMalformed { why };
        if text.len() > LONGEST {
            return Err(malformed("is over 128 bytes long"));
        }
        if !text.split('.').all(is_word) {
            return Err(malformed("is not dotted words of a-z, 0-9, _ and -"));
        }
        let first = text.split('.').next().unwrap_or_default();
        let category =
            Category::parse(first).ok_or_else(|| Error::CategoryUnknown(first.to_owned()))?;
        Ok(Self {
            category,
            text: text.into(),
        })
    }

    #[must_use]
    pub const fn category(&self) -> Category {
        self.category
    }

    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }
}

pub(crate) fn is_word(text: &str) -> bool {
    let is_plain = |byte: u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_' | b'-');
    !text.is_empty() && text.bytes().all(is_plain)
}

impl fmt::Display for MarkerType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl fmt::Debug for MarkerType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", &*self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_kind_of_a_known_category_is_a_type() {
        for text in [
            "danger",
            "knowledge.pattern",
            "knowledge.a-new_kind.2",
            "path.to",
        ] {
            let parsed = MarkerType::parse(text).unwrap();

            assert_eq!(parsed.as_str(), text);
            assert!(text.starts_with(parsed.category().as_str()));
        }
    }

    #[test]
    fn an_unknown_category_is_refused_by_its_name() {
        let refused = MarkerType::parse("gossip.rumour");

        assert_eq!(refused, Err(Error::CategoryUnknown("gossip".to_owned())));
    }

    #[test]
    fn what_has_no_form_is_refused() {
        let long = format!("danger.{}", "x".repeat(122));
        for text in [
            "",
            ".danger",
            "danger.",
            "danger..x",
            "Danger",
            "danger x",
            "danger.ö",
            &long,
        ] {
            let refused = MarkerType::parse(text);

            assert!(
                matches!(refused, Err(Error::TypeMalformed { .. })),
                "{text}"
            );
        }
    }
}

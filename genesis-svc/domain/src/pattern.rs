//! What an agent's life taught, in one sentence: how tasks fail, or which way they go well.

use std::fmt;

use crate::Error;
use crate::matching::Normal;
use crate::secret;

/// Of which list a pattern is. Patterns of different kinds never match.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PatternKind {
    /// How tasks fail.
    Failure,
    /// Which way tasks go well.
    Routing,
}

impl PatternKind {
    pub const ALL: [Self; 2] = [Self::Failure, Self::Routing];

    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Failure => "failure",
            Self::Routing => "routing",
        }
    }

    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == text)
    }

    /// The list in which a caller gives such patterns.
    #[must_use]
    pub const fn list(self) -> &'static str {
        match self {
            Self::Failure => "failure_patterns",
            Self::Routing => "routing_hints",
        }
    }

    /// In what situation such a pattern applies.
    #[must_use]
    pub const fn context(self) -> &'static str {
        match self {
            Self::Failure => "tasks of this template fail like this",
            Self::Routing => "tasks of this template go well like this",
        }
    }
}

/// One pattern.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Pattern {
    kind: PatternKind,
    // INVARIANT: 1 to 500 characters, not all blank, no control character, nothing like a secret.
    text: String,
    normal: Normal,
}

impl Pattern {
    /// A longer text is refused.
    pub const MOST_CHARACTERS: usize = 500;

    pub fn parse(kind: PatternKind, text: &str) -> Result<Self, PatternError> {
        let length = text.chars().count();
        if length > Self::MOST_CHARACTERS {
            return Err(PatternError::TooLong { length });
        }
        if text.chars().any(char::is_control) {
            return Err(PatternError::Control);
        }
        let normal = Normal::of(text);
        if normal.as_str().is_empty() {
            return Err(PatternError::Empty);
        }
        if let Some(what) = secret::find(text) {
            return Err(PatternError::Secret(what));
        }
        let text = text.to_owned();
        Ok(Self { kind, text, normal })
    }

    /// One that was checked when it was stored: rules that have become stricter since do not undo it.
    #[must_use]
    pub fn from_stored(kind: PatternKind, text: String) -> Self {
        let normal = Normal::of(&text);
        Self { kind, text, normal }
    }

    /// The patterns that a caller gives, at most [`crate::harvest::MOST`] of both kinds together.
    pub fn parse_all(failures: &[String], hints: &[String]) -> Result<Vec<Self>, Error> {
        let given = failures.len() + hints.len();
        if given > crate::harvest::MOST {
            return Err(Error::TooManyPatterns { given });
        }
        let lists = [
            (PatternKind::Failure, failures),
            (PatternKind::Routing, hints),
        ];
        let texts = lists.into_iter().flat_map(|(kind, texts)| {
            let numbered = texts.iter().enumerate();
            numbered.map(move |(index, text)| (kind, index, text))
        });
        let parsed = texts.map(|(kind, index, text)| {
            Self::parse(kind, text).map_err(|why| Error::Pattern { kind, index, why })
        });
        parsed.collect()
    }

    #[must_use]
    pub const fn kind(&self) -> PatternKind {
        self.kind
    }

    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    #[must_use]
    pub const fn normal(&self) -> &Normal {
        &self.normal
    }

    /// Whether both say the same of the same kind of thing.
    #[must_use]
    pub fn matches(&self, other: &Self, threshold: cambium_kernel::Score) -> bool {
        self.kind == other.kind && self.normal.matches(&other.normal, threshold)
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// Why a text is no pattern.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PatternError {
    #[error("has neither letter nor digit")]
    Empty,
    #[error(
        "has {length} characters, over the limit of {}",
        Pattern::MOST_CHARACTERS
    )]
    TooLong { length: usize },
    #[error("holds a control character")]
    Control,
    #[error("looks like it holds {0}")]
    Secret(secret::Secret),
}

#[cfg(test)]
mod tests {
    use cambium_kernel::Failure as _;

    use super::*;
    use crate::matching::THRESHOLD;

    #[test]
    fn a_pattern_has_up_to_500_characters() {
        let of = |length: usize| Pattern::parse(PatternKind::Failure, &"ð".repeat(length));

        assert!(of(500).is_ok());
        assert_eq!(of(501), Err(PatternError::TooLong { length: 501 }));
        assert_eq!(of(0), Err(PatternError::Empty));
    }

    #[test]
    fn a_bad_pattern_is_named_by_its_list_and_place() {
        let good = vec!["timeout".to_owned()];
        let bad = vec!["ask ada first".to_owned(), "a\0b".to_owned()];

        let refused = Pattern::parse_all(&good, &bad).unwrap_err();

        assert_eq!(refused.field().as_deref(), Some("routing_hints[1]"));
    }

    #[test]
    fn fifty_patterns_are_enough() {
        let texts = |n: usize| vec!["timeout".to_owned(); n];

        assert!(Pattern::parse_all(&texts(25), &texts(25)).is_ok());
        assert_eq!(
            Pattern::parse_all(&texts(26), &texts(25)),
            Err(Error::TooManyPatterns { given: 51 })
        );
    }

    #[test]
    fn how_tasks_fail_is_no_hint() {
        let failure = Pattern::parse(PatternKind::Failure, "write").unwrap();
        let hint = Pattern::parse(PatternKind::Routing, "write").unwrap();

        assert!(!failure.matches(&hint, THRESHOLD));
    }
}

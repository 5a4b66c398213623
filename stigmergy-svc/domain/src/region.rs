//! Where a mark is: a path in the shared environment.

use std::fmt;
use std::sync::Arc;

use crate::Error;
use crate::marker_type::is_word;

const DEEPEST: usize = 16;
const LONGEST_SEGMENT: usize = 64;

/// A path, as in `repo/cambium/docs`: 1 to 16 segments of 1 to 64 of `a-z0-9_-`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Region(Arc<str>);

impl Region {
    // INVARIANT: at most 16 segments, each a word of at most 64 bytes.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let malformed = |why| Error::RegionMalformed { why };
        if text.is_empty() {
            return Err(malformed("is empty"));
        }
        let is_segment = |segment: &str| is_word(segment) && segment.len() <= LONGEST_SEGMENT;
        if !text.split('/').all(is_segment) {
            return Err(malformed(
                "has a segment that is not 1 to 64 of a-z, 0-9, _ and -",
            ));
        }
        if text.split('/').count() > DEEPEST {
            return Err(malformed("is deeper than 16 segments"));
        }
        Ok(Self(text.into()))
    }

    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether it is `other`, or below it.
    #[must_use]
    pub fn is_within(&self, other: &Self) -> bool {
        let rest = self.0.strip_prefix(&*other.0);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }
}

impl fmt::Display for Region {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for Region {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", &*self.0)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_region_is_within_itself_and_what_is_above_it() {
        let region = |text| Region::parse(text).unwrap();

        assert!(region("a/b").is_within(&region("a/b")));
        assert!(region("a/b/c").is_within(&region("a/b")));
        assert!(!region("a/bc").is_within(&region("a/b")));
        assert!(!region("a").is_within(&region("a/b")));
    }

    #[test]
    fn what_has_no_form_is_refused() {
        let deep = ["s"; 17].join("/");
        let long = "s".repeat(65);
        for text in [
            "", "/", "a/", "/a", "a//b", "A", "a b", "a/ö", "a.b", &deep, &long,
        ] {
            let refused = Region::parse(text);

            assert!(
                matches!(refused, Err(Error::RegionMalformed { .. })),
                "{text}"
            );
        }
        assert!(Region::parse(&["s".repeat(64).as_str(); 16].join("/")).is_ok());
    }

    proptest! {
        /// The store finds what is below a region as the texts between `region/` and `region0`.
        #[test]
        fn what_is_below_lies_in_one_range_of_bytes(
            above in "[a-c_-]{1,2}(/[a-c_-]{1,2}){0,2}",
            other in "[a-c_-]{1,2}(/[a-c_-]{1,2}){0,3}",
        ) {
            let (region, prefix) = (Region::parse(&other).unwrap(), Region::parse(&above).unwrap());

            let is_in_range = other > format!("{above}/") && other < format!("{above}0");

            prop_assert_eq!(region.is_within(&prefix), other == above || is_in_range);
        }
    }
}

//! What a mark is about, which says how fast it fades.

use std::fmt;

use crate::HalfLife;

/// The first word of a marker's type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Category {
    Path,
    Resource,
    Quality,
    Danger,
    Opportunity,
    Knowledge,
}

impl Category {
    pub const ALL: [Self; 6] = [
        Self::Path,
        Self::Resource,
        Self::Quality,
        Self::Danger,
        Self::Opportunity,
        Self::Knowledge,
    ];

    /// The half-life of a marker whose placer named none.
    #[must_use]
    pub const fn half_life(self) -> HalfLife {
        HalfLife::of(match self {
            Self::Path => 120,
            Self::Resource => 60,
            Self::Quality => 300,
            Self::Danger => 600,
            Self::Opportunity => 180,
            Self::Knowledge => 1_800,
        })
    }

    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Path => "path",
            Self::Resource => "resource",
            Self::Quality => "quality",
            Self::Danger => "danger",
            Self::Opportunity => "opportunity",
            Self::Knowledge => "knowledge",
        }
    }

    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|category| category.as_str() == text)
    }
}

impl fmt::Display for Category {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_category_reads_back_and_fades_as_the_table_says() {
        let seconds = Category::ALL.map(|category| category.half_life().as_seconds());

        assert_eq!(seconds, [120, 60, 300, 600, 180, 1_800]);
        for category in Category::ALL {
            assert_eq!(Category::parse(category.as_str()), Some(category));
        }
        assert_eq!(Category::parse("Danger"), None);
    }
}

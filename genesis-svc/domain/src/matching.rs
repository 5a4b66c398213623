//! When two patterns say the same: the trigrams of their normalised texts overlap enough.
//! Symmetric and without state; whoever stores an answer stores [`VERSION`] beside it.

mod normal;

#[cfg(test)]
mod laws;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use cambium_kernel::Score;

use normal::normalise;

/// Which rules normalise and compare. Another number, other answers.
pub const VERSION: i32 = 1;

/// How alike two patterns must be unless their template says otherwise. At 0.6 two different failure modes such as
/// "disobey task specification" and "disobey role specification" would be one: they are at 0.69.
pub const THRESHOLD: Score = Score::of::<750_000>();

type Trigram = [char; 3];

/// A text without what differs between two tellings of the same thing: case, punctuation, numbers, ids.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Normal {
    text: String,
    // INVARIANT: those of `text`.
    trigrams: BTreeSet<Trigram>,
}

/// What an index is asked for all texts that may match one: it leaves none out, and lets some in that do not match.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Probe {
    /// Every match has one of these among its codes, unless there are none: then a match has the same text.
    pub codes: Vec<i32>,
    /// How many trigrams a match has, at least and at most.
    pub least: i32,
    pub most: i32,
}

impl Normal {
    #[must_use]
    pub fn of(text: &str) -> Self {
        let text = normalise(text);
        let trigrams = trigrams(&text);
        Self { text, trigrams }
    }

    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Whether both say the same. Texts without a letter have no trigrams, and match only themselves.
    #[must_use]
    pub fn matches(&self, other: &Self, threshold: Score) -> bool {
        if self.text == other.text {
            return true;
        }
        let (shared, all) = self.overlap(other);
        all > 0 && shared * 1_000_000 >= all * threshold_of(threshold)
    }

    /// The share of trigrams that both have, of those that either has.
    #[must_use]
    pub fn similarity(&self, other: &Self) -> Score {
        if self.text == other.text {
            return Score::ONE;
        }
        let (shared, all) = self.overlap(other);
        Score::ratio(shared, all)
    }

    /// How many trigrams there are.
    #[must_use]
    pub fn size(&self) -> i32 {
        i32::try_from(self.trigrams.len()).unwrap_or(i32::MAX)
    }

    /// A number for each trigram, for an index. Two trigrams may share one: an index only proposes.
    #[must_use]
    pub fn codes(&self) -> Vec<i32> {
        let codes: BTreeSet<i32> = self.trigrams.iter().map(code).collect();
        codes.into_iter().collect()
    }

    /// What finds every text that matches this one.
    ///
    /// A match shares at least `threshold` of our trigrams, so it cannot lack all of a few more than the rest.
    #[must_use]
    pub fn probe(&self, threshold: Score) -> Probe {
        let size = self.trigrams.len() as u64;
        let threshold = threshold_of(threshold).max(1);
        let shared = (size * threshold).div_ceil(1_000_000);
        let enough = usize::try_from(size - shared + 1).unwrap_or(usize::MAX);
        // From the end of the order: trigrams that begin a word stand at its start, and are the most common.
        let codes: BTreeSet<i32> = self.trigrams.iter().rev().take(enough).map(code).collect();
        Probe {
            codes: codes.into_iter().collect(),
            least: i32::try_from(shared).unwrap_or(i32::MAX),
            most: i32::try_from(size * 1_000_000 / threshold).unwrap_or(i32::MAX),
        }
    }

    fn overlap(&self, other: &Self) -> (u64, u64) {
        let shared = self.trigrams.intersection(&other.trigrams).count() as u64;
        let all = self.trigrams.len() as u64 + other.trigrams.len() as u64 - shared;
        (shared, all)
    }
}

fn threshold_of(score: Score) -> u64 {
    u64::from(score.as_millionths().unsigned_abs())
}

/// As pg_trgm counts them: each word with two spaces before it and one behind; what is no letter or digit parts words.
fn trigrams(text: &str) -> BTreeSet<Trigram> {
    let mut found = BTreeSet::new();
    let words = text.split(|c: char| !c.is_alphanumeric());
    for word in words.filter(|word| !word.is_empty()) {
        let padded: Vec<char> = "  ".chars().chain(word.chars()).chain([' ']).collect();
        found.extend(
            padded
                .windows(3)
                .map(|three| [three[0], three[1], three[2]]),
        );
    }
    found
}

/// FNV-1a, which is the same on every machine and in every release.
fn code(trigram: &Trigram) -> i32 {
    let bytes = trigram.iter().flat_map(|c| u32::from(*c).to_le_bytes());
    let hash = bytes.fold(0x811c_9dc5_u32, |hash, byte| {
        (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
    });
    hash.cast_signed()
}

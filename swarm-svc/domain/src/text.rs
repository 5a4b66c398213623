//! The forms of text that people and minds write (design: swarm, section 2). Judges form, never meaning.

use std::fmt;
use std::sync::Arc;

use chrono::NaiveDate;

use crate::Error;

/// Why a text is not of its form.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TextError {
    #[error("is empty")]
    Empty,
    #[error("has {bytes} bytes, over the limit of {most}")]
    TooLong { bytes: usize, most: usize },
    #[error("holds a control character")]
    Control,
    #[error("has neither letter nor digit")]
    Blank,
    #[error("is not of the form {0}")]
    Form(&'static str),
}

/// A mind's name in addresses: `[a-z][a-z0-9-]{0,47}`. Once opened under it, a mind has it for ever.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Instance(Arc<str>);

impl Instance {
    // INVARIANT: matches [a-z][a-z0-9-]{0,47}.
    pub fn parse(text: &str) -> Result<Self, Error> {
        Self::parse_as("instance", text)
    }

    /// As [`Instance::parse`], where the request calls it something else.
    pub fn parse_as(field: &'static str, text: &str) -> Result<Self, Error> {
        if is_slug(text, 48) && text.starts_with(|c: char| c.is_ascii_lowercase()) {
            return Ok(Self(text.into()));
        }
        let why = TextError::Form("[a-z][a-z0-9-]{0,47}");
        Err(Error::text(field, why))
    }

    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Instance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for Instance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", &*self.0)
    }
}

fn is_slug(text: &str, most: usize) -> bool {
    let fits = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    (1..=most).contains(&text.len()) && text.bytes().all(fits)
}

/// Characters that turn the direction of the text around them, so that it reads as something else.
const fn is_bidi(c: char) -> bool {
    matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

fn sized(text: &str, most: usize) -> Result<(), TextError> {
    match text.len() {
        0 => Err(TextError::Empty),
        bytes if bytes > most => Err(TextError::TooLong { bytes, most }),
        _ => Ok(()),
    }
}

/// A Label: `[a-z0-9][a-z0-9-]{0,63}`.
pub fn label(text: &str) -> Result<(), TextError> {
    if is_slug(text, 64) && !text.starts_with('-') {
        Ok(())
    } else {
        Err(TextError::Form("[a-z0-9][a-z0-9-]{0,63}"))
    }
}

/// A Title: 1 to 200 bytes with a letter or a digit, and nothing that hides or turns what is read.
pub fn title(text: &str) -> Result<(), TextError> {
    sized(text, 200)?;
    if text.chars().any(|c| c.is_control() || is_bidi(c)) {
        return Err(TextError::Control);
    }
    if text.chars().any(char::is_alphanumeric) {
        Ok(())
    } else {
        Err(TextError::Blank)
    }
}

/// A Line: 1 to 1,000 bytes without control characters.
pub fn line(text: &str) -> Result<(), TextError> {
    sized(text, 1_000)?;
    if text.chars().any(char::is_control) {
        return Err(TextError::Control);
    }
    Ok(())
}

/// A Para: 1 to 4,000 bytes; of the control characters it may hold line feeds and tabs.
pub fn para(text: &str) -> Result<(), TextError> {
    sized(text, 4_000)?;
    let is_odd = |c: char| c.is_control() && !matches!(c, '\n' | '\t');
    if text.chars().any(is_odd) {
        return Err(TextError::Control);
    }
    Ok(())
}

/// A Date: `YYYY-MM-DD`, a day that the calendar has.
pub fn date(text: &str) -> Result<NaiveDate, TextError> {
    let digits = |byte: u8| byte.is_ascii_digit();
    let formed = text.len() == 10 && text.bytes().filter(|byte| digits(*byte)).count() == 8;
    let date = NaiveDate::parse_from_str(text, "%Y-%m-%d");
    match (formed, date) {
        (true, Ok(date)) => Ok(date),
        _ => Err(TextError::Form("YYYY-MM-DD")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slug_starts_with_a_letter_and_has_48_characters_at_most() {
        assert!(Instance::parse(&"a".repeat(48)).is_ok());
        for bad in ["", "-a", "9a", "A", "a_b", "ä", &"a".repeat(49)] {
            assert!(Instance::parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_title_has_something_to_read_and_nothing_that_turns_it() {
        assert_eq!(title("Ünï 1"), Ok(()));
        assert_eq!(title("---"), Err(TextError::Blank));
        assert_eq!(title("a\u{202e}b"), Err(TextError::Control));
        assert_eq!(title(""), Err(TextError::Empty));
    }

    #[test]
    fn a_date_is_a_day_of_the_calendar() {
        assert!(date("2026-02-28").is_ok());
        for bad in ["2026-02-29", "2026-2-28", "+026-02-28", "2026-02-28T"] {
            assert!(date(bad).is_err(), "{bad}");
        }
    }
}

//! Parts of lists: how much of one, and where it goes on, which is after the last item seen, in a token that only the list it
//! came from accepts. Reads no list itself.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use cambium_kernel::{ErrorKind, Failure};
use chrono::{DateTime, Utc};
use prost::Message;
use ring::digest::{SHA256, digest};
use tonic::Status;
use uuid::Uuid;

use crate::status;

const DEFAULT: i32 = 50;
const MOST: i32 = 1_000;
/// So much of the filter's hash stands before the cursor.
const FILTER: usize = 8;
/// Clients take replies of up to 4 MiB.
const ROOM: usize = 3 * 1024 * 1024;

/// Why no part of a list can be shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    #[error("`page_size` is outside 0 to 1,000")]
    Size,

    #[error("`page_token` is not one that this list gave out")]
    Token,
}

impl Failure for Error {
    fn kind(&self) -> ErrorKind {
        ErrorKind::Invalid
    }

    fn reason(&self) -> &'static str {
        match self {
            Self::Size => "FIELD_INVALID",
            Self::Token => "PAGE_TOKEN_INVALID",
        }
    }

    fn field(&self) -> Option<String> {
        let field = match self {
            Self::Size => "page_size",
            Self::Token => "page_token",
        };
        Some(field.to_owned())
    }
}

impl From<Error> for Status {
    fn from(error: Error) -> Self {
        status::from_failure(&error)
    }
}

/// The place of an item in its list.
pub trait Cursor: Sized {
    fn as_text(&self) -> String;
    fn parse(text: &str) -> Option<Self>;
}

/// A part of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page<C> {
    // INVARIANT: 1 to 1,000.
    pub size: i64,
    /// The last item seen; none at the start.
    pub after: Option<C>,
    filter: [u8; FILTER],
}

impl<C: Cursor> Page<C> {
    /// What the request asks for: 0 items stand for 50. `list` names the list and its filter: a token of another one is
    /// refused.
    pub fn from_wire(size: i32, token: &str, list: &[&str]) -> Result<Self, Error> {
        let filter = filter(list);
        let size = match size {
            0 => DEFAULT,
            1..=MOST => size,
            _ => return Err(Error::Size),
        };
        Ok(Self {
            size: size.into(),
            after: after(&filter, token)?,
            filter,
        })
    }

    /// The page's items, and the token with which the list goes on if more were found than the page holds. A page that
    /// would be too large for a reply is shorter.
    pub fn cut<M: Message>(
        &self,
        found: impl IntoIterator<Item = M>,
        cursors: &[C],
    ) -> (Vec<M>, String) {
        let size = usize::try_from(self.size).unwrap_or(usize::MAX);
        let (mut items, mut bytes) = (Vec::new(), 0);
        for item in found.into_iter().take(size) {
            bytes += item.encoded_len();
            if bytes > ROOM && !items.is_empty() {
                break;
            }
            items.push(item);
        }
        let shown = items.len();
        let last = shown.checked_sub(1).filter(|_| shown < cursors.len());
        let token = last.and_then(|last| cursors.get(last));
        let token = token.map(|cursor| self.token(cursor)).unwrap_or_default();
        (items, token)
    }

    fn token(&self, after: &C) -> String {
        let mut bytes = self.filter.to_vec();
        bytes.extend_from_slice(after.as_text().as_bytes());
        BASE64.encode(bytes)
    }
}

fn after<C: Cursor>(filter: &[u8; FILTER], token: &str) -> Result<Option<C>, Error> {
    if token.is_empty() {
        return Ok(None);
    }
    let bytes = BASE64.decode(token).map_err(|_| Error::Token)?;
    let rest = bytes.strip_prefix(filter).ok_or(Error::Token)?;
    let text = std::str::from_utf8(rest).map_err(|_| Error::Token)?;
    C::parse(text).map(Some).ok_or(Error::Token)
}

fn filter(list: &[&str]) -> [u8; FILTER] {
    // No part holds a line break that would make two lists read the same: ids and names have none.
    let hash = digest(&SHA256, list.join("\n").as_bytes());
    std::array::from_fn(|n| hash.as_ref()[n])
}

impl Cursor for i64 {
    fn as_text(&self) -> String {
        self.to_string()
    }

    fn parse(text: &str) -> Option<Self> {
        text.parse().ok()
    }
}

impl Cursor for [i64; 3] {
    fn as_text(&self) -> String {
        format!("{} {} {}", self[0], self[1], self[2])
    }

    fn parse(text: &str) -> Option<Self> {
        let numbers: Vec<i64> = text
            .split(' ')
            .map(|number| number.parse().ok())
            .collect::<Option<_>>()?;
        numbers.try_into().ok()
    }
}

impl Cursor for (DateTime<Utc>, Uuid) {
    fn as_text(&self) -> String {
        format!("{} {}", self.0.timestamp_micros(), self.1)
    }

    fn parse(text: &str) -> Option<Self> {
        let (micros, id) = text.split_once(' ')?;
        let at = DateTime::from_timestamp_micros(micros.parse().ok()?)?;
        Some((at, Uuid::try_parse(id).ok()?))
    }
}

impl Cursor for String {
    fn as_text(&self) -> String {
        self.clone()
    }

    fn parse(text: &str) -> Option<Self> {
        Some(text.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(size: i32, token: &str) -> Result<Page<i64>, Error> {
        Page::from_wire(size, token, &["alerts", "north"])
    }

    /// The page of a list that counts down from 9, and the token after it.
    fn cut(size: i32, found: &[i64]) -> (Vec<String>, String) {
        let items = found.iter().map(i64::to_string);
        page(size, "").unwrap().cut(items, found)
    }

    #[test]
    fn a_token_leads_on_after_the_last_item_of_its_page() {
        let (shown, token) = cut(2, &[9, 8, 7]);

        assert_eq!(shown, ["9", "8"]);
        assert_eq!(page(0, &token).unwrap().after, Some(8));
    }

    #[test]
    fn the_last_page_has_no_token() {
        assert_eq!(cut(2, &[9, 8]).1, "");
        assert_eq!(cut(2, &[]).1, "");
    }

    #[test]
    fn a_page_that_would_be_too_large_is_shorter() {
        let large = "x".repeat(1024 * 1024);
        let items = (0..6).map(|_| large.clone());

        let (shown, token) = page(5, "").unwrap().cut(items, &[9, 8, 7, 6, 5, 4]);

        assert_eq!(shown.len(), 2);
        assert_eq!(page(0, &token).unwrap().after, Some(8));
    }

    #[test]
    fn a_token_of_another_list_is_refused() {
        let (_, token) = cut(1, &[9, 8]);

        for other in [&["alerts", "south"], &["rules", "north"]] {
            let refused = Page::<i64>::from_wire(0, &token, other);
            assert!(matches!(refused, Err(Error::Token)));
        }
        assert!(matches!(page(0, "nonsense"), Err(Error::Token)));
    }

    #[test]
    fn a_page_holds_1_to_1000() {
        assert_eq!(page(0, "").unwrap().size, 50);
        assert_eq!(page(1_000, "").unwrap().size, 1_000);
        assert!(page(1_001, "").is_err());
        assert!(page(-1, "").is_err());
    }

    #[test]
    fn every_cursor_reads_back() {
        let at = DateTime::from_timestamp_micros(1_234_567).unwrap();
        let (id, sequences) = (Uuid::from_u128(7), [1, 2, i64::MAX]);

        assert_eq!(Cursor::parse(&(at, id).as_text()), Some((at, id)));
        assert_eq!(Cursor::parse(&sequences.as_text()), Some(sequences));
        let name = "a/b".to_owned();
        assert_eq!(Cursor::parse(&name.as_text()), Some(name));
    }
}

//! Where a list goes on: its last place seen, in a token that only the list it came from accepts.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use prost::Message;
use sha2::{Digest as _, Sha256};

use crate::error::Error;

const DEFAULT: i32 = 50;
const MOST: i32 = 1_000;
/// So much of the filter's hash stands before the place.
const FILTER: usize = 8;

/// Clients take replies of up to 4 MiB; an agent may have 50 KiB, a template 250.
const ROOM: usize = 3 * 1024 * 1024;

/// A part of a list. A place in its order is text: the list knows what it means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Page {
    // INVARIANT: 1 to 1,000.
    size: usize,
    filter: [u8; FILTER],
    after: Option<String>,
}

impl Page {
    /// `list` names the list and all that it was filtered by: a token of another is refused.
    pub(crate) fn from_wire(list: &[&str], size: i32, token: &str) -> Result<Self, Error> {
        let size = match size {
            0 => DEFAULT,
            1..=MOST => size,
            _ => return Err(Error::PageSize(size)),
        };
        let filter = filter(list);
        Ok(Self {
            size: usize::try_from(size).expect("it is between 1 and 1,000"),
            after: after(&filter, token)?,
            filter,
        })
    }

    /// The last place that was seen, as the list reads it; a place that it cannot read is none of its own.
    pub(crate) fn after<T>(&self, read: impl Fn(&str) -> Option<T>) -> Result<Option<T>, Error> {
        let place = self.after.as_deref();
        place
            .map(|text| read(text).ok_or(Error::PageToken))
            .transpose()
    }

    /// One more than the page holds: whether it is there says whether the list goes on.
    pub(crate) fn limit(&self) -> i64 {
        i64::try_from(self.size + 1).unwrap_or(i64::MAX)
    }

    fn token(&self, place: &str) -> String {
        let mut bytes = self.filter.to_vec();
        bytes.extend_from_slice(place.as_bytes());
        BASE64.encode(bytes)
    }
}

fn after(filter: &[u8; FILTER], token: &str) -> Result<Option<String>, Error> {
    if token.is_empty() {
        return Ok(None);
    }
    let bytes = BASE64.decode(token).map_err(|_| Error::PageToken)?;
    let place = bytes.strip_prefix(filter).ok_or(Error::PageToken)?;
    let place = std::str::from_utf8(place).map_err(|_| Error::PageToken)?;
    // The database takes no such text.
    if place.is_empty() || place.contains('\0') {
        return Err(Error::PageToken);
    }
    Ok(Some(place.to_owned()))
}

/// The page's part of what was found, and the token with which the list goes on if there is more. A page that would be too large
/// for a reply is shorter.
pub(crate) fn cut<T, W: Message>(
    page: &Page,
    found: &[T],
    place: impl Fn(&T) -> String,
    to_wire: impl Fn(&T) -> W,
) -> (Vec<W>, String) {
    let mut shown = Vec::new();
    let mut bytes = 0;
    for one in found.iter().take(page.size) {
        let next = to_wire(one);
        bytes += next.encoded_len();
        if bytes > ROOM && !shown.is_empty() {
            break;
        }
        shown.push(next);
    }
    let last = found[..shown.len()].last();
    let last = last.filter(|_| shown.len() < found.len());
    let token = last.map_or_else(String::new, |last| page.token(&place(last)));
    (shown, token)
}

fn filter(list: &[&str]) -> [u8; FILTER] {
    // No name holds a line break, so no two lists read the same.
    let hash = Sha256::digest(list.join("\n"));
    std::array::from_fn(|n| hash[n])
}

#[cfg(test)]
mod tests {
    use super::*;

    const NORTH: &[&str] = &["agents", "north"];

    fn all(text: &str) -> Option<String> {
        Some(text.to_owned())
    }

    #[test]
    fn a_token_leads_back_to_its_place() {
        let page = Page::from_wire(NORTH, 1, "").unwrap();
        let found = ["ada lovelace".to_owned(), "bob".to_owned()];

        let (shown, token) = cut(&page, &found, Clone::clone, Clone::clone);

        assert_eq!(shown, ["ada lovelace"]);
        let next = Page::from_wire(NORTH, 0, &token).unwrap();
        assert_eq!(next.after(all).unwrap().as_deref(), Some("ada lovelace"));
        assert_eq!(next.limit(), 51);
    }

    #[test]
    fn a_token_of_another_list_is_refused() {
        let foreign = Page::from_wire(&["agents", "south"], 0, "")
            .unwrap()
            .token("ada");

        let refused = Page::from_wire(NORTH, 0, &foreign);

        assert!(matches!(refused, Err(Error::PageToken)));
    }

    #[test]
    fn a_place_that_the_list_cannot_read_is_refused() {
        let token = Page::from_wire(NORTH, 0, "").unwrap().token("ada");
        let page = Page::from_wire(NORTH, 0, &token).unwrap();

        let refused = page.after(|text| text.parse::<i32>().ok());

        assert!(matches!(refused, Err(Error::PageToken)));
    }

    #[test]
    fn a_page_holds_1_to_1000() {
        assert_eq!(Page::from_wire(NORTH, 1_000, "").unwrap().size, 1_000);
        for size in [1_001, -1] {
            assert!(matches!(
                Page::from_wire(NORTH, size, ""),
                Err(Error::PageSize(_))
            ));
        }
    }
}

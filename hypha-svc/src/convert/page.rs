//! Pages: opaque tokens that hold where a list goes on and which list it was.

use crate::convert::payload::fingerprint;
use crate::error::Error;

/// How many, and after what.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Page {
    pub(crate) size: i64,
    /// The cursor of the last item seen; empty at the start.
    pub(crate) after: String,
    list: i64,
}

const DEFAULT: i32 = 50;
const MOST: i32 = 1_000;

impl Page {
    /// `list` names the list and its filter: a token of another one is refused.
    pub(crate) fn from_wire(size: i32, token: &str, list: &[&str]) -> Result<Self, Error> {
        let parts: Vec<&[u8]> = list.iter().map(|part| part.as_bytes()).collect();
        let list = fingerprint("page", &parts);
        let size = match size {
            0 => DEFAULT,
            1..=MOST => size,
            _ => return Err(Error::field("page_size", "is outside 0 to 1,000")),
        };
        let after = if token.is_empty() {
            String::new()
        } else {
            let (of, after) = token.split_once('.').ok_or(Error::PageToken)?;
            if of != format!("{list:016x}") {
                return Err(Error::PageToken);
            }
            after.to_owned()
        };
        Ok(Self {
            size: size.into(),
            after,
            list,
        })
    }

    /// The token after this cursor, or nothing at the end: `full` says whether the page was filled.
    pub(crate) fn next(&self, full: bool, cursor: &str) -> String {
        if full {
            format!("{:016x}.{cursor}", self.list)
        } else {
            String::new()
        }
    }
}

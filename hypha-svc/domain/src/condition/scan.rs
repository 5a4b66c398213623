//! Walks over the members of a JSON object without reading their values. Trusts that the bytes were checked at the door:
//! of others it makes no sense, and no panic either.

use std::borrow::Cow;

/// How many bytes of JSON one evaluation may copy, over all documents together.
pub const LEAVES: usize = 64 * 1024;

/// The members of an object, as names and the bytes of their values; `None` once where the object cannot be read.
pub(super) struct Members<'a> {
    json: &'a [u8],
    at: usize,
    ended: bool,
}

impl<'a> Members<'a> {
    /// `json` starts with the object's bracket.
    pub(super) const fn of(json: &'a [u8]) -> Self {
        Self {
            json,
            at: 1,
            ended: false,
        }
    }

    fn member(&mut self) -> Option<(Cow<'a, str>, &'a [u8])> {
        let name = self.token()?;
        self.skip(b':')?;
        let value = self.token()?;
        Some((text(name)?, value))
    }

    /// The next string, scalar or container as a whole.
    fn token(&mut self) -> Option<&'a [u8]> {
        self.space();
        let start = self.at;
        self.at = value_end(self.json, start)?;
        Some(&self.json[start..self.at])
    }

    fn skip(&mut self, byte: u8) -> Option<()> {
        self.space();
        (self.json.get(self.at) == Some(&byte)).then(|| self.at += 1)
    }

    fn space(&mut self) {
        while self.json.get(self.at).is_some_and(u8::is_ascii_whitespace) {
            self.at += 1;
        }
    }
}

impl<'a> Iterator for Members<'a> {
    type Item = Option<(Cow<'a, str>, &'a [u8])>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.ended || self.skip(b'}').is_some() {
            return None;
        }
        let member = self.member();
        let goes_on = self.skip(b',').is_some();
        self.ended = member.is_none() || !goes_on;
        Some(member.filter(|_| goes_on || self.json.get(self.at) == Some(&b'}')))
    }
}

/// A name without its quotes and escapes.
fn text(quoted: &[u8]) -> Option<Cow<'_, str>> {
    let inner = quoted.strip_prefix(b"\"")?.strip_suffix(b"\"")?;
    if inner.contains(&b'\\') {
        return serde_json::from_slice(quoted).ok().map(Cow::Owned);
    }
    std::str::from_utf8(inner).ok().map(Cow::Borrowed)
}

/// The place after the value that starts at `at`.
fn value_end(json: &[u8], mut at: usize) -> Option<usize> {
    let mut depth = 0_usize;
    loop {
        match json.get(at)? {
            b'"' => at = string_end(json, at)?,
            b'{' | b'[' => {
                depth += 1;
                at += 1;
            }
            b'}' | b']' => {
                depth = depth.checked_sub(1)?;
                at += 1;
            }
            _ if depth == 0 => return Some(at + json[at..].iter().take_while(is_scalar).count()),
            _ => at += 1,
        }
        if depth == 0 {
            return Some(at);
        }
    }
}

fn is_scalar(byte: &&u8) -> bool {
    byte.is_ascii_alphanumeric() || b"+-.".contains(byte)
}

fn string_end(json: &[u8], start: usize) -> Option<usize> {
    let mut at = start + 1;
    loop {
        at += json
            .get(at..)?
            .iter()
            .position(|byte| matches!(byte, b'"' | b'\\'))?;
        if json[at] == b'"' {
            return Some(at + 1);
        }
        at += 2;
    }
}

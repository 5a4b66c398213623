//! What may enter as a payload: one JSON document that every reader behind the door can hold. Looks, and builds nothing.

/// The failure code of a task whose output is no acceptable document.
pub const INVALID: &str = "INVALID_OUTPUT";
/// The failure code of a task whose output is over the limit.
pub const TOO_LARGE: &str = "OUTPUT_TOO_LARGE";

/// Most levels of nesting, whatever a caller allows: as many as `serde_json` reads.
const DEEPEST: usize = 127;

/// Why bytes are no payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PayloadFault {
    #[error("{size} bytes are above the limit of {limit}")]
    TooLarge { size: usize, limit: usize },
    #[error("not a JSON document in UTF-8 from byte {at} on")]
    NotJson { at: usize },
    #[error("holds a NUL character")]
    Nul,
    #[error("holds half of a surrogate pair")]
    LoneSurrogate,
    #[error("is nested too deeply")]
    TooDeep,
}

impl PayloadFault {
    /// The failure code of a task with such an output.
    #[must_use]
    pub const fn code(self) -> &'static str {
        if self.is_too_large() {
            TOO_LARGE
        } else {
            INVALID
        }
    }

    pub(crate) const fn is_too_large(self) -> bool {
        matches!(self, Self::TooLarge { .. })
    }
}

/// Checks that `bytes` are one JSON document in UTF-8 of at most `limit` bytes and `depth` levels of nesting, without NUL
/// and without halves of surrogate pairs. No bytes at all are `null`.
///
/// Whatever passes can be read by `serde_json`, so numbers beyond a double are refused too. One pass, no allocation.
pub fn check(bytes: &[u8], limit: usize, depth: usize) -> Result<(), PayloadFault> {
    if bytes.len() > limit {
        return Err(PayloadFault::TooLarge {
            size: bytes.len(),
            limit,
        });
    }
    if bytes.is_empty() {
        return Ok(());
    }
    Scan {
        bytes,
        at: 0,
        open: Open::default(),
        depth: depth.min(DEEPEST),
    }
    .document()
}

/// The containers around the present place: one bit each, set for an object.
#[derive(Default)]
struct Open {
    kinds: u128,
    depth: usize,
}

impl Open {
    fn push(&mut self, is_object: bool) {
        self.kinds = self.kinds << 1 | u128::from(is_object);
        self.depth += 1;
    }

    fn pop(&mut self) {
        self.kinds >>= 1;
        self.depth -= 1;
    }

    const fn in_object(&self) -> bool {
        self.kinds & 1 == 1
    }
}

struct Scan<'a> {
    bytes: &'a [u8],
    at: usize,
    open: Open,
    depth: usize,
}

/// What the grammar asks for next.
enum Want {
    Value,
    /// A value, or the end of the list just opened.
    ValueOrEnd,
    /// A member, or the end of the object just opened.
    MemberOrEnd,
    /// A comma, an end, or the end of the document.
    More,
}

impl Scan<'_> {
    fn document(mut self) -> Result<(), PayloadFault> {
        let mut want = Want::Value;
        loop {
            self.skip_space();
            want = match want {
                Want::Value => self.value()?,
                Want::ValueOrEnd if self.peek() == Some(b']') => self.close(),
                Want::ValueOrEnd => self.value()?,
                Want::MemberOrEnd if self.peek() == Some(b'}') => self.close(),
                Want::MemberOrEnd => self.member()?,
                Want::More if self.open.depth == 0 => {
                    return if self.at == self.bytes.len() {
                        Ok(())
                    } else {
                        Err(self.fault())
                    };
                }
                Want::More => self.more()?,
            };
        }
    }

    fn value(&mut self) -> Result<Want, PayloadFault> {
        match self.peek() {
            Some(b'"') => self.string()?,
            Some(b'-' | b'0'..=b'9') => self.number()?,
            Some(b't') => self.word(b"true")?,
            Some(b'f') => self.word(b"false")?,
            Some(b'n') => self.word(b"null")?,
            Some(b'[') => return self.enter(false),
            Some(b'{') => return self.enter(true),
            _ => return Err(self.fault()),
        }
        Ok(Want::More)
    }

    fn enter(&mut self, is_object: bool) -> Result<Want, PayloadFault> {
        if self.open.depth == self.depth {
            return Err(PayloadFault::TooDeep);
        }
        self.open.push(is_object);
        self.at += 1;
        Ok(if is_object {
            Want::MemberOrEnd
        } else {
            Want::ValueOrEnd
        })
    }

    fn close(&mut self) -> Want {
        self.open.pop();
        self.at += 1;
        Want::More
    }

    /// A key and its colon.
    fn member(&mut self) -> Result<Want, PayloadFault> {
        if self.peek() != Some(b'"') {
            return Err(self.fault());
        }
        self.string()?;
        self.skip_space();
        self.expect(b':')?;
        Ok(Want::Value)
    }

    fn more(&mut self) -> Result<Want, PayloadFault> {
        match (self.peek(), self.open.in_object()) {
            (Some(b'}'), true) | (Some(b']'), false) => Ok(self.close()),
            (Some(b','), true) => {
                self.at += 1;
                self.skip_space();
                self.member()
            }
            (Some(b','), false) => {
                self.at += 1;
                Ok(Want::Value)
            }
            _ => Err(self.fault()),
        }
    }

    fn string(&mut self) -> Result<(), PayloadFault> {
        self.at += 1;
        loop {
            self.plain_text()?;
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(());
                }
                Some(b'\\') => self.escape()?,
                _ => return Err(self.fault()),
            }
        }
    }

    /// Goes on to the next quote, escape or control character.
    fn plain_text(&mut self) -> Result<(), PayloadFault> {
        let start = self.at;
        let mut seen = 0;
        while let Some(byte) = self.peek().filter(|&byte| !ENDS_TEXT[byte as usize]) {
            seen |= byte;
            self.at += 1;
        }
        if seen.is_ascii() {
            return Ok(());
        }
        std::str::from_utf8(&self.bytes[start..self.at]).map_err(|fault| {
            self.at = start + fault.valid_up_to();
            self.fault()
        })?;
        Ok(())
    }

    fn escape(&mut self) -> Result<(), PayloadFault> {
        self.at += 1;
        match self.peek() {
            Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => self.at += 1,
            Some(b'u') => return self.unicode_escape(),
            _ => return Err(self.fault()),
        }
        Ok(())
    }

    fn unicode_escape(&mut self) -> Result<(), PayloadFault> {
        match self.code_unit()? {
            0 => Err(PayloadFault::Nul),
            0xDC00..=0xDFFF => Err(PayloadFault::LoneSurrogate),
            0xD800..=0xDBFF if !self.bytes[self.at..].starts_with(b"\\u") => {
                Err(PayloadFault::LoneSurrogate)
            }
            0xD800..=0xDBFF => {
                self.at += 1;
                match self.code_unit()? {
                    0xDC00..=0xDFFF => Ok(()),
                    _ => Err(PayloadFault::LoneSurrogate),
                }
            }
            _ => Ok(()),
        }
    }

    /// The four digits after `u`.
    fn code_unit(&mut self) -> Result<u32, PayloadFault> {
        self.at += 1;
        let mut unit = 0;
        for _ in 0..4 {
            let digit = self.peek().and_then(|byte| char::from(byte).to_digit(16));
            unit = unit << 4 | digit.ok_or_else(|| self.fault())?;
            self.at += 1;
        }
        Ok(unit)
    }

    fn number(&mut self) -> Result<(), PayloadFault> {
        let start = self.at;
        self.at += usize::from(self.peek() == Some(b'-'));
        if self.peek() == Some(b'0') {
            self.at += 1;
        } else {
            self.digits()?;
        }
        if self.peek() == Some(b'.') {
            self.at += 1;
            self.digits()?;
        }
        let has_exponent = matches!(self.peek(), Some(b'e' | b'E'));
        if has_exponent {
            self.at += 1;
            self.at += usize::from(matches!(self.peek(), Some(b'+' | b'-')));
            self.digits()?;
        }
        // Only an exponent or three hundred digits can lead beyond a double.
        if has_exponent || self.at - start > 300 {
            self.within_double(start)
        } else {
            Ok(())
        }
    }

    fn within_double(&self, start: usize) -> Result<(), PayloadFault> {
        let text = std::str::from_utf8(&self.bytes[start..self.at]).unwrap_or_default();
        match text.parse::<f64>() {
            Ok(number) if number.is_finite() => Ok(()),
            _ => Err(PayloadFault::NotJson { at: start }),
        }
    }

    fn digits(&mut self) -> Result<(), PayloadFault> {
        let rest = &self.bytes[self.at..];
        let count = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        self.at += count;
        if count == 0 {
            Err(self.fault())
        } else {
            Ok(())
        }
    }

    fn word(&mut self, word: &[u8]) -> Result<(), PayloadFault> {
        if !self.bytes[self.at..].starts_with(word) {
            return Err(self.fault());
        }
        self.at += word.len();
        Ok(())
    }

    fn expect(&mut self, byte: u8) -> Result<(), PayloadFault> {
        if self.peek() != Some(byte) {
            return Err(self.fault());
        }
        self.at += 1;
        Ok(())
    }

    fn skip_space(&mut self) {
        while let Some(b' ' | b'\t' | b'\n' | b'\r') = self.peek() {
            self.at += 1;
        }
    }

    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    /// What is wrong with the present byte.
    fn fault(&self) -> PayloadFault {
        if self.peek() == Some(0) {
            PayloadFault::Nul
        } else {
            PayloadFault::NotJson { at: self.at }
        }
    }
}

/// Bytes at which plain text in a string ends.
static ENDS_TEXT: [bool; 256] = {
    let mut ends = [false; 256];
    let mut byte = 0;
    while byte < 0x20 {
        ends[byte] = true;
        byte += 1;
    }
    ends[b'"' as usize] = true;
    ends[b'\\' as usize] = true;
    ends
};

#[cfg(test)]
mod tests;

//! Bounds on the bytes of a condition, kept before it is parsed: the parser recurses, and an overflow ends the process.

use super::Refusal;

/// Longest condition, in bytes.
pub(super) const BYTES: usize = 1_024;
/// Deepest nesting of round, square and curly brackets together.
pub(super) const NESTING: usize = 24;

pub(super) fn check(source: &str) -> Result<(), Refusal> {
    if source.len() > BYTES {
        return Err(Refusal::TooLong(source.len()));
    }
    let bytes = source.as_bytes();
    let (mut at, mut nesting) = (0, 0_usize);
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'"' | b'\'' => {
                at = string_end(bytes, at).ok_or(Refusal::Unterminated)?;
                continue;
            }
            b'/' if bytes[at..].starts_with(b"//") => {
                at += bytes[at..]
                    .iter()
                    .take_while(|&&byte| byte != b'\n')
                    .count();
                continue;
            }
            b'(' | b'[' | b'{' => nesting += 1,
            b')' | b']' | b'}' => nesting = nesting.saturating_sub(1),
            _ => {}
        }
        if nesting > NESTING {
            return Err(Refusal::TooNested);
        }
        at += 1;
    }
    Ok(())
}

/// The place after the string that opens at `start`.
///
/// A string that does not end is refused rather than guessed at: the lexer would drop its quote and read on as code.
fn string_end(bytes: &[u8], start: usize) -> Option<usize> {
    let quote = bytes[start];
    let triple = [quote; 3];
    let is_long = bytes[start..].starts_with(&triple);
    let close = if is_long { &triple[..] } else { &triple[..1] };
    let is_raw = is_raw(&bytes[..start]);
    let mut at = start + close.len();
    while !bytes[at..].starts_with(close) {
        match bytes.get(at)? {
            b'\\' if !is_raw => at += 2,
            b'\n' | b'\r' if !is_long => return None,
            _ => at += 1,
        }
        if at > bytes.len() {
            return None;
        }
    }
    Some(at + close.len())
}

/// Whether the letters before a quote make it a raw string: `r`, or `br`.
fn is_raw(before: &[u8]) -> bool {
    let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    let letters = before.iter().rev().take_while(|byte| is_word(byte)).count();
    let prefix = before[before.len() - letters..].to_ascii_lowercase();
    prefix == b"r" || prefix == b"br"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn brackets_in_strings_and_comments_do_not_count() {
        let many = "(".repeat(40);

        for source in [
            format!("input.a == \"{many}\""),
            format!("input.a == '''\n'{many}'''"),
            format!("input.a == \"\\\"{many}\""),
            format!("input.a == r\"\\\" // {many}"),
            format!("true // {many}"),
        ] {
            assert_eq!(check(&source), Ok(()), "{source}");
        }
    }

    #[test]
    fn brackets_behind_a_string_count() {
        let many = "(".repeat(25);

        for source in [
            format!("'a' + {many}"),
            format!("r'\\' + {many}"),
            format!("'' + {many}"),
        ] {
            assert_eq!(check(&source), Err(Refusal::TooNested), "{source}");
        }
    }

    #[test]
    fn a_string_without_an_end_is_refused() {
        for source in ["'", "'a\n'", "\"\\\"", "'''a'", "'\\"] {
            assert_eq!(check(source), Err(Refusal::Unterminated), "{source}");
        }
    }
}

//! Checks an output before it is sent, so that a bad one fails its task and leaves the worker alone.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};

use super::Failure;

/// The largest output a service takes.
pub const LARGEST: usize = 1 << 20;
/// How deep lists and objects may nest.
const DEEPEST: usize = 64;

/// Refuses an output that is too large, no JSON, or JSON that the store cannot hold. Empty is null.
pub fn check(output: &[u8]) -> Result<(), Failure> {
    if output.len() > LARGEST {
        let detail = format!(
            "the output has {} bytes, over the limit of {LARGEST}",
            output.len()
        );
        return Err(Failure::lasting("OUTPUT_TOO_LARGE", detail));
    }
    if output.is_empty() {
        return Ok(());
    }
    let mut parser = serde_json::Deserializer::from_slice(output);
    Depth(0)
        .deserialize(&mut parser)
        .and_then(|()| parser.end())
        .map_err(|error| {
            Failure::lasting(
                "INVALID_OUTPUT",
                format!("the output is no JSON that can be kept: {error}"),
            )
        })
}

/// Walks a value without keeping it, at this depth.
#[derive(Clone, Copy)]
struct Depth(usize);

impl Depth {
    fn deeper<E: serde::de::Error>(self) -> Result<Self, E> {
        if self.0 == DEEPEST {
            return Err(E::custom(format_args!("nests deeper than {DEEPEST}")));
        }
        Ok(Self(self.0 + 1))
    }

    fn text<E: serde::de::Error>(text: &str) -> Result<(), E> {
        if text.contains('\0') {
            return Err(E::custom("holds a NUL"));
        }
        Ok(())
    }
}

impl<'de> DeserializeSeed<'de> for Depth {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

/// A key of an object.
struct Key;

impl<'de> DeserializeSeed<'de> for Key {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_str(Depth(0))
    }
}

impl<'de> Visitor<'de> for Depth {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<(), E> {
        Self::text(text)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        let inner = self.deeper::<A::Error>()?;
        while items.next_element_seed(inner)?.is_some() {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<(), A::Error> {
        let inner = self.deeper::<A::Error>()?;
        while entries.next_key_seed(Key)?.is_some() {
            entries.next_value_seed(inner)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(output: &[u8]) -> Option<String> {
        check(output).err().map(|failure| failure.code)
    }

    #[test]
    fn ordinary_outputs_pass() {
        for output in [
            "",
            "null",
            r#"{"a":[1,2.5,"x",true,null]}"#,
            " 7 ",
            r#""\ud83d\ude00""#,
        ] {
            assert_eq!(code(output.as_bytes()), None, "{output}");
        }
    }

    #[test]
    fn what_the_store_cannot_hold_is_refused() {
        for output in [
            "{",
            "hello",
            "1 2",
            r#""a\u0000b""#,
            r#"{"a\u0000":1}"#,
            r#""\ud800""#,
            "NaN",
        ] {
            assert_eq!(
                code(output.as_bytes()).as_deref(),
                Some("INVALID_OUTPUT"),
                "{output}"
            );
        }
        assert_eq!(code(b"\"\xff\"").as_deref(), Some("INVALID_OUTPUT"));
    }

    #[test]
    fn sixty_four_levels_are_the_last() {
        let nested = |depth| format!("{}{}", "[".repeat(depth), "]".repeat(depth));

        assert_eq!(code(nested(64).as_bytes()), None);
        assert_eq!(
            code(nested(65).as_bytes()).as_deref(),
            Some("INVALID_OUTPUT")
        );
    }

    #[test]
    fn one_byte_over_the_limit_is_too_large() {
        let text = |length| format!("\"{}\"", "x".repeat(length - 2));

        assert_eq!(code(text(LARGEST).as_bytes()), None);
        assert_eq!(
            code(text(LARGEST + 1).as_bytes()).as_deref(),
            Some("OUTPUT_TOO_LARGE")
        );
    }
}

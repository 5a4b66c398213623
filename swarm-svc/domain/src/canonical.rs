//! One form of bytes for one value (RFC 8785), and its digest: what is compared, signed or cited is always that form.
//! Total: there is no value that it cannot write. What a document may hold is `record`'s business.

use serde_json::{Number, Value};
use sha2::{Digest as _, Sha256};

/// The canonical text of a value: keys in UTF-16 order, no blanks, numbers as ECMAScript writes them.
#[must_use]
pub fn text(value: &Value) -> String {
    let mut out = String::new();
    write(value, &mut out);
    out
}

/// The digest of a value's canonical text, in lower-case hex.
#[must_use]
pub fn digest(value: &Value) -> String {
    sha256(text(value).as_bytes())
}

/// SHA-256 in lower-case hex.
#[must_use]
pub fn sha256(bytes: &[u8]) -> String {
    let digest = Sha256::digest(bytes);
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Whether a text is a digest: 64 lower-case hex characters.
#[must_use]
pub fn is_digest(text: &str) -> bool {
    text.len() == 64
        && text
            .bytes()
            .all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

fn write(value: &Value, out: &mut String) {
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(true) => out.push_str("true"),
        Value::Bool(false) => out.push_str("false"),
        Value::Number(number) => out.push_str(&as_number(number)),
        Value::String(text) => write_text(text, out),
        Value::Array(items) => {
            out.push('[');
            for (n, item) in items.iter().enumerate() {
                out.push_str(if n > 0 { "," } else { "" });
                write(item, out);
            }
            out.push(']');
        }
        Value::Object(parts) => {
            let mut parts: Vec<(&String, &Value)> = parts.iter().collect();
            parts.sort_by(|(a, _), (b, _)| a.encode_utf16().cmp(b.encode_utf16()));
            out.push('{');
            for (n, (key, part)) in parts.into_iter().enumerate() {
                out.push_str(if n > 0 { "," } else { "" });
                write_text(key, out);
                out.push(':');
                write(part, out);
            }
            out.push('}');
        }
    }
}

fn write_text(text: &str, out: &mut String) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\u{8}' => out.push_str("\\b"),
            '\u{9}' => out.push_str("\\t"),
            '\u{a}' => out.push_str("\\n"),
            '\u{c}' => out.push_str("\\f"),
            '\u{d}' => out.push_str("\\r"),
            c if c < ' ' => out.push_str(&format!("\\u{:04x}", u32::from(c))),
            c => out.push(c),
        }
    }
    out.push('"');
}

/// The largest whole number that a double holds together with all below it.
const EXACT: u64 = 1 << 53;

fn as_number(number: &Number) -> String {
    match (number.as_i64(), number.as_f64()) {
        (Some(whole), _) if whole.unsigned_abs() <= EXACT => whole.to_string(),
        (_, Some(double)) => as_double(double),
        (_, None) => "null".to_owned(),
    }
}

/// A double as ECMAScript writes it: the shortest digits that read back as the same number.
fn as_double(double: f64) -> String {
    if double == 0.0 {
        return "0".to_owned();
    }
    let shortest = format!("{:e}", double.abs());
    let (digits, power) = shortest.split_once('e').unwrap_or((&shortest, "0"));
    let digits = digits.replace('.', "");
    // Where the point stands, counted from before the first digit.
    let point = power.parse::<i32>().unwrap_or(0) + 1;
    let sign = if double < 0.0 { "-" } else { "" };
    format!("{sign}{}", placed(&digits, point))
}

fn placed(digits: &str, point: i32) -> String {
    let count = i32::try_from(digits.len()).unwrap_or(i32::MAX);
    let zeros = |n: i32| "0".repeat(usize::try_from(n).unwrap_or(0));
    let (first, rest) = digits.split_at(digits.len().min(1));
    match point {
        1..=21 if point >= count => format!("{digits}{}", zeros(point - count)),
        1..=21 => {
            let (whole, part) = digits.split_at(usize::try_from(point).unwrap_or(0));
            format!("{whole}.{part}")
        }
        -5..=0 => format!("0.{}{digits}", zeros(-point)),
        _ => {
            let part = if rest.is_empty() {
                String::new()
            } else {
                format!(".{rest}")
            };
            format!("{first}{part}e{:+}", point - 1)
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn keys_and_numbers_are_written_as_the_standard_says() {
        let value = json!({
            "numbers": [333_333_333.333_333_3, 1e30, 4.50, 2e-3, 0.000_000_000_000_000_000_000_000_001],
            "string": "€$\u{f}\nA'B\"\\\\\"/",
            "literals": [null, true, false],
            "\u{fb33}": 1, "\u{1f600}": 2, "\u{20ac}": 3,
        });

        assert_eq!(
            text(&value),
            "{\"literals\":[null,true,false],\
             \"numbers\":[333333333.3333333,1e+30,4.5,0.002,1e-27],\
             \"string\":\"€$\\u000f\\nA'B\\\"\\\\\\\\\\\"/\",\
             \"€\":3,\"😀\":2,\"\u{fb33}\":1}"
        );
    }

    #[test]
    fn a_number_is_written_once_whether_it_came_as_double_or_whole() {
        for (left, right) in [
            (json!(1), json!(1.0)),
            (json!(-0.0), json!(0)),
            (json!(100), json!(1e2)),
        ] {
            assert_eq!(text(&left), text(&right));
        }
        assert_eq!(text(&json!(u64::MAX)), "18446744073709552000");
    }

    proptest! {
        #[test]
        fn doubles_read_back_as_themselves(double in any::<f64>().prop_filter("finite", |d| d.is_finite())) {
            prop_assert_eq!(as_double(double).parse::<f64>().unwrap(), double);
        }
    }
}

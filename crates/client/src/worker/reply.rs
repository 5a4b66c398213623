//! What a program or a service answers: the output itself, or an envelope that declares what it cost.

use bytes::Bytes;
use cambium_proto::hypha::v1::Usage;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::payload;

/// The longest answer that is read: an envelope may add a little to the largest output.
pub(super) const LARGEST: usize = payload::LARGEST + (4 << 10);

#[derive(Deserialize)]
struct Envelope<'a> {
    #[serde(borrow)]
    output: Option<&'a RawValue>,
    usage: Declared,
}

#[derive(Deserialize)]
struct Declared {
    micro_usd: i64,
}

/// Splits a reply into output and declared cost.
///
/// An object with `usage` declares a cost. It is an envelope only if it has an `output` too; else it is the output,
/// `usage` included. Whatever is no such object is the output.
pub(super) fn read(answer: &[u8]) -> (Bytes, Option<Usage>) {
    let text = answer.trim_ascii();
    let Ok(envelope) = serde_json::from_slice::<Envelope<'_>>(text) else {
        return (Bytes::copy_from_slice(text), None);
    };
    let usage = (envelope.usage.micro_usd >= 0).then_some(Usage {
        micro_usd: envelope.usage.micro_usd,
        measured: false,
    });
    let output = envelope
        .output
        .map_or(text, |output| output.get().as_bytes());
    (Bytes::copy_from_slice(output), usage)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reading(reply: &str) -> (String, Option<i64>) {
        let (output, usage) = read(reply.as_bytes());
        let output = String::from_utf8(output.to_vec()).unwrap();
        (output, usage.map(|usage| usage.micro_usd))
    }

    #[test]
    fn an_envelope_is_taken_off_and_its_cost_declared() {
        let reply = r#"{"output": {"n": 1.10}, "usage": {"micro_usd": 42}}"#;

        assert_eq!(reading(reply), (r#"{"n": 1.10}"#.to_owned(), Some(42)));
    }

    #[test]
    fn usage_without_output_is_part_of_the_output() {
        let reply = r#"{"answer":1,"usage":{"micro_usd":7}}"#;

        assert_eq!(reading(reply), (reply.to_owned(), Some(7)));
    }

    #[test]
    fn output_without_usage_is_no_envelope() {
        let reply = r#"{"output":1}"#;

        assert_eq!(reading(reply), (reply.to_owned(), None));
    }

    #[test]
    fn anything_else_is_the_output_as_it_stands() {
        assert_eq!(reading(" [1, 2]\n"), ("[1, 2]".to_owned(), None));
        assert_eq!(reading("not json"), ("not json".to_owned(), None));
        assert_eq!(reading("\n"), (String::new(), None));
    }
}

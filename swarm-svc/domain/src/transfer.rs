//! A mind's move to another host: its documents, persona versions, receipts and reviews as lines, with a count and one digest
//! (design: swarm, section 5). Leaves nothing out and believes no digest that it did not work out again.

use serde_json::{Value, json};

use crate::{Error, canonical};

/// The largest bundle, in bytes.
pub const MOST_BYTES: usize = 256 * 1024 * 1024;

/// Parts of a line that carry their own digest.
const DIGESTED: [(&str, &str); 2] = [("payload", "payload_sha256"), ("value", "value_sha256")];

/// The bundle of a mind, and its digest: a line for each entry, and one that says how many there are.
#[must_use]
pub fn bundle(entries: &[Value]) -> (String, String) {
    let lines = entries.iter().map(canonical::text);
    let body: String = lines.map(|line| line + "\n").collect();
    let sha256 = canonical::sha256(body.as_bytes());
    let end = canonical::text(&json!({"count": entries.len(), "sha256": sha256}));
    (body + &end + "\n", sha256)
}

/// The entries of a bundle that is whole, and its digest.
pub fn received(bundle: &str) -> Result<(Vec<Value>, String), Error> {
    let whole = bundle.strip_suffix('\n').unwrap_or(bundle);
    let (body, end) = whole.rsplit_once('\n').unwrap_or(("", whole));
    let count = body.lines().count();
    let last = parsed(count + 1, end)?;
    let sha256 = canonical::sha256(
        if body.is_empty() {
            String::new()
        } else {
            format!("{body}\n")
        }
        .as_bytes(),
    );
    let is_whole = last["count"].as_u64() == u64::try_from(count).ok();
    if !is_whole || last["sha256"] != sha256.as_str() {
        return Err(fault(count + 1, "does not tell what is before it"));
    }
    let lines = (1..).zip(body.lines());
    let entries = lines.map(|(line, text)| entry(line, text));
    Ok((entries.collect::<Result<_, _>>()?, sha256))
}

fn fault(line: usize, why: &'static str) -> Error {
    Error::Bundle { line, why }
}

fn parsed(line: usize, text: &str) -> Result<Value, Error> {
    let value: Option<Value> = serde_json::from_str(text).ok();
    value
        .filter(Value::is_object)
        .ok_or_else(|| fault(line, "is no JSON object"))
}

fn entry(line: usize, text: &str) -> Result<Value, Error> {
    let entry = parsed(line, text)?;
    for (name, digest) in DIGESTED {
        let part = entry.get(name).map(canonical::digest);
        if part.as_deref() != entry.get(digest).and_then(Value::as_str) {
            return Err(fault(line, "is not what its digest says"));
        }
    }
    Ok(entry)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entries() -> Vec<Value> {
        let payload = json!({"label": "a", "title": "Ä"});
        let digest = canonical::digest(&payload);
        vec![
            json!({"kind": "ruling", "payload": payload, "payload_sha256": digest}),
            json!({"review_on": "2026-11-30"}),
        ]
    }

    #[test]
    fn a_bundle_comes_back_as_it_was() {
        for entries in [entries(), Vec::new()] {
            let (text, sha256) = bundle(&entries);

            assert_eq!(received(&text), Ok((entries, sha256)));
        }
    }

    #[test]
    fn what_was_changed_cut_or_made_up_on_the_way_is_found() {
        let (text, _) = bundle(&entries());
        let mut forged = entries();
        forged[0]["payload"]["title"] = json!("B");
        let cut: String = text
            .lines()
            .skip(1)
            .map(|line| format!("{line}\n"))
            .collect();

        for bad in [
            text.replace('Ä', "A"),
            cut,
            bundle(&forged).0,
            String::new(),
            "[]\n".to_owned(),
        ] {
            assert!(matches!(received(&bad), Err(Error::Bundle { .. })), "{bad}");
        }
    }
}

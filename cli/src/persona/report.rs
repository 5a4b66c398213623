//! What became of an older persona, for people.

use serde_json::Value;

/// What an import carried over, dropped and changed.
pub(crate) fn told_report(report: &[u8]) -> String {
    let report: Value = serde_json::from_slice(report).unwrap_or_default();
    let text = |value: &Value| match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let mut lines = vec![format!("read as {}", text(&report["format"]))];
    let carried = report["carried"].as_object().into_iter().flatten();
    let carried = carried.map(|(list, count)| format!("\n  carried  {count} of {list}"));
    lines.extend(carried);
    let dropped = report["dropped"].as_array().into_iter().flatten();
    lines.extend(dropped.map(|part| {
        format!(
            "\n  dropped  {}: {}",
            text(&part["path"]),
            text(&part["reason"])
        )
    }));
    let coerced = report["coerced"].as_array().into_iter().flatten();
    lines.extend(coerced.map(|rule| format!("\n  changed  {}", text(rule))));
    lines.concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_says_what_was_carried_dropped_and_changed() {
        let report = br#"{"format":"gamecult.persona_intake.v0","carried":{"values":2},
            "dropped":[{"path":"/void.speech_receipts","reason":"runtime_residue"}],"coerced":["word_to_number"]}"#;

        assert_eq!(
            told_report(report),
            "read as gamecult.persona_intake.v0\n  carried  2 of values\n  dropped  /void.speech_receipts: runtime_residue\n  changed  word_to_number"
        );
    }
}

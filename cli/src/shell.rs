//! Words as a shell reads them, for the commands that we tell people to type.

/// A word that the shell hands on as it is.
pub(crate) fn word(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:@%+=,".contains(c);
    if !text.is_empty() && text.chars().all(is_plain) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_the_shell_would_change_is_quoted() {
        assert_eq!(word("nightly-2026-03-01"), "nightly-2026-03-01");
        assert_eq!(word("role:writer"), "role:writer");
        assert_eq!(word("draft[2]"), "'draft[2]'");
        assert_eq!(word("it's"), r"'it'\''s'");
        assert_eq!(word(""), "''");
    }
}

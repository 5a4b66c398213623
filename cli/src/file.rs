//! Files and JSON that people name on the command line.

use std::path::{Path, PathBuf};

use bytes::Bytes;

use crate::failure::Refusal;

/// Reads a file; `-` is the standard input.
pub(crate) fn read(path: &Path) -> Result<Vec<u8>, Refusal> {
    let read = if path == Path::new("-") {
        let mut bytes = Vec::new();
        std::io::Read::read_to_end(&mut std::io::stdin(), &mut bytes).map(|_| bytes)
    } else {
        std::fs::read(path)
    };
    read.map_err(|error| Refusal::File {
        path: path.to_owned(),
        problem: error.to_string(),
    })
}

/// Reads a file that may not be named.
pub(crate) fn read_if(path: Option<&PathBuf>) -> Result<Bytes, Refusal> {
    path.map_or_else(|| Ok(Bytes::new()), |path| read(path).map(Bytes::from))
}

/// JSON as it was typed, or the content of a file named as `@FILE`. Refuses what is no JSON.
pub(crate) fn json(text: &str) -> Result<Bytes, Refusal> {
    let bytes = match text.strip_prefix('@') {
        Some(path) => read(Path::new(path))?,
        None => text.as_bytes().to_vec(),
    };
    serde_json::from_slice::<serde::de::IgnoredAny>(&bytes)
        .map_err(|error| Refusal::Usage(format!("`{text}` is no JSON: {error}")))?;
    Ok(bytes.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_is_passed_on_as_it_was_typed() {
        assert_eq!(json(r#"{"n": 1.10}"#).unwrap(), r#"{"n": 1.10}"#);
        assert!(
            json("{n: 1}")
                .unwrap_err()
                .to_string()
                .starts_with("`{n: 1}` is no JSON")
        );
    }

    #[test]
    fn json_may_stand_in_a_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("input.json");
        std::fs::write(&path, "[1]").unwrap();

        assert_eq!(json(&format!("@{}", path.display())).unwrap(), "[1]");
    }
}

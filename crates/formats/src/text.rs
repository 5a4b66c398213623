//! Bytes to text: unzips, bounds, decodes. Knows no format.

use std::borrow::Cow;
use std::io::Read;

use flate2::read::MultiGzDecoder;

use crate::Error;

/// The most text a file may hold: 64 MiB.
pub(crate) const LIMIT: usize = 64 << 20;
const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];

/// The text of a file, gzipped or not, without a byte order mark.
pub(crate) fn decode(bytes: &[u8]) -> Result<Cow<'_, str>, Error> {
    if bytes.starts_with(&GZIP_MAGIC) {
        let text = String::from_utf8(inflate(bytes, LIMIT)?)
            .map_err(|error| no_text(error.utf8_error()))?;
        return Ok(Cow::Owned(text.trim_start_matches('\u{feff}').to_owned()));
    }
    if bytes.len() > LIMIT {
        return Err(Error::FileTooLarge { limit: LIMIT });
    }
    let text = std::str::from_utf8(bytes).map_err(no_text)?;
    Ok(Cow::Borrowed(text.trim_start_matches('\u{feff}')))
}

/// Reads one byte past the limit at most, however much the archive claims to hold.
fn inflate(bytes: &[u8], limit: usize) -> Result<Vec<u8>, Error> {
    let mut inflated = Vec::new();
    MultiGzDecoder::new(bytes)
        .take(limit as u64 + 1)
        .read_to_end(&mut inflated)
        .map_err(|error| Error::Gzip {
            message: error.to_string(),
        })?;
    if inflated.len() > limit {
        return Err(Error::FileTooLarge { limit });
    }
    Ok(inflated)
}

fn no_text(error: std::str::Utf8Error) -> Error {
    Error::NotText {
        offset: error.valid_up_to(),
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::*;

    fn zipped(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn a_zipped_file_reads_like_the_file() {
        assert_eq!(decode(&zipped("nodes: ä".as_bytes())).unwrap(), "nodes: ä");
        assert_eq!(decode("\u{feff}nodes: ä".as_bytes()).unwrap(), "nodes: ä");
    }

    #[test]
    fn an_archive_that_inflates_past_the_limit_is_refused() {
        let bomb = zipped(&[b' '; 1_001]);

        assert_eq!(
            inflate(&bomb, 1_000),
            Err(Error::FileTooLarge { limit: 1_000 })
        );
        assert_eq!(inflate(&bomb, 1_001).map(|text| text.len()), Ok(1_001));
    }

    #[test]
    fn what_is_no_text_is_refused_at_its_place() {
        let whole = zipped(b"nodes: {}");

        assert_eq!(decode(b"ab\xff"), Err(Error::NotText { offset: 2 }));
        assert!(matches!(
            decode(&whole[..whole.len() - 9]),
            Err(Error::Gzip { .. })
        ));
    }
}

//! Text files of bounded size, without the byte order mark of some editors.

use std::fs::File;
use std::io::{Error, ErrorKind, Read, Result};
use std::path::Path;

/// The most bytes that are read of a file beside the plan: it may be a device that never ends.
const MAX_BYTES: u64 = 256 << 20;

/// The whole of a text file.
pub(crate) fn read(path: &Path) -> Result<String> {
    text(File::open(path)?, MAX_BYTES)
}

/// All that comes, no more than `most` bytes, as text.
pub(crate) fn text(from: impl Read, most: u64) -> Result<String> {
    let bytes = at_most(from, most)?;
    if most < bytes.len() as u64 {
        let reason = format!("it has more than {most} bytes");
        return Err(Error::new(ErrorKind::FileTooLarge, reason));
    }
    let mut text =
        String::from_utf8(bytes).map_err(|error| Error::new(ErrorKind::InvalidData, error))?;
    if text.starts_with('\u{feff}') {
        text.remove(0);
    }
    Ok(text)
}

/// All that comes, up to one byte more than `most`: enough to refuse it.
pub(crate) fn at_most(from: impl Read, most: u64) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    from.take(most.saturating_add(1)).read_to_end(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::text;

    #[test]
    fn texts_are_bounded_and_bare() {
        let check = |bytes: &[u8], expected: Result<&str, &str>| {
            let read = text(bytes, 8).map_err(|error| error.to_string());
            assert_eq!(read.as_deref().map_err(String::as_str), expected);
        };
        check(b"", Ok(""));
        check(b"12345678", Ok("12345678"));
        check(b"123456789", Err("it has more than 8 bytes"));
        check("\u{feff}{}".as_bytes(), Ok("{}"));
        check(
            b"\xff\xfe",
            Err("invalid utf-8 sequence of 1 bytes from index 0"),
        );
        let endless = text(std::io::repeat(0), 8).map_err(|error| error.to_string());
        assert_eq!(endless, Err("it has more than 8 bytes".to_owned()));
    }
}

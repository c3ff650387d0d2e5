//! JSON on standard output: indented while that is for people to read, otherwise written as it is made, so that a large report takes
//! no memory of its own.

use std::io::{self, BufWriter, Write};

use serde::Serialize;

/// The largest size of indented JSON in bytes. In deeply nested JSON most bytes would be spaces.
const INDENTED_BYTES: usize = 1024 * 1024;

/// Writes `value` in one line.
pub(super) fn write_line(value: &impl Serialize, to: impl Write) -> io::Result<()> {
    let mut to = BufWriter::new(to);
    serde_json::to_writer(&mut to, value)?;
    to.write_all(b"\n")?;
    to.flush()
}

/// `value`, indented; `None` if that is too long to be read.
pub(super) fn indented(value: &impl Serialize) -> Result<Option<String>, serde_json::Error> {
    let mut text = Limited(Vec::new());
    match serde_json::to_writer_pretty(&mut text, value) {
        Ok(()) => Ok(Some(String::from_utf8_lossy(&text.0).into_owned())),
        Err(error) if error.is_io() => Ok(None),
        Err(error) => Err(error),
    }
}

/// Takes so many bytes and no more.
struct Limited(Vec<u8>);

impl Write for Limited {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if bytes.len() > INDENTED_BYTES - self.0.len() {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        self.0.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use planwright::core::Value;

    use super::*;

    #[test]
    fn what_is_long_is_not_indented() {
        let text = |bytes: usize| indented(&Value::text("a".repeat(bytes))).unwrap();
        assert_eq!(text(INDENTED_BYTES - 2).unwrap().len(), INDENTED_BYTES);
        assert_eq!(text(INDENTED_BYTES - 1), None);
        // It is short as such.
        let nested = |levels: usize| {
            let first = Value::list(vec![Value::from(1); 1000]);
            (0..levels).fold(first, |inner, _| Value::list([inner]))
        };
        assert!(indented(&nested(10)).unwrap().is_some());
        assert_eq!(indented(&nested(600)).unwrap(), None);
    }

    #[test]
    fn a_line_is_one() {
        let mut written = Vec::new();
        write_line(&Value::list([Value::from("a\nb")]), &mut written).unwrap();
        assert_eq!(written, b"[\"a\\nb\"]\n");
    }
}

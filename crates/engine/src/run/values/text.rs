//! Insertion of values into texts, within a size limit.

use std::io::{self, Write};

use planwright_core::Value;

use super::resolve::{Resolution, Scope, fail};
use crate::backend::ErrorKind;

/// The maximum size of a text with references, in bytes.
const MAX_TEXT_BYTES: usize = 64 * 1024 * 1024;

impl Scope<'_> {
    /// Appends `value` in its text form. A value that does not fit is not serialized at all.
    pub(super) fn push_value(&self, whole: &mut String, value: &Value) -> Resolution<()> {
        let most = MAX_TEXT_BYTES.min(self.memory.remaining());
        if append_value(whole, value, most) {
            return Ok(());
        }
        if most == MAX_TEXT_BYTES {
            return Err(fail(
                ErrorKind::Budget,
                format!("the text grows beyond {} MiB", MAX_TEXT_BYTES / 1024 / 1024),
            ));
        }
        // Discarded copies count as well, so repeated failures cannot keep a run busy forever.
        self.memory.add(whole.len())?;
        Err(self.memory.exhausted_error().into())
    }
}

/// Appends `value` in its text form, unless the text would exceed `most` bytes. Returns false then.
fn append_value(whole: &mut String, value: &Value, most: usize) -> bool {
    let room = most.saturating_sub(whole.len());
    let json;
    let text: Option<&str> = match value {
        Value::Text(text) => Some(text),
        other => {
            json = json_limited(other, room);
            json.as_deref()
        }
    };
    let text = text.filter(|text| text.len() <= room);
    whole.push_str(text.unwrap_or_default());
    text.is_some()
}

/// The JSON of `value`, unless it exceeds `most` bytes: shared values may be far larger as JSON than in memory.
fn json_limited(value: &Value, most: usize) -> Option<String> {
    let mut json = LimitedWriter {
        bytes: Vec::new(),
        most,
    };
    serde_json::to_writer(&mut json, value).ok()?;
    String::from_utf8(json.bytes).ok()
}

/// A writer with a size limit.
struct LimitedWriter {
    bytes: Vec<u8>,
    most: usize,
}

impl Write for LimitedWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if bytes.len() > self.most.saturating_sub(self.bytes.len()) {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        self.bytes.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(value: &str, most: usize, expected: Option<&str>) {
        let mut whole = "a ".to_owned();
        let value = Value::from_json(value).unwrap();
        let inserted = append_value(&mut whole, &value, most);
        assert_eq!(inserted, expected.is_some());
        assert_eq!(whole, expected.unwrap_or("a "));
    }

    #[test]
    fn a_value_is_inserted_where_it_fits_as_it_is_written() {
        check(r#""été""#, 7, Some("a été"));
        check(r#""été""#, 6, None);
        check(r#"[1,"\u0001"]"#, 14, Some(r#"a [1,"\u0001"]"#));
        check(r#"[1,"\u0001"]"#, 13, None);
        check("null", 1, None);
        check(r#""""#, 2, Some("a "));
    }
}

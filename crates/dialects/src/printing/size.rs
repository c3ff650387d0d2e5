//! The size of a written plan: readers with default limits may refuse it.

use planwright_core::{Code, Diagnostic, Value};

use crate::document::Limits;

const HELP: &str =
    "allow more where it is read, or let what is large be an input of the run or come from a step";

/// The nesting of lists and objects, and the number of values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct WrittenSize {
    pub(super) depth: usize,
    values: usize,
}

impl WrittenSize {
    /// The size of `written` as one JSON text.
    pub(super) fn of(written: &Value) -> Self {
        let mut extent = Self::default();
        // A worklist instead of recursion: this measures plans of any depth.
        let mut waiting = vec![(written, 0)];
        while let Some((value, around)) = waiting.pop() {
            extent.values += 1;
            let depth = around + usize::from(matches!(value, Value::List(_) | Value::Object(_)));
            extent.depth = extent.depth.max(depth);
            match value {
                Value::List(items) => waiting.extend(items.iter().map(|item| (item, depth))),
                Value::Object(fields) => waiting.extend(fields.values().map(|it| (it, depth))),
                _ => {}
            }
        }
        extent
    }

    /// A warning for each of the `limits` that is exceeded.
    pub(super) fn oversize(self, limits: &Limits) -> Vec<Diagnostic> {
        let Self { depth, values } = self;
        let mut diagnostics = Vec::new();
        if depth > limits.effective_depth() {
            let max = limits.effective_depth();
            let message = format!("what is written is nested {depth} levels deep, {max} are read");
            diagnostics.push(Diagnostic::warning(Code::TooDeep, message).help(HELP));
        }
        if values > limits.values {
            let max = limits.values;
            diagnostics.push(too_large(&format!("{values} values, {max} are read")));
        }
        diagnostics
    }
}

/// A warning if `text` is longer than `limits` allow.
pub(super) fn text_oversize(text: &str, limits: &Limits) -> Option<Diagnostic> {
    let (bytes, max) = (text.len(), limits.bytes);
    (bytes > max).then(|| too_large(&format!("{bytes} bytes, {max} are read")))
}

fn too_large(what: &str) -> Diagnostic {
    let message = format!("what is written has {what}");
    Diagnostic::warning(Code::TooLarge, message).help(HELP)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::read;

    /// Compares the warnings about `json` under limits of 30 bytes, 3 levels and 5 values with those of the reader.
    #[track_caller]
    fn check(json: &str, expected: Option<&str>) {
        let limits = Limits {
            bytes: 30,
            depth: 3,
            values: 5,
            ..Limits::default()
        };
        let value = Value::from_json(json).expect("JSON");
        let mut found = WrittenSize::of(&value).oversize(&limits);
        found.extend(text_oversize(json, &limits));
        let messages: Vec<&str> = found
            .iter()
            .map(|diagnostic| &*diagnostic.message)
            .collect();
        assert_eq!(messages, Vec::from_iter(expected));
        let (_, diagnostics) = read(json.as_bytes(), "test", 0, &limits);
        let codes = |code: &Diagnostic| code.code;
        assert_eq!(
            diagnostics.iter().map(codes).collect::<Vec<_>>(),
            found.iter().map(codes).collect::<Vec<_>>()
        );
    }

    #[test]
    fn what_is_written_can_be_read() {
        check(r#"{"a": [{}]}"#, None);
        check(
            r#"{"a": [{"b": []}]}"#,
            Some("what is written is nested 4 levels deep, 3 are read"),
        );
        check("[[[1, 2]]]", None);
        check(
            "[[[1, 2, 3]]]",
            Some("what is written has 6 values, 5 are read"),
        );
        check(
            r#""123456789012345678901234567 8""#.trim(),
            Some("what is written has 31 bytes, 30 are read"),
        );
        check(r#""12345678901234567890123456 8""#, None);
    }
}

//! How large a plan is that is written: whether it can be read again where nobody allows more than usual.

use planwright_core::{Code, Diagnostic, Value};

use crate::document::Limits;

const WAY_OUT: &str =
    "allow more where it is read, or let what is large be an input of the run or come from a step";

/// Lists and objects in each other, and values in all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Extent {
    pub(super) depth: usize,
    values: usize,
}

impl Extent {
    /// Of what is written as one text in JSON.
    pub(super) fn of(written: &Value) -> Self {
        let mut extent = Self::default();
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

    /// What is more than `limits` allow.
    pub(super) fn excess(self, limits: &Limits) -> Vec<Diagnostic> {
        let Self { depth, values } = self;
        let mut findings = Vec::new();
        if depth > limits.depth_in_force() {
            let most = limits.depth_in_force();
            let message = format!("what is written is nested {depth} levels deep, {most} are read");
            findings.push(Diagnostic::warning(Code::TooDeep, message).help(WAY_OUT));
        }
        if values > limits.values {
            let most = limits.values;
            findings.push(too_large(&format!("{values} values, {most} are read")));
        }
        findings
    }
}

/// That `text` is longer than `limits` allow, if it is.
pub(super) fn excess_of_text(text: &str, limits: &Limits) -> Option<Diagnostic> {
    let (bytes, most) = (text.len(), limits.bytes);
    (bytes > most).then(|| too_large(&format!("{bytes} bytes, {most} are read")))
}

fn too_large(what: &str) -> Diagnostic {
    let message = format!("what is written has {what}");
    Diagnostic::warning(Code::TooLarge, message).help(WAY_OUT)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::read;

    /// Compares what of `json` is more than 30 bytes, 3 levels and 5 values; the reader says so as well.
    #[track_caller]
    fn check(json: &str, expected: Option<&str>) {
        let limits = Limits {
            bytes: 30,
            depth: 3,
            values: 5,
            ..Limits::default()
        };
        let value = Value::from_json(json).expect("JSON");
        let mut found = Extent::of(&value).excess(&limits);
        found.extend(excess_of_text(json, &limits));
        let messages: Vec<&str> = found.iter().map(|finding| &*finding.message).collect();
        assert_eq!(messages, Vec::from_iter(expected));
        let (_, findings) = read(json.as_bytes(), "test", 0, &limits);
        let codes = |code: &Diagnostic| code.code;
        assert_eq!(
            findings.iter().map(codes).collect::<Vec<_>>(),
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

//! Abbreviation of values that are too large to be shown whole.
//!
//! See [the design](https://github.com/planwright/planwright/blob/main/docs/design/budgets.md#a-trimmed-value-is-shown-as-an-object).

use std::io::{self, Write};
use std::sync::Arc;

use indexmap::IndexMap;
use planwright_core::{Object, Value};

use super::event::EventV1;
use super::summary::{ReportV1, StepV1};

/// The field that marks a trimmed value.
pub const TRIMMED: &str = "$trimmed";

/// Trims the values of reports and events. The run itself passes on whole values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trim {
    max_bytes: u64,
}

impl Trim {
    /// Trims values of more than `max_bytes` as compact JSON.
    pub fn to(max_bytes: u64) -> Self {
        Self { max_bytes }
    }

    /// Returns the report with larger values trimmed: outputs, arguments and slots.
    #[must_use]
    pub fn report(self, mut report: ReportV1) -> ReportV1 {
        // All fields are named, so that no new value stays untrimmed.
        let ReportV1 {
            output,
            steps,
            calls,
            vars,
            state,
            data,
            instances,
            schema: _,
            run: _,
            plan: _,
            dialect: _,
            status: _,
            duration_ms: _,
            replanned: _,
            revisions: _,
            usage: _,
            flow: _,
            revert: _,
            diagnostics: _,
        } = &mut report;
        for step in steps {
            self.step(step);
        }
        for call in calls {
            self.fields(&mut call.args);
        }
        for fields in [output, vars, state, data] {
            self.fields(fields);
        }
        self.each(instances);
        report
    }

    /// Returns the event with larger values trimmed.
    #[must_use]
    pub fn event(self, mut event: EventV1) -> EventV1 {
        // All fields are named, so that no new value stays untrimmed.
        let EventV1 {
            output,
            args,
            schema: _,
            at_ms: _,
            event: _,
            address: _,
            step: _,
            tool: _,
            items: _,
            attempt: _,
            status: _,
            error: _,
            reason: _,
            pause_ms: _,
            approved: _,
            run: _,
            plan: _,
            digest: _,
            steps: _,
            progress: _,
            total: _,
            // The engine has truncated it.
            message: _,
        } = &mut event;
        if let Some(output) = output {
            self.value(output);
        }
        if let Some(args) = args {
            self.fields(args);
        }
        event
    }

    fn step(self, step: &mut StepV1) {
        let StepV1 {
            output,
            args,
            content,
            parts,
            id: _,
            instance: _,
            item: _,
            round: _,
            tool: _,
            status: _,
            attempts: _,
            started_ms: _,
            ended_ms: _,
            // Its data is small: servers' data of errors is limited where it is read.
            error: _,
            handled: _,
            reason: _,
            approval: _,
            after: _,
        } = step;
        if let Some(output) = output {
            self.value(output);
        }
        if let Some(args) = args {
            self.fields(args);
        }
        for block in content {
            self.value(block);
        }
        for part in parts {
            self.step(part);
        }
    }

    /// Trims each field of an object on its own, so that a large one does not affect the others, and any other value as a whole.
    /// Returns true if anything was trimmed.
    pub fn fields(self, value: &mut Value) -> bool {
        match value {
            Value::Object(fields) if fields.values().any(|field| self.is_exceeded_by(field)) => {
                let mut fields: Object = Object::clone(fields);
                for field in fields.values_mut() {
                    self.value(field);
                }
                *value = fields.into();
                true
            }
            Value::Object(_) => false,
            other => self.value(other),
        }
    }

    fn each(self, values: &mut IndexMap<Arc<str>, Value>) {
        for value in values.values_mut() {
            self.fields(value);
        }
    }

    fn value(self, value: &mut Value) -> bool {
        if !self.is_exceeded_by(value) {
            return false;
        }
        let whole = self.count_bytes(value, u64::MAX);
        let start = match &*value {
            Value::Text(text) => self.start_of(text.as_bytes()),
            _ => self.start_of(&whole.start),
        };
        let trimmed = Value::object([
            ("bytes", Value::from(whole.bytes)),
            ("start", Value::from(start)),
        ]);
        *value = Value::object([(TRIMMED, trimmed)]);
        true
    }

    fn is_exceeded_by(self, value: &Value) -> bool {
        self.count_bytes(value, self.max_bytes).bytes > self.max_bytes
    }

    /// Returns the first bytes, up to the end of a whole character.
    fn start_of(self, bytes: &[u8]) -> String {
        let max_bytes = usize::try_from(self.max_bytes).unwrap_or(usize::MAX);
        let bytes = bytes.get(..max_bytes).unwrap_or(bytes);
        let whole = match std::str::from_utf8(bytes) {
            Ok(text) => text,
            Err(error) => {
                let whole = bytes.get(..error.valid_up_to()).unwrap_or_default();
                std::str::from_utf8(whole).unwrap_or_default()
            }
        };
        whole.to_owned()
    }

    /// Serializes `value` until it has more than `enough` bytes, and returns the counter.
    fn count_bytes(self, value: &Value, enough: u64) -> Counter {
        let mut counter = Counter {
            bytes: 0,
            enough,
            start: Vec::new(),
            max_bytes: usize::try_from(self.max_bytes).unwrap_or(usize::MAX),
        };
        // Writing fails once the limit is exceeded; the count so far is all that is needed.
        let _ = serde_json::to_writer(&mut counter, value);
        counter
    }
}

/// Counts bytes, and stores the first ones.
struct Counter {
    bytes: u64,
    enough: u64,
    start: Vec<u8>,
    max_bytes: usize,
}

impl Write for Counter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.bytes > self.enough {
            return Err(io::ErrorKind::StorageFull.into());
        }
        self.bytes = self.bytes.saturating_add(bytes.len() as u64);
        let room = self.max_bytes.saturating_sub(self.start.len());
        let start = bytes.get(..room).unwrap_or(bytes);
        self.start.extend_from_slice(start);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use planwright_core::Value;

    use super::Trim;

    fn check(max_bytes: u64, value: &str, expected: &str) {
        let mut value = Value::from_json(value).unwrap();
        Trim::to(max_bytes).fields(&mut value);
        assert_eq!(value.to_json(), expected);
    }

    #[test]
    fn what_is_too_large_says_so() {
        check(5, r#""abc""#, r#""abc""#);
        check(5, r#""abcd""#, r#"{"$trimmed":{"bytes":6,"start":"abcd"}}"#);
        check(5, r#""ääää""#, r#"{"$trimmed":{"bytes":10,"start":"ää"}}"#);
        check(5, "[1,2,3]", r#"{"$trimmed":{"bytes":7,"start":"[1,2,"}}"#);
        check(
            5,
            r#""a\nb\nc""#,
            r#"{"$trimmed":{"bytes":9,"start":"a\nb\nc"}}"#,
        );
        check(0, "null", r#"{"$trimmed":{"bytes":4,"start":""}}"#);
        check(
            5,
            r#"{"small":1,"large":{"a":[0]}}"#,
            r#"{"small":1,"large":{"$trimmed":{"bytes":9,"start":"{\"a\":"}}}"#,
        );
    }
}

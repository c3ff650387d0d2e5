//! How much the steps of a run make of what they are given: texts that are put together, results of expressions, lists and
//! objects that are built. What is only handed on costs nothing.

use std::cell::Cell;
use std::collections::HashMap;
use std::sync::Arc;

use planwright_core::{Hashing, Value};

use crate::backend::{ErrorKind, ToolError};

/// What one field of an object takes beside its value, about.
const FIELD: usize = 64;

/// How many bytes were made, and the most that may be.
#[derive(Debug)]
pub(crate) struct Made {
    bytes: Cell<usize>,
    most: usize,
    took_long: Cell<bool>,
}

/// From how many bytes on it may take a while to make them.
const MANY: usize = 4096;

impl Made {
    pub(crate) fn new(most: usize) -> Self {
        Self {
            bytes: Cell::new(0),
            most,
            took_long: Cell::new(false),
        }
    }

    /// How many more bytes may be made.
    pub(crate) fn left(&self) -> usize {
        self.most.saturating_sub(self.bytes.get())
    }

    /// Counts bytes that are there now, unless they are too many: whoever made them drops them then.
    pub(crate) fn add(&self, bytes: usize) -> Result<(), ToolError> {
        if bytes > self.left() {
            return Err(self.used_up());
        }
        self.bytes.set(self.bytes.get().saturating_add(bytes));
        if bytes >= MANY {
            self.may_take_long();
        }
        Ok(())
    }

    /// Notes that something is computed that may take a while.
    pub(crate) fn may_take_long(&self) {
        self.took_long.set(true);
    }

    /// Whether something was computed, since this was last asked, that may have taken a while.
    pub(crate) fn took_long(&self) -> bool {
        self.took_long.replace(false)
    }

    /// Counts the places of a list, or of the fields of an object.
    pub(crate) fn add_parts(&self, items: usize, fields: usize) -> Result<(), ToolError> {
        self.add(bytes_of_parts(items, fields))
    }

    /// Counts what of `value` was made for it.
    pub(crate) fn add_new(&self, value: &Value) -> Result<(), ToolError> {
        self.add(new_bytes(value))
    }

    pub(crate) fn used_up(&self) -> ToolError {
        ToolError::new(
            ErrorKind::Budget,
            format!(
                "what the steps of the run compute comes to more than the {} bytes that are allowed",
                self.most
            ),
        )
    }
}

fn bytes_of_parts(items: usize, fields: usize) -> usize {
    let items = items.saturating_mul(size_of::<Value>());
    items.saturating_add(fields.saturating_mul(FIELD))
}

/// The bytes of those parts of `value` that nothing else holds. A part is known to be one when as many have led to it as
/// hold it; most are held once.
fn new_bytes(value: &Value) -> usize {
    // Nearly always, and then nothing else matters.
    if holders(value).is_none_or(|(holders, _)| holders > 1) {
        return 0;
    }
    let mut bytes = 0_usize;
    let mut met: HashMap<*const u8, usize, Hashing> = HashMap::default();
    let mut open = vec![value];
    while let Some(part) = open.pop() {
        if let Some((holders, address)) = holders(part)
            && holders > 1
        {
            let met = met.entry(address).or_default();
            *met += 1;
            if *met < holders {
                continue;
            }
        }
        let own = match part {
            Value::Text(text) => text.len(),
            Value::List(items) => {
                open.extend(items.iter());
                bytes_of_parts(items.len(), 0)
            }
            Value::Object(fields) => {
                open.extend(fields.values());
                let names = fields.keys().filter(|name| Arc::strong_count(name) == 1);
                let names: usize = names.map(|name| name.len()).sum();
                names.saturating_add(bytes_of_parts(0, fields.len()))
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => 0,
        };
        bytes = bytes.saturating_add(own);
    }
    bytes
}

/// How many hold a part, and where it is, if it is one that can be shared.
fn holders(part: &Value) -> Option<(usize, *const u8)> {
    match part {
        Value::Null | Value::Bool(_) | Value::Number(_) => None,
        Value::Text(text) => Some((Arc::strong_count(text), Arc::as_ptr(text).cast())),
        Value::List(items) => Some((Arc::strong_count(items), Arc::as_ptr(items).cast())),
        Value::Object(fields) => Some((Arc::strong_count(fields), Arc::as_ptr(fields).cast())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(value: &Value, expected: usize) {
        assert_eq!(new_bytes(value), expected, "{value:?}");
    }

    fn items(count: usize) -> usize {
        count * size_of::<Value>()
    }

    #[test]
    fn only_what_nothing_else_holds_is_new() {
        let old = Value::text("some text");
        check(&Value::from(7), 0);
        check(&Value::text("new"), 3);
        check(&old.clone(), 0);
        check(
            &Value::list([old.clone(), Value::text("new")]),
            items(2) + 3,
        );
        check(&Value::object([("name", old.clone())]), FIELD + 4);
        let held = Value::list([Value::text("held by a list that is held")]);
        check(&Value::list([held.clone(), held.clone()]), items(2));
    }

    #[test]
    fn what_is_new_counts_once_wherever_it_stands() {
        let text = Value::text("text");
        let inner = Value::list([text.clone(), text.clone()]);
        let whole = Value::list([inner.clone(), inner.clone(), text.clone()]);
        drop((text, inner));
        check(&whole, items(3) + items(2) + 4);
    }
}

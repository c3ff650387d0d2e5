//! The budgets of a run: calls, written bytes, tasks, and the memory that computed values take.

use std::cell::Cell;
use std::collections::HashMap;
use std::sync::Arc;

use planwright_core::check::CheckedPlan;
use planwright_core::value::SharedSizes;
use planwright_core::{Hashing, Value};

use crate::backend::{ErrorKind, ToolError};
use crate::guard::{BudgetGuard, MAX_LEVELS, WrittenBudget, written_bytes};
use crate::options::RunOptions;

/// The approximate size of an object's field without its value, in bytes.
const FIELD_BYTES: usize = 64;

/// The bytes computed so far, and their maximum.
#[derive(Debug)]
pub(crate) struct MemoryBudget {
    bytes: Cell<usize>,
    limit: usize,
    take_slow: Cell<bool>,
}

/// The number of bytes whose computation may take long.
const SLOW_BYTES: usize = 4096;

impl MemoryBudget {
    pub(crate) fn new(limit: usize) -> Self {
        Self {
            bytes: Cell::new(0),
            limit,
            take_slow: Cell::new(false),
        }
    }

    /// The number of bytes left.
    pub(crate) fn remaining(&self) -> usize {
        self.limit.saturating_sub(self.bytes.get())
    }

    /// Counts computed bytes. On an error the caller drops them.
    pub(crate) fn add(&self, bytes: usize) -> Result<(), ToolError> {
        if bytes > self.remaining() {
            return Err(self.exhausted_error());
        }
        self.bytes.set(self.bytes.get().saturating_add(bytes));
        if bytes >= SLOW_BYTES {
            self.mark_slow();
        }
        Ok(())
    }

    /// Sets the flag for an expensive computation.
    pub(crate) fn mark_slow(&self) {
        self.take_slow.set(true);
    }

    /// Returns and clears the flag for an expensive computation.
    pub(crate) fn take_slow(&self) -> bool {
        self.take_slow.replace(false)
    }

    /// Counts the entries of a list or the fields of an object.
    pub(crate) fn add_parts(&self, items: usize, fields: usize) -> Result<(), ToolError> {
        self.add(container_bytes(items, fields))
    }

    /// Counts the parts of `value` that were created for it.
    pub(crate) fn add_new(&self, value: &Value) -> Result<(), ToolError> {
        self.add(new_bytes(value))
    }

    pub(crate) fn exhausted_error(&self) -> ToolError {
        ToolError::new(
            ErrorKind::Budget,
            format!(
                "the computed values of the run exceed the limit of {} bytes",
                self.limit
            ),
        )
    }
}

fn container_bytes(items: usize, fields: usize) -> usize {
    let items = items.saturating_mul(size_of::<Value>());
    items.saturating_add(fields.saturating_mul(FIELD_BYTES))
}

/// Returns the size of the parts that belong to `value` alone: all references to such a part come from `value`. Most parts have one
/// reference.
fn new_bytes(value: &Value) -> usize {
    // A fast path: most values are shared as a whole or have no parts.
    if sharing(value).is_none_or(|(sharing, _)| sharing > 1) {
        return 0;
    }
    let mut bytes = 0_usize;
    let mut met: HashMap<*const u8, usize, Hashing> = HashMap::default();
    let mut open = vec![value];
    while let Some(part) = open.pop() {
        if let Some((sharing, address)) = sharing(part)
            && sharing > 1
        {
            let met = met.entry(address).or_default();
            *met += 1;
            if *met < sharing {
                continue;
            }
        }
        let own = match part {
            Value::Text(text) => text.len(),
            Value::List(items) => {
                open.extend(items.iter());
                container_bytes(items.len(), 0)
            }
            Value::Object(fields) => {
                open.extend(fields.values());
                // Names are usually shared with the plan or with other records.
                let names = fields.keys().filter(|name| Arc::strong_count(name) == 1);
                let names: usize = names.map(|name| name.len()).sum();
                names.saturating_add(container_bytes(0, fields.len()))
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => 0,
        };
        bytes = bytes.saturating_add(own);
    }
    bytes
}

/// The reference count and the address of a part that can be shared.
fn sharing(part: &Value) -> Option<(usize, *const u8)> {
    match part {
        Value::Null | Value::Bool(_) | Value::Number(_) => None,
        Value::Text(text) => Some((Arc::strong_count(text), Arc::as_ptr(text).cast())),
        Value::List(items) => Some((Arc::strong_count(items), Arc::as_ptr(items).cast())),
        Value::Object(fields) => Some((Arc::strong_count(fields), Arc::as_ptr(fields).cast())),
    }
}

/// The usage of a run, counted against its bounds.
#[derive(Debug)]
pub(super) struct Budgets {
    pub(super) guard: BudgetGuard,
    pub(super) written: WrittenBudget,
    pub(super) memory: MemoryBudget,
    /// The sizes of large parts of values: a large output may be an argument of a thousand calls.
    pub(super) sizes: SharedSizes,
    /// The number of tasks, including future ones of loops that have begun.
    tasks: usize,
    max_tasks: usize,
}

impl Budgets {
    pub(super) fn new(plan: &CheckedPlan, options: &RunOptions) -> Self {
        let bound = options.guards.written_bytes.clone();
        let mut written = WrittenBudget::new(bound, options.meter.clone());
        // The default budget grows with what a run receives, and inputs are a part of it.
        for value in plan.inputs().values() {
            written.receive(written_bytes(value));
        }
        Self {
            guard: BudgetGuard::new(options.guards.clone()),
            written,
            sizes: SharedSizes::default(),
            memory: MemoryBudget::new(options.computed_bytes),
            tasks: 0,
            max_tasks: options.max_tasks,
        }
    }

    /// Returns the bytes of `value` as written, which saturate if it is nested too deeply.
    pub(super) fn written_bytes(&mut self, value: &Value) -> u64 {
        let size = self.sizes.size(value, MAX_LEVELS);
        size.map_or(u64::MAX, |size| size.bytes)
    }

    /// Counts the plan's own steps, which always run.
    pub(super) fn add_steps(&mut self, count: usize) {
        self.tasks += count;
    }

    /// Reserves `more` tasks, within the maximum of the run.
    pub(super) fn reserve_tasks(&mut self, more: usize) -> Result<(), ToolError> {
        let max = self.max_tasks;
        let tasks = self.tasks.saturating_add(more);
        if tasks > max {
            return Err(ToolError::new(
                ErrorKind::Budget,
                format!(
                    "the run has {tasks} tasks (steps, items, rounds), more than the {max} that are allowed"
                ),
            ));
        }
        self.tasks = tasks;
        Ok(())
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
        check(&Value::object([("name", old.clone())]), FIELD_BYTES + 4);
        let list = Value::list([Value::text("held by a list that is held")]);
        check(&Value::list([list.clone(), list.clone()]), items(2));
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

//! The budget of written values: all that steps compute, store, report and send, in bytes of JSON.

use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use planwright_core::Value;

use super::guards::{Bound, GuardKind, Guards, guard_error};
use crate::backend::{ToolError, ToolOutput};

/// The number of times that received data may be written beside the fixed budget, for example as an argument of two
/// calls, each stored with its step and with its call.
const WRITTEN_PER_RECEIVED: u64 = 4;

/// The maximum nesting of a value, so recursive walks cannot overflow the stack. Plans in which each step wraps the
/// output of the one before would otherwise nest without bound.
pub(crate) const MAX_LEVELS: usize = 512;

/// The size of a value as JSON; [`u64::MAX`] if it is nested too deeply.
pub(crate) fn written_bytes(value: &Value) -> u64 {
    value
        .json_size(MAX_LEVELS)
        .map_or(u64::MAX, |size| size.bytes)
}

/// A counter of written bytes for readers outside of the run. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct WrittenMeter(Arc<AtomicU64>);

impl WrittenMeter {
    /// The bytes that all runs with this meter have written so far.
    pub fn bytes(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    fn add(&self, bytes: u64) {
        self.0.fetch_add(bytes, Ordering::Relaxed);
    }
}

/// The bytes that one run has written and may write. Values share parts in memory, but every place is written out in a
/// journal, a report or a message.
#[derive(Clone, Debug)]
pub(crate) struct WrittenBudget {
    bound: Option<Bound>,
    written: u64,
    received: u64,
    meter: WrittenMeter,
}

impl WrittenBudget {
    pub(crate) fn new(bound: Option<Bound>, meter: WrittenMeter) -> Self {
        Self {
            bound,
            meter,
            written: 0,
            received: 0,
        }
    }

    /// The bytes written so far.
    pub(crate) fn written(&self) -> u64 {
        self.written
    }

    /// Counts received bytes: inputs, and responses of tools.
    pub(crate) fn receive(&mut self, bytes: u64) {
        self.received = self.received.saturating_add(bytes);
    }

    /// Counts bytes that an earlier process wrote.
    pub(crate) fn restore(&mut self, bytes: u64) {
        self.meter.add(bytes);
        self.written = self.written.saturating_add(bytes);
    }

    /// Counts bytes about to be written.
    ///
    /// # Errors
    ///
    /// The error of the step that would write them, if the budget is exceeded.
    pub(crate) fn take(&mut self, bytes: u64) -> Result<(), ToolError> {
        self.check(bytes)?;
        self.restore(bytes);
        Ok(())
    }

    /// Checks that `bytes` more fit into the budget.
    pub(crate) fn check(&self, bytes: u64) -> Result<(), ToolError> {
        let most = match &self.bound {
            Some(bound) => bound.most,
            None => Guards::WRITTEN_BYTES
                .saturating_add(self.received.saturating_mul(WRITTEN_PER_RECEIVED)),
        };
        if self.written.saturating_add(bytes) <= most {
            return Ok(());
        }
        let (place, set_in): (String, Arc<str>) = match &self.bound {
            Some(bound) => (
                format!("`{}` allows for `written_bytes`", bound.set_in),
                Arc::clone(&bound.set_in),
            ),
            None => (
                "`budgets.written_bytes` allows by default".to_owned(),
                Arc::from("default"),
            ),
        };
        let message = format!(
            "the values of the run come to more than {most} bytes as written, the most that {place}"
        );
        Err(guard_error(GuardKind::WrittenBytes, most, &set_in, message))
    }
}

/// The size of an output as JSON, or of its text if it arrived as one.
pub(super) fn output_size(output: &ToolOutput) -> u64 {
    // The serializer recurses, so a value that is nested too deeply must not reach it.
    if output.value.exceeds(MAX_LEVELS, usize::MAX) {
        return u64::MAX;
    }
    let mut counter = ByteCounter(0);
    if let Some(text) = &output.text {
        counter.add(text.len());
    } else {
        // It cannot fail: the writer only counts.
        let _ = serde_json::to_writer(&mut counter, &output.value);
    }
    for block in &output.content {
        let _ = serde_json::to_writer(&mut counter, block);
    }
    counter.0
}

/// A writer that only counts bytes.
struct ByteCounter(u64);

impl ByteCounter {
    fn add(&mut self, bytes: usize) {
        self.0 = self.0.saturating_add(bytes as u64);
    }
}

impl Write for ByteCounter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.add(bytes.len());
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(budget: &WrittenBudget, bytes: u64, expected: Option<&str>) {
        let error = budget.check(bytes).err();
        let error = error.map(|error| format!("{} {}", error.message, error.data));
        assert_eq!(error.as_deref(), expected);
    }

    #[test]
    fn what_is_received_may_be_written_some_times_more() {
        let mut budget = WrittenBudget::new(None, WrittenMeter::default());
        check(&budget, Guards::WRITTEN_BYTES, None);
        check(
            &budget,
            Guards::WRITTEN_BYTES + 1,
            Some(
                r#"the values of the run come to more than 67108864 bytes as written, the most that `budgets.written_bytes` allows by default {"guard":"written_bytes","limit":67108864,"set_in":"default"}"#,
            ),
        );
        budget.receive(1000);
        check(&budget, Guards::WRITTEN_BYTES + 4000, None);
        assert!(budget.check(Guards::WRITTEN_BYTES + 4001).is_err());
    }

    #[test]
    fn a_bound_that_is_set_holds_as_it_is() {
        let (bound, meter) = (
            Bound::set_in(10, "planwright.toml:3"),
            WrittenMeter::default(),
        );
        let mut budget = WrittenBudget::new(Some(bound), meter.clone());
        budget.receive(1000);
        budget.restore(4);
        assert!(budget.take(5).is_ok());
        check(&budget, 1, None);
        check(
            &budget,
            2,
            Some(
                r#"the values of the run come to more than 10 bytes as written, the most that `planwright.toml:3` allows for `written_bytes` {"guard":"written_bytes","limit":10,"set_in":"planwright.toml:3"}"#,
            ),
        );
        // A value that did not fit was not counted.
        assert_eq!((budget.written(), meter.bytes()), (9, 9));
    }
}

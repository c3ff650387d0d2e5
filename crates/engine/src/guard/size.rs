//! How large an output is.

use std::io::{self, Write};

use crate::backend::ToolOutput;

/// The deepest value that is measured. One that is deeper fails for that reason.
const DEEPEST: usize = 512;

/// The bytes that an output takes as JSON, its text where it arrived as one.
pub(super) fn bytes_of(output: &ToolOutput) -> u64 {
    if output.value.exceeds(DEEPEST, usize::MAX) {
        return u64::MAX;
    }
    let mut counter = Counter(0);
    if let Some(text) = &output.text {
        counter.add(text.len());
    } else {
        // It cannot fail: nothing is written anywhere.
        let _ = serde_json::to_writer(&mut counter, &output.value);
    }
    for block in &output.content {
        let _ = serde_json::to_writer(&mut counter, block);
    }
    counter.0
}

/// Counts what is written.
struct Counter(u64);

impl Counter {
    fn add(&mut self, bytes: usize) {
        self.0 = self.0.saturating_add(bytes as u64);
    }
}

impl Write for Counter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.add(bytes.len());
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

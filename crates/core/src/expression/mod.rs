//! Conditions and computed values: CEL, parsed once, evaluated with bounded cost. The only room that knows CEL.

use std::sync::Arc;

use crate::Value;
use crate::plan::Read;

/// A parsed CEL expression and the places that it reads.
#[derive(Clone, Debug)]
pub struct Expression {
    text: Arc<str>,
    reads: Vec<Read>,
}

impl PartialEq for Expression {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text && self.reads == other.reads
    }
}

impl Expression {
    /// The expression as it was written.
    pub fn text(&self) -> &Arc<str> {
        &self.text
    }

    /// Every place that the expression reads.
    pub fn reads(&self) -> Vec<&Read> {
        self.reads.iter().collect()
    }
}

//! What answers cost.

use std::ops::AddAssign;

/// What answers cost.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Usage {
    /// Requests that were sent, those that failed included.
    pub requests: u32,
    /// Tokens that were read.
    pub input_tokens: u64,
    /// Of these, how many the provider had at hand from an earlier request.
    pub cached_tokens: u64,
    /// Tokens that were written.
    pub output_tokens: u64,
    /// In US dollars, where the price is known.
    pub cost: Option<f64>,
}

impl AddAssign for Usage {
    fn add_assign(&mut self, more: Self) {
        self.requests += more.requests;
        self.input_tokens += more.input_tokens;
        self.cached_tokens += more.cached_tokens;
        self.output_tokens += more.output_tokens;
        self.cost = match (self.cost, more.cost) {
            (Some(so_far), Some(more)) => Some(so_far + more),
            (known, None) | (None, known) => known,
        };
    }
}

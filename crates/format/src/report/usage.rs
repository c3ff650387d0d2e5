//! Tokens and cost of the answers of models.

use serde::Serialize;

/// The tokens and the cost of answers.
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct UsageV1 {
    /// Requests that were sent, those that failed included.
    pub requests: u32,
    /// Tokens that were read.
    pub input_tokens: u64,
    /// Of these, how many the provider had at hand.
    pub cached_tokens: u64,
    /// Tokens that were written.
    pub output_tokens: u64,
    /// In US dollars, where the price is known.
    pub cost: Option<f64>,
}

impl UsageV1 {
    /// Adds what further answers cost.
    #[must_use]
    pub fn and(self, more: Self) -> Self {
        Self {
            requests: self.requests + more.requests,
            input_tokens: self.input_tokens + more.input_tokens,
            cached_tokens: self.cached_tokens + more.cached_tokens,
            output_tokens: self.output_tokens + more.output_tokens,
            cost: match (self.cost, more.cost) {
                (Some(so_far), Some(more)) => Some(so_far + more),
                (known, None) | (None, known) => known,
            },
        }
    }
}

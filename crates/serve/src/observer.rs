//! Who hears of everything that happens in runs: figures, traces.

use std::sync::Arc;

use planwright_core::Value;
use planwright_engine::StampedEvent;
use planwright_mcp::gateway::ClientId;

/// Hears of all runs of a gateway.
pub trait RunObserver: Send + Sync + 'static {
    /// A run begins, or goes on. What comes back is told of each of its events, in order, and dropped when there are no more.
    fn begin(&self, run: &Observed) -> Observe;
}

/// Hears of the events of one run.
pub type Observe = Box<dyn FnMut(&StampedEvent) + Send>;

/// A run that somebody hears of.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Observed {
    /// Its id.
    pub run: Arc<str>,
    /// Whose it is.
    pub client: ClientId,
    /// The plan's name.
    pub plan: Option<Arc<str>>,
    /// The trace that the client's request is a part of: `traceparent`, `tracestate`, `baggage`; may be `null`.
    pub trace: Value,
}

//! The observers of the runs of a service.

use std::sync::Arc;

use planwright_core::Value;
use planwright_engine::{RunId, StampedEvent};

/// An observer of all runs of a service.
pub trait RunObserver: Send + Sync + 'static {
    /// Observes a run that starts or is resumed. The result receives each of its events, in order, and is dropped after the last one.
    fn begin(&self, run: &ObservedRun) -> EventObserver;
}

/// A receiver of the events of one run.
pub type EventObserver = Box<dyn FnMut(&StampedEvent) + Send>;

/// A run as observers know it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ObservedRun {
    /// The id.
    pub id: RunId,
    /// The client that it belongs to, if a gateway has several.
    pub client: Option<Arc<str>>,
    /// The plan's name.
    pub plan: Option<Arc<str>>,
    /// The trace that the run is part of: an object with `traceparent` and `tracestate`, or `null`.
    pub trace: Value,
}

impl ObservedRun {
    /// A run of one user, whose plan may have no name yet.
    pub fn new(id: RunId, trace: Value) -> Self {
        Self {
            id,
            client: None,
            plan: None,
            trace,
        }
    }
}

#[cfg(feature = "telemetry")]
impl RunObserver for crate::telemetry::Telemetry {
    fn begin(&self, run: &ObservedRun) -> EventObserver {
        let parent = crate::telemetry::TraceContext::of_meta(&run.trace);
        let mut spans = self.run(parent.as_ref());
        Box::new(move |event| spans.event(event))
    }
}

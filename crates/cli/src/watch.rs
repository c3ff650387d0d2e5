//! Shows a run while it goes on, and takes signals for it.

use std::sync::Arc;

use planwright::engine::{RunHandle, RunSummary, StampedEvent};
use planwright::format::{EventV1, Trim};
use planwright::telemetry::RunSpans;
use tokio::sync::mpsc::UnboundedReceiver;

use super::args::RunFormat;
use super::live::Live;
use super::printer::Printer;
use super::signals::Signals;

/// What is said at the first Ctrl-C.
pub(crate) const INTERRUPTED: &str =
    "interrupted: ending the calls under way, press Ctrl-C again to leave at once";

/// Who watches a run, and how.
pub(crate) struct Watch {
    pub(crate) live: Arc<Live>,
    pub(crate) format: RunFormat,
    /// The most bytes that are shown of one value.
    pub(crate) max_output: Option<u64>,
    pub(crate) printer: Printer,
    /// What is told to a collector.
    pub(crate) spans: RunSpans,
}

impl Watch {
    /// Shows something that happened.
    pub(crate) fn event(&mut self, event: &StampedEvent) {
        self.spans.event(event);
        self.live.event(event);
        if self.format == RunFormat::Events {
            let mut event = EventV1::from(event);
            if let Some(bytes) = self.max_output {
                event = Trim::to(bytes).event(event);
            }
            self.printer.json_line(&event);
        }
    }
}

/// Passes a run's events on until it ends. The first Ctrl-C ends the run and keeps what it has; the second gives the
/// run up, and nothing comes back.
pub(crate) async fn watch(
    handle: RunHandle,
    mut events: UnboundedReceiver<StampedEvent>,
    signals: &mut Signals,
    mut watch: Watch,
) -> Option<RunSummary> {
    let canceller = handle.canceller();
    let mut interrupted = false;
    tokio::pin!(handle);
    loop {
        tokio::select! {
            Some(event) = events.recv() => watch.event(&event),
            summary = &mut handle => {
                while let Some(event) = events.recv().await {
                    watch.event(&event);
                }
                watch.live.finish();
                return Some(summary);
            }
            () = signals.next() => {
                if interrupted {
                    watch.live.finish();
                    return None;
                }
                interrupted = true;
                watch.live.suspend(|| {
                    watch.printer.talk(INTERRUPTED);
                });
                canceller.cancel();
            }
        }
    }
}

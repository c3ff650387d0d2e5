//! Shows a run while it goes on, and takes signals for it.

use std::sync::Arc;

use planwright::Run;
use planwright::engine::{RunSummary, StampedEvent};
use planwright::format::{EventV1, Trim};

use crate::args::RunFormat;
use crate::printer::Printer;
use crate::signals::Signals;
use crate::view::live::Live;

/// The message at the first Ctrl-C.
pub(crate) const INTERRUPTED: &str =
    "interrupted: ending the calls under way, press Ctrl-C again to leave at once";

/// The outputs that show a run while it is in progress.
pub(crate) struct Watch {
    pub(crate) live: Arc<Live>,
    pub(crate) format: RunFormat,
    /// The largest number of bytes that is shown of one value.
    pub(crate) max_output: Option<u64>,
    pub(crate) printer: Printer,
}

impl Watch {
    /// Shows an event.
    pub(crate) fn event(&self, event: &StampedEvent) {
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

/// Shows a run until it ends. The first Ctrl-C cancels it and keeps its results; the second one abandons it, and there is no summary.
pub(crate) async fn watch(mut run: Run, signals: &mut Signals, watch: Watch) -> Option<RunSummary> {
    let mut is_interrupted = false;
    loop {
        tokio::select! {
            event = run.next_event() => match event {
                Some(event) => watch.event(&event),
                None => break,
            },
            () = signals.next() => {
                if is_interrupted {
                    watch.live.finish();
                    return None;
                }
                is_interrupted = true;
                watch.live.suspend(|| watch.printer.talk(INTERRUPTED));
                run.cancel();
            }
        }
    }
    let summary = run.finish().await;
    watch.live.finish();
    Some(summary)
}

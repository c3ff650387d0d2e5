//! Runs in progress.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use planwright::core::Diagnostics;
use planwright::engine::{Canceller, StampedEvent};
use planwright::format::{EventV1, ReportV1};
use pyo3::prelude::*;
use tokio::runtime::Handle;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::errors;
use crate::event_loop::{EventLoop, SharedLoop};

/// A run in progress. It continues whether or not it is awaited, until its service is closed.
#[pyclass(frozen, name = "Run")]
pub(crate) struct NativeRun {
    id: String,
    canceller: Canceller,
    shared: Arc<Shared>,
    event_loop: SharedLoop,
    runtime: Handle,
}

/// The state of a run that its driver updates.
struct Shared {
    events: Mutex<Events>,
    progress: watch::Sender<Progress>,
}

/// The events that were not read yet.
#[derive(Default)]
struct Events {
    unread: VecDeque<StampedEvent>,
    /// True if nothing reads events: they are not stored.
    are_discarded: bool,
}

#[derive(Clone, Default)]
struct Progress {
    /// The number of events so far.
    events: u64,
    /// True once the run has ended, or has broken off without a report.
    is_over: bool,
    /// The report as JSON.
    report: Option<Arc<str>>,
}

#[pymethods]
impl NativeRun {
    /// The run's id.
    #[getter]
    fn id(&self) -> &str {
        &self.id
    }

    /// Cancels the run.
    fn cancel(&self) {
        self.canceller.cancel();
    }

    /// Starts nothing new, and cancels what takes longer than `limit` seconds.
    fn drain(&self, limit: f64) -> PyResult<()> {
        let limit = Duration::try_from_secs_f64(limit);
        self.canceller.drain(
            limit.map_err(|error| pyo3::exceptions::PyValueError::new_err(error.to_string()))?,
        );
        Ok(())
    }

    /// Stores no events any more.
    fn discard_events(&self) {
        let mut events = self.shared.lock();
        events.are_discarded = true;
        events.unread.clear();
    }

    /// Returns a future of the events that were not read, as a list in JSON, or of `None` at the end. The list may be empty if there are several
    /// readers.
    fn events<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        if self.shared.has_news(&self.shared.progress.borrow()) {
            return self.event_loop.get().done(py, self.shared.take()?);
        }
        let (waiting, shared) = (Arc::clone(&self.shared), Arc::clone(&self.shared));
        let future = async move {
            waiting.wait_for_events().await;
            Ok(())
        };
        // Events are taken when they are delivered, so that a reader that is cancelled loses none.
        let convert = move |py: Python<'_>, ()| {
            let events = shared.take()?.into_pyobject(py)?;
            Ok(events.into_any().unbind())
        };
        EventLoop::spawn(&self.event_loop, py, &self.runtime, future, convert)
    }

    /// Returns a future of the report, as JSON.
    fn ended<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let mut progress = self.shared.progress.subscribe();
        let report = progress.borrow().report.clone();
        if let Some(report) = report {
            return self.event_loop.get().done(py, &*report);
        }
        let future = async move {
            let over = progress.wait_for(|progress| progress.is_over).await;
            Ok(over.ok().and_then(|progress| progress.report.clone()))
        };
        let convert = |py: Python<'_>, report: Option<Arc<str>>| {
            let report: Arc<str> = report.ok_or_else(|| errors::defect(&"the run broke off"))?;
            Ok((*report).into_pyobject(py)?.into_any().unbind())
        };
        EventLoop::spawn(&self.event_loop, py, &self.runtime, future, convert)
    }
}

impl NativeRun {
    /// Drives a run in the background. Returns it with the task that drives it.
    pub(crate) fn drive(
        run: planwright::Run,
        dialect: Option<&'static str>,
        event_loop: SharedLoop,
        runtime: &Handle,
    ) -> (Self, JoinHandle<()>) {
        let shared = Arc::new(Shared {
            events: Mutex::default(),
            progress: watch::Sender::new(Progress::default()),
        });
        let driven = Self {
            id: run.id().to_string(),
            canceller: run.canceller(),
            shared: Arc::clone(&shared),
            event_loop,
            runtime: runtime.clone(),
        };
        let warnings = run.plan().warnings().clone();
        (driven, runtime.spawn(shared.drive(run, dialect, warnings)))
    }

    /// A handle that cancels the run.
    pub(crate) fn canceller(&self) -> Canceller {
        self.canceller.clone()
    }
}

impl Shared {
    async fn drive(
        self: Arc<Self>,
        mut run: planwright::Run,
        dialect: Option<&'static str>,
        warnings: Diagnostics,
    ) {
        let over = OverOnDrop(&self);
        while let Some(event) = run.next_event().await {
            {
                let mut events = self.lock();
                if events.are_discarded {
                    break;
                }
                events.unread.push_back(event);
            }
            self.progress.send_modify(|progress| progress.events += 1);
        }
        let summary = run.finish().await;
        let report = ReportV1::of_run(&summary, dialect, warnings);
        // All parts of a report can be written; without one, the run counts as broken off.
        let report = serde_json::to_string(&report).ok();
        self.progress
            .send_modify(|progress| progress.report = report.map(Arc::from));
        drop(over);
    }

    /// Waits until there are events that were not read, or the run has ended.
    async fn wait_for_events(&self) {
        let mut progress = self.progress.subscribe();
        // The sender lives as long as this.
        let _ = progress.wait_for(|progress| self.has_news(progress)).await;
    }

    fn has_news(&self, progress: &Progress) -> bool {
        progress.is_over || !self.lock().unread.is_empty()
    }

    /// Takes the events that were not read, as a list in JSON; `None` at the end.
    fn take(&self) -> PyResult<Option<String>> {
        let events: Vec<StampedEvent> = self.lock().unread.drain(..).collect();
        if events.is_empty() && self.progress.borrow().is_over {
            return Ok(None);
        }
        let events: Vec<EventV1> = events.iter().map(EventV1::from).collect();
        errors::document(&events).map(Some)
    }

    // Held for a few assignments only, so that no panic can poison it.
    fn lock(&self) -> MutexGuard<'_, Events> {
        self.events.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Marks a run as over, even if its driver panics.
struct OverOnDrop<'a>(&'a Shared);

impl Drop for OverOnDrop<'_> {
    fn drop(&mut self) {
        self.0
            .progress
            .send_modify(|progress| progress.is_over = true);
    }
}

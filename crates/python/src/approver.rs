//! Decisions about calls by a function of Python.

use std::sync::{Arc, Mutex, PoisonError};

use futures::future::BoxFuture;
use planwright::Value;
use planwright::engine::approval::ApprovalRequest;
use planwright::engine::{Approver, Decision};
use pyo3::prelude::*;
use tokio::sync::oneshot;

use crate::event_loop::{EventLoop, SharedLoop};
use crate::value::{from_python, to_python};

/// An approver that asks a function of Python, on the event loop.
pub(crate) struct PythonApprover {
    pub(crate) event_loop: SharedLoop,
    /// Starts to decide about a question, and returns the task.
    pub(crate) decide: Arc<Py<PyAny>>,
    /// The function of Python that makes JSON of other objects.
    pub(crate) plain: Arc<Py<PyAny>>,
}

impl Approver for PythonApprover {
    fn decide(&self, request: ApprovalRequest) -> BoxFuture<'_, Decision> {
        Box::pin(async move {
            let (answer, answered) = oneshot::channel();
            let state = Arc::new(QuestionState {
                answer: Mutex::new(Some(answer)),
                task: Mutex::new(None),
                plain: Arc::clone(&self.plain),
            });
            let guard = WithdrawOnDrop(&self.event_loop, &state);
            let (decide, asked) = (Arc::clone(&self.decide), Arc::clone(&state));
            let event_loop = Arc::clone(&self.event_loop);
            self.event_loop.get().post(move |py| {
                let result = ask(py, &event_loop, &decide, &asked, request);
                result.inspect_err(|_| asked.answer(Decision::Later))
            });
            // A loop that is gone decides about nothing.
            let decision = answered.await.unwrap_or(Decision::Later);
            drop(guard);
            decision
        })
    }
}

/// Starts to decide about a call, on the event loop.
fn ask(
    py: Python<'_>,
    event_loop: &SharedLoop,
    decide: &Py<PyAny>,
    state: &Arc<QuestionState>,
    request: ApprovalRequest,
) -> PyResult<()> {
    let question = ApprovalQuestion {
        state: Arc::clone(state),
        request,
    };
    let task = decide.call1(py, (question,))?;
    // An approver that was cancelled has not decided.
    let ended = Arc::clone(state);
    EventLoop::track(event_loop, py, &task, move || ended.answer(Decision::Later))?;
    *state.lock_task() = Some(task);
    Ok(())
}

struct QuestionState {
    answer: Mutex<Option<oneshot::Sender<Decision>>>,
    task: Mutex<Option<Py<PyAny>>>,
    plain: Arc<Py<PyAny>>,
}

impl QuestionState {
    /// Answers the engine, once.
    fn answer(&self, decision: Decision) {
        let mut answer = self.answer.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(answer) = answer.take() {
            // A question that was withdrawn needs no answer.
            let _ = answer.send(decision);
        }
    }

    fn lock_task(&self) -> std::sync::MutexGuard<'_, Option<Py<PyAny>>> {
        self.task.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Cancels the task of a question that is withdrawn. Cancelling a task that has ended does nothing.
struct WithdrawOnDrop<'a>(&'a SharedLoop, &'a Arc<QuestionState>);

impl Drop for WithdrawOnDrop<'_> {
    fn drop(&mut self) {
        let is_open = |answer: &Mutex<Option<_>>| {
            let answer = answer.lock().unwrap_or_else(PoisonError::into_inner);
            answer.is_some()
        };
        if !is_open(&self.1.answer) {
            return;
        }
        let state = Arc::clone(self.1);
        self.0.get().post(move |py| {
            let task = state.lock_task().take();
            task.map(|task| task.call_method0(py, "cancel"))
                .transpose()?;
            Ok(())
        });
    }
}

/// A call that needs consent, as a function of Python sees and answers it.
#[pyclass(frozen, name = "Question")]
pub(crate) struct ApprovalQuestion {
    state: Arc<QuestionState>,
    request: ApprovalRequest,
}

#[pymethods]
impl ApprovalQuestion {
    /// The id of the run.
    #[getter]
    fn run(&self) -> &str {
        self.request.run.as_str()
    }

    /// The address of the step, item or round.
    #[getter]
    fn address(&self) -> String {
        self.request.at.to_string()
    }

    /// The id of the step.
    #[getter]
    fn step(&self) -> &str {
        self.request.at.step.text()
    }

    /// The tool, as `server.tool`.
    #[getter]
    fn tool(&self) -> String {
        self.request.tool.qualified_name().to_string()
    }

    /// The arguments. Secrets are `[redacted]`.
    #[getter]
    fn args<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        to_python(py, &self.request.shown)
    }

    /// The reason for asking.
    #[getter]
    fn reason(&self) -> Option<&str> {
        self.request.reason.as_deref()
    }

    /// The differences from the call of the previous decision.
    #[getter]
    fn changes(&self) -> Vec<String> {
        self.request.changes.clone()
    }

    /// Allows the call, with other arguments if `args` is not `None`.
    fn approve(&self, args: &Bound<'_, PyAny>) -> PyResult<()> {
        let args = match from_python(args, self.state.plain.bind(args.py()))? {
            Value::Null => None,
            args => Some(args),
        };
        self.state.answer(Decision::Approve { args });
        Ok(())
    }

    /// Refuses the call.
    fn reject(&self, because: Option<String>) {
        self.state.answer(Decision::Reject { because });
    }

    /// Leaves the decision open: the run ends as waiting.
    fn later(&self) {
        self.state.answer(Decision::Later);
    }
}

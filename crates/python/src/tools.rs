//! Tools that are functions of Python: coroutines run on the event loop, plain functions on threads of their own.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures::future::BoxFuture;
use planwright::core::{Annotations, Hints, Schema, Tool};
use planwright::engine::backend::{CallClock, CallContext, CallProgress, RetryAdvice};
use planwright::engine::{ErrorKind, ToolBackend, ToolCall, ToolOutput};
use planwright::{ToolError, Value};
use pyo3::prelude::*;
use tokio::sync::oneshot;

use crate::event_loop::{EventLoop, SharedLoop};
use crate::value::{from_python, to_python};

/// The server of functions, as plans write it before the dot.
pub(crate) const SERVER: &str = planwright::Functions::NAME;

/// The definition of a function, as the Python part of the package describes it.
#[derive(FromPyObject)]
pub(crate) struct FunctionTool {
    name: String,
    title: Option<String>,
    description: Option<String>,
    /// The schemas as JSON.
    input: String,
    output: String,
    read_only: bool,
    idempotent: bool,
    destructive: bool,
    approval: bool,
    /// True if the function is a coroutine function.
    is_async: bool,
    /// Starts a call on the event loop, and returns its task; or makes a call, if the function is plain.
    call: Py<PyAny>,
}

impl FunctionTool {
    /// Returns the definition for the catalog.
    ///
    /// # Errors
    ///
    /// A schema is not JSON.
    fn definition(&self) -> PyResult<Tool> {
        let schema = |text: &str| match Value::from_json(text) {
            Ok(schema) => Ok(Schema::from_value(schema)),
            Err(error) => Err(pyo3::exceptions::PyValueError::new_err(format!(
                "the schema of `{}` cannot be read: {error}",
                self.name
            ))),
        };
        let annotations = Annotations {
            read_only: self.read_only,
            destructive: self.destructive && !self.read_only,
            idempotent: self.idempotent || self.read_only,
            // The function is part of the program, so its declarations are trusted.
            trusted: true,
            ..Annotations::default()
        };
        let reason = "the program asks before each call";
        Ok(Tool {
            title: self.title.as_deref().map(Arc::from),
            description: self.description.as_deref().map(Arc::from),
            input: schema(&self.input)?,
            output: schema(&self.output)?,
            annotations,
            hints: Hints {
                read_only: Some(annotations.read_only),
                destructive: Some(annotations.destructive),
                idempotent: Some(annotations.idempotent),
                open_world: Some(annotations.open_world),
            },
            approval: self.approval,
            approval_reason: self.approval.then(|| Arc::from(reason)),
            ..Tool::new(SERVER, &*self.name)
        })
    }
}

/// The context of Python in which a run was started, so that its tools see the same context variables.
pub(crate) struct PythonContext(pub(crate) Py<PyAny>);

/// The functions of one service.
pub(crate) struct PythonTools {
    event_loop: SharedLoop,
    functions: HashMap<Arc<str>, Arc<FunctionTool>>,
    /// The function of Python that makes JSON of other objects.
    plain: Arc<Py<PyAny>>,
}

impl PythonTools {
    /// Returns the definitions of the functions, and the backend that calls them.
    pub(crate) fn new(
        event_loop: SharedLoop,
        functions: Vec<FunctionTool>,
        plain: Py<PyAny>,
    ) -> PyResult<(Vec<Tool>, Self)> {
        let definitions = functions.iter().map(FunctionTool::definition);
        let definitions = definitions.collect::<PyResult<Vec<Tool>>>()?;
        let functions = functions
            .into_iter()
            .map(|function| (Arc::from(&*function.name), Arc::new(function)));
        let backend = Self {
            event_loop,
            functions: functions.collect(),
            plain: Arc::new(plain),
        };
        Ok((definitions, backend))
    }
}

impl ToolBackend for PythonTools {
    fn call(&self, call: ToolCall) -> BoxFuture<'_, Result<ToolOutput, ToolError>> {
        let Some(function) = self.functions.get(&call.tool.name).map(Arc::clone) else {
            let message = format!("there is no function `{}`", call.tool.name);
            return Box::pin(async move { Err(ToolError::new(ErrorKind::Unavailable, message)) });
        };
        Box::pin(async move {
            let (answer, answered) = oneshot::channel();
            let state = Arc::new(CallState {
                answer: Mutex::new(Some(answer)),
                task: Mutex::new(Task::Starting),
                context: call.context,
                clock: call.clock,
                plain: Arc::clone(&self.plain),
            });
            let args = call.args;
            if function.is_async {
                let (event_loop, started) = (Arc::clone(&self.event_loop), Arc::clone(&state));
                self.event_loop.get().post(move |py| {
                    let result = start(py, &event_loop, &function, &started, &args);
                    result.inspect_err(|_| started.answer(Err(unanswered())))
                });
                let guard = CancelOnDrop(&self.event_loop, &state);
                let result = answered.await;
                std::mem::forget(guard);
                return result.unwrap_or_else(|_| Err(unanswered()));
            }
            // The thread is detached if the call is cancelled: a plain function cannot be interrupted.
            tokio::task::spawn_blocking(move || {
                let made = Python::try_attach(|py| make(py, &function, &state, &args));
                drop(made);
            });
            answered.await.unwrap_or_else(|_| Err(unanswered()))
        })
    }
}

/// Starts a call of a coroutine function, on the event loop.
fn start(
    py: Python<'_>,
    event_loop: &SharedLoop,
    function: &FunctionTool,
    state: &Arc<CallState>,
    args: &Value,
) -> PyResult<()> {
    if matches!(*state.lock_task(), Task::Cancelled) {
        return Ok(());
    }
    let call = Call(Arc::clone(state));
    let context = call.python_context(py);
    let args = to_python(py, args)?;
    let task = function.call.call1(py, (call, args, context))?;
    // A task that was cancelled before it began has not answered.
    let ended = Arc::clone(state);
    let on_end = move || ended.answer(Err(unanswered()));
    EventLoop::track(event_loop, py, &task, on_end)?;
    let mut slot = state.lock_task();
    match *slot {
        // The call cancelled its own run before it waited for the first time.
        Task::Cancelled => {
            drop(slot);
            task.call_method0(py, "cancel")?;
        }
        Task::Starting | Task::Running(_) => *slot = Task::Running(task),
    }
    Ok(())
}

/// Makes a call of a plain function, on this thread.
fn make(
    py: Python<'_>,
    function: &FunctionTool,
    state: &Arc<CallState>,
    args: &Value,
) -> PyResult<()> {
    let call = Call(Arc::clone(state));
    let context = call.python_context(py);
    let args = to_python(py, args)?;
    function.call.call1(py, (call, args, context))?;
    Ok(())
}

fn unanswered() -> ToolError {
    ToolError {
        retry: RetryAdvice::Uncertain,
        ..ToolError::new(ErrorKind::Internal, "the function ended without an answer")
    }
}

/// The state of one attempt at a call, shared by the engine and Python.
struct CallState {
    answer: Mutex<Option<oneshot::Sender<Result<ToolOutput, ToolError>>>>,
    task: Mutex<Task>,
    context: CallContext,
    clock: CallClock,
    plain: Arc<Py<PyAny>>,
}

impl CallState {
    /// Answers the engine, once.
    fn answer(&self, result: Result<ToolOutput, ToolError>) {
        let mut answer = self.answer.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(answer) = answer.take() {
            // The engine does not wait for a call that it has cancelled.
            let _ = answer.send(result);
        }
    }

    fn lock_task(&self) -> std::sync::MutexGuard<'_, Task> {
        self.task.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The task of asyncio that makes a call.
enum Task {
    Starting,
    Running(Py<PyAny>),
    Cancelled,
}

/// Cancels the task of a call if the engine drops the call.
struct CancelOnDrop<'a>(&'a SharedLoop, &'a Arc<CallState>);

impl Drop for CancelOnDrop<'_> {
    fn drop(&mut self) {
        let state = Arc::clone(self.1);
        self.0.get().post(move |py| {
            let task = std::mem::replace(&mut *state.lock_task(), Task::Cancelled);
            if let Task::Running(task) = task {
                task.call_method0(py, "cancel")?;
            }
            Ok(())
        });
    }
}

/// An attempt at a call, as a function of Python sees and answers it.
#[pyclass(frozen)]
pub(crate) struct Call(Arc<CallState>);

#[pymethods]
impl Call {
    /// The id of the run.
    #[getter]
    fn run(&self) -> &str {
        self.0.context.run.as_ref().map_or("", |run| run.as_str())
    }

    /// The id of the step.
    #[getter]
    fn step(&self) -> &str {
        self.0.context.step.text()
    }

    /// The number of the attempt, from 1.
    #[getter]
    fn attempt(&self) -> u32 {
        self.0.context.attempt
    }

    /// The key that all attempts at this call share.
    #[getter]
    fn idempotency_key(&self) -> String {
        self.0.context.idempotency_key().to_string()
    }

    /// Reports progress, which restarts the time limit of the attempt.
    fn report(&self, done: f64, total: Option<f64>, message: Option<&str>) {
        self.0.clock.report(CallProgress {
            done,
            total,
            message: message.map(Arc::from),
        });
    }

    /// Answers with a result.
    fn succeed(&self, result: &Bound<'_, PyAny>) -> PyResult<()> {
        let value = from_python(result, self.0.plain.bind(result.py()))?;
        self.0.answer(Ok(ToolOutput::value(value)));
        Ok(())
    }

    /// Answers with an error. `retry`: `None` if another attempt does not help, else the pause before it in seconds.
    fn fail(
        &self,
        kind: &str,
        message: String,
        data: &Bound<'_, PyAny>,
        retry: Option<f64>,
    ) -> PyResult<()> {
        let data = from_python(data, self.0.plain.bind(data.py()))?;
        let mut kinds = ErrorKind::ALL.into_iter();
        let kind = kinds.find(|known| known.as_str() == kind);
        let pause = retry.map(|seconds| Duration::try_from_secs_f64(seconds).unwrap_or_default());
        self.0.answer(Err(ToolError {
            data,
            retry: match pause {
                None => RetryAdvice::Never,
                Some(Duration::ZERO) => RetryAdvice::Again,
                Some(pause) => RetryAdvice::After(pause),
            },
            ..ToolError::new(kind.unwrap_or(ErrorKind::Tool), message)
        }));
        Ok(())
    }
}

impl Call {
    /// The context of the code that started the run.
    fn python_context(&self, py: Python<'_>) -> Option<Py<PyAny>> {
        let context = self.0.context.data.get::<PythonContext>();
        context.map(|context| context.0.clone_ref(py))
    }
}

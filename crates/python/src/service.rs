//! The service of one instance: its threads, its tools, its runs.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use planwright::config::{Config, ConfigSource, Origin};
use planwright::core::plan::ExternalValue;
use planwright::engine::{Canceller, Decision, Guards, RunId};
use planwright::service::RunWatch;
use planwright::store::Store;
use planwright::stored::StoredRunError;
use planwright::{Error, Planwright};
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use tokio::runtime::{Builder, Handle, Runtime};
use tokio::task::{JoinHandle, block_in_place};

use crate::approver::PythonApprover;
use crate::errors;
use crate::event_loop::{EventLoop, SharedLoop};
use crate::plan::NativePlan;
use crate::revert::NativeRevert;
use crate::run::NativeRun;
use crate::store::DecidedCalls;
use crate::tools::{FunctionTool, PythonContext, PythonTools, SERVER};
use crate::value::from_python;
use crate::{catalog, store};

/// The threads that drive runs and connections, beside those of plain functions.
const THREADS: usize = 2;

/// The sources of tools, and the rules for plans.
#[derive(FromPyObject)]
struct Settings {
    /// The path of an `mcp.json`.
    servers_file: Option<PathBuf>,
    /// The text of an `mcp.json`.
    servers_json: Option<String>,
    functions: Vec<FunctionTool>,
    /// The name and the text of a `planwright.toml`.
    config: Option<(String, String)>,
    store: Option<PathBuf>,
    secrets: Vec<(String, String)>,
}

/// The options of one run.
#[derive(FromPyObject)]
struct RunOptions {
    id: Option<String>,
    max_parallel: Option<NonZeroUsize>,
    /// Time limits, in seconds.
    attempt_timeout: Option<f64>,
    step_timeout: Option<f64>,
    max_time: Option<f64>,
    max_calls: Option<u64>,
    fail_fast: bool,
    waits: bool,
    /// Starts a decision about a question.
    approve: Option<Py<PyAny>>,
    /// The context that tools run in.
    context: Py<PyAny>,
}

/// The changes of a run that is resumed.
#[derive(FromPyObject)]
struct ResumeOptions<'py> {
    retry: Vec<String>,
    skip: Vec<String>,
    set: Vec<(String, Bound<'py, PyAny>)>,
    inputs: Bound<'py, PyAny>,
}

/// An instance of the service: an event loop of Python, threads of Rust, tools, runs.
#[pyclass(frozen)]
pub(crate) struct Service {
    event_loop: SharedLoop,
    runtime: Mutex<Option<Runtime>>,
    handle: Handle,
    /// The function of Python that makes JSON of other objects.
    plain: Arc<Py<PyAny>>,
    open: OnceLock<Opened>,
    runs: Mutex<Vec<(Canceller, JoinHandle<()>)>>,
}

/// The tools and the store of a service that is open.
#[derive(Clone)]
struct Opened {
    planwright: Planwright,
    store: Option<Store>,
    secrets: Vec<(String, String)>,
}

#[pymethods]
impl Service {
    /// Creates a service without tools for this event loop.
    #[new]
    fn new(event_loop: Py<EventLoop>, plain: Py<PyAny>) -> PyResult<Self> {
        let runtime = Builder::new_multi_thread()
            .worker_threads(THREADS)
            .thread_name("planwright")
            .enable_all()
            .build()?;
        Ok(Self {
            event_loop: Arc::new(event_loop),
            handle: runtime.handle().clone(),
            runtime: Mutex::new(Some(runtime)),
            plain: Arc::new(plain),
            open: OnceLock::new(),
            runs: Mutex::default(),
        })
    }

    /// Opens the tools. Returns a future of the warnings.
    fn open(slf: Bound<'_, Self>, settings: Settings) -> PyResult<Bound<'_, PyAny>> {
        let py = slf.py();
        let this = slf.get();
        let (tools, backend) = PythonTools::new(
            Arc::clone(&this.event_loop),
            settings.functions,
            this.plain.clone_ref(py),
        )?;
        let mut builder = Planwright::builder();
        if !tools.is_empty() {
            builder = builder.backend(SERVER, tools, backend);
        }
        if let Some(path) = settings.servers_file {
            builder = builder.servers_file(path);
        }
        if let Some(text) = settings.servers_json {
            builder = builder.servers_json(text);
        }
        if let Some((name, text)) = settings.config {
            builder = builder.config(read_config(py, &name, &text)?);
        }
        let (path, secrets) = (settings.store, settings.secrets);
        let future = async move {
            let planwright = builder.open().await?;
            let opened = path.map(|path| block_in_place(|| Store::open(path)));
            let store = opened.transpose().map_err(StoredRunError::from)?;
            let planwright = match &store {
                Some(store) => planwright.with_store(store),
                None => planwright,
            };
            Ok(Opened {
                planwright,
                store,
                secrets,
            })
        };
        let (service, this) = (slf.clone().unbind(), slf.get());
        let convert = move |py: Python<'_>, opened: Opened| {
            let warnings = opened.planwright.warnings().to_vec();
            if service.get().open.set(opened).is_err() {
                return Err(PyRuntimeError::new_err("the service is open already"));
            }
            Ok(warnings.into_pyobject(py)?.into_any().unbind())
        };
        EventLoop::spawn(&this.event_loop, py, &this.handle, future, convert)
    }

    /// Cancels the runs, waits for their ends, and shuts the servers down. Returns a future.
    fn close<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let runs = std::mem::take(&mut *lock(&self.runs));
        let opened = self.open.get().cloned();
        let future = async move {
            for (canceller, _) in &runs {
                canceller.cancel();
            }
            for (_, driver) in runs {
                // A driver that panicked has said so.
                let _ = driver.await;
            }
            if let Some(opened) = opened {
                opened.planwright.close().await;
            }
            Ok(())
        };
        self.spawn(py, future, |py, ()| Ok(py.None()))
    }

    /// Ends the threads without waiting for plain functions, which cannot be interrupted.
    fn shut_down(&self) {
        let runtime = lock(&self.runtime).take();
        if let Some(runtime) = runtime {
            runtime.shutdown_background();
        }
    }

    /// The tools, as JSON.
    fn tools(&self) -> PyResult<String> {
        errors::document(&catalog::tools(&self.opened()?.planwright))
    }

    /// The signatures of the tools for a model, in at most `budget` tokens.
    fn signatures(&self, budget: usize) -> PyResult<String> {
        Ok(catalog::signatures(&self.opened()?.planwright, budget))
    }

    /// Reads and checks a plan.
    fn check(
        &self,
        py: Python<'_>,
        text: &str,
        name: &str,
        dialect: Option<&str>,
        inputs: &Bound<'_, PyAny>,
    ) -> PyResult<NativePlan> {
        let planwright = &self.opened()?.planwright;
        let inputs = from_python(inputs, self.plain.bind(py))?;
        let checked = py.detach(|| NativePlan::read(planwright, text, name, dialect, &inputs));
        checked.map_err(|error| errors::to_python(py, &error))
    }

    /// Starts a run.
    fn start(&self, py: Python<'_>, plan: &NativePlan, options: RunOptions) -> PyResult<NativeRun> {
        let opened = self.opened()?;
        let mut run = opened.planwright.run(plan.plan.clone());
        if let Some(calls) = options.max_parallel {
            run = run.max_parallel(calls);
        }
        if let Some(limit) = seconds(options.attempt_timeout)? {
            run = run.attempt_timeout(limit);
        }
        if let Some(limit) = seconds(options.step_timeout)? {
            run = run.step_timeout(limit);
        }
        if options.fail_fast {
            run = run.fail_fast();
        }
        for (name, text) in &opened.secrets {
            run = run.outside(ExternalValue::Secrets, name.as_str(), text.as_str());
        }
        let id = run_id(py, options.id.as_deref())?;
        run = match &opened.store {
            Some(store) => run.stored_in(store, id),
            None => run.id(id),
        };
        if options.waits {
            run = run.wait_for_decisions();
        }
        let guards = bounded(opened.planwright.options().guards.clone(), &options)?;
        run = run.guards(guards).data(PythonContext(options.context));
        if let Some(decide) = options.approve {
            run = run.approver(self.approver(decide));
        }
        self.launch(py, plan.dialect, || run.start())
    }

    /// Resumes a stored run.
    fn resume(
        &self,
        py: Python<'_>,
        run: &str,
        plan: Option<&NativePlan>,
        changes: ResumeOptions<'_>,
        options: RunOptions,
    ) -> PyResult<NativeRun> {
        let opened = self.opened()?;
        let store = opened.store.as_ref().ok_or(Error::NoStore);
        let store = store.map_err(|error| errors::to_python(py, &error))?;
        let id = py.detach(|| store::run_id(store, run));
        let id = id.map_err(|error| errors::to_python(py, &error))?;
        let plain = self.plain.bind(py);
        let mut resume = opened.planwright.resume(store, id);
        if let Some(plan) = plan {
            resume = resume.plan(plan.plan.clone());
        }
        for (name, value) in from_python(&changes.inputs, plain)?
            .as_object()
            .into_iter()
            .flatten()
        {
            resume = resume.input(name.clone(), value.clone());
        }
        for step in changes.retry {
            resume = resume.retry(step);
        }
        for step in changes.skip {
            resume = resume.skip(step);
        }
        for (step, value) in changes.set {
            resume = resume.set(step, from_python(&value, plain)?);
        }
        for (name, text) in &opened.secrets {
            resume = resume.outside(ExternalValue::Secrets, name.as_str(), text.as_str());
        }
        if options.waits {
            resume = resume.wait_for_decisions();
        }
        if let Some(decide) = options.approve {
            resume = resume.approver(self.approver(decide));
        }
        let resume = resume.data(PythonContext(options.context));
        self.launch(py, plan.and_then(|plan| plan.dialect), || resume.start())
    }

    /// Prepares to undo what a stored run did, from the first call of `from_step` on. Returns a future of the revert.
    fn revert<'py>(
        &self,
        py: Python<'py>,
        run: String,
        from_step: Option<String>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let planwright = self.opened()?.planwright.clone();
        let future = async move {
            let prepare = planwright.prepare_revert(&run, from_step.as_deref());
            // It waits for the disk.
            block_in_place(|| Handle::current().block_on(prepare))
        };
        self.spawn(py, future, |py, prepared| {
            Ok(Py::new(py, NativeRevert::new(prepared)?)?.into_any())
        })
    }

    /// Starts a revert.
    fn start_revert(
        &self,
        py: Python<'_>,
        revert: &NativeRevert,
        options: RunOptions,
    ) -> PyResult<NativeRun> {
        let mut prepared = revert.take()?.data(PythonContext(options.context));
        if options.waits {
            prepared = prepared.wait_for_decisions();
        }
        if let Some(decide) = options.approve {
            prepared = prepared.approver(self.approver(decide));
        }
        let started = self.entered(py, || prepared.start())?;
        let started =
            started.ok_or_else(|| errors::failure(py, "there is nothing to undo", None))?;
        Ok(self.drive(started, None))
    }

    /// Returns a future of the stored runs, as JSON.
    fn runs<'py>(
        &self,
        py: Python<'py>,
        limit: Option<usize>,
        plan: Option<String>,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.read(py, move |opened| {
            store::runs(&opened.planwright, limit, plan)
        })
    }

    /// Returns a future of the calls of a run that wait for a decision, as JSON.
    fn waiting<'py>(&self, py: Python<'py>, run: String) -> PyResult<Bound<'py, PyAny>> {
        self.read(py, move |opened| store::waiting(&opened.planwright, &run))
    }

    /// Stores a decision about calls of a run that wait. Returns a future of their number.
    #[pyo3(signature = (run, step, *, approve, args, because, by, passphrase))]
    #[expect(clippy::too_many_arguments, reason = "they are keywords in Python")]
    fn decide<'py>(
        &self,
        py: Python<'py>,
        run: String,
        step: Option<String>,
        approve: bool,
        args: &Bound<'py, PyAny>,
        because: Option<String>,
        by: Option<String>,
        passphrase: Option<String>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let args = from_python(args, self.plain.bind(py))?;
        let decision = if approve {
            Decision::Approve {
                args: Some(args).filter(|args| !args.is_null()),
            }
        } else {
            Decision::Reject { because }
        };
        let calls = DecidedCalls {
            run,
            step,
            by,
            passphrase,
        };
        self.read(py, move |opened| {
            let store = opened.store.as_ref().ok_or(Error::NoStore)?;
            store::decide(&opened.planwright, store, &calls, &decision)
        })
    }

    /// Follows a stored run.
    fn watch(&self, py: Python<'_>, run: &str) -> PyResult<Watch> {
        let planwright = &self.opened()?.planwright;
        let _entered = self.handle.enter();
        let watch = py.detach(|| planwright.watch(run));
        Ok(Watch {
            followed: Arc::new(tokio::sync::Mutex::new(
                watch.map_err(|error| errors::to_python(py, &error))?,
            )),
            event_loop: Arc::clone(&self.event_loop),
            handle: self.handle.clone(),
        })
    }
}

impl Service {
    fn opened(&self) -> PyResult<&Opened> {
        let opened = self.open.get();
        opened.ok_or_else(|| PyRuntimeError::new_err("the service is not open"))
    }

    fn spawn<'py, T: Send + 'static>(
        &self,
        py: Python<'py>,
        future: impl Future<Output = Result<T, Error>> + Send + 'static,
        convert: impl FnOnce(Python<'_>, T) -> PyResult<Py<PyAny>> + Send + 'static,
    ) -> PyResult<Bound<'py, PyAny>> {
        EventLoop::spawn(&self.event_loop, py, &self.handle, future, convert)
    }

    /// Runs `read`, which waits for the disk, and returns a future of its document as JSON.
    fn read<'py, T: serde::Serialize + Send + 'static>(
        &self,
        py: Python<'py>,
        read: impl FnOnce(&Opened) -> Result<T, Error> + Send + 'static,
    ) -> PyResult<Bound<'py, PyAny>> {
        let opened = self.opened()?.clone();
        let future = async move { block_in_place(|| read(&opened)) };
        self.spawn(py, future, |py, document| {
            let text = errors::document(&document)?.into_pyobject(py)?;
            Ok(text.into_any().unbind())
        })
    }

    fn approver(&self, decide: Py<PyAny>) -> PythonApprover {
        PythonApprover {
            event_loop: Arc::clone(&self.event_loop),
            decide: Arc::new(decide),
            plain: Arc::clone(&self.plain),
        }
    }

    /// Starts a run on the threads of the service.
    fn launch(
        &self,
        py: Python<'_>,
        dialect: Option<&'static str>,
        start: impl FnOnce() -> Result<planwright::Run, Error> + Send,
    ) -> PyResult<NativeRun> {
        Ok(self.drive(self.entered(py, start)?, dialect))
    }

    /// Calls `start` in the runtime of the service, without the lock of Python.
    fn entered<T: Send>(
        &self,
        py: Python<'_>,
        start: impl FnOnce() -> Result<T, Error> + Send,
    ) -> PyResult<T> {
        let started = py.detach(|| {
            let _entered = self.handle.enter();
            start()
        });
        started.map_err(|error| errors::to_python(py, &error))
    }

    /// Drives a run on the threads of the service.
    fn drive(&self, started: planwright::Run, dialect: Option<&'static str>) -> NativeRun {
        let event_loop = Arc::clone(&self.event_loop);
        let (run, driver) = NativeRun::drive(started, dialect, event_loop, &self.handle);
        let mut runs = lock(&self.runs);
        runs.retain(|(_, driver)| !driver.is_finished());
        runs.push((run.canceller(), driver));
        run
    }
}

impl Drop for Service {
    /// A service that was not closed kills its servers and leaves its threads to end by themselves.
    fn drop(&mut self) {
        self.shut_down();
    }
}

/// A stored run that is followed.
#[pyclass(frozen)]
pub(crate) struct Watch {
    followed: Arc<tokio::sync::Mutex<RunWatch>>,
    event_loop: SharedLoop,
    handle: Handle,
}

#[pymethods]
impl Watch {
    /// Waits for entries. Returns a future of the state after them, as JSON.
    fn next<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let watch = Arc::clone(&self.followed);
        let future = async move {
            let mut watch = watch.lock().await;
            watch.next().await?;
            Ok(store::state(watch.run(), watch.view()))
        };
        let convert = |py: Python<'_>, state| {
            let text = errors::document(&state)?.into_pyobject(py)?;
            Ok(text.into_any().unbind())
        };
        EventLoop::spawn(&self.event_loop, py, &self.handle, future, convert)
    }
}

/// Reads a `planwright.toml`.
///
/// # Errors
///
/// All of its issues.
fn read_config(py: Python<'_>, name: &str, text: &str) -> PyResult<Config> {
    match ConfigSource::read(Origin::User, name, text) {
        Ok(source) => Ok(Config::of([&source])),
        Err(issues) => {
            let messages: Vec<String> = issues.iter().map(ToString::to_string).collect();
            let help = issues.first().map(|issue| issue.help.as_str());
            Err(errors::failure(py, &messages.join("; "), help))
        }
    }
}

fn run_id(py: Python<'_>, id: Option<&str>) -> PyResult<RunId> {
    let Some(id) = id else {
        return Ok(RunId::random());
    };
    let id = id.parse::<RunId>().map_err(Error::from);
    id.map_err(|error| errors::to_python(py, &error))
}

/// Adds the bounds of one run.
fn bounded(mut guards: Guards, options: &RunOptions) -> PyResult<Guards> {
    if let Some(calls) = options.max_calls {
        guards = guards.calls(calls);
    }
    if let Some(limit) = seconds(options.max_time)? {
        guards = guards.wall_time(limit);
    }
    Ok(guards)
}

fn seconds(limit: Option<f64>) -> PyResult<Option<Duration>> {
    let limit = limit.map(Duration::try_from_secs_f64).transpose();
    limit.map_err(|error| PyValueError::new_err(format!("a time limit in seconds: {error}")))
}

// Held for a few assignments only, so that no panic can poison it.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

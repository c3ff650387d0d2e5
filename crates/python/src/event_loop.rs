//! The event loop of Python, as threads of Rust reach it: callbacks that run on it, and awaitables that Rust completes.

#[cfg(unix)]
use std::io::{ErrorKind, Read, Write};
#[cfg(unix)]
use std::os::{fd::AsRawFd, unix::net::UnixStream};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pyo3::exceptions::{PyNotImplementedError, PyRuntimeError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PySet};
use tokio::runtime::Handle;
use tokio::task::AbortHandle;

use crate::errors;

/// A callback that runs on the event loop.
type Callback = Box<dyn FnOnce(Python<'_>) -> PyResult<()> + Send>;

/// An event loop that threads of Rust share.
pub(crate) type SharedLoop = Arc<Py<EventLoop>>;

/// An event loop of asyncio, for one instance of the service. Callbacks of any thread run on it, in the order in which they were posted.
///
/// A thread that posts a callback does not wait for the interpreter: it wakes the loop through a socket, with one byte for all
/// callbacks that wait. A loop that cannot watch sockets is woken by its own method, which needs the interpreter.
#[pyclass(frozen)]
pub(crate) struct EventLoop {
    asyncio: Py<PyAny>,
    /// The tasks of the loop that callbacks have started and that have not ended.
    #[pyo3(get)]
    tasks: Py<PySet>,
    queue: Mutex<Queue>,
    #[cfg(unix)]
    sockets: (UnixStream, UnixStream),
}

#[derive(Default)]
struct Queue {
    callbacks: Vec<Callback>,
    waker: Waker,
    /// True if the loop was woken and has not taken the callbacks yet.
    is_woken: bool,
}

/// The way to wake the loop.
#[derive(Default)]
enum Waker {
    /// The loop is not attached, or was detached.
    #[default]
    None,
    #[cfg(unix)]
    Socket,
    /// `loop.call_soon_threadsafe` and its argument.
    Method(Py<PyAny>, Py<PyAny>),
}

#[pymethods]
impl EventLoop {
    /// Creates the queue of a loop of asyncio.
    #[new]
    fn new(py: Python<'_>, asyncio: Py<PyAny>) -> PyResult<Self> {
        #[cfg(unix)]
        let sockets = {
            let sockets = UnixStream::pair()?;
            sockets.0.set_nonblocking(true)?;
            sockets.1.set_nonblocking(true)?;
            sockets
        };
        Ok(Self {
            asyncio,
            tasks: PySet::empty(py)?.unbind(),
            queue: Mutex::default(),
            #[cfg(unix)]
            sockets,
        })
    }

    /// Lets the loop take callbacks from now on. Called on the loop.
    fn attach(slf: &Bound<'_, Self>) -> PyResult<()> {
        let asyncio = slf.get().asyncio.bind(slf.py());
        let drain = slf.getattr("drain")?;
        #[cfg(unix)]
        {
            let added = asyncio.call_method1("add_reader", (slf.get().descriptor(), &drain));
            match added {
                Ok(_) => {
                    slf.get().lock().waker = Waker::Socket;
                    return Ok(());
                }
                Err(error) if error.is_instance_of::<PyNotImplementedError>(slf.py()) => {}
                Err(error) => return Err(error),
            }
        }
        let method = asyncio.getattr("call_soon_threadsafe")?;
        slf.get().lock().waker = Waker::Method(method.unbind(), drain.unbind());
        Ok(())
    }

    /// Runs the callbacks that wait.
    fn drain(&self, py: Python<'_>) -> PyResult<()> {
        #[cfg(unix)]
        self.read();
        let callbacks = {
            let mut queue = self.lock();
            // From here on the loop is woken again, so that no callback is left behind.
            queue.is_woken = false;
            std::mem::take(&mut queue.callbacks)
        };
        for callback in callbacks {
            if let Err(error) = callback(py) {
                self.report(py, error)?;
            }
        }
        Ok(())
    }

    /// Runs what waits, and takes nothing any more.
    fn detach(&self, py: Python<'_>) -> PyResult<()> {
        let waker = std::mem::take(&mut self.lock().waker);
        #[cfg(unix)]
        if matches!(waker, Waker::Socket) {
            let asyncio = self.asyncio.bind(py);
            asyncio.call_method1("remove_reader", (self.descriptor(),))?;
        }
        drop(waker);
        self.drain(py)
    }
}

impl EventLoop {
    /// Runs `callback` on the loop, soon. A loop that is detached drops it.
    pub(crate) fn post(&self, callback: impl FnOnce(Python<'_>) -> PyResult<()> + Send + 'static) {
        let mut queue = self.lock();
        if matches!(queue.waker, Waker::None) {
            return;
        }
        queue.callbacks.push(Box::new(callback));
        if std::mem::replace(&mut queue.is_woken, true) {
            return;
        }
        match &queue.waker {
            Waker::None => {}
            #[cfg(unix)]
            Waker::Socket => {
                drop(queue);
                // A socket that is full wakes the loop as well.
                let _ = (&self.sockets.1).write(&[0]);
            }
            Waker::Method(..) => {
                drop(queue);
                // Without an interpreter there is no loop either.
                Python::try_attach(|py| self.wake_by_method(py));
            }
        }
    }

    fn is_detached(&self) -> bool {
        matches!(self.lock().waker, Waker::None)
    }

    /// Returns a future of asyncio that is done.
    pub(crate) fn done<'py>(
        &self,
        py: Python<'py>,
        result: impl IntoPyObject<'py>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let awaited = self.asyncio.bind(py).call_method0("create_future")?;
        awaited.call_method1("set_result", (result,))?;
        Ok(awaited)
    }

    /// Holds a task of the loop until it has ended, then calls `on_end`.
    pub(crate) fn track(
        this: &SharedLoop,
        py: Python<'_>,
        task: &Py<PyAny>,
        on_end: impl Fn() + Send + Sync + 'static,
    ) -> PyResult<()> {
        this.get().tasks.bind(py).add(task)?;
        let end = TaskEnd {
            event_loop: Arc::clone(this),
            on_end: Box::new(on_end),
        };
        task.call_method1(py, "add_done_callback", (end,))?;
        Ok(())
    }

    fn wake_by_method(&self, py: Python<'_>) {
        let waker = match &self.lock().waker {
            Waker::Method(method, drain) => Some((method.clone_ref(py), drain.clone_ref(py))),
            _ => None,
        };
        if let Some((method, drain)) = waker
            && let Err(error) = method.call1(py, (drain,))
        {
            // The loop is closed: nothing awaits the callbacks.
            error.write_unraisable(py, None);
        }
    }

    #[cfg(unix)]
    fn descriptor(&self) -> i32 {
        self.sockets.0.as_raw_fd()
    }

    #[cfg(unix)]
    fn read(&self) {
        let mut bytes = [0; 64];
        loop {
            match (&self.sockets.0).read(&mut bytes) {
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                // At most one byte waits, unless the loop has been attached several times.
                Ok(64) => {}
                Ok(_) | Err(_) => return,
            }
        }
    }

    // Held for a few assignments only, so that no panic can poison it.
    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Hands the error of a callback to the handler of the loop.
    fn report(&self, py: Python<'_>, error: PyErr) -> PyResult<()> {
        let context = PyDict::new(py);
        context.set_item("message", "a callback of Planwright failed")?;
        context.set_item("exception", error)?;
        let asyncio = self.asyncio.bind(py);
        asyncio.call_method1("call_exception_handler", (context,))?;
        Ok(())
    }

    /// Runs `future` on the threads of Rust and returns a future of asyncio with what `convert` makes of its result. Cancelling that cancels
    /// `future`.
    pub(crate) fn spawn<'py, T: Send + 'static>(
        this: &SharedLoop,
        py: Python<'py>,
        runtime: &Handle,
        future: impl Future<Output = Result<T, planwright::Error>> + Send + 'static,
        convert: impl FnOnce(Python<'_>, T) -> PyResult<Py<PyAny>> + Send + 'static,
    ) -> PyResult<Bound<'py, PyAny>> {
        if this.get().is_detached() {
            return Err(PyRuntimeError::new_err("this `Planwright` is closed"));
        }
        let asyncio = this.get().asyncio.bind(py);
        let awaited = asyncio.call_method0("create_future")?;
        let promise = Promise {
            event_loop: Arc::clone(this),
            awaited: Some(awaited.clone().unbind()),
        };
        let task = runtime.spawn(async move {
            let outcome = future.await;
            promise.settle(move |py| match outcome {
                Ok(result) => convert(py, result),
                Err(error) => Err(errors::to_python(py, &error)),
            });
        });
        let cancel = Cancel(task.abort_handle());
        awaited.call_method1("add_done_callback", (cancel,))?;
        Ok(awaited)
    }
}

/// A future of asyncio that Rust completes. One that is dropped before fails, so that nothing awaits it for ever.
struct Promise {
    event_loop: SharedLoop,
    awaited: Option<Py<PyAny>>,
}

impl Promise {
    fn settle(mut self, result: impl FnOnce(Python<'_>) -> PyResult<Py<PyAny>> + Send + 'static) {
        self.complete(result);
    }

    fn complete(
        &mut self,
        result: impl FnOnce(Python<'_>) -> PyResult<Py<PyAny>> + Send + 'static,
    ) {
        let Some(awaited) = self.awaited.take() else {
            return;
        };
        self.event_loop.get().post(move |py| {
            let awaited = awaited.bind(py);
            if awaited.call_method0("done")?.is_truthy()? {
                return Ok(());
            }
            match result(py) {
                Ok(result) => awaited.call_method1("set_result", (result,))?,
                Err(error) => awaited.call_method1("set_exception", (error,))?,
            };
            Ok(())
        });
    }
}

impl Drop for Promise {
    fn drop(&mut self) {
        self.complete(|_| {
            Err(PyRuntimeError::new_err(
                "Planwright stopped before it answered",
            ))
        });
    }
}

/// Forgets a task that has ended.
#[pyclass(frozen)]
struct TaskEnd {
    event_loop: SharedLoop,
    on_end: Box<dyn Fn() + Send + Sync>,
}

#[pymethods]
impl TaskEnd {
    fn __call__(&self, task: &Bound<'_, PyAny>) -> PyResult<()> {
        (self.on_end)();
        self.event_loop.get().tasks.bind(task.py()).discard(task)?;
        Ok(())
    }
}

/// Ends the task of a future of asyncio that is done, which is so if it was cancelled.
#[pyclass(frozen)]
struct Cancel(AbortHandle);

#[pymethods]
impl Cancel {
    fn __call__(&self, _future: &Bound<'_, PyAny>) {
        self.0.abort();
    }
}

//! The native part of the Python package `planwright_mcp`, which has the interface for people.

/// Decisions about calls by a function of Python.
mod approver;

/// The tools of a service, as documents for Python.
mod catalog;

/// Errors of the service as exceptions of Python.
mod errors;

/// The event loop of Python, as threads of Rust reach it.
mod event_loop;

/// Checked plans.
mod plan;

/// Reverts that were prepared and have not started.
mod revert;

/// Runs in progress.
mod run;

/// The service of one instance: its threads, its tools, its runs.
mod service;

/// Stored runs.
mod store;

/// Tools that are functions of Python.
mod tools;

/// Values of plans as objects of Python, and back.
mod value;

use pyo3::prelude::*;

/// The native part of `planwright_mcp`.
#[pymodule]
#[pyo3(name = "_native")]
mod native {
    #[pymodule_export]
    use crate::approver::ApprovalQuestion;
    #[pymodule_export]
    use crate::event_loop::EventLoop;
    #[pymodule_export]
    use crate::plan::NativePlan;
    #[pymodule_export]
    use crate::revert::NativeRevert;
    #[pymodule_export]
    use crate::run::NativeRun;
    #[pymodule_export]
    use crate::service::{Service, Watch};
    #[pymodule_export]
    use crate::tools::Call;
}

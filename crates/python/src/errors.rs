//! Errors of the service as exceptions of Python.

use std::fmt::Display;

use planwright::Error;
use planwright::core::Diagnostics;
use pyo3::prelude::*;
use pyo3::types::PyModule;

/// Returns the exception for an error of the service.
pub(crate) fn to_python(py: Python<'_>, error: &Error) -> PyErr {
    match error {
        Error::Rejected(diagnostics) => rejected(py, &error.to_string(), diagnostics),
        _ => {
            let mut message = error.to_string();
            let mut source = std::error::Error::source(error);
            while let Some(cause) = source {
                // A transparent error has the message of its source.
                let cause_text = cause.to_string();
                if !message.ends_with(&cause_text) {
                    message = format!("{message}: {cause_text}");
                }
                source = cause.source();
            }
            failure(py, &message, error.help())
        }
    }
}

/// Returns the exception `PlanRejected`.
pub(crate) fn rejected(py: Python<'_>, message: &str, diagnostics: &Diagnostics) -> PyErr {
    let diagnostics = document(diagnostics);
    let built =
        errors(py).and_then(|errors| errors.call_method1("rejected", (message, diagnostics?)));
    built.map_or_else(|error| error, PyErr::from_value)
}

/// Returns the exception `PlanwrightError`.
pub(crate) fn failure(py: Python<'_>, message: &str, help: Option<&str>) -> PyErr {
    let built =
        errors(py).and_then(|errors| errors.call_method1("PlanwrightError", (message, help)));
    built.map_or_else(|error| error, PyErr::from_value)
}

/// Returns a document as JSON.
///
/// # Errors
///
/// It cannot be written, which is a defect.
pub(crate) fn document(document: &impl serde::Serialize) -> PyResult<String> {
    let text = serde_json::to_string(document);
    text.map_err(|error| defect(&error))
}

/// Returns the exception for a defect.
pub(crate) fn defect(error: &impl Display) -> PyErr {
    pyo3::exceptions::PyRuntimeError::new_err(error.to_string())
}

fn errors(py: Python<'_>) -> PyResult<Bound<'_, PyModule>> {
    PyModule::import(py, "planwright_mcp._errors")
}

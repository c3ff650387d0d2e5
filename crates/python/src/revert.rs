//! Reverts that were prepared and have not started.

use std::sync::{Mutex, PoisonError};

use planwright::service::PreparedRevert;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

use crate::errors;

/// A revert before it starts. As long as it exists, no other process can resume or revert the run.
#[pyclass(frozen, name = "Revert")]
pub(crate) struct NativeRevert {
    document: String,
    prepared: Mutex<Option<PreparedRevert>>,
}

#[pymethods]
impl NativeRevert {
    /// The calls that it makes and those that stay, as JSON.
    #[getter]
    fn document(&self) -> &str {
        &self.document
    }
}

impl NativeRevert {
    /// Creates a revert that has not started.
    pub(crate) fn new(prepared: PreparedRevert) -> PyResult<Self> {
        Ok(Self {
            document: errors::document(&prepared.revert.document())?,
            prepared: Mutex::new(Some(prepared)),
        })
    }

    /// Takes the prepared revert, which starts once.
    pub(crate) fn take(&self) -> PyResult<PreparedRevert> {
        // Held for one assignment only, so that no panic can poison it.
        let mut prepared = self.prepared.lock().unwrap_or_else(PoisonError::into_inner);
        let taken = prepared.take();
        taken.ok_or_else(|| PyRuntimeError::new_err("this `Revert` has started already"))
    }
}

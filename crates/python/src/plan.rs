//! Checked plans.

use planwright::dialects::{self, ReadOptions};
use planwright::{Planwright, Value};
use pyo3::prelude::*;

use crate::errors;

/// A plan that was checked. Only the service that checked it runs it.
#[pyclass(frozen, name = "CheckedPlan")]
pub(crate) struct NativePlan {
    pub(crate) plan: planwright::CheckedPlan,
    pub(crate) dialect: Option<&'static str>,
}

#[pymethods]
impl NativePlan {
    /// The name of the plan.
    #[getter]
    fn name(&self) -> Option<&str> {
        self.plan.plan().name.as_deref()
    }

    /// The dialect that the plan is written in.
    #[getter]
    fn dialect(&self) -> Option<&str> {
        self.dialect
    }

    /// The digest of the plan's meaning.
    #[getter]
    fn digest(&self) -> String {
        self.plan.digest().text().to_string()
    }

    /// The ids of the steps, in the order of the plan.
    #[getter]
    fn steps(&self) -> Vec<String> {
        let steps = self.plan.plan().steps.iter();
        steps.map(|step| step.id.text().to_string()).collect()
    }

    /// The warnings, as JSON.
    fn warnings(&self) -> PyResult<String> {
        errors::document(self.plan.warnings())
    }
}

impl NativePlan {
    /// Reads a plan in any dialect and checks it.
    pub(crate) fn read(
        planwright: &Planwright,
        text: &str,
        name: &str,
        dialect: Option<&str>,
        inputs: &Value,
    ) -> Result<Self, planwright::Error> {
        let mut options = ReadOptions::new(name);
        options.dialect = dialect;
        let read = dialects::parse(text.as_bytes(), &options);
        let dialect = read.dialect;
        let inputs = inputs.as_object().into_iter().flatten();
        let inputs = inputs.map(|(name, value)| (name.clone(), value.clone()));
        let plan = planwright.check_with(read, inputs)?;
        Ok(Self { plan, dialect })
    }
}

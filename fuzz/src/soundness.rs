//! Plans checked against arbitrary tools.

use planwright_core::check::{CheckContext, check};
use planwright_core::expression::EvaluationLimits;
use planwright_core::{Catalog, Value};
use planwright_dialects::{ReadOptions, parse};
use planwright_engine::backend::Simulated;
use planwright_engine::run::preview;

use crate::dialect::{assert_in_place, tools_of};
use crate::halves;

/// Checks the plan after the NUL byte of `input` against the simulated tools before it.
///
/// # Panics
///
/// If a plan is both accepted and rejected, or neither, if a diagnostic lies outside of the text, or if a second check has another
/// result.
pub fn check_plan(input: &[u8]) {
    let (tools, plan) = halves(input);
    let result = parse(plan, &ReadOptions::new("input"));
    let Some(plan) = result.plan else { return };
    let catalog = catalog(tools).unwrap_or_else(|| tools_of(&plan));
    let context = CheckContext::new(&catalog);
    let (checked, findings) = check(plan.clone(), &context);
    assert_eq!(checked.is_none(), findings.has_errors());
    assert_in_place(&findings, &result.source);
    let (again, same) = check(plan, &context);
    assert_eq!(findings, same);
    assert_eq!(
        checked.as_ref().map(|plan| plan.digest().clone()),
        again.as_ref().map(|plan| plan.digest().clone())
    );
    if let Some(plan) = checked {
        // A step outside of all instances runs for each of them.
        let instances = plan.plan().instances.len().max(1);
        let steps = plan.plan().steps.iter();
        let expected: usize = steps
            .map(|step| step.instance.as_ref().map_or(instances, |_| 1))
            .sum();
        assert_eq!(preview(&plan, &EvaluationLimits::default()).len(), expected);
    }
}

/// Returns the tools of a script, or an empty catalog if it is invalid.
pub(crate) fn catalog(script: &[u8]) -> Option<Catalog> {
    let script = Value::from_json(std::str::from_utf8(script).ok()?).ok()?;
    let simulated = Simulated::from_script(&script).ok()?;
    Some(simulated.tools().cloned().collect())
}

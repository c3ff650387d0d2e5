//! The labels of what an expression reads.

use super::{Analysis, PlanScope};
use crate::flow::expression::BoundLabels;
use crate::flow::labels::{LabelStore, LabelsId};
use crate::plan::{Alternative, Form, Segment};

/// The place of an expression.
pub(super) struct ExpressionScope<'s, 'a, 'p, 'q> {
    pub(super) analysis: &'s mut Analysis<'a>,
    pub(super) scope: &'s PlanScope<'a, 'p>,
    pub(super) step: Option<u32>,
    pub(super) bindings: &'q [Form],
}

impl<'a> BoundLabels<'a> for ExpressionScope<'_, 'a, '_, 'a> {
    fn store(&mut self) -> &mut LabelStore<'a> {
        &mut self.analysis.store
    }

    fn converts(&mut self, value: LabelsId) {
        if self.analysis.follows_control {
            self.analysis.conversions.push(value);
        }
    }

    fn bound(&mut self, index: usize, path: &[Segment]) -> LabelsId {
        let form = self.bindings.get(index);
        // The path after a root leads into slots by their names.
        if let Some(Form::First(alternatives)) = form
            && let [Alternative::Read(read)] = alternatives.as_slice()
        {
            return self.analysis.read(self.scope, self.step, read, path);
        }
        let Some(form) = form else {
            return self.analysis.store.planner();
        };
        let whole = self.analysis.form(self.scope, self.step, form);
        self.analysis.store.at(whole, path)
    }
}

//! The labels of data that a model extracts.

use std::sync::Arc;

use super::{Analysis, PlanScope};
use crate::flow::labels::LabelsId;
use crate::flow::report_builder::StepParameter;
use crate::{Place, Tool};

impl<'a> Analysis<'a> {
    /// Returns the labels of what is extracted: those of everything that the model reads. Guards do not apply, since no
    /// call acts on these arguments; the names of fields in `from` and `schema` are data.
    pub(super) fn extraction(
        &mut self,
        scope: &PlanScope<'a, '_>,
        index: u32,
        tool: &'a Tool,
        labels: LabelsId,
    ) -> LabelsId {
        let label = self.store.join(labels);
        if let Some((step, _)) = scope.step(index) {
            let parameters = ["from", "ask"].map(Arc::from);
            for parameter in parameters {
                let path = std::slice::from_ref(&parameter);
                let mut rules = self.context.policy.leaves.iter();
                let leaves = rules
                    .find(|rule| rule.pattern.covers_tool(tool) && rule.pattern.covers_field(path));
                let Some(rule) = leaves else {
                    continue;
                };
                let field = self.store.field(labels, &parameter);
                if field == self.store.nothing() {
                    continue;
                }
                let label = self.store.join(field);
                self.parameters.push(StepParameter {
                    position: scope.position_of(index),
                    step: scope.step_path(step),
                    tool,
                    parameter,
                    guard: None,
                    leaves: Some(rule.pattern.as_str().into()),
                    control: None,
                    label,
                    text: scope.text,
                    place: match step.args.place {
                        Place::NOWHERE => step.place,
                        place => place,
                    },
                });
            }
        }
        self.store.typed(tool.output.structure(), label)
    }
}

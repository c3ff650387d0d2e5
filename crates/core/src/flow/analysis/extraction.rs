//! The labels of data that a model extracts.

use std::sync::Arc;

use super::{Analysis, PlanScope};
use crate::flow::labels::LabelsId;
use crate::flow::report_builder::StepParameter;
use crate::{Place, Step, Tool};

impl<'a> Analysis<'a> {
    /// Returns the labels of what is extracted: those of everything that the model reads. Guards do not apply, since no
    /// call acts on these arguments; the names of fields in `from` and `schema` are data.
    pub(super) fn extraction(
        &mut self,
        scope: &PlanScope<'a, '_>,
        index: u32,
        step: &'a Step,
        tool: &'a Tool,
    ) -> LabelsId {
        // The arguments may read the last round.
        let last = self.store.graph.open();
        let rounds = self.store.typed(tool.output.structure(), last);
        scope.known.borrow_mut().rounds.insert(index, rounds);
        let labels = self.node(scope, Some(index), &step.args);
        self.set_arguments(scope, index, labels);
        let label = self.store.join(labels);
        self.store.graph.extend(last, label);
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
        self.store.typed(tool.output.structure(), label)
    }
}

//! Which steps may start while the rest of their plan is still being written.

use super::CheckedPlan;
use super::dependencies::each_node;
use crate::plan::{Action, Approval, Read, SlotKind, Source};
use crate::{Step, Tool};

impl CheckedPlan {
    /// Whether the step at position `step` may start before the rest of its plan is known. It changes nothing, by the word of
    /// somebody who is trusted; nobody is asked before it; it is given nothing secret and nothing from outside; and as far as can
    /// be told, no step that is yet to come writes what it reads. Whether what it waits for may start is another question.
    pub fn may_start_early(&self, step: usize) -> bool {
        let plan = self.plan();
        let (Some(written), Some(checked)) = (plan.steps.get(step), self.steps().get(step)) else {
            return false;
        };
        let changes_nothing = match &written.action {
            Action::Tool(_) => checked.tool.as_deref().is_some_and(merely_reads),
            Action::Value(_) => true,
            Action::Plan(call) => {
                call.scopes.is_empty()
                    && checked.plan.as_ref().is_some_and(|inner| {
                        (0..inner.steps().len()).all(|step| inner.may_start_early(step))
                    })
            }
        };
        changes_nothing && written.approval != Approval::Ask && self.knows_what_it_reads(written)
    }

    fn knows_what_it_reads(&self, step: &Step) -> bool {
        let mut knows = true;
        each_node(step, &mut |node, _| {
            node.each_reference(&mut |reference| {
                knows &= reference
                    .reads()
                    .into_iter()
                    .all(|read| self.is_known(read));
            });
        });
        knows
    }

    fn is_known(&self, read: &Read) -> bool {
        match &read.source {
            Source::Outside(..) => false,
            Source::Slot(SlotKind::Inputs | SlotKind::Vars) if self.has_secrets() => false,
            Source::Slot(SlotKind::State | SlotKind::Data) => self.writes(read),
            _ => true,
        }
    }

    fn has_secrets(&self) -> bool {
        self.plan().has_secret_inputs()
    }
}

fn merely_reads(tool: &Tool) -> bool {
    tool.annotations.trusted && tool.annotations.read_only && !tool.needs_approval()
}

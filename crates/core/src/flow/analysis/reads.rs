//! The labels of arguments, references, and data that a model extracts.

use std::sync::Arc;

use super::slots::add_slot_read;
use super::{Analysis, PlanScope, StepRead};
use crate::check::DependencyKind;
use crate::expression::may_fail;
use crate::flow::expression::{BoundLabels, expression_labels};
use crate::flow::graph::{Flags, LabelOrigin, NodeId, Passage};
use crate::flow::labels::{ItemSource, LabelStore, LabelsId};
use crate::flow::parameters::{ArgumentPart, arguments};
use crate::flow::report_builder::StepParameter;
use crate::plan::{
    Action, Alternative, ExternalValue, ForEach, Form, Missing, Node, NodeKind, OnError, Read,
    Reference, Segment, Source, TextPart,
};
use crate::{Expression, Place, Step, Tool};

impl<'a> Analysis<'a> {
    pub(super) fn node(
        &mut self,
        scope: &PlanScope<'a, '_>,
        step: Option<u32>,
        node: &'a Node,
    ) -> LabelsId {
        match &node.kind {
            NodeKind::Literal(value) => self.store.literal(value),
            NodeKind::Reference(reference) => self.reference(scope, step, reference),
            NodeKind::Text(parts) => {
                let values: Vec<_> = parts
                    .iter()
                    .map(|part| match part {
                        TextPart::Reference(reference) => self.reference(scope, step, reference),
                        TextPart::Literal(_) => self.store.planner(),
                    })
                    .collect();
                self.store.text_of(&values)
            }
            NodeKind::List(items) => {
                let items: Vec<_> = items
                    .iter()
                    .map(|item| self.node(scope, step, item))
                    .collect();
                let item = self.store.any_of(&items);
                self.store.list(item)
            }
            NodeKind::Object(fields) => {
                let fields: Vec<_> = fields
                    .iter()
                    .map(|field| (Arc::clone(&field.key), self.node(scope, step, &field.value)))
                    .collect();
                self.store.object(fields)
            }
        }
    }

    /// Returns the labels of the arguments of a call of `tool`. An argument that no rule is about has no label, unless
    /// something else than its call may depend on it.
    pub(super) fn call_arguments(
        &mut self,
        scope: &PlanScope<'a, '_>,
        index: u32,
        step: &'a Step,
        tool: &'a Tool,
    ) -> LabelsId {
        // The outcome of a step that may fail without ending the plan depends on all arguments.
        let (NodeKind::Object(fields), OnError::Fail, false) =
            (&step.args.kind, &step.on_error, self.context.with_edges)
        else {
            return self.node(scope, Some(index), &step.args);
        };
        let shape = tool.input.structure();
        let rules = self.arguments.of(tool);
        let mut labelled = Vec::with_capacity(fields.len());
        for field in fields {
            let rules = self.arguments.get_mut(rules);
            let matters = rules.is_none_or(|rules| rules.concern(&field.key, &field.value, shape))
                || self.follows_control && Self::may_fail_by(scope, &field.value);
            let labels = if matters {
                self.node(scope, Some(index), &field.value)
            } else {
                self.store.nothing()
            };
            labelled.push((Arc::clone(&field.key), labels));
        }
        self.store.object(labelled)
    }

    /// Returns true if the step may fail by a value that `node` reads.
    fn may_fail_by(scope: &PlanScope<'a, '_>, node: &Node) -> bool {
        let mut found = false;
        let is_described = |read: &Read| {
            let tool = match &read.source {
                Source::Step(id) => {
                    let index = scope.plan.step_index(id.as_str());
                    index.and_then(|index| scope.step(index)?.1.tool.as_ref())
                }
                _ => None,
            };
            let shape = tool.map(|tool| tool.output.structure());
            shape.is_some_and(|shape| match read.path.as_slice() {
                [] => true,
                [Segment::Key(name)] => shape.property(name).is_some(),
                _ => false,
            })
        };
        node.each_reference(&mut |reference| {
            found |= may_fail(&reference.form);
            reference.each_read(&mut |read| found |= !is_described(read));
        });
        found
    }

    pub(super) fn reference(
        &mut self,
        scope: &PlanScope<'a, '_>,
        step: Option<u32>,
        reference: &'a Reference,
    ) -> LabelsId {
        let first_read = self.reads.len();
        let labels = self.form(scope, step, &reference.form);
        if first_read < self.reads.len() {
            let value = self.store.join(labels);
            for read in self.reads.iter_mut().skip(first_read) {
                read.value.get_or_insert(value);
            }
        }
        let step = step.and_then(|index| scope.step(index));
        let passage = Passage {
            text: scope.text,
            place: reference.place,
            reference: Arc::clone(&reference.text),
            step: step.map(|(step, _)| scope.step_path(step)),
        };
        self.store.passed(labels, passage)
    }

    pub(super) fn form(
        &mut self,
        scope: &PlanScope<'a, '_>,
        step: Option<u32>,
        form: &'a Form,
    ) -> LabelsId {
        match form {
            Form::First(alternatives) => {
                if let [only] = alternatives.as_slice() {
                    return self.alternative(scope, step, only);
                }
                let before = std::mem::replace(&mut self.store.counts_positions, true);
                let mut values = Vec::with_capacity(alternatives.len());
                for alternative in alternatives {
                    values.push(self.alternative(scope, step, alternative));
                }
                self.store.counts_positions = before;
                self.store.any_of(&values)
            }
            // The existence of the others is not part of the value.
            Form::All(reads) => {
                let Some((last, others)) = reads.split_last() else {
                    return self.store.nothing();
                };
                if self.context.with_edges {
                    for read in others {
                        self.read(scope, step, read, &[]);
                    }
                }
                self.read(scope, step, last, &[])
            }
        }
    }

    fn alternative(
        &mut self,
        scope: &PlanScope<'a, '_>,
        step: Option<u32>,
        alternative: &'a Alternative,
    ) -> LabelsId {
        match alternative {
            Alternative::Read(read) => self.read(scope, step, read, &[]),
            Alternative::Literal(value) => self.store.literal(value),
            Alternative::Expression(expression) => self.expression(scope, step, expression),
        }
    }

    pub(super) fn expression(
        &mut self,
        scope: &PlanScope<'a, '_>,
        step: Option<u32>,
        expression: &'a Expression,
    ) -> LabelsId {
        let mut bound = ExpressionScope {
            analysis: self,
            scope,
            step,
            bindings: expression.bindings(),
        };
        expression_labels(&mut bound, expression.tree())
    }

    /// Returns the labels of the part at `further` of what `read` reads.
    pub(super) fn read(
        &mut self,
        scope: &PlanScope<'a, '_>,
        step: Option<u32>,
        read: &Read,
        further: &[Segment],
    ) -> LabelsId {
        let joined: Vec<Segment>;
        let path = match (read.path.as_slice(), further) {
            ([], path) | (path, []) => path,
            (path, further) => {
                joined = path.iter().chain(further).cloned().collect();
                &joined
            }
        };
        let whole = match &read.source {
            Source::Slot(kind) => {
                let labels = self.slot(scope, *kind, path);
                let labels = self.with_existence(scope, read, path, labels);
                if let (true, Some(step)) = (self.context.with_edges, step) {
                    let label = self.store.join(labels);
                    add_slot_read(scope, step, *kind, label);
                }
                return labels;
            }
            Source::Step(id) => match scope.plan.step_index(id.as_str()) {
                // In its own `until`, a step reads the output of one round.
                Some(index) if Some(index) == step => self.own_round(scope, index),
                Some(index) => self.output_of(scope, index),
                None => self.store.nothing(),
            },
            Source::Result(id) => match scope.plan.step_index(id.as_str()) {
                Some(index) => self.result_of(scope, index, Some(index) == step),
                None => self.store.nothing(),
            },
            Source::Item => self.item(scope, step),
            Source::Index => self.position(scope, step),
            Source::ExternalValue(ExternalValue::Environment, _) => self.store.nothing(),
            Source::Last => match step {
                Some(index) => {
                    let last = self.own_round(scope, index);
                    let last = self.store.at(last, path);
                    return self.counting_rounds(scope, index, last);
                }
                None => self.store.nothing(),
            },
            Source::ExternalValue(ExternalValue::Secrets, name) => {
                let origin = LabelOrigin::Secret(Arc::clone(name));
                let flags = Flags {
                    untrusted: false,
                    private: true,
                };
                let node = self.store.graph.origin(origin, flags);
                self.store.scalar(node)
            }
        };
        let part = self.store.at(whole, path);
        let part = self.with_existence(scope, read, path, part);
        if self.store.follows_failures
            && read.missing != Missing::Null
            && self.store.may_miss(whole, path)
        {
            self.store.fails_without(part);
        }
        if self.context.with_edges
            && let Source::Step(id) | Source::Result(id) = &read.source
            && let (Some(to), Some(from)) = (step, scope.plan.step_index(id.as_str()))
        {
            let mut label = self.store.join(part);
            // A list of parts also says how many items there are.
            if path.contains(&Segment::Each)
                && let Some(count) = self.store.count(part)
            {
                label = self.store.graph.join([label, count]);
            }
            self.add_read(scope, from, to, label, None);
        }
        part
    }

    /// Returns `part`, which `read` reads at `path`, with what decides whether the steps that it is from have an output, if it is tested
    /// whether it exists.
    fn with_existence(
        &mut self,
        scope: &PlanScope<'a, '_>,
        read: &Read,
        path: &[Segment],
        part: LabelsId,
    ) -> LabelsId {
        if !self.store.tests_existence {
            return part;
        }
        let presence = self.store.graph.open();
        let read = Read::part(read.source.clone(), path.to_vec());
        self.add_presence_of_read(scope, &read, presence);
        self.store.with(part, presence)
    }

    pub(super) fn add_read(
        &mut self,
        scope: &PlanScope<'a, '_>,
        from: u32,
        to: u32,
        part: NodeId,
        value: Option<NodeId>,
    ) {
        if let (Some((source, _)), Some((reader, _))) = (scope.step(from), scope.step(to))
            && from != to
        {
            self.reads.push(StepRead {
                from: scope.step_path(source),
                to: scope.step_path(reader),
                part,
                value,
            });
        }
    }

    /// Adds the reads of slots, from each writer that its reader depends on.
    pub(super) fn add_slot_edges(&mut self, scope: &PlanScope<'a, '_>) {
        for step in scope.plan.steps() {
            let labels = scope.known.borrow_mut().slot_reads.remove(&step.index);
            let Some(labels) = labels else {
                continue;
            };
            let value = self.store.graph.join(labels);
            for dependency in &step.dependencies {
                if dependency.kind == DependencyKind::Slot {
                    let output = self.output_of(scope, dependency.on);
                    let error = self.error_of(scope, dependency.on);
                    let written = self.store.join_of(&[output, error]);
                    let part = self.store.join(written);
                    self.add_read(scope, dependency.on, step.index, part, Some(value));
                }
            }
        }
    }

    /// Returns the labels of the list of a loop.
    pub(super) fn list_of(
        &mut self,
        scope: &PlanScope<'a, '_>,
        index: u32,
        for_each: &'a ForEach,
    ) -> LabelsId {
        if let Some(known) = scope.known.borrow().lists.get(&index) {
            return *known;
        }
        let over = self.node(scope, Some(index), &for_each.over);
        scope.known.borrow_mut().lists.insert(index, over);
        over
    }

    /// Returns the labels of the items of the step's `for_each`.
    pub(super) fn item(&mut self, scope: &PlanScope<'a, '_>, step: Option<u32>) -> LabelsId {
        let Some((index, (found, _))) = step.and_then(|index| Some((index, scope.step(index)?)))
        else {
            return self.store.nothing();
        };
        let Some(for_each) = &found.for_each else {
            return self.store.nothing();
        };
        if let Some(known) = scope.known.borrow().items.get(&index) {
            return *known;
        }
        // The list cannot refer to its own items.
        let nothing = self.store.nothing();
        scope.known.borrow_mut().items.insert(index, nothing);
        let over = self.list_of(scope, index, for_each);
        let item = self.store.item(over);
        scope.known.borrow_mut().items.insert(index, item);
        item
    }

    /// Returns the source of what a step makes of each item of a list: the item, if it is read. Of a call, the arguments count:
    /// what a tool returns for an item belongs to it.
    pub(super) fn item_source(
        &mut self,
        scope: &PlanScope<'a, '_>,
        index: u32,
        step: &'a Step,
        part: LabelsId,
    ) -> ItemSource {
        let mut is_read = false;
        let mut look = |node: &Node| {
            node.each_reference(&mut |reference| {
                reference.each_read(&mut |read| is_read |= read.source == Source::Item);
            });
        };
        look(&step.args);
        if let Action::Value(value) = &step.action {
            look(value);
        }
        match &step.action {
            _ if !is_read => ItemSource::Other,
            Action::Tool(_) => ItemSource::Counted,
            Action::Value(_) | Action::Plan(_) => {
                let item = self.item(scope, Some(index));
                self.store.item_source(part, item)
            }
        }
    }

    pub(super) fn own_round(&mut self, scope: &PlanScope<'a, '_>, index: u32) -> LabelsId {
        let known = scope.known.borrow().rounds.get(index);
        let round = match known {
            Some(round) => round,
            None => self.open_output(scope, index),
        };
        match scope.step(index) {
            Some((step, _)) => self.with_retained(scope, step, round),
            None => round,
        }
    }
}

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

impl<'a> Analysis<'a> {
    /// Returns the labels of extracted data: those of everything that the model reads. Guards do not apply, since no call acts on
    /// these arguments; the names of fields in `from` and `schema` are data.
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
        let tool_name = self.store.tool(self.context.policy, tool);
        let tool_name = self.store.tool_name(tool_name);
        let part = ArgumentPart::Node(&step.args);
        let rules = self.arguments.of(tool);
        let found = match self.arguments.get_mut(rules) {
            Some(rules) => arguments(&mut self.store, rules, tool, part, labels),
            None => Vec::new(),
        };
        for argument in found {
            // Only `from` and `ask` go to the model's provider; the other arguments do not leave.
            let name = argument.parameter.split('.').next();
            if !matches!(name, Some("from" | "ask")) {
                continue;
            }
            let label = self.store.join(argument.labels);
            self.parameters.push(StepParameter {
                step: scope.step_path(step),
                tool,
                tool_name: tool_name.clone(),
                parameter: argument.parameter,
                guard: None,
                leaves: argument.leaves,
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

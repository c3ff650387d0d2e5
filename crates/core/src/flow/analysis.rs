//! The analysis of a plan: labels every step in the order of the data, inner plans included.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;

use super::expression::{BoundLabels, expression_labels};
use super::graph::{Flags, NodeId, Origin, Passage};
use super::labels::{LabelStore, LabelsId};
use super::outputs::OutputRules;
use super::parameters::{Argument, ArgumentPart, ArgumentRules, arguments};
use super::policy::{FlowPolicy, PlannerLabel};
use super::report::{Confidentiality, FlowReport, Integrity};
use super::report_builder::{ReportBuilder, StepParameter};
use crate::check::Releases;
use crate::plan::{
    Action, Alternative, ExternalValue, ForEach, Form, InputKind, Method, Node, NodeKind, OnError,
    Output, RECALLED_STEP, Read, Reference, Segment, SlotKind, SlotPath, Source, Targets, TextPart,
};
use crate::{CheckedPlan, CheckedStep, Expression, Hashing, Sources, Step, Tool};

/// Maximum number of writers of a slot whose outputs are told apart by field.
const MAX_WRITERS: usize = 32;

/// The input of an analysis besides the plan.
#[derive(Clone, Copy, Debug)]
pub struct FlowContext<'a> {
    /// The flow policy.
    pub policy: &'a FlowPolicy,
    /// The secrets that tools may receive: a secret does not violate the policy in a tool that its list names.
    pub releases: &'a Releases,
}

/// Analyzes the flow of data in `plan`.
pub fn analyze(plan: &CheckedPlan, context: FlowContext<'_>) -> FlowReport {
    let planner = Flags {
        untrusted: context.policy.planner == PlannerLabel::Exposed,
        private: false,
    };
    let mut analysis = Analysis {
        context,
        store: LabelStore::new(planner),
        outputs: HashMap::default(),
        arguments: HashMap::default(),
        texts: Vec::new(),
        parameters: Vec::new(),
        follows_control: !context.policy.decides.is_empty(),
    };
    let inputs = analysis.store.planner();
    let text = analysis.add_text(&plan.plan().sources);
    let main = PlanScope::new(plan, Arc::from(""), text, inputs, true);
    let output = analysis.plan(&main, None);
    let texts = analysis.store.texts(output);
    let output = analysis.store.join(output);
    analysis.store.graph.propagate();
    let graph = &analysis.store.graph;
    let exposes =
        texts.is_none_or(|texts| texts.into_iter().any(|text| graph.flags(text).untrusted));
    let flags = analysis.store.graph.flags(output);
    // Steps were visited in the order of the data.
    analysis
        .parameters
        .sort_by(|a, b| a.position.cmp(&b.position));
    let builder = ReportBuilder {
        context,
        graph: &analysis.store.graph,
        texts: &analysis.texts,
    };
    let (parameters, diagnostics) = builder.build(&analysis.parameters);
    let mut by_step: HashMap<Arc<str>, Vec<usize>> = HashMap::new();
    for (position, parameter) in parameters.iter().enumerate() {
        by_step
            .entry(Arc::clone(&parameter.step))
            .or_default()
            .push(position);
    }
    FlowReport {
        by_step,
        exposes,
        parameters,
        diagnostics,
        on_violation: context.policy.violation,
        planner: context.policy.planner,
        policy: context.policy.digest().into(),
        output: (
            Integrity::of(flags.untrusted),
            Confidentiality::of(flags.private),
        ),
    }
}

struct Analysis<'a> {
    context: FlowContext<'a>,
    store: LabelStore<'a>,
    /// The rules for the outputs of each tool, by its address.
    outputs: HashMap<*const Tool, Arc<OutputRules<'a>>, Hashing>,
    /// The rules for the parameters of each tool, by its address.
    arguments: HashMap<*const Tool, Arc<ArgumentRules<'a>>, Hashing>,
    texts: Vec<Sources>,
    parameters: Vec<StepParameter<'a>>,
    /// True if a rule asks what decides calls.
    follows_control: bool,
}

/// A plan while it is analyzed.
struct PlanScope<'a, 'p> {
    plan: &'a CheckedPlan,
    /// The path of the steps around the plan, with a slash at its end; empty for the main plan.
    prefix: Arc<str>,
    /// The positions of the steps around the plan, outermost first.
    positions: Vec<u32>,
    text: usize,
    /// The labels of the inputs: one label for the main plan, the arguments for an inner one.
    inputs: LabelsId,
    is_main: bool,
    /// The plan around this one, and the kinds of its slots that this one reads.
    around: Option<(&'p PlanScope<'a, 'p>, &'a [SlotKind])>,
    known: RefCell<KnownLabels>,
}

/// The labels of a plan that are known so far.
#[derive(Default)]
struct KnownLabels {
    /// The outputs of steps, by position.
    outputs: HashMap<u32, LabelsId, Hashing>,
    /// The outputs of one round.
    rounds: HashMap<u32, LabelsId, Hashing>,
    /// The lists of loops.
    lists: HashMap<u32, LabelsId, Hashing>,
    /// The items of loops.
    items: HashMap<u32, LabelsId, Hashing>,
    /// What decides whether a step has an output.
    presence: HashMap<u32, NodeId, Hashing>,
    /// The labels that stand for outputs which were read before they were known.
    open: HashMap<u32, NodeId, Hashing>,
    slots: HashMap<(SlotKind, Vec<Segment>), LabelsId, Hashing>,
    whole_slots: HashMap<(SlotKind, Option<Arc<str>>), LabelsId, Hashing>,
}

impl<'a, 'p> PlanScope<'a, 'p> {
    fn new(
        plan: &'a CheckedPlan,
        prefix: Arc<str>,
        text: usize,
        inputs: LabelsId,
        is_main: bool,
    ) -> Self {
        Self {
            plan,
            prefix,
            positions: Vec::new(),
            text,
            inputs,
            is_main,
            around: None,
            known: RefCell::default(),
        }
    }

    fn step(&self, index: u32) -> Option<(&'a Step, &'a CheckedStep)> {
        let step = self.plan.plan().steps.get(index as usize)?;
        Some((step, self.plan.steps().get(index as usize)?))
    }

    fn position_of(&self, index: u32) -> Vec<u32> {
        self.positions.iter().copied().chain([index]).collect()
    }

    fn step_path(&self, step: &Step) -> Arc<str> {
        if self.prefix.is_empty() {
            return Arc::clone(step.id.text());
        }
        format!("{}{}", self.prefix, step.id).into()
    }

    /// Returns the positions of the steps, each after those that it depends on, as far as there is such an order.
    fn data_order(&self) -> Vec<u32> {
        let steps = self.plan.steps();
        let mut waiting: Vec<usize> = steps.iter().map(|step| step.dependencies.len()).collect();
        let mut dependents: Vec<Vec<u32>> = vec![Vec::new(); steps.len()];
        for step in steps {
            for dependency in &step.dependencies {
                if let Some(list) = dependents.get_mut(dependency.on as usize) {
                    list.push(step.index);
                }
            }
        }
        let mut order = Vec::with_capacity(steps.len());
        let mut ready: Vec<u32> = steps
            .iter()
            .rev()
            .filter(|step| step.dependencies.is_empty())
            .map(|step| step.index)
            .collect();
        while let Some(index) = ready.pop() {
            order.push(index);
            for dependent in dependents.get(index as usize).into_iter().flatten() {
                if let Some(left) = waiting.get_mut(*dependent as usize) {
                    *left = left.saturating_sub(1);
                    if *left == 0 {
                        ready.push(*dependent);
                    }
                }
            }
        }
        // Steps that wait for each other are in no order; their labels are completed afterwards.
        if order.len() < steps.len() {
            let mut is_ordered = vec![false; steps.len()];
            for index in &order {
                if let Some(ordered) = is_ordered.get_mut(*index as usize) {
                    *ordered = true;
                }
            }
            let rest = (0_u32..).zip(is_ordered).filter(|(_, ordered)| !ordered);
            order.extend(rest.map(|(index, _)| index));
        }
        order
    }
}

impl<'a> Analysis<'a> {
    fn add_text(&mut self, sources: &Sources) -> usize {
        self.texts.push(sources.clone());
        self.texts.len() - 1
    }

    /// Labels all steps of a plan and returns the labels of its output.
    fn plan(&mut self, scope: &PlanScope<'a, '_>, control: Option<NodeId>) -> LabelsId {
        for index in scope.data_order() {
            self.step(scope, index, control);
        }
        let plan = scope.plan.plan();
        match &plan.output {
            Output::All => {
                let fields: Vec<_> = (0_u32..)
                    .zip(&plan.steps)
                    .map(|(index, step)| {
                        let output = self.output_of(scope, index);
                        (Arc::clone(step.id.text()), output)
                    })
                    .collect();
                self.store.object(fields)
            }
            Output::Steps(names) => {
                let mut fields = Vec::with_capacity(names.len());
                for name in names {
                    if let Some(index) = scope.plan.step_index(&name.text) {
                        fields.push((Arc::clone(&name.text), self.output_of(scope, index)));
                    }
                }
                self.store.object(fields)
            }
            Output::Value(node) => self.node(scope, None, node),
        }
    }

    fn step(&mut self, scope: &PlanScope<'a, '_>, index: u32, around: Option<NodeId>) {
        let Some((step, checked)) = scope.step(index) else {
            return;
        };
        let control = self.control(scope, index, step, around);
        let round = self.round(scope, index, step, checked, control);
        scope.known.borrow_mut().rounds.insert(index, round);
        let mut output = match &step.for_each {
            Some(for_each) => {
                let over = self.list_of(scope, index, for_each);
                self.store.list_like(over, round)
            }
            None => round,
        };
        if let OnError::Output(instead) = &step.on_error {
            let instead = self.node(scope, Some(index), instead);
            output = self.store.any_of(vec![output, instead]);
        }
        scope.known.borrow_mut().outputs.insert(index, output);
        let open = scope.known.borrow().open.get(&index).copied();
        if let Some(open) = open {
            let output = self.store.join(output);
            self.store.graph.extend(open, output);
        }
        // The condition of a loop reads the round that has just ended. It decides further rounds, and which is the last.
        if let (Some(repeat), true) = (&step.repeat, self.follows_control) {
            let until = self.node(scope, Some(index), &repeat.until);
            let until = self.store.join(until);
            let presence = self.presence(scope, index);
            self.store.graph.extend(presence, until);
        }
    }

    /// Returns the label of everything that decides if and how often the step runs.
    fn control(
        &mut self,
        scope: &PlanScope<'a, '_>,
        index: u32,
        step: &'a Step,
        around: Option<NodeId>,
    ) -> Option<NodeId> {
        if !self.follows_control {
            return None;
        }
        let control = self.store.graph.open();
        if let Some(around) = around {
            self.store.graph.extend(control, around);
        }
        if let Some(for_each) = &step.for_each {
            let over = self.list_of(scope, index, for_each);
            let label = self.store.join(over);
            self.store.graph.extend(control, label);
        }
        let presence = self.presence(scope, index);
        if let Some(when) = &step.when {
            let labels = self.node(scope, Some(index), when);
            let label = self.store.join(labels);
            self.store.graph.extend(presence, label);
        }
        step.each_node(&mut |node, _| self.add_presence_of_reads(scope, node, presence));
        self.store.graph.extend(control, presence);
        Some(control)
    }

    /// Returns the label of what decides whether a step has an output: its condition, and what decides whether the steps
    /// that it reads have one. It is complete once all steps are labelled.
    fn presence(&mut self, scope: &PlanScope<'a, '_>, index: u32) -> NodeId {
        let mut known = scope.known.borrow_mut();
        *known
            .presence
            .entry(index)
            .or_insert_with(|| self.store.graph.open())
    }

    /// Adds to `presence` what decides whether the values exist that `node` reads.
    fn add_presence_of_reads(&mut self, scope: &PlanScope<'a, '_>, node: &Node, presence: NodeId) {
        node.each_reference(&mut |reference| {
            for read in reference.reads() {
                self.add_presence_of_read(scope, read, presence);
            }
        });
    }

    fn add_presence_of_read(&mut self, scope: &PlanScope<'a, '_>, read: &Read, presence: NodeId) {
        for producer in scope.plan.producers(read) {
            let of_producer = self.presence(scope, producer);
            self.store.graph.extend(presence, of_producer);
            if receives_error(scope, producer, read) {
                let error = self.error_of(scope, producer);
                let error = self.store.join(error);
                self.store.graph.extend(presence, error);
            }
        }
        // An inner plan may read a slot of the plan around it.
        if let (Source::Slot(kind), Some((around, shared))) = (&read.source, scope.around)
            && shared.contains(kind)
        {
            self.add_presence_of_read(around, read, presence);
        }
    }

    /// Adds to `presence` what decides whether the parts of a plan's output exist.
    fn add_presence_of_output(&mut self, scope: &PlanScope<'a, '_>, presence: NodeId) {
        let plan = scope.plan.plan();
        match &plan.output {
            Output::Value(node) => self.add_presence_of_reads(scope, node, presence),
            Output::All | Output::Steps(_) => {
                for (index, _) in (0_u32..).zip(&plan.steps) {
                    let of_step = self.presence(scope, index);
                    self.store.graph.extend(presence, of_step);
                }
            }
        }
    }

    /// Returns the labels of the output of one round, after adding the parameters of the call.
    fn round(
        &mut self,
        scope: &PlanScope<'a, '_>,
        index: u32,
        step: &'a Step,
        checked: &'a CheckedStep,
        control: Option<NodeId>,
    ) -> LabelsId {
        match (&step.action, &checked.tool, &checked.plan) {
            (Action::Tool(name), Some(tool), _) => {
                let path = scope.step_path(step);
                let output = self.output_rules(tool);
                let output = self.store.output(Arc::clone(&path), tool, output);
                // The arguments may read the last round.
                scope.known.borrow_mut().rounds.insert(index, output);
                let labels = self.node(scope, Some(index), &step.args);
                let rules = self.argument_rules(tool);
                let part = ArgumentPart::Node(&step.args);
                for argument in arguments(&mut self.store, &rules, tool, part, labels) {
                    let Argument {
                        parameter,
                        guard,
                        leaves,
                        decides,
                        place,
                        labels,
                    } = argument;
                    let label = self.store.join(labels);
                    self.parameters.push(StepParameter {
                        position: scope.position_of(index),
                        step: Arc::clone(&path),
                        tool,
                        parameter,
                        guard,
                        leaves,
                        control: control.filter(|_| decides),
                        label,
                        text: scope.text,
                        place: if place == crate::Place::NOWHERE {
                            name.place
                        } else {
                            place
                        },
                    });
                }
                output
            }
            (Action::Value(_), ..) if is_recalled(step) => self.recalled(),
            (Action::Value(value), ..) if step.repeat.is_some() => {
                self.repeated_value(scope, index, value)
            }
            (Action::Value(value), ..) => self.node(scope, Some(index), value),
            (Action::Plan(call), _, Some(inner)) => {
                let inputs = self.node(scope, Some(index), &step.args);
                let prefix = format!("{}{}/", scope.prefix, step.id);
                let has_text = inner.plan().sources.iter().next().is_some();
                let text = if has_text {
                    self.add_text(&inner.plan().sources)
                } else {
                    scope.text
                };
                let mut inner_scope = PlanScope::new(inner, prefix.into(), text, inputs, false);
                inner_scope.around = Some((scope, &call.scopes));
                inner_scope.positions = scope.position_of(index);
                let output = self.plan(&inner_scope, control);
                if self.follows_control {
                    let presence = self.presence(scope, index);
                    self.add_presence_of_output(&inner_scope, presence);
                }
                output
            }
            // Only checked plans get here, whose tools and plans are known.
            (Action::Tool(_) | Action::Plan(_), ..) => self.unknown(scope, step),
        }
    }

    /// Returns the labels of a value that may read its last round, by the fields that the plan spells out.
    fn repeated_value(
        &mut self,
        scope: &PlanScope<'a, '_>,
        index: u32,
        value: &'a Node,
    ) -> LabelsId {
        let mut fields = Vec::new();
        let last = self.open_fields(value, &mut Vec::new(), &mut fields);
        scope.known.borrow_mut().rounds.insert(index, last);
        let labels = self.node(scope, Some(index), value);
        for (path, node) in fields {
            let field = self.store.at(labels, &path);
            let label = self.store.join(field);
            self.store.graph.extend(node, label);
        }
        labels
    }

    /// Returns labels by the fields of `node` that are completed later, and adds them to `fields`.
    fn open_fields(
        &mut self,
        node: &Node,
        path: &mut Vec<Segment>,
        fields: &mut Vec<(Vec<Segment>, NodeId)>,
    ) -> LabelsId {
        let NodeKind::Object(parts) = &node.kind else {
            let open = self.store.graph.open();
            fields.push((path.clone(), open));
            return self.store.whole(open);
        };
        let mut named = Vec::with_capacity(parts.len());
        for part in parts {
            path.push(Segment::Key(Arc::clone(&part.key)));
            named.push((
                Arc::clone(&part.key),
                self.open_fields(&part.value, path, fields),
            ));
            path.pop();
        }
        self.store.object(named)
    }

    /// Returns the label of results of earlier runs. Their plans are not known here, so they count as untrusted, and as
    /// private if anything may be.
    fn recalled(&mut self) -> LabelsId {
        let origin = Origin::Output {
            step: Arc::from(RECALLED_STEP),
            tool: Arc::from(RECALLED_STEP),
            field: Arc::from(""),
        };
        let flags = Flags {
            untrusted: true,
            private: !self.context.policy.private.is_empty(),
        };
        let node = self.store.graph.origin(origin, flags);
        self.store.whole(node)
    }

    fn unknown(&mut self, scope: &PlanScope<'a, '_>, step: &Step) -> LabelsId {
        let origin = Origin::Output {
            step: scope.step_path(step),
            tool: Arc::from(""),
            field: Arc::from(""),
        };
        let flags = Flags {
            untrusted: true,
            private: true,
        };
        let node = self.store.graph.origin(origin, flags);
        self.store.whole(node)
    }

    fn output_rules(&mut self, tool: &'a Tool) -> Arc<OutputRules<'a>> {
        let policy = self.context.policy;
        let rules = self.outputs.entry(std::ptr::from_ref(tool));
        Arc::clone(rules.or_insert_with(|| Arc::new(OutputRules::of(policy, tool))))
    }

    fn argument_rules(&mut self, tool: &'a Tool) -> Arc<ArgumentRules<'a>> {
        let policy = self.context.policy;
        let rules = self.arguments.entry(std::ptr::from_ref(tool));
        Arc::clone(rules.or_insert_with(|| Arc::new(ArgumentRules::of(policy, tool))))
    }

    /// Returns the labels of a step's output, or labels that are completed once it is known.
    fn output_of(&mut self, scope: &PlanScope<'a, '_>, index: u32) -> LabelsId {
        let known = scope.known.borrow().outputs.get(&index).copied();
        match known {
            Some(output) => output,
            None => self.open_output(scope, index),
        }
    }

    fn open_output(&mut self, scope: &PlanScope<'a, '_>, index: u32) -> LabelsId {
        let mut known = scope.known.borrow_mut();
        let node = *known
            .open
            .entry(index)
            .or_insert_with(|| self.store.graph.open());
        self.store.whole(node)
    }

    fn node(&mut self, scope: &PlanScope<'a, '_>, step: Option<u32>, node: &'a Node) -> LabelsId {
        match &node.kind {
            NodeKind::Literal(_) => self.store.planner(),
            NodeKind::Reference(reference) => self.reference(scope, step, reference),
            NodeKind::Text(parts) => {
                let mut values = vec![self.store.planner()];
                for part in parts {
                    if let TextPart::Reference(reference) = part {
                        values.push(self.reference(scope, step, reference));
                    }
                }
                self.store.computed_from(&values)
            }
            NodeKind::List(items) => {
                let items = items
                    .iter()
                    .map(|item| self.node(scope, step, item))
                    .collect();
                let item = self.store.any_of(items);
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

    fn reference(
        &mut self,
        scope: &PlanScope<'a, '_>,
        step: Option<u32>,
        reference: &'a Reference,
    ) -> LabelsId {
        let labels = self.form(scope, step, &reference.form);
        let step = step.and_then(|index| scope.step(index));
        let passage = Passage {
            text: scope.text,
            place: reference.place,
            reference: Arc::clone(&reference.text),
            step: step.map(|(step, _)| scope.step_path(step)),
        };
        self.store.passed(labels, passage)
    }

    fn form(&mut self, scope: &PlanScope<'a, '_>, step: Option<u32>, form: &'a Form) -> LabelsId {
        match form {
            Form::First(alternatives) => {
                let values = alternatives
                    .iter()
                    .map(|alternative| match alternative {
                        Alternative::Read(read) => self.read(scope, step, read, &[]),
                        Alternative::Literal(_) => self.store.planner(),
                        Alternative::Expression(expression) => {
                            self.expression(scope, step, expression)
                        }
                    })
                    .collect();
                self.store.any_of(values)
            }
            // That the others exist is no part of the value.
            Form::All(reads) => match reads.last() {
                Some(read) => self.read(scope, step, read, &[]),
                None => self.store.nothing(),
            },
        }
    }

    fn expression(
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
    fn read(
        &mut self,
        scope: &PlanScope<'a, '_>,
        step: Option<u32>,
        read: &Read,
        further: &[Segment],
    ) -> LabelsId {
        let whole = match &read.source {
            Source::Slot(kind) => {
                let path: Vec<Segment> = read.path.iter().chain(further).cloned().collect();
                return self.slot(scope, *kind, &path);
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
            Source::Index => self.store.nothing(),
            Source::Last => match step {
                Some(index) => self.own_round(scope, index),
                None => self.store.nothing(),
            },
            Source::ExternalValue(ExternalValue::Secrets, name) => {
                let origin = Origin::Secret(Arc::clone(name));
                let flags = Flags {
                    untrusted: false,
                    private: true,
                };
                let node = self.store.graph.origin(origin, flags);
                self.store.whole(node)
            }
            Source::ExternalValue(ExternalValue::Environment, _) => self.store.nothing(),
        };
        let part = self.store.at(whole, &read.path);
        self.store.at(part, further)
    }

    /// Returns the labels of the list of a loop.
    fn list_of(
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
    fn item(&mut self, scope: &PlanScope<'a, '_>, step: Option<u32>) -> LabelsId {
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

    fn own_round(&mut self, scope: &PlanScope<'a, '_>, index: u32) -> LabelsId {
        let known = scope.known.borrow().rounds.get(&index).copied();
        match known {
            Some(round) => round,
            None => self.open_output(scope, index),
        }
    }

    /// Returns the labels of the outcome of a step: success, data, error and tool.
    fn result_of(&mut self, scope: &PlanScope<'a, '_>, index: u32, is_own: bool) -> LabelsId {
        let data = if is_own {
            self.own_round(scope, index)
        } else {
            self.output_of(scope, index)
        };
        let error = self.error_of(scope, index);
        let nothing = self.store.nothing();
        self.store.object([
            (Arc::from("success"), nothing),
            (Arc::from("data"), data),
            (Arc::from("error"), error),
            (Arc::from("tool"), nothing),
        ])
    }

    /// Returns the label of the error of a step. Its text may be a stranger's.
    fn error_of(&mut self, scope: &PlanScope<'a, '_>, index: u32) -> LabelsId {
        let Some((step, checked)) = scope.step(index) else {
            return self.store.nothing();
        };
        let tool = checked.tool.as_ref().map(|tool| tool.qualified_name());
        let origin = Origin::Output {
            step: scope.step_path(step),
            tool: tool.unwrap_or_default().into(),
            field: Arc::from("error"),
        };
        let flags = Flags {
            untrusted: true,
            private: false,
        };
        let node = self.store.graph.origin(origin, flags);
        self.store.whole(node)
    }

    fn slot(&mut self, scope: &PlanScope<'a, '_>, kind: SlotKind, path: &[Segment]) -> LabelsId {
        let key = (kind, path.to_vec());
        if let Some(known) = scope.known.borrow().slots.get(&key) {
            return *known;
        }
        let writers = scope
            .plan
            .producers(&Read::part(Source::Slot(kind), path.to_vec()));
        let labels = if writers.len() > MAX_WRITERS {
            self.whole_slot(scope, kind, path, &writers)
        } else {
            let mut values = self.initial(scope, kind, path);
            for writer in writers {
                self.written(scope, writer, kind, path, &mut values);
            }
            self.store.any_of(values)
        };
        scope.known.borrow_mut().slots.insert(key, labels);
        labels
    }

    /// Returns one label for a slot with many writers.
    fn whole_slot(
        &mut self,
        scope: &PlanScope<'a, '_>,
        kind: SlotKind,
        path: &[Segment],
        writers: &[u32],
    ) -> LabelsId {
        let name = path.first().and_then(|first| match first {
            Segment::Key(key) => Some(Arc::clone(key)),
            Segment::Index(_) | Segment::Each => None,
        });
        let key = (kind, name);
        if let Some(known) = scope.known.borrow().whole_slots.get(&key) {
            return *known;
        }
        let first = path.get(..1).unwrap_or_default().to_vec();
        let mut values = self.initial(scope, kind, &first);
        // Writers of other parts of the slot count as well, so that the label serves all paths.
        let all = scope.plan.producers(&Read::part(Source::Slot(kind), first));
        let writers = if all.is_empty() { writers } else { &all };
        for writer in writers {
            values.push(self.output_of(scope, *writer));
            let writes = scope
                .step(*writer)
                .and_then(|(step, _)| step.writes.as_ref());
            if writes.is_some_and(|writes| matches!(writes.targets, Targets::OneOf(_))) {
                values.push(self.error_of(scope, *writer));
            }
        }
        let labels = self.store.join_of(&values);
        scope.known.borrow_mut().whole_slots.insert(key, labels);
        labels
    }

    /// Returns the labels of the content of a slot before the first step.
    fn initial(
        &mut self,
        scope: &PlanScope<'a, '_>,
        kind: SlotKind,
        path: &[Segment],
    ) -> Vec<LabelsId> {
        let plan = scope.plan.plan();
        let mut values = Vec::new();
        if plan.contents.iter().any(|content| content.kind == kind) {
            values.push(self.store.planner());
        }
        if matches!(kind, SlotKind::Inputs | SlotKind::Vars) {
            if !scope.is_main {
                values.push(self.store.at(scope.inputs, path));
            }
            // The default of an inner plan's input is part of the plan.
            let has_default = plan.inputs.iter().any(|input| {
                let is_read = kind == SlotKind::Inputs || input.kind == InputKind::Variable;
                let is_it = path
                    .first()
                    .is_none_or(|first| matches!(first, Segment::Key(key) if *key == input.name));
                is_read && is_it && input.default.is_some()
            });
            if scope.is_main || has_default {
                values.push(self.store.planner());
            }
        }
        if let Some((around, shared)) = scope.around
            && shared.contains(&kind)
        {
            values.push(self.slot(around, kind, path));
        }
        values
    }

    /// Adds the labels of what `writer` may write to the part of a slot at `path`.
    fn written(
        &mut self,
        scope: &PlanScope<'a, '_>,
        writer: u32,
        kind: SlotKind,
        path: &[Segment],
        values: &mut Vec<LabelsId>,
    ) {
        let Some((step, _)) = scope.step(writer) else {
            return;
        };
        let Some(writes) = &step.writes else {
            return;
        };
        let targets = writes.targets.paths();
        for (position, target) in targets.iter().enumerate() {
            if target.kind != kind {
                continue;
            }
            let is_last = position + 1 == targets.len();
            let output = self.output_of(scope, writer);
            self.add_written(output, target, writes.method, path, values);
            // The last of several targets receives the error instead.
            if is_last && matches!(writes.targets, Targets::OneOf(_)) {
                let error = self.error_of(scope, writer);
                self.add_written(error, target, Method::Set, path, values);
            }
        }
    }

    fn add_written(
        &mut self,
        written: LabelsId,
        target: &SlotPath,
        method: Method,
        path: &[Segment],
        values: &mut Vec<LabelsId>,
    ) {
        let common = target.keys.len().min(path.len());
        let is_overlap = target
            .keys
            .iter()
            .zip(path)
            .all(|(key, segment)| match segment {
                Segment::Key(other) => key == other,
                Segment::Index(_) | Segment::Each => true,
            });
        if !is_overlap {
            return;
        }
        let content = match method {
            Method::Set | Method::Merge | Method::Assign | Method::Concat => written,
            Method::Push => self.store.list(written),
        };
        let rest = path.get(common..).unwrap_or_default();
        let part = self.store.at(content, rest);
        // The slot is inside what is read.
        let inside = target.keys.get(common..).unwrap_or_default();
        let wrapped = inside.iter().rev().fold(part, |inner, key| {
            self.store.object([(Arc::clone(key), inner)])
        });
        values.push(wrapped);
    }
}

/// Returns true if `read` may read the error of `writer`, which exists only if the call failed.
fn receives_error(scope: &PlanScope<'_, '_>, writer: u32, read: &Read) -> bool {
    let step = scope.step(writer);
    let writes = step.and_then(|(step, _)| step.writes.as_ref());
    let Some(Targets::OneOf(targets)) = writes.map(|writes| &writes.targets) else {
        return false;
    };
    targets.last().is_some_and(|target| {
        let mut common = target.keys.iter().zip(&read.path);
        read.source == Source::Slot(target.kind)
            && common.all(|(key, segment)| !matches!(segment, Segment::Key(other) if other != key))
    })
}

/// Returns true if the step stands for the results of earlier runs.
fn is_recalled(step: &Step) -> bool {
    step.id.as_str() == RECALLED_STEP && step.place == crate::Place::NOWHERE
}

/// The place of an expression.
struct ExpressionScope<'s, 'a, 'p, 'q> {
    analysis: &'s mut Analysis<'a>,
    scope: &'s PlanScope<'a, 'p>,
    step: Option<u32>,
    bindings: &'q [Form],
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

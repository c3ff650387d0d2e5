//! The analysis of a plan: labels every step in the order of the data, inner plans included.

mod control;
mod outcomes;
mod reads;
mod scope;
mod slots;

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, OnceLock};

use self::outcomes::reads_outcomes;
use self::scope::PlanScope;
use self::slots::MAX_WRITERS;
use super::graph::{Flags, LabelGraph, LabelOrigin, NodeId};
use super::labels::{ItemSource, LabelStore, LabelsId};
use super::parameters::{AllArgumentRules, ArgumentPart, CallArgument, arguments};
use super::policy::{FlowPolicy, PlannerLabel};
use super::report::{Confidentiality, FlowEdge, FlowReport, Integrity, ValueLabels};
use super::report_builder::{ReportBuilder, StepParameter};
use super::traces::FlowGraph;
use crate::check::{CheckedData, Releases};
use crate::plan::{Action, ForEach, Node, NodeKind, OnError, Output, RECALLED_STEP, Source};
use crate::schema::Type;
use crate::{CheckedPlan, CheckedStep, Hashing, Place, Sources, Step, Value};

/// The input of an analysis besides the plan.
#[derive(Clone, Copy, Debug)]
pub struct FlowContext<'a> {
    /// The flow policy.
    pub policy: &'a FlowPolicy,
    /// The secrets that tools may receive: a secret does not violate the policy in a tool that its list names.
    pub releases: &'a Releases,
    /// True if the report lists the [edges](FlowReport::edges). They are for pictures; a check spares the work.
    pub with_edges: bool,
    /// The labels of the results of earlier runs that the plan refers to.
    pub recalled: Option<&'a RecalledLabels>,
    /// The labels of retained results: an earlier plan of the same run computed them, and they stay although this plan would
    /// compute them from other data.
    pub retained: Option<&'a StepLabels>,
}

impl<'a> FlowContext<'a> {
    /// Creates a context of an analysis without edges and without known results of earlier runs.
    pub fn new(policy: &'a FlowPolicy, releases: &'a Releases) -> Self {
        Self {
            policy,
            releases,
            with_edges: false,
            recalled: None,
            retained: None,
        }
    }

    /// Sets that the report lists the edges.
    #[must_use]
    pub fn with_edges(mut self) -> Self {
        self.with_edges = true;
        self
    }
}

/// The labels of results of earlier runs, by run and step. Results without labels count as untrusted and private.
pub type RecalledLabels = BTreeMap<Arc<str>, StepLabels>;

/// The labels of the outputs of a plan's steps, by step.
pub type StepLabels = BTreeMap<Arc<str>, ValueLabels>;

/// Analyzes the flow of data in `plan`.
pub fn analyze(plan: &CheckedPlan, context: FlowContext<'_>) -> FlowReport {
    FlowAnalysis::new(plan.data(), context).finish()
}

/// An analysis of a main plan, which may go along with another walk over its steps: a large plan does not fit into the caches of
/// a processor.
pub(crate) struct FlowAnalysis<'a> {
    analysis: Analysis<'a>,
    main: PlanScope<'a, 'a>,
    walk: StepWalk,
}

impl<'a> FlowAnalysis<'a> {
    /// Begins the analysis of `plan`.
    pub(crate) fn new(plan: &'a CheckedData, context: FlowContext<'a>) -> Self {
        let mut analysis = Analysis::new(context);
        let main = analysis.main_scope(plan);
        let walk = StepWalk::of(&main);
        Self {
            analysis,
            main,
            walk,
        }
    }

    /// Labels the steps up to `last`, as far as the order of the data allows.
    pub(crate) fn label_up_to(&mut self, last: u32) {
        self.analysis
            .steps(&self.main, None, &mut self.walk, Some(last));
    }

    /// Labels the other steps and the output, and returns the report.
    pub(crate) fn finish(mut self) -> FlowReport {
        let output = self.analysis.plan(&self.main, None, self.walk);
        self.analysis.report(output)
    }
}

/// Returns the labels of the outputs of the steps of `plan`, without inner plans. `stated` are the labels that servers have
/// stated for outputs.
pub fn step_labels(
    plan: &CheckedPlan,
    context: FlowContext<'_>,
    stated: &[(Arc<str>, ValueLabels)],
) -> StepLabels {
    let mut analysis = Analysis::new(context);
    analysis.store.set_stated(stated);
    let main = analysis.main_scope(plan.data());
    analysis.plan(&main, None, StepWalk::of(&main));
    let outputs: Vec<_> = (0_u32..)
        .zip(&plan.plan().steps)
        .map(|(index, step)| {
            let output = analysis.output_of(&main, index);
            (Arc::clone(step.id.text()), output)
        })
        .collect();
    analysis.labels_of(outputs)
}

/// Returns the labels of the arguments of the steps of `plan` and of its inner plans, by the paths of the steps. `stated` are the
/// labels that servers have stated for outputs.
pub fn argument_labels(
    plan: &CheckedPlan,
    context: FlowContext<'_>,
    stated: &[(Arc<str>, ValueLabels)],
) -> StepLabels {
    // Otherwise arguments that no rule is about would have no labels.
    let mut analysis = Analysis::new(context.with_edges());
    analysis.store.set_stated(stated);
    let main = analysis.main_scope(plan.data());
    analysis.plan(&main, None, StepWalk::of(&main));
    let arguments = std::mem::take(&mut analysis.labelled_arguments);
    analysis.labels_of(arguments)
}

/// Returns the number of nodes of the label graph of `plan`.
#[cfg(test)]
pub(super) fn graph_size(plan: &CheckedPlan, context: FlowContext<'_>) -> usize {
    let mut analysis = Analysis::new(context);
    let main = analysis.main_scope(plan.data());
    analysis.plan(&main, None, StepWalk::of(&main));
    analysis.store.graph.len()
}

struct Analysis<'a> {
    context: FlowContext<'a>,
    store: LabelStore<'a>,
    arguments: AllArgumentRules<'a>,
    /// The labels of the fact that an inner plan fails, by the address of the plan.
    failure_flags: HashMap<*const CheckedPlan, Flags, Hashing>,
    texts: Vec<Sources>,
    parameters: Vec<StepParameter<'a>>,
    /// True if a rule asks what decides calls, if edges are listed, or if the plan reads outcomes of steps.
    follows_control: bool,
    /// True if the plan reads outcomes of steps.
    reads_outcomes: bool,
    /// The reads of outputs of other steps, if edges are listed.
    reads: Vec<StepRead>,
    /// The labels of all arguments of each step, by its path, if edges are listed.
    labelled_arguments: Vec<(Arc<str>, LabelsId)>,
    /// The number of writers of slots with many of them whose outputs may still be labelled by field.
    writers_left: usize,
}

/// A read of a step's output by another step.
struct StepRead {
    from: Arc<str>,
    to: Arc<str>,
    /// The label of the part of the output.
    part: NodeId,
    /// The label of the value that was computed from it; `None` until it is known.
    value: Option<NodeId>,
}

/// Joins the reads of each pair of steps.
fn edges(reads: &[StepRead], graph: &LabelGraph) -> Vec<FlowEdge> {
    let mut pairs: BTreeMap<(&Arc<str>, &Arc<str>), Flags> = BTreeMap::new();
    for read in reads {
        let flags = pairs.entry((&read.to, &read.from)).or_default();
        let part = graph.flags(read.part);
        // A field of the part that the value does not depend on has no influence on its label.
        let value = read.value.map_or(part, |value| graph.flags(value));
        flags.untrusted |= part.untrusted && value.untrusted;
        flags.private |= part.private && value.private;
    }
    let edge = |((to, from), flags): ((&Arc<str>, &Arc<str>), Flags)| FlowEdge {
        from: Arc::clone(from),
        to: Arc::clone(to),
        integrity: Integrity::of(flags.untrusted),
        confidentiality: Confidentiality::of(flags.private),
    };
    pairs.into_iter().map(edge).collect()
}

/// A walk over the steps of a plan.
struct StepWalk {
    /// The positions of all steps in the order in which they are visited.
    order: Vec<u32>,
    /// The number of parameters of each step that was visited so far.
    parameters: Vec<usize>,
}

impl StepWalk {
    fn of(scope: &PlanScope<'_, '_>) -> Self {
        let order = scope.data_order();
        Self {
            parameters: Vec::with_capacity(order.len()),
            order,
        }
    }
}

impl<'a> Analysis<'a> {
    fn new(context: FlowContext<'a>) -> Self {
        let planner = Flags {
            untrusted: context.policy.planner == PlannerLabel::Exposed,
            private: false,
        };
        // Conditions and lists of loops have edges, too.
        let follows_control = context.with_edges || !context.policy.decides.is_empty();
        let mut store = LabelStore::new(planner);
        store.follows_failures = follows_control;
        Self {
            context,
            store,
            arguments: AllArgumentRules::new(context.policy),
            failure_flags: HashMap::default(),
            texts: Vec::new(),
            parameters: Vec::new(),
            follows_control,
            reads_outcomes: false,
            reads: Vec::new(),
            labelled_arguments: Vec::new(),
            writers_left: MAX_WRITERS,
        }
    }

    /// Returns the labels of values of steps, which are joined if they have the same path.
    fn labels_of(mut self, values: Vec<(Arc<str>, LabelsId)>) -> StepLabels {
        let values: Vec<_> = values
            .into_iter()
            .map(|(step, value)| (step, self.store.join(value)))
            .collect();
        self.store.complete_parts();
        self.store.graph.propagate();
        let mut labels = StepLabels::new();
        for (step, node) in values {
            let Flags { untrusted, private } = self.store.graph.flags(node);
            let known = labels.entry(step).or_default();
            *known = known.joined(ValueLabels::new(untrusted, private));
        }
        labels
    }

    fn main_scope<'p>(&mut self, plan: &'a CheckedData) -> PlanScope<'a, 'p> {
        let steps = plan.plan().steps.len();
        self.store.reserve(steps);
        // Some parameters of a call are guarded or leave.
        self.parameters.reserve(steps * 4);
        self.reads_outcomes = reads_outcomes(plan);
        self.follows_control |= self.reads_outcomes;
        self.store.follows_failures |= self.reads_outcomes;
        let inputs = self.store.planner();
        let text = self.add_text(&plan.plan().sources);
        PlanScope::new(plan, Arc::from(""), text, inputs, true)
    }

    fn add_text(&mut self, sources: &Sources) -> usize {
        self.texts.push(sources.clone());
        self.texts.len() - 1
    }

    /// Labels the steps of `walk` up to the first one after `last`, or all of them.
    fn steps(
        &mut self,
        scope: &PlanScope<'a, '_>,
        control: Option<NodeId>,
        walk: &mut StepWalk,
        last: Option<u32>,
    ) {
        let is_due = |index: &&u32| last.is_none_or(|last| **index <= last);
        while let Some(index) = walk.order.get(walk.parameters.len()).filter(is_due) {
            let before = self.parameters.len();
            self.step(scope, *index, control);
            walk.parameters.push(self.parameters.len() - before);
        }
    }

    /// Labels all other steps of a plan and returns the labels of its output.
    fn plan(
        &mut self,
        scope: &PlanScope<'a, '_>,
        control: Option<NodeId>,
        mut walk: StepWalk,
    ) -> LabelsId {
        self.steps(scope, control, &mut walk, None);
        self.sort_parameters(walk);
        if self.context.with_edges {
            self.add_slot_edges(scope);
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

    /// Sorts the parameters of the steps of a complete walk by the positions of the steps.
    fn sort_parameters(&mut self, walk: StepWalk) {
        if walk.order.is_sorted() {
            return;
        }
        let first = self.parameters.len() - walk.parameters.iter().sum::<usize>();
        let steps = walk.order.into_iter().zip(walk.parameters);
        let steps = steps.flat_map(|(index, count)| std::iter::repeat_n(index, count));
        let mut parameters: Vec<_> = steps.zip(self.parameters.drain(first..)).collect();
        parameters.sort_by_key(|(index, _)| *index);
        let parameters = parameters.into_iter().map(|(_, parameter)| parameter);
        self.parameters.extend(parameters);
    }

    /// Spreads all labels and returns the report; the output of the main plan has the labels `output`.
    fn report(mut self, output: LabelsId) -> FlowReport {
        let texts = self.store.texts(output);
        let output = self.store.join(output);
        let text = self.store.join_texts(&texts);
        self.store.complete_parts();
        let Analysis {
            context,
            mut store,
            parameters,
            texts: plan_texts,
            reads,
            ..
        } = self;
        store.graph.propagate();
        let edges = edges(&reads, &store.graph);
        let graph = Arc::new(FlowGraph::new(store.graph, plan_texts));
        let is_untrusted = |text: &NodeId| graph.graph.flags(*text).untrusted;
        let exposes = texts.has_untrusted_output || texts.computed.iter().any(is_untrusted);
        let flags = graph.graph.flags(output);
        let builder = ReportBuilder {
            context,
            graph: &graph,
        };
        let (parameters, diagnostics) = builder.build(parameters);
        FlowReport {
            by_step: OnceLock::new(),
            edges,
            exposes,
            parameters,
            diagnostics,
            output_sources: graph.sources(output),
            text_sources: text.map(|text| graph.sources(text)).unwrap_or_default(),
            retained: context.retained.cloned().unwrap_or_default(),
            on_violation: context.policy.violation,
            planner: context.policy.planner,
            policy: context.policy.digest().into(),
            output: ValueLabels::new(flags.untrusted, flags.private),
        }
    }

    fn step(&mut self, scope: &PlanScope<'a, '_>, index: u32, around: Option<NodeId>) {
        let Some((step, checked)) = scope.step(index) else {
            return;
        };
        let failing_around = std::mem::take(&mut self.store.failing);
        let control = self.control(scope, index, step, around);
        if self.reads_outcomes {
            self.add_skipping(scope, index, step);
        }
        let round = self.round(scope, index, step, checked, control);
        scope.known.borrow_mut().rounds.insert(index, round);
        let mut output = match &step.for_each {
            Some(for_each) => {
                let over = self.list_of(scope, index, for_each);
                let source = self.item_source(scope, index, step, round);
                let item = self.item(scope, Some(index));
                let part = match (source, &step.action) {
                    (ItemSource::Counted, Action::Tool(_)) => round,
                    (ItemSource::Counted, _) => self.store.marked(round, item, over),
                    (ItemSource::Other, _) if for_each.with_item => self.store.sized(round, over),
                    (ItemSource::Other, _) => round,
                };
                if for_each.with_item {
                    let fields = [
                        (Arc::from(ForEach::ITEM), item),
                        (Arc::from(ForEach::OUTPUT), part),
                    ];
                    let part = self.store.record(fields);
                    self.store.list_like(over, part, ItemSource::Counted)
                } else {
                    self.store.list_like(over, part, source)
                }
            }
            None => round,
        };
        if let OnError::Output(instead) = &step.on_error {
            let instead = self.node(scope, Some(index), instead);
            output = self.store.any_of(&[output, instead]);
        }
        output = self.with_retained(scope, step, output);
        scope.known.borrow_mut().outputs.insert(index, output);
        let open = scope.known.borrow().open.get(&index).copied();
        self.complete(open, output);
        // The condition of a loop reads the round that has just ended. It decides further rounds, and which is the last; the step fails
        // if it never holds.
        let is_counted = scope.known.borrow().rounds_counted.contains_key(&index);
        if let (Some(repeat), true) = (&step.repeat, self.follows_control || is_counted) {
            let condition = self.node(scope, Some(index), &repeat.until);
            let until = self.store.join(condition);
            if self.follows_control {
                let presence = self.presence(scope, index);
                self.store.graph.extend(presence, until);
            }
            let rounds = self.rounds_of(scope, index);
            self.store.graph.extend(rounds, until);
            self.store.fails_by(condition);
        }
        let failing = std::mem::replace(&mut self.store.failing, failing_around);
        self.add_failures(scope, index, step, failing);
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
                if tool.is_extraction() {
                    return self.extraction(scope, index, step, tool);
                }
                let path = scope.step_path(step);
                let tool_id = self.store.tool(self.context.policy, tool);
                let output = self.store.output(Arc::clone(&path), tool_id);
                // The arguments may read the last round.
                scope.known.borrow_mut().rounds.insert(index, output);
                let labels = self.call_arguments(scope, index, step, tool);
                self.set_arguments(scope, index, labels);
                let tool_name = self.store.tool_name(tool_id);
                let rules = self.arguments.of(tool);
                let Some(rules) = self.arguments.get_mut(rules) else {
                    return output;
                };
                let part = ArgumentPart::Node(&step.args);
                for argument in arguments(&mut self.store, rules, tool, part, labels) {
                    let CallArgument {
                        parameter,
                        guard,
                        leaves,
                        decides,
                        place,
                        labels,
                    } = argument;
                    let label = self.store.join(labels);
                    self.parameters.push(StepParameter {
                        step: Arc::clone(&path),
                        tool,
                        tool_name: tool_name.clone(),
                        parameter,
                        guard,
                        leaves,
                        control: control.filter(|_| decides),
                        label,
                        text: scope.text,
                        place: if place == Place::NOWHERE {
                            name.place
                        } else {
                            place
                        },
                    });
                }
                output
            }
            (Action::Value(value), ..) if is_recalled(step) => self.recalled(value),
            (Action::Value(value), ..) => {
                let last = self.open_round(scope, index, step);
                let output = self.node(scope, Some(index), value);
                self.complete(last, output);
                self.set_arguments(scope, index, output);
                output
            }
            (Action::Plan(call), _, Some(inner)) => {
                let last = self.open_round(scope, index, step);
                let inputs = self.node(scope, Some(index), &step.args);
                self.set_arguments(scope, index, inputs);
                let prefix = format!("{}{}/", scope.prefix, step.id);
                let has_text = inner.plan().sources.iter().next().is_some();
                let text = if has_text {
                    self.add_text(&inner.plan().sources)
                } else {
                    scope.text
                };
                let mut inner_scope =
                    PlanScope::new(inner.data(), prefix.into(), text, inputs, false);
                inner_scope.around = Some((scope, &call.scopes));
                inner_scope.around_step = Some(index);
                inner_scope.has_slots |= !call.scopes.is_empty();
                let mut output = self.plan(&inner_scope, control, StepWalk::of(&inner_scope));
                if step.repeat.is_some() && reads_rounds(&step.args) {
                    let rounds = self.rounds_of(scope, index);
                    output = self.store.chosen_round(output, rounds);
                }
                if self.follows_control {
                    self.add_presence_of_output(scope, index, &inner_scope);
                    for node in inner_scope.known.borrow().failures.values() {
                        let failure = self.store.scalar(node);
                        self.store.fails_by(failure);
                    }
                }
                self.complete(last, output);
                output
            }
            // Only checked plans get here, whose tools and plans are known.
            (Action::Tool(_) | Action::Plan(_), ..) => self.unknown(scope, step),
        }
    }

    /// Returns labels of the last round of a step that repeats, which are completed once its output is known.
    fn open_round(
        &mut self,
        scope: &PlanScope<'a, '_>,
        index: u32,
        step: &Step,
    ) -> Option<LabelsId> {
        step.repeat.as_ref()?;
        let last = self.store.open_value();
        scope.known.borrow_mut().rounds.insert(index, last);
        Some(last)
    }

    fn complete(&mut self, open: Option<LabelsId>, value: LabelsId) {
        if let Some(open) = open {
            self.store.complete(open, value);
        }
    }

    /// Returns the labels of results of earlier runs, which are in `value` by run and step. Those without known labels count
    /// as untrusted, and as private if anything may be.
    fn recalled(&mut self, value: &Node) -> LabelsId {
        let recalled = self.context.recalled;
        let runs = match &value.kind {
            NodeKind::Literal(value) => value.as_object(),
            _ => None,
        };
        let Some(runs) = runs else {
            return self.recalled_part("", None, None);
        };
        let runs: Vec<_> = runs
            .iter()
            .map(|(run, steps)| {
                let steps = steps.as_object().into_iter().flatten();
                let steps: Vec<_> = steps
                    .map(|(step, value)| {
                        let labels = recalled.and_then(|labels| labels.get(run)?.get(step));
                        let field = format!("{run}.{step}");
                        let part = self.recalled_part(&field, labels.copied(), Some(value));
                        (Arc::clone(step), part)
                    })
                    .collect();
                (Arc::clone(run), self.store.record(steps))
            })
            .collect();
        self.store.record(runs)
    }

    fn recalled_part(
        &mut self,
        field: &str,
        labels: Option<ValueLabels>,
        value: Option<&Value>,
    ) -> LabelsId {
        let origin = LabelOrigin::Output {
            step: Arc::from(RECALLED_STEP),
            tool: Arc::from(RECALLED_STEP),
            field: Arc::from(field),
            is_error: false,
        };
        let unknown = Flags {
            untrusted: true,
            private: !self.context.policy.private.is_empty(),
        };
        let node = self
            .store
            .graph
            .origin(origin, labels.map_or(unknown, Flags::from));
        match value {
            Some(value) => self.store.recalled(value, node),
            None => self.store.whole(node),
        }
    }

    /// Returns the labels of the output of a step whose result an earlier plan may have computed, or a planner may have set.
    fn with_retained(
        &mut self,
        scope: &PlanScope<'a, '_>,
        step: &Step,
        output: LabelsId,
    ) -> LabelsId {
        let retained = self.context.retained;
        let Some(retained) = retained.filter(|retained| !retained.is_empty()) else {
            return output;
        };
        let path = scope.step_path(step);
        let Some(labels) = retained.get(&path) else {
            return output;
        };
        let origin = LabelOrigin::Retained(path);
        let node = self.store.graph.origin(origin, Flags::from(*labels));
        let earlier = self.store.typed(&Type::Any, node);
        self.store.any_of(&[output, earlier])
    }

    fn unknown(&mut self, scope: &PlanScope<'a, '_>, step: &Step) -> LabelsId {
        let origin = LabelOrigin::Output {
            step: scope.step_path(step),
            tool: Arc::from(""),
            field: Arc::from(""),
            is_error: false,
        };
        let flags = Flags {
            untrusted: true,
            private: true,
        };
        let node = self.store.graph.origin(origin, flags);
        self.store.whole(node)
    }

    /// Returns the labels of a step's output, or labels that are completed once it is known.
    fn output_of(&mut self, scope: &PlanScope<'a, '_>, index: u32) -> LabelsId {
        let known = scope.known.borrow().outputs.get(index);
        match known {
            Some(output) => output,
            None => self.open_output(scope, index),
        }
    }

    fn open_output(&mut self, scope: &PlanScope<'a, '_>, index: u32) -> LabelsId {
        let mut known = scope.known.borrow_mut();
        let open = known.open.entry(index);
        *open.or_insert_with(|| self.store.open_value())
    }
}

/// Returns true if `node` reads the number of the round, or the last one.
fn reads_rounds(node: &Node) -> bool {
    let mut is_found = false;
    node.each_reference(&mut |reference| {
        reference.each_read(&mut |read| {
            is_found |= matches!(read.source, Source::Index | Source::Last);
        });
    });
    is_found
}

/// Returns true if the step stands for the results of earlier runs.
fn is_recalled(step: &Step) -> bool {
    step.id.as_str() == RECALLED_STEP && step.place == crate::Place::NOWHERE
}

//! A plan as a graph, from which every kind of picture is drawn, with the notes about a step beside its id and tool.

use std::time::Duration;

use planwright_core::check::{DependencyKind, dependencies};
use planwright_core::expression::print_form;
use planwright_core::flow::ValueLabels;
use planwright_core::plan::{
    Action, Approval, Concurrency, Method, Mode, Node, NodeKind, OnError, OnFailure, Ordering,
    Output, PlanTarget, Read, Reference, Segment, Source, Targets, TextPart,
};
use planwright_core::schema::{replace_parts, secret_parts};
use planwright_core::{CheckedPlan, CheckedStep, Dependency, Plan, Step, Value};
use planwright_engine::run::MASK;

use super::flow_labels::{Violation, mark};
use super::state::StepState;
use super::symbols::{Mark, Symbols};
use crate::terminal_text;

/// A plan as a graph.
#[derive(Clone, Debug)]
pub(super) struct Graph {
    pub(super) name: Option<String>,
    pub(super) title: Option<String>,
    pub(super) inputs: Vec<GraphInput>,
    pub(super) instances: Vec<String>,
    pub(super) steps: Vec<GraphStep>,
    pub(super) edges: Vec<Edge>,
    /// The output; `None` if it is the default, all outputs.
    pub(super) output: Option<String>,
    pub(super) ordering: Ordering,
    pub(super) on_failure: OnFailure,
    pub(super) mode: Mode,
}

/// An input of the plan.
#[derive(Clone, Debug)]
pub(super) struct GraphInput {
    pub(super) name: String,
    /// As JSON.
    pub(super) default: Option<planwright_core::Value>,
    pub(super) is_supplied: bool,
}

/// A default value with `[redacted]` in place of the parts that its schema declares secret.
fn without_secrets(schema: &Value, default: &Value) -> Value {
    let parts = secret_parts(schema, default);
    replace_parts(default, &parts, &Value::from(MASK))
}

/// A step.
#[derive(Clone, Debug)]
pub(super) struct GraphStep {
    pub(super) id: String,
    pub(super) title: Option<String>,
    pub(super) action: ActionLabel,
    pub(super) arguments: Vec<GraphArgument>,
    pub(super) for_each: Option<String>,
    pub(super) max_parallel: Option<u32>,
    pub(super) when: Option<String>,
    pub(super) repeat: Option<(String, u32)>,
    pub(super) asks: bool,
    pub(super) alone: bool,
    pub(super) attempts: Option<u32>,
    pub(super) timeout: Option<Duration>,
    pub(super) on_error: Failing,
    pub(super) writes: Vec<String>,
    /// True if the step writes only one of the slots.
    writes_one: bool,
    pub(super) method: Method,
    pub(super) instance: Option<String>,
    /// The tool that undoes the call.
    undo: Option<String>,
    pub(super) mark: Option<Mark>,
    pub(super) state: Option<StepState>,
    /// The violations of the flow policy, if they are marked.
    pub(super) violations: Vec<Violation>,
}

/// An argument of a step, or the value that it computes.
#[derive(Clone, Debug)]
pub(super) struct GraphArgument {
    pub(super) name: String,
    /// The value on one line, references as they were written.
    pub(super) value: String,
    /// The sources of the value, such as `weather` and `inputs.city`; empty if the plan has it as it is.
    pub(super) origins: Vec<String>,
}

/// The action of a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ActionLabel {
    Tool(String),
    /// Runs the plan that is drawn under this name.
    Plan(String),
    /// Runs the plan that the step contains, which is drawn under this name.
    Inline(String),
    Value,
}

/// The effect of a step's failure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Failing {
    Fails,
    Continues,
    Gives(String),
}

/// A dependency of one step on another, by position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Edge {
    pub(super) from: usize,
    pub(super) to: usize,
    pub(super) kind: DependencyKind,
    pub(super) optional: bool,
    /// The labels of the values that flow along the edge, if they are marked.
    pub(super) labels: Option<ValueLabels>,
}

impl Edge {
    /// Returns true if data flows along the edge in any case.
    pub(super) fn is_solid(self) -> bool {
        matches!(self.kind, DependencyKind::Data | DependencyKind::Slot) && !self.optional
    }

    /// Returns the labels that a picture marks; `None` for trusted and public values.
    pub(super) fn mark(self) -> Option<&'static str> {
        self.labels.and_then(mark)
    }
}

impl Graph {
    /// The graph of a sound plan. `inside` is the path of the step whose plan it is.
    pub(super) fn of(checked: &CheckedPlan, inside: &str) -> Self {
        let mut graph = Self::without_edges(checked.plan(), inside);
        for input in &mut graph.inputs {
            input.is_supplied = checked.inputs().get(input.name.as_str()) != input.default.as_ref();
        }
        for (step, known) in graph.steps.iter_mut().zip(checked.steps()) {
            step.asks |= asks(known);
        }
        graph.edges = edges(
            checked
                .steps()
                .iter()
                .map(|step| step.dependencies.as_slice()),
        );
        graph
    }

    /// The graph of the valid parts of a plan that may have errors.
    pub(super) fn of_unchecked(plan: &Plan, inside: &str) -> Self {
        let dependencies = dependencies(plan);
        Self {
            edges: edges(dependencies.iter().map(Vec::as_slice)),
            ..Self::without_edges(plan, inside)
        }
    }

    fn without_edges(plan: &Plan, inside: &str) -> Self {
        Self {
            name: plan.name.as_deref().map(str::to_owned),
            title: plan.title.as_deref().map(str::to_owned),
            inputs: plan
                .inputs
                .iter()
                .map(|input| GraphInput {
                    name: input.name.to_string(),
                    default: input
                        .default
                        .as_ref()
                        .map(|default| without_secrets(&input.schema, default)),
                    is_supplied: false,
                })
                .collect(),
            instances: plan.instances.iter().map(ToString::to_string).collect(),
            steps: plan
                .steps
                .iter()
                .map(|step| GraphStep::of(step, inside))
                .collect(),
            edges: Vec::new(),
            output: match &plan.output {
                Output::All => None,
                Output::Steps(names) => {
                    let names: Vec<&str> = names.iter().map(|name| &*name.text).collect();
                    Some(names.join(", "))
                }
                Output::Value(node) => Some(node_text(node)),
            },
            ordering: plan.ordering,
            on_failure: plan.on_failure,
            mode: plan.mode,
        }
    }
}

impl GraphStep {
    fn of(step: &Step, inside: &str) -> Self {
        Self {
            id: step.id.to_string(),
            title: step.title.as_deref().map(str::to_owned),
            action: match &step.action {
                Action::Tool(name) => ActionLabel::Tool(name.text.to_string()),
                Action::Value(_) => ActionLabel::Value,
                Action::Plan(call) => match &call.target {
                    PlanTarget::Named(name) => ActionLabel::Plan(name.text.to_string()),
                    PlanTarget::Inline(_) => ActionLabel::Inline(path_of(inside, step)),
                },
            },
            arguments: arguments(step),
            for_each: step
                .for_each
                .as_ref()
                .map(|for_each| node_text(&for_each.over)),
            max_parallel: step
                .for_each
                .as_ref()
                .and_then(|for_each| for_each.max_parallel.map(std::num::NonZeroU32::get)),
            when: step.when.as_ref().map(node_text),
            repeat: step
                .repeat
                .as_ref()
                .map(|repeat| (node_text(&repeat.until), repeat.max.get())),
            asks: step.approval == Approval::Ask,
            alone: step.concurrency == Concurrency::Alone,
            attempts: step.retry.map(|retry| retry.attempts().get()),
            timeout: step.timeout,
            on_error: match &step.on_error {
                OnError::Fail => Failing::Fails,
                OnError::Continue => Failing::Continues,
                OnError::Output(node) => Failing::Gives(node_text(node)),
            },
            writes: step.writes.as_ref().map_or_else(Vec::new, |writes| {
                let paths = writes.targets.paths();
                paths.iter().map(ToString::to_string).collect()
            }),
            writes_one: step
                .writes
                .as_ref()
                .is_some_and(|writes| matches!(writes.targets, Targets::OneOf(_))),
            method: step
                .writes
                .as_ref()
                .map_or(Method::Set, |writes| writes.method),
            instance: step.instance.as_deref().map(str::to_owned),
            undo: step.undo.as_ref().map(|undo| undo.tool.text.to_string()),
            mark: None,
            state: None,
            violations: Vec::new(),
        }
    }
}

/// The arguments of `step`, or the value that it computes.
fn arguments(step: &Step) -> Vec<GraphArgument> {
    let argument = |name: &str, node: &Node| GraphArgument {
        name: name.to_owned(),
        value: node_text(node),
        origins: origins(node),
    };
    let mut arguments = Vec::new();
    if let Action::Value(value) = &step.action {
        arguments.push(argument("value", value));
    }
    match &step.args.kind {
        NodeKind::Object(fields) => {
            let named = fields
                .iter()
                .map(|field| argument(&field.key, &field.value));
            arguments.extend(named);
        }
        NodeKind::Literal(Value::Object(fields)) => {
            let named = fields.iter().map(|(name, value)| GraphArgument {
                name: name.to_string(),
                value: value.to_json(),
                origins: Vec::new(),
            });
            arguments.extend(named);
        }
        NodeKind::Literal(_) | NodeKind::Reference(_) | NodeKind::Text(_) | NodeKind::List(_) => {
            arguments.push(argument("arguments", &step.args));
        }
    }
    let positional = step.positional.iter().enumerate();
    arguments.extend(positional.map(|(index, node)| argument(&format!("#{}", index + 1), node)));
    arguments
}

/// The sources of the references of `node`, each once.
fn origins(node: &Node) -> Vec<String> {
    let mut origins = Vec::new();
    node.each_reference(&mut |reference| {
        for read in reference.reads() {
            let origin = origin(read);
            if !origins.contains(&origin) {
                origins.push(origin);
            }
        }
    });
    origins
}

/// The source of a value, as pictures name it.
pub(crate) fn origin(read: &Read) -> String {
    match &read.source {
        Source::Step(id) | Source::Result(id) => id.to_string(),
        Source::Slot(kind) => match read.path.first() {
            Some(Segment::Key(name)) => format!("{kind}.{name}"),
            Some(Segment::Index(_) | Segment::Each) | None => kind.to_string(),
        },
        Source::Item => "the item".to_owned(),
        Source::Index => "the position".to_owned(),
        Source::Last => "the previous round".to_owned(),
        Source::ExternalValue(kind, name) => format!("{}.{name}", kind.as_str()),
    }
}

/// The path of a step of the plan that the step `inside` runs.
pub(super) fn path_of(inside: &str, step: &Step) -> String {
    if inside.is_empty() {
        step.id.to_string()
    } else {
        format!("{inside}/{}", step.id)
    }
}

fn asks(step: &CheckedStep) -> bool {
    step.tool.as_ref().is_some_and(|tool| tool.needs_approval())
}

fn edges<'a>(dependencies: impl Iterator<Item = &'a [Dependency]>) -> Vec<Edge> {
    dependencies
        .enumerate()
        .flat_map(|(to, dependencies)| {
            dependencies.iter().map(move |dependency| Edge {
                from: dependency.on as usize,
                to,
                kind: dependency.kind,
                optional: dependency.optional,
                labels: None,
            })
        })
        .collect()
}

/// `node` on one line, references as they were written.
fn node_text(node: &Node) -> String {
    match &node.kind {
        NodeKind::Literal(value) => value.to_json(),
        NodeKind::Reference(reference) => reference_text(reference),
        NodeKind::Text(parts) => {
            let inside: String = parts.iter().map(part_text).collect();
            format!("\"{inside}\"")
        }
        NodeKind::List(items) => {
            let items: Vec<String> = items.iter().map(node_text).collect();
            format!("[{}]", items.join(", "))
        }
        NodeKind::Object(fields) => {
            let fields: Vec<String> = fields
                .iter()
                .map(|field| {
                    let key = Value::from(&*field.key).to_json();
                    format!("{key}: {}", node_text(&field.value))
                })
                .collect();
            format!("{{{}}}", fields.join(", "))
        }
    }
}

fn part_text(part: &TextPart) -> String {
    match part {
        TextPart::Literal(text) => text.to_string(),
        TextPart::Reference(reference) => reference_text(reference),
    }
}

pub(crate) fn reference_text(reference: &Reference) -> String {
    if reference.text.is_empty() {
        // A program built the plan, so it has no text.
        print_form(&reference.form).map_or_else(String::new, |inside| format!("${{{inside}}}"))
    } else {
        reference.text.to_string()
    }
}

/// The maximum width of a value or condition in a note, in columns.
const MAX_VALUE_WIDTH: usize = 48;

/// Returns the tool that `step` calls, or the plan that it runs.
pub(super) fn action_text(step: &GraphStep) -> String {
    match &step.action {
        ActionLabel::Tool(name) => terminal_text::one_line(name).into_owned(),
        ActionLabel::Plan(name) => format!("plan {}", terminal_text::one_line(name)),
        ActionLabel::Inline(_) => "plan".into(),
        ActionLabel::Value => "value".into(),
    }
}

/// All notes about `step` in full, the condition first.
pub(super) fn whole_notes(step: &GraphStep, symbols: Symbols) -> Vec<String> {
    let whole = |text: &str| terminal_text::one_line(text).into_owned();
    condition_first(step, &whole, symbols)
}

/// Short notes about `step`, the condition first.
pub(super) fn notes(step: &GraphStep, symbols: Symbols) -> Vec<String> {
    condition_first(step, &|text| shortened(text, symbols), symbols)
}

/// Like [`notes`], for pictures that draw the condition separately.
pub(super) fn notes_beside_condition(step: &GraphStep) -> Vec<String> {
    let symbols = Symbols::Unicode;
    let mut notes = states(step, symbols);
    let short = |text: &str| shortened(text, symbols);
    notes.extend(notes_without_condition(step, &short, symbols));
    notes
}

fn condition_first(
    step: &GraphStep,
    short: &dyn Fn(&str) -> String,
    symbols: Symbols,
) -> Vec<String> {
    let mut notes = states(step, symbols);
    if let Some(when) = &step.when {
        notes.push(format!("when {}", short(when)));
    }
    notes.extend(notes_without_condition(step, short, symbols));
    notes
}

fn shortened(text: &str, symbols: Symbols) -> String {
    let line = terminal_text::one_line(text);
    terminal_text::shortened(&line, MAX_VALUE_WIDTH, symbols.ellipsis()).into_owned()
}

/// The id of `step`, after the mark of its state in a drawn run.
pub(super) fn marked_id(step: &GraphStep) -> String {
    let id = terminal_text::one_line(&step.id);
    match &step.state {
        Some(state) => format!("{} {id}", Symbols::Unicode.step(Some(state.mark))),
        None => id.into_owned(),
    }
}

fn states(step: &GraphStep, symbols: Symbols) -> Vec<String> {
    let state = step.state.as_ref();
    state.map_or_else(Vec::new, |state| state.notes(symbols))
}

/// The condition of `step`, shortened.
pub(super) fn condition(step: &GraphStep) -> Option<String> {
    Some(shortened(step.when.as_ref()?, Symbols::Unicode))
}

fn notes_without_condition(
    step: &GraphStep,
    short: &dyn Fn(&str) -> String,
    symbols: Symbols,
) -> Vec<String> {
    let mut notes: Vec<String> = step
        .violations
        .iter()
        .map(|violation| short(&violation.note()))
        .collect();
    if let Some(over) = &step.for_each {
        let at_a_time = step
            .max_parallel
            .map_or_else(String::new, |limit| format!(", {limit} at a time"));
        notes.push(format!("for each of {}{at_a_time}", short(over)));
    }
    if let Some((until, max)) = &step.repeat {
        notes.push(format!("repeat until {} (max {max})", short(until)));
    }
    if step.asks {
        notes.push("asks first".into());
    }
    if step.alone {
        notes.push("alone".into());
    }
    if let Some(attempts) = step.attempts.filter(|attempts| *attempts > 1) {
        notes.push(format!("up to {attempts} attempts"));
    }
    if let Some(timeout) = step.timeout {
        notes.push(format!("within {timeout:?}"));
    }
    match &step.on_error {
        Failing::Fails => {}
        Failing::Continues => notes.push("may fail".into()),
        Failing::Gives(output) => notes.push(format!("on error {}", short(output))),
    }
    if let Some(instance) = &step.instance {
        notes.push(format!("only for {}", short(instance)));
    }
    if !step.writes.is_empty() {
        let between = if step.writes_one { " or " } else { " and " };
        let method = method_note(step.method);
        let slots = short(&step.writes.join(between));
        notes.push(format!("{} {slots}{method}", symbols.gives()));
    }
    if let Some(undo) = &step.undo {
        notes.push(format!("undone by {}", short(undo)));
    }
    if let Some(title) = &step.title {
        notes.push(short(title));
    }
    notes
}

fn method_note(method: Method) -> String {
    // A reader expects that a write replaces the content.
    if method == Method::default() {
        String::new()
    } else {
        format!(" ({method})")
    }
}

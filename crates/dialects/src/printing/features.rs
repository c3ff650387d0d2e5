//! The features of plans beyond steps, tools and arguments, and the order of steps; each dialect supports some of them.

use std::collections::HashSet;
use std::sync::Arc;

use planwright_core::plan::{
    Action, Approval, Concurrency, Form, Idempotency, InputKind, Method, Mode, Node, OnError,
    OnFailure, Ordering, Output, Plan, Sharing, SlotKind, Source, Step, Targets, Writes,
};
use planwright_core::{EXTRACTION, Place, Value};

use super::LossReport;
use crate::document::quote;

/// A feature that a plan may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Feature {
    /// The plan has a name.
    Name,
    /// The plan has a title.
    Title,
    /// The plan has a description.
    Description,
    /// The plan carries metadata.
    Metadata,
    /// The plan has inputs.
    Inputs,
    /// The plan has variables.
    Variables,
    /// Inputs or slots have initial values.
    Contents,
    /// The plan declares schemas for its slots.
    SlotSchemas,
    /// The plan runs once for each of several instances.
    Instances,
    /// The plan selects the steps whose outputs it returns.
    SelectedOutput,
    /// The plan computes its output.
    ComputedOutput,
    /// Steps run in listed order.
    ListedOrder,
    /// Steps run as soon as their data is available.
    DataflowOrder,
    /// A failure stops the run.
    Stop,
    /// A failure undoes what the run did.
    RevertOnFailure,
    /// A failure does not stop independent steps.
    KeepGoing,
    /// Only marked parameters receive references.
    MarkedSharing,
    /// All parameters receive references.
    OpenSharing,
    /// The plan is to be shown, not run.
    ShowMode,
    /// A step has a title.
    StepTitle,
    /// A step has a note that explains it.
    Note,
    /// A step has arguments by position.
    Positional,
    /// A step comes after another without taking data from it.
    After,
    /// A step has a condition.
    When,
    /// A step runs for each item of a list.
    ForEach,
    /// A step is repeated.
    Repeat,
    /// A step writes its output to one variable, which no other step writes.
    ResultVariable,
    /// A step writes slots in any other way.
    Writes,
    /// A step's failure does not fail the run.
    ContinueOnError,
    /// A step's failure is replaced by an output.
    ErrorOutput,
    /// A step sets its own number of attempts.
    Retry,
    /// A step sets its own delay between attempts.
    RetryDelay,
    /// A step has a time limit.
    Timeout,
    /// A step asks a person first.
    Approval,
    /// A step is idempotent.
    Idempotency,
    /// No other step runs at the same time.
    Alone,
    /// A step runs for one instance only.
    Instance,
    /// A step runs a plan.
    PlanAction,
    /// A step computes a value.
    ValueAction,
    /// A step extracts data from a text.
    Extraction,
    /// A step has a call that undoes it.
    Undo,
}

impl Feature {
    /// The name of the feature in messages.
    fn words(self) -> &'static str {
        match self {
            Self::Name => "the plan's name",
            Self::Title => "the plan's title",
            Self::Description => "the plan's description",
            Self::Metadata => "the plan's metadata",
            Self::Inputs => "that the plan has inputs",
            Self::Variables => "that the plan has variables",
            Self::Contents => "the initial values of the slots",
            Self::SlotSchemas => "the schemas of the slots",
            Self::Instances => "that the plan runs for several instances",
            Self::SelectedOutput => "the steps whose outputs the plan returns",
            Self::ComputedOutput => "a computed output of the plan",
            Self::ListedOrder => "that steps run one after the other as listed",
            Self::DataflowOrder => "that independent steps run side by side",
            Self::Stop => "that the first failure stops the run",
            Self::RevertOnFailure => "that a failure undoes what the run did",
            Self::KeepGoing => "that steps continue after an independent one failed",
            Self::MarkedSharing => "that only sharable parameters take references",
            Self::OpenSharing => "that every parameter takes references",
            Self::ShowMode => "that the plan is only to be shown",
            Self::StepTitle => "a step's title",
            Self::Note => "the purpose of a step",
            Self::Positional => "an argument without a name",
            Self::After => "that a step comes after another without using its output",
            Self::When => "a condition",
            Self::ForEach => "that a step runs for each item of a list",
            Self::Repeat => "that a step is repeated",
            Self::ResultVariable | Self::Writes => "where a step writes its output",
            Self::ContinueOnError => "that a step may fail",
            Self::ErrorOutput => "a replacement for a failed step's output",
            Self::Retry => "a step's retries",
            Self::RetryDelay => "the pause between attempts",
            Self::Timeout => "a step's time limit",
            Self::Approval => "that a step needs approval",
            Self::Idempotency => "that a step may be called twice",
            Self::Alone => "that a step runs alone",
            Self::Instance => "which instance a step runs for",
            Self::PlanAction => "a step that runs a plan",
            Self::ValueAction => "a step that calls no tool",
            Self::Extraction => "a step that extracts data from a text",
            Self::Undo => "the call that undoes a step",
        }
    }

    /// The advice for a feature whose loss changes the meaning of the plan.
    fn help(self) -> Option<&'static str> {
        match self {
            Self::Positional => Some("name it, or convert with the tools, whose schemas name it"),
            Self::ForEach => Some("write a step for each item"),
            Self::Repeat => Some("write a step for each round"),
            Self::ValueAction => Some("write the value where it is used"),
            Self::Extraction | Self::RevertOnFailure | Self::Undo => {
                Some("convert it to `native` or `lines`")
            }
            Self::PlanAction => Some("write the steps of the inner plan into this one"),
            Self::Inputs => Some("write the values where they are used"),
            Self::ComputedOutput => {
                Some("give back the outputs of steps, or leave it out with `convert --drop-output`")
            }
            Self::After => Some("let the step use the output of the one before it"),
            _ => None,
        }
    }

    /// Returns true if the plan does almost the same without the feature.
    fn is_dispensable(self) -> bool {
        matches!(
            self,
            Self::Name
                | Self::Title
                | Self::Description
                | Self::Metadata
                | Self::SelectedOutput
                | Self::ResultVariable
                | Self::StepTitle
                | Self::Note
                | Self::Idempotency
                | Self::RetryDelay
                | Self::DataflowOrder
                | Self::Stop
                | Self::KeepGoing
                | Self::MarkedSharing
                | Self::OpenSharing
        )
    }
}

/// Reports every feature that `plan` uses and `supported` lacks.
pub(crate) fn report_unsupported(plan: &Plan, supported: &[Feature], losses: &mut LossReport<'_>) {
    let mut report = |feature: Feature, place: Place| {
        if supported.contains(&feature) {
            return;
        }
        if feature.is_dispensable() {
            losses.warning(place, feature.words());
        } else if let Some(help) = feature.help() {
            losses.error_with_help(place, feature.words(), help);
        } else {
            losses.error(place, feature.words());
        }
    };
    plan_features(plan, &mut report);
    for step in &plan.steps {
        step_features(step, &mut report);
    }
}

fn plan_features(plan: &Plan, report: &mut dyn FnMut(Feature, Place)) {
    let whole = [
        (plan.name.is_some(), Feature::Name),
        (plan.title.is_some(), Feature::Title),
        (plan.description.is_some(), Feature::Description),
        (plan.metadata != Value::Null, Feature::Metadata),
        (!plan.instances.is_empty(), Feature::Instances),
        (plan.mode == Mode::Show, Feature::ShowMode),
        (plan.ordering == Ordering::Listed, Feature::ListedOrder),
        (plan.ordering == Ordering::Dataflow, Feature::DataflowOrder),
        (plan.on_failure == OnFailure::Stop, Feature::Stop),
        (
            plan.on_failure == OnFailure::Revert,
            Feature::RevertOnFailure,
        ),
        (plan.on_failure == OnFailure::KeepGoing, Feature::KeepGoing),
        (plan.sharing == Sharing::MarkedOnly, Feature::MarkedSharing),
        (plan.sharing == Sharing::Open, Feature::OpenSharing),
    ];
    for (used, feature) in whole {
        if used {
            report(feature, plan.place);
        }
    }
    for input in &plan.inputs {
        let feature = match input.kind {
            // Variables with a schema, or without a value, are inputs to other dialects.
            InputKind::Variable if input.default.is_some() && input.schema.is_null() => {
                Feature::Variables
            }
            InputKind::Variable | InputKind::Input => Feature::Inputs,
        };
        report(feature, input.place);
    }
    for content in &plan.contents {
        report(Feature::Contents, content.place);
    }
    for schema in &plan.slot_schemas {
        report(Feature::SlotSchemas, schema.place);
    }
    match &plan.output {
        Output::All => {}
        Output::Steps(_) => report(Feature::SelectedOutput, plan.place),
        Output::Value(node) => report(Feature::ComputedOutput, node.place),
    }
}

fn step_features(step: &Step, report: &mut dyn FnMut(Feature, Place)) {
    for (node, feature) in parts(step) {
        report(feature, place_or_step(node.place, step));
    }
    if let Some(name) = step.after.first() {
        report(Feature::After, place_or_step(name.place, step));
    }
    let used = [
        (step.title.is_some(), Feature::StepTitle),
        (step.note.is_some(), Feature::Note),
        (step.on_error == OnError::Continue, Feature::ContinueOnError),
        (step.retry.is_some(), Feature::Retry),
        (
            // Other dialects have the number of attempts at most.
            step.retry
                .is_some_and(|retry| retry.stated().nth(1).is_some()),
            Feature::RetryDelay,
        ),
        (step.timeout.is_some(), Feature::Timeout),
        (step.approval == Approval::Ask, Feature::Approval),
        (
            step.idempotency == Idempotency::Idempotent,
            Feature::Idempotency,
        ),
        (step.concurrency == Concurrency::Alone, Feature::Alone),
        (step.instance.is_some(), Feature::Instance),
        (step.undo.is_some(), Feature::Undo),
        (matches!(step.action, Action::Plan(_)), Feature::PlanAction),
        (
            step.tool().is_some_and(|name| &*name.text == EXTRACTION),
            Feature::Extraction,
        ),
    ];
    for (used, feature) in used {
        if used {
            report(feature, step.place);
        }
    }
    if let Some(writes) = &step.writes {
        // Some dialects can name the output of a step, but not write it elsewhere.
        let feature = match result_variable(writes) {
            Some(_) => Feature::ResultVariable,
            None => Feature::Writes,
        };
        report(feature, place_or_step(writes.place, step));
    }
}

/// Returns the variable if `writes` only names the output of the step by it, else `None`.
pub(crate) fn result_variable(writes: &Writes) -> Option<&Arc<str>> {
    match (&writes.targets, writes.method) {
        (Targets::All(paths), Method::Set) => match paths.as_slice() {
            [path] if path.kind == SlotKind::Vars => match path.keys.as_slice() {
                [name] => Some(name),
                _ => None,
            },
            _ => None,
        },
        (
            Targets::All(_) | Targets::OneOf(_),
            Method::Set | Method::Merge | Method::Assign | Method::Push | Method::Concat,
        ) => None,
    }
}

/// The parts of a step that are values, with the features that they belong to.
fn parts(step: &Step) -> impl Iterator<Item = (&Node, Feature)> {
    let value = match &step.action {
        Action::Value(node) => Some(node),
        Action::Tool(_) | Action::Plan(_) => None,
    };
    let on_error = match &step.on_error {
        OnError::Output(node) => Some(node),
        OnError::Fail | OnError::Continue => None,
    };
    let for_each = step.for_each.as_ref().map(|for_each| &for_each.over);
    let repeat = step.repeat.as_ref().map(|repeat| &repeat.until);
    [
        (step.positional.first(), Feature::Positional),
        (step.when.as_ref(), Feature::When),
        (for_each, Feature::ForEach),
        (repeat, Feature::Repeat),
        (on_error, Feature::ErrorOutput),
        (value, Feature::ValueAction),
    ]
    .into_iter()
    .filter_map(|(node, feature)| Some((node?, feature)))
}

/// `place`, or the place of the step if `place` is unknown.
fn place_or_step(place: Place, step: &Step) -> Place {
    if place == Place::NOWHERE {
        step.place
    } else {
        place
    }
}

/// Reports each step that the step at `position` follows without reading its output.
pub(crate) fn report_order(plan: &Plan, position: usize, losses: &mut LossReport<'_>) {
    let Some(step) = plan.steps.get(position) else {
        return;
    };
    let sources = sources_of(step);
    let mut report = |other: &str, place: Place| {
        if !sources.contains(other) {
            let (step, other) = (quote(step.id.as_str()), quote(other));
            let what = format!("that step {step} comes after {other} without using its output");
            losses.error(place, &what);
        }
    };
    for name in &step.after {
        report(&name.text, name.place);
    }
    let before = position
        .checked_sub(1)
        .and_then(|before| plan.steps.get(before));
    if let Some(before) = before.filter(|_| plan.ordering == Ordering::Listed) {
        report(before.id.as_str(), step.place);
    }
}

/// Returns true if the step at `position` follows a step whose output it does not read.
pub(crate) fn follows_without_reading(plan: &Plan, position: usize) -> bool {
    let step = &plan.steps[position];
    let sources = sources_of(step);
    let before = position.checked_sub(1).map(|at| plan.steps[at].id.as_str());
    let before = before.filter(|_| plan.ordering == Ordering::Listed);
    let mut names = step.after.iter().map(|name| &*name.text).chain(before);
    names.any(|name| !sources.contains(name))
}

/// Reports the first step that runs although the step listed before it failed. Dialects that write listed order as a
/// chain of dependencies skip it.
pub(crate) fn report_chain(plan: &Plan, losses: &mut LossReport<'_>) {
    // With `keep_going`, an unrelated step runs after the failure of the previous one, but not in a chain of dependencies.
    if plan.ordering != Ordering::Listed || plan.on_failure != OnFailure::KeepGoing {
        return;
    }
    let pairs = plan.steps.iter().zip(plan.steps.iter().skip(1));
    for (before, step) in pairs {
        let id = before.id.as_str();
        let is_bound = sources_of(step).contains(id) || step.after.iter().any(|it| *it.text == *id);
        if !is_bound {
            let (step_id, before) = (quote(step.id.as_str()), quote(id));
            let what = format!("that step {step_id} runs though {before} before it failed");
            losses.warning(step.place, &what);
            return;
        }
    }
}

/// The dependencies of each step: the names in `after`, the step listed before it if order counts, and the steps whose
/// outputs or results it reads. Names are as written, without duplicates.
///
/// The systems of some dialects infer no order from references.
pub(crate) fn dependencies(plan: &Plan) -> Vec<Vec<Arc<str>>> {
    let mut all = Vec::with_capacity(plan.steps.len());
    for (position, step) in plan.steps.iter().enumerate() {
        let mut seen = HashSet::new();
        let mut after: Vec<Arc<str>> = Vec::new();
        let mut add = |name: &Arc<str>| {
            if seen.insert(Arc::clone(name)) {
                after.push(Arc::clone(name));
            }
        };
        step.after.iter().for_each(|name| add(&name.text));
        let before = position.checked_sub(1).and_then(|at| plan.steps.get(at));
        if let Some(before) = before.filter(|_| plan.ordering == Ordering::Listed) {
            add(before.id.text());
        }
        step.args.each_reference(&mut |reference| {
            for read in reference.reads() {
                if let Source::Step(id) | Source::Result(id) = &read.source {
                    add(id.text());
                }
            }
        });
        all.push(after);
    }
    all
}

/// The steps whose failure makes `step` skipped, because it reads their outputs.
fn sources_of(step: &Step) -> HashSet<&str> {
    let mut sources = HashSet::new();
    let value = match &step.action {
        Action::Value(node) => Some(node),
        Action::Tool(_) | Action::Plan(_) => None,
    };
    for node in value.into_iter().chain([&step.args]) {
        node.each_reference(&mut |reference| {
            // With several alternatives, each may be missing, so the failure of one does not skip the step.
            if matches!(&reference.form, Form::First(alternatives) if alternatives.len() > 1) {
                return;
            }
            for read in reference.reads() {
                if let Source::Step(id) = &read.source {
                    sources.insert(id.as_str());
                }
            }
        });
    }
    sources
}

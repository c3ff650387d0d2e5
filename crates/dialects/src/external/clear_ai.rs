//! The clear-ai dialect: steps by position, `${step[0].data.*.id}`.
//!
//! ```json
//! {"steps": [
//!   {"tool": "shipments_list", "params": {"limit": 100}},
//!   {"tool": "contaminants_list", "params": {"shipment_ids": "${step[0].data.*.id}"}, "depends_on": [0]}
//! ], "metadata": {"query": "contaminated shipments"}}
//! ```
//!
//! - A step's id is its position from 0, as text. `params` is required.
//! - `${step[N].data…}` reads the output: `.field`, `["odd key"]`, `[0]`, `[-1]`, `.*` or `[*]` for every item of a
//!   list. `.success`, `.tool` and `.error…` read the result of the step; `${step[N]}` is the whole result. An item
//!   without the field gives `null`, any other missing part fails the step. Templates work inside of longer text and
//!   at any depth, and are dependencies; blanks inside of the braces do not count.
//! - A template that cannot be read is an error; the original system passes it on to the tool.
//! - `parallel: false` makes a step exclusive. `optional: true`: its failure does not fail the run. `timeout` is in
//!   milliseconds, for all attempts together. `retry_count` counts the attempts after the first. The original system
//!   reads none of the four.
//! - Literal: `$${` stands for `${`; the original system has no escape. A literal `$` right before a template is `$$`.

use std::collections::HashMap;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use planwright_core::plan::{
    Concurrency, Missing, Name, Node, NodeKind, OnError, Output, Path, Read, Reference, Retry,
    Segment, Source, Step,
};
use planwright_core::{Code, Diagnostic, Diagnostics, Place, Plan, SourceText, StepId, Value};

use crate::dialect::{Dialect, MatchConfidence};
use crate::document::{DiagnosticSink, Document, Fields, Item, ItemKind, ReadLimits, quote};
use crate::foreign_references::ReferenceForm;
use crate::lowering::path::{PathSegment, parse_path};
use crate::lowering::{
    LowerResult, ReferenceSyntax, lower, lower_template, parse_document, tool_action,
};
use crate::printing::{
    Feature, LossReport, ObjectBuilder, WriteReferences, dependencies, follows_without_reading,
    report_chain, report_nested, report_unsupported, write_node,
};

/// The dialect of clear-ai's planner.
#[derive(Clone, Copy, Debug)]
pub struct ClearAi;

impl Dialect for ClearAi {
    fn name(&self) -> &'static str {
        "clear-ai"
    }

    fn shape(&self) -> &'static str {
        "`{\"steps\": [{\"tool\", \"params\", \"depends_on\"}]}` with `${step[0].data}`"
    }

    fn recognise(&self, document: &Document) -> MatchConfidence {
        let steps = document.root.get("steps").and_then(Item::as_list);
        let marked = |step: &Item| step.has("params") && step.has("tool");
        MatchConfidence::certain_if(steps.is_some_and(|steps| steps.iter().any(marked)))
    }

    fn reference_form(&self) -> Option<ReferenceForm> {
        Some(ReferenceForm {
            write: |path| {
                let (step, rest) = path.split_at(path.find(['.', '[']).unwrap_or(path.len()));
                Some(format!("${{step[{step}].data{rest}}}"))
            },
            is_own: |text| text.starts_with("${"),
        })
    }

    fn parse(&self, document: Document) -> (Option<Plan>, Diagnostics) {
        parse(document)
    }

    fn print(&self, plan: &Plan) -> (Option<String>, Diagnostics) {
        print(plan)
    }
}

/// Reads a plan.
fn parse(document: Document) -> (Option<Plan>, Diagnostics) {
    parse_document(document, |root, context| {
        plan(root, context.source, context.sink)
    })
}

fn plan(root: &Item, source: &mut SourceText, sink: &mut DiagnosticSink) -> Option<Plan> {
    let mut fields = Fields::of(root, "the plan", sink)?;
    let items = fields.required_list("steps", sink);
    let metadata = fields.object("metadata", sink).map(Item::to_value);
    fields.finish(sink);
    let items = items?;
    let steps: Vec<Step> = items
        .iter()
        .enumerate()
        .filter_map(|(position, item)| step(item, position, source, sink))
        .collect();
    // If no step could be read, an empty plan would hide that.
    if steps.is_empty() && !items.is_empty() {
        return None;
    }
    Some(Plan {
        steps,
        metadata: metadata.unwrap_or_default(),
        place: root.place,
        ..Plan::default()
    })
}

fn step(
    item: &Item,
    position: usize,
    source: &mut SourceText,
    sink: &mut DiagnosticSink,
) -> Option<Step> {
    let mut fields = Fields::of(item, "the step", sink)?;
    let action = tool_action(&mut fields, "tool", sink);
    let args = match fields.required("params", sink) {
        Some(params) if params.as_object().is_some() => {
            lower(params, &mut ClearAiTemplates { source, sink })
        }
        other => {
            if let Some(params) = other {
                sink.push_wrong_type(params, "params", "an object");
            }
            Node::literal(Value::empty_object(), item.place)
        }
    };
    let mut step = Step::new(StepId::new(position.to_string()), action, args);
    step.place = item.place;
    let dependencies = fields.list("depends_on", sink).unwrap_or_default();
    step.after = dependencies
        .iter()
        .filter_map(|item| dependency(item, sink))
        .collect();
    if fields.boolean("parallel", sink) == Some(false) {
        step.concurrency = Concurrency::Alone;
    }
    if fields.boolean("optional", sink) == Some(true) {
        step.on_error = OnError::Continue;
    }
    let timeout = fields.count("timeout", sink);
    step.timeout = timeout.and_then(|timeout| duration(timeout, sink));
    let retries = fields.count("retry_count", sink);
    step.retry = retries.and_then(|retries| retry(retries, sink));
    fields.finish(sink);
    Some(step)
}

/// Reads the position of a step in `depends_on`. The checks report positions without a step.
fn dependency(item: &Item, sink: &mut DiagnosticSink) -> Option<Name> {
    let ItemKind::Number(number) = &item.kind else {
        sink.push_wrong_type(item, "depends_on", "the position of a step");
        return None;
    };
    if let Some(position) = number.as_u64() {
        let text: Arc<str> = position.to_string().into();
        return Some(Name {
            text,
            place: item.place,
        });
    }
    let message = format!("`{number}` is not the position of a step");
    let diagnostic = Diagnostic::error(Code::InvalidFieldValue, message);
    sink.push(item.place, diagnostic.help("steps are counted from 0"));
    None
}

fn duration((milliseconds, place): (u64, Place), sink: &mut DiagnosticSink) -> Option<Duration> {
    let message = match Duration::from_millis(milliseconds) {
        Duration::ZERO => "a `timeout` must be more than 0".to_owned(),
        time if time <= ReadLimits::MAX_DURATION => return Some(time),
        _ => format!("a `timeout` of {milliseconds} is too large"),
    };
    let diagnostic = Diagnostic::error(Code::InvalidFieldValue, message);
    let help = "omit it for no limit, or write milliseconds";
    sink.push(place, diagnostic.help(help));
    None
}

fn retry((count, place): (u64, Place), sink: &mut DiagnosticSink) -> Option<Retry> {
    let attempts = u32::try_from(count)
        .ok()
        .and_then(|count| NonZeroU32::MIN.checked_add(count));
    if attempts.is_none() {
        let message = format!("a `retry_count` of {count} is too large");
        sink.push(place, Diagnostic::error(Code::InvalidFieldValue, message));
    }
    attempts.map(Retry::new)
}

/// The reference syntax, for the templates of one step.
struct ClearAiTemplates<'a> {
    source: &'a mut SourceText,
    sink: &'a mut DiagnosticSink,
}

impl ReferenceSyntax for ClearAiTemplates<'_> {
    fn text(&mut self, text: &Arc<str>, place: Place) -> NodeKind {
        let borders = (&mut *self.source, &mut *self.sink);
        lower_template(text, place, b"\"", borders, &mut read)
    }
}

const FORM: &str = "write `${step[0].data.field}`, `${step[0].data[0]}` or `${step[0].data.*.field}`, \
                    and `$${` for a literal `${`";

/// The fields of a step's result, except `data`.
const RESULT_PARTS: [&str; 3] = ["success", "error", "tool"];

/// Returns true if `path` leads into a step's result outside of `data`.
///
/// `.data` is read as the step's output: a failed step has no output, whereas its result has `data` in any case.
fn is_result_path(path: &[Segment]) -> bool {
    match path.first() {
        None => true,
        Some(Segment::Key(key)) => RESULT_PARTS.contains(&&**key),
        Some(_) => false,
    }
}

/// Reads the content of the braces.
fn read(inside: &str, place: Place) -> LowerResult<Reference> {
    let written = format!("${{{inside}}}");
    let malformed = |what: &str| {
        let message = format!("{} is not a reference: {what}", quote(&written));
        Box::new(Diagnostic::error(Code::MalformedReference, message).help(FORM))
    };
    let Some(rest) = inside.trim().strip_prefix("step[") else {
        return Err(malformed("it does not begin with `step[`"));
    };
    let Some((position, path_text)) = rest.split_once(']') else {
        return Err(malformed("`[` is never closed"));
    };
    let Some(step) = canonical_position(position.trim()) else {
        return Err(malformed("a step is named by its position from 0"));
    };
    let path: Path = parse_path(path_text)
        .map_err(|what| malformed(&what))?
        .into_iter()
        .map(segment)
        .collect();
    let (source, path) = match path.first() {
        None => (Source::Result(step), path),
        Some(Segment::Key(key)) if **key == *"data" => (Source::Step(step), path[1..].to_vec()),
        Some(_) if is_result_path(&path) => (Source::Result(step), path),
        Some(_) => {
            return Err(malformed(
                "a step has `.data`, `.success`, `.error` and `.tool`",
            ));
        }
    };
    let read = Read::part(source, path).or_missing(Missing::NullInItems);
    Ok(Reference::read(read, written, place))
}

/// Returns the id of the step at the position `written`, without leading zeros.
fn canonical_position(written: &str) -> Option<StepId> {
    if written.is_empty() || !written.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    // Ids have no leading zeros, so `00` must become `0`.
    let digits = written.trim_start_matches('0');
    Some(StepId::new(if digits.is_empty() { "0" } else { digits }))
}

fn segment(one: PathSegment) -> Segment {
    match one {
        PathSegment::Name(name) => Segment::key(name),
        PathSegment::Index(index) => Segment::Index(index),
        PathSegment::Each | PathSegment::Star => Segment::Each,
    }
}

const SUPPORTED: &[Feature] = &[
    Feature::Metadata,
    Feature::ListedOrder,
    Feature::DataflowOrder,
    Feature::KeepGoing,
    Feature::OpenSharing,
    Feature::After,
    Feature::ContinueOnError,
    Feature::Retry,
    Feature::Timeout,
    Feature::Alone,
];

/// Writes `plan` for the executor of clear-ai, which takes the order from `depends_on` alone and resolves only
/// references that are a whole parameter. Steps are named by their positions; listed order becomes a chain of
/// `depends_on`.
fn print(plan: &Plan) -> (Option<String>, Diagnostics) {
    let mut losses = LossReport::new("clear-ai", plan);
    report_unsupported(plan, SUPPORTED, &mut losses);
    report_chain(plan, &mut losses);
    report_ids(plan, &mut losses);
    let mut positions: HashMap<&str, usize> = HashMap::with_capacity(plan.steps.len());
    for (position, step) in plan.steps.iter().enumerate() {
        positions.entry(step.id.as_str()).or_insert(position);
    }
    let mut steps = Vec::with_capacity(plan.steps.len());
    for (position, (step, after)) in plan.steps.iter().zip(dependencies(plan)).enumerate() {
        report_ignored(step, &mut losses);
        if follows_without_reading(plan, position) {
            let what = "that a step is skipped if its predecessor fails";
            let difference = "clear-ai's executor runs it unless it reads the other's output";
            losses.difference(step.place, what, difference);
        }
        report_nested(&step.args, &mut losses);
        let after = step_positions(step, &after, &positions, &mut losses);
        steps.push(write_step(step, &after, &positions, &mut losses));
    }
    let mut root = ObjectBuilder::default();
    root.field("steps", steps);
    if plan.metadata.as_object().is_some() {
        root.field("metadata", plan.metadata.clone());
    } else if !plan.metadata.is_null() {
        losses.warning(plan.place, "metadata that is not an object");
    }
    losses.finish(&root.build())
}

/// Warns if the ids of steps change: a plan that returns all outputs returns them by id, and here ids are positions.
fn report_ids(plan: &Plan, losses: &mut LossReport<'_>) {
    if plan.output != Output::All {
        return;
    }
    let mut steps = plan.steps.iter().enumerate();
    let renamed = steps.find(|(position, step)| step.id.as_str() != position.to_string());
    if let Some((position, step)) = renamed {
        let id = quote(step.id.as_str());
        let what = format!("the ids of steps: the output of {id} is called `{position}`");
        losses.warning(step.place, &what);
    }
}

/// Warns about fields of the dialect that its executor ignores.
fn report_ignored(step: &Step, losses: &mut LossReport<'_>) {
    let ignored = [
        (step.on_error == OnError::Continue, "that a step may fail"),
        (step.retry.is_some(), "a step's retries"),
        (step.timeout.is_some(), "a step's time limit"),
        (
            step.concurrency == Concurrency::Alone,
            "that a step runs alone",
        ),
    ];
    for (is_used, what) in ignored {
        if is_used {
            let difference = "the field is written, but clear-ai's executor ignores it";
            losses.difference(step.place, what, difference);
        }
    }
}

/// The positions of the steps in `after`.
fn step_positions(
    step: &Step,
    after: &[Arc<str>],
    positions: &HashMap<&str, usize>,
    losses: &mut LossReport<'_>,
) -> Vec<usize> {
    let mut step_positions = Vec::with_capacity(after.len());
    for name in after {
        // A name that belongs to no step may be the position of a missing one; the checks report it.
        let written = name.parse::<usize>().ok();
        match positions.get(&**name).copied().or(written) {
            Some(position) => step_positions.push(position),
            None => losses.error(
                step.place,
                &format!("a dependency on {}, which is not a step", quote(name)),
            ),
        }
    }
    step_positions
}

fn write_step(
    step: &Step,
    after: &[usize],
    positions: &HashMap<&str, usize>,
    losses: &mut LossReport<'_>,
) -> Value {
    let mut object = ObjectBuilder::default();
    object.optional("tool", step.tool().map(|tool| Arc::clone(&tool.text)));
    let writer = ClearAiWriter { positions };
    object.field("params", write_node(&step.args, &writer, losses));
    let after = after.iter().map(|position| Value::from(*position as u64));
    object.field("depends_on", Value::list(after));
    if step.concurrency == Concurrency::Alone {
        object.field("parallel", false);
    }
    if step.on_error == OnError::Continue {
        object.field("optional", true);
    }
    if let Some(timeout) = step.timeout {
        let milliseconds = u64::try_from(timeout.as_millis()).unwrap_or(u64::MAX);
        // A `timeout` of 0 would be refused by the reader.
        if milliseconds == 0 {
            losses.error(step.place, "a time limit below a millisecond");
        } else if timeout > ReadLimits::MAX_DURATION {
            losses.duration_too_long(step.place, timeout);
        } else {
            if timeout != Duration::from_millis(milliseconds) {
                losses.warning(step.place, "a time limit that is not whole milliseconds");
            }
            object.field("timeout", milliseconds);
        }
    }
    if let Some(retry) = step.retry {
        object.field("retry_count", u64::from(retry.attempts().get() - 1));
    }
    object.build()
}

/// A writer of references; `positions` are those of the steps.
struct ClearAiWriter<'a> {
    positions: &'a HashMap<&'a str, usize>,
}

impl WriteReferences for ClearAiWriter<'_> {
    fn write_whole(&self, reference: &Reference, losses: &mut LossReport<'_>) -> Value {
        let refuse = |what: &str, losses: &mut LossReport<'_>| {
            losses.error(reference.place, what);
            Value::Null
        };
        let Some((step, read)) = losses.step_read(reference) else {
            return Value::Null;
        };
        let Some(position) = self.positions.get(step.as_str()) else {
            let what = format!("the reference {}", quote(&reference.text));
            return refuse(&what, losses);
        };
        if read.path.is_empty() {
            let what = "a reference to all of an output";
            let help = "refer to a field: clear-ai passes a reference without one on as text";
            losses.error_with_help(reference.place, what, help);
            return Value::Null;
        }
        let mut written = format!("${{step[{position}].data");
        let mut wildcards = 0;
        for segment in &read.path {
            match segment {
                Segment::Each => {
                    wildcards += 1;
                    written.push_str(".*");
                }
                Segment::Index(index) if *index >= 0 => {
                    written.extend(["[", &index.to_string(), "]"]);
                }
                Segment::Index(_) => return refuse("an item counted from the end", losses),
                Segment::Key(key) if is_identifier(key) => written.extend([".", key]),
                Segment::Key(key) => {
                    return refuse(&format!("the field {}", quote(key)), losses);
                }
            }
        }
        if wildcards > 1 {
            return refuse("a path that maps over a list in a list", losses);
        }
        if read.missing == Missing::Null {
            losses.warning(reference.place, "that a missing value gives `null`");
        } else if read.missing == Missing::Fail && wildcards > 0 {
            losses.warning(
                reference.place,
                "that an item without the value fails the step",
            );
        }
        written.push('}');
        written.into()
    }

    fn write_inside(&self, reference: &Reference, losses: &mut LossReport<'_>) -> String {
        let what = "a reference inside of a text";
        let help = "let a step compute the text: clear-ai drops the text around a reference";
        losses.error_with_help(reference.place, what, help);
        String::new()
    }

    fn report_text(&self, text: &str, is_key: bool, place: Place, losses: &mut LossReport<'_>) {
        if !is_key && text.contains("${") {
            losses.error_with_help(place, "a literal `${`", "clear-ai has no escape for it");
        }
    }

    fn escape_text(&self, text: &str, _before_marker: bool) -> String {
        text.to_owned()
    }
}

/// Returns true if clear-ai reads `key` as one field name; it skips any other character of a path.
fn is_identifier(key: &str) -> bool {
    let mut characters = key.chars();
    let first = characters.next();
    first.is_some_and(|c| c.is_ascii_alphabetic() || c == '_')
        && characters.all(|c| c.is_ascii_alphanumeric() || c == '_')
}

//! Lowers a clear-ai plan.

use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use planwright_core::plan::{
    Concurrency, Missing, Name, Node, NodeKind, OnError, Path, Read, Reference, Retry, Segment,
    Source, Step,
};
use planwright_core::{
    Code, Diagnostic, Diagnostics, Place, Plan, SourceText, Sources, StepId, Value,
};

use crate::document::{DiagnosticSink, Document, Fields, Item, ItemKind, ReadLimits, quote};
use crate::lowering::path::{PathSegment, parse_path};
use crate::lowering::{LowerResult, ReferenceSyntax, lower, lower_template, tool_action};

/// Reads a plan.
pub(super) fn parse(document: Document) -> (Option<Plan>, Diagnostics) {
    let mut sink = DiagnosticSink::new();
    let mut source = document.source;
    let plan = plan(&document.root, &mut source, &mut sink);
    let diagnostics = sink.finish(&source);
    let sources = Sources::one(source);
    (plan.map(|plan| Plan { sources, ..plan }), diagnostics)
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
    let action = tool_action(&mut fields, sink);
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
        step.company = Concurrency::Alone;
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

/// The step that is depended on. The checks report positions without a step.
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
        Duration::ZERO => "a `timeout` of 0 leaves no time at all".to_owned(),
        time if time <= ReadLimits::MAX_DURATION => return Some(time),
        _ => format!("a `timeout` of {milliseconds} is too large"),
    };
    let diagnostic = Diagnostic::error(Code::InvalidFieldValue, message);
    let help = "leave it out for no limit, or give milliseconds";
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
    Some(Retry {
        attempts: attempts?,
        delay: None,
    })
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
pub(super) fn read(inside: &str, place: Place) -> LowerResult<Reference> {
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

/// The id of the step at the position `written`, without leading zeros, as steps have it.
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

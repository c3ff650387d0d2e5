//! The dialect of NESTFUL, a benchmark of nested calls: labelled calls that refer to each other.
//!
//! ```json
//! [
//!   {"name": "get_weather", "label": "$var_1", "arguments": {"city": "Oslo"}},
//!   {"name": "notify", "label": "$var_2", "arguments": {"text": "It has $var_1.result.temp$ degrees"}}
//! ]
//! ```
//!
//! - The plan is the list, or a sample `{"input", "output"}` whose `output` is the list or its JSON text; other fields
//!   of a sample are ignored.
//! - A label is written with or without its `$`; without it, it is the step's id. The id of a call without a label is
//!   its position from 1, and nothing can refer to it.
//! - A reference is `$label$`, `$label.field$`, `$label.list[0].a field$`, alone or inside of longer text. References
//!   may lead forward.
//! - A known label may hold any character but `$`, and the longest that fits counts; an unknown one is a word.
//! - A call of `var_result` calls nothing: its arguments are the plan's output. A plan has at most one.
//! - A known label after a `$` without a closing one, an unknown label between two `$`, and a known one without its
//!   first `$` are errors.
//! - Literal: each pair of `$` before a label is one literal `$`. The original system has no escape. Any other `$` is a dollar.

use std::sync::Arc;

use planwright_core::plan::{
    Action, Name, Node, NodeKind, Output, Path, Read, Reference, Segment, Source, Step,
};
use planwright_core::{
    Code, Diagnostic, Diagnostics, Place, Plan, SourceText, Sources, StepId, Value,
};

use crate::dialect::{Dialect, MatchConfidence};
use crate::document::{DiagnosticSink, Document, Fields, Item, ItemKind, quote, read_inside};
use crate::foreign_references::ReferenceForm;
use crate::lowering::path::{KnownNames, PathSegment, parse_path};
use crate::lowering::{
    Fragment, LowerResult, MarkedText, ReferenceSyntax, lower, lower_fragments, text_or_number,
};

/// The dialect of the NESTFUL benchmark.
#[derive(Clone, Copy, Debug)]
pub struct Nestful;

impl Dialect for Nestful {
    fn name(&self) -> &'static str {
        "nestful"
    }

    fn reference_form(&self) -> Option<ReferenceForm> {
        Some(ReferenceForm {
            // A call without a label has a number as its id, to which nothing refers.
            write: |path| {
                (!path.starts_with(|sign: char| sign.is_ascii_digit())).then(|| format!("${path}$"))
            },
            is_own: |text| {
                let label = text.strip_prefix('$');
                label.is_some_and(|label| {
                    !label.starts_with(['{', '(', '[']) && !label.starts_with("ref:")
                })
            },
        })
    }

    fn shape(&self) -> &'static str {
        "`[{\"name\", \"label\", \"arguments\"}]` with `$label.field$`"
    }

    fn is_writable(&self) -> bool {
        false
    }

    fn recognise(&self, document: &Document) -> MatchConfidence {
        let root = &document.root;
        let output = root.get("output").filter(|_| root.has("input"));
        if let Some(text) = output.and_then(Item::as_text) {
            let is_list = text.trim_start().starts_with('[') && text.contains("\"arguments\"");
            return MatchConfidence::certain_if(is_list);
        }
        let calls = [Some(root), output].into_iter().flatten();
        let mut calls = calls.filter_map(Item::as_list).flatten();
        let is_call = |item: &Item| item.has("name") && item.has("arguments") && !item.has("type");
        MatchConfidence::certain_if(calls.any(is_call))
    }

    fn parse(&self, document: Document) -> (Option<Plan>, Diagnostics) {
        parse(document)
    }
}

/// The name in place of a tool for the call that makes the plan's output.
const RESULT: &str = "var_result";

/// Reads a plan.
fn parse(document: Document) -> (Option<Plan>, Diagnostics) {
    let mut sink = DiagnosticSink::new();
    let mut source = document.source;
    let inner;
    let mut list = Some(&document.root);
    let mut description = None;
    if document.root.as_object().is_some() {
        description = document.root.get("input").and_then(Item::as_text);
        list = Fields::of(&document.root, "the sample", &mut sink)
            .and_then(|mut fields| fields.required("output", &mut sink));
        if let Some(Item {
            kind: ItemKind::Text(_),
            ..
        }) = list
        {
            let (read, diagnostics) = list.map_or_else(Default::default, |item| {
                read_inside(&mut source, item, &document.limits)
            });
            sink.extend(diagnostics);
            inner = read;
            list = inner.as_ref();
        }
    }
    let plan = list.and_then(|list| plan(list, &mut source, &mut sink));
    let diagnostics = sink.finish(&source);
    let sources = Sources::one(source);
    let plan = plan.map(|plan| Plan {
        description: description.cloned(),
        place: document.root.place,
        sources,
        ..plan
    });
    (plan, diagnostics)
}

fn plan(list: &Item, source: &mut SourceText, sink: &mut DiagnosticSink) -> Option<Plan> {
    let Some(items) = list.as_list() else {
        sink.push_wrong_type(list, "output", "a list of calls");
        return None;
    };
    let drafts: Vec<LabelledCall<'_>> = items
        .iter()
        .enumerate()
        .filter_map(|(position, item)| LabelledCall::read(item, position, sink))
        .collect();
    // If no call could be read, an empty plan would hide that.
    if drafts.is_empty() && !items.is_empty() {
        return None;
    }
    let labels: Labels<'_> = drafts.iter().filter_map(LabelledCall::label).collect();
    let mut plan = Plan::default();
    for draft in &drafts {
        let mut texts = NestfulTexts {
            labels: &labels,
            source,
            sink,
        };
        let args = match draft.arguments {
            Some(item) => lower(item, &mut texts),
            None => Node::literal(Value::empty_object(), draft.place),
        };
        if draft.is_result {
            if plan.output != Output::All {
                let message = "the plan's output is made twice";
                let diagnostic = Diagnostic::error(Code::ConflictingFields, message);
                sink.push(draft.place, diagnostic.help("make it in one `var_result`"));
            }
            plan.output = Output::Value(args);
            continue;
        }
        let id = StepId::new(Arc::clone(&draft.id));
        let mut step = Step::new(id, draft.action.clone(), args);
        step.place = draft.place;
        plan.steps.push(step);
    }
    Some(plan)
}

/// A call whose arguments are not lowered yet.
struct LabelledCall<'a> {
    id: Arc<str>,
    has_label: bool,
    action: Action,
    arguments: Option<&'a Item>,
    is_result: bool,
    place: Place,
}

impl<'a> LabelledCall<'a> {
    fn read(item: &'a Item, position: usize, sink: &mut DiagnosticSink) -> Option<Self> {
        let mut fields = Fields::of(item, "the call", sink)?;
        let name = fields.required_text("name", sink);
        let label = fields.optional("label");
        let label = label.and_then(|label| text_or_number(label, "label", sink));
        let arguments = fields.object("arguments", sink);
        fields.finish(sink);
        // With a label, `var_result` is an ordinary call.
        let is_result = label.is_none() && name.is_some_and(|(text, _)| **text == *RESULT);
        Some(Self {
            has_label: label.is_some(),
            id: match label {
                Some(label) => label.text.strip_prefix('$').unwrap_or(&label.text).into(),
                None => (position + 1).to_string().into(),
            },
            action: name.map_or(Action::Value(Node::default()), |(text, place)| {
                Action::Tool(Name {
                    text: Arc::clone(text),
                    place,
                })
            }),
            arguments,
            is_result,
            place: item.place,
        })
    }

    fn label(&self) -> Option<&str> {
        self.has_label.then_some(&*self.id)
    }
}

/// The reference syntax, for the texts of one call.
struct NestfulTexts<'a> {
    labels: &'a Labels<'a>,
    source: &'a mut SourceText,
    sink: &'a mut DiagnosticSink,
}

impl ReferenceSyntax for NestfulTexts<'_> {
    fn text(&mut self, text: &Arc<str>, place: Place) -> NodeKind {
        if !text.contains('$') {
            return NodeKind::Literal(Arc::clone(text).into());
        }
        let whole = MarkedText {
            text,
            place,
            offsets: None,
        };
        let labels = self.labels;
        if let Some(number) = number_of_call(text).filter(|number| !labels.contains(number)) {
            let message = format!("no call has the label {}", quote(number));
            let help = format!(
                "give the call a label, `\"label\": \"$var_{number}\"`, and write `$var_{number}$`"
            );
            let diagnostic = Diagnostic::error(Code::UnknownStep, message);
            self.sink.push(place, diagnostic.help(help));
            return NodeKind::Literal(Arc::clone(text).into());
        }
        let borders = (&mut *self.source, &mut *self.sink);
        lower_fragments(
            whole,
            fragments(text, labels),
            borders,
            &mut |inside, place| read(inside, labels, place),
        )
    }
}

/// The number of a call in a text that is nothing else, `$3$`: an amount has no sign behind it.
fn number_of_call(text: &str) -> Option<&str> {
    let inside = text.strip_prefix('$')?.strip_suffix('$')?;
    let is_number = !inside.is_empty() && inside.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then_some(inside)
}

const FORM: &str = "write `$label.field$`, and `$$` for a literal `$` before a label";

/// The labels of a plan's calls.
type Labels<'a> = KnownNames<'a>;

/// Splits `text` into literals and references to `labels`.
fn fragments<'t>(text: &'t str, labels: &Labels<'_>) -> Vec<Fragment<'t>> {
    // A single `$` at the end would otherwise be a literal dollar.
    if let Some(label) = label_without_dollar(text, labels) {
        let message = format!(
            "{} is not a reference: the `$` before {} is missing",
            quote(text),
            quote(label)
        );
        return vec![Fragment::Problem(malformed(message), 0..text.len())];
    }
    let mut found = Vec::new();
    let mut literal = String::new();
    let mut at = 0;
    while let Some(dollar) = text[at..].find('$').map(|found| at + found) {
        literal.push_str(&text[at..dollar]);
        let run = text[dollar..].len() - text[dollar..].trim_start_matches('$').len();
        let start = dollar + run;
        let marker = LabelMarker::at(&text[start..], labels);
        at = start;
        let Some(marker) = marker else {
            literal.push_str(&text[dollar..start]);
            continue;
        };
        literal.extend(std::iter::repeat_n('$', run / 2));
        if run.is_multiple_of(2) {
            literal.push_str(&text[start..start + marker.label]);
            at = start + marker.label;
            continue;
        }
        if !literal.is_empty() {
            found.push(Fragment::Literal(std::mem::take(&mut literal).into()));
        }
        let inside = &text[start..start + marker.inside];
        if marker.is_closed && labels.contains(&inside[..marker.label]) {
            at = start + marker.inside + 1;
            found.push(Fragment::Marker(inside, start - 1..at));
        } else {
            let label = quote(&inside[..marker.label]);
            let diagnostic = if marker.is_closed {
                let message = format!("no call has the label {label}");
                Box::new(Diagnostic::error(Code::UnknownStep, message).help(known(labels)))
            } else {
                malformed(format!("the reference to {label} is never closed"))
            };
            at = start + marker.inside;
            found.push(Fragment::Problem(diagnostic, start - 1..at));
        }
    }
    literal.push_str(&text[at..]);
    if !literal.is_empty() {
        found.push(Fragment::Literal(literal.into()));
    }
    found
}

/// The text after a `$` that begins a reference, or seems to.
struct LabelMarker {
    /// The length of the label.
    label: usize,
    /// The length of the text between the two `$`, or of the label if there is no second `$`.
    inside: usize,
    is_closed: bool,
}

impl LabelMarker {
    fn at(rest: &str, labels: &Labels<'_>) -> Option<Self> {
        let inside = &rest[..rest.find('$').unwrap_or(rest.len())];
        let known = labels
            .longest_prefix(inside)
            .filter(|label| *label > 0 && inside.len() < rest.len());
        let label = known.or_else(|| label_length(rest))?;
        let is_known = labels.contains(&rest[..label]);
        let path_text = &rest[label..];
        let end = path_text
            .find('$')
            .filter(|_| path_text.starts_with(['$', '.', '[']));
        // A word between two dollars that is not a known label may be plain text; if a path follows it, it must be a label.
        let is_meant = |end: usize| is_known || !path_text[..end].contains(char::is_whitespace);
        match end {
            Some(end) if is_meant(end) => Some(Self {
                label,
                inside: label + end,
                is_closed: true,
            }),
            _ if is_known => Some(Self {
                label,
                inside: label,
                is_closed: false,
            }),
            _ => None,
        }
    }
}

/// The length of the word at the start of `rest`.
fn label_length(rest: &str) -> Option<usize> {
    let is_part = |character: char| character.is_alphanumeric() || character == '_';
    let first = rest.chars().next()?;
    if !is_part(first) || first.is_ascii_digit() {
        return None;
    }
    Some(
        rest.find(|character| !is_part(character))
            .unwrap_or(rest.len()),
    )
}

/// The label in a text such as `var1.field$`, which lacks its first `$`.
fn label_without_dollar<'t>(text: &'t str, labels: &Labels<'_>) -> Option<&'t str> {
    let inside = text.strip_suffix('$')?;
    let (label, path_text) = inside.split_at(label_length(inside)?);
    let is_whole =
        !path_text.contains('$') && (path_text.is_empty() || path_text.starts_with(['.', '[']));
    (is_whole && labels.contains(label)).then_some(label)
}

/// Reads the text between the two `$`.
fn read(inside: &str, labels: &Labels<'_>, place: Place) -> LowerResult<Reference> {
    let written = format!("${inside}$");
    let faulty = |what: &str| malformed(format!("{} is not a reference: {what}", quote(&written)));
    let (label, path_text) = inside.split_at(labels.longest_prefix(inside).unwrap_or_default());
    let path: Option<Path> = parse_path(path_text)
        .map_err(|what| faulty(&what))?
        .into_iter()
        .map(|one| match one {
            PathSegment::Name(name) => Some(Segment::key(name)),
            PathSegment::Index(index) => Some(Segment::Index(index)),
            PathSegment::Star => Some(Segment::key("*")),
            PathSegment::Each => None,
        })
        .collect();
    let path = path.ok_or_else(|| faulty("this dialect has no `[*]`"))?;
    let read = Read::part(Source::Step(StepId::new(label)), path);
    Ok(Reference::read(read, written, place))
}

fn malformed(message: String) -> Box<Diagnostic> {
    Box::new(Diagnostic::error(Code::MalformedReference, message).help(FORM))
}

fn known(labels: &Labels<'_>) -> String {
    let mut labels: Vec<String> = labels.iter().take(20).map(quote).collect();
    labels.sort();
    match labels.as_slice() {
        [] => format!("no call has a label; {FORM}"),
        _ => format!("there are {}; {FORM}", labels.join(", ")),
    }
}

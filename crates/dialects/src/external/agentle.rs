//! The agentle dialect: `execute_tool_plan`, `"$ref:id.path"`.
//!
//! ```json
//! {"steps": [
//!   {"id": "tokyo", "tool": "get_weather", "arguments": "{\"location\": \"Tokyo\"}"},
//!   {"id": "tell", "tool": "notify", "arguments": {"degrees": "$ref:tokyo.temp"}}
//! ], "output_steps": ["tell"]}
//! ```
//!
//! - `arguments` is an object or its JSON text, whose diagnostics have places as well; if absent, there are no
//!   arguments.
//! - A reference is a whole text, at any depth: `$ref:id`, `$ref:id.a.0.b`, `[0]` for `.0`, `["odd.key"]`. The id is
//!   the longest known one that fits, so ids and fields may hold hyphens, blanks, dots and any letters; the original
//!   system passes such a marker on to the tool. A missing part gives `null`.
//! - `output_steps`, if absent or empty, selects every step.
//! - `$ref:` inside of longer text is an error; the original system passes it on to the tool.
//! - Literal: `$$ref:` stands for `$ref:` anywhere in a text. With several `$` before it, one `$` is removed. The original system has no
//!   escape.

use std::borrow::Cow;
use std::sync::Arc;

use planwright_core::plan::{
    Action, Missing, Name, Node, NodeKind, Output, Path, Read, Reference, Segment, Source, Step,
};
use planwright_core::{Code, Diagnostic, Diagnostics, Place, Plan, SourceText, StepId, Value};

use crate::dialect::{Dialect, MatchConfidence};
use crate::document::{
    DiagnosticSink, Document, Fields, Item, ItemKind, ReadLimits, quote, read_inside, with_article,
};
use crate::foreign_references::ReferenceForm;
use crate::lowering::path::{KnownNames, PathSegment, parse_path};
use crate::lowering::{
    LowerResult, ReferenceSyntax, lower, parse_document, text_or_number, tool_action,
};
use crate::printing::{
    Feature, LossReport, ObjectBuilder, WriteReferences, report_order, report_unsupported,
    write_node,
};

/// The dialect of agentle4j's tool planning.
#[derive(Clone, Copy, Debug)]
pub struct Agentle;

/// The form of the references, for the search for those of other systems.
const REFERENCE_FORM: ReferenceForm = ReferenceForm {
    write: |path| Some(format!("$ref:{path}")),
    is_own: |text| text.starts_with("$ref:"),
};

impl Dialect for Agentle {
    fn name(&self) -> &'static str {
        "agentle"
    }

    fn reference_form(&self) -> Option<ReferenceForm> {
        Some(REFERENCE_FORM)
    }

    fn shape(&self) -> &'static str {
        "`{\"steps\": [{\"id\", \"tool\", \"arguments\"}], \"output_steps\"}` with `\"$ref:id.path\"`"
    }

    fn recognise(&self, document: &Document) -> MatchConfidence {
        let Some(steps) = document.root.get("steps").and_then(Item::as_list) else {
            return MatchConfidence::No;
        };
        let marked = |step: &Item| step.has("arguments") && step.has("tool");
        MatchConfidence::certain_if(document.root.has("output_steps") || steps.iter().any(marked))
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
        plan(root, context.source, context.limits, context.sink)
    })
}

fn plan(
    root: &Item,
    source: &mut SourceText,
    limits: &ReadLimits,
    sink: &mut DiagnosticSink,
) -> Option<Plan> {
    let mut fields = Fields::of(root, "the plan", sink)?;
    let items = fields.required_list("steps", sink);
    let selected = fields.list("output_steps", sink).unwrap_or_default();
    fields.finish(sink);
    let selected: Vec<Name> = selected
        .iter()
        .filter_map(|item| text_or_number(item, "output_steps", sink))
        .collect();
    let items = items?;
    let drafts: Vec<StepDraft<'_>> = items
        .iter()
        .filter_map(|item| StepDraft::read(item, sink))
        .collect();
    // If no step could be read, an empty plan would hide that.
    if drafts.is_empty() && !items.is_empty() {
        return None;
    }
    let ids: KnownNames<'_> = drafts.iter().map(|draft| &*draft.id).collect();
    let steps = drafts
        .iter()
        .map(|draft| {
            let args = match draft.arguments {
                Some(item) => arguments(item, &ids, (source, limits), sink),
                None => Node::literal(Value::empty_object(), draft.place),
            };
            let id = StepId::new(Arc::clone(&draft.id));
            let mut step = Step::new(id, draft.action.clone(), args);
            step.place = draft.place;
            step
        })
        .collect();
    Some(Plan {
        steps,
        output: if selected.is_empty() {
            Output::All
        } else {
            Output::Steps(selected)
        },
        place: root.place,
        ..Plan::default()
    })
}

/// A step whose arguments are not lowered yet.
struct StepDraft<'a> {
    id: Arc<str>,
    action: Action,
    arguments: Option<&'a Item>,
    place: Place,
}

impl<'a> StepDraft<'a> {
    fn read(item: &'a Item, sink: &mut DiagnosticSink) -> Option<Self> {
        let mut fields = Fields::of(item, "the step", sink)?;
        let id = fields
            .required("id", sink)
            .and_then(|id| text_or_number(id, "id", sink));
        let action = tool_action(&mut fields, "tool", sink);
        let arguments = fields.optional("arguments");
        fields.finish(sink);
        Some(Self {
            id: id?.text,
            action,
            arguments,
            place: item.place,
        })
    }
}

/// Lowers the arguments in `item`: an object, or a text that holds the JSON of one.
fn arguments(
    item: &Item,
    ids: &KnownNames<'_>,
    (source, limits): (&mut SourceText, &ReadLimits),
    sink: &mut DiagnosticSink,
) -> Node {
    let inner;
    let object = match &item.kind {
        ItemKind::Text(_) => {
            let (read, diagnostics) = read_inside(source, item, limits);
            sink.extend(diagnostics);
            inner = read;
            inner.as_ref()
        }
        _ => Some(item),
    };
    match object {
        Some(object) if object.as_object().is_some() => {
            lower(object, &mut AgentleTexts { ids, sink })
        }
        Some(other) => {
            let found = with_article(other.kind_word());
            let message = format!("expected an object in `arguments`, found {found}");
            sink.push(item.place, Diagnostic::error(Code::WrongFieldType, message));
            Node::literal(Value::empty_object(), item.place)
        }
        None => Node::literal(Value::empty_object(), item.place),
    }
}

/// The reference syntax, for the texts of one step.
struct AgentleTexts<'a> {
    ids: &'a KnownNames<'a>,
    sink: &'a mut DiagnosticSink,
}

impl ReferenceSyntax for AgentleTexts<'_> {
    fn text(&mut self, text: &Arc<str>, place: Place) -> NodeKind {
        match read(text, self.ids, place) {
            Ok(TextMeaning::Reference(reference)) => NodeKind::Reference(reference),
            Ok(TextMeaning::Literal(literal)) if *literal == **text => {
                NodeKind::Literal(Arc::clone(text).into())
            }
            Ok(TextMeaning::Literal(literal)) => NodeKind::Literal(literal.into_owned().into()),
            Err(diagnostic) => {
                self.sink.push(place, *diagnostic);
                NodeKind::Literal(Arc::clone(text).into())
            }
        }
    }
}

const MARK: &str = "$ref:";

const ESCAPE: &str = "write `$$ref:` for a literal `$ref:`";

type Ids<'a> = KnownNames<'a>;

/// Splits `target` into id and path: the id is the longest known one that ends where a path may begin, else the text
/// before the first `.` or `[`.
fn split_id<'t>(target: &'t str, ids: &Ids<'_>) -> (&'t str, &'t str) {
    let end = || target.find(['.', '[']).unwrap_or(target.len());
    target.split_at(ids.longest_prefix(target).unwrap_or_else(end))
}

/// The meaning of a text.
#[derive(Debug)]
enum TextMeaning<'a> {
    /// Literal text, escapes resolved.
    Literal(Cow<'a, str>),
    /// A reference.
    Reference(Reference),
}

/// Reads a text as a reference or a literal.
fn read<'t>(text: &'t str, ids: &Ids<'_>, place: Place) -> LowerResult<TextMeaning<'t>> {
    if let Some(target) = text.strip_prefix(MARK) {
        return read_target(text, target, ids, place).map(TextMeaning::Reference);
    }
    match unescape(text) {
        Some(literal) => Ok(TextMeaning::Literal(literal)),
        None => Err(Box::new(inside_of_text(text))),
    }
}

fn read_target(text: &str, target: &str, ids: &Ids<'_>, place: Place) -> LowerResult<Reference> {
    let malformed = |what: &str| {
        let message = format!("{} is not a reference: {what}", quote(text));
        let help = format!("write `$ref:id.field`; {ESCAPE}");
        Box::new(Diagnostic::error(Code::MalformedReference, message).help(help))
    };
    let (id, path_text) = split_id(target, ids);
    if id.trim().is_empty() {
        return Err(malformed("the step's id is missing"));
    }
    // An unknown id with more text is probably a reference inside of a text, for which there is better advice.
    if !ids.contains(id) && (target.contains(MARK) || begins_with_reference(target, ids)) {
        return Err(Box::new(inside_of_text(text)));
    }
    let segments = parse_path(path_text).map_err(|what| malformed(&what))?;
    let path: Option<Path> = segments
        .into_iter()
        .map(|one| match one {
            PathSegment::Name(name) => Some(Segment::key(name)),
            // As in `.0`, the value decides if the number is an index or a key.
            PathSegment::Index(index) => Some(Segment::key(index.to_string())),
            PathSegment::Star => Some(Segment::key("*")),
            PathSegment::Each => None,
        })
        .collect();
    let path = path.ok_or_else(|| malformed("this dialect has no `[*]`"))?;
    let read = Read::part(Source::Step(StepId::new(id)), path).or_missing(Missing::Null);
    Ok(Reference::read(read, text, place))
}

/// Returns true if an unknown id begins with a known one.
fn begins_with_reference(target: &str, ids: &Ids<'_>) -> bool {
    let end = |c: char| c.is_whitespace() || matches!(c, ',' | ';' | ')' | '"' | '/' | ':');
    match target.find(end) {
        Some(at) => ids.contains(split_id(&target[..at], ids).0),
        None => false,
    }
}

fn inside_of_text(text: &str) -> Diagnostic {
    let message = format!("the text {} has a `$ref:` inside of it", quote(text));
    let help = format!("a reference must be the whole text; {ESCAPE}");
    Diagnostic::error(Code::MalformedReference, message).help(help)
}

/// The text with `$$ref:` replaced by `$ref:`; `None` if it has an unescaped mark.
fn unescape(text: &str) -> Option<Cow<'_, str>> {
    if !text.contains(MARK) {
        return Some(text.into());
    }
    let mut literal = String::with_capacity(text.len());
    let mut start = 0;
    for (at, _) in text.match_indices(MARK) {
        if !text[start..at].ends_with('$') {
            return None;
        }
        literal.push_str(&text[start..at - 1]);
        start = at;
    }
    literal.push_str(&text[start..]);
    Some(literal.into())
}

const SUPPORTED: &[Feature] = &[
    Feature::SelectedOutput,
    Feature::ListedOrder,
    Feature::DataflowOrder,
    Feature::KeepGoing,
    Feature::OpenSharing,
    Feature::After,
];

/// Writes `plan`. Only data orders steps, so any other order must follow from it.
fn print(plan: &Plan) -> (Option<String>, Diagnostics) {
    let mut losses = LossReport::new("agentle", plan);
    losses.report_foreign_references(plan, REFERENCE_FORM);
    report_unsupported(plan, SUPPORTED, &mut losses);
    let writer = AgentleWriter {
        ids: plan.steps.iter().map(|step| step.id.as_str()).collect(),
    };
    let mut steps = Vec::with_capacity(plan.steps.len());
    for (position, step) in plan.steps.iter().enumerate() {
        report_order(plan, position, &mut losses);
        steps.push(write_step(step, &writer, &mut losses));
    }
    let mut root = ObjectBuilder::default();
    root.field("steps", steps);
    if let Output::Steps(names) = &plan.output {
        // In this dialect, an empty list selects every step.
        if names.is_empty() {
            losses.error(plan.place, "a plan without an output");
        }
        let names = names.iter().map(|name| Value::Text(Arc::clone(&name.text)));
        root.field("output_steps", Value::list(names));
    }
    losses.finish(&root.build())
}

fn write_step(step: &Step, writer: &AgentleWriter<'_>, losses: &mut LossReport<'_>) -> Value {
    let mut object = ObjectBuilder::default();
    object.field("id", Arc::clone(step.id.text()));
    object.optional("tool", step.tool().map(|tool| Arc::clone(&tool.text)));
    let arguments = write_node(&step.args, writer, losses);
    // The arguments are a separate JSON text, for which readers have a separate size limit.
    losses.report_oversize(step.args.place, &arguments);
    object.field("arguments", arguments.to_json());
    object.build()
}

/// A writer of references that match the pattern of the original system.
struct AgentleWriter<'p> {
    /// The ids of the plan's steps.
    ids: Ids<'p>,
}

impl WriteReferences for AgentleWriter<'_> {
    fn write_whole(&self, reference: &Reference, losses: &mut LossReport<'_>) -> Value {
        let refuse = |what: &str, losses: &mut LossReport<'_>| {
            losses.error(reference.place, what);
            Value::Null
        };
        let Some((step, read)) = losses.step_read(reference) else {
            return Value::Null;
        };
        if !is_word(step.as_str()) {
            let what = format!("a reference to step {}", quote(step.as_str()));
            let help = "agentle reads ids of letters, digits and `_`: rename the step";
            losses.error_with_help(reference.place, &what, help);
            return Value::Null;
        }
        if read.missing != Missing::Null && !read.path.is_empty() {
            losses.warning(reference.place, "that a missing value fails the step");
        }
        let mut written = format!("{MARK}{step}");
        for segment in &read.path {
            match segment {
                Segment::Key(key) if is_word(key) => written.extend([".", key]),
                Segment::Key(key) => {
                    return refuse(&format!("the field {}", quote(key)), losses);
                }
                Segment::Index(index) if *index >= 0 => {
                    written.extend([".", &index.to_string()]);
                }
                Segment::Index(_) => return refuse("an item counted from the end", losses),
                Segment::Each => return refuse("a path that maps over a list", losses),
            }
        }
        // A reader prefers the longest matching id: `a.b` means the step of that name, if there is one.
        let (id, _) = split_id(written.trim_start_matches(MARK), &self.ids);
        if id != step.as_str() {
            let what = format!(
                "a field of step {} beside the step {}",
                quote(step.as_str()),
                quote(id)
            );
            losses.error_with_help(reference.place, &what, "rename one of the steps");
            return Value::Null;
        }
        written.into()
    }

    fn write_inside(&self, reference: &Reference, losses: &mut LossReport<'_>) -> String {
        losses.error(reference.place, "a reference inside of a text");
        String::new()
    }

    fn report_text(&self, text: &str, _is_key: bool, place: Place, losses: &mut LossReport<'_>) {
        if text.contains(MARK) {
            losses.error_with_help(place, "a literal `$ref:`", "agentle has no escape for it");
        }
    }

    fn escape_text(&self, text: &str, _before_marker: bool) -> String {
        text.to_owned()
    }
}

/// Returns true if agentle reads `name` as one id or field: its pattern has letters, digits and `_` only.
fn is_word(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

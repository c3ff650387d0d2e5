//! The Concierge dialect: `execute_plan(steps)`, listed order, `output_by_reference`.
//!
//! ```json
//! {"steps": [
//!   {"id": "backup", "tool": "create_backup", "args": {"database": "prod"}},
//!   {"id": "validate", "tool": "validate_backup",
//!    "args": {"backup_id": {"output_by_reference": {"backup": ["backup_id"]}}}}
//! ]}
//! ```
//!
//! - `args` is optional; `id` is text or a whole number, read as text.
//! - A reference is an object whose only key is `output_by_reference`. It holds one step and a path: texts and whole
//!   numbers, `[]` for the whole output, negative numbers from the end of a list. References work at any depth of the
//!   arguments; the original system resolves only the first level.
//! - Steps run one after the other as they are listed, the first failure stops the run, and only parameters that the
//!   tool marks as sharable take references. References lead to earlier steps only, which the checks enforce for every
//!   plan in listed order.
//! - Literal: the original system cannot pass an object with the key `output_by_reference` on as data. Here `$output_by_reference` stands
//! for
//!   that key. With several `$` before it, one `$` is removed.

use std::collections::HashSet;
use std::sync::Arc;

use planwright_core::plan::{
    Missing, Node, OnFailure, Ordering, Path, Read, Reference, Segment, Sharing, Source, Step,
};
use planwright_core::{Code, Diagnostic, Diagnostics, Place, Plan, StepId, Value};

use crate::dialect::{Dialect, MatchConfidence};
use crate::document::{
    DiagnosticSink, Document, Fields, Item, ItemEntry, ItemKind, quote, with_article,
};
use crate::foreign_references::ReferenceForm;
use crate::lowering::{ReferenceSyntax, lower_fields, parse_document, text_or_number, tool_action};
use crate::printing::{
    Feature, LossReport, ObjectBuilder, WriteReferences, report_nested, report_unsupported,
    write_node,
};

/// The dialect of the Concierge plan backend.
#[derive(Clone, Copy, Debug)]
pub struct Concierge;

/// The form of the references, for the search for those of other systems.
const REFERENCE_FORM: ReferenceForm = ReferenceForm {
    write: |path| {
        let (step, rest) = path.split_at(path.find(['.', '[']).unwrap_or(path.len()));
        let keys = rest.split(['.', '[', ']']).filter(|key| !key.is_empty());
        let keys = keys.map(|key| format!("\"{key}\"")).collect::<Vec<_>>();
        let keys = keys.join(", ");
        Some(format!("{{\"{KEY}\": {{\"{step}\": [{keys}]}}}}"))
    },
    is_own: |text| text == KEY,
};

impl Dialect for Concierge {
    fn name(&self) -> &'static str {
        "concierge"
    }

    fn reference_form(&self) -> Option<ReferenceForm> {
        Some(REFERENCE_FORM)
    }

    fn shape(&self) -> &'static str {
        "`{\"steps\": [{\"id\", \"tool\", \"args\"}]}` with `{\"output_by_reference\": {step: [path]}}`"
    }

    fn recognise(&self, document: &Document) -> MatchConfidence {
        let Some(steps) = document.root.get("steps").and_then(Item::as_list) else {
            return MatchConfidence::No;
        };
        let args = steps.iter().filter_map(|step| step.get("args"));
        if args.into_iter().any(contains_reference) {
            return MatchConfidence::Certain;
        }
        let alone = document.root.as_object().is_some_and(|all| all.len() == 1);
        let fits = |step: &Item| {
            let known = |entries: &[_]| only_known(entries);
            step.has("id") && step.has("tool") && step.as_object().is_some_and(known)
        };
        // A single call without references is the same in every order, so the native dialect reads it.
        if alone && 1 < steps.len() && steps.iter().all(fits) {
            MatchConfidence::Possible
        } else {
            MatchConfidence::No
        }
    }

    fn parse(&self, document: Document) -> (Option<Plan>, Diagnostics) {
        parse(document)
    }

    fn print(&self, plan: &Plan) -> (Option<String>, Diagnostics) {
        print(plan)
    }
}

fn only_known(entries: &[crate::document::ItemEntry]) -> bool {
    entries
        .iter()
        .all(|entry| matches!(&*entry.key, "id" | "tool" | "args"))
}

fn contains_reference(item: &Item) -> bool {
    match &item.kind {
        ItemKind::List(items) => items.iter().any(contains_reference),
        ItemKind::Object(entries) => entries
            .iter()
            .any(|entry| &*entry.key == KEY || contains_reference(&entry.item)),
        _ => false,
    }
}

/// Reads a plan.
fn parse(document: Document) -> (Option<Plan>, Diagnostics) {
    parse_document(document, |root, context| {
        Some(Plan {
            steps: steps(root, context.sink)?,
            ordering: Ordering::Listed,
            on_failure: OnFailure::Stop,
            sharing: Sharing::MarkedOnly,
            place: root.place,
            ..Plan::default()
        })
    })
}

fn steps(root: &Item, sink: &mut DiagnosticSink) -> Option<Vec<Step>> {
    let mut fields = Fields::of(root, "the plan", sink)?;
    let items = fields.required_list("steps", sink);
    fields.finish(sink);
    let items = items?;
    let steps: Vec<Step> = items.iter().filter_map(|item| step(item, sink)).collect();
    // If no step could be read, an empty plan would hide that.
    (!steps.is_empty() || items.is_empty()).then_some(steps)
}

fn step(item: &Item, sink: &mut DiagnosticSink) -> Option<Step> {
    let mut fields = Fields::of(item, "the step", sink)?;
    let id = fields
        .required("id", sink)
        .and_then(|id| text_or_number(id, "id", sink));
    let action = tool_action(&mut fields, "tool", sink);
    let args = match fields.entry("args") {
        Some(entry) => args(&entry.item, sink),
        None => Node::literal(Value::empty_object(), item.place),
    };
    fields.finish(sink);
    let mut step = Step::new(StepId::new(id?.text), action, args);
    step.place = item.place;
    Some(step)
}

fn args(item: &Item, sink: &mut DiagnosticSink) -> Node {
    let Some(entries) = item.as_object() else {
        let found = with_article(item.kind_word());
        let message = format!("expected an object in `args`, found {found}");
        let diagnostic = Diagnostic::error(Code::WrongFieldType, message);
        let help = "omit `args` if the tool takes no arguments";
        sink.push(item.place, diagnostic.help(help));
        return Node::literal(Value::empty_object(), item.place);
    };
    if item.has(KEY) {
        let message = "the arguments as a whole cannot be a reference";
        let diagnostic = Diagnostic::error(Code::MalformedReference, message);
        let help = "put the reference into the argument that takes it";
        sink.push(item.place, diagnostic.help(help));
        return Node::literal(Value::empty_object(), item.place);
    }
    lower_fields(item.place, entries, &mut ReferenceObjects { sink })
}

/// The key of an object that is a reference.
const KEY: &str = "output_by_reference";

const FORM: &str = "write `{\"output_by_reference\": {\"step\": [\"key\", 0]}}`, or \
                    `$output_by_reference` for the key as data";

/// The reference syntax.
struct ReferenceObjects<'a> {
    sink: &'a mut DiagnosticSink,
}

impl ReferenceSyntax for ReferenceObjects<'_> {
    fn object(&mut self, item: &Item, entries: &[ItemEntry]) -> Option<Node> {
        let marker = entries.iter().rfind(|entry| &*entry.key == KEY)?;
        if entries.len() > 1 {
            let others = entries.iter().filter(|entry| &*entry.key != KEY);
            let names: Vec<String> = others.map(|entry| quote(&entry.key)).collect();
            let message = if names.is_empty() {
                "a reference occurs twice".to_owned()
            } else {
                format!("a reference has {} beside it", names.join(", "))
            };
            let diagnostic = Diagnostic::error(Code::MalformedReference, message);
            self.sink.push(item.place, diagnostic.help(FORM));
            return Some(Node::literal(item.to_value(), item.place));
        }
        let node = match self.read(&marker.item) {
            Some(read) => {
                Node::reference(Reference::read(read, item.to_value().to_json(), item.place))
            }
            None => Node::literal(item.to_value(), item.place),
        };
        Some(node)
    }

    fn key(&mut self, key: &Arc<str>) -> Arc<str> {
        match key.strip_prefix('$') {
            Some(rest) if rest.trim_start_matches('$') == KEY => rest.into(),
            _ => Arc::clone(key),
        }
    }
}

impl ReferenceObjects<'_> {
    fn read(&mut self, payload: &Item) -> Option<Read> {
        let Some(entries) = payload.as_object() else {
            let found = with_article(payload.kind_word());
            return self.malformed(
                payload,
                format!("a reference holds {found} instead of an object"),
            );
        };
        let [entry] = entries else {
            let message = format!("a reference names {} steps instead of one", entries.len());
            return self.malformed(payload, message);
        };
        let Some(items) = entry.item.as_list() else {
            let found = with_article(entry.item.kind_word());
            let step = quote(&entry.key);
            return self.malformed(
                &entry.item,
                format!("the path into step {step} is {found} instead of a list"),
            );
        };
        let segments: Vec<Option<Segment>> = items.iter().map(|item| self.segment(item)).collect();
        let path: Option<Path> = segments.into_iter().collect();
        let step = StepId::new(Arc::clone(&entry.key));
        Some(Read::part(Source::Step(step), path?))
    }

    fn segment(&mut self, item: &Item) -> Option<Segment> {
        match &item.kind {
            ItemKind::Text(text) => Some(Segment::Key(Arc::clone(text))),
            ItemKind::Number(number) if !number.is_f64() => Some(Segment::key(number.to_string())),
            _ => {
                let written = item.to_value().to_json();
                let message = format!(
                    "a path is made of texts and whole numbers, found {}",
                    quote(&written)
                );
                self.malformed(item, message)
            }
        }
    }

    fn malformed<T>(&mut self, item: &Item, message: String) -> Option<T> {
        let diagnostic = Diagnostic::error(Code::MalformedReference, message).help(FORM);
        self.sink.push(item.place, diagnostic);
        None
    }
}

const SUPPORTED: &[Feature] = &[Feature::ListedOrder, Feature::Stop, Feature::MarkedSharing];

/// Writes `plan`. Independent steps run in listed order, which only takes longer, so that is a warning.
fn print(plan: &Plan) -> (Option<String>, Diagnostics) {
    let mut losses = LossReport::new("concierge", plan);
    losses.report_foreign_references(plan, REFERENCE_FORM);
    let mut supported = SUPPORTED.to_vec();
    if plan.ordering == Ordering::Dataflow {
        // Listed order satisfies `after`, as long as it names earlier steps only.
        supported.push(Feature::After);
    }
    report_unsupported(plan, &supported, &mut losses);
    let mut earlier: HashSet<&str> = HashSet::new();
    let mut steps = Vec::with_capacity(plan.steps.len());
    for step in &plan.steps {
        report_nested(&step.args, &mut losses);
        report_later(step, &earlier, &mut losses);
        steps.push(write_step(step, &mut losses));
        earlier.insert(step.id.as_str());
    }
    let mut root = ObjectBuilder::default();
    root.field("steps", steps);
    losses.finish(&root.build())
}

fn write_step(step: &Step, losses: &mut LossReport<'_>) -> Value {
    let mut object = ObjectBuilder::default();
    object.field("id", Arc::clone(step.id.text()));
    object.optional("tool", step.tool().map(|tool| Arc::clone(&tool.text)));
    object.field("args", write_node(&step.args, &ConciergeWriter, losses));
    object.build()
}

fn report_later(step: &Step, earlier: &HashSet<&str>, losses: &mut LossReport<'_>) {
    for name in &step.after {
        if !earlier.contains(&*name.text) {
            let what = format!(
                "that a step comes after {}, which is listed later",
                quote(&name.text)
            );
            losses.error(name.place, &what);
        }
    }
    step.args.each_reference(&mut |reference| {
        for read in reference.reads() {
            if let Source::Step(target) = &read.source
                && !earlier.contains(target.as_str())
            {
                let target = quote(target.as_str());
                let what = format!("a reference to {target}, which is not listed earlier");
                losses.error(reference.place, &what);
            }
        }
    });
}

/// A writer of references.
struct ConciergeWriter;

impl WriteReferences for ConciergeWriter {
    fn write_whole(&self, reference: &Reference, losses: &mut LossReport<'_>) -> Value {
        let Some((step, read)) = losses.step_read(reference) else {
            return Value::Null;
        };
        if read.missing == Missing::Null && !read.path.is_empty() {
            losses.warning(reference.place, "that a missing value gives `null`");
        }
        let segments = read.path.iter().map(|segment| match segment {
            Segment::Key(key) => Value::Text(Arc::clone(key)),
            Segment::Index(index) => Value::from(*index),
            Segment::Each => {
                losses.error(reference.place, "a path that maps over a list");
                Value::Null
            }
        });
        let path = Value::list(segments);
        let payload = Value::object([(Arc::clone(step.text()), path)]);
        Value::object([(KEY, payload)])
    }

    fn write_inside(&self, reference: &Reference, losses: &mut LossReport<'_>) -> String {
        losses.error(reference.place, "a reference inside of a text");
        String::new()
    }

    fn escape_text(&self, text: &str, _before_marker: bool) -> String {
        text.to_owned()
    }

    fn report_text(&self, text: &str, is_key: bool, place: Place, losses: &mut LossReport<'_>) {
        if is_key && text.trim_start_matches('$') == KEY {
            let what = format!("a literal key {}", quote(text));
            losses.error_with_help(place, &what, "Concierge has no escape for it");
        }
    }
}

//! Recognises and lowers an mcp-cli plan: all steps first, then their arguments, because any step may write a variable.

use std::collections::HashSet;
use std::sync::Arc;

use planwright_core::plan::{
    Action, Input, InputKind, Method, Name, Node, NodeKind, SlotKind, SlotPath, Step, Targets,
    Writes,
};
use planwright_core::{
    Code, Diagnostic, Diagnostics, Object, Place, Plan, SourceText, StepId, Value,
};

use super::print;
use super::reference::{StepLink, VariableOrigin, VariableWriters};
use super::reference::{VariableMarker, has_stray_brace};
use crate::dialect::{Dialect, MatchConfidence};
use crate::document::{DiagnosticSink, Document, Fields, Item, quote};
use crate::foreign_references::ReferenceForm;
use crate::lowering::{
    ReferenceSyntax, lower, lower_template, parse_document, text_or_number, tool_action,
};
use crate::printing::ObjectBuilder;

/// The dialect of mcp-cli's execution plans.
#[derive(Clone, Copy, Debug)]
pub struct McpCli;

/// The form of the references, for the search for those of other systems.
pub(super) const REFERENCE_FORM: ReferenceForm = ReferenceForm {
    write: |path| {
        Some(format!(
            "${{{}}}",
            path.strip_prefix("vars.").unwrap_or(path)
        ))
    },
    is_own: |text| text.starts_with("${"),
};

impl Dialect for McpCli {
    fn name(&self) -> &'static str {
        "mcp-cli"
    }

    fn shape(&self) -> &'static str {
        "`{\"variables\", \"steps\": [{\"index\", \"tool\", \"args\", \"depends_on\", \"result_variable\"}]}`"
    }

    fn recognise(&self, document: &Document) -> MatchConfidence {
        let Some(steps) = document.root.get("steps").and_then(Item::as_list) else {
            return MatchConfidence::No;
        };
        let has_call = |step: &Item| step.has("args") || step.has("tool_calls");
        let is_marked = |step: &Item| {
            step.has("index")
                || step.has("result_variable")
                || step.has("tool_calls")
                || (step.has("depends_on") && step.has("args"))
        };
        // A step of this dialect has an `index` in place of an `id`.
        let is_foreign = |step: &Item| step.has("id") && !step.has("index");
        if steps.iter().any(is_foreign) {
            return MatchConfidence::No;
        }
        if document.root.has("variables") || steps.iter().any(is_marked) {
            return MatchConfidence::Certain;
        }
        if !steps.is_empty() && steps.iter().all(has_call) {
            MatchConfidence::Possible
        } else {
            MatchConfidence::No
        }
    }

    fn reference_form(&self) -> Option<ReferenceForm> {
        Some(REFERENCE_FORM)
    }

    fn parse(&self, document: Document) -> (Option<Plan>, Diagnostics) {
        parse(document)
    }

    fn print(&self, plan: &Plan) -> (Option<String>, Diagnostics) {
        print::print(plan)
    }
}

/// Reads a plan.
pub(super) fn parse(document: Document) -> (Option<Plan>, Diagnostics) {
    parse_document(document, |root, context| {
        plan(root, context.source, context.sink)
    })
}

fn plan(root: &Item, source: &mut SourceText, sink: &mut DiagnosticSink) -> Option<Plan> {
    let mut fields = Fields::of(root, "the plan", sink)?;
    let id = fields.optional("id");
    let name = id.and_then(|id| text_or_number(id, "id", sink));
    let title = fields.text("title", sink).map(Arc::clone);
    let description = fields.text("description", sink).map(Arc::clone);
    let metadata = metadata(&mut fields, sink);
    let inputs = inputs(&mut fields, sink);
    let items = fields.required_list("steps", sink);
    fields.finish(sink);
    let items = items?;
    let drafts: Vec<StepDraft<'_>> = items
        .iter()
        .enumerate()
        .filter_map(|(position, item)| StepDraft::read(item, position, sink))
        .collect();
    // An empty plan would hide that no step could be read.
    if drafts.is_empty() && !items.is_empty() {
        return None;
    }
    Some(Plan {
        name: name.map(|name| name.text),
        title,
        description,
        steps: lower_steps(&drafts, &inputs, source, sink),
        inputs,
        metadata,
        place: root.place,
        ..Plan::default()
    })
}

fn metadata(fields: &mut Fields<'_>, sink: &mut DiagnosticSink) -> Value {
    let mut wrapped = ObjectBuilder::default();
    if fields.list("tags", sink).is_some() {
        wrapped.optional("tags", fields.optional("tags").map(Item::to_value));
    }
    let metadata = fields.object("metadata", sink).map(Item::to_value);
    let is_foreign = metadata
        .as_ref()
        .and_then(Value::as_object)
        .is_some_and(is_foreign_metadata);
    wrapped.optional("metadata", metadata.clone());
    let wrapped = wrapped.build();
    match metadata {
        // `print` writes the metadata of another dialect as the whole `metadata`, so it is read back in this form.
        Some(metadata) if is_foreign && wrapped.get("tags").is_none() => metadata,
        _ if wrapped == Value::empty_object() => Value::Null,
        _ => wrapped,
    }
}

/// Returns true if `fields` are metadata of another dialect, and not the `tags` and `metadata` of this one.
pub(super) fn is_foreign_metadata(fields: &Object) -> bool {
    let is_own = |(key, value): (&Arc<str>, &Value)| match &**key {
        "tags" => value.as_list().is_some(),
        "metadata" => value.as_object().is_some(),
        _ => false,
    };
    !fields.iter().all(is_own)
}

fn inputs(fields: &mut Fields<'_>, sink: &mut DiagnosticSink) -> Vec<Input> {
    let variables = fields.object("variables", sink);
    let entries = variables.and_then(Item::as_object).unwrap_or_default();
    entries
        .iter()
        .map(|entry| Input {
            name: Arc::clone(&entry.key),
            kind: InputKind::Variable,
            schema: Value::Null,
            default: Some(entry.item.to_value()),
            place: entry.item.place,
        })
        .collect()
}

/// A step whose arguments are not lowered yet.
struct StepDraft<'a> {
    id: Arc<str>,
    title: Option<Arc<str>>,
    action: Action,
    args: Option<&'a Item>,
    after: Vec<Name>,
    result: Option<Name>,
    place: Place,
}

impl<'a> StepDraft<'a> {
    fn read(item: &'a Item, position: usize, sink: &mut DiagnosticSink) -> Option<Self> {
        let mut fields = Fields::of(item, "the step", sink)?;
        let index = fields.optional("index");
        let id = match index.map(|index| text_or_number(index, "index", sink)) {
            Some(Some(name)) => name.text,
            _ => (position + 1).to_string().into(),
        };
        let title = fields.text("title", sink).map(Arc::clone);
        let (action, args) = call(&mut fields, sink);
        let after = fields.list("depends_on", sink).unwrap_or_default();
        let after = after
            .iter()
            .filter_map(|item| text_or_number(item, "depends_on", sink))
            .collect();
        let result = fields.optional("result_variable");
        let result = result.and_then(|item| result_variable(item, sink));
        // A saved plan may have the `_status` of an earlier run, which is ignored.
        fields.entry("_status");
        fields.finish(sink);
        Some(Self {
            id,
            title,
            action,
            args,
            after,
            result,
            place: item.place,
        })
    }

    fn link(&self) -> StepLink<'_> {
        StepLink {
            index: &self.id,
            after: self.after.iter().map(|name| &*name.text).collect(),
            result: self.result.as_ref().map(|name| &*name.text),
        }
    }
}

fn result_variable(item: &Item, sink: &mut DiagnosticSink) -> Option<Name> {
    let Some(text) = item.as_text() else {
        sink.push_wrong_type(item, "result_variable", "text");
        return None;
    };
    if text.trim().is_empty() {
        let message = "the name in `result_variable` is blank";
        let diagnostic = Diagnostic::error(Code::InvalidFieldValue, message);
        sink.push(
            item.place,
            diagnostic.help("omit it if no step reads the result"),
        );
        return None;
    }
    Some(Name {
        text: Arc::clone(text),
        place: item.place,
    })
}

/// The call of a step: `tool` with `args`, or the only entry of `tool_calls`.
fn call<'a>(fields: &mut Fields<'a>, sink: &mut DiagnosticSink) -> (Action, Option<&'a Item>) {
    let Some(calls) = fields.optional("tool_calls") else {
        let action = tool_action(fields, "tool", sink);
        return (action, fields.object("args", sink));
    };
    for other in ["tool", "args"] {
        if let Some(item) = fields.optional(other) {
            let message = format!("the step has both `tool_calls` and `{other}`");
            let diagnostic = Diagnostic::error(Code::ConflictingFields, message);
            sink.push(item.place, diagnostic.help("keep one of them"));
        }
    }
    let no_call = (Action::Value(Node::default()), None);
    let Some(calls) = calls.as_list() else {
        sink.push_wrong_type(calls, "tool_calls", "a list");
        return no_call;
    };
    let [only] = calls else {
        let message = format!("the step has {} calls in `tool_calls`", calls.len());
        let diagnostic = Diagnostic::error(Code::ConflictingFields, message);
        sink.push(
            fields.place(),
            diagnostic.help("make one step of each call"),
        );
        return no_call;
    };
    let Some(mut call) = Fields::of(only, "the call", sink) else {
        return no_call;
    };
    let name = call.required_text("name", sink);
    let args = call.object("args", sink);
    call.entry("id");
    call.finish(sink);
    let action = name.map_or(Action::Value(Node::default()), |(text, place)| {
        Action::Tool(Name {
            text: Arc::clone(text),
            place,
        })
    });
    (action, args)
}

fn lower_steps(
    drafts: &[StepDraft<'_>],
    inputs: &[Input],
    source: &mut SourceText,
    sink: &mut DiagnosticSink,
) -> Vec<Step> {
    let links: Vec<StepLink<'_>> = drafts.iter().map(StepDraft::link).collect();
    let writers = VariableWriters::of(&links);
    let declared: HashSet<&str> = inputs.iter().map(|input| &*input.name).collect();
    let mut steps = Vec::with_capacity(drafts.len());
    for (step_index, draft) in drafts.iter().enumerate() {
        let mut scope = StepScope {
            step_index,
            drafts,
            writers: &writers,
            declared: &declared,
            source,
            sink,
        };
        let args = match draft.args {
            Some(item) => lower(item, &mut scope),
            None => Node::literal(Value::empty_object(), draft.place),
        };
        let id = StepId::new(Arc::clone(&draft.id));
        let mut step = Step::new(id, draft.action.clone(), args);
        step.title.clone_from(&draft.title);
        step.place = draft.place;
        step.after.clone_from(&draft.after);
        step.writes = draft.result.as_ref().map(writes);
        steps.push(step);
    }
    steps
}

fn writes(variable: &Name) -> Writes {
    Writes {
        targets: Targets::All(vec![SlotPath {
            kind: SlotKind::Vars,
            keys: vec![Arc::clone(&variable.text)],
            place: variable.place,
        }]),
        method: Method::Set,
        place: variable.place,
    }
}

/// The reference syntax, and the variables that one step can read.
struct StepScope<'a> {
    /// The index of the step whose references are read.
    step_index: usize,
    drafts: &'a [StepDraft<'a>],
    writers: &'a VariableWriters<'a>,
    declared: &'a HashSet<&'a str>,
    source: &'a mut SourceText,
    sink: &'a mut DiagnosticSink,
}

impl ReferenceSyntax for StepScope<'_> {
    fn text(&mut self, text: &Arc<str>, place: Place) -> NodeKind {
        let (step_index, drafts) = (self.step_index, self.drafts);
        let (writers, declared) = (self.writers, self.declared);
        let source_and_sink = (&mut *self.source, &mut *self.sink);
        let kind = lower_template(text, place, b"\"", source_and_sink, &mut |inside, place| {
            let origin =
                |name: &str| match writers.origin(name, step_index, declared.contains(name)) {
                    VariableOrigin::Step(position) => {
                        Some(StepId::new(Arc::clone(&drafts[position].id)))
                    }
                    VariableOrigin::Initial => None,
                };
            Ok(VariableMarker::read(inside)?.resolve(&origin, inside, place))
        });
        if let NodeKind::Text(parts) = &kind
            // `${a}}` looks like a reference without other text, but has a literal brace.
            && has_stray_brace(parts)
        {
            let message = format!("{} has an extra `}}`", quote(text));
            let diagnostic = Diagnostic::error(Code::MalformedReference, message);
            self.sink.push(
                place,
                diagnostic.help("remove the text after the first `}`"),
            );
        }
        kind
    }
}

//! Lowers labelled calls: all labels first, then the arguments.

use std::sync::Arc;

use planwright_core::plan::{Action, Name, Node, NodeKind, Output, Step};
use planwright_core::{Code, Diagnostic, Diagnostics, Place, Plan, Source, Sources, StepId, Value};

use super::reference::{Labels, fragments, read};
use crate::document::{DiagnosticSink, Document, Fields, Item, ItemKind, read_inside};
use crate::lowering::{MarkedText, ReferenceSyntax, lower, lower_fragments, text_or_number};

/// The name in place of a tool for the call that makes the plan's output.
const RESULT: &str = "var_result";

/// Reads a plan.
pub(super) fn parse(document: Document) -> (Option<Plan>, Diagnostics) {
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

fn plan(list: &Item, source: &mut Source, sink: &mut DiagnosticSink) -> Option<Plan> {
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
    source: &'a mut Source,
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
        let borders = (&mut *self.source, &mut *self.sink);
        lower_fragments(
            whole,
            fragments(text, labels),
            borders,
            &mut |inside, place| read(inside, labels, place),
        )
    }
}

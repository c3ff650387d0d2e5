//! Lowers an agentle plan: first all ids, then the arguments, for an id may hold what else would be a path.

use std::sync::Arc;

use planwright_core::plan::{Action, Name, Node, NodeKind, Output, Step};
use planwright_core::{Code, Diagnostic, Diagnostics, Place, Plan, Source, Sources, StepId, Value};

use super::reference::{Ids, Said, read};
use crate::document::{Document, Fields, Findings, Item, ItemKind, Limits, article, read_inside};
use crate::lowering::{References, lower, text_or_number, tool_action};

/// Reads a plan.
pub(super) fn parse(document: Document) -> (Option<Plan>, Diagnostics) {
    let mut findings = Findings::new();
    let mut source = document.source;
    let limits = document.limits;
    let plan = plan(&document.root, &mut source, &limits, &mut findings);
    let diagnostics = findings.finish(&source);
    let sources = Sources::one(source);
    (plan.map(|plan| Plan { sources, ..plan }), diagnostics)
}

fn plan(
    root: &Item,
    source: &mut Source,
    limits: &Limits,
    findings: &mut Findings,
) -> Option<Plan> {
    let mut fields = Fields::of(root, "the plan", findings)?;
    let items = fields.required_list("steps", findings);
    let selected = fields.list("output_steps", findings).unwrap_or_default();
    fields.finish(findings);
    let selected: Vec<Name> = selected
        .iter()
        .filter_map(|item| text_or_number(item, "output_steps", findings))
        .collect();
    let items = items?;
    let drafts: Vec<Draft<'_>> = items
        .iter()
        .filter_map(|item| Draft::read(item, findings))
        .collect();
    // Where no step at all could be read, the plan is not an empty one.
    if drafts.is_empty() && !items.is_empty() {
        return None;
    }
    let ids: Ids<'_> = drafts.iter().map(|draft| &*draft.id).collect();
    let steps = drafts
        .iter()
        .map(|draft| {
            let args = match draft.arguments {
                Some(item) => arguments(item, &ids, (source, limits), findings),
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

/// A step whose arguments were not looked at yet.
struct Draft<'a> {
    id: Arc<str>,
    action: Action,
    arguments: Option<&'a Item>,
    place: Place,
}

impl<'a> Draft<'a> {
    fn read(item: &'a Item, findings: &mut Findings) -> Option<Self> {
        let mut fields = Fields::of(item, "the step", findings)?;
        let id = fields
            .required("id", findings)
            .and_then(|id| text_or_number(id, "id", findings));
        let action = tool_action(&mut fields, findings);
        let arguments = fields.optional("arguments");
        fields.finish(findings);
        Some(Self {
            id: id?.text,
            action,
            arguments,
            place: item.place,
        })
    }
}

/// The arguments in `item`: an object, or a text that holds the JSON of one.
fn arguments(
    item: &Item,
    ids: &Ids<'_>,
    (source, limits): (&mut Source, &Limits),
    findings: &mut Findings,
) -> Node {
    let inner;
    let object = match &item.kind {
        ItemKind::Text(_) => {
            let (read, diagnostics) = read_inside(source, item, limits);
            findings.extend(diagnostics);
            inner = read;
            inner.as_ref()
        }
        _ => Some(item),
    };
    match object {
        Some(object) if object.as_object().is_some() => lower(object, &mut Texts { ids, findings }),
        Some(other) => {
            let found = article(other.kind_word());
            let message = format!("expected an object in `arguments`, found {found}");
            findings.push(item.place, Diagnostic::error(Code::WrongFieldType, message));
            Node::literal(Value::empty_object(), item.place)
        }
        None => Node::literal(Value::empty_object(), item.place),
    }
}

/// Reads the texts of one step.
struct Texts<'a> {
    ids: &'a Ids<'a>,
    findings: &'a mut Findings,
}

impl References for Texts<'_> {
    fn text(&mut self, text: &Arc<str>, place: Place) -> NodeKind {
        match read(text, self.ids, place) {
            Ok(Said::Reference(reference)) => NodeKind::Reference(reference),
            Ok(Said::Literal(literal)) if *literal == **text => {
                NodeKind::Literal(Arc::clone(text).into())
            }
            Ok(Said::Literal(literal)) => NodeKind::Literal(literal.into_owned().into()),
            Err(finding) => {
                self.findings.push(place, *finding);
                NodeKind::Literal(Arc::clone(text).into())
            }
        }
    }
}

//! Recognises plans in the native dialect.

use planwright_core::{Diagnostics, Plan};

use super::{parse, print};
use crate::dialect::{Dialect, MatchConfidence};
use crate::document::{Document, Item, ItemEntry, ItemKind};

/// Planwright's own dialect.
#[derive(Clone, Copy, Debug)]
pub struct Native;

/// Fields of a plan that no other dialect has.
const OWN_PLAN_FIELDS: &[&str] = &[
    "inputs",
    "vars",
    "slots",
    "slot_schemas",
    "instances",
    "output",
    "ordering",
    "on_failure",
    "sharing",
    "mode",
];

/// Fields of a step that no other dialect has.
const OWN_STEP_FIELDS: &[&str] = &[
    "plan",
    "value",
    "positional",
    "after",
    "when",
    "for_each",
    "max_parallel",
    "repeat",
    "writes",
    "on_error",
    "retry",
    "approval",
    "idempotent",
    "alone",
    "scopes",
];

/// Fields of a step that this dialect does not have, but another one does.
const FOREIGN_STEP_FIELDS: &[&str] = &[
    "index",
    "params",
    "arguments",
    "depends_on",
    "result_variable",
    "tool_calls",
    "parallel",
    "optional",
    "retry_count",
];

impl Dialect for Native {
    fn name(&self) -> &'static str {
        "native"
    }

    fn shape(&self) -> &'static str {
        "`{\"steps\": [{\"id\", \"tool\", \"args\"}], \"inputs\", \"output\"}` with `${step.field}`"
    }

    fn recognise(&self, document: &Document) -> MatchConfidence {
        let Some(steps) = document.root.get("steps").and_then(Item::as_list) else {
            return MatchConfidence::No;
        };
        let has_any = |item: &Item, names: &[&str]| names.iter().any(|name| item.has(name));
        // `${…}` in arguments also occurs in mcp-cli plans, so it only counts together with an id and without foreign
        // fields.
        let is_own = |step: &Item| {
            has_any(step, OWN_STEP_FIELDS)
                || (step.has("id")
                    && step
                        .get("args")
                        .is_some_and(|args| contains_item(args, &has_marker)))
        };
        let foreign = steps.iter().any(|step| {
            has_any(step, FOREIGN_STEP_FIELDS)
                || step
                    .get("args")
                    .is_some_and(|args| contains_item(args, &is_foreign))
        }) || has_any(&document.root, &["output_steps", "variables"]);
        if steps.iter().any(|step| has_any(step, OWN_STEP_FIELDS))
            || has_any(&document.root, OWN_PLAN_FIELDS)
            || (!foreign && steps.iter().any(is_own))
        {
            return MatchConfidence::Certain;
        }
        if !foreign && steps.iter().all(|step| step.has("id") && step.has("tool")) {
            return MatchConfidence::Possible;
        }
        MatchConfidence::No
    }

    fn parse(&self, document: Document) -> (Option<Plan>, Diagnostics) {
        parse::parse(document)
    }

    fn print(&self, plan: &Plan) -> (Option<String>, Diagnostics) {
        print::print(plan)
    }
}

/// Returns true if `predicate` holds for `item` or for any value inside of it.
fn contains_item(item: &Item, predicate: &dyn Fn(&Item) -> bool) -> bool {
    predicate(item)
        || match &item.kind {
            ItemKind::List(items) => items.iter().any(|item| contains_item(item, predicate)),
            ItemKind::Object(entries) => entries
                .iter()
                .any(|ItemEntry { item, .. }| contains_item(item, predicate)),
            _ => false,
        }
}

fn has_marker(item: &Item) -> bool {
    item.as_text().is_some_and(|text| text.contains("${"))
}

/// Returns true if `item` is a reference that another dialect writes as an object.
fn is_foreign(item: &Item) -> bool {
    item.has("output_by_reference")
}

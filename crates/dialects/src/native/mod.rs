//! The native dialect: the one that is documented first, and the one that can say everything a plan can mean.
//!
//! ```json
//! {"name": "compare-weather",
//!  "inputs": {"cities": {"type": "array", "default": ["Tokyo", "London"]}},
//!  "steps": [
//!   {"id": "weather", "for_each": "${inputs.cities}", "tool": "get_weather", "args": {"city": "${item}"}},
//!   {"id": "warmest", "tool": "compare_data", "args": {"temps": "${weather[*].temp}"}},
//!   {"id": "warn", "when": "${warmest.temp > 35}", "tool": "notify", "args": {"text": "Heat in ${warmest.city}"}}
//!  ],
//!  "output": ["warmest"]}
//! ```
//!
//! - The fields are those of [`schema`](crate::native::schema()), which
//!   [the reference](https://github.com/planwright/planwright/blob/main/docs/reference/plan.md) explains one by one. A step has an
//!   `id`, and exactly one of `tool` (with `args`), `plan` (a stored or an inner one, with `args` as its inputs) and `value` (made
//!   of references, without any call).
//! - When a step runs: `after` other steps, `when` a condition holds, `for_each` item of a list (`max_parallel`), in rounds
//!   (`repeat`: `until`, `max`), for one `instance`, `alone`. What becomes of its output: `writes` to a slot.
//! - What if it fails: `retry` (`attempts`, `delay`), `timeout`, `on_error`: `"continue"`, or `{"output": …}` in its place; the
//!   plan's `on_failure` says whether independent steps `keep_going`. `approval` asks a person first; `idempotent` says that a second
//!   call does no harm.
//! - `${…}` is a path, alternatives (`a.x ?? b.y ?? "none"`), `all(a, b)` (waits for all, gives the last), or a CEL
//!   expression; see [`planwright_core::expression::parse_form`]. A `?` after a path gives `null` for whatever is
//!   missing, `[*?]` in place of `[*]` for what single items lack. A text that is exactly one `${…}` keeps the value's
//!   type. Keys are never references.
//! - `$${` is a literal `${`, a literal `$` right before a marker is `$$`.
//! - `inputs` holds a JSON Schema for each input; one without `default` is required. `x-variable` makes an input
//!   a variable too; `vars` declares variables with their values.
//! - `slots` holds what is there before the first step, `{"state": {…}, "data": {…}}`, or a list of such objects, each
//!   with an `instance` where it belongs to one. `slot_schemas` says what the slots are meant to hold.
//! - `output` is a list of step ids, or any other value with references; `{"value": …}` stands for a value that
//!   would be taken for one of the two.
//! - `args` names the arguments; `positional` lists those without names, which the checks name by the tool's schema.
//! - Durations are `"250ms"`, `"30s"`, `"2m"`, `"1h"`, or a number of milliseconds.

mod duration;
/// The same in lines.
pub mod lines;
mod markers;
mod parse;
mod print;
mod reference;
mod schema;
mod slot;
mod words;

pub use schema::schema;

use planwright_core::{Diagnostics, Plan};

use crate::dialect::{Dialect, Likeness};
use crate::document::{Document, Entry, Item, ItemKind};

/// Planwright's own dialect.
#[derive(Clone, Copy, Debug)]
pub struct Native;

/// Fields of a plan that no other dialect has.
const PLAN_MARKS: &[&str] = &[
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
const STEP_MARKS: &[&str] = &[
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
const FOREIGN_STEP_MARKS: &[&str] = &[
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

    fn recognise(&self, document: &Document) -> Likeness {
        let Some(steps) = document.root.get("steps").and_then(Item::as_list) else {
            return Likeness::No;
        };
        let has_any = |item: &Item, names: &[&str]| names.iter().any(|name| item.has(name));
        let marked = |step: &Item| {
            has_any(step, STEP_MARKS)
                || (step.has("id") && step.get("args").is_some_and(|args| holds(args, &is_marked)))
        };
        let foreign = steps.iter().any(|step| {
            has_any(step, FOREIGN_STEP_MARKS)
                || step
                    .get("args")
                    .is_some_and(|args| holds(args, &is_foreign))
        }) || has_any(&document.root, &["output_steps", "variables"]);
        if steps.iter().any(|step| has_any(step, STEP_MARKS))
            || has_any(&document.root, PLAN_MARKS)
            || (!foreign && steps.iter().any(marked))
        {
            return Likeness::Certain;
        }
        if !foreign && steps.iter().all(|step| step.has("id") && step.has("tool")) {
            return Likeness::Possible;
        }
        Likeness::No
    }

    fn parse(&self, document: Document) -> (Option<Plan>, Diagnostics) {
        parse::parse(document)
    }

    fn print(&self, plan: &Plan) -> (Option<String>, Diagnostics) {
        print::print(plan)
    }
}

/// Whether `item`, or anything inside of it, is as `wanted` says.
fn holds(item: &Item, wanted: &dyn Fn(&Item) -> bool) -> bool {
    wanted(item)
        || match &item.kind {
            ItemKind::List(items) => items.iter().any(|item| holds(item, wanted)),
            ItemKind::Object(entries) => {
                entries.iter().any(|Entry { item, .. }| holds(item, wanted))
            }
            _ => false,
        }
}

fn is_marked(item: &Item) -> bool {
    item.as_text().is_some_and(|text| text.contains("${"))
}

/// Whether `item` is a reference that another dialect writes as an object.
fn is_foreign(item: &Item) -> bool {
    item.has("output_by_reference")
}

#[cfg(test)]
mod tests;

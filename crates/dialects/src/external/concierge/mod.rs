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
//! - Literal: the original system cannot pass an object with the key `output_by_reference` on as data. Here
//!   `$output_by_reference` is that key, and each further `$` before it stands for one less.

mod parse;
mod print;

use planwright_core::{Diagnostics, Plan};

use crate::dialect::{Dialect, MatchConfidence};
use crate::document::{Document, Item, ItemKind};
use crate::foreign_references::ReferenceForm;

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
        Some(format!("{{\"{}\": {{\"{step}\": [{keys}]}}}}", parse::KEY))
    },
    is_own: |text| text == parse::KEY,
};

impl Dialect for Concierge {
    fn name(&self) -> &'static str {
        "concierge"
    }

    fn shape(&self) -> &'static str {
        "`{\"steps\": [{\"id\", \"tool\", \"args\"}]}` with `{\"output_by_reference\": {step: [path]}}`"
    }

    fn recognise(&self, document: &Document) -> MatchConfidence {
        let Some(steps) = document.root.get("steps").and_then(Item::as_list) else {
            return MatchConfidence::No;
        };
        let args = steps.iter().filter_map(|step| step.get("args"));
        if args.into_iter().any(holds_reference) {
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

    fn reference_form(&self) -> Option<ReferenceForm> {
        Some(REFERENCE_FORM)
    }

    fn parse(&self, document: Document) -> (Option<Plan>, Diagnostics) {
        parse::parse(document)
    }

    fn print(&self, plan: &Plan) -> (Option<String>, Diagnostics) {
        print::print(plan)
    }
}

fn only_known(entries: &[crate::document::Entry]) -> bool {
    entries
        .iter()
        .all(|entry| matches!(&*entry.key, "id" | "tool" | "args"))
}

fn holds_reference(item: &Item) -> bool {
    match &item.kind {
        ItemKind::List(items) => items.iter().any(holds_reference),
        ItemKind::Object(entries) => entries
            .iter()
            .any(|entry| &*entry.key == parse::KEY || holds_reference(&entry.item)),
        _ => false,
    }
}

//! The lists of loops.

use std::sync::Arc;

use super::ArgumentPass;
use crate::Code;
use crate::check::passes::positional::properties;
use crate::check::reporter::Reporter;
use crate::expression::print_form;
use crate::plan::{Node, NodeKind};
use crate::schema::{Compatibility, Type};
use crate::value::Value;

impl ArgumentPass<'_> {
    /// Checks that a `for_each` iterates over a list.
    pub(super) fn check_loop(&self, reporter: &mut Reporter<'_>) {
        let Some(for_each) = &self.step.for_each else {
            return;
        };
        let found = self.types.node_type(&for_each.over, Some(self.index));
        if Type::any_list().accepts(&found) == Compatibility::No {
            let message = format!(
                "`for_each` of `{}` goes over a list, not over {found}",
                self.step.id
            );
            let diagnostic = reporter.error(Code::WrongReferenceType, for_each.over.place, message);
            reporter.push(match list_advice(&for_each.over, &found) {
                Some(help) => diagnostic.help(help),
                None => diagnostic,
            });
        }
    }
}

/// The advice for a loop over the reference `over`, whose type `found` is not a list: to loop over its lines, or over its only
/// field that is a list.
fn list_advice(over: &Node, found: &Type) -> Option<String> {
    let NodeKind::Reference(reference) = &over.kind else {
        return None;
    };
    let whole = print_form(&reference.form)?;
    // A field and a method bind more than any operator.
    let form = if whole.contains(' ') {
        format!("({whole})")
    } else {
        whole.clone()
    };
    if *found == Type::Text {
        return Some(format!(
            "write `${{{form}.split('\\n')}}` for its lines, or `${{json({whole})}}` if it is the JSON of a list"
        ));
    }
    if let Type::Literal(Value::Text(text)) = found {
        let separator = [", ", ",", ";", "\n"]
            .into_iter()
            .find(|separator| text.contains(separator))?;
        let separator = separator.replace('\n', "\\n");
        return Some(format!("write `${{{form}.split('{separator}')}}`"));
    }
    let fields = properties(found);
    let is_list = |name: &&Arc<str>| {
        let field = found.property(name);
        field.is_some_and(|field| Type::any_list().accepts(&field) == Compatibility::Yes)
    };
    let lists: Vec<String> = fields
        .iter()
        .filter(is_list)
        .map(|name| format!("`${{{form}.{name}}}`"))
        .collect();
    (!lists.is_empty()).then(|| format!("write {}", lists.join(" or ")))
}

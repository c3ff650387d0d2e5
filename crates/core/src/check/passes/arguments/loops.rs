//! The lists of loops.

use std::sync::Arc;

use super::ArgumentPass;
use crate::check::passes::meant::{literal_advice, near_choice};
use crate::check::passes::positional::{ArgumentReceiver, properties};
use crate::check::reporter::Reporter;
use crate::expression::{print_form, print_path};
use crate::plan::{Missing, Node, NodeKind, Reference, Segment, Source};
use crate::schema::{Compatibility, Type};
use crate::value::Value;
use crate::{Code, Place, PointerSegment, Severity};

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

    /// Reports each item of a loop over a literal list that the argument at `path` does not take, if `reference` reads the items or a
    /// part of them. Returns true if there are any.
    pub(super) fn report_items(
        &self,
        (receiver, wanted): (&ArgumentReceiver<'_>, &Type),
        reference: &Reference,
        path: &[PointerSegment],
        reporter: &mut Reporter<'_>,
    ) -> bool {
        let over = self.step.for_each.as_ref().map(|for_each| &for_each.over);
        let (Some(over), Some(read)) = (over, reference.as_read()) else {
            return false;
        };
        if !matches!(read.source, Source::Item) || read.missing != Missing::Fail {
            return false;
        }
        let Some(part) = pointer(&read.path) else {
            return false;
        };
        let mut is_found = false;
        for (index, item, place) in literal_items(over, reporter) {
            let value = part.iter().try_fold(item, |value, segment| match segment {
                PointerSegment::Key(key) => value.get(key),
                PointerSegment::Index(index) => value.as_list()?.get(*index),
                PointerSegment::Root => Some(value),
            });
            let misfit = value.filter(|value| {
                wanted.accepts(&Type::Literal((*value).clone())) == Compatibility::No
            });
            if value.is_some() && misfit.is_none() {
                continue;
            }
            is_found = true;
            if reporter.count_if_full(Severity::Error) {
                continue;
            }
            let written = format!("for_each[{index}]{}", print_path(&read.path));
            let (code, reason) = match misfit {
                Some(value) => (
                    Code::InvalidLiteral,
                    format!("is {}", Type::Literal(value.clone())),
                ),
                None => (Code::ImpossiblePath, "does not exist".to_owned()),
            };
            let message = format!(
                "`{written}` {reason}, but the argument {} of {} takes {wanted}",
                receiver.named(path),
                receiver.name
            );
            let inside = if misfit.is_some() {
                part.as_slice()
            } else {
                &[]
            };
            let mut diagnostic = reporter.error(code, reporter.descend(place, inside), message);
            diagnostic.help = match misfit {
                Some(value) => {
                    literal_advice(wanted, value).or_else(|| near_choice(wanted, value, reporter))
                }
                None => Some(format!(
                    "add it to the item, or write a default, `${{item{} ?? …}}`",
                    print_path(&read.path)
                )),
            };
            reporter.push(diagnostic);
        }
        is_found
    }
}

/// The path of a read below an item as a path of JSON; `None` if it goes over all items of a list.
fn pointer(path: &[Segment]) -> Option<Vec<PointerSegment>> {
    let segments = path.iter().map(|segment| match segment {
        Segment::Key(key) => Some(PointerSegment::Key(Arc::clone(key))),
        Segment::Index(index) => usize::try_from(*index).ok().map(PointerSegment::Index),
        Segment::Each => None,
    });
    segments.collect()
}

/// The literal items of the list `over`, with their positions and places.
fn literal_items<'n>(over: &'n Node, reporter: &Reporter<'_>) -> Vec<(usize, &'n Value, Place)> {
    match &over.kind {
        NodeKind::Literal(value) => {
            let items = value.as_list().unwrap_or_default().iter().enumerate();
            let place = |index| reporter.descend(over.place, &[PointerSegment::Index(index)]);
            items
                .map(|(index, item)| (index, item, place(index)))
                .collect()
        }
        NodeKind::List(items) => {
            let items = items.iter().enumerate();
            let literal =
                |(index, item): (usize, &'n Node)| Some((index, item.as_literal()?, item.place));
            items.filter_map(literal).collect()
        }
        NodeKind::Reference(_) | NodeKind::Text(_) | NodeKind::Object(_) => Vec::new(),
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
    if let Some(field) = found.only_text_field() {
        return Some(format!(
            "the only field is `{field}`, which is text: write `${{{form}.{field}.split('\\n')}}` for its lines"
        ));
    }
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

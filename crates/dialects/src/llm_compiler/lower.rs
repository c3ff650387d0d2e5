//! From arguments as they are written to nodes.

use std::collections::HashSet;
use std::sync::Arc;

use planwright_core::Place;
use planwright_core::plan::{Field, Node};

use super::argument::{Argument, Written, WrittenKind};
use super::reference::{Numbers, fragments, read};
use crate::lines::Sheet;
use crate::lowering::{Whole, lower_fragments};

/// The arguments of one call.
#[derive(Debug)]
pub(super) struct Lowered {
    /// Those without a name.
    pub(super) positional: Vec<Node>,
    /// Those with one.
    pub(super) named: Vec<Field>,
}

/// Lowers `arguments`, which stand at `place`; references lead to the steps with `numbers`.
pub(super) fn lower(
    arguments: &[Argument],
    place: Place,
    numbers: &Numbers,
    sheet: &mut Sheet<'_>,
) -> Lowered {
    let mut lowered = Lowered {
        positional: Vec::new(),
        named: Vec::new(),
    };
    let mut given = HashSet::new();
    for argument in arguments {
        let range = argument.value.range.clone();
        let Some(name) = &argument.name else {
            let place = sheet.item(place, lowered.positional.len(), range);
            let node = node(&argument.value, place, numbers, sheet);
            lowered.positional.push(node);
            continue;
        };
        let key: Arc<str> = sheet.source.text()[name.clone()].into();
        if !given.insert(Arc::clone(&key)) {
            let message = format!("the argument `{key}` is given twice");
            sheet.complain(name.clone(), message, "give it once");
            continue;
        }
        let place = sheet.part(place, &key, range);
        let value = node(&argument.value, place, numbers, sheet);
        lowered.named.push(Field { key, value });
    }
    lowered
}

fn node(written: &Written, place: Place, numbers: &Numbers, sheet: &mut Sheet<'_>) -> Node {
    match &written.kind {
        WrittenKind::Plain(value) => Node::literal(value.clone(), place),
        WrittenKind::Text(quoted) => {
            let text: Arc<str> = quoted.text.as_str().into();
            let whole = Whole {
                text: &text,
                place,
                offsets: Some(quoted.offsets()),
            };
            let borders = (&mut *sheet.source, &mut *sheet.findings);
            Node {
                kind: lower_fragments(
                    whole,
                    fragments(&text, numbers),
                    borders,
                    &mut |written, place| Ok(read(written, place)),
                ),
                place,
            }
        }
        WrittenKind::List(items) => {
            let nodes = items.iter().enumerate().map(|(index, item)| {
                let place = sheet.item(place, index, item.range.clone());
                node(item, place, numbers, sheet)
            });
            let nodes = nodes.collect();
            Node::list(nodes, place)
        }
        WrittenKind::Object(fields) => {
            let mut lowered: Vec<Field> = Vec::with_capacity(fields.len());
            for (key, value) in fields {
                let place = sheet.part(place, key, value.range.clone());
                let value = node(value, place, numbers, sheet);
                lowered.push(Field {
                    key: key.as_str().into(),
                    value,
                });
            }
            Node::object(lowered, place)
        }
    }
}

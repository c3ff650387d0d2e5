//! Arguments that are an item of the list that the tool takes, as in `create_entities({"name": …})`.

use std::sync::Arc;

use crate::Value;
use crate::check::passes::positional::{ArgumentReceiver, properties, required};
use crate::plan::{Node, NodeKind};
use crate::schema::Type;

/// The maximum length of arguments in advice, in bytes.
const MAX_SHOWN: usize = 500;

/// The maximum depth of arguments in advice.
const MAX_DEPTH: usize = 8;

/// The advice to write the arguments `node` as an item of the only list that `receiver` needs, if they are one.
pub(super) fn list_of_arguments(receiver: &ArgumentReceiver<'_>, node: &Node) -> Option<String> {
    let required = required(receiver.schema);
    let [list] = required.as_slice() else {
        return None;
    };
    let Type::List(items) = receiver.schema.property(list)? else {
        return None;
    };
    let Type::Object(item) = items.any_item() else {
        return None;
    };
    let written = written(node, MAX_DEPTH)?;
    let fields = written.as_object().filter(|fields| !fields.is_empty())?;
    let known = properties(receiver.schema.structure());
    let is_field = |name: &Arc<str>| item.properties.contains_key(name) && !known.contains(name);
    let is_complete = item
        .properties
        .iter()
        .all(|(name, property)| !property.required || fields.contains_key(name));
    let json = written.to_json();
    let is_shown = json.len() <= MAX_SHOWN && !json.contains('`');
    (is_shown && is_complete && fields.keys().all(is_field))
        .then(|| format!("the arguments are one item of the list: write `{{\"{list}\":[{json}]}}`"))
}

/// The value of `node`, with its references as they are written.
fn written(node: &Node, depth: usize) -> Option<Value> {
    let depth = depth.checked_sub(1)?;
    Some(match &node.kind {
        NodeKind::Literal(value) => value.clone(),
        NodeKind::Reference(reference) => Value::text(&*reference.text),
        NodeKind::Text(_) => Value::text(node.text_with(|reference| &*reference.text)?),
        NodeKind::List(items) => {
            let items = items.iter().map(|item| written(item, depth));
            Value::list(items.collect::<Option<Vec<_>>>()?)
        }
        NodeKind::Object(fields) => {
            let fields = fields
                .iter()
                .map(|field| Some((Arc::clone(&field.key), written(&field.value, depth)?)));
            Value::object(fields.collect::<Option<Vec<_>>>()?)
        }
    })
}

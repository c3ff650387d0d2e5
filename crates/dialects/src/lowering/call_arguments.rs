//! Arguments of calls in lines as nodes of a plan, with the references in them.

use std::collections::HashSet;
use std::sync::Arc;

use planwright_core::Place;
use planwright_core::plan::{Field, Node, Reference, Segment};

use super::lines::{LineContext, digit_count};
use super::path::{PathSegment, parse_path};
use super::python_arguments::{ArgumentKind, ArgumentValue, LineArgument};
use super::{Fragment, LowerResult, MarkedText, lower_fragments};

/// The references of a dialect in lines.
pub(crate) struct LineReferences<'a> {
    /// The ids of the plan's steps.
    pub(crate) ids: &'a HashSet<String>,
    /// Splits a text into literals and references.
    pub(crate) fragments: for<'t> fn(&'t str, &HashSet<String>) -> Vec<Fragment<'t>>,
    /// Reads the reference of a fragment.
    pub(crate) read: fn(&str, Place) -> LowerResult<Reference>,
}

/// The length of the path at the start of `after`: `.name`, whose first letter is a small one, since a sentence may begin after a
/// full stop, and `[0]`.
pub(crate) fn path_length(after: &str) -> usize {
    let mut length = 0;
    loop {
        let rest = &after[length..];
        let is_part = |sign: char| sign.is_alphanumeric() || sign == '_';
        let one = if let Some(name) = rest.strip_prefix('.') {
            let begins = name.starts_with(|sign: char| sign.is_lowercase() || sign == '_');
            begins.then(|| 1 + name.find(|sign| !is_part(sign)).unwrap_or(name.len()))
        } else if let Some(index) = rest.strip_prefix('[') {
            let digits = digit_count(index);
            (digits > 0 && index[digits..].starts_with(']')).then_some(digits + 2)
        } else {
            None
        };
        match one {
            Some(one) => length += one,
            None => return length,
        }
    }
}

/// The segments of a path such as `.a[0]`.
pub(crate) fn path_segments(path: &str) -> Result<Vec<Segment>, String> {
    let segments = parse_path(path)?.into_iter().map(|one| match one {
        PathSegment::Name(name) => Segment::key(name),
        PathSegment::Index(index) => Segment::Index(index),
        PathSegment::Each => Segment::Each,
        PathSegment::Star => Segment::key("*"),
    });
    Ok(segments.collect())
}

/// The lowered arguments of one call.
#[derive(Debug)]
pub(crate) struct CallArguments {
    /// The arguments without a name.
    pub(crate) positional: Vec<Node>,
    /// The arguments with a name.
    pub(crate) named: Vec<Field>,
}

/// Lowers `arguments`, which stand at `place`; `references` are those of the dialect.
pub(crate) fn lower_arguments(
    arguments: &[LineArgument],
    place: Place,
    references: &LineReferences<'_>,
    context: &mut LineContext<'_>,
) -> CallArguments {
    let mut lowered = CallArguments {
        positional: Vec::new(),
        named: Vec::new(),
    };
    let mut seen = HashSet::new();
    for argument in arguments {
        let range = argument.value.range.clone();
        let Some(name) = &argument.name else {
            let place = context.item(place, lowered.positional.len(), range);
            let node = node(&argument.value, place, references, context);
            lowered.positional.push(node);
            continue;
        };
        let key: Arc<str> = context.source.text()[name.clone()].into();
        if !seen.insert(Arc::clone(&key)) {
            let message = format!("the argument `{key}` is given twice");
            context.report_malformed(name.clone(), message, "give it once");
            continue;
        }
        let place = context.part(place, &key, range);
        let value = node(&argument.value, place, references, context);
        lowered.named.push(Field { key, value });
    }
    lowered
}

fn node(
    written: &ArgumentValue,
    place: Place,
    references: &LineReferences<'_>,
    context: &mut LineContext<'_>,
) -> Node {
    match &written.kind {
        ArgumentKind::Plain(value) => Node::literal(value.clone(), place),
        ArgumentKind::Text(quoted) => {
            let text: Arc<str> = quoted.text.as_str().into();
            let whole = MarkedText {
                text: &text,
                place,
                offsets: Some(quoted.offsets()),
            };
            let borders = (&mut *context.source, &mut *context.sink);
            Node {
                kind: lower_fragments(
                    whole,
                    (references.fragments)(&text, references.ids),
                    borders,
                    &mut |written, place| (references.read)(written, place),
                ),
                place,
            }
        }
        ArgumentKind::List(items) => {
            let nodes = items.iter().enumerate().map(|(index, item)| {
                let place = context.item(place, index, item.range.clone());
                node(item, place, references, context)
            });
            let nodes = nodes.collect();
            Node::list(nodes, place)
        }
        ArgumentKind::Object(fields) => {
            let mut lowered: Vec<Field> = Vec::with_capacity(fields.len());
            for (key, value) in fields {
                let place = context.part(place, key, value.range.clone());
                let value = node(value, place, references, context);
                lowered.push(Field {
                    key: key.as_str().into(),
                    value,
                });
            }
            Node::object(lowered, place)
        }
    }
}

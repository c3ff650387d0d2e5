//! Where a path leads inside of a type.

use std::sync::Arc;

use super::{Additional, ListType, ObjectType, Type};
use crate::Value;
use crate::plan::Segment;

/// From how many items on a list that is known is not looked through item by item.
const LONG_LIST: usize = 256;

/// Where a path leads.
#[derive(Clone, Debug, PartialEq)]
pub enum Reach {
    /// To values of this type, where it leads anywhere.
    Found(Type),
    /// Nowhere, in any value of the type.
    Impossible {
        /// The fields that there are where the path breaks off.
        known: Vec<Arc<str>>,
        /// How many moves lead somewhere.
        good: usize,
    },
    /// To a field that is not described, though others are.
    Unlisted {
        /// The fields that are described there.
        known: Vec<Arc<str>>,
        /// How many moves lead to what is described.
        good: usize,
    },
    /// Nothing can be said.
    Unknown,
}

enum Moved {
    To(Type),
    Impossible(Vec<Arc<str>>),
    Unlisted(Vec<Arc<str>>),
    Unknown,
}

impl Type {
    /// Where `path` leads. [`Reach::Impossible`] is certain, but for lists that turn out to be empty.
    pub fn at(&self, path: &[Segment]) -> Reach {
        let mut at = self.clone();
        let mut mapping = false;
        for (good, segment) in path.iter().enumerate() {
            mapping |= *segment == Segment::Each;
            match step(&at, segment) {
                Moved::To(next) => at = next,
                Moved::Impossible(known) => return Reach::Impossible { known, good },
                Moved::Unlisted(known) => return Reach::Unlisted { known, good },
                Moved::Unknown => return Reach::Unknown,
            }
        }
        Reach::Found(if mapping { Type::list_of(at) } else { at })
    }
}

/// One move into any of the members: it succeeds where one of them allows it.
fn step(from: &Type, segment: &Segment) -> Moved {
    let mut found = Vec::new();
    let mut unknown = false;
    let mut unlisted = None;
    let mut impossible = Vec::new();
    for member in from.members() {
        match step_into(member, segment) {
            Moved::To(Type::Never) => {}
            Moved::To(next) => found.push(next),
            Moved::Unknown => unknown = true,
            Moved::Unlisted(known) => unlisted = Some(known),
            Moved::Impossible(known) => impossible.extend(known),
        }
    }
    match (found.is_empty(), unknown, unlisted) {
        (_, true, _) => Moved::Unknown,
        (false, false, _) => Moved::To(Type::union(found)),
        (true, false, Some(known)) => Moved::Unlisted(known),
        (true, false, None) => Moved::Impossible(impossible),
    }
}

fn step_into(from: &Type, segment: &Segment) -> Moved {
    match (from, segment) {
        (Type::Any, _) => Moved::Unknown,
        (Type::Literal(value), segment) => step_into_value(value, segment),
        (Type::Object(object), Segment::Key(key)) => field(object, key),
        (Type::List(list), Segment::Key(key)) => match whole_number(key) {
            Some(index) => item(list, index),
            None => Moved::Impossible(Vec::new()),
        },
        (Type::List(list), Segment::Index(index)) => item(list, *index),
        (Type::List(list), Segment::Each) => Moved::To(match list.any_item() {
            // A list that is always empty maps to an empty list.
            Type::Never => Type::Any,
            item => item,
        }),
        _ => Moved::Impossible(Vec::new()),
    }
}

fn field(object: &ObjectType, key: &str) -> Moved {
    let known = || object.properties.keys().cloned().collect::<Vec<_>>();
    match (object.properties.get(key), &object.additional) {
        (Some(property), _) if property.shape == Type::Never => Moved::Impossible(known()),
        (Some(property), _) => Moved::To(property.shape.clone()),
        (None, Additional::Closed | Additional::Open(Type::Never)) => Moved::Impossible(known()),
        (None, Additional::Open(shape)) => Moved::To(shape.clone()),
        (None, Additional::Unsaid) if object.properties.is_empty() => Moved::Unknown,
        (None, Additional::Unsaid) => Moved::Unlisted(known()),
    }
}

fn item(list: &ListType, index: i64) -> Moved {
    let shape = match usize::try_from(index) {
        Ok(index) => list.item(index).clone(),
        Err(_) => list.any_item(),
    };
    match shape {
        Type::Never => Moved::Impossible(Vec::new()),
        shape => Moved::To(shape),
    }
}

fn step_into_value(value: &Value, segment: &Segment) -> Moved {
    let literal = |value: Option<&Value>, known: Vec<Arc<str>>| match value {
        Some(value) => Moved::To(Type::Literal(value.clone())),
        None => Moved::Impossible(known),
    };
    match (value, segment) {
        (Value::Object(fields), Segment::Key(key)) => {
            literal(fields.get(key), fields.keys().cloned().collect())
        }
        (Value::List(items), Segment::Key(key)) => literal(
            whole_number(key).and_then(|index| value_item(items, index)),
            Vec::new(),
        ),
        (Value::List(items), Segment::Index(index)) => {
            literal(value_item(items, *index), Vec::new())
        }
        (Value::List(items), Segment::Each) => {
            // An empty list maps to an empty list; a long one is not looked through.
            if items.is_empty() || items.len() > LONG_LIST {
                Moved::To(Type::Any)
            } else {
                Moved::To(Type::union(items.iter().cloned().map(Type::Literal)))
            }
        }
        _ => Moved::Impossible(Vec::new()),
    }
}

fn value_item(items: &[Value], index: i64) -> Option<&Value> {
    let from_start = match usize::try_from(index) {
        Ok(index) => index,
        Err(_) => items
            .len()
            .checked_sub(usize::try_from(index.unsigned_abs()).ok()?)?,
    };
    items.get(from_start)
}

/// The item that a key counts off: decimal digits, with a minus sign to count from the end.
fn whole_number(key: &str) -> Option<i64> {
    let digits = key.strip_prefix('-').unwrap_or(key);
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| key.parse().ok()).flatten()
}

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
        known: Fields,
        /// How many moves lead somewhere.
        good: usize,
    },
    /// To a field that is not described, though others are.
    Unlisted {
        /// The fields that are described there.
        known: Fields,
        /// How many moves lead to what is described.
        good: usize,
    },
    /// Nothing can be said.
    Unknown,
}

/// The fields that there are somewhere. They are listed when somebody asks: there may be many.
#[derive(Clone, Debug, PartialEq)]
pub struct Fields(Type);

impl Fields {
    /// Their names.
    pub fn names(&self) -> impl Iterator<Item = &Arc<str>> {
        self.0.members().iter().flat_map(|member| {
            let (described, held) = match member {
                Type::Object(object) => (Some(object.properties.keys()), None),
                Type::Literal(Value::Object(fields)) => (None, Some(fields.keys())),
                _ => (None, None),
            };
            let described = described.into_iter().flatten();
            described.chain(held.into_iter().flatten())
        })
    }
}

enum Moved {
    To(Type),
    Impossible,
    Unlisted,
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
                Ok(next) => at = next,
                Err(broken) => return broken.after(good),
            }
        }
        Reach::Found(if mapping { Type::list_of(at) } else { at })
    }
}

/// Why a move leads nowhere that is known.
enum Broken {
    Impossible(Fields),
    Unlisted(Fields),
    Unknown,
}

impl Broken {
    fn after(self, good: usize) -> Reach {
        match self {
            Self::Impossible(known) => Reach::Impossible { known, good },
            Self::Unlisted(known) => Reach::Unlisted { known, good },
            Self::Unknown => Reach::Unknown,
        }
    }
}

/// One move into any of the members: it succeeds where one of them allows it.
fn step(from: &Type, segment: &Segment) -> Result<Type, Broken> {
    let mut found = Vec::new();
    let mut unlisted = None;
    for member in from.members() {
        match step_into(member, segment) {
            Moved::To(Type::Never) | Moved::Impossible => {}
            Moved::To(next) => found.push(next),
            Moved::Unknown => return Err(Broken::Unknown),
            Moved::Unlisted => unlisted = Some(member),
        }
    }
    match (found.is_empty(), unlisted, segment) {
        (false, ..) => Ok(Type::union(found)),
        (true, Some(member), _) => Err(Broken::Unlisted(Fields(member.clone()))),
        (true, None, Segment::Key(_)) => Err(Broken::Impossible(Fields(from.clone()))),
        (true, None, _) => Err(Broken::Impossible(Fields(Type::Never))),
    }
}

fn step_into(from: &Type, segment: &Segment) -> Moved {
    match (from, segment) {
        (Type::Any, _) => Moved::Unknown,
        (Type::Literal(value), segment) => step_into_value(value, segment),
        (Type::Object(object), Segment::Key(key)) => field(object, key),
        (Type::List(list), Segment::Key(key)) => match whole_number(key) {
            Some(index) => item(list, index),
            None => Moved::Impossible,
        },
        (Type::List(list), Segment::Index(index)) => item(list, *index),
        (Type::List(list), Segment::Each) => Moved::To(match any_item(list) {
            // A list that is always empty maps to an empty list.
            Type::Never => Type::Any,
            item => item,
        }),
        _ => Moved::Impossible,
    }
}

fn field(object: &ObjectType, key: &str) -> Moved {
    match (object.properties.get(key), &object.additional) {
        (Some(property), _) if property.shape == Type::Never => Moved::Impossible,
        (Some(property), _) => Moved::To(property.shape.clone()),
        (None, Additional::Closed | Additional::Open(Type::Never)) => Moved::Impossible,
        (None, Additional::Open(shape)) => Moved::To(shape.clone()),
        (None, Additional::Unsaid) if object.properties.is_empty() => Moved::Unknown,
        (None, Additional::Unsaid) => Moved::Unlisted,
    }
}

fn item(list: &ListType, index: i64) -> Moved {
    let shape = match usize::try_from(index) {
        Ok(index) => list.item(index).clone(),
        Err(_) => any_item(list),
    };
    match shape {
        Type::Never => Moved::Impossible,
        shape => Moved::To(shape),
    }
}

/// Any item; a long list is not looked through.
fn any_item(list: &ListType) -> Type {
    if list.prefix.len() > LONG_LIST {
        Type::Any
    } else {
        list.any_item()
    }
}

fn step_into_value(value: &Value, segment: &Segment) -> Moved {
    let literal = |value: Option<&Value>| match value {
        Some(value) => Moved::To(Type::Literal(value.clone())),
        None => Moved::Impossible,
    };
    match (value, segment) {
        (Value::Object(fields), Segment::Key(key)) => literal(fields.get(key)),
        (Value::List(items), Segment::Key(key)) => {
            literal(whole_number(key).and_then(|index| value_item(items, index)))
        }
        (Value::List(items), Segment::Index(index)) => literal(value_item(items, *index)),
        (Value::List(items), Segment::Each) => {
            // An empty list maps to an empty list; a long one is not looked through.
            if items.is_empty() || items.len() > LONG_LIST {
                Moved::To(Type::Any)
            } else {
                Moved::To(Type::union(items.iter().cloned().map(Type::Literal)))
            }
        }
        _ => Moved::Impossible,
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

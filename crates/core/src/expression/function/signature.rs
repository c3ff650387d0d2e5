//! Signatures of functions: the kinds of values that they take, and the types of their results.

use crate::Value;
use crate::plan::Segment;
use crate::schema::{Additional, PathLookup, Type};

/// Maximum number of fields of an object that are inspected one by one.
const MAX_FIELDS: usize = 256;

/// Maximum number of members of a union; larger ones become [`Type::Any`].
const MAX_MEMBERS: usize = 1_000;

/// A set of kinds of values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Kinds(u8);

impl Kinds {
    pub(crate) const BOOLEAN: Self = Self(1);
    pub(crate) const NUMBER: Self = Self(2);
    pub(crate) const TEXT: Self = Self(4);
    pub(crate) const LIST: Self = Self(8);
    pub(crate) const OBJECT: Self = Self(16);
    pub(crate) const NULL: Self = Self(32);
    pub(crate) const ANY: Self = Self(63);

    /// Returns the kinds of the values of `shape`. A type without values imposes nothing, so it has all kinds.
    pub(crate) fn of(shape: &Type) -> Self {
        shape
            .members()
            .iter()
            .map(|member| match member {
                Type::Any | Type::Never | Type::Union(_) => Self::ANY,
                Type::Null => Self::NULL,
                Type::Boolean => Self::BOOLEAN,
                Type::Integer | Type::Number => Self::NUMBER,
                Type::Text => Self::TEXT,
                Type::List(_) => Self::LIST,
                Type::Object(_) => Self::OBJECT,
                Type::Literal(value) => Self::of_value(value),
            })
            .fold(Self(0), Self::or)
    }

    fn of_value(value: &Value) -> Self {
        match value {
            Value::Null => Self::NULL,
            Value::Bool(_) => Self::BOOLEAN,
            Value::Number(_) => Self::NUMBER,
            Value::Text(_) => Self::TEXT,
            Value::List(_) => Self::LIST,
            Value::Object(_) => Self::OBJECT,
        }
    }

    /// Returns the union of both sets.
    pub(crate) const fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Returns true if both sets have a common kind.
    pub(crate) const fn meets(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }
}

/// A parameter of a function.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Parameter {
    /// The kinds of values that it takes.
    pub(crate) kinds: Kinds,
    /// The kinds of items of a list that it takes.
    pub(crate) items: Kinds,
}

impl Parameter {
    const fn new(kinds: Kinds) -> Self {
        Self {
            kinds,
            items: Kinds::ANY,
        }
    }
}

pub(super) const ANY: Parameter = Parameter::new(Kinds::ANY);
pub(super) const NUMBER: Parameter = Parameter::new(Kinds::NUMBER);
pub(super) const TEXT: Parameter = Parameter::new(Kinds::TEXT);
pub(super) const LIST: Parameter = Parameter::new(Kinds::LIST);
pub(super) const TEXT_OR_NUMBER: Parameter = Parameter::new(Kinds::TEXT.or(Kinds::NUMBER));
pub(super) const TEXT_OR_BOOLEAN: Parameter = Parameter::new(Kinds::TEXT.or(Kinds::BOOLEAN));
pub(super) const TEXT_OR_LIST: Parameter = Parameter::new(Kinds::TEXT.or(Kinds::LIST));
pub(super) const SIZED: Parameter = Parameter::new(Kinds::TEXT.or(Kinds::LIST).or(Kinds::OBJECT));
pub(super) const TEXTS: Parameter = Parameter {
    kinds: Kinds::LIST,
    items: Kinds::TEXT,
};
pub(super) const SORTABLES: Parameter = Parameter {
    kinds: Kinds::LIST,
    items: SORTABLE,
};
pub(super) const NUMBERS: Parameter = Parameter {
    kinds: Kinds::LIST.or(Kinds::NUMBER),
    items: Kinds::NUMBER,
};

pub(super) const ADDENDS: Parameter = Parameter {
    kinds: Kinds::LIST,
    items: Kinds::NUMBER,
};
pub(super) const EXTREMES: Parameter = Parameter {
    kinds: Kinds::LIST.or(SORTABLE),
    items: SORTABLE,
};
pub(super) const OBJECT: Parameter = Parameter::new(Kinds::OBJECT);

/// The kinds of values that have an order.
pub(crate) const SORTABLE: Kinds = Kinds::NUMBER.or(Kinds::TEXT).or(Kinds::BOOLEAN);

/// The type of a function's result, from the types of its arguments.
pub(crate) type ResultType = fn(&[Type]) -> Type;

pub(super) fn any(_: &[Type]) -> Type {
    Type::Any
}

pub(super) fn boolean(_: &[Type]) -> Type {
    Type::Boolean
}

pub(super) fn integer(_: &[Type]) -> Type {
    Type::Integer
}

pub(super) fn number(_: &[Type]) -> Type {
    Type::Number
}

pub(super) fn text(_: &[Type]) -> Type {
    Type::Text
}

pub(super) fn texts(_: &[Type]) -> Type {
    Type::list_of(Type::Text)
}

pub(super) fn integers(_: &[Type]) -> Type {
    Type::list_of(Type::Integer)
}

/// Returns the type of lists with some of the items of the first argument.
pub(super) fn same_items(arguments: &[Type]) -> Type {
    Type::list_of(arguments.first().map_or(Type::Any, item_type))
}

/// Returns the type of a list or a text of the same items or characters.
pub(super) fn same_kind(arguments: &[Type]) -> Type {
    let kinds = arguments.first().map_or(Kinds::ANY, Kinds::of);
    let list = kinds.meets(Kinds::LIST).then(|| same_items(arguments));
    let text = kinds.meets(Kinds::TEXT).then_some(Type::Text);
    union(list.into_iter().chain(text))
}

/// Returns the type of a list that was flattened by one level, or by a number of levels that is an argument.
pub(super) fn flattened(arguments: &[Type]) -> Type {
    let [list] = arguments else {
        return Type::any_list();
    };
    let items = item_type(list);
    Type::list_of(union(items.members().iter().map(|member| {
        if Kinds::of(member) == Kinds::LIST {
            item_type(member)
        } else {
            member.clone()
        }
    })))
}

/// Returns the type of a number that is one of the arguments, or one of the items of the only one.
pub(super) fn one_of(arguments: &[Type]) -> Type {
    let items = |argument: &Type| {
        let kinds = Kinds::of(argument);
        let item = kinds.meets(Kinds::LIST).then(|| item_type(argument));
        let number = kinds.meets(Kinds::NUMBER).then(|| argument.clone());
        union(item.into_iter().chain(number))
    };
    let numbers: Vec<Type> = arguments.iter().map(items).collect();
    numeric(&numbers)
}

/// Returns the type of one of the arguments, or of one of the items of the only one.
pub(super) fn extreme(arguments: &[Type]) -> Type {
    match arguments {
        [list] if Kinds::of(list) == Kinds::LIST => item_type(list),
        [either] if Kinds::of(either).meets(Kinds::LIST) => Type::Any,
        arguments => union(arguments.iter().cloned()),
    }
}

/// Returns the type of an item of the first argument.
pub(super) fn item(arguments: &[Type]) -> Type {
    arguments.first().map_or(Type::Any, item_type)
}

/// Returns the type of the values of the fields of the first argument, as a list.
pub(super) fn field_values(arguments: &[Type]) -> Type {
    Type::list_of(arguments.first().map_or(Type::Any, field_type))
}

/// Returns the type of lists with an item of each argument.
pub(super) fn zipped(arguments: &[Type]) -> Type {
    Type::list_of(Type::list(arguments.iter().map(item_type)))
}

/// Returns [`Type::Integer`] if the numbers of all arguments are integers, else [`Type::Number`].
pub(super) fn numeric(arguments: &[Type]) -> Type {
    numeric_of(arguments)
}

/// Returns [`Type::Integer`] if the numbers of all `operands` are integers, else [`Type::Number`].
pub(crate) fn numeric_of<'t>(operands: impl IntoIterator<Item = &'t Type>) -> Type {
    let is_integer = |member: &Type| match member {
        Type::Any | Type::Never | Type::Number => false,
        Type::Literal(value @ Value::Number(_)) => Type::Integer.admits(value),
        // Members of other kinds are never operands of a successful operation.
        _ => true,
    };
    if operands.into_iter().flat_map(Type::members).all(is_integer) {
        Type::Integer
    } else {
        Type::Number
    }
}

/// Returns the type of the items of lists of `shape`.
pub(crate) fn item_type(shape: &Type) -> Type {
    // The usual case, which needs no path.
    if let Type::List(list) = shape
        && list.prefix.is_empty()
        && !list.items.is_never()
    {
        return list.items.clone();
    }
    match shape.at(&[Segment::Each]) {
        PathLookup::Found(Type::List(list)) => match list.any_item() {
            Type::Never => Type::Any,
            item => item,
        },
        _ => Type::Any,
    }
}

/// Returns the union of `members`, which never exceeds a limit.
pub(crate) fn union(members: impl IntoIterator<Item = Type>) -> Type {
    match Type::union(members) {
        Type::Never => Type::Any,
        shape if shape.members().len() > MAX_MEMBERS => Type::Any,
        shape => shape,
    }
}

/// Returns the type of the fields of objects of `shape`.
pub(crate) fn field_type(shape: &Type) -> Type {
    union(shape.members().iter().map(|member| match member {
        Type::Object(object) if object.properties.len() <= MAX_FIELDS => {
            let described = object.properties.values().map(|property| &property.shape);
            let others = match &object.additional {
                Additional::Closed => Type::Never,
                Additional::Unspecified => Type::Any,
                Additional::Open(shape) => shape.clone(),
            };
            Type::union(described.cloned().chain([others]))
        }
        Type::Literal(Value::Object(fields)) if fields.len() <= MAX_FIELDS => {
            Type::union(fields.values().cloned().map(Type::Literal))
        }
        Type::Object(_) | Type::Literal(Value::Object(_)) | Type::Any => Type::Any,
        _ => Type::Never,
    }))
}

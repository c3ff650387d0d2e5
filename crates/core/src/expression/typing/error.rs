//! The mistakes that type inference finds: their kinds, hints, the conditions under which a mistake is only a warning, and the
//! names of parts of expressions in messages. Loop variables have no names in the tree, so messages name their lists.

use super::{ConstantComparison, Local};
use crate::expression::function::Kinds;
use crate::expression::operator::BinaryOperator;
use crate::expression::program::{print_path, print_read};
use crate::expression::tree::{Accessor, Loop, Tree};
use crate::plan::{Alternative, Form, Path, Read, Segment};
use crate::schema::{KnownFields, PathLookup, Type};
use crate::{Severity, Value};

/// A part of an expression that cannot have a value.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct TypeError {
    /// [`Severity::Error`] if the part is certainly wrong, else the run may succeed.
    pub(crate) severity: Severity,
    /// The kind of mistake.
    pub(crate) kind: TypeErrorKind,
    /// A hint how to fix the expression.
    pub(crate) help: Option<String>,
}

/// The kind of a [`TypeError`].
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum TypeErrorKind {
    /// An operation does not apply to its operands; one lower-case clause says why.
    Operation(String),
    /// An operation has a value, but seldom the intended one; the clause that follows the expression says why.
    Doubtful(String),
    /// A comparison has the same result for all values.
    Constant(ConstantComparison),
    /// A path exists in no value of the type.
    Impossible(FailedPath),
    /// A path leads to a field that an open type does not list.
    Unlisted(FailedPath),
}

/// A path that cannot be followed.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct FailedPath {
    /// The value at which the path begins, for messages.
    pub(crate) base: String,
    /// The path.
    pub(crate) path: Path,
    /// The number of segments that exist.
    pub(crate) matched: usize,
    /// The fields at the place where the path fails.
    pub(crate) known: KnownFields,
}

impl FailedPath {
    /// Returns the segment that fails.
    pub(crate) fn failing(&self) -> Option<&Segment> {
        self.path.get(self.matched)
    }
}

/// Names the fields of `value_type` that are lists, or returns `None` if there are none.
pub(super) fn list_fields(value_type: &Type) -> Option<String> {
    let fields: Vec<&str> = value_type
        .members()
        .iter()
        .filter_map(|member| match member {
            Type::Object(object) => Some(&object.properties),
            _ => None,
        })
        .flatten()
        .filter(|(_, property)| Kinds::of(&property.shape) == Kinds::LIST)
        .map(|(name, _)| &**name)
        .take(6)
        .collect();
    match fields.as_slice() {
        [] => None,
        [one] => Some(format!("its field `{one}` is a list")),
        _ => Some(format!("its fields `{}` are lists", fields.join("`, `"))),
    }
}

/// Describes the value at which a path fails; `None` if the value has fields.
pub(super) fn end_of_path(whole: &Type, failed: &FailedPath) -> Option<String> {
    let matched = failed.path.get(..failed.matched)?;
    if failed.known.names().next().is_some() || matched.contains(&Segment::Each) {
        return None;
    }
    match whole.at(matched) {
        PathLookup::Found(found) => {
            let size = size_help(failed.failing(), &found);
            Some(format!("it is {found}{size}"))
        }
        _ => None,
    }
}

/// Returns the end of a hint about `field`, such as `length`, that a list or text of type `value_type` does not have; empty for any
/// other field or type.
pub(crate) fn size_help(field: Option<&Segment>, value_type: &Type) -> &'static str {
    let Some(Segment::Key(key)) = field else {
        return "";
    };
    let kinds = Kinds::of(value_type);
    match &**key {
        "length" | "len" | "size" | "count" if kinds == Kinds::LIST => {
            "; `size(…)` counts its items"
        }
        "length" | "len" | "size" | "count" if kinds == Kinds::TEXT => {
            "; `size(…)` counts its characters"
        }
        _ => "",
    }
}

/// Returns a hint for a condition of type `value_type`; `None` if there is none for the type.
pub(super) fn condition_help(value_type: &Type) -> Option<String> {
    let kinds = Kinds::of(value_type);
    let help = if kinds == Kinds::LIST {
        "`size(list) > 0` tests if a list has items"
    } else if kinds == Kinds::TEXT {
        "`text != ''` tests if a text is not empty"
    } else if kinds == Kinds::NUMBER {
        "compare it: `> 0` or `!= 0`"
    } else {
        return None;
    };
    Some(help.to_owned())
}

/// The hint for a value with a default behind `||`.
pub(crate) const DEFAULT_HELP: &str = "a default is written behind `??`";

/// The hint for a boolean in place of a number.
pub(super) const BOOLEAN_HELP: &str = "`… ? 1 : 0` converts a boolean to a number";

/// The hint for texts in place of numbers.
pub(super) const NUMBER_HELP: &str = "`int(…)` and `double(…)` convert texts to numbers";

/// Returns the hint for the sum of a number and a known text with a number in it.
pub(super) fn number_help(operator: BinaryOperator, operands: [&Type; 2]) -> Option<String> {
    let has_number = |operand: &Type| match operand {
        Type::Literal(Value::Text(text)) => text.trim().parse::<f64>().is_ok(),
        other => Kinds::of(other) == Kinds::NUMBER,
    };
    let applies = operator == BinaryOperator::Add && operands.into_iter().all(has_number);
    applies.then(|| NUMBER_HELP.to_owned())
}

pub(super) fn operator_help(operator: BinaryOperator, left: Kinds, right: Kinds) -> Option<String> {
    let text = Kinds::TEXT;
    let help = match operator {
        BinaryOperator::Add if left == text || right == text => {
            "`string(…)` converts a value to text"
        }
        BinaryOperator::Subtract if left == text => {
            "`int(…)` and `double(…)` convert texts to numbers, `timestamp(…)` converts a date to a time"
        }
        _ if left == text || right == text => NUMBER_HELP,
        BinaryOperator::In => return None,
        _ if left == Kinds::LIST || right == Kinds::LIST => "`size(…)` counts the items of a list",
        _ if left == Kinds::BOOLEAN || right == Kinds::BOOLEAN => BOOLEAN_HELP,
        _ => return None,
    };
    Some(help.to_owned())
}

/// Returns true if `value_type` includes a literal. A condition on a known value may exclude the failing part on purpose.
pub(super) fn is_known_value(value_type: &Type) -> bool {
    let mut members = value_type.members().iter();
    members.any(|member| matches!(member, Type::Literal(_)))
}

/// Returns true if any part of the expression tests whether a part exists.
pub(super) fn tests_presence(tree: &Tree) -> bool {
    let any = |trees: &[Tree]| trees.iter().any(tests_presence);
    match tree {
        Tree::Has(_) => true,
        Tree::Literal(_) | Tree::Read(_) | Tree::Bound(_) | Tree::LoopVariable(_) => false,
        Tree::List(parts) | Tree::And(parts) | Tree::Or(parts) | Tree::Call(_, parts) => any(parts),
        Tree::Object(fields) => fields
            .iter()
            .any(|(key, value)| tests_presence(key) || tests_presence(value)),
        Tree::Not(part) | Tree::Negate(part) => tests_presence(part),
        Tree::Chain(first, rest) => {
            let is_key = matches!(**first, Tree::Literal(Value::Text(_)));
            let of_object = |tree: &Tree| !matches!(tree, Tree::List(_) | Tree::Literal(_));
            tests_presence(first)
                || rest.iter().any(|(operator, tree)| {
                    tests_presence(tree)
                        || (*operator == BinaryOperator::In && is_key && of_object(tree))
                })
        }
        Tree::Choice(cases, otherwise) => {
            tests_presence(otherwise)
                || cases
                    .iter()
                    .any(|(condition, value)| tests_presence(condition) || tests_presence(value))
        }
        Tree::FirstOf(alternatives) => alternatives.iter().any(|one| tests_presence(&one.tree)),
        Tree::Access(base, accessors) => {
            tests_presence(base)
                || accessors.iter().any(|next| match next {
                    Accessor::Part(..) | Accessor::Search(..) => false,
                    Accessor::Item(index) => tests_presence(index),
                    Accessor::Call(_, parts) | Accessor::Loop(_, parts) => any(parts),
                })
        }
    }
}

/// Maximum number of characters of a path in a message.
const MAX_SHOWN: usize = 80;

/// Describes the value of `base` after `accessors`: ``an item of `u.rows` ``.
pub(super) fn describe(
    base: &Tree,
    accessors: &[Accessor],
    bindings: &[Form],
    locals: &[Local<'_>],
) -> String {
    let (base, accessors) = flatten_access(base, accessors);
    let path: String = accessors.iter().copied().map_while(constant_path).collect();
    if path_length(&accessors) < accessors.len() {
        return "the computed value".to_owned();
    }
    match base {
        Tree::Bound(_) => match source(base, bindings) {
            Some(read) => format!("`{}`", truncate(&(print_read(read) + &path))),
            None => "the computed value".to_owned(),
        },
        Tree::LoopVariable(position) => {
            let Some(local) = locals.iter().rev().nth(*position) else {
                return "an item".to_owned();
            };
            let item = local.describe(bindings);
            if path.is_empty() {
                item
            } else {
                format!("`{}` in {item}", truncate(path.trim_start_matches('.')))
            }
        }
        _ => "the computed value".to_owned(),
    }
}

impl Local<'_> {
    /// Describes the variable: ``an item of `u.rows` ``.
    fn describe(&self, bindings: &[Form]) -> String {
        let kind = if self.object.is_some() { "key" } else { "item" };
        let article = if self.object.is_some() { "a" } else { "an" };
        let (base, accessors) = flatten_access(self.base, self.accessors);
        let length = path_length(&accessors);
        // These functions return items of the same list.
        let selects = |next: &&Accessor| match next {
            Accessor::Loop(kind, _) => matches!(kind, Loop::Filter | Loop::SortBy),
            Accessor::Call(function, _) => {
                ["distinct", "reverse", "slice", "sort"].contains(&function.name)
            }
            Accessor::Part(..) | Accessor::Item(_) | Accessor::Search(..) => false,
        };
        let select_items = accessors.iter().skip(length).all(selects);
        match source(base, bindings) {
            Some(read) if select_items => {
                let path: String = accessors.iter().copied().map_while(constant_path).collect();
                format!(
                    "{article} {kind} of `{}`",
                    truncate(&(print_read(read) + &path))
                )
            }
            _ => format!("{article} {kind}"),
        }
    }
}

/// Joins the accessors within `base` with those after it.
fn flatten_access<'t>(base: &'t Tree, accessors: &'t [Accessor]) -> (&'t Tree, Vec<&'t Accessor>) {
    match base {
        Tree::Access(inner, before) => (inner, before.iter().chain(accessors).collect()),
        base => (base, accessors.iter().collect()),
    }
}

fn path_length(accessors: &[&Accessor]) -> usize {
    let constant = accessors
        .iter()
        .take_while(|next| matches!(next, Accessor::Part(..)));
    constant.count()
}

fn constant_path(next: &Accessor) -> Option<String> {
    match next {
        Accessor::Part(path, _) => Some(print_path(path)),
        _ => None,
    }
}

fn source<'b>(base: &Tree, bindings: &'b [Form]) -> Option<&'b Read> {
    let Tree::Bound(index) = base else {
        return None;
    };
    single_read(bindings.get(*index)?)
}

/// Returns the read if `form` is a single read.
pub(super) fn single_read(form: &Form) -> Option<&Read> {
    match form {
        Form::First(alternatives) => match alternatives.as_slice() {
            [Alternative::Read(read)] => Some(read),
            _ => None,
        },
        Form::All(_) => None,
    }
}

fn truncate(text: &str) -> String {
    match text.char_indices().nth(MAX_SHOWN) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

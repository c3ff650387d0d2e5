//! Hints for faults, and the circumstances that excuse them.

use super::FailedPath;
use crate::Value;
use crate::expression::function::Kinds;
use crate::expression::operator::BinaryOperator;
use crate::expression::tree::{Accessor, Tree};
use crate::plan::Segment;
use crate::schema::{PathLookup, Type};

/// Names the fields of `shape` that are lists.
pub(super) fn list_fields(shape: &Type) -> Option<String> {
    let fields: Vec<&str> = shape
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

/// Describes the value at which a path fails, if that has no fields.
pub(super) fn end_of_path(whole: &Type, failed: &FailedPath) -> Option<String> {
    let way = failed.path.get(..failed.matched)?;
    if failed.known.names().next().is_some() || way.contains(&Segment::Each) {
        return None;
    }
    match whole.at(way) {
        PathLookup::Found(shape) => Some(format!("it is {shape}")),
        _ => None,
    }
}

/// Returns a hint for a condition of type `shape`.
pub(super) fn condition_help(shape: &Type) -> Option<String> {
    let kinds = Kinds::of(shape);
    let help = if kinds == Kinds::LIST {
        "`size(list) > 0` tests if a list has items"
    } else if kinds == Kinds::TEXT {
        "compare it with `==`"
    } else {
        return None;
    };
    Some(help.to_owned())
}

pub(super) fn operator_help(operator: BinaryOperator, left: Kinds, right: Kinds) -> Option<String> {
    let text = Kinds::TEXT;
    let help = match operator {
        BinaryOperator::Add if left == text || right == text => "`string(…)` makes text of a value",
        BinaryOperator::In if right == text => "`text.contains(part)` searches in a text",
        _ if left == text || right == text => "`int(…)` and `double(…)` make numbers of texts",
        _ => return None,
    };
    Some(help.to_owned())
}

/// Returns true if a value is known, so that a condition may exclude the failing part on purpose.
pub(super) fn is_given(shape: &Type) -> bool {
    let mut members = shape.members().iter();
    members.any(|member| matches!(member, Type::Literal(_)))
}

/// Returns true if the expression tests anywhere if a part exists.
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
                    Accessor::Part(..) | Accessor::Matches(_) => false,
                    Accessor::Item(index) => tests_presence(index),
                    Accessor::Call(_, parts) | Accessor::Loop(_, parts) => any(parts),
                })
        }
    }
}

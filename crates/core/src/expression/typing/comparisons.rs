//! Comparisons of values whose types have no common value, so that the result is always the same.

use super::error::{NUMBER_HELP, TypeError, TypeErrorKind, is_known_value};
use super::{Typing, severity};
use crate::expression::function::{Kinds, item_type};
use crate::expression::operator::BinaryOperator;
use crate::expression::tree::Tree;
use crate::schema::Type;
use crate::{Number, Value};

/// A comparison whose result does not depend on the values.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ConstantComparison {
    /// The clause that says what is compared, without its subject.
    pub(crate) reason: String,
    /// The operator as it is written.
    pub(crate) sign: &'static str,
    /// The literals of a wrong kind, with the ones that are meant; empty if one of them has no certain meaning.
    pub(crate) meant: Vec<(Value, Value)>,
    /// True if the other operand is always a boolean, which needs no comparison.
    pub(crate) with_boolean: bool,
}

impl<'a> Typing<'a, '_> {
    /// Reports a comparison that is always true or always false by the types of its operands. One with `null` tests if a value is there.
    pub(super) fn check_comparison(
        &mut self,
        operator: BinaryOperator,
        [left, right]: [&Type; 2],
        [left_tree, right_tree]: [&'a Tree; 2],
    ) {
        let items = item_type(right);
        let (one, other) = (Kinds::of(left), Kinds::of(right));
        let (compared, result) = match operator {
            BinaryOperator::Equal => (other, "false"),
            BinaryOperator::Unequal => (other, "true"),
            BinaryOperator::In if other == Kinds::LIST => (Kinds::of(&items), "false"),
            // Other keys than texts are errors or never found.
            BinaryOperator::In if other == Kinds::OBJECT => (Kinds::TEXT, "false"),
            _ => return,
        };
        if one.meets(compared) || one == Kinds::NULL || compared == Kinds::NULL {
            return;
        }
        let sign = operator.sign();
        let reason = match operator {
            BinaryOperator::In if other == Kinds::OBJECT => {
                format!("looks for {left} among the keys of an object, which are texts")
            }
            BinaryOperator::In => format!("looks for {left} in {right}"),
            _ => format!("compares {left} with {right}"),
        };
        let reason = format!("{reason}, so `{sign}` is always {result}");
        let mut meant = Vec::new();
        let literals = [
            (literals(left_tree, left, false), compared),
            (
                literals(right_tree, right, operator == BinaryOperator::In),
                one,
            ),
        ];
        for (values, wanted) in &literals {
            let pairs = values
                .iter()
                .map(|value| Some((value.clone(), meant_literal(value, *wanted)?)));
            meant = pairs.collect::<Option<Vec<_>>>().unwrap_or_default();
            if !meant.is_empty() {
                break;
            }
        }
        // A value of the plan itself may be changed before a run.
        let is_changeable = [(left_tree, left), (right_tree, right)]
            .into_iter()
            .any(|(tree, shape)| !is_literal(tree) && is_known_value(shape));
        let help = comparison_help(one, compared, &[left_tree, right_tree]);
        self.report(TypeError {
            severity: severity(is_changeable),
            kind: TypeErrorKind::Constant(ConstantComparison {
                reason,
                sign,
                meant,
                with_boolean: one == Kinds::BOOLEAN || other == Kinds::BOOLEAN,
            }),
            help: help.map(str::to_owned),
        });
    }
}

fn is_literal(tree: &Tree) -> bool {
    match tree {
        Tree::Literal(_) => true,
        Tree::List(items) => items.iter().all(is_literal),
        _ => false,
    }
}

/// The literals that `tree`, of type `shape`, consists of; with `of_list`, those in a list.
fn literals(tree: &Tree, shape: &Type, of_list: bool) -> Vec<Value> {
    match tree {
        Tree::Literal(Value::List(items)) if of_list => items.iter().cloned().collect(),
        Tree::List(items) if of_list && is_literal(tree) => {
            let values = items.iter().filter_map(|item| match item {
                Tree::Literal(value) => Some(value.clone()),
                _ => None,
            });
            values.collect()
        }
        // In a chain, the tree is only the first of several operands.
        Tree::Literal(value) if !of_list && matches!(shape, Type::Literal(_)) => {
            vec![value.clone()]
        }
        _ => Vec::new(),
    }
}

/// `value` as a value of the kind `wanted`, if that is certain.
fn meant_literal(value: &Value, wanted: Kinds) -> Option<Value> {
    let takes = |kind: Kinds| wanted == kind || wanted == kind.or(Kinds::NULL);
    match value {
        Value::Text(text) if takes(Kinds::BOOLEAN) => {
            match text.trim().to_ascii_lowercase().as_str() {
                "true" | "yes" | "on" | "1" => Some(true.into()),
                "false" | "no" | "off" | "0" => Some(false.into()),
                _ => None,
            }
        }
        Value::Text(text) if takes(Kinds::NUMBER) => {
            let meant = Value::from_json(text.trim()).ok()?;
            matches!(meant, Value::Number(_)).then_some(meant)
        }
        Value::Number(number) if takes(Kinds::BOOLEAN) => match number.as_i64()? {
            0 => Some(false.into()),
            1 => Some(true.into()),
            _ => None,
        },
        // The digits of a fraction may have been written otherwise.
        Value::Number(number) if takes(Kinds::TEXT) => number
            .as_i64()
            .map(|number| Value::text(Number::from(number).to_string())),
        Value::Bool(_) if takes(Kinds::TEXT) => Some(Value::text(value.to_json())),
        _ => None,
    }
}

/// The hint for operands of the kinds `one` and `other`.
fn comparison_help(one: Kinds, other: Kinds, trees: &[&Tree; 2]) -> Option<&'static str> {
    let are = |first: Kinds, second: Kinds| {
        let is = |kinds: Kinds, kind: Kinds| kinds == kind || kinds == kind.or(Kinds::NULL);
        is(one, first) && is(other, second) || is(one, second) && is(other, first)
    };
    let is_empty =
        |tree: &&Tree| matches!(tree, Tree::Literal(Value::Text(text)) if text.is_empty());
    if are(Kinds::NUMBER, Kinds::TEXT) {
        Some(NUMBER_HELP)
    } else if are(Kinds::LIST, Kinds::TEXT) && trees.iter().any(is_empty) {
        Some("`size(list) == 0` tests if a list is empty")
    } else if are(Kinds::LIST, Kinds::NUMBER) {
        Some("`size(…)` counts the items of a list")
    } else if are(Kinds::LIST, Kinds::TEXT) {
        Some("`text in list` tests if a list has a text")
    } else if one == Kinds::BOOLEAN || other == Kinds::BOOLEAN {
        Some("a boolean is compared with `true` or `false`")
    } else {
        None
    }
}

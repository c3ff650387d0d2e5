//! Operators between times. A time is a text, so the operands decide at parse time: only what `date`, `now` and their
//! like return counts as a time, and a text on the other side is an error with a hint.

use super::operand::with_accessor;
use crate::Value;
use crate::expression::ExpressionError;
use crate::expression::evaluate::{EvaluationBudget, EvaluationLimits};
use crate::expression::function::{self, BuiltinFunction};
use crate::expression::operator::BinaryOperator;
use crate::expression::tree::{Accessor, Loop, Tree};
use crate::plan::Segment;

/// The kind of an expression's value.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Other,
    /// A time.
    Time,
    /// A list of times.
    Times,
}

/// Returns true if the value of `tree` is certainly a time.
pub(super) fn is_time(tree: &Tree) -> bool {
    kind(tree) == Kind::Time
}

fn kind(tree: &Tree) -> Kind {
    let all_times = |trees: &[Tree]| !trees.is_empty() && trees.iter().all(is_time);
    match tree {
        Tree::Call(function, _) => match function.name {
            "now" | "date" | "timestamp" => Kind::Time,
            _ if function::moves_time(function) => Kind::Time,
            _ => Kind::Other,
        },
        Tree::List(items) if all_times(items) => Kind::Times,
        Tree::Choice(cases, otherwise) => {
            let same = cases.iter().all(|(_, value)| is_time(value)) && is_time(otherwise);
            if same { Kind::Time } else { Kind::Other }
        }
        Tree::FirstOf(alternatives) if alternatives.iter().all(|one| is_time(&one.tree)) => {
            Kind::Time
        }
        Tree::Access(base, accessors) => accessors.iter().fold(kind(base), after),
        Tree::Literal(_)
        | Tree::Read(_)
        | Tree::Bound(_)
        | Tree::LoopVariable(_)
        | Tree::List(_)
        | Tree::Object(_)
        | Tree::Not(_)
        | Tree::Negate(_)
        | Tree::Chain(..)
        | Tree::And(_)
        | Tree::Or(_)
        | Tree::FirstOf(_)
        | Tree::Has(_) => Kind::Other,
    }
}

/// Returns the kind of a value after an accessor.
fn after(before: Kind, next: &Accessor) -> Kind {
    match (before, next) {
        (_, Accessor::Loop(Loop::Map, trees)) if trees.last().is_some_and(is_time) => Kind::Times,
        (Kind::Times, Accessor::Loop(Loop::Filter | Loop::SortBy, _)) => Kind::Times,
        (Kind::Times, Accessor::Call(function, _)) => match function.name {
            "distinct" | "reverse" | "slice" => Kind::Times,
            "first" | "last" => Kind::Time,
            _ => Kind::Other,
        },
        (Kind::Times, Accessor::Item(_)) => Kind::Time,
        (Kind::Times, Accessor::Part(path, _))
            if matches!(path.as_slice(), [Segment::Index(_)]) =>
        {
            Kind::Time
        }
        _ => Kind::Other,
    }
}

/// Returns the operation between two values if at least one is a time.
pub(super) fn operation(
    operator: BinaryOperator,
    left: Tree,
    right: Tree,
    at: usize,
) -> Result<Tree, ExpressionError> {
    use BinaryOperator as Operator;
    let both = is_time(&left) && is_time(&right);
    let help = "`date(…)` converts a text to a time";
    match operator {
        Operator::Add if both => Err(ExpressionError::new("two times cannot be added", at)
            .help("`date(a) - date(b)` is the seconds between them")),
        Operator::Add if is_time(&left) => Ok(Tree::Call(&function::LATER, vec![left, right])),
        Operator::Add => Ok(Tree::Call(&function::LATER, vec![right, left])),
        Operator::Subtract if both => Ok(Tree::Call(&function::ELAPSED, vec![left, right])),
        Operator::Subtract if is_time(&left) => {
            Ok(Tree::Call(&function::EARLIER, vec![left, right]))
        }
        Operator::Subtract => {
            Err(ExpressionError::new("a time can be subtracted from a time only", at).help(help))
        }
        Operator::Less
        | Operator::LessOrEqual
        | Operator::Greater
        | Operator::GreaterOrEqual
        | Operator::Equal
        | Operator::Unequal
            if both =>
        {
            Ok(Tree::Chain(
                Box::new(instant(left)),
                vec![(operator, instant(right))],
            ))
        }
        Operator::Less
        | Operator::LessOrEqual
        | Operator::Greater
        | Operator::GreaterOrEqual
        | Operator::Equal
        | Operator::Unequal => {
            let message = format!("`{}` compares a time with a time only", operator.sign());
            Err(ExpressionError::new(message, at).help(help))
        }
        Operator::In | Operator::Multiply | Operator::Divide | Operator::Remainder => {
            Ok(Tree::Chain(Box::new(left), vec![(operator, right)]))
        }
    }
}

/// Returns the number that represents a time in comparisons.
fn instant(time: Tree) -> Tree {
    Tree::Call(&function::INSTANT, vec![time])
}

/// Returns the call of a function; the extremes of times compare them as such.
pub(super) fn global_call(
    function: &'static BuiltinFunction,
    mut arguments: Vec<Tree>,
    at: usize,
) -> Result<Tree, ExpressionError> {
    if matches!(function.name, "min" | "max") {
        let all_times = arguments.len() > 1 && arguments.iter().all(is_time);
        if all_times {
            let list = Tree::List(std::mem::take(&mut arguments));
            return Ok(method_call(list, Accessor::Call(function, Vec::new())));
        }
        if let [list] = arguments.as_slice()
            && kind(list) == Kind::Times
        {
            let list = arguments.swap_remove(0);
            return Ok(method_call(list, Accessor::Call(function, arguments)));
        }
    }
    if function.name == "int"
        && let [time] = arguments.as_slice()
        && is_time(time)
    {
        return Ok(Tree::Call(&function::EPOCH, arguments));
    }
    // A comparison that is certain to fail is refused before the run.
    if let ("date" | "timestamp" | "duration", [Tree::Literal(value @ Value::Text(_))]) =
        (function.name, arguments.as_slice())
    {
        let mut budget = EvaluationBudget::new(&EvaluationLimits::default());
        (function.run)(std::slice::from_ref(value), &mut budget).map_err(|error| {
            let text = value.as_text().unwrap_or_default();
            let help = function::constant_form(function.name, text);
            ExpressionError::new(error.to_string(), at).help(help)
        })?;
    }
    Ok(Tree::Call(function, arguments))
}

/// Returns `tree` with a call after it; lists of times are sorted as times.
pub(super) fn method_call(tree: Tree, call: Accessor) -> Tree {
    let name = match &call {
        Accessor::Call(function, arguments) if arguments.is_empty() => function.name,
        _ => return with_accessor(tree, call),
    };
    let end = match name {
        "sort" => None,
        "min" => Some("first"),
        "max" => Some("last"),
        _ => return with_accessor(tree, call),
    };
    if kind(&tree) != Kind::Times {
        return with_accessor(tree, call);
    }
    let key = instant(Tree::LoopVariable(0));
    let sorted = with_accessor(tree, Accessor::Loop(Loop::SortBy, vec![key]));
    match end.and_then(function::method) {
        Some(end) => with_accessor(sorted, Accessor::Call(end, Vec::new())),
        None => sorted,
    }
}

/// Returns a loop; keys that are times are sorted as such.
pub(super) fn loop_over(kind: Loop, trees: Vec<Tree>) -> Accessor {
    if kind != Loop::SortBy {
        return Accessor::Loop(kind, trees);
    }
    let sortable = |key: Tree| if is_time(&key) { instant(key) } else { key };
    let keys = trees.into_iter().map(|key| match key {
        Tree::List(keys) => Tree::List(keys.into_iter().map(sortable).collect()),
        key => sortable(key),
    });
    Accessor::Loop(kind, keys.collect())
}

//! Operations that have a value, but seldom the intended one.

use super::Typing;
use super::error::{TypeError, TypeErrorKind};
use crate::expression::function::BuiltinFunction;
use crate::expression::operator::whole;
use crate::expression::tree::{Accessor, Tree};
use crate::schema::Type;
use crate::{Severity, Value};

/// Parts of the patterns of other languages, the longest of those with the same beginning first, and those of this one.
const PATTERN_PARTS: [(&str, &str); 15] = [
    ("YYYY", "%Y"),
    ("yyyy", "%Y"),
    ("YY", "%y"),
    ("yy", "%y"),
    ("MMMM", "%B"),
    ("MMM", "%b"),
    ("MM", "%m"),
    ("DD", "%d"),
    ("dd", "%d"),
    ("HH", "%H"),
    ("hh", "%I"),
    ("mm", "%M"),
    ("ss", "%S"),
    ("dddd", "%A"),
    ("EEEE", "%A"),
];

/// Returns true if an argument of `function` is a whole number by intention.
pub(super) fn takes_whole(function: &BuiltinFunction) -> bool {
    matches!(
        function.name,
        "charAt"
            | "int"
            | "lists.range"
            | "math.floor"
            | "math.trunc"
            | "slice"
            | "substring"
            | "uint"
    )
}

/// The doubt about a quotient that has no fraction if its numbers are whole.
pub(crate) const MAY_DROP_FRACTION: &str =
    "divides a sum by a size, which drops the fraction if the sum is a whole number";

impl Typing<'_, '_> {
    /// Reports the quotient of two whole numbers, which has no fraction here, unless a whole number is intended.
    pub(super) fn check_quotient(&mut self, left: &Type, right: &Type) {
        let is_exact = match (literal(left), literal(right)) {
            (Some(left), Some(right)) => right != 0 && left % right == 0,
            (_, Some(right)) => right.abs() == 1,
            _ => false,
        };
        if self.takes_whole || is_exact || !is_integer(left) || !is_integer(right) {
            return;
        }
        let help = "`double(a) / b` keeps the fraction, `int(a / b)` says that the whole number is intended";
        let reason = "divides whole numbers, which drops the fraction";
        self.report_doubtful(Severity::Warning, reason, help);
    }

    /// Reports the sum of a list of type `sum`, divided by a size: numbers of an answer may all be whole, whatever its schema says.
    pub(super) fn check_mean(&mut self, sum: &Type, trees: [&Tree; 2]) {
        let may_be_whole = may_be_integer(sum) && !is_integer(sum);
        if self.errors.is_none() || self.takes_whole || !may_be_whole || !is_mean(trees) {
            return;
        }
        let help = "`avg(list)` is the mean of a list, and `double(a) / b` keeps the fraction";
        self.report_doubtful(Severity::Warning, MAY_DROP_FRACTION, help);
    }

    /// Reports a pattern for a time that has no conversion, so that it would be the result.
    pub(super) fn check_pattern(&mut self, function: &BuiltinFunction, pattern: Option<&Tree>) {
        if self.errors.is_none() || function.name != "format" {
            return;
        }
        let Some(Tree::Literal(Value::Text(pattern))) = pattern else {
            return;
        };
        if pattern.contains('%') {
            return;
        }
        // Without other letters, the pattern is certainly one of another language.
        let (severity, help) = match conversions(pattern) {
            Some(conversions) => (
                Severity::Error,
                format!("write the pattern as `{conversions}`"),
            ),
            None => (
                Severity::Warning,
                "the parts of a pattern begin with `%`, as in `%Y-%m-%d`".to_owned(),
            ),
        };
        let reason = format!("gives the text `{pattern}` for each time, as the pattern has no `%`");
        self.report_doubtful(severity, &reason, &help);
    }

    fn report_doubtful(&mut self, severity: Severity, reason: &str, help: &str) {
        self.report(TypeError {
            severity,
            kind: TypeErrorKind::Doubtful(reason.to_owned()),
            help: Some(help.to_owned()),
        });
    }
}

/// Returns true if the quotient of `trees` is that of the sum and the size of a list as they stand in an answer, without a conversion.
fn is_mean([sum, size]: [&Tree; 2]) -> bool {
    let calls = |tree: &Tree, wanted: &str| match tree {
        Tree::Call(function, arguments) => {
            function.name == wanted && matches!(arguments.as_slice(), [list] if is_path(list))
        }
        Tree::Access(list, accessors) => match accessors.as_slice() {
            [Accessor::Call(function, arguments)]
            | [Accessor::Part(..), Accessor::Call(function, arguments)] => {
                function.name == wanted && arguments.is_empty() && is_path(list)
            }
            _ => false,
        },
        _ => false,
    };
    calls(sum, "sum") && calls(size, "size")
}

/// Returns true if `tree` is a part of an output or of another value of the plan.
fn is_path(tree: &Tree) -> bool {
    match tree {
        Tree::Read(_) | Tree::Bound(_) => true,
        Tree::Access(list, accessors) => {
            let is_part = |accessor: &Accessor| matches!(accessor, Accessor::Part(..));
            is_path(list) && accessors.iter().all(is_part)
        }
        _ => false,
    }
}

/// Returns true if some value of `shape` may be a whole number, as those of a `number` in a schema may.
fn may_be_integer(shape: &Type) -> bool {
    let members = shape.members();
    let is_number = |member: &Type| matches!(member, Type::Number | Type::Integer | Type::Any);
    members.iter().any(is_number)
}

/// Returns the whole number that is the only value of `shape`.
fn literal(shape: &Type) -> Option<i128> {
    match shape {
        Type::Literal(Value::Number(number)) => whole(number),
        _ => None,
    }
}

/// Returns true if all values of `shape` are whole numbers.
fn is_integer(shape: &Type) -> bool {
    let members = shape.members();
    !members.is_empty()
        && members
            .iter()
            .all(|member| matches!(member, Type::Integer) || literal(member).is_some())
}

/// Returns the pattern with the conversions of this language; `None` if a letter in it has no known meaning.
fn conversions(pattern: &str) -> Option<String> {
    let mut written = String::new();
    let mut rest = pattern;
    while let Some(first) = rest.chars().next() {
        let part = PATTERN_PARTS
            .iter()
            .filter(|(part, _)| rest.starts_with(part))
            .max_by_key(|(part, _)| part.len());
        match part {
            Some((part, conversion)) => {
                written.push_str(conversion);
                rest = rest.strip_prefix(part)?;
            }
            // `T` and `Z` stand between and behind the parts of a time.
            None if first.is_alphabetic() && !matches!(first, 'T' | 'Z') => return None,
            None => {
                written.push(first);
                rest = rest.strip_prefix(first)?;
            }
        }
    }
    written.contains('%').then_some(written)
}

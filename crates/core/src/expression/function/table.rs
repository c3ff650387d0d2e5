//! The table of all functions: names, call styles and numbers of arguments.

use super::{list, number, text};
use crate::Value;
use crate::expression::EvaluationError;
use crate::expression::limits::EvaluationBudget;

type Implementation = fn(&[Value], &mut EvaluationBudget) -> Result<Value, EvaluationError>;

/// A function of the expression language.
#[derive(Debug)]
pub(crate) struct BuiltinFunction {
    /// Its name.
    pub(crate) name: &'static str,
    /// The call style.
    style: CallStyle,
    /// The minimum number of arguments, including the receiver of a method.
    pub(in crate::expression) min_arguments: usize,
    /// The maximum number of arguments, including the receiver of a method.
    pub(in crate::expression) max_arguments: usize,
    /// The implementation.
    pub(in crate::expression) run: Implementation,
}

/// The style in which a function is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CallStyle {
    /// `name(value)`.
    Global,
    /// `value.name()`.
    Method,
    /// Both styles.
    Both,
}

const fn row(
    name: &'static str,
    style: CallStyle,
    min_arguments: usize,
    max_arguments: usize,
    run: Implementation,
) -> BuiltinFunction {
    BuiltinFunction {
        name,
        style,
        min_arguments,
        max_arguments,
        run,
    }
}

/// The namespaces of functions, written before a dot.
pub(in crate::expression) const NAMESPACES: &[&str] = &["lists", "math"];

const UNBOUNDED: usize = usize::MAX;

static FUNCTIONS: &[BuiltinFunction] = &[
    row("size", CallStyle::Both, 1, 1, list::size),
    row("string", CallStyle::Global, 1, 1, number::string),
    row("int", CallStyle::Global, 1, 1, number::int),
    row("uint", CallStyle::Global, 1, 1, number::uint),
    row("double", CallStyle::Global, 1, 1, number::double),
    row("bool", CallStyle::Global, 1, 1, number::bool),
    row("dyn", CallStyle::Global, 1, 1, number::identity),
    row("contains", CallStyle::Method, 2, 2, text::contains),
    row("startsWith", CallStyle::Method, 2, 2, text::starts_with),
    row("endsWith", CallStyle::Method, 2, 2, text::ends_with),
    row("matches", CallStyle::Both, 2, 2, text::matches),
    row("charAt", CallStyle::Method, 2, 2, text::char_at),
    row("indexOf", CallStyle::Method, 2, 3, text::index_of),
    row("lastIndexOf", CallStyle::Method, 2, 3, text::last_index_of),
    row("lowerAscii", CallStyle::Method, 1, 1, text::lower_ascii),
    row("upperAscii", CallStyle::Method, 1, 1, text::upper_ascii),
    row("replace", CallStyle::Method, 3, 4, text::replace),
    row("split", CallStyle::Method, 2, 3, text::split),
    row("substring", CallStyle::Method, 2, 3, text::substring),
    row("trim", CallStyle::Method, 1, 1, text::trim),
    row("join", CallStyle::Method, 1, 2, text::join),
    row("reverse", CallStyle::Method, 1, 1, list::reverse),
    row("slice", CallStyle::Method, 3, 3, list::slice),
    row("flatten", CallStyle::Method, 1, 2, list::flatten),
    row("distinct", CallStyle::Method, 1, 1, list::distinct),
    row("sort", CallStyle::Method, 1, 1, list::sort),
    row("lists.range", CallStyle::Global, 1, 1, list::range),
    row(
        "math.greatest",
        CallStyle::Global,
        1,
        UNBOUNDED,
        number::greatest,
    ),
    row("math.least", CallStyle::Global, 1, UNBOUNDED, number::least),
    row("math.abs", CallStyle::Global, 1, 1, number::abs),
    row("math.ceil", CallStyle::Global, 1, 1, number::ceil),
    row("math.floor", CallStyle::Global, 1, 1, number::floor),
    row("math.round", CallStyle::Global, 1, 1, number::round),
    row("math.trunc", CallStyle::Global, 1, 1, number::trunc),
];

/// Returns the function called as `name(…)`.
pub(in crate::expression) fn global(name: &str) -> Option<&'static BuiltinFunction> {
    named(name, CallStyle::Method)
}

/// Returns the function called as `value.name(…)`.
pub(in crate::expression) fn method(name: &str) -> Option<&'static BuiltinFunction> {
    named(name, CallStyle::Global)
}

fn named(name: &str, not: CallStyle) -> Option<&'static BuiltinFunction> {
    FUNCTIONS
        .iter()
        .find(|function| function.name == name && function.style != not)
}

/// Names of functions in other languages, in lower case, and their names here.
static FOREIGN_NAMES: &[(&str, &str)] = &[
    ("abs", "math.abs"),
    ("ceil", "math.ceil"),
    ("count", "size"),
    ("every", "all"),
    ("float", "double"),
    ("floor", "math.floor"),
    ("includes", "contains"),
    ("len", "size"),
    ("length", "size"),
    ("lower", "lowerAscii"),
    ("max", "math.greatest"),
    ("min", "math.least"),
    ("number", "double"),
    ("parseint", "int"),
    ("range", "lists.range"),
    ("round", "math.round"),
    ("some", "exists"),
    ("str", "string"),
    ("tolower", "lowerAscii"),
    ("tolowercase", "lowerAscii"),
    ("tostring", "string"),
    ("toupper", "upperAscii"),
    ("touppercase", "upperAscii"),
    ("unique", "distinct"),
    ("upper", "upperAscii"),
];

/// Suggests a function for an unknown `name`: its name in another language, or a similar name.
pub(in crate::expression) fn nearest(name: &str) -> Option<&'static str> {
    let lower = name.to_lowercase();
    // Names of other languages are seldom similar to ours.
    if let Some((_, here)) = FOREIGN_NAMES
        .iter()
        .find(|(elsewhere, _)| *elsewhere == lower)
    {
        return Some(here);
    }
    let loops = [
        "all",
        "exists",
        "exists_one",
        "filter",
        "has",
        "map",
        "sortBy",
    ];
    FUNCTIONS
        .iter()
        .map(|function| function.name)
        .chain(loops)
        .map(|known| (strsim::jaro_winkler(known, name), known))
        .filter(|(similarity, _)| *similarity > 0.75)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, known)| known)
}

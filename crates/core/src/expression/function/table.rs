//! The table of all functions: names, call styles and numbers of arguments.

use super::signature;
use super::signature::{
    ANY, LIST, NUMBER, NUMBERS, Parameter, ResultType, SIZED, SORTABLES, TEXT, TEXT_OR_BOOLEAN,
    TEXT_OR_LIST, TEXT_OR_NUMBER, TEXTS, any, boolean, flattened, integer, integers, numeric,
    one_of, reversed, same_items, texts,
};
use super::{list, number, text};
use crate::Value;
use crate::expression::EvaluationError;
use crate::expression::evaluate::EvaluationBudget;

use CallStyle::{Both, Global, Method};

type Implementation = fn(&[Value], &mut EvaluationBudget) -> Result<Value, EvaluationError>;

/// A function of the expression language.
#[derive(Debug)]
pub(crate) struct BuiltinFunction {
    /// The name of the function.
    pub(crate) name: &'static str,
    /// The call style.
    style: CallStyle,
    /// The minimum number of arguments, including the receiver of a method.
    pub(crate) min_arguments: usize,
    /// The maximum number of arguments, including the receiver of a method.
    pub(crate) max_arguments: usize,
    /// The parameters, including the receiver of a method. The last one is that of all further arguments.
    pub(crate) parameters: &'static [Parameter],
    /// The type of the result.
    pub(crate) result: ResultType,
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
    parameters: &'static [Parameter],
    result: ResultType,
    run: Implementation,
) -> BuiltinFunction {
    BuiltinFunction {
        name,
        style,
        min_arguments,
        max_arguments,
        parameters,
        result,
        run,
    }
}

/// The namespaces of functions, written before a dot.
pub(crate) const NAMESPACES: &[&str] = &["lists", "math"];

const UNBOUNDED: usize = usize::MAX;

#[rustfmt::skip]
static FUNCTIONS: &[BuiltinFunction] = &[
    row("size", Both, 1, 1, &[SIZED], integer, list::size),
    row("string", Global, 1, 1, &[ANY], signature::text, number::string),
    row("int", Global, 1, 1, &[TEXT_OR_NUMBER], integer, number::int),
    row("uint", Global, 1, 1, &[TEXT_OR_NUMBER], integer, number::uint),
    row("double", Global, 1, 1, &[TEXT_OR_NUMBER], signature::number, number::double),
    row("bool", Global, 1, 1, &[TEXT_OR_BOOLEAN], boolean, number::bool),
    row("dyn", Global, 1, 1, &[ANY], any, number::identity),
    row("contains", Method, 2, 2, &[TEXT], boolean, text::contains),
    row("startsWith", Method, 2, 2, &[TEXT], boolean, text::starts_with),
    row("endsWith", Method, 2, 2, &[TEXT], boolean, text::ends_with),
    row("matches", Both, 2, 2, &[TEXT], boolean, text::matches),
    row("charAt", Method, 2, 2, &[TEXT, NUMBER], signature::text, text::char_at),
    row("indexOf", Method, 2, 3, &[TEXT, TEXT, NUMBER], integer, text::index_of),
    row("lastIndexOf", Method, 2, 3, &[TEXT, TEXT, NUMBER], integer, text::last_index_of),
    row("lowerAscii", Method, 1, 1, &[TEXT], signature::text, text::lower_ascii),
    row("upperAscii", Method, 1, 1, &[TEXT], signature::text, text::upper_ascii),
    row("replace", Method, 3, 4, &[ TEXT, TEXT, TEXT, NUMBER, ], signature::text, text::replace),
    row("split", Method, 2, 3, &[TEXT, TEXT, NUMBER], texts, text::split),
    row("substring", Method, 2, 3, &[TEXT, NUMBER], signature::text, text::substring),
    row("trim", Method, 1, 1, &[TEXT], signature::text, text::trim),
    row("join", Method, 1, 2, &[TEXTS, TEXT], signature::text, text::join),
    row("reverse", Method, 1, 1, &[TEXT_OR_LIST], reversed, list::reverse),
    row("slice", Method, 3, 3, &[LIST, NUMBER], same_items, list::slice),
    row("flatten", Method, 1, 2, &[LIST, NUMBER], flattened, list::flatten),
    row("distinct", Method, 1, 1, &[LIST], same_items, list::distinct),
    row("sort", Method, 1, 1, &[SORTABLES], same_items, list::sort),
    row("lists.range", Global, 1, 1, &[NUMBER], integers, list::range),
    row("math.greatest", Global, 1, UNBOUNDED, &[NUMBERS], one_of, number::greatest),
    row("math.least", Global, 1, UNBOUNDED, &[NUMBERS], one_of, number::least),
    row("math.abs", Global, 1, 1, &[NUMBER], numeric, number::abs),
    row("math.ceil", Global, 1, 1, &[NUMBER], integer, number::ceil),
    row("math.floor", Global, 1, 1, &[NUMBER], integer, number::floor),
    row("math.round", Global, 1, 1, &[NUMBER], integer, number::round),
    row("math.trunc", Global, 1, 1, &[NUMBER], integer, number::trunc),
];

/// Returns the function called as `name(…)`.
pub(crate) fn global(name: &str) -> Option<&'static BuiltinFunction> {
    named(name, CallStyle::Method)
}

/// Returns the function called as `value.name(…)`.
pub(crate) fn method(name: &str) -> Option<&'static BuiltinFunction> {
    named(name, CallStyle::Global)
}

fn named(name: &str, not: CallStyle) -> Option<&'static BuiltinFunction> {
    FUNCTIONS
        .iter()
        .find(|function| function.name == name && function.style != not)
}

/// Returns a usage of each function, such as `size(x)`, `x.trim()` and `x.split(…)`.
pub(super) fn usages() -> impl Iterator<Item = String> {
    FUNCTIONS.iter().map(|function| {
        let name = function.name;
        match (function.style, function.max_arguments) {
            (CallStyle::Method, 1) => format!("x.{name}()"),
            (CallStyle::Method, _) => format!("x.{name}(…)"),
            (CallStyle::Global | CallStyle::Both, 1) => format!("{name}(x)"),
            (CallStyle::Global | CallStyle::Both, _) => format!("{name}(…)"),
        }
    })
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
pub(crate) fn nearest(name: &str) -> Option<&'static str> {
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

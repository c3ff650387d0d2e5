//! The table of all functions: names, call styles and numbers of arguments.

use super::signature;
use super::signature::{
    ADDENDS, ANY, EXTREMES, LIST, NUMBER, NUMBERS, OBJECT, Parameter, ResultType, SIZED, SORTABLES,
    TEXT, TEXT_OR_BOOLEAN, TEXT_OR_LIST, TEXT_OR_NUMBER, TEXTS, any, boolean, extreme,
    field_values, flattened, integer, integers, item, numeric, one_of, same_items, same_kind,
    texts, zipped,
};
use super::{aggregate, list, number, object, search, text, time};
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

/// Returns the row of an operator on times, which cannot be called by a name.
pub(super) const fn of_times(
    sign: &'static str,
    arguments: usize,
    gives_number: bool,
    run: Implementation,
) -> BuiltinFunction {
    let result = if gives_number {
        signature::number
    } else {
        signature::text
    };
    let parameters: &[Parameter] = if gives_number {
        &[TEXT]
    } else {
        &[TEXT, NUMBER]
    };
    row(sign, Global, arguments, arguments, parameters, result, run)
}

/// The namespaces of functions, written before a dot.
pub(crate) const NAMESPACES: &[&str] = &["lists", "math", "regex"];

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
    row("matches", Both, 2, 2, &[TEXT], boolean, search::matches),
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
    row("reverse", Method, 1, 1, &[TEXT_OR_LIST], same_kind, list::reverse),
    row("slice", Method, 3, 3, &[TEXT_OR_LIST, NUMBER], same_kind, list::slice),
    row("flatten", Method, 1, 2, &[LIST, NUMBER], flattened, list::flatten),
    row("distinct", Method, 1, 1, &[LIST], same_items, list::distinct),
    row("sort", Method, 1, 1, &[SORTABLES], same_items, list::sort),
    row("first", Both, 1, 1, &[LIST], item, list::first),
    row("last", Both, 1, 1, &[LIST], item, list::last),
    row("zip", Both, 2, UNBOUNDED, &[LIST], zipped, list::zip),
    row("sum", Both, 1, 1, &[ADDENDS], one_of, aggregate::sum),
    row("avg", Both, 1, 1, &[ADDENDS], signature::number, aggregate::avg),
    row("min", Both, 1, UNBOUNDED, &[EXTREMES], extreme, aggregate::min),
    row("max", Both, 1, UNBOUNDED, &[EXTREMES], extreme, aggregate::max),
    row("keys", Both, 1, 1, &[OBJECT], texts, object::keys),
    row("values", Both, 1, 1, &[OBJECT], field_values, object::values),
    row("json", Global, 1, 1, &[TEXT], any, object::json),
    row("regex.extract", Global, 2, 2, &[TEXT], signature::text, search::extract),
    row("regex.extractAll", Global, 2, 2, &[TEXT], texts, search::extract_all),
    row("now", Global, 0, 0, &[], signature::text, time::now),
    row("date", Global, 1, 2, &[TEXT_OR_NUMBER, TEXT], signature::text, time::date),
    row("timestamp", Global, 1, 2, &[TEXT_OR_NUMBER, TEXT], signature::text, time::date),
    row("duration", Global, 1, 1, &[TEXT_OR_NUMBER], signature::number, time::duration),
    row("format", Method, 2, 3, &[TEXT], signature::text, time::format),
    row("getFullYear", Method, 1, 2, &[TEXT], integer, time::full_year),
    row("getMonth", Method, 1, 2, &[TEXT], integer, time::month),
    row("getDate", Method, 1, 2, &[TEXT], integer, time::day),
    row("getDayOfMonth", Method, 1, 2, &[TEXT], integer, time::day_of_month),
    row("getDayOfWeek", Method, 1, 2, &[TEXT], integer, time::day_of_week),
    row("getDayOfYear", Method, 1, 2, &[TEXT], integer, time::day_of_year),
    row("getHours", Method, 1, 2, &[TEXT], integer, time::hours),
    row("getMinutes", Method, 1, 2, &[TEXT], integer, time::minutes),
    row("getSeconds", Method, 1, 2, &[TEXT], integer, time::seconds),
    row("getMilliseconds", Method, 1, 2, &[TEXT], integer, time::milliseconds),
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

/// Returns the names of all functions.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    FUNCTIONS.iter().map(|function| function.name)
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

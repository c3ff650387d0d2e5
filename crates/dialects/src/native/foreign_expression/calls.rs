//! Functions of other languages, and the forms that have their effect here.

use super::form::{Argument, Binding, Form, Kind, LoopForm, joined, negated};
use super::methods::method;

/// Modules and classes with functions.
const NAMESPACES: [&str; 10] = [
    "Array", "Date", "JSON", "Math", "Number", "Object", "String", "datetime", "json", "math",
];

/// The maximum number of items of a list that stands for a range.
const MAX_RANGE: i64 = 20;

/// Returns true if `name` is a module or a class.
pub(super) fn is_namespace(name: &str) -> bool {
    NAMESPACES.contains(&name)
}

/// Returns true if templates of other systems call `name` without brackets: `eq a b`.
pub(super) fn is_prefix(name: &str) -> bool {
    matches!(
        name,
        "eq" | "ne"
            | "lt"
            | "le"
            | "gt"
            | "ge"
            | "and"
            | "len"
            | "index"
            | "json"
            | "lookup"
            | "lowercase"
            | "uppercase"
            | "default"
            | "toJson"
            | "join"
            | "typeof"
    )
}

/// The operator that a function of other systems is.
fn comparison(name: &str) -> Option<&'static str> {
    Some(match name {
        "eq" | "equals" | "equal" | "is_equal" => "==",
        "ne" | "neq" | "not_equals" | "notEquals" => "!=",
        "lt" | "less" => "<",
        "le" | "lte" | "lessOrEquals" => "<=",
        "gt" | "greater" => ">",
        "ge" | "gte" | "greaterOrEquals" => ">=",
        _ => return None,
    })
}

/// The time that `new Date(…)` stands for.
pub(super) fn date(arguments: &[Argument]) -> Option<Form> {
    match arguments {
        [] => Some(Form::value("now()", Kind::Text)),
        [Argument::Value(text)] => Some(Form::value(format!("date({})", text.text), Kind::Text)),
        _ => None,
    }
}

/// The values of arguments that have no names and are no functions.
pub(super) fn values(arguments: &[Argument]) -> Option<Vec<&Form>> {
    arguments
        .iter()
        .map(|argument| match argument {
            Argument::Value(form) => Some(form),
            Argument::Named(..) | Argument::Function(..) | Argument::Loop(_) => None,
        })
        .collect()
}

/// The argument with the name `name`.
pub(super) fn named<'a>(arguments: &'a [Argument], name: &str) -> Option<&'a Argument> {
    arguments.iter().find_map(|argument| match argument {
        Argument::Named(key, value) if key == name => Some(&**value),
        Argument::Named(..) | Argument::Value(_) | Argument::Function(..) | Argument::Loop(_) => {
            None
        }
    })
}

/// The call of `name` with `arguments`.
#[expect(
    clippy::unnecessary_wraps,
    reason = "the arms around its calls are options"
)]
pub(super) fn call(name: &str, arguments: &[&Form], kind: Kind) -> Option<Form> {
    let arguments: Vec<&str> = arguments.iter().map(|form| &*form.text).collect();
    Some(Form::value(
        format!("{name}({})", arguments.join(", ")),
        kind,
    ))
}

/// `value` rounded to `digits` digits after the point.
pub(super) fn rounded(value: &Form, digits: Option<&Form>) -> Option<Form> {
    let digits = match digits {
        Some(digits) => digits.text.parse::<u32>().ok()?,
        None => 0,
    };
    if digits == 0 {
        return call("math.round", &[value], Kind::Number);
    }
    let factor = 10_u64.checked_pow(digits)?;
    let value = value.within(Binding::Product);
    Some(Form::new(
        format!("math.round({value} * {factor}) / {factor}.0"),
        Binding::Product,
        Kind::Decimal,
    ))
}

/// The call of the function `name`.
pub(super) fn function(name: &str, arguments: &[Argument]) -> Option<Form> {
    if let [Argument::Loop(comprehension)] = arguments {
        return of_comprehension(name, comprehension);
    }
    // `group_by(list, x, x.key)`
    if let [
        Argument::Value(list),
        Argument::Value(variable),
        Argument::Value(_),
        ..,
    ] = arguments
        && variable.kind == Kind::Path
        && let Some(name) = loop_name(name)
    {
        return method(list, name, arguments.get(1..)?);
    }
    if let [Argument::Value(list), keyed @ ..] = arguments
        && !keyed.is_empty()
        && keyed
            .iter()
            .all(|argument| matches!(argument, Argument::Named(..)))
        && matches!(name, "sorted" | "max" | "min")
    {
        return ordered(name, list, keyed);
    }
    if let [
        function @ Argument::Function(..),
        Argument::Value(list),
        others @ ..,
    ] = arguments
    {
        // `map(lambda x: x.a, list)`, `reduce(lambda a, b: a + b, list, 0)`
        let mut arguments = vec![function.clone()];
        arguments.extend_from_slice(others);
        return method(list, name, &arguments);
    }
    let values = values(arguments)?;
    if let (Some(sign), [left, right]) = (comparison(name), values.as_slice()) {
        let (left, right) = (left.within(Binding::Sum), right.within(Binding::Sum));
        let text = format!("{left} {sign} {right}");
        return Some(Form::new(text, Binding::Comparison, Kind::Truth));
    }
    match (name, values.as_slice()) {
        ("and" | "AND" | "or" | "OR", [_, _, ..]) => {
            let (sign, binding, within) = if name.eq_ignore_ascii_case("and") {
                (" && ", Binding::And, Binding::Comparison)
            } else {
                (" || ", Binding::Or, Binding::And)
            };
            let parts: Vec<String> = values
                .iter()
                .map(|form| form.as_condition().within(within))
                .collect();
            Some(Form::new(parts.join(sign), binding, Kind::Truth))
        }
        ("not" | "NOT", [value]) => Some(negated(value)),
        ("exists" | "defined" | "isset" | "isDefined", [value]) => Some(Form::new(
            format!("{} != null", value.within(Binding::Sum)),
            Binding::Comparison,
            Kind::Truth,
        )),
        ("lookup" | "index", [list, key]) => Some(Form::value(
            format!("{}[{}]", list.within(Binding::Value), key.text),
            Kind::Path,
        )),
        ("first" | "last", [value]) => method(value, name, &[]),
        ("next", [list, default]) if list.kind == Kind::List => {
            with_default(&method(list, "first", &[])?, default)
        }
        ("format", [text, values @ ..]) if text.kind == Kind::Text && !values.is_empty() => {
            let mut format = text.text.trim_matches('\'').to_owned();
            for at in 0..values.len() {
                format = format.replacen(&format!("{{{at}}}"), "{}", 1);
            }
            let values: Vec<Form> = values.iter().map(|form| (*form).clone()).collect();
            joined(&format.split("{}").collect::<Vec<_>>(), &values)
        }
        ("len" | "length" | "count" | "size", [value]) => call("size", &[value], Kind::Number),
        (
            "str" | "string" | "String" | "toString" | "to_string" | "text" | "repr" | "tojson"
            | "toJson" | "toJSON" | "to_json" | "stringify",
            [value],
        ) => call("string", &[value], Kind::Text),
        ("int" | "parseInt" | "Integer" | "toInt" | "to_int", [value, ..]) => {
            call("int", &[value], Kind::Number)
        }
        ("float" | "Number" | "parseFloat" | "number" | "toNumber" | "double", [value]) => {
            call("double", &[value], Kind::Decimal)
        }
        ("Boolean" | "bool", [value]) => call("bool", &[value], Kind::Truth),
        ("round", [value]) => rounded(value, None),
        ("round", [value, digits]) => rounded(value, Some(digits)),
        ("abs" | "ceil" | "floor", [value]) => {
            call(&format!("math.{name}"), &[value], Kind::Number)
        }
        ("mean" | "average" | "avg", [value]) => call("avg", &[value], Kind::Decimal),
        ("list" | "tuple" | "array", [value]) => Some(value.items()),
        ("set" | "unique" | "uniq", [value]) => method(value, "distinct", &[]),
        ("sorted" | "reversed", [value]) => {
            let name = if name == "sorted" { "sort" } else { "reverse" };
            method(value, name, &[])
        }
        ("range", [count]) => call("lists.range", &[count], Kind::List),
        ("range", [from, to]) => range(&from.text, &to.text),
        ("default" | "coalesce" | "ifnull" | "nvl" | "ifNull", [value, default]) => {
            with_default(value, default)
        }
        ("if" | "iif" | "ifelse" | "IF" | "cond", [condition, then, otherwise]) => {
            let text = format!(
                "{} ? {} : {}",
                condition.as_condition().within(Binding::Or),
                then.within(Binding::Or),
                otherwise.text
            );
            Some(Form::new(text, Binding::Choice, Kind::Other))
        }
        ("concat" | "CONCAT", [_, _, ..]) => {
            let parts: Vec<String> = values.iter().map(|form| form.as_text()).collect();
            Some(Form::new(parts.join(" + "), Binding::Sum, Kind::Text))
        }
        ("isempty" | "isEmpty" | "is_empty" | "empty", [value]) => Some(Form::new(
            format!("size({}) == 0", value.text),
            Binding::Comparison,
            Kind::Truth,
        )),
        ("fromjson" | "fromJson" | "fromJSON" | "parse_json" | "parseJson", [value]) => {
            call("json", &[value], Kind::Other)
        }
        ("today" | "utcnow" | "timestamp" | "NOW" | "currentDate" | "current_date", []) => {
            Some(Form::value("now()", Kind::Text))
        }
        ("keys" | "values", [value]) => call(name, &[value], Kind::List),
        ("any" | "some", [value]) => Some(Form::value(
            format!("{}.exists(x, x)", value.within(Binding::Value)),
            Kind::Truth,
        )),
        // Methods that are written as functions.
        (
            "upper" | "lower" | "trim" | "strip" | "split" | "replace" | "contains" | "startswith"
            | "startsWith" | "endswith" | "endsWith" | "join" | "substring" | "slice" | "concat"
            | "toUpperCase" | "toLowerCase" | "reverse" | "sort" | "includes" | "get" | "flatten"
            | "distinct" | "indexOf" | "upperAscii" | "lowerAscii",
            [_, ..],
        ) => {
            let receiver = values.first()?;
            method(receiver, name, arguments.get(1..)?)
        }
        _ => call(name, &values, Kind::Other),
    }
}

/// The loop of this dialect that has the name `name` elsewhere.
fn loop_name(name: &str) -> Option<&'static str> {
    Some(match name {
        "group_by" | "groupby" | "groupBy" => "groupBy",
        "sort_by" | "sortby" | "sortBy" | "order_by" | "orderBy" => "sortBy",
        "map" => "map",
        "filter" => "filter",
        _ => return None,
    })
}

/// `sum(x.a for x in list)` and others over the values of a loop.
fn of_comprehension(name: &str, comprehension: &LoopForm) -> Option<Form> {
    let test = |name: &str| {
        if comprehension.is_nested {
            let text = format!("{}.{name}(x, x)", comprehension.mapped().text);
            return Some(Form::value(text, Kind::Truth));
        }
        let list = comprehension.filtered();
        let text = format!(
            "{list}.{name}({}, {})",
            comprehension.variable, comprehension.value.text
        );
        Some(Form::value(text, Kind::Truth))
    };
    match name {
        "any" => test("exists"),
        "all" => test("all"),
        // The first one, or an error if there is none.
        "next" => method(&comprehension.mapped(), "first", &[]),
        _ => function(name, &[Argument::Value(comprehension.mapped())]),
    }
}

/// `sorted(list, key=lambda x: x.a, reverse=True)`, and the item of `list` with the largest or the smallest key.
pub(super) fn ordered(name: &str, list: &Form, named_arguments: &[Argument]) -> Option<Form> {
    let within = list.within(Binding::Value);
    let mut text = match named(named_arguments, "key") {
        Some(Argument::Function(variables, body)) => {
            let [variable] = variables.as_slice() else {
                return None;
            };
            format!("{within}.sortBy({variable}, {})", body.text)
        }
        Some(Argument::Value(_) | Argument::Named(..) | Argument::Loop(_)) => return None,
        None => format!("{within}.sort()"),
    };
    let is_reversed = matches!(named(named_arguments, "reverse"), Some(Argument::Value(form)) if form.text == "true");
    match name {
        "max" => text.push_str(".last()"),
        "min" => text.push_str(".first()"),
        _ if is_reversed => text.push_str(".reverse()"),
        _ => {}
    }
    Some(Form::value(text, Kind::List))
}

/// The whole numbers from `from` on and below `to`.
pub(in crate::native) fn numbers(from: &str, to: &str) -> Option<String> {
    let (from, to) = (from.parse::<i64>().ok()?, to.parse::<i64>().ok()?);
    let count = to.checked_sub(from)?;
    if from == 0 && count > MAX_RANGE {
        return Some(format!("lists.range({to})"));
    }
    (0..=MAX_RANGE).contains(&count).then(|| {
        let numbers: Vec<String> = (from..to).map(|number| number.to_string()).collect();
        format!("[{}]", numbers.join(", "))
    })
}

#[expect(
    clippy::unnecessary_wraps,
    reason = "the arms around its calls are options"
)]
fn range(from: &str, to: &str) -> Option<Form> {
    let text = numbers(from, to)
        .unwrap_or_else(|| format!("lists.range({to} - {from}).map(n, n + {from})"));
    Some(Form::value(text, Kind::List))
}

/// `value`, or `default` if it is missing.
#[expect(
    clippy::unnecessary_wraps,
    reason = "the arms around its calls are options"
)]
pub(super) fn with_default(value: &Form, default: &Form) -> Option<Form> {
    let text = format!(
        "{} ?? {}",
        value.required().within(Binding::And),
        default.within(Binding::And)
    );
    Some(Form::new(text, Binding::Or, default.kind))
}

/// The call of the function `name` of the module or class `namespace`.
pub(super) fn of_namespace(namespace: &str, name: &str, arguments: &[Argument]) -> Option<Form> {
    let first = match arguments.first() {
        Some(Argument::Value(form)) => Some(form),
        Some(Argument::Named(..) | Argument::Function(..) | Argument::Loop(_)) | None => None,
    };
    match (namespace, name) {
        ("JSON", "parse") | ("json", "loads") => call("json", &[first?], Kind::Other),
        ("JSON", "stringify") | ("json", "dumps") => call("string", &[first?], Kind::Text),
        ("Math" | "math", "max" | "min") => call(name, &values(arguments)?, Kind::Number),
        ("Math" | "math", "round" | "floor" | "ceil" | "abs" | "trunc") => {
            call(&format!("math.{name}"), &values(arguments)?, Kind::Number)
        }
        ("Object", "keys" | "values") => call(name, &[first?], Kind::List),
        ("Object", "entries") => method(first?, "items", &[]),
        ("Array", "from") => Some(first?.items()),
        ("Array", "isArray") => None,
        ("Number", "parseFloat" | "parseInt") | ("String", _) => function(name, arguments),
        ("Date" | "datetime", "now" | "utcnow" | "today") => Some(Form::value("now()", Kind::Text)),
        ("Date", "parse") | ("datetime", "fromisoformat") => call("date", &[first?], Kind::Text),
        _ => call(
            &format!("{namespace}.{name}"),
            &values(arguments)?,
            Kind::Other,
        ),
    }
}

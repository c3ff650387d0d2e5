//! Fields, methods and filters of other languages, and the forms that have their effect here.

use super::calls::{call, function, named, ordered, rounded, values, with_default};
use super::form::{Argument, Binding, Form, Kind, joined};

/// Names of fields whose values are texts.
const TEXTS: [&str; 20] = [
    "date",
    "datetime",
    "time",
    "timestamp",
    "created_at",
    "updated_at",
    "name",
    "id",
    "path",
    "url",
    "content",
    "text",
    "body",
    "message",
    "title",
    "description",
    "summary",
    "stdout",
    "html",
    "markdown",
];

/// The difference between the method or filter `name` of other languages and its form here; `None` if there is none.
pub(super) fn difference(name: &str, arguments: usize) -> Option<&'static str> {
    Some(match (name, arguments) {
        ("toFixed", _) => "the result is a number, without zeros at its end",
        ("lstrip" | "rstrip" | "trimStart" | "trimEnd", 0) => "`trim` removes blanks at both ends",
        ("split", 0) => "several blanks in a row give empty texts",
        ("splitlines" | "lines" | "split_lines", 0) => {
            "a line break at the end gives an empty text after it"
        }
        ("truncate", _) => "nothing marks the end that is cut off",
        _ => return None,
    })
}

/// The field `name` of `form`.
pub(super) fn field(form: &Form, name: &str) -> Form {
    let form = &form.required();
    let within = form.within(Binding::Value);
    if name == "length" {
        return Form::value(format!("{within}.size()"), Kind::Number);
    }
    if form.kind == Kind::List {
        return Form::value(format!("{within}.map(x, x.{name})"), Kind::List);
    }
    Form::value(format!("{within}.{name}"), Kind::Path)
}

/// The items of `list` whose own fields fulfil `condition`, `rows[kind = 'a' and size > 1]` of JSONata.
pub(super) fn matching(list: &Form, condition: &Form) -> Option<Form> {
    let within = list.required().within(Binding::Value);
    let test = |part: &str| {
        let (field, rest) = part.split_once(' ')?;
        let is_path = |sign: char| sign.is_alphanumeric() || "_.".contains(sign);
        let starts = field.starts_with(|sign: char| sign.is_alphabetic() || sign == '_');
        let operators = ["== ", "!= ", "<= ", ">= ", "< ", "> "];
        let value = operators.iter().find_map(|sign| rest.strip_prefix(sign))?;
        let is_literal = value
            .starts_with(|sign: char| "'-".contains(sign) || sign.is_ascii_digit())
            || matches!(value, "true" | "false" | "null");
        (starts && field.chars().all(is_path) && is_literal).then(|| format!("x.{part}"))
    };
    let tests: Option<Vec<String>> = condition.text.split(" && ").map(test).collect();
    let tests = tests?.join(" && ");
    Some(Form::value(
        format!("{within}.filter(x, {tests})"),
        Kind::List,
    ))
}

/// A part of a list or of a text.
pub(super) fn slice(list: &Form, from: Option<&Form>, to: Option<&Form>) -> Form {
    let list = &list.required();
    let within = list.within(Binding::Value);
    let size = format!("size({})", list.text);
    let bound = |form: &Form| match form.text.strip_prefix('-') {
        Some(count) => format!("{size} - {count}"),
        None => form.text.clone(),
    };
    let from = from.map_or_else(|| "0".to_owned(), bound);
    let to = to.map(bound);
    let last = within.rsplit('.').next().unwrap_or_default();
    if list.kind == Kind::Text || TEXTS.contains(&last) {
        let to = to.map(|to| format!(", {to}")).unwrap_or_default();
        return Form::value(format!("{within}.substring({from}{to})"), Kind::Text);
    }
    let to = to.unwrap_or(size);
    Form::value(format!("{within}.slice({from}, {to})"), Kind::List)
}

/// The call of the method `name` of `receiver`.
pub(super) fn method(receiver: &Form, name: &str, arguments: &[Argument]) -> Option<Form> {
    let receiver = &receiver.required();
    if name == "reduce" {
        return reduced(receiver, arguments);
    }
    // `', '.join(str(x) for x in list)`
    let looped: Vec<Argument>;
    let arguments = match arguments {
        [Argument::Loop(comprehension)] => {
            looped = vec![Argument::Value(comprehension.mapped())];
            &looped
        }
        others => others,
    };
    let is_ordered = matches!(name, "sort" | "sorted" | "toSorted") && !arguments.is_empty();
    if is_ordered
        && arguments
            .iter()
            .all(|argument| matches!(argument, Argument::Named(..)))
    {
        return ordered("sorted", receiver, arguments);
    }
    if let Some(Argument::Function(variables, body)) = arguments.first() {
        return with_function(receiver, name, variables, body);
    }
    let within = receiver.within(Binding::Value);
    let form = |end: &str, kind: Kind| Some(Form::value(format!("{within}.{end}"), kind));
    let values = values(arguments)?;
    match (name, values.as_slice()) {
        ("length" | "len" | "count" | "size" | "__len__", []) => form("size()", Kind::Number),
        ("toString" | "to_s" | "str" | "json" | "tojson", []) => {
            call("string", &[receiver], Kind::Text)
        }
        ("toFixed" | "round", [digits]) => rounded(receiver, Some(digits)),
        ("round" | "abs" | "ceil" | "floor", []) => {
            call(&format!("math.{name}"), &[receiver], Kind::Number)
        }
        ("toUpperCase" | "upper" | "toUpper" | "upcase" | "uppercase", []) => {
            form("upperAscii()", Kind::Text)
        }
        ("toLowerCase" | "lower" | "toLower" | "downcase" | "lowercase" | "casefold", []) => {
            form("lowerAscii()", Kind::Text)
        }
        ("capitalize", []) => Some(Form::new(
            format!("{within}.substring(0, 1).upperAscii() + {within}.substring(1).lowerAscii()"),
            Binding::Sum,
            Kind::Text,
        )),
        ("strip" | "trim" | "lstrip" | "rstrip" | "trimEnd" | "trimStart", []) => {
            form("trim()", Kind::Text)
        }
        ("splitlines" | "lines" | "split_lines", []) => form("split('\\n')", Kind::List),
        ("split", []) => form("split(' ')", Kind::List),
        ("replaceAll", [from, to]) => {
            form(&format!("replace({}, {})", from.text, to.text), Kind::Text)
        }
        // `in` finds an item of a list and a part of a text alike.
        ("includes" | "include" | "has" | "contains", [item])
            if receiver.kind == Kind::List || name.starts_with("incl") =>
        {
            Some(Form::new(
                format!("{} in {within}", item.within(Binding::Sum)),
                Binding::Comparison,
                Kind::Truth,
            ))
        }
        ("startswith" | "starts_with", [start]) => {
            form(&format!("startsWith({})", start.text), Kind::Truth)
        }
        ("endswith" | "ends_with", [end]) => form(&format!("endsWith({})", end.text), Kind::Truth),
        ("index" | "indexOf", [item])
            if receiver.kind == Kind::List || item.kind == Kind::Number =>
        {
            let items = format!("lists.range(size({}))", receiver.text);
            let test = format!("{within}[i] == {}", item.within(Binding::Sum));
            let position = Form::value(format!("{items}.filter(i, {test}).first()"), Kind::Number);
            if name == "index" {
                return Some(position);
            }
            let none = Form::value("-1", Kind::Number);
            with_default(&position, &none)
        }
        ("find" | "index" | "search", [part]) => {
            form(&format!("indexOf({})", part.text), Kind::Number)
        }
        ("substr" | "substring", [from, to]) => form(
            &format!("substring({}, {})", from.text, to.text),
            Kind::Text,
        ),
        ("slice", [from]) => Some(slice(receiver, Some(from), None)),
        ("slice", [from, to]) => Some(slice(receiver, Some(from), Some(to))),
        // In Python, the separator joins the list.
        ("join", [list]) if receiver.kind == Kind::Text => {
            let list = list.within(Binding::Value);
            Some(Form::value(format!("{list}.join({within})"), Kind::Text))
        }
        // It is null if the entry is missing.
        ("get", [key]) => {
            let path = entry(receiver, key);
            Some(Form::value(path.text + "?", path.kind))
        }
        ("get", [key, default]) => with_default(&entry(receiver, key), default),
        ("items" | "entries", []) => Some(Form::value(
            format!("{within}.keys().map(k, [k, {within}[k]])"),
            Kind::List,
        )),
        ("concat", [other]) => Some(Form::new(
            format!("{within} + {}", other.within(Binding::Product)),
            Binding::Sum,
            other.kind,
        )),
        ("append" | "push", [item]) => Some(Form::new(
            format!("{within} + [{}]", item.text),
            Binding::Sum,
            Kind::List,
        )),
        ("flat", []) => form("flatten()", Kind::List),
        ("unique" | "uniq", []) => form("distinct()", Kind::List),
        ("reversed", []) => form("reverse()", Kind::List),
        ("at", [index]) => Some(Form::value(format!("{within}[{}]", index.text), Kind::Path)),
        ("pop", []) => Some(Form::value(format!("{within}[-1]"), Kind::Path)),
        ("toISOString" | "isoformat" | "toJSON", []) => Some(receiver.clone()),
        ("format", values) if receiver.kind == Kind::Text => {
            let format = within.trim_matches('\'');
            let values: Vec<Form> = values.iter().map(|form| (*form).clone()).collect();
            joined(&format.split("{}").collect::<Vec<_>>(), &values)
        }
        ("average" | "mean" | "avg", []) => form("avg()", Kind::Decimal),
        ("map" | "filter" | "exists" | "all" | "sortBy" | "groupBy" | "exists_one", values) => {
            let written: Vec<&str> = values.iter().map(|form| &*form.text).collect();
            loop_over(receiver, name, &written)
        }
        _ => {
            let written: Vec<&str> = values.iter().map(|form| &*form.text).collect();
            let kind = match name {
                "distinct" | "flatten" | "keys" | "sort" | "split" | "values" => Kind::List,
                _ => Kind::Other,
            };
            form(&format!("{name}({})", written.join(", ")), kind)
        }
    }
}

/// A loop of this dialect, whose variable may be left out: `list.filter(e.ok)` names it by its use.
fn loop_over(receiver: &Form, name: &str, arguments: &[&str]) -> Option<Form> {
    let within = receiver.within(Binding::Value);
    let arguments = match arguments {
        [body] => {
            let end = body.find(|c: char| !(c.is_alphanumeric() || c == '_'))?;
            // `map('name')` is the field of that name.
            let variable = &body[..end];
            if variable.is_empty() || !body[end..].starts_with('.') {
                let field = body.trim_matches('\'');
                let is_field = *body == format!("'{field}'");
                return is_field
                    .then(|| Form::value(format!("{within}.{name}(x, x.{field})"), Kind::List));
            }
            format!("{variable}, {body}")
        }
        others => others.join(", "),
    };
    Some(Form::value(
        format!("{within}.{name}({arguments})"),
        Kind::List,
    ))
}

/// The value of `key` in the object `receiver`.
fn entry(receiver: &Form, key: &Form) -> Form {
    let within = receiver.within(Binding::Value);
    let name = key.text.trim_matches('\'');
    let is_name = key.kind == Kind::Text
        && name.starts_with(|c: char| c.is_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_alphanumeric() || c == '_');
    let text = if is_name {
        format!("{within}.{name}")
    } else {
        format!("{within}[{}]", key.text)
    };
    Form::value(text, Kind::Path)
}

/// The call of a method with a function: `list.map(x => x.a)`.
fn with_function(receiver: &Form, name: &str, variables: &[String], body: &Form) -> Option<Form> {
    let within = receiver.within(Binding::Value);
    let form = |text: String, kind| Some(Form::value(text, kind));
    // The index that JavaScript passes as well.
    let variables = match variables {
        [x, index] if name != "sort" && name != "toSorted" && !mentions(&body.text, index) => {
            std::slice::from_ref(x)
        }
        others => others,
    };
    match (name, variables) {
        ("map" | "filter" | "all" | "exists" | "sortBy" | "groupBy", [x]) => {
            form(format!("{within}.{name}({x}, {})", body.text), Kind::List)
        }
        ("some" | "any", [x]) => form(format!("{within}.exists({x}, {})", body.text), Kind::Truth),
        ("every", [x]) => form(format!("{within}.all({x}, {})", body.text), Kind::Truth),
        ("find", [x]) => form(
            format!("{within}.filter({x}, {}).first()", body.text),
            Kind::Path,
        ),
        ("findLast", [x]) => form(
            format!("{within}.filter({x}, {}).last()", body.text),
            Kind::Path,
        ),
        ("flatMap", [x]) => form(
            format!("{within}.map({x}, {}).flatten()", body.text),
            Kind::List,
        ),
        ("sortby" | "sort_by" | "orderBy", [x]) => {
            form(format!("{within}.sortBy({x}, {})", body.text), Kind::List)
        }
        // `(a, b) => a.x - b.x`
        ("sort" | "toSorted", [a, b]) => {
            let (first, second) = match body.text.split_once(" - ") {
                Some((first, second)) if first == a && second == b => {
                    return form(format!("{within}.sort()"), Kind::List);
                }
                Some((first, second)) if first == b && second == a => {
                    return form(format!("{within}.sort().reverse()"), Kind::List);
                }
                Some(pair) => pair,
                None => {
                    let text = body.text.strip_suffix(')')?;
                    text.split_once(".localeCompare(")?
                }
            };
            let renamed = |text: &str, from: &str| {
                text.strip_prefix(&format!("{from}."))
                    .map(|path| format!("{a}.{path}"))
            };
            if renamed(second, b).as_deref() == Some(first) {
                return form(format!("{within}.sortBy({a}, {first})"), Kind::List);
            }
            let descending = renamed(first, b).filter(|first| first == second)?;
            form(
                format!("{within}.sortBy({a}, {descending}).reverse()"),
                Kind::List,
            )
        }
        _ => None,
    }
}

/// Returns true if `name` is a word in `text`.
fn mentions(text: &str, name: &str) -> bool {
    let is_of_name = |sign: char| sign.is_alphanumeric() || sign == '_';
    text.split(|sign| !is_of_name(sign))
        .any(|word| word == name)
}

/// The sum or the text that `reduce((total, x) => total + x.a, start)` makes of a list.
fn reduced(list: &Form, arguments: &[Argument]) -> Option<Form> {
    let (variables, body, start) = match arguments {
        [Argument::Function(variables, body)] => (variables, body, None),
        [Argument::Function(variables, body), Argument::Value(start)] => {
            (variables, body, Some(start))
        }
        _ => return None,
    };
    let [total, x] = variables.as_slice() else {
        return None;
    };
    let within = list.within(Binding::Value);
    let added = body.text.strip_prefix(&format!("{total} + "));
    // In a text, the parts are texts: `string(total) + x`.
    let joined = body.text.strip_prefix(&format!("string({total}) + "));
    // The total is the first summand, and nothing else.
    if body.binding != Binding::Sum || mentions(added.or(joined)?, total) {
        return None;
    }
    let is_item = |part: &str| part == x;
    match (start.map(|start| (start.kind, &*start.text)), added) {
        // Without a start, that is the first item itself.
        (None, Some(part)) if is_item(part) => {
            Some(Form::value(format!("{within}.sum()"), Kind::Number))
        }
        (Some((Kind::Number, start)), Some(part)) => {
            let sum = if is_item(part) {
                format!("{within}.sum()")
            } else {
                format!("{within}.map({x}, {part}).sum()")
            };
            Some(match start {
                "0" => Form::value(sum, Kind::Number),
                start => Form::new(format!("{start} + {sum}"), Binding::Sum, Kind::Number),
            })
        }
        (Some((Kind::Text, start)), _) => {
            let part = match (added, joined) {
                (Some(part), _) if !part.contains(" - ") => format!("string({part})"),
                (None, Some(part)) => part.to_owned(),
                _ => return None,
            };
            let text = format!("{within}.map({x}, {part}).join('')");
            Some(match start {
                "''" => Form::value(text, Kind::Text),
                start => Form::new(format!("{start} + {text}"), Binding::Sum, Kind::Text),
            })
        }
        _ => None,
    }
}

/// The filter `name` of Jinja, Liquid or jq.
pub(super) fn filter(value: &Form, name: &str, arguments: &[Argument]) -> Option<Form> {
    let plain = |argument: &Argument| match argument {
        Argument::Value(form) => Some(form.clone()),
        Argument::Named(..) | Argument::Function(..) | Argument::Loop(_) => None,
    };
    let attribute = named(arguments, "attribute").and_then(plain);
    let positional: Vec<Form> = arguments.iter().filter_map(plain).collect();
    let within = value.within(Binding::Value);
    let list = |text: String| Some(Form::value(text, Kind::List));
    let field = |form: &Form| {
        let name = form.text.strip_prefix('\'')?.strip_suffix('\'')?;
        (form.kind == Kind::Text).then(|| format!("x.{name}"))
    };
    if let Some(attribute) = attribute {
        let key = field(&attribute)?;
        let by_key = |end: &str| list(format!("{within}.sortBy(x, {key}){end}"));
        return match name {
            "sort" if named(arguments, "reverse").is_some() => by_key(".reverse()"),
            "sort" => by_key(""),
            "max" => by_key(".last()"),
            "min" => by_key(".first()"),
            "groupby" => list(format!("{within}.groupBy(x, {key})")),
            _ => {
                let mapped = Form::value(format!("{within}.map(x, {key})"), Kind::List);
                let others: Vec<Argument> = positional.into_iter().map(Argument::Value).collect();
                if name == "map" {
                    return Some(mapped);
                }
                filter(&mapped, name, &others)
            }
        };
    }
    match (name, positional.as_slice()) {
        ("selectattr" | "where" | "rejectattr" | "reject" | "select", [key, test @ ..]) => {
            let key = field(key)?;
            let test = match test {
                [] => Form::value(key, Kind::Path),
                // Liquid has the value alone, Jinja a test before it.
                [value] => match value.text.trim_matches('\'') {
                    "defined" | "none" if name.ends_with("attr") => {
                        let sign = if value.text == "'none'" { "==" } else { "!=" };
                        Form::new(
                            format!("{key} {sign} null"),
                            Binding::Comparison,
                            Kind::Truth,
                        )
                    }
                    _ => Form::new(
                        format!("{key} == {}", value.text),
                        Binding::Comparison,
                        Kind::Truth,
                    ),
                },
                [test, value] => {
                    let sign = match test.text.trim_matches('\'') {
                        "equalto" | "eq" | "==" => "==",
                        "ne" | "!=" => "!=",
                        "gt" | "greaterthan" | ">" => ">",
                        "ge" | ">=" => ">=",
                        "lt" | "lessthan" | "<" => "<",
                        "le" | "<=" => "<=",
                        "in" => "in",
                        _ => return None,
                    };
                    let text = format!("{key} {sign} {}", value.text);
                    Form::new(text, Binding::Comparison, Kind::Truth)
                }
                _ => return None,
            };
            let test = if name.starts_with("reject") {
                super::form::negated(&test)
            } else {
                test
            };
            list(format!("{within}.filter(x, {})", test.text))
        }
        ("sort" | "sort_by" | "sort_natural", [key]) => {
            list(format!("{within}.sortBy(x, {})", field(key)?))
        }
        ("groupby" | "group_by", [key]) => list(format!("{within}.groupBy(x, {})", field(key)?)),
        ("sum", [key]) => list(format!("{within}.map(x, {}).sum()", field(key)?)),
        ("map", [key]) if field(key).is_some() => list(format!("{within}.map(x, {})", field(key)?)),
        ("list", []) => Some(value.items()),
        ("default" | "d", [default, ..]) => with_default(value, default),
        ("length" | "count" | "size", []) => call("size", &[value], Kind::Number),
        ("tojson" | "to_json" | "json" | "string" | "toJson" | "jsonify", []) => {
            call("string", &[value], Kind::Text)
        }
        ("fromjson" | "from_json" | "fromJson", []) => call("json", &[value], Kind::Other),
        ("int" | "float", _) | ("abs" | "ceil" | "floor", []) => {
            function(name, &[Argument::Value(value.clone())])
        }
        ("round", _) => rounded(value, positional.first()),
        ("plus" | "minus" | "times" | "divided_by" | "modulo", [other]) => {
            let (sign, binding) = match name {
                "plus" => ("+", Binding::Sum),
                "minus" => ("-", Binding::Sum),
                "times" => ("*", Binding::Product),
                "modulo" => ("%", Binding::Product),
                _ => ("/", Binding::Product),
            };
            let (left, right) = (value.within(binding), other.within(Binding::Prefix));
            Some(Form::new(
                format!("{left} {sign} {right}"),
                binding,
                Kind::Number,
            ))
        }
        ("date" | "strftime" | "date_format", [format]) if format.kind == Kind::Text => {
            Some(Form::value(
                format!("date({}).format({})", value.text, format.text),
                Kind::Text,
            ))
        }
        ("append", [end]) => joined(&["", "", ""], &[value.clone(), end.clone()]),
        ("prepend", [start]) => joined(&["", "", ""], &[start.clone(), value.clone()]),
        ("truncate", [count, ..]) => Some(slice(
            &Form::value(value.as_text(), Kind::Text),
            None,
            Some(count),
        )),
        ("join", []) => Some(Form::value(format!("{within}.join('')"), Kind::Text)),
        ("sum" | "min" | "max" | "first" | "last" | "keys", []) => method(value, name, &[]),
        _ => method(value, name, arguments),
    }
}

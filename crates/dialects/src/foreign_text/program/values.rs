//! Expressions of a program as values and expressions of a plan.

use std::fmt::Write as _;
use std::sync::Arc;

use planwright_core::Value;

use super::builder::{Builder, NameMeaning};
use super::syntax::{Comprehension, Expression, FunctionDefinition, ProgramArgument, Statement};
use crate::foreign_plans::escaped;
use crate::native::path_of;

/// Methods of texts that give a text, which is true as a condition unless it is empty.
const TEXT_METHODS: [&str; 14] = [
    "strip",
    "trim",
    "lstrip",
    "rstrip",
    "trimStart",
    "trimEnd",
    "lower",
    "upper",
    "toLowerCase",
    "toUpperCase",
    "replace",
    "replaceAll",
    "title",
    "capitalize",
];

/// Fields of answers that are texts.
const TEXT_FIELDS: [&str; 9] = [
    "content", "text", "output", "stdout", "stderr", "body", "message", "status", "result",
];

impl Builder {
    /// `expression` as a value of a plan, with references in it.
    pub(super) fn value(&mut self, expression: &Expression) -> Option<Value> {
        Some(match expression {
            Expression::Literal(value) if self.names_a_variable(value) => self.referring(value)?,
            Expression::Literal(value) => escaped(value),
            Expression::Name(name) => match self.resolve(name)? {
                NameMeaning::Constant(value) if self.names_a_variable(&value) => {
                    self.referring(&value)?
                }
                NameMeaning::Constant(value) => escaped(&value),
                NameMeaning::Path(path) => reference(&path),
                NameMeaning::Items => return None,
            },
            Expression::List(items) => {
                let items = items.iter().map(|item| self.value(item));
                Value::list(items.collect::<Option<Vec<_>>>()?)
            }
            Expression::Object(fields) => {
                let fields = fields
                    .iter()
                    .map(|(key, field)| Some((Arc::from(key.as_str()), self.value(field)?)));
                Value::object(fields.collect::<Option<Vec<_>>>()?)
            }
            Expression::Template(_) => Value::text(self.text(expression)?),
            Expression::Binary("+", ..) if is_text(expression) => {
                Value::text(self.text(expression)?)
            }
            other => reference(&self.expression(other)?),
        })
    }

    /// True if a plain text has a name of the program in the form of a reference. It may be meant as a reference of a plan, so it must
    /// not become a literal.
    fn names_a_variable(&self, value: &Value) -> bool {
        let text = value.as_text().unwrap_or_default();
        text.split("${").skip(1).any(|inside| {
            let mut parts = inside.split(|sign: char| sign != '_' && !sign.is_alphanumeric());
            parts.next().is_some_and(|name| self.is_known(name))
        })
    }

    /// A plain text whose references are those of a plan; `None` if one of them names something else in the program.
    fn referring(&mut self, value: &Value) -> Option<Value> {
        let text = value.as_text()?;
        for inside in text.split("${").skip(1) {
            let mut parts = inside.split(|sign: char| sign != '_' && !sign.is_alphanumeric());
            let root = parts.next()?;
            match self.resolve(root)? {
                NameMeaning::Path(path) if path == root => {}
                NameMeaning::Path(_) | NameMeaning::Constant(_) | NameMeaning::Items => {
                    return None;
                }
            }
        }
        Some(value.clone())
    }

    /// A text with references in place of the inserted parts.
    fn text(&mut self, expression: &Expression) -> Option<String> {
        match expression {
            Expression::Literal(value) if self.names_a_variable(value) => None,
            Expression::Literal(value) => {
                let text = value.as_text()?;
                Some(text.replace("${", "$${"))
            }
            Expression::Template(parts) => {
                let mut text = String::new();
                for part in parts {
                    let part = self.text(part)?;
                    // `$$` is a dollar before a reference.
                    if part.starts_with("${") {
                        let dollars = text.len() - text.trim_end_matches('$').len();
                        text.push_str(&"$".repeat(dollars));
                    }
                    text.push_str(&part);
                }
                Some(text)
            }
            // Elsewhere `+` may be a sum.
            Expression::Binary("+", left, right) if is_text(expression) => {
                let (left, right) = (self.text(left)?, self.text(right)?);
                Some(left + &right)
            }
            // An inserted value is a text anyway.
            Expression::Call(function, arguments) if is_conversion(function) => {
                let [ProgramArgument { name: None, value }] = &arguments[..] else {
                    return None;
                };
                self.text(value)
            }
            other => match self.value(other)? {
                Value::Text(text) => Some(text.to_string()),
                number @ (Value::Number(_) | Value::Bool(_)) => Some(number.to_json()),
                Value::Null | Value::List(_) | Value::Object(_) => None,
            },
        }
    }

    /// `expression` in the language of references.
    pub(super) fn expression(&mut self, expression: &Expression) -> Option<String> {
        Some(match expression {
            Expression::Literal(value) => literal(value)?,
            Expression::Template(parts) => {
                let parts = parts.iter().map(|part| {
                    let written = self.expression(part)?;
                    Some(match part {
                        Expression::Literal(_) => written,
                        _ => format!("string({written})"),
                    })
                });
                parts.collect::<Option<Vec<_>>>()?.join(" + ")
            }
            Expression::Name(name) => match self.resolve(name)? {
                NameMeaning::Constant(value) => literal(&value)?,
                NameMeaning::Path(path) => path,
                NameMeaning::Items => return None,
            },
            Expression::Field(of, name) if matches!(&**of, Expression::Name(root) if self.is_inputs(root)) => {
                self.input(name)
            }
            Expression::Field(of, name) => {
                if let [root, ..] = expression.dotted().as_slice()
                    && !self.is_known(root)
                    && !self.is_inputs(root)
                {
                    return None;
                }
                let of = self.operand(of)?;
                // A failure alone stands for its message.
                let failure = of.strip_suffix(".message").filter(|path| {
                    path.starts_with("results.") && path.strip_suffix(".error").is_some()
                });
                match (&**name, failure) {
                    ("message" | "code" | "data" | "kind", Some(error)) => field(error, name),
                    (_, Some(_)) => return None,
                    ("length" | "size", None) => format!("size({of})"),
                    (_, None) => field(&of, name),
                }
            }
            Expression::Index(of, index) => {
                let of = self.operand(of)?;
                match &**index {
                    Expression::Literal(Value::Text(key)) => field(&of, key),
                    Expression::Negative(_) => format!("{of}[{}]", self.expression(index)?),
                    index => format!("{of}[{}]", self.expression(index)?),
                }
            }
            Expression::List(items) => {
                let items = items.iter().map(|item| self.expression(item));
                format!("[{}]", items.collect::<Option<Vec<_>>>()?.join(", "))
            }
            Expression::Object(fields) => {
                let fields = fields.iter().map(|(key, field)| {
                    let key = literal(&Value::text(key.as_str()))?;
                    Some(format!("{key}: {}", self.expression(field)?))
                });
                format!("{{{}}}", fields.collect::<Option<Vec<_>>>()?.join(", "))
            }
            Expression::Binary("in", left, right) => self.membership(left, right)?,
            Expression::Binary("is", of, test) => match &**test {
                Expression::Name(test) if test == "succeeded" => {
                    let path = self.expression(of)?;
                    (!path.contains(['.', '[', ' '])).then(|| format!("results.{path}.success"))?
                }
                _ => format!("({} ?? null) != null", self.expression(of)?),
            },
            Expression::Binary(operator, left, right) => {
                let is_known = matches!(
                    *operator,
                    "==" | "!=" | "<" | "<=" | ">" | ">=" | "+" | "-" | "*" | "??"
                );
                // The value of `a || b` differs between languages.
                let is_logical = matches!(*operator, "&&" | "||");
                if is_logical {
                    if *operator == "||"
                        && let Some(first) = self.first_output([left, right])
                    {
                        return Some(first);
                    }
                    let are_truths = is_truth(left) && is_truth(right);
                    return are_truths.then(|| self.condition(expression))?;
                }
                is_known.then_some(())?;
                let left = self.operand(left)?;
                // `a ?? f()` makes the call only if `a` is missing.
                let right = if *operator == "??" {
                    self.guarded(format!("{left} == null"), |inner| inner.operand(right))?
                } else {
                    self.operand(right)?
                };
                format!("{left} {operator} {right}")
            }
            Expression::Not(_) => self.condition(expression)?,
            Expression::Negative(value) => format!("-{}", self.operand(value)?),
            Expression::Choice(condition, then, other) => {
                let condition = self.condition(condition)?;
                // Only the call of one side is made.
                let then = self.guarded(condition.clone(), |inner| inner.operand(then))?;
                let otherwise = format!("!({condition})");
                let other = self.guarded(otherwise, |inner| inner.operand(other))?;
                format!("{condition} ? {then} : {other}")
            }
            Expression::Comprehension(comprehension) => self.comprehension(comprehension)?,
            Expression::Call(function, arguments) => self.call(function, arguments)?,
            Expression::Function(_) => return None,
        })
    }

    /// `a ?? b` for `a or b` between the outputs of steps with conditions: the one that has run.
    fn first_output(&mut self, sides: [&Expression; 2]) -> Option<String> {
        let mut paths = Vec::new();
        for side in sides {
            let Expression::Name(name) = side else {
                return None;
            };
            let NameMeaning::Path(path) = self.resolve(name)? else {
                return None;
            };
            let mut steps = self.steps.iter();
            let is_conditional =
                steps.any(|step| path_of(&step.id) == path && step.when().is_some());
            is_conditional.then_some(())?;
            paths.push(path);
        }
        Some(paths.join(" ?? "))
    }

    /// `expression` as the operand of an operator.
    fn operand(&mut self, expression: &Expression) -> Option<String> {
        let written = self.expression(expression)?;
        let is_compound = matches!(
            expression,
            Expression::Binary(..) | Expression::Choice(..) | Expression::Template(_)
        );
        Some(
            if (is_compound && !written.ends_with(')'))
                || (written.contains(" ?? ") && !is_bracketed(&written))
            {
                format!("({written})")
            } else {
                written
            },
        )
    }

    /// `left in right`, which is a substring search if `right` is a text.
    fn membership(&mut self, left: &Expression, right: &Expression) -> Option<String> {
        let is_text = left.as_text().is_some()
            && match right {
                Expression::Name(_) | Expression::Call(..) => true,
                Expression::Field(_, name) => TEXT_FIELDS.contains(&&**name),
                Expression::Index(_, key) => {
                    key.as_text().is_some_and(|key| TEXT_FIELDS.contains(&key))
                }
                _ => false,
            };
        let (left, right) = (self.operand(left)?, self.operand(right)?);
        Some(if is_text {
            format!("{right}.contains({left})")
        } else {
            format!("{left} in {right}")
        })
    }

    /// `expression` as a condition: a list or a text alone means that it is not empty.
    pub(super) fn condition(&mut self, expression: &Expression) -> Option<String> {
        match expression {
            Expression::Binary(operator @ ("&&" | "||"), left, right) => {
                let left = self.condition(left)?;
                let guard = if *operator == "&&" {
                    left.clone()
                } else {
                    format!("!({left})")
                };
                let right = self.guarded(guard, |inner| inner.condition(right))?;
                Some(format!("({left}) {operator} ({right})"))
            }
            Expression::Not(inner) => Some(format!("!({})", self.condition(inner)?)),
            Expression::Name(name) => match self.resolve(name)? {
                NameMeaning::Path(path) if self.is_output(&path) => {
                    Some(format!("size({path}) > 0"))
                }
                NameMeaning::Path(path) => Some(path),
                NameMeaning::Constant(value) => literal(&value),
                NameMeaning::Items => None,
            },
            Expression::Field(of, name) if matches!(&**name, "length" | "size") => {
                Some(format!("size({}) > 0", self.operand(of)?))
            }
            Expression::Call(function, _) if matches!(&**function, Expression::Name(name) if name == "len") => {
                Some(format!("{} > 0", self.expression(expression)?))
            }
            Expression::Call(function, _) if matches!(&**function, Expression::Field(_, name) if TEXT_METHODS.contains(&&**name)) => {
                Some(format!("{} != ''", self.expression(expression)?))
            }
            other => self.expression(other),
        }
    }

    /// `[value for name in list if condition]`
    fn comprehension(&mut self, comprehension: &Comprehension) -> Option<String> {
        let Comprehension {
            value,
            name,
            list,
            condition,
        } = comprehension;
        let condition = condition.as_ref();
        self.mapped(list, name, condition, Some(value))
    }

    /// The items of `list` that satisfy `condition`, each mapped to `value`. If `value` has calls, this is a loop of steps.
    pub(super) fn mapped(
        &mut self,
        list: &Expression,
        name: &str,
        condition: Option<&Expression>,
        value: Option<&Expression>,
    ) -> Option<String> {
        let mut list = self.operand(list)?;
        if let Some(condition) = condition {
            let condition = self.inside(name, |inner| inner.condition(condition))?;
            list = format!("{list}.filter({name}, {condition})");
        }
        let Some(value) = value.filter(|value| **value != Expression::Name(name.to_owned())) else {
            return Some(list);
        };
        if self.calls_tool(value) {
            let body = [Statement::Run(value.clone())];
            return self.loop_over(name, &list, &body).map(|found| found.output);
        }
        let value = self.inside(name, |inner| inner.expression(value))?;
        Some(format!("{list}.map({name}, {value})"))
    }

    /// A call of a function of the language, of a method, or of a tool.
    fn call(&mut self, function: &Expression, arguments: &[ProgramArgument]) -> Option<String> {
        if let Expression::Field(of, method) = function
            && self.is_data(of)
        {
            return self.method(of, method, arguments);
        }
        let names = function.dotted();
        let values: Vec<&Expression> = arguments
            .iter()
            .filter(|argument| argument.name.is_none())
            .map(|argument| &argument.value)
            .collect();
        if arguments.len() > values.len()
            && let Some(found) = self.by_key(&names, arguments)
        {
            return Some(found);
        }
        // Another base, start or default is not known here.
        let is_plain = arguments.len() == values.len();
        match (names.join(".").as_str(), values.as_slice()) {
            ("len" | "size", [value]) => Some(format!("size({})", self.expression(value)?)),
            ("str" | "String" | "json.dumps" | "JSON.stringify", [value, ..]) => {
                Some(format!("string({})", self.expression(value)?))
            }
            ("int" | "parseInt", [value]) if is_plain => {
                Some(format!("int({})", self.expression(value)?))
            }
            ("float" | "Number" | "parseFloat", [value]) => {
                Some(format!("double({})", self.expression(value)?))
            }
            ("json.loads" | "JSON.parse", [value]) => {
                Some(format!("json({})", self.expression(value)?))
            }
            ("list" | "dict", [value]) => self.expression(value),
            ("sum" | "min" | "max", [value]) if is_plain => {
                Some(format!("{}({})", names.join("."), self.expression(value)?))
            }
            ("sorted", [value]) if arguments.len() == 1 => {
                Some(format!("{}.sort()", self.operand(value)?))
            }
            (
                "asyncio.gather" | "gather" | "Promise.all" | "Promise.allSettled" | "parallel",
                values,
            ) => {
                let outputs = self.gather(values)?;
                Some(match &outputs[..] {
                    [only] if !matches!(values, [Expression::List(_)]) => only.clone(),
                    _ => format!("[{}]", outputs.join(", ")),
                })
            }
            _ => self.call_of_tool(function, arguments, None),
        }
    }

    /// `max(list, key=lambda x: x.y)`, `min` and `sorted`.
    fn by_key(&mut self, names: &[&str], arguments: &[ProgramArgument]) -> Option<String> {
        let [function] = names else { return None };
        let (list, options) = arguments.split_first()?;
        let known = ["key", "reverse"];
        let is_known = |option: &ProgramArgument| {
            let name = option.name.as_deref();
            name.is_some_and(|name| known.contains(&name))
        };
        (list.name.is_none() && options.iter().all(is_known)).then_some(())?;
        let option = |name: &str| {
            let mut found = options.iter();
            found.find(|option| option.name.as_deref() == Some(name))
        };
        let is_reversed = match option("reverse").map(|option| &option.value) {
            None => false,
            Some(Expression::Name(name)) => matches!(&**name, "True" | "true"),
            Some(Expression::Literal(value)) => value.as_bool()?,
            Some(_) => return None,
        };
        let list = self.operand(&list.value)?;
        let sorted = match option("key").map(|option| &option.value) {
            None => format!("{list}.sort()"),
            Some(Expression::Function(FunctionDefinition { parameters, body })) => {
                let ([parameter], [Statement::Return(Some(value))]) = (&parameters[..], &body[..])
                else {
                    return None;
                };
                let name = &parameter.name;
                let value = self.inside(name, |inner| inner.expression(value))?;
                format!("{list}.sortBy({name}, {value})")
            }
            Some(_) => return None,
        };
        match (*function, is_reversed) {
            ("sorted", false) => Some(sorted),
            ("sorted", true) => Some(format!("{sorted}.reverse()")),
            ("max", false) => Some(format!("{sorted}.last()")),
            ("min", false) => Some(format!("{sorted}.first()")),
            _ => None,
        }
    }

    /// The items from one position to another, `list[:5]`: fewer if there are fewer.
    fn items(&mut self, of: &Expression, from: &Expression, to: &Expression) -> Option<String> {
        let of = self.operand(of)?;
        let size = format!("size({of})");
        let mut position = |position: &Expression| match position {
            Expression::Negative(_) => None,
            Expression::Literal(Value::Null) => Some(size.clone()),
            Expression::Literal(Value::Number(number)) if number.as_u64() == Some(0) => {
                Some("0".to_owned())
            }
            other => Some(format!("min([{}, {size}])", self.expression(other)?)),
        };
        let (from, to) = (position(from)?, position(to)?);
        Some(format!("{of}.slice({from}, {to})"))
    }

    /// The outputs of calls that a program waits for together.
    pub(super) fn gather(&mut self, values: &[&Expression]) -> Option<Vec<String>> {
        let values: Vec<&Expression> = match values {
            [Expression::List(items)] => items.iter().collect(),
            other => other.to_vec(),
        };
        self.together(|builder| {
            let outputs = values.iter().map(|value| match value {
                // Functions of a library for parallel calls.
                Expression::Function(FunctionDefinition { parameters, body })
                    if parameters.is_empty() =>
                {
                    match &body[..] {
                        [Statement::Return(Some(value))] => builder.expression(value),
                        _ => None,
                    }
                }
                value => builder.expression(value),
            });
            outputs.collect()
        })
    }

    /// A method of the value `of`.
    fn method(
        &mut self,
        of: &Expression,
        name: &str,
        arguments: &[ProgramArgument],
    ) -> Option<String> {
        let values: Vec<&Expression> = arguments.iter().map(|argument| &argument.value).collect();
        if let [Expression::Function(FunctionDefinition { parameters, body })] = &values[..] {
            let [parameter] = &parameters[..] else {
                return None;
            };
            let [Statement::Return(Some(value))] = &body[..] else {
                return None;
            };
            let name_of_item = &parameter.name;
            return match name {
                "map" => self.mapped(of, name_of_item, None, Some(value)),
                "filter" => self.mapped(of, name_of_item, Some(value), None),
                "find" => {
                    let found = self.mapped(of, name_of_item, Some(value), None)?;
                    Some(format!("{found}.first()"))
                }
                "some" | "every" => {
                    let list = self.operand(of)?;
                    let condition = self.inside(name_of_item, |inner| inner.condition(value))?;
                    let method = if name == "some" { "exists" } else { "all" };
                    Some(format!("{list}.{method}({name_of_item}, {condition})"))
                }
                _ => None,
            };
        }
        let written = match (name, &values[..]) {
            // `", ".join(list)` of Python
            ("join", [list]) if is_text(of) => {
                let separator = self.expression(of)?;
                return Some(format!("{}.join({separator})", self.operand(list)?));
            }
            ("join", []) => "join(',')".to_owned(),
            ("get", [Expression::Literal(Value::Text(key))]) => {
                return Some(format!("{} ?? null", field(&self.operand(of)?, key)));
            }
            ("get", [Expression::Literal(Value::Text(key)), default]) => {
                let of = field(&self.operand(of)?, key);
                return Some(format!("{of} ?? {}", self.expression(default)?));
            }
            ("items" | "copy" | "toString", []) if name == "toString" => {
                return Some(format!("string({})", self.expression(of)?));
            }
            ("includes" | "contains", [value]) if matches!(of, Expression::List(_)) => {
                return Some(format!("{} in {}", self.operand(value)?, self.operand(of)?));
            }
            ("includes" | "contains" | "include", [value]) => {
                format!("contains({})", self.expression(value)?)
            }
            ("startsWith" | "startswith", [value]) => {
                format!("startsWith({})", self.expression(value)?)
            }
            ("endsWith" | "endswith", [value]) => format!("endsWith({})", self.expression(value)?),
            ("join" | "split", [value]) => format!("{name}({})", self.expression(value)?),
            ("splitlines", []) => "split('\\n')".to_owned(),
            ("strip" | "trim", []) => "trim()".to_owned(),
            ("lower" | "toLowerCase", []) => "lowerAscii()".to_owned(),
            ("upper" | "toUpperCase", []) => "upperAscii()".to_owned(),
            ("replace" | "replaceAll", [from, to]) if name == "replaceAll" || is_text(from) => {
                format!(
                    "replace({}, {})",
                    self.expression(from)?,
                    self.expression(to)?
                )
            }
            ("slice", [from]) => {
                return self.items(of, from, &Expression::Literal(Value::Null));
            }
            ("slice", [from, to]) => return self.items(of, from, to),
            ("flat", []) => "flatten()".to_owned(),
            ("keys" | "values", []) => {
                return Some(format!("{name}({})", self.expression(of)?));
            }
            _ => return None,
        };
        Some(format!("{}.{written}", self.operand(of)?))
    }
}

/// A text that is one reference.
pub(super) fn reference(path: &str) -> Value {
    // `(a ?? b)` needs no brackets alone.
    let inside = path
        .strip_prefix('(')
        .and_then(|path| path.strip_suffix(')'));
    let path = inside
        .filter(|path| !path.contains(['(', ')']))
        .unwrap_or(path);
    Value::text(format!("${{{path}}}"))
}

/// The field `name` of the value `of`.
fn field(of: &str, name: &str) -> String {
    let is_name = name.starts_with(|sign: char| sign.is_ascii_alphabetic() || sign == '_')
        && name
            .chars()
            .all(|sign| sign.is_ascii_alphanumeric() || sign == '_');
    if is_name {
        return format!("{of}.{name}");
    }
    let key = literal(&Value::text(name)).unwrap_or_default();
    format!("{of}[{key}]")
}

/// `value` in the language of references.
pub(super) fn literal(value: &Value) -> Option<String> {
    Some(match value {
        Value::Text(text) => {
            let mut written = String::from("'");
            for sign in text.chars() {
                match sign {
                    '\n' => written.push_str("\\n"),
                    '\r' => written.push_str("\\r"),
                    '\t' => written.push_str("\\t"),
                    '\'' | '\\' => {
                        let _ = write!(written, "\\{sign}");
                    }
                    // A brace could end the reference.
                    '{' | '}' => return None,
                    other => written.push(other),
                }
            }
            written + "'"
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => value.to_json(),
        Value::List(items) => {
            let items = items.iter().map(literal);
            format!("[{}]", items.collect::<Option<Vec<_>>>()?.join(", "))
        }
        Value::Object(_) => return None,
    })
}

/// Returns true if the value of `expression` is certainly true or false.
fn is_truth(expression: &Expression) -> bool {
    match expression {
        Expression::Literal(value) => value.as_bool().is_some(),
        Expression::Not(_)
        | Expression::Binary("==" | "!=" | "<" | "<=" | ">" | ">=" | "in" | "is", ..) => true,
        Expression::Binary("&&" | "||", left, right) => is_truth(left) && is_truth(right),
        _ => false,
    }
}

/// Returns true if the value of `expression` is certainly a text.
fn is_text(expression: &Expression) -> bool {
    match expression {
        Expression::Literal(value) => value.as_text().is_some(),
        Expression::Template(_) => true,
        Expression::Binary("+", left, right) => is_text(left) || is_text(right),
        Expression::Call(function, _) => is_conversion(function),
        _ => false,
    }
}

fn is_conversion(function: &Expression) -> bool {
    matches!(function, Expression::Name(name) if matches!(name.as_str(), "str" | "String"))
}

/// Returns true if one pair of brackets is around all of `written`.
fn is_bracketed(written: &str) -> bool {
    let mut depth = 0;
    let Some(inside) = written
        .strip_prefix('(')
        .and_then(|text| text.strip_suffix(')'))
    else {
        return false;
    };
    let stays_inside = inside.chars().all(|sign| {
        depth += match sign {
            '(' => 1,
            ')' => -1,
            _ => 0,
        };
        depth >= 0
    });
    stays_inside && depth == 0 && !inside.contains(['\'', '"'])
}

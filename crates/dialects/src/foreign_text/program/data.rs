//! Programs that build a plan as data, `plan = {"steps": […]}`, and then print, run or return it.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use planwright_core::Value;

use super::graphs::is_use;
use super::names::{FUNCTIONS, RESERVED, only_reads, writes};
use super::syntax::{Comprehension, Expression, ProgramArgument, Statement};
use crate::foreign_text::calls::without_client;

/// The fields that hold the steps of a plan.
const STEPS: [&str; 5] = ["steps", "tasks", "plan", "nodes", "actions"];

/// The names in references that are no steps.
const ROOTS: [&str; 5] = ["item", "index", "inputs", "vars", "steps"];

/// The plan that `statements` build as data; `None` if there is none, or if they do more than show, run or return it.
pub(super) fn plan(statements: &[Statement]) -> Option<Value> {
    let mut data = Data::default();
    let mut plan: Option<(&str, Value)> = None;
    let mut is_shown = false;
    for statement in statements {
        match statement {
            Statement::Run(Expression::Literal(_)) | Statement::Return(None) => {}
            Statement::Assign(names, value) => {
                let [name] = names.as_slice() else {
                    return None;
                };
                // `text = json.dumps(plan)`
                if plan.as_ref().is_some_and(|(plan, _)| is_use(value, plan)) {
                    continue;
                }
                let found = data.value(value)?;
                if is_plan(&found) {
                    plan.is_none().then_some(())?;
                    plan = Some((name, found));
                } else {
                    data.values.insert(name.clone(), found);
                }
            }
            Statement::Run(value) | Statement::Return(Some(value)) => match &plan {
                // Statements that run or print the plan are not part of it.
                Some((name, _)) if is_use(value, name) => {}
                Some(_) => return None,
                None if is_shown => return None,
                None => {
                    let found = data.shown(value)?;
                    plan = is_plan(&found).then_some(("", found));
                    is_shown = true;
                }
            },
            Statement::If(..)
            | Statement::ForEach(..)
            | Statement::Try(..)
            | Statement::Define(..)
            | Statement::Parallel(_) => return None,
        }
    }
    let plan = match plan {
        Some((_, plan)) => plan,
        // `steps = […]` alone
        None => {
            let mut lists = data.values.iter().filter(|(_, value)| is_steps(value));
            let (name, steps) = lists.next()?;
            data.used.insert(name.clone());
            Value::object([("steps", steps.clone())])
        }
    };
    // A value that is not a part of the plan would be lost.
    let is_used = data.values.keys().all(|name| data.used.contains(name));
    let ids = ids(&plan);
    let is_known = |root: &String| ROOTS.contains(&root.as_str()) || ids.contains(root.as_str());
    (is_used && data.roots.iter().all(is_known)).then_some(plan)
}

/// Returns true if a part of `statements` is a step as data, so that they cannot be calls of tools themselves.
pub(super) fn has_steps(statements: &[Statement]) -> bool {
    statements.iter().any(|statement| match statement {
        Statement::Assign(_, value) | Statement::Run(value) | Statement::Return(Some(value)) => {
            has_step(value)
        }
        Statement::If(_, body, other) => has_steps(body) || has_steps(other),
        Statement::Try(block) => block.parts().into_iter().any(has_steps),
        Statement::ForEach(_, _, body) | Statement::Parallel(body) => has_steps(body),
        Statement::Define(_, function) => has_steps(&function.body),
        Statement::Return(None) => false,
    })
}

fn has_step(expression: &Expression) -> bool {
    match expression {
        Expression::Object(fields) => {
            let has = |name: &str| fields.iter().any(|(key, _)| key == name);
            let is_step = has("tool") && (has("id") || has("args"));
            is_step || fields.iter().any(|(_, field)| has_step(field))
        }
        Expression::List(items) => items.iter().any(has_step),
        Expression::Call(_, arguments) => {
            arguments.iter().any(|argument| has_step(&argument.value))
        }
        _ => false,
    }
}

/// Returns true for a list, or a map by ids, of objects with a `tool`.
fn is_steps(value: &Value) -> bool {
    let is_step = |value: &Value| value.get("tool").is_some();
    match value {
        Value::List(items) => !items.is_empty() && items.iter().any(is_step),
        Value::Object(fields) => fields.iter().any(|(_, field)| is_step(field)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Text(_) => false,
    }
}

fn is_plan(value: &Value) -> bool {
    let fields = value
        .as_object()
        .into_iter()
        .flat_map(|fields| fields.iter());
    let mut fields = fields.map(|(key, field)| (&**key, field));
    fields.any(|(key, field)| STEPS.contains(&key) && is_steps(field))
}

/// The ids of the steps of `plan`.
fn ids(plan: &Value) -> HashSet<&str> {
    let mut ids = HashSet::new();
    for steps in STEPS.iter().filter_map(|key| plan.get(key)) {
        let items = steps.as_list().unwrap_or_default().iter();
        ids.extend(items.filter_map(|step| step.get("id")?.as_text()));
        let fields = steps
            .as_object()
            .into_iter()
            .flat_map(|fields| fields.iter());
        ids.extend(fields.map(|(key, _)| &**key));
    }
    ids
}

/// The values of the variables so far.
#[derive(Debug, Default)]
struct Data {
    values: HashMap<String, Value>,
    /// The variables that are part of other values.
    used: HashSet<String>,
    /// The first names of references that are not variables.
    roots: Vec<String>,
}

impl Data {
    /// The plan in `print(plan)`, `json.dumps({…})` or a value alone.
    fn shown(&mut self, value: &Expression) -> Option<Value> {
        match value {
            Expression::Call(function, arguments) if !function.dotted().is_empty() => {
                let first = arguments.first().filter(|first| first.name.is_none())?;
                self.shown(&first.value)
            }
            other => self.value(other),
        }
    }

    /// `expression` as data; a name that is not a variable becomes a reference to a step.
    fn value(&mut self, expression: &Expression) -> Option<Value> {
        Some(match expression {
            Expression::Literal(value) => value.clone(),
            Expression::Name(name) if self.values.contains_key(name) => {
                self.used.insert(name.clone());
                self.values.get(name)?.clone()
            }
            Expression::List(items) => {
                let items = items.iter().map(|item| self.value(item));
                Value::list(items.collect::<Option<Vec<_>>>()?)
            }
            Expression::Object(fields) => {
                let mut found = Vec::new();
                for (key, field) in fields {
                    let field = self.value(field)?;
                    // `'when': None` is not a condition.
                    if field != Value::Null || key != "when" {
                        found.push((Arc::from(key.as_str()), field));
                    }
                }
                Value::object(found)
            }
            Expression::Template(parts) => {
                let parts = parts.iter().map(|part| self.text(part));
                Value::text(parts.collect::<Option<String>>()?)
            }
            Expression::Binary("+", left, right) => match (self.value(left)?, self.value(right)?) {
                (Value::List(left), Value::List(right)) => {
                    Value::list(left.iter().chain(right.iter()).cloned())
                }
                (Value::Text(left), Value::Text(right)) => Value::text(format!("{left}{right}")),
                _ => return None,
            },
            Expression::Call(function, arguments) if function.dotted() == ["dict"] => {
                let mut fields = Vec::new();
                for argument in arguments {
                    let name = argument.name.as_deref()?;
                    fields.push((Arc::from(name), self.value(&argument.value)?));
                }
                Value::object(fields)
            }
            other => Value::text(format!("${{{}}}", self.path(other)?)),
        })
    }

    /// `expression` as a part of a text.
    fn text(&mut self, expression: &Expression) -> Option<String> {
        match self.value(expression)? {
            Value::Text(text) => Some(text.to_string()),
            number @ Value::Number(_) => Some(number.to_json()),
            Value::Null | Value::Bool(_) | Value::List(_) | Value::Object(_) => None,
        }
    }

    /// The path that `expression` is.
    fn path(&mut self, expression: &Expression) -> Option<String> {
        match expression {
            Expression::Name(name) => {
                (!self.values.contains_key(name)).then_some(())?;
                self.roots.push(name.clone());
                Some(name.clone())
            }
            Expression::Field(of, name) => Some(format!("{}.{name}", self.path(of)?)),
            Expression::Index(of, index) => {
                let of = self.path(of)?;
                match &**index {
                    Expression::Literal(Value::Text(key)) if !key.contains(['\'', '\\', '}']) => {
                        Some(format!("{of}['{key}']"))
                    }
                    Expression::Literal(number @ Value::Number(_)) => {
                        Some(format!("{of}[{}]", number.to_json()))
                    }
                    _ => None,
                }
            }
            _ => None,
        }
    }
}

/// `value`, an argument of `tool`, with objects in place of the calls of classes; `None` if it has no such call.
pub(super) fn without_classes(value: &Expression, tool: &str) -> Option<Expression> {
    let list = |items: &[Expression]| {
        let written: Vec<_> = items
            .iter()
            .map(|item| without_classes(item, tool))
            .collect();
        written.iter().any(Option::is_some).then(|| {
            let pairs = written.into_iter().zip(items);
            let items = pairs.map(|(written, item)| written.unwrap_or_else(|| item.clone()));
            items.collect::<Vec<_>>()
        })
    };
    match value {
        Expression::Call(function, arguments) if is_class(function, arguments, tool) => {
            let fields = arguments.iter().map(|argument| {
                let field = without_classes(&argument.value, tool);
                let field = field.unwrap_or_else(|| argument.value.clone());
                Some((argument.name.clone()?, field))
            });
            Some(Expression::Object(fields.collect::<Option<_>>()?))
        }
        Expression::List(items) => Some(Expression::List(list(items)?)),
        Expression::Object(fields) => {
            let (keys, fields): (Vec<_>, Vec<_>) = fields.iter().cloned().unzip();
            let fields = list(&fields)?;
            Some(Expression::Object(keys.into_iter().zip(fields).collect()))
        }
        Expression::Choice(condition, then, other) => {
            let [then, other] =
                <[Expression; 2]>::try_from(list(&[(**then).clone(), (**other).clone()])?).ok()?;
            Some(Expression::Choice(
                condition.clone(),
                then.into(),
                other.into(),
            ))
        }
        Expression::Comprehension(of) => {
            let value = without_classes(&of.value, tool)?;
            let of = Comprehension {
                value,
                ..(**of).clone()
            };
            Some(Expression::Comprehension(of.into()))
        }
        _ => None,
    }
}

/// Returns true if a call of `function` inside the arguments of `tool` is an object: all of its arguments have names, and it is called
/// as classes are, not as tools.
fn is_class(function: &Expression, arguments: &[ProgramArgument], tool: &str) -> bool {
    let written = function.dotted().join(".");
    let is_of_language = written
        .split('.')
        .next()
        .is_some_and(|first| RESERVED.contains(&first) || FUNCTIONS.contains(&first));
    let name = last_part(without_client(&written));
    let tool = last_part(tool);
    if is_of_language
        || arguments.is_empty()
        || arguments.iter().any(|argument| argument.name.is_none())
        || !name.starts_with(char::is_uppercase)
        || tool.starts_with(char::is_uppercase)
    {
        return false;
    }
    // The declarations that models get call the objects of `create_entities` `CreateEntitiesEntities`.
    let is_declared = name
        .strip_prefix(&*camel_case(tool))
        .is_some_and(|rest| rest.starts_with(char::is_uppercase));
    let mut first = name.chars();
    let lower = first
        .next()
        .map_or_else(String::new, |sign| sign.to_lowercase().collect());
    let in_lower_case = lower + first.as_str();
    // `ReadFile(path=…)` may be a tool of another server.
    is_declared || !(only_reads(&in_lower_case) || writes(&in_lower_case))
}

fn last_part(name: &str) -> &str {
    name.rsplit('.').next().unwrap_or(name)
}

/// `create_entities` as `CreateEntities`.
fn camel_case(name: &str) -> String {
    let words = name.split(['_', '-']).filter(|word| !word.is_empty());
    words
        .map(|word| {
            let mut signs = word.chars();
            let first: String = signs
                .next()
                .into_iter()
                .flat_map(char::to_uppercase)
                .collect();
            first + signs.as_str()
        })
        .collect()
}

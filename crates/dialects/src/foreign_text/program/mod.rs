//! Programs in the style of Python, JavaScript or pseudocode, and their translation into an equivalent plan.
//!
//! The plan is only advice, and only if each part of the program has a meaning. Calls that may write keep the order of the program.

mod accumulation;
mod activities;
mod attempts;
mod builder;
mod data;
mod expressions;
mod graphs;
mod names;
mod pseudocode;
mod statements;
mod syntax;
mod tokens;
mod values;

use std::collections::HashSet;
use std::sync::Arc;

use planwright_core::Value;

use self::builder::{Builder, NameMeaning};
pub(crate) use self::names::only_reads;
use self::syntax::FunctionDefinition;
pub(super) use self::syntax::{Expression, ProgramArgument, Statement, TryBlock};
use self::values::reference;

/// The maximum length of a program, in bytes.
const MAX_BYTES: usize = 10_000;

/// The plan that does the same as the program `text`; `None` if a part of it has no meaning.
pub(crate) fn plan(text: &str) -> Option<Value> {
    plan_of(text, Builder::default())
}

/// The same for a text of another format, where `{a}`, `<a>` and `$a` in texts become references.
pub(super) fn plan_with_names(text: &str) -> Option<Value> {
    plan_of(text, Builder::with_names_in_texts())
}

fn plan_of(text: &str, mut builder: Builder) -> Option<Value> {
    if text.len() > MAX_BYTES {
        return None;
    }
    let statements = match pseudocode::lowered(text) {
        Some(text) => statements::program(&text),
        None => statements::program(text),
    }?;
    let mut statements = flattened(statements);
    if let Some(plan) = graphs::plan(&statements).or_else(|| data::plan(&statements)) {
        return Some(plan);
    }
    // The value of a step would be the plan, which then calls nothing.
    if data::has_steps(&statements) {
        return None;
    }
    return_last_value(&mut statements);
    let name = entry(&mut statements, &mut builder)?;
    builder.statements(&statements)?;
    (!builder.steps.is_empty()).then(|| builder.plan(Some(&*name).filter(|name| !name.is_empty())))
}

/// The names of a last value that is the output of a program.
const OUTPUTS: [&str; 7] = [
    "output",
    "outputs",
    "result",
    "results",
    "final_output",
    "final_result",
    "final_answer",
];

/// Returns the value of the last statement if that only gives it a name such as `output`.
fn return_last_value(statements: &mut [Statement]) {
    let Some((last, before)) = statements.split_last_mut() else {
        return;
    };
    let Statement::Assign(names, value) = last else {
        return;
    };
    let is_output = matches!(names.as_slice(), [name] if OUTPUTS.contains(&&**name));
    let is_value = matches!(
        value,
        Expression::Object(_)
            | Expression::List(_)
            | Expression::Name(_)
            | Expression::Field(..)
            | Expression::Index(..)
            | Expression::Template(_)
    );
    let returns = |statement: &Statement| matches!(statement, Statement::Return(_));
    if is_output && is_value && !before.iter().any(returns) {
        *last = Statement::Return(Some(value.clone()));
    }
}

/// Returns true if `text` is a program that declares a graph or a plan, whose calls are no calls of tools.
pub(super) fn is_declaration(text: &str) -> bool {
    let statements = (text.len() <= MAX_BYTES).then(|| statements::program(text));
    let statements = statements.flatten().map(flattened);
    statements.is_some_and(|statements| {
        graphs::plan(&statements).is_some() || data::has_steps(&statements)
    })
}

/// The statements of the program `text`.
pub(super) fn statements_of(text: &str) -> Option<Vec<Statement>> {
    statements::program(text)
}

/// The plan that does the same as `statements`.
pub(super) fn of_statements(statements: &[Statement]) -> Option<Value> {
    let mut builder = Builder::with_names_in_texts();
    builder.statements(statements)?;
    (!builder.steps.is_empty()).then(|| builder.plan(None))
}

/// The plan of the call `written`, which may refer to the steps `names`.
pub(super) fn call(written: &str, names: &[String]) -> Option<Value> {
    let statements = statements::program(written)?;
    let mut builder = Builder::default();
    for name in names {
        let path = crate::native::path_of(name);
        builder.names.insert(name.clone(), NameMeaning::Path(path));
    }
    let [Statement::Run(call)] = statements.as_slice() else {
        return None;
    };
    builder.calls_tool(call).then_some(())?;
    builder.statements(&statements)?;
    Some(builder.plan(None))
}

/// The condition `written`, which may refer to the steps `names`.
pub(super) fn condition(written: &str, names: &[String]) -> Option<String> {
    let statements = statements::program(written)?;
    let [Statement::Run(condition)] = statements.as_slice() else {
        return None;
    };
    let mut builder = Builder::default();
    for name in names {
        let path = crate::native::path_of(name);
        builder.names.insert(name.clone(), NameMeaning::Path(path));
    }
    let found = builder.condition(condition)?;
    builder.steps.is_empty().then_some(found)
}

/// `statements` without the blocks that only surround others, such as `if __name__ == "__main__"`: their statements take their
/// place.
fn flattened(statements: Vec<Statement>) -> Vec<Statement> {
    let mut found = Vec::new();
    for statement in statements {
        match statement {
            Statement::If(condition, body, other) if surrounds(&condition) && other.is_empty() => {
                found.extend(flattened(body));
            }
            other => found.push(other),
        }
    }
    found
}

/// Returns true for `with … as x:` and for `if __name__ == "__main__":`.
fn surrounds(condition: &Expression) -> bool {
    match condition {
        Expression::Literal(value) => value.as_bool() == Some(true),
        Expression::Binary("==", left, _) => **left == Expression::Name("__name__".to_owned()),
        _ => false,
    }
}

/// Replaces the main function by its statements, and returns its name; empty if there is no main function.
fn entry(statements: &mut Vec<Statement>, builder: &mut Builder) -> Option<String> {
    for statement in statements.iter_mut() {
        // `const main = async () => { … }`
        if let Statement::Assign(names, Expression::Function(function)) = statement
            && let [name] = names.as_slice()
        {
            *statement = Statement::Define(name.clone(), function.clone());
        }
    }
    let is_function = |statement: &Statement| matches!(statement, Statement::Define(..));
    let Some(at) = statements.iter().position(is_function) else {
        return Some(String::new());
    };
    let Statement::Define(name, mut function) = statements.remove(at) else {
        return None;
    };
    // A second function would have to be inlined.
    if statements.iter().any(is_function) {
        return None;
    }
    // `main("/etc")` gives values to the parameters.
    let call = statements.iter().find_map(|statement| match statement {
        Statement::Run(Expression::Call(called, arguments))
            if **called == Expression::Name(name.clone()) && !arguments.is_empty() =>
        {
            Some(arguments.clone())
        }
        _ => None,
    });
    for (index, argument) in call.into_iter().flatten().enumerate() {
        matches!(argument.value, Expression::Literal(_)).then_some(())?;
        let mut parameters = function.parameters.iter_mut();
        let parameter = match &argument.name {
            Some(name) => parameters.find(|parameter| parameter.name == *name)?,
            None => parameters.nth(index)?,
        };
        parameter.default = Some(argument.value);
    }
    let is_call = |value: &Expression| match value {
        Expression::Call(called, _) if **called == Expression::Name(name.clone()) => true,
        other => is_call_of(other, &name),
    };
    let before = statements.len();
    statements.retain(|statement| match statement {
        Statement::Run(value) => !is_call(value),
        _ => true,
    });
    // Several calls would run the function several times.
    (before - statements.len() < 2).then_some(())?;
    parameters(&function, builder)?;
    statements.extend(flattened(function.body));
    let is_plain = ["main", "run", "plan", "execute", "workflow", "handler"].contains(&&*name);
    Some(if is_plain { String::new() } else { name })
}

/// Returns true if `value` is `name`, or runs it: `main()`, `asyncio.run(main())`, `export default main`.
fn is_call_of(value: &Expression, name: &str) -> bool {
    match value {
        Expression::Name(found) => found == name,
        Expression::Call(function, arguments) => match (&**function, arguments.as_slice()) {
            (Expression::Name(found), _) => found == name,
            (Expression::Field(..), [only]) if function.dotted().join(".") == "asyncio.run" => {
                is_call_of(&only.value, name)
            }
            // `main().catch(console.error)`
            (Expression::Field(of, method), [_]) if method == "catch" => is_call_of(of, name),
            _ => false,
        },
        _ => false,
    }
}

/// Makes the parameters of `function` inputs; those that are called are tools.
fn parameters(function: &FunctionDefinition, builder: &mut Builder) -> Option<()> {
    let mut called = HashSet::new();
    called_names(&function.body, &mut called);
    for parameter in &function.parameters {
        let name = &parameter.name;
        if called.contains(name) {
            builder.tools.insert(name.clone());
            continue;
        }
        let default = match &parameter.default {
            Some(Expression::Literal(value)) => Some(value.clone()),
            Some(_) => return None,
            None => None,
        };
        let kind = match (parameter.kind.as_deref(), &default) {
            (Some("int"), _) => Some("integer"),
            (Some("list" | "List" | "Array"), _) => Some("array"),
            (Some("dict" | "Dict" | "object"), _) => Some("object"),
            (Some("str" | "string" | "String"), _) | (_, Some(Value::Text(_))) => Some("string"),
            (Some("float" | "number" | "Number"), _) | (_, Some(Value::Number(_))) => {
                Some("number")
            }
            (Some("bool" | "boolean" | "Boolean"), _) | (_, Some(Value::Bool(_))) => {
                Some("boolean")
            }
            _ => None,
        };
        let kind = kind.map(|kind| (Arc::from("type"), Value::text(kind)));
        let default = default.map(|default| (Arc::from("default"), default));
        let schema = Value::object(kind.into_iter().chain(default));
        builder.inputs.push((name.clone(), schema));
        builder
            .names
            .insert(name.clone(), NameMeaning::Path(format!("inputs.{name}")));
    }
    Some(())
}

/// The roots of the functions that are called in `statements`.
fn called_names(statements: &[Statement], found: &mut HashSet<String>) {
    for statement in statements {
        match statement {
            Statement::Assign(_, value)
            | Statement::Run(value)
            | Statement::Return(Some(value)) => {
                called_in(value, found);
            }
            Statement::If(value, body, other) => {
                called_in(value, found);
                called_names(body, found);
                called_names(other, found);
            }
            Statement::ForEach(_, value, body) => {
                called_in(value, found);
                called_names(body, found);
            }
            Statement::Try(block) => {
                for part in block.parts() {
                    called_names(part, found);
                }
            }
            Statement::Parallel(body) => called_names(body, found),
            Statement::Define(_, function) => called_names(&function.body, found),
            Statement::Return(None) => {}
        }
    }
}

fn called_in(expression: &Expression, found: &mut HashSet<String>) {
    match expression {
        Expression::Call(function, arguments) => {
            // `query.strip()` calls a method of a value.
            let names = function.dotted();
            let of_client =
                names.len() > 1 && arguments.iter().any(|argument| argument.name.is_some());
            if let [name] = names.as_slice() {
                found.insert((*name).to_owned());
            } else if let Some(name) = names.first().filter(|_| {
                of_client
                    || names
                        .last()
                        .is_some_and(|last| super::calls::calls_tool(last))
                    || matches!(
                        arguments.first().map(|argument| &argument.value),
                        Some(Expression::Object(_))
                    )
            }) {
                found.insert((*name).to_owned());
            }
            called_in(function, found);
            for argument in arguments {
                called_in(&argument.value, found);
            }
        }
        Expression::Template(parts) | Expression::List(parts) => {
            for part in parts {
                called_in(part, found);
            }
        }
        Expression::Object(fields) => {
            for (_, field) in fields {
                called_in(field, found);
            }
        }
        Expression::Field(of, _) | Expression::Not(of) | Expression::Negative(of) => {
            called_in(of, found);
        }
        Expression::Index(left, right) | Expression::Binary(_, left, right) => {
            called_in(left, found);
            called_in(right, found);
        }
        Expression::Choice(condition, then, other) => {
            called_in(condition, found);
            called_in(then, found);
            called_in(other, found);
        }
        Expression::Comprehension(comprehension) => {
            called_in(&comprehension.value, found);
            called_in(&comprehension.list, found);
        }
        Expression::Function(function) => called_names(&function.body, found),
        Expression::Literal(_) | Expression::Name(_) => {}
    }
}

impl Builder {
    /// Adds the steps of `statements`.
    pub(super) fn statements(&mut self, statements: &[Statement]) -> Option<()> {
        for (index, statement) in statements.iter().enumerate() {
            let is_last = index + 1 == statements.len();
            if !statement.is_set_up() {
                self.statement(statement, is_last)?;
            }
        }
        Some(())
    }

    pub(super) fn statement(&mut self, statement: &Statement, is_last: bool) -> Option<()> {
        match statement {
            Statement::Assign(names, value) => self.assign(names, value),
            Statement::Run(value) => self.run(value),
            Statement::If(condition, body, other) => self.branch(condition, body, other),
            Statement::ForEach(name, list, body) => self.for_each(name, list, body),
            Statement::Try(block) => self.attempt(block),
            Statement::Return(value) => {
                // A return before the end ends the program.
                let has_output = self.output.is_some() && !self.is_printed;
                if !is_last || !self.conditions.is_empty() || has_output {
                    return None;
                }
                if let Some(value) = value
                    && *value != Expression::Literal(Value::Null)
                {
                    self.output = Some(self.value(value)?);
                }
                Some(())
            }
            Statement::Define(..) => None,
            Statement::Parallel(body) => self.together(|builder| builder.statements(body)),
        }
    }

    fn assign(&mut self, names: &[String], value: &Expression) -> Option<()> {
        let [name] = names else {
            let Expression::Call(function, arguments) = value else {
                return None;
            };
            let joins = ["gather", "all", "parallel"];
            let last = function.dotted().last().copied()?.to_owned();
            joins.contains(&&*last).then_some(())?;
            let values: Vec<&Expression> =
                arguments.iter().map(|argument| &argument.value).collect();
            let values: Vec<&Expression> = match values.as_slice() {
                [Expression::List(items)] => items.iter().collect(),
                _ => values,
            };
            (values.len() == names.len()).then_some(())?;
            let outputs = self.together(|builder| {
                let outputs = names.iter().zip(&values).map(|(name, value)| match value {
                    Expression::Call(function, arguments) if builder.calls_tool(value) => {
                        builder.call_of_tool(function, arguments, Some(name))
                    }
                    value => builder.expression(value),
                });
                outputs.collect::<Option<Vec<String>>>()
            })?;
            for (name, output) in names.iter().zip(outputs) {
                self.names.insert(name.clone(), NameMeaning::Path(output));
            }
            return Some(());
        };
        if let Some(chain) = self.chain(value, &|call| {
            Statement::Assign(names.to_vec(), call.clone())
        }) {
            return self.statements(&chain);
        }
        if let Some((condition, then, other)) = self.guarded_call(value) {
            let assign = |value: &Expression| match value {
                Expression::Literal(Value::Null) => Vec::new(),
                value => vec![Statement::Assign(names.to_vec(), value.clone())],
            };
            return self.branch(&condition, &assign(&then), &assign(&other));
        }
        let meaning = match value {
            Expression::List(items) if items.is_empty() => NameMeaning::Items,
            Expression::Literal(value) => NameMeaning::Constant(value.clone()),
            Expression::Call(function, arguments) if self.calls_tool(value) => {
                NameMeaning::Path(self.call_of_tool(function, arguments, Some(name))?)
            }
            Expression::Name(_) | Expression::Field(..) | Expression::Index(..) => match value {
                Expression::Name(other) => self.resolve(other)?,
                _ => NameMeaning::Path(self.expression(value)?),
            },
            other => {
                let first = self.steps.len();
                let value = self.value(other)?;
                // `x = [f(y) for y in z]` is the output of its step.
                let path = value.as_text().and_then(|text| {
                    let path = text.strip_prefix("${")?.strip_suffix('}')?;
                    let is_step = self.steps[first..].iter().any(|step| step.id == path);
                    is_step.then(|| path.to_owned())
                });
                match path {
                    Some(path) => NameMeaning::Path(path),
                    None => {
                        let fields = vec![(Arc::from("value"), value)];
                        NameMeaning::Path(self.push(Some(name), "get_value", fields)?)
                    }
                }
            }
        };
        self.names.insert(name.clone(), meaning);
        Some(())
    }

    /// The statements of `condition and call() and …`, the last of whose parts is a call, which becomes `last`.
    fn chain(
        &self,
        value: &Expression,
        last: &dyn Fn(&Expression) -> Statement,
    ) -> Option<Vec<Statement>> {
        let Expression::Binary("&&", left, call) = value else {
            return None;
        };
        self.calls_tool(call).then_some(())?;
        let mut statements = vec![last(call)];
        let mut rest = &**left;
        loop {
            let (before, part) = match rest {
                Expression::Binary("&&", before, part) => (Some(before), &**part),
                only => (None, only),
            };
            // The result of a call that writes is not a condition: what follows it runs after it.
            if let Expression::Call(function, _) = part
                && self.calls_tool(part)
                && function
                    .dotted()
                    .last()
                    .is_some_and(|tool| names::writes(tool))
            {
                statements.insert(0, Statement::Run(part.clone()));
            } else {
                statements = vec![Statement::If(part.clone(), statements, Vec::new())];
            }
            match before {
                Some(before) => rest = before,
                None => return Some(statements),
            }
        }
    }

    /// The parts of `call() if condition else other` or `condition or call()`: only one part runs.
    fn guarded_call(&self, value: &Expression) -> Option<(Expression, Expression, Expression)> {
        let nothing = || Expression::Literal(Value::Null);
        match value {
            Expression::Choice(condition, then, other)
                if self.calls_tool(then) || self.calls_tool(other) =>
            {
                Some(((**condition).clone(), (**then).clone(), (**other).clone()))
            }
            Expression::Binary("||", condition, call) if self.calls_tool(call) => {
                Some(((**condition).clone(), nothing(), (**call).clone()))
            }
            _ => None,
        }
    }

    fn run(&mut self, value: &Expression) -> Option<()> {
        if let Some(chain) = self.chain(value, &|call| Statement::Run(call.clone())) {
            return self.statements(&chain);
        }
        if let Some((condition, then, other)) = self.guarded_call(value) {
            let run = |value: &Expression| match value {
                Expression::Literal(Value::Null) => Vec::new(),
                value => vec![Statement::Run(value.clone())],
            };
            return self.branch(&condition, &run(&then), &run(&other));
        }
        match value {
            // A text in quotes is a comment.
            Expression::Literal(value) => value.as_text().map(|_| ()),
            Expression::Call(function, arguments) => {
                let names = function.dotted();
                let written = names.join(".");
                match (written.as_str(), arguments.as_slice()) {
                    ("print" | "console.log" | "println" | "logging.info", printed) => {
                        let printed: Vec<&Expression> = printed
                            .iter()
                            .map(|argument| &argument.value)
                            .filter(|value| value.as_text().is_none())
                            .collect();
                        match printed.as_slice() {
                            [] => Some(()),
                            [only] if self.output.is_none() && self.conditions.is_empty() => {
                                let printed = self.value(only)?;
                                // A value that is printed inside of `try` may be missing.
                                self.output = Some(match (printed.as_text(), &self.handler) {
                                    (Some(text), Some(_)) => Value::text(with_default(text)),
                                    _ => printed,
                                });
                                self.is_printed = true;
                                Some(())
                            }
                            _ => None,
                        }
                    }
                    (_, [item]) if names.len() == 2 && matches!(names[1], "append" | "push") => {
                        let list = names[0].to_owned();
                        let is_list = matches!(
                            self.names.get(&list).or_else(|| self.outer_meaning(&list)),
                            Some(NameMeaning::Items)
                        );
                        is_list.then_some(())?;
                        let value = self.expression(&item.value)?;
                        self.added.push((list, value));
                        Some(())
                    }
                    _ => self.expression(value).map(|_| ()),
                }
            }
            Expression::Binary(">>", before, after) => self.edge(before, after).map(|_| ()),
            Expression::Comprehension(_) => self.expression(value).map(|_| ()),
            _ => None,
        }
    }

    fn branch(
        &mut self,
        condition: &Expression,
        body: &[Statement],
        other: &[Statement],
    ) -> Option<()> {
        if surrounds(condition) && other.is_empty() {
            return self.statements(body);
        }
        if let Some((name, chosen)) = self.chosen(condition, body, other) {
            return self.assign(&[name], &chosen);
        }
        let condition = self.condition(condition)?;
        let before = self.names.clone();
        let order = self.order();
        self.conditions.push(condition.clone());
        let done = self.statements(body);
        self.conditions.pop();
        done?;
        let then = std::mem::replace(&mut self.names, before.clone());
        // Only one of the branches runs, so they need no order.
        let after_then = self.order();
        self.set_order(order);
        self.conditions.push(format!("!({condition})"));
        let done = self.statements(other);
        self.conditions.pop();
        done?;
        self.add_order(after_then);
        self.merge(&before, then)
    }

    /// The only name that the branches assign, and its value as one expression; `None` if a branch does more, or calls a tool.
    fn chosen(
        &self,
        condition: &Expression,
        body: &[Statement],
        other: &[Statement],
    ) -> Option<(String, Expression)> {
        let value = |branch: &[Statement]| match branch {
            [Statement::Assign(names, value)] => match names.as_slice() {
                [name] if !self.calls_tool(value) && self.guarded_call(value).is_none() => {
                    Some((name.clone(), value.clone()))
                }
                _ => None,
            },
            [Statement::If(condition, body, other)] => self.chosen(condition, body, other),
            _ => None,
        };
        let (name, then) = value(body)?;
        let otherwise = match other {
            [] if self.is_known(&name) => Expression::Name(name.clone()),
            _ => value(other).filter(|(other, _)| *other == name)?.1,
        };
        let is_empty_list = |value: &Expression| *value == Expression::List(Vec::new());
        if is_empty_list(&then) || is_empty_list(&otherwise) {
            return None;
        }
        let choice = Expression::Choice(condition.clone().into(), then.into(), otherwise.into());
        Some((name, choice))
    }

    /// Assigns each name its value from the branch that has run: `then`, or the current one.
    pub(super) fn merge(
        &mut self,
        before: &std::collections::HashMap<String, NameMeaning>,
        then: std::collections::HashMap<String, NameMeaning>,
    ) -> Option<()> {
        for (name, meaning) in then {
            match self.names.get(&name) {
                Some(other) if *other == meaning => {}
                Some(NameMeaning::Path(other)) => {
                    let NameMeaning::Path(path) = meaning else {
                        return None;
                    };
                    let merged = format!("({path} ?? {other})");
                    self.names.insert(name, NameMeaning::Path(merged));
                }
                // A constant in place of an output has no condition.
                Some(_) => return None,
                None if before.contains_key(&name) => return None,
                None => {
                    self.names.insert(name, meaning);
                }
            }
        }
        // A name that only the second branch assigns keeps its step, which is skipped together with the branch.
        Some(())
    }

    pub(super) fn for_each(
        &mut self,
        name: &str,
        list: &Expression,
        body: &[Statement],
    ) -> Option<()> {
        self.conditions.is_empty().then_some(())?;
        // Only items are added: `if condition: list.append(item)`.
        if let [Statement::If(condition, inner, other)] = body
            && other.is_empty()
            && let [Statement::Run(Expression::Call(function, arguments))] = &inner[..]
            && let ([target, "append" | "push"], [item]) =
                (function.dotted().as_slice(), arguments.as_slice())
            && matches!(self.names.get(*target), Some(NameMeaning::Items))
        {
            let target = (*target).to_owned();
            let path = self.mapped(list, name, Some(condition), Some(&item.value))?;
            return self.add_list(&target, path);
        }
        if let [Statement::Run(Expression::Call(function, arguments))] = body
            && let ([target, "append" | "push"], [item]) =
                (function.dotted().as_slice(), arguments.as_slice())
            && matches!(self.names.get(*target), Some(NameMeaning::Items))
            && !self.calls_tool(&item.value)
        {
            let target = (*target).to_owned();
            if let Some(path) = self.clone().mapped(list, name, None, Some(&item.value)) {
                return self.add_list(&target, path);
            }
        }
        if self.grows(name, list, body)? {
            return Some(());
        }
        let list = self.expression(list)?;
        let found = self.loop_over(name, &list, body)?;
        self.forget_assigned(body)?;
        for (target, path) in found.lists {
            self.add_list(&target, path)?;
        }
        Some(())
    }

    /// Reads `a >> b >> c`, where each step waits for the one before it. Returns the last ones.
    fn edge(&mut self, before: &Expression, after: &Expression) -> Option<Vec<String>> {
        let ends = |builder: &mut Self, side: &Expression| match side {
            Expression::Binary(">>", before, after) => builder.edge(before, after),
            Expression::List(items) => items.iter().map(|item| builder.step_id(item)).collect(),
            other => Some(vec![builder.step_id(other)?]),
        };
        let (before, after) = (ends(self, before)?, ends(self, after)?);
        for step in self
            .steps
            .iter_mut()
            .filter(|step| after.contains(&step.id))
        {
            let old = step.fields.iter().position(|(key, _)| &**key == "after");
            let old = old.map(|at| step.fields.remove(at).1);
            let mut ids: Vec<Value> = old
                .iter()
                .filter_map(Value::as_list)
                .flatten()
                .cloned()
                .collect();
            for id in &before {
                let id = Value::text(id.as_str());
                if !ids.contains(&id) {
                    ids.push(id);
                }
            }
            step.fields.push(("after".into(), Value::list(ids)));
        }
        Some(after)
    }

    /// The id of the step whose output `expression` is.
    fn step_id(&mut self, expression: &Expression) -> Option<String> {
        let path = self.expression(expression)?;
        let step = self
            .steps
            .iter()
            .find(|step| crate::native::path_of(&step.id) == path)?;
        Some(step.id.clone())
    }

    /// Assigns the list `path` to `target`; an expression becomes a separate step.
    fn add_list(&mut self, target: &str, path: String) -> Option<()> {
        let is_step = self.is_output(&path);
        let path = if is_step {
            path
        } else {
            let fields = vec![(Arc::from("value"), reference(&path))];
            self.push(Some(target), "get_value", fields)?
        };
        self.names
            .insert(target.to_owned(), NameMeaning::Path(path));
        Some(())
    }
}

/// The only reference of `text` with an empty text as its default.
fn with_default(text: &str) -> String {
    match text
        .strip_prefix("${")
        .and_then(|text| text.strip_suffix('}'))
    {
        Some(inside) if !inside.contains([' ', '{']) => format!("${{{inside} ?? ''}}"),
        Some(_) | None => text.to_owned(),
    }
}

//! Names that the statements of a loop assign: sums and texts that grow with each item, and values of the last item.

use planwright_core::Value;

use super::builder::{Builder, NameMeaning};
use super::syntax::{Expression, ProgramArgument, Statement};
use super::values::literal;

/// The end of the name of the list that holds what a name grows by.
const LIST: &str = " items";

impl Builder {
    /// Reads `for name in list: …; total = total + value`, in which a name of a constant outside grows. Returns false if none grows in
    /// `body`.
    pub(super) fn grows(
        &mut self,
        name: &str,
        list: &Expression,
        body: &[Statement],
    ) -> Option<bool> {
        let found = body.iter().enumerate().find_map(|(at, statement)| {
            let (grown, value) = growth(statement)?;
            let Some(NameMeaning::Constant(start @ (Value::Text(_) | Value::Number(_)))) =
                self.names.get(grown)
            else {
                return None;
            };
            Some((at, grown.to_owned(), value.clone(), start.clone()))
        });
        let Some((at, grown, value, start)) = found else {
            return Some(false);
        };
        self.grow(name, list, body, (at, &grown, &value), &start)?;
        Some(true)
    }

    fn grow(
        &mut self,
        name: &str,
        list: &Expression,
        body: &[Statement],
        (at, grown, value): (usize, &str, &Expression),
        start: &Value,
    ) -> Option<()> {
        let mut body = body.to_vec();
        body.remove(at);
        let is_used = body.iter().any(|statement| mentions(statement, grown));
        (!is_used && !mentions_in(value, grown)).then_some(())?;
        // `count = count + 1`
        let sum = if let Expression::Literal(step @ Value::Number(_)) = value {
            let size = format!("size({})", self.clone().expression(list)?);
            self.for_each(name, list, &body)?;
            match step.as_u64() {
                Some(1) => size,
                _ => format!("{} * {size}", step.to_json()),
            }
        } else {
            let hidden = format!("{grown}{LIST}");
            let append =
                Expression::Field(Expression::Name(hidden.clone()).into(), "append".to_owned());
            let argument = ProgramArgument {
                name: None,
                value: value.clone(),
            };
            let call = Expression::Call(append.into(), vec![argument]);
            body.insert(at, Statement::Run(call));
            self.names.insert(hidden.clone(), NameMeaning::Items);
            self.for_each(name, list, &body)?;
            let Some(NameMeaning::Path(items)) = self.names.remove(&hidden) else {
                return None;
            };
            match start {
                Value::Text(_) => format!("{items}.join('')"),
                _ => format!("{items}.sum()"),
            }
        };
        let is_empty = match start {
            Value::Text(text) => text.is_empty(),
            number => number.as_f64() == Some(0.0),
        };
        let meaning = if is_empty {
            sum
        } else {
            format!("({} + {sum})", literal(start)?)
        };
        self.names
            .insert(grown.to_owned(), NameMeaning::Path(meaning));
        Some(())
    }

    /// Forgets the names outside that `body`, the statements of a loop, assigns anew for each item: after the loop they have the value of
    /// the last one. `None` if the value of one item depends on the one before.
    pub(super) fn forget_assigned(&mut self, body: &[Statement]) -> Option<()> {
        let mut assigned = Vec::new();
        each_assigned(body, &mut assigned);
        assigned.retain(|name| self.names.contains_key(name));
        for name in assigned {
            let first = body.iter().find(|statement| mentions(statement, &name));
            let is_new = match first {
                Some(Statement::Assign(_, value)) => !mentions_in(value, &name),
                _ => false,
            };
            is_new.then_some(())?;
            self.names.remove(&name);
        }
        Some(())
    }
}

/// The name and the value in `name = name + value`.
fn growth(statement: &Statement) -> Option<(&str, &Expression)> {
    let Statement::Assign(names, Expression::Binary("+", before, value)) = statement else {
        return None;
    };
    let [name] = names.as_slice() else {
        return None;
    };
    (**before == Expression::Name(name.clone())).then_some((name, value))
}

/// Adds the names that `statements` assign to `found`, those in blocks included.
fn each_assigned(statements: &[Statement], found: &mut Vec<String>) {
    for statement in statements {
        match statement {
            Statement::Assign(names, _) => found.extend(names.iter().cloned()),
            Statement::If(_, then, otherwise) => {
                each_assigned(then, found);
                each_assigned(otherwise, found);
            }
            Statement::ForEach(_, _, body) | Statement::Parallel(body) => {
                each_assigned(body, found);
            }
            Statement::Try(block) => {
                for part in [
                    &block.body,
                    &block.handler,
                    &block.otherwise,
                    &block.finally,
                ] {
                    each_assigned(part, found);
                }
            }
            Statement::Run(_) | Statement::Return(_) | Statement::Define(..) => {}
        }
    }
}

/// Returns true if `statement` assigns or reads `name`.
fn mentions(statement: &Statement, name: &str) -> bool {
    let any = |statements: &[Statement]| {
        let mut statements = statements.iter();
        statements.any(|statement| mentions(statement, name))
    };
    match statement {
        Statement::Assign(names, value) => {
            names.iter().any(|assigned| assigned == name) || mentions_in(value, name)
        }
        Statement::Run(value) => mentions_in(value, name),
        Statement::If(condition, then, otherwise) => {
            mentions_in(condition, name) || any(then) || any(otherwise)
        }
        Statement::ForEach(_, list, body) => mentions_in(list, name) || any(body),
        Statement::Try(block) => [
            &block.body,
            &block.handler,
            &block.otherwise,
            &block.finally,
        ]
        .into_iter()
        .any(|part| any(part)),
        Statement::Return(value) => value.as_ref().is_some_and(|value| mentions_in(value, name)),
        Statement::Define(_, function) => any(&function.body),
        Statement::Parallel(body) => any(body),
    }
}

/// Returns true if `expression` reads `name`.
fn mentions_in(expression: &Expression, name: &str) -> bool {
    let any = |values: &[Expression]| values.iter().any(|value| mentions_in(value, name));
    match expression {
        Expression::Literal(_) => false,
        Expression::Name(found) => found == name,
        Expression::Template(parts) | Expression::List(parts) => any(parts),
        Expression::Field(of, _) | Expression::Not(of) | Expression::Negative(of) => {
            mentions_in(of, name)
        }
        Expression::Index(of, index) | Expression::Binary(_, of, index) => {
            mentions_in(of, name) || mentions_in(index, name)
        }
        Expression::Call(function, arguments) => {
            let mut arguments = arguments.iter();
            mentions_in(function, name)
                || arguments.any(|argument| mentions_in(&argument.value, name))
        }
        Expression::Object(fields) => fields.iter().any(|(_, value)| mentions_in(value, name)),
        Expression::Choice(condition, then, otherwise) => [condition, then, otherwise]
            .into_iter()
            .any(|part| mentions_in(part, name)),
        Expression::Comprehension(found) => {
            let condition = found.condition.as_ref();
            mentions_in(&found.value, name)
                || mentions_in(&found.list, name)
                || condition.is_some_and(|condition| mentions_in(condition, name))
        }
        Expression::Function(function) => {
            let mut statements = function.body.iter();
            statements.any(|statement| mentions(statement, name))
        }
    }
}

//! Calls in a pipe: each takes the result of the one before it.

use planwright_core::Value;

use super::super::program::{Expression, ProgramArgument, Statement, of_statements, statements_of};
use super::shell;

/// Words in place of the result of the call before.
const INPUTS: [&str; 5] = ["-", "_", "$_", "%", "it"];

/// The plan in pipes, one after the other.
pub(super) fn plan(text: &str) -> Option<Value> {
    let joined = text.trim().replace("\\\n", " ");
    let mut lines: Vec<String> = Vec::new();
    for next in joined.lines().map(str::trim) {
        match lines.last_mut() {
            Some(line) if line.ends_with(['|', '>']) || next.starts_with('|') => {
                line.extend([" ", next]);
            }
            _ if next.is_empty() || next.starts_with('#') => {}
            _ => lines.push(next.to_owned()),
        }
    }
    let mut has_pipe = false;
    let mut statements = Vec::new();
    for line in &lines {
        let parts = shell::separated(line, &["|>", "|"])?;
        has_pipe |= parts.len() > 1;
        statements.push(statement(&parts)?);
    }
    has_pipe.then(|| of_statements(&statements))?
}

/// The statement of a pipe with `parts`.
fn statement(parts: &[&str]) -> Option<Statement> {
    let (first, others) = parts.split_first()?;
    let (name, mut whole) = call(first)?;
    for part in others {
        let (None, Expression::Call(function, mut arguments)) = call(part)? else {
            return None;
        };
        let mut inputs = arguments
            .iter_mut()
            .filter(|argument| is_input(&argument.value));
        match (inputs.next(), inputs.next()) {
            (Some(input), None) => input.value = whole,
            (None, _) => arguments.push(ProgramArgument {
                name: None,
                value: whole,
            }),
            // A result that is used twice needs a name.
            (Some(_), Some(_)) => return None,
        }
        whole = Expression::Call(function, arguments);
    }
    Some(match name {
        Some(name) => Statement::Assign(vec![name], whole),
        None => Statement::Run(whole),
    })
}

fn is_input(value: &Expression) -> bool {
    match value {
        Expression::Name(name) => INPUTS.contains(&&**name),
        other => other.as_text().is_some_and(|text| INPUTS.contains(&text)),
    }
}

/// The call in a part of a pipe, and the name of its result if it has one.
fn call(written: &str) -> Option<(Option<String>, Expression)> {
    if !written.ends_with(')') {
        return Some((None, shell::single_call(written)?));
    }
    let mut statements = statements_of(written)?.into_iter();
    let (name, call) = match (statements.next()?, statements.next()) {
        (Statement::Run(call), None) => (None, call),
        (Statement::Assign(names, call), None) => (names.into_iter().next(), call),
        _ => return None,
    };
    matches!(call, Expression::Call(..)).then_some((name, call))
}

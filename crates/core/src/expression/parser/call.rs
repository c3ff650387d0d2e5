//! Parsing of calls: functions, methods, and loops over items.

use std::ops::RangeInclusive;
use std::sync::Arc;

use super::cursor::plain_name;
use super::grammar::Parser;
use crate::Value;
use crate::expression::ExpressionError;
use crate::expression::function::{self, BuiltinFunction};
use crate::expression::pattern;
use crate::expression::tree::{Accessor, Loop, Tree};

impl<'t> Parser<'t> {
    /// Parses a call of `name` after its opening bracket.
    pub(super) fn call(&mut self, name: &str, at: usize) -> Result<Tree, ExpressionError> {
        if name == "has" {
            let path = self.nested()?;
            self.cursor.expect(")")?;
            let is_path = match &path {
                Tree::Read(read) => !read.path.is_empty(),
                Tree::Access(_, accessors) => {
                    matches!(
                        accessors.last(),
                        Some(Accessor::Part(..) | Accessor::Item(_))
                    )
                }
                _ => false,
            };
            // `has` of a computed value would always be true or an error.
            if !is_path {
                return Err(ExpressionError::new("`has` needs a path to a field", at)
                    .help("write `has(step.field)`"));
            }
            return Ok(Tree::Has(Box::new(path)));
        }
        if Loop::named(name).is_some() {
            let help = if name == "all" {
                "write `list.all(x, …)`; `all(path, path)`, which waits for all, stands alone"
            } else {
                "write the list before it, as in `list.map(x, …)`"
            };
            return Err(
                ExpressionError::new(format!("`{name}` needs a list before it"), at).help(help),
            );
        }
        // The arguments are parsed before the name is looked up, so that an error inside them is reported first.
        let mut arguments = self.arguments(")")?;
        let function = function::global(name).ok_or_else(|| {
            let mut error = ExpressionError::new(format!("there is no function `{name}`"), at);
            if function::method(name).is_some() {
                error = error.help(format!("write `value.{name}(…)`"));
            } else if let Some(near) = function::nearest(name) {
                error = error.help(format!("did you mean `{near}`?"));
            }
            error
        })?;
        check_count(function, arguments.len(), 0, at)?;
        if function.name == "matches"
            && let Some(pattern) = arguments.pop()
        {
            let searched = arguments.pop().unwrap_or(Tree::Literal(Value::Null));
            let matches = self.matches(function, pattern, at)?;
            return Ok(Tree::Access(Box::new(searched), vec![matches]));
        }
        Ok(Tree::Call(function, arguments))
    }

    /// Parses a call of the method `name` after its opening bracket.
    pub(super) fn method(&mut self, name: &'t str, at: usize) -> Result<Accessor, ExpressionError> {
        if let Some((kind, min_arguments, max_arguments)) = Loop::named(name) {
            return self.loop_over(name, kind, min_arguments..=max_arguments, at);
        }
        let mut arguments = self.arguments(")")?;
        let function = function::method(name).ok_or_else(|| {
            let mut error = ExpressionError::new(format!("there is no method `{name}`"), at);
            if function::global(name).is_some() {
                error = error.help(format!("write `{name}(value)`"));
            } else if let Some(near) = function::nearest(name) {
                error = error.help(format!("did you mean `{near}`?"));
            }
            error
        })?;
        check_count(function, arguments.len(), 1, at)?;
        if function.name == "matches"
            && let Some(pattern) = arguments.pop()
        {
            return self.matches(function, pattern, at);
        }
        Ok(Accessor::Call(function, arguments))
    }

    /// Creates a `matches` accessor and compiles a constant pattern at once.
    fn matches(
        &mut self,
        function: &'static BuiltinFunction,
        pattern: Tree,
        at: usize,
    ) -> Result<Accessor, ExpressionError> {
        let Tree::Literal(Value::Text(pattern)) = &pattern else {
            // A computed pattern is compiled during evaluation, at a high cost.
            return Ok(Accessor::Call(function, vec![pattern]));
        };
        pattern::compile(pattern, self.patterns)
            .map(|regex| Accessor::Matches(Arc::new(regex)))
            .map_err(|error| ExpressionError {
                help: error.help.map(str::to_owned),
                ..ExpressionError::new(error.message, at)
            })
    }

    fn loop_over(
        &mut self,
        name: &str,
        kind: Loop,
        counts: RangeInclusive<usize>,
        at: usize,
    ) -> Result<Accessor, ExpressionError> {
        self.cursor.skip_space();
        let variable = self.cursor.name().filter(|variable| plain_name(variable));
        let (Some(variable), true) = (variable, self.cursor.take_spaced(",")) else {
            return Err(ExpressionError::new(
                format!("`{name}` needs a name for the item and then an expression"),
                at,
            )
            .help(format!("write `list.{name}(x, …)`")));
        };
        // The variable is visible in the expressions of the loop only.
        self.locals.push(variable);
        let trees = self.arguments(")");
        self.locals.pop();
        let trees = trees?;
        if !counts.contains(&trees.len()) {
            return Err(ExpressionError::new(
                format!("`{name}` has a wrong number of arguments"),
                at,
            )
            .help(format!("write `list.{name}(x, …)`")));
        }
        Ok(Accessor::Loop(kind, trees))
    }
}

fn check_count(
    function: &BuiltinFunction,
    found: usize,
    before: usize,
    at: usize,
) -> Result<(), ExpressionError> {
    let (min_arguments, max_arguments) = (
        // The value before a method counts in the table, but not in messages.
        function.min_arguments.saturating_sub(before),
        function.max_arguments.saturating_sub(before),
    );
    if (min_arguments..=max_arguments).contains(&found) {
        return Ok(());
    }
    let wanted = match (min_arguments, max_arguments) {
        (min_arguments, usize::MAX) => format!("at least {min_arguments}"),
        (min_arguments, max_arguments) if min_arguments == max_arguments => {
            min_arguments.to_string()
        }
        (min_arguments, max_arguments) => format!("{min_arguments} to {max_arguments}"),
    };
    let plural = max_arguments > 1 && (min_arguments, max_arguments) != (1, usize::MAX);
    Err(ExpressionError::new(
        format!(
            "`{}` takes {wanted} {}, found {found}",
            function.name,
            if plural { "arguments" } else { "argument" }
        ),
        at,
    ))
}

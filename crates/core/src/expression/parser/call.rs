//! Calls: of functions, of methods, of loops over items.

use std::ops::RangeInclusive;
use std::sync::Arc;

use super::cursor::plain_name;
use super::grammar::Parser;
use crate::Value;
use crate::expression::ExpressionError;
use crate::expression::function::{self, Function};
use crate::expression::pattern;
use crate::expression::tree::{Loop, Move, Tree};

impl<'t> Parser<'t> {
    /// A call of `name`, whose opening bracket has been taken.
    pub(super) fn call(&mut self, name: &str, at: usize) -> Result<Tree, ExpressionError> {
        if name == "has" {
            let path = self.nested()?;
            self.cursor.expect(")")?;
            let is_path = match &path {
                Tree::Read(read) => !read.path.is_empty(),
                Tree::Then(_, moves) => {
                    matches!(moves.last(), Some(Move::Part(..) | Move::Item(_)))
                }
                _ => false,
            };
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
            return Ok(Tree::Then(Box::new(searched), vec![matches]));
        }
        Ok(Tree::Call(function, arguments))
    }

    /// A call of the method `name`, whose opening bracket has been taken.
    pub(super) fn method(&mut self, name: &'t str, at: usize) -> Result<Move, ExpressionError> {
        if let Some((kind, least, most)) = Loop::named(name) {
            return self.loop_over(name, kind, least..=most, at);
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
        Ok(Move::Call(function, arguments))
    }

    /// `matches` with a pattern that is compiled now, where it is known already.
    fn matches(
        &mut self,
        function: &'static Function,
        pattern: Tree,
        at: usize,
    ) -> Result<Move, ExpressionError> {
        let Tree::Literal(Value::Text(pattern)) = &pattern else {
            return Ok(Move::Call(function, vec![pattern]));
        };
        pattern::compile(pattern, self.patterns)
            .map(|regex| Move::Matches(Arc::new(regex)))
            .map_err(|fault| ExpressionError {
                help: fault.help.map(str::to_owned),
                ..ExpressionError::new(fault.message, at)
            })
    }

    fn loop_over(
        &mut self,
        name: &str,
        kind: Loop,
        counts: RangeInclusive<usize>,
        at: usize,
    ) -> Result<Move, ExpressionError> {
        self.cursor.skip_space();
        let variable = self.cursor.name().filter(|variable| plain_name(variable));
        let (Some(variable), true) = (variable, self.cursor.take_spaced(",")) else {
            return Err(ExpressionError::new(
                format!("`{name}` needs a name for the item and then an expression"),
                at,
            )
            .help(format!("write `list.{name}(x, …)`")));
        };
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
        Ok(Move::Loop(kind, trees))
    }
}

fn check_count(
    function: &Function,
    given: usize,
    before: usize,
    at: usize,
) -> Result<(), ExpressionError> {
    let (least, most) = (
        function.least.saturating_sub(before),
        function.most.saturating_sub(before),
    );
    if (least..=most).contains(&given) {
        return Ok(());
    }
    let wanted = match (least, most) {
        (least, usize::MAX) => format!("at least {least}"),
        (least, most) if least == most => least.to_string(),
        (least, most) => format!("{least} to {most}"),
    };
    let plural = most > 1 && (least, most) != (1, usize::MAX);
    Err(ExpressionError::new(
        format!(
            "`{}` takes {wanted} {}, found {given}",
            function.name,
            if plural { "arguments" } else { "argument" }
        ),
        at,
    ))
}

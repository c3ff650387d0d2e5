//! The grammar between `${` and `}`: alternatives, CEL operators, and calls of functions, methods and loops.

use std::ops::RangeInclusive;

use super::cursor::{Cursor, plain_name};
use super::foreign::two_variables;
use super::{query, time};
use crate::Value;
use crate::expression::function::{self, BuiltinFunction, Search};
use crate::expression::operator::BinaryOperator;
use crate::expression::pattern::PatternBudget;
use crate::expression::program::form_of;
use crate::expression::tree::{Accessor, CoalesceOperand, Loop, Tree, add};
use crate::expression::{ExpressionError, MAX_EXPRESSION_CHARS, operator};
use crate::plan::{Form, Read};

/// Parses the text between `${` and `}`.
///
/// It is a path (`step.field[0]`, `rows[*].id`, `inputs.x`, `steps["odd id"]`), a JSON literal, a CEL expression over
/// paths, several of these separated by `??`, or `all(path, path)`, which waits for all and returns the last.
///
/// # Errors
///
/// Returns the first error in the text.
pub fn parse_form(text: &str) -> Result<Form, ExpressionError> {
    parse_form_within(text, &mut PatternBudget::default())
}

/// Parses one of many such texts, which share the budget `patterns` for constant patterns.
///
/// # Errors
///
/// Returns the first error in the text.
pub fn parse_form_within(
    text: &str,
    patterns: &mut PatternBudget,
) -> Result<Form, ExpressionError> {
    parse_form_in_loop(text, None, patterns)
}

/// Parses such a text in a loop that gives its item the name `item_name`.
///
/// # Errors
///
/// Returns the first error in the text.
pub fn parse_form_in_loop(
    text: &str,
    item_name: Option<&str>,
    patterns: &mut PatternBudget,
) -> Result<Form, ExpressionError> {
    // A text has at least as many bytes as characters.
    if text.len() > MAX_EXPRESSION_CHARS && text.chars().nth(MAX_EXPRESSION_CHARS).is_some() {
        return Err(ExpressionError::too_large(
            format!("the expression has more than {MAX_EXPRESSION_CHARS} characters"),
            0,
        ));
    }
    parse(text, item_name, patterns).map_err(|error| {
        let is_readable = |text: &str| parse(text, item_name, &mut PatternBudget::none()).is_ok();
        error.or_help(query::hint(text, is_readable))
    })
}

/// The expression that has the effect of `text`, which is a query of jq or JSONPath; `None` if there is none.
pub fn query_form(text: &str, item_name: Option<&str>) -> Option<String> {
    query::form(text, |form| {
        parse(form, item_name, &mut PatternBudget::none()).is_ok()
    })
}

fn parse(
    text: &str,
    item_name: Option<&str>,
    patterns: &mut PatternBudget,
) -> Result<Form, ExpressionError> {
    let mut parser = Parser {
        cursor: Cursor::new(text),
        locals: Vec::new(),
        item_name,
        patterns,
    };
    parser.cursor.skip_space();
    if parser.cursor.peek().is_none() {
        return Err(ExpressionError::reference("the reference is empty", 0)
            .help("write the id of a step, and the way to the part that is wanted"));
    }
    // `all(` is not a function, so it is recognised before the expression grammar.
    if let Some(reads) = parser.all()? {
        return Ok(Form::All(reads));
    }
    let first = parser.alternative()?;
    // The usual case, which needs no list.
    if parser.cursor.is_spaced("??") {
        let alternatives = parser.further_alternatives(first)?;
        parser.end()?;
        Ok(form_of(alternatives, text))
    } else {
        parser.end()?;
        Ok(form_of([first], text))
    }
}

/// The state of the parser: its position and the enclosing loops.
pub(super) struct Parser<'t> {
    pub(super) cursor: Cursor<'t>,
    /// The variables of the enclosing loops, the innermost last.
    pub(super) locals: Vec<&'t str>,
    /// The name of the item of the step's loop, beside `item`.
    pub(super) item_name: Option<&'t str>,
    pub(super) patterns: &'t mut PatternBudget,
}

impl Parser<'_> {
    /// Parses `all(path, path)`, which must be the whole text.
    fn all(&mut self) -> Result<Option<Vec<Read>>, ExpressionError> {
        let start = self.cursor.at;
        if self.cursor.name() != Some("all") || !self.cursor.take_spaced("(") {
            self.cursor.at = start;
            return Ok(None);
        }
        let mut reads = Vec::new();
        loop {
            self.cursor.skip_space();
            let at = self.cursor.at;
            match self.choice()? {
                Tree::Read(read) => reads.push(*read),
                _ => {
                    return Err(ExpressionError::reference("`all(…)` takes paths only", at));
                }
            }
            if self.cursor.take_spaced(")") {
                break;
            }
            self.cursor.expect(",")?;
        }
        self.cursor.skip_space();
        if self.cursor.peek().is_some() {
            return Err(ExpressionError::reference(
                "`all(…)` stands alone",
                self.cursor.at,
            ));
        }
        Ok(Some(reads))
    }

    /// Returns an error if the text continues.
    fn end(&mut self) -> Result<(), ExpressionError> {
        self.cursor.skip_space();
        match self.cursor.peek() {
            Some(_) => Err(self.not_an_operator()),
            None => Ok(()),
        }
    }

    /// Parses an operand of `??`, with its source range.
    fn alternative(&mut self) -> Result<CoalesceOperand, ExpressionError> {
        self.cursor.skip_space();
        let start = self.cursor.at;
        let tree = self.choice()?;
        let span = start..self.cursor.at;
        Ok(CoalesceOperand { tree, span })
    }

    /// Parses the rest of `first ?? b ?? c`.
    fn further_alternatives(
        &mut self,
        first: CoalesceOperand,
    ) -> Result<Vec<CoalesceOperand>, ExpressionError> {
        let mut alternatives = vec![first];
        while self.cursor.take_spaced("??") {
            alternatives.push(self.alternative()?);
        }
        Ok(alternatives)
    }

    /// Parses nested alternatives as one operand.
    pub(super) fn nested(&mut self) -> Result<Tree, ExpressionError> {
        // Every recursion of the parser passes here or through `choice`, so both bound the stack.
        self.cursor.enter()?;
        let first = self.alternative()?;
        let tree = if self.cursor.is_spaced("??") {
            Tree::FirstOf(self.further_alternatives(first)?)
        } else {
            first.tree
        };
        self.cursor.leave();
        Ok(tree)
    }

    /// Parses `condition ? value : otherwise`, or an expression without `?`.
    pub(super) fn choice(&mut self) -> Result<Tree, ExpressionError> {
        let mut cases = Vec::new();
        let mut next = self.or()?;
        loop {
            self.cursor.skip_space();
            // `??` separates alternatives and is not a condition.
            if self.cursor.is_at("??") || !self.cursor.take("?") {
                break;
            }
            self.cursor.enter()?;
            let value = self.choice()?;
            self.cursor.leave();
            self.cursor.expect(":")?;
            add(&mut cases, (next, value));
            next = self.or()?;
        }
        Ok(if cases.is_empty() {
            next
        } else {
            Tree::Choice(cases, Box::new(next))
        })
    }

    fn or(&mut self) -> Result<Tree, ExpressionError> {
        let first = self.unary()?;
        // The usual case, which spares the operators of each level.
        if self.cursor.ends_operand() {
            return Ok(first);
        }
        let first = self.and_after(first)?;
        if !self.cursor.take_spaced("||") {
            return Ok(first);
        }
        let mut parts = vec![first, self.and()?];
        while self.cursor.take_spaced("||") {
            parts.push(self.and()?);
        }
        Ok(Tree::Or(parts))
    }

    fn and(&mut self) -> Result<Tree, ExpressionError> {
        let first = self.unary()?;
        self.and_after(first)
    }

    /// Parses the operators from `&&` on after their first operand.
    fn and_after(&mut self, first: Tree) -> Result<Tree, ExpressionError> {
        let first = self.chain_after(0, first)?;
        if !self.cursor.take_spaced("&&") {
            return Ok(first);
        }
        let mut parts = vec![first, self.chain(0)?];
        while self.cursor.take_spaced("&&") {
            parts.push(self.chain(0)?);
        }
        Ok(Tree::And(parts))
    }

    /// Parses left-associative operators of `level` around operands of the next level.
    fn chain(&mut self, level: usize) -> Result<Tree, ExpressionError> {
        let first = self.unary()?;
        self.chain_after(level, first)
    }

    /// Parses the operators of `level`, and of those that bind more closely, after their first operand.
    fn chain_after(&mut self, level: usize, first: Tree) -> Result<Tree, ExpressionError> {
        let mut first = first;
        let mut next = self.operator()?;
        // Those that bind most closely come first: each right operand includes all that bind more closely than its operator.
        while let Some((operator, _)) = next
            && operator.level() >= level
        {
            let level = operator.level();
            let mut rest = Vec::new();
            while let Some((operator, length)) = next
                && operator.level() == level
            {
                self.cursor.at += length;
                let at = self.cursor.at;
                let right = self.link(level)?;
                // Most operators have no function call beside them.
                if level < 2 && (rest.is_empty() && time::is_time(&first) || time::is_time(&right))
                {
                    let left = chained(first, std::mem::take(&mut rest));
                    first = time::operation(operator, left, right, at)?;
                } else {
                    add(&mut rest, (operator, right));
                }
                next = self.operator()?;
            }
            first = chained(first, rest);
        }
        Ok(first)
    }

    fn link(&mut self, level: usize) -> Result<Tree, ExpressionError> {
        if level < 2 {
            self.chain(level + 1)
        } else {
            self.unary()
        }
    }

    /// Returns the operator that comes next, and its length.
    fn operator(&mut self) -> Result<Option<(BinaryOperator, usize)>, ExpressionError> {
        self.cursor.skip_space();
        let rest = self.cursor.rest();
        let (sign, operator) = match rest.as_bytes() {
            [b'=', b'=', b'=', ..] => return Err(self.strict_operator("===", "==")),
            [b'!', b'=', b'=', ..] => return Err(self.strict_operator("!==", "!=")),
            [b'=', b'=', ..] => ("==", BinaryOperator::Equal),
            [b'!', b'=', ..] => ("!=", BinaryOperator::Unequal),
            [b'<', b'=', ..] => ("<=", BinaryOperator::LessOrEqual),
            [b'>', b'=', ..] => (">=", BinaryOperator::GreaterOrEqual),
            [b'<', ..] => ("<", BinaryOperator::Less),
            [b'>', ..] => (">", BinaryOperator::Greater),
            [b'+', ..] => ("+", BinaryOperator::Add),
            [b'-', ..] => ("-", BinaryOperator::Subtract),
            [b'*', ..] => ("*", BinaryOperator::Multiply),
            [b'/', b'*', ..] => return Err(self.block_comment()),
            [b'/', ..] => ("/", BinaryOperator::Divide),
            [b'%', ..] => ("%", BinaryOperator::Remainder),
            // `in` must be a whole word: `index` begins with it as well.
            [b'i', b'n', ..] if super::cursor::name_length(rest) == 2 => ("in", BinaryOperator::In),
            [b'=', b'>', ..] => return Err(self.arrow()),
            [b'=', ..] => {
                return Err(
                    ExpressionError::new("`=` compares nothing", self.cursor.at).help("write `==`")
                );
            }
            _ => return Ok(None),
        };
        Ok(Some((operator, sign.len())))
    }

    /// Parses an operand and the signs before it.
    fn unary(&mut self) -> Result<Tree, ExpressionError> {
        self.cursor.skip_space();
        let start = self.cursor.at;
        let Some(sign @ ('!' | '-')) = self.cursor.peek() else {
            return self.operand();
        };
        let mut signs = 0_usize;
        while self.cursor.peek() == Some(sign) {
            self.cursor.bump();
            self.cursor.skip_space();
            signs += 1;
        }
        let mut tree = match self.cursor.peek() {
            Some('!' | '-') => {
                return Err(self.cursor.unexpected("expected a value"));
            }
            _ => self.operand()?,
        };
        // Two equal signs cancel out, but the type of the operand must still be checked.
        for _ in 0..2 - signs % 2 {
            tree = match (sign, tree) {
                ('-', Tree::Literal(value @ Value::Number(_))) => operator::negate(&value)
                    .map(Tree::Literal)
                    .map_err(|error| ExpressionError::new(error.to_string(), start))?,
                ('-', tree) => Tree::Negate(Box::new(tree)),
                (_, tree) => Tree::Not(Box::new(tree)),
            };
        }
        Ok(tree)
    }

    /// Returns an error about the text where an operator is expected.
    fn not_an_operator(&mut self) -> ExpressionError {
        let at = self.cursor.at;
        let error = |message: &str, help: &str| ExpressionError::new(message, at).help(help);
        let rest = self.cursor.rest();
        if let Some(hint) = self.foreign_operator() {
            return hint;
        }
        match self.cursor.name() {
            // The operators of Python are a likely mistake.
            Some("and") => return error("`and` is not an operator", "write `&&`"),
            Some("or") => return error("`or` is not an operator", "write `||`"),
            Some(name) => {
                return error(
                    &format!("expected an operator, found `{name}`"),
                    // The name may be a keyword of another language.
                    function::foreign_text(rest).unwrap_or("a name with spaces or signs is written `steps['…']`, a field `['…']`, text in quotes"),
                );
            }
            None => {}
        }
        if rest.starts_with('|') {
            return error(
                "`|` is not an operator",
                "write `??` for a fallback, `||` for one of two conditions",
            );
        }
        if rest.starts_with('&') {
            return error("`&` is not an operator", "write `&&`");
        }
        self.cursor.unexpected("expected an operator")
    }
}

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
        let known = function::global(name);
        let unknown = || {
            let error = ExpressionError::new(format!("there is no function `{name}`"), at);
            if function::method(name).is_some() {
                return error.help(format!("write `value.{name}(…)`"));
            }
            error.or_help(function::advice(name))
        };
        // The arguments of a function of another language may have its forms as well.
        if known.is_none() && function::foreign_form(name).is_some() {
            return Err(unknown());
        }
        // The arguments are parsed before the name is looked up, so that an error inside them is reported first.
        let mut arguments = self.arguments(")")?;
        let function = known.ok_or_else(unknown)?;
        check_count(function, arguments.len(), 0, at)?;
        if let Some(search) = Search::named(function.name)
            && let [_, Tree::Literal(Value::Text(pattern))] = arguments.as_slice()
        {
            let search = self.search(search, pattern, at)?;
            let searched = arguments.swap_remove(0);
            return Ok(Tree::Access(Box::new(searched), vec![search]));
        }
        time::global_call(function, arguments, at)
    }

    /// Parses a call of the method `name` after its opening bracket.
    pub(super) fn method(&mut self, name: &'t str, at: usize) -> Result<Accessor, ExpressionError> {
        if let Some((kind, min_arguments, max_arguments)) = Loop::named(name) {
            return self.loop_over(name, kind, min_arguments..=max_arguments, at);
        }
        let known = function::method(name);
        let unknown = || {
            let error = ExpressionError::new(format!("there is no method `{name}`"), at);
            if function::global(name).is_some() {
                return error.help(format!("write `{name}(value)`"));
            }
            error.or_help(function::advice(name))
        };
        if known.is_none() && function::foreign_form(name).is_some() {
            return Err(unknown());
        }
        let arguments = self.arguments(")")?;
        let function = known.ok_or_else(unknown)?;
        check_count(function, arguments.len(), 1, at)?;
        if let Some(search) = Search::named(function.name)
            && let [Tree::Literal(Value::Text(pattern))] = arguments.as_slice()
        {
            return self.search(search, pattern, at);
        }
        // A computed pattern is compiled during evaluation, at a high cost.
        Ok(Accessor::Call(function, arguments))
    }

    /// Creates a search for a constant pattern, which is compiled at once.
    fn search(
        &mut self,
        search: Search,
        pattern: &str,
        at: usize,
    ) -> Result<Accessor, ExpressionError> {
        search
            .compile(pattern, self.patterns)
            .map(|regex| Accessor::Search(search, regex))
            .map_err(|error| {
                let help = error.help.map(str::to_owned);
                ExpressionError::new(error.message, at).or_help(help)
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
        if let Some(error) = self.arrow_function(name, at) {
            return Err(error);
        }
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
        if let Some(error) = two_variables(kind, variable, &trees, at) {
            return Err(error);
        }
        if !counts.contains(&trees.len()) {
            return Err(ExpressionError::new(
                format!("`{name}` has a wrong number of arguments"),
                at,
            )
            .help(format!("write `list.{name}(x, …)`")));
        }
        Ok(time::loop_over(kind, trees))
    }
}

/// Returns the chain of operators after `first`, or `first` if there are none.
fn chained(first: Tree, rest: Vec<(BinaryOperator, Tree)>) -> Tree {
    if rest.is_empty() {
        first
    } else {
        Tree::Chain(Box::new(first), rest)
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

//! The parser of expressions.

use planwright_core::Value;

use super::activities::OPTION;
use super::syntax::{
    Comprehension, Expression, FunctionDefinition, FunctionParameter, ProgramArgument, Statement,
};
use super::tokens::{ProgramToken, StringPart, TokenKind, tokens};
use crate::foreign_text::calls::calls_tool;

/// The maximum depth of an expression, and of blocks in blocks.
pub(super) const MAX_DEPTH: usize = 40;

/// The state of parsing.
pub(super) struct ProgramParser<'t> {
    pub(super) tokens: Vec<ProgramToken<'t>>,
    pub(super) at: usize,
    /// The number of open brackets. Line breaks inside brackets have no meaning.
    pub(super) brackets: usize,
    pub(super) depth: usize,
}

/// The operators by how they bind, the loosest first.
const OPERATORS: [&[&str]; 7] = [
    &["??"],
    &["||", "or"],
    &["&&", "and"],
    &[
        "==", "!=", "===", "!==", "<", "<=", ">", ">=", "in", "is", "not",
    ],
    &["|", "&", ">>", "<<"],
    &["+", "-"],
    &["*", "/", "%"],
];

/// The tests of Jinja that are about the outcome of a task or the presence of a value, each with the test that it is, or is the
/// opposite of.
const TESTS: [(&str, &str, bool); 11] = [
    ("succeeded", "succeeded", false),
    ("success", "succeeded", false),
    ("successful", "succeeded", false),
    ("changed", "succeeded", false),
    ("failed", "succeeded", true),
    ("failure", "succeeded", true),
    ("defined", "defined", false),
    ("undefined", "defined", true),
    ("skipped", "defined", true),
    ("none", "defined", true),
    ("null", "defined", true),
];

/// The level of comparisons in [`OPERATORS`], before which `not` is read.
const COMPARISONS: usize = 3;

impl<'t> ProgramParser<'t> {
    pub(super) fn new(text: &'t str, depth: usize) -> Option<Self> {
        Some(Self {
            tokens: tokens(text)?,
            at: 0,
            brackets: 0,
            depth,
        })
    }

    /// The next token; lines count only outside of brackets.
    pub(super) fn peek(&mut self) -> Option<&TokenKind<'t>> {
        while self.brackets > 0 && matches!(self.tokens.get(self.at)?.kind, TokenKind::Line(_)) {
            self.at += 1;
        }
        Some(&self.tokens.get(self.at)?.kind)
    }

    pub(super) fn is_sign(&mut self, sign: &str) -> bool {
        matches!(self.peek(), Some(TokenKind::Sign(found)) if *found == sign)
    }

    pub(super) fn take_sign(&mut self, sign: &str) -> bool {
        let is_next = self.is_sign(sign);
        self.at += usize::from(is_next);
        is_next
    }

    pub(super) fn word(&mut self) -> Option<&'t str> {
        match self.peek() {
            Some(TokenKind::Name(name)) => Some(name),
            _ => None,
        }
    }

    pub(super) fn take_word(&mut self, word: &str) -> bool {
        let is_next = self.word() == Some(word);
        self.at += usize::from(is_next);
        is_next
    }

    pub(super) fn name(&mut self) -> Option<String> {
        let name = self.word()?.trim_start_matches('$').to_owned();
        self.at += 1;
        (!name.is_empty()).then_some(name)
    }

    /// Reads the content of brackets, after the opening one.
    pub(super) fn inside<T>(
        &mut self,
        close: &str,
        read: impl FnOnce(&mut Self) -> Option<T>,
    ) -> Option<T> {
        self.brackets += 1;
        let found = read(self);
        let is_closed = self.take_sign(close);
        self.brackets -= 1;
        found.filter(|_| is_closed)
    }

    pub(super) fn expression(&mut self) -> Option<Expression> {
        self.depth += 1;
        let found = (self.depth <= MAX_DEPTH).then(|| self.choice())?;
        self.depth -= 1;
        found
    }

    fn choice(&mut self) -> Option<Expression> {
        let value = self.operation(0)?;
        if self.take_sign("?") {
            let then = self.expression()?;
            self.take_sign(":").then_some(())?;
            let other = self.expression()?;
            return Some(Expression::Choice(value.into(), then.into(), other.into()));
        }
        // `a if condition else b`, or `call() if condition` of other languages
        if self.take_word("if") {
            let condition = self.operation(0)?;
            let is_call = matches!(value, Expression::Call(..));
            let other = match self.take_word("else") {
                true => self.expression()?,
                false if is_call => Expression::Literal(Value::Null),
                false => return None,
            };
            return Some(Expression::Choice(
                condition.into(),
                value.into(),
                other.into(),
            ));
        }
        Some(value)
    }

    fn operation(&mut self, level: usize) -> Option<Expression> {
        let Some(operators) = OPERATORS.get(level) else {
            return self.unary();
        };
        if level == COMPARISONS && (self.take_word("not") || self.take_word("NOT")) {
            return Some(Expression::Not(self.nested(level)?.into()));
        }
        let mut left = self.operation(level + 1)?;
        let mut count = 0;
        while let Some(operator) = self.operator(operators) {
            count += 1;
            // In Python, `a < b < c` are two comparisons.
            if level == COMPARISONS && count > 1 {
                return None;
            }
            self.at += 1;
            if operator == "is"
                && let Some((test, negates)) = self.test()
            {
                left = Expression::Binary("is", left.into(), Expression::Name(test).into());
                if negates {
                    left = Expression::Not(left.into());
                }
                continue;
            }
            let (operator, negates) = match operator {
                "or" => ("||", false),
                "and" => ("&&", false),
                "is" if self.take_word("not") => ("!=", false),
                "===" | "is" => ("==", false),
                "!==" => ("!=", false),
                "not" => {
                    self.take_word("in").then_some(())?;
                    ("in", true)
                }
                other => (other, false),
            };
            let right = self.operation(level + 1)?;
            if operator == "%"
                && let Expression::Literal(Value::Text(text)) = &left
            {
                let values = match &right {
                    Expression::List(values) => values.clone(),
                    only => vec![only.clone()],
                };
                left = formatted(&text.replace("%d", "%s"), "%s", values)?;
                continue;
            }
            left = Expression::Binary(operator, left.into(), right.into());
            if negates {
                left = Expression::Not(left.into());
            }
        }
        Some(left)
    }

    /// The test of Jinja after `is`, and whether the opposite is meant: `not failed` is `succeeded`.
    fn test(&mut self) -> Option<(String, bool)> {
        let start = self.at;
        let is_not = self.take_word("not");
        let found = TESTS.iter().find(|(word, ..)| self.take_word(word));
        let Some((_, test, negates)) = found else {
            self.at = start;
            return None;
        };
        Some(((*test).to_owned(), *negates != is_not))
    }

    fn nested(&mut self, level: usize) -> Option<Expression> {
        self.depth += 1;
        let found = (self.depth <= MAX_DEPTH).then(|| self.operation(level))?;
        self.depth -= 1;
        found
    }

    fn operator(&mut self, operators: &[&'static str]) -> Option<&'static str> {
        let written = match self.peek()? {
            TokenKind::Sign(sign) => *sign,
            TokenKind::Name(name) => name,
            _ => return None,
        };
        operators
            .iter()
            .find(|operator| operator.eq_ignore_ascii_case(written))
            .copied()
    }

    fn unary(&mut self) -> Option<Expression> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return None;
        }
        let found = if self.take_sign("!") {
            Expression::Not(self.unary()?.into())
        } else if self.take_sign("-") {
            Expression::Negative(self.unary()?.into())
        } else if self.take_word("await") || self.take_word("new") {
            self.unary()?
        } else {
            self.path()?
        };
        self.depth -= 1;
        Some(found)
    }

    /// A value, followed by fields, items and calls.
    fn path(&mut self) -> Option<Expression> {
        let mut value = self.primary()?;
        loop {
            // A method on the next line belongs to the value.
            let line = usize::from(matches!(
                self.tokens.get(self.at).map(|token| &token.kind),
                Some(TokenKind::Line(_))
            ));
            let is_dot = matches!(
                self.tokens.get(self.at + line).map(|token| &token.kind),
                Some(TokenKind::Sign("." | "?."))
            );
            if is_dot {
                self.at += line + 1;
                if self.take_sign("[") {
                    let index = self.inside("]", Self::expression)?;
                    value = Expression::Index(value.into(), index.into());
                    continue;
                }
                value = Expression::Field(value.into(), self.name()?);
                // `include?(x)` of Ruby
                let next = self.tokens.get(self.at + 1).map(|token| &token.kind);
                let opens = next == Some(&TokenKind::Sign("("));
                if opens && self.is_sign("?") {
                    self.at += 1;
                }
            } else if self.take_sign("[") {
                value = self.inside("]", |parser| parser.part_of(value))?;
            } else if self.take_sign("(") {
                let arguments = self.inside(")", Self::arguments)?;
                value = match formatted_call(&value, &arguments) {
                    Some(text) => text,
                    None => deferred_call(value, arguments),
                };
            } else {
                return Some(value);
            }
        }
    }

    /// The item of `value` at the position in brackets, or the items between both ends of `[1:5]`, both optional.
    fn part_of(&mut self, value: Expression) -> Option<Expression> {
        let from = if self.is_sign(":") {
            Expression::Literal(Value::from(0_u64))
        } else {
            self.expression()?
        };
        if !self.take_sign(":") {
            return Some(Expression::Index(value.into(), from.into()));
        }
        let to = if self.is_sign("]") {
            Expression::Literal(Value::Null)
        } else {
            self.expression()?
        };
        let ends = [from, to].map(|value| ProgramArgument { name: None, value });
        let method = Expression::Field(value.into(), "slice".to_owned());
        Some(Expression::Call(method.into(), ends.to_vec()))
    }

    fn arguments(&mut self) -> Option<Vec<ProgramArgument>> {
        let mut found = Vec::new();
        while !self.is_sign(")") {
            let before = self.at;
            let name = self.name();
            let is_named = name.is_some() && (self.take_sign("=") || self.take_sign(":"));
            let name = name.filter(|_| is_named);
            if !is_named {
                self.at = before;
            }
            let value = self.expression()?;
            let value = self.comprehension(value)?;
            found.push(ProgramArgument { name, value });
            if !self.take_sign(",") {
                break;
            }
        }
        Some(found)
    }

    /// `value`, or the comprehension that begins with it.
    fn comprehension(&mut self, value: Expression) -> Option<Expression> {
        let _ = self.take_word("async");
        if !self.take_word("for") {
            return Some(value);
        }
        let name = self.name()?;
        self.take_word("in").then_some(())?;
        let list = self.operation(1)?;
        let condition = if self.take_word("if") {
            Some(self.operation(1)?)
        } else {
            None
        };
        if self.word() == Some("for") || self.word() == Some("if") {
            return None;
        }
        Some(Expression::Comprehension(Box::new(Comprehension {
            value,
            name,
            list,
            condition,
        })))
    }

    fn primary(&mut self) -> Option<Expression> {
        let kind = self.peek()?.clone();
        match kind {
            TokenKind::Number(written) => {
                self.at += 1;
                let value = Value::from_json(&written.replace('_', "")).ok()?;
                value.as_f64().map(|_| Expression::Literal(value))
            }
            TokenKind::Text(pieces) => {
                self.at += 1;
                let mut found = Vec::new();
                self.pieces(pieces, &mut found)?;
                // Python joins adjacent strings.
                while let Some(TokenKind::Text(more)) = self.peek().cloned() {
                    self.at += 1;
                    self.pieces(more, &mut found)?;
                }
                Some(match <[Expression; 1]>::try_from(found) {
                    Ok([only @ Expression::Literal(_)]) => only,
                    Ok(parts) => Expression::Template(parts.to_vec()),
                    Err(parts) => Expression::Template(parts),
                })
            }
            TokenKind::Sign("(") => {
                if let Some(function) = self.arrow() {
                    return Some(function);
                }
                self.at += 1;
                let mut items = self.inside(")", |parser| {
                    let mut items = Vec::new();
                    while !parser.is_sign(")") {
                        let value = parser.expression()?;
                        items.push(parser.comprehension(value)?);
                        if !parser.take_sign(",") {
                            break;
                        }
                    }
                    Some(items)
                })?;
                match items.len() {
                    1 => items.pop(),
                    _ => Some(Expression::List(items)),
                }
            }
            TokenKind::Sign("[") => {
                self.at += 1;
                self.inside("]", |parser| {
                    let mut items = Vec::new();
                    while !parser.is_sign("]") {
                        let value = parser.expression()?;
                        if matches!(parser.word(), Some("for" | "async")) {
                            return parser.comprehension(value);
                        }
                        items.push(value);
                        if !parser.take_sign(",") {
                            break;
                        }
                    }
                    Some(Expression::List(items))
                })
            }
            TokenKind::Sign("{") => {
                self.at += 1;
                self.inside("}", Self::object)
            }
            TokenKind::Name("lambda") => {
                self.at += 1;
                let mut parameters = Vec::new();
                while !self.is_sign(":") {
                    parameters.push(parameter(self.name()?));
                    let _ = self.take_sign(",");
                }
                self.at += 1;
                let body = vec![Statement::Return(Some(self.expression()?))];
                Some(Expression::Function(FunctionDefinition {
                    parameters,
                    body,
                }))
            }
            TokenKind::Name(_) => {
                if let Some(function) = self.arrow() {
                    return Some(function);
                }
                let name = self.name()?;
                Some(match &*name {
                    "True" | "true" => Expression::Literal(Value::Bool(true)),
                    "False" | "false" => Expression::Literal(Value::Bool(false)),
                    "None" | "null" | "undefined" | "nil" => Expression::Literal(Value::Null),
                    _ => Expression::Name(name),
                })
            }
            TokenKind::Sign(_) | TokenKind::Line(_) => None,
        }
    }

    fn pieces(&mut self, pieces: Vec<StringPart<'t>>, found: &mut Vec<Expression>) -> Option<()> {
        for piece in pieces {
            match piece {
                StringPart::Literal(text) => found.push(Expression::text(text)),
                StringPart::Code(code) => {
                    let mut inner = ProgramParser::new(code, self.depth + 1)?;
                    inner.brackets = 1;
                    let value = inner.expression()?;
                    // `{x:.2f}` is a format.
                    inner.peek().is_none().then_some(())?;
                    found.push(value);
                }
            }
        }
        Some(())
    }

    /// The fields of an object.
    fn object(&mut self) -> Option<Expression> {
        let mut fields: Vec<(String, Expression)> = Vec::new();
        while !self.is_sign("}") {
            let (key, is_name) = match self.peek()?.clone() {
                TokenKind::Name(_) => (self.name()?, true),
                TokenKind::Text(pieces) => {
                    self.at += 1;
                    let [StringPart::Literal(key)] = &pieces[..] else {
                        return None;
                    };
                    (key.clone(), false)
                }
                TokenKind::Number(written) => {
                    self.at += 1;
                    (written.to_owned(), false)
                }
                TokenKind::Sign(_) | TokenKind::Line(_) => return None,
            };
            let value = if self.take_sign(":") || self.take_sign("=") {
                self.expression()?
            } else if is_name {
                Expression::Name(key.clone())
            } else {
                return None;
            };
            if fields.iter().any(|(known, _)| *known == key) {
                return None;
            }
            fields.push((key, value));
            if !self.take_sign(",") && !self.take_sign(";") {
                break;
            }
        }
        Some(Expression::Object(fields))
    }

    /// `x => value`, `async (x) => { … }`; the position is unchanged if there is none.
    fn arrow(&mut self) -> Option<Expression> {
        let before = (self.at, self.brackets, self.depth);
        let found = self.try_arrow();
        if found.is_none() {
            (self.at, self.brackets, self.depth) = before;
        }
        found
    }

    fn try_arrow(&mut self) -> Option<Expression> {
        // Only a head that is followed by an arrow is read, so that brackets in brackets take linear time.
        let is_async = self.word() == Some("async");
        let mut end = self.at + usize::from(is_async);
        match self.tokens.get(end)?.kind {
            TokenKind::Name(_) => end += 1,
            TokenKind::Sign("(") => {
                let rest = self.tokens.iter().skip(end + 1).take(MAX_DEPTH * 4);
                let close = rest
                    .clone()
                    .position(|token| matches!(token.kind, TokenKind::Sign("(" | ")")))?;
                end += close + 2;
            }
            _ => return None,
        }
        matches!(self.tokens.get(end)?.kind, TokenKind::Sign("=>")).then_some(())?;
        self.at += usize::from(is_async);
        let parameters = if self.take_sign("(") {
            self.inside(")", Self::parameters)?
        } else {
            vec![parameter(self.name()?)]
        };
        self.take_sign("=>").then_some(())?;
        let body = if self.is_sign("{") {
            self.braces()?
        } else {
            vec![Statement::Return(Some(self.expression()?))]
        };
        Some(Expression::Function(FunctionDefinition {
            parameters,
            body,
        }))
    }

    /// The parameters of a function up to the closing bracket.
    pub(super) fn parameters(&mut self) -> Option<Vec<FunctionParameter>> {
        let mut found = Vec::new();
        while !self.is_sign(")") {
            let _ = self.take_sign("*");
            // `{ a, b }` are the fields of one parameter.
            if self.take_sign("{") {
                let names = self.inside("}", |parser| {
                    let mut names = Vec::new();
                    while !parser.is_sign("}") {
                        names.push(parser.parameter()?);
                        if !parser.take_sign(",") {
                            break;
                        }
                    }
                    Some(names)
                })?;
                found.extend(names);
                if self.take_sign(":") {
                    self.expression()?;
                }
            } else if !self.is_sign(",") {
                found.push(self.parameter()?);
            }
            if !self.take_sign(",") {
                break;
            }
        }
        Some(found)
    }

    fn parameter(&mut self) -> Option<FunctionParameter> {
        let mut found = parameter(self.name()?);
        let _ = self.take_sign("?");
        if self.take_sign(":") {
            found.kind = self.path_of_type();
        }
        if self.take_sign("=") {
            found.default = Some(self.expression()?);
        }
        Some(found)
    }

    /// The first name of a type, which is skipped.
    fn path_of_type(&mut self) -> Option<String> {
        match self.operation(COMPARISONS + 1)? {
            Expression::Name(name) => Some(name),
            _ => None,
        }
    }
}

fn parameter(name: String) -> FunctionParameter {
    FunctionParameter {
        name,
        kind: None,
        default: None,
    }
}

/// The template `text` with `values` in the places of `mark`; `None` if their numbers differ, or if there are other marks.
fn formatted(text: &str, mark: &str, values: Vec<Expression>) -> Option<Expression> {
    let texts: Vec<&str> = text.split(mark).collect();
    let is_other = |text: &&str| text.contains(['{', '}']) || (mark == "%s" && text.contains('%'));
    if texts.len() != values.len() + 1 || texts.iter().any(is_other) {
        return None;
    }
    let mut parts = Vec::new();
    let mut values = values.into_iter();
    for text in texts {
        if !text.is_empty() {
            parts.push(Expression::text(text.to_owned()));
        }
        parts.extend(values.next());
    }
    Some(Expression::Template(parts))
}

/// The template that `'… {} …'.format(a)` stands for.
fn formatted_call(function: &Expression, arguments: &[ProgramArgument]) -> Option<Expression> {
    let Expression::Field(text, method) = function else {
        return None;
    };
    let (Expression::Literal(Value::Text(text)), "format") = (&**text, &**method) else {
        return None;
    };
    let values = arguments.iter().map(|argument| {
        let is_positional = argument.name.is_none();
        is_positional.then(|| argument.value.clone())
    });
    formatted(text, "{}", values.collect::<Option<Vec<_>>>()?)
}

/// The call of `function`, which Prefect, Celery and Ray write `function.submit(…)`, and its answer `call.result()`.
fn deferred_call(function: Expression, mut arguments: Vec<ProgramArgument>) -> Expression {
    let is_option = |argument: &ProgramArgument| argument.name.as_deref() == Some("wait_for");
    let has_option = arguments.iter().any(is_option);
    match function {
        Expression::Field(of, method)
            if matches!(&*method, "submit" | "delay" | "remote")
                && matches!(&*of, Expression::Name(name) if has_option || name.contains('_')) =>
        {
            Expression::Call(of, arguments)
        }
        // `function.override(task_id="a")(…)` of Airflow
        Expression::Call(inner, options) => match *inner {
            Expression::Field(of, method) if matches!(&*method, "override" | "with_options") => {
                arguments.extend(options.into_iter().map(|option| ProgramArgument {
                    name: option.name.map(|name| format!("{OPTION}{name}")),
                    ..option
                }));
                Expression::Call(of, arguments)
            }
            inner => Expression::Call(Expression::Call(inner.into(), options).into(), arguments),
        },
        Expression::Field(of, method) if method == "result" && arguments.is_empty() => *of,
        other => {
            let is_caller = other.dotted().last().is_some_and(|last| calls_tool(last));
            let named = is_caller.then(|| named_tool(&arguments)).flatten();
            Expression::Call(other.into(), named.unwrap_or(arguments))
        }
    }
}

/// The name and the arguments of the tool in `callTool({name: "echo", arguments: {…}})`; `None` if the object has more.
fn named_tool(arguments: &[ProgramArgument]) -> Option<Vec<ProgramArgument>> {
    let [
        ProgramArgument {
            name: None,
            value: Expression::Object(fields),
        },
    ] = arguments
    else {
        return None;
    };
    let field = |names: &[&str]| {
        let mut fields = fields.iter().filter(|(key, _)| names.contains(&&**key));
        fields.next().map(|(_, value)| value.clone())
    };
    let tool = field(&["name", "tool", "toolName", "tool_name"])?;
    let given = field(&["arguments", "args", "input", "params", "parameters"]);
    tool.as_text()?;
    (fields.len() == 1 + usize::from(given.is_some())).then_some(())?;
    let given = given.unwrap_or_else(|| Expression::Object(Vec::new()));
    let unnamed = |value| ProgramArgument { name: None, value };
    Some(vec![unnamed(tool), unnamed(given)])
}

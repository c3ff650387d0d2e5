//! The parser of statements: blocks by indentation, in braces, or up to an `end`.

use super::expressions::{MAX_DEPTH, ProgramParser};
use super::syntax::{Expression, FunctionDefinition, Statement, TryBlock};
use super::tokens::TokenKind;

/// The name of the position of a loop's item.
pub(super) const LOOP_INDEX: &str = "loop_index";

/// Words that declare a name.
const DECLARATIONS: [&str; 6] = ["const", "let", "var", "val", "my", "local"];

/// Words between the words before a function and its name.
const BEFORE_FUNCTIONS: [&str; 4] = ["export", "default", "async", "public"];

/// Words that begin a statement without a counterpart.
const OTHERS: [&str; 13] = [
    "while", "switch", "match", "case", "raise", "throw", "global", "nonlocal", "del", "assert",
    "yield", "break", "continue",
];

/// The statements of `text`; `None` if a part is not one.
pub(super) fn program(text: &str) -> Option<Vec<Statement>> {
    let mut parser = ProgramParser::new(text, 0)?;
    let mut found = Vec::new();
    while parser.peek().is_some() {
        parser.statement(&mut found)?;
    }
    Some(found)
}

/// The end of a block.
enum Block {
    Braces,
    /// The indentation of the head.
    Indentation(usize),
}

impl ProgramParser<'_> {
    fn line(&self) -> Option<usize> {
        match self.tokens.get(self.at)?.kind {
            TokenKind::Line(indentation) => Some(indentation),
            _ => None,
        }
    }

    /// The indentation of the line that has the next token.
    fn indentation(&self) -> usize {
        let before = self.tokens.get(..self.at).unwrap_or_default().iter().rev();
        let mut lines = before.filter_map(|token| match token.kind {
            TokenKind::Line(indentation) => Some(indentation),
            _ => None,
        });
        lines.next().unwrap_or_default()
    }

    fn skip_line(&mut self) {
        while self.at < self.tokens.len() && self.line().is_none() {
            self.at += 1;
        }
    }

    /// Reads a statement into `found`.
    fn statement(&mut self, found: &mut Vec<Statement>) -> Option<()> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return None;
        }
        if self.line().is_some() {
            self.at += 1;
        }
        self.read(found)?;
        let _ = self.take_sign(";");
        // Each statement has its own line, or ends before a bracket.
        let ends = self.line().is_some()
            || self.tokens.get(self.at).is_none()
            || self.is_sign("}")
            || self
                .tokens
                .get(self.at.checked_sub(1)?)
                .is_some_and(|token| matches!(token.kind, TokenKind::Sign(";" | "}")));
        self.depth -= 1;
        ends.then_some(())
    }

    fn read(&mut self, found: &mut Vec<Statement>) -> Option<()> {
        if self.is_sign("@") {
            self.skip_line();
            return Some(());
        }
        if self.is_sign(";") {
            return Some(());
        }
        let word = self.word().unwrap_or_default();
        match word {
            "import" => {
                self.import();
                return Some(());
            }
            "from" if found.iter().all(is_surrounding) => {
                self.import();
                return Some(());
            }
            "class" => return self.class(found),
            "pass" | "end" | "done" if !self.is_assigned(self.at) => {
                self.at += 1;
                return Some(());
            }
            "if" | "unless" => {
                return self
                    .condition(word == "unless")
                    .map(|statement| found.push(statement));
            }
            "for" | "foreach" => return self.loop_over().map(|statement| found.push(statement)),
            "try" => return self.attempt().map(|statement| found.push(statement)),
            "with" | "parallel" => {
                return self.transparent().map(|statement| found.push(statement));
            }
            "return" => {
                self.at += 1;
                let is_empty = self.line().is_some() || self.is_sign(";") || self.is_sign("}");
                let value = if is_empty || self.tokens.get(self.at).is_none() {
                    None
                } else {
                    Some(self.expression()?)
                };
                found.push(Statement::Return(value));
                return Some(());
            }
            word if OTHERS.contains(&word) => return None,
            _ => {}
        }
        let before = self.at;
        while BEFORE_FUNCTIONS.iter().any(|word| self.take_word(word)) {}
        match self.word().unwrap_or_default() {
            "def" | "function" | "fn" | "func" => {
                self.at += 1;
                return self.function().map(|statement| found.push(statement));
            }
            "for" | "with" => {
                return self.read(found);
            }
            _ => {}
        }
        // `async () => …` is a value, and `export default` only a mark of one.
        let is_async = self.at > before
            && matches!(
                self.tokens.get(self.at - 1).map(|token| &token.kind),
                Some(TokenKind::Name("async"))
            );
        self.at -= usize::from(is_async);
        self.assignment().map(|statement| found.push(statement))
    }

    /// Returns true if the name at the position `at` is the target of an assignment.
    fn is_assigned(&self, at: usize) -> bool {
        let next = self.tokens.get(at + 1).map(|token| &token.kind);
        matches!(next, Some(TokenKind::Sign("=" | ":=")))
    }

    /// Skips a class that declares fields only.
    fn class(&mut self, found: &mut Vec<Statement>) -> Option<()> {
        let indentation = self.indentation();
        let start = self.at;
        // A class with methods is a group of functions.
        while !self.is_sign(":") && self.line().is_none() && self.at < self.tokens.len() {
            self.at += 1;
        }
        let is_function = |statement: &Statement| matches!(statement, Statement::Define(..));
        if let Some(methods) = self
            .block(indentation)
            .filter(|all| all.iter().all(is_function))
        {
            found.extend(methods.into_iter().map(|method| match method {
                Statement::Define(name, mut function) => {
                    function
                        .parameters
                        .retain(|parameter| !matches!(&*parameter.name, "self" | "cls"));
                    Statement::Define(name, function)
                }
                other => other,
            }));
            return Some(());
        }
        self.at = start;
        self.skip_line();
        while self.line().is_some_and(|line| line > indentation) {
            self.at += 1;
            let is_method = matches!(self.word(), Some("def" | "async"));
            (!is_method).then_some(())?;
            self.skip_line();
        }
        Some(())
    }

    /// Skips an import, which may have a list in brackets over several lines.
    fn import(&mut self) {
        let mut depth = 0_usize;
        while let Some(token) = self.tokens.get(self.at) {
            match token.kind {
                TokenKind::Sign("{" | "(") => depth += 1,
                TokenKind::Sign("}" | ")") => depth = depth.saturating_sub(1),
                TokenKind::Line(_) if depth == 0 => return,
                _ => {}
            }
            self.at += 1;
        }
    }

    /// `if a: … elif b: … else: …`
    fn condition(&mut self, is_negated: bool) -> Option<Statement> {
        let indentation = self.indentation();
        self.at += 1;
        let condition = self.expression()?;
        let _ = self.take_word("then");
        let condition = if is_negated {
            Expression::Not(condition.into())
        } else {
            condition
        };
        let body = self.block(indentation)?;
        let other = self.otherwise(indentation)?;
        // `if __name__ == "__main__":` has the call of the program.
        Some(Statement::If(condition, body, other))
    }

    /// The statements after `else`, or none.
    fn otherwise(&mut self, indentation: usize) -> Option<Vec<Statement>> {
        let line = usize::from(self.line() == Some(indentation));
        let word = match self.tokens.get(self.at + line).map(|token| &token.kind) {
            Some(TokenKind::Name(word)) => *word,
            _ => return Some(Vec::new()),
        };
        if !matches!(word, "else" | "elif" | "elsif" | "elseif" | "otherwise") {
            return Some(Vec::new());
        }
        self.at += line;
        let is_choice = matches!(word, "elif" | "elsif" | "elseif");
        self.at += usize::from(!is_choice);
        if is_choice || self.word() == Some("if") {
            self.depth += 1;
            if self.depth > MAX_DEPTH {
                return None;
            }
            let inner = self.condition_at(indentation)?;
            self.depth -= 1;
            return Some(vec![inner]);
        }
        self.block(indentation)
    }

    /// A condition in the place of an `else`, whose indentation is that of its `if`.
    fn condition_at(&mut self, indentation: usize) -> Option<Statement> {
        self.at += 1;
        let condition = self.expression()?;
        let _ = self.take_word("then");
        let body = self.block(indentation)?;
        let other = self.otherwise(indentation)?;
        Some(Statement::If(condition, body, other))
    }

    /// `for x in list:`, `for (const x of list) {`, `for each x in list do`
    fn loop_over(&mut self) -> Option<Statement> {
        let indentation = self.indentation();
        self.at += 1;
        let _ = self.take_word("await");
        let is_enclosed = self.take_sign("(");
        let declares = DECLARATIONS.iter().any(|word| self.take_word(word));
        let _ = self.take_word("each") || self.take_word("every");
        let mut name = self.name()?;
        // `for i, x in enumerate(list)`
        let position = self.take_sign(",").then(|| std::mem::take(&mut name));
        if position.is_some() {
            name = self.name()?;
        }
        // `for (const key in list)` goes over the positions.
        let goes_over = if declares {
            self.take_word("of")
        } else {
            self.take_word("in") || self.take_word("of")
        };
        goes_over.then_some(())?;
        let mut list = self.expression()?;
        if is_enclosed {
            self.take_sign(")").then_some(())?;
        }
        let _ = self.take_word("do");
        let mut body = self.block(indentation)?;
        if let Some(position) = position {
            let Expression::Call(function, arguments) = list else {
                return None;
            };
            let is_counted = *function == Expression::Name("enumerate".to_owned());
            let [argument] = <[_; 1]>::try_from(arguments).ok()?;
            (is_counted && argument.name.is_none()).then_some(())?;
            list = argument.value;
            let index = Expression::Name(LOOP_INDEX.to_owned());
            body.insert(0, Statement::Assign(vec![position], index));
        }
        Some(Statement::ForEach(name, list, body))
    }

    /// `try: … except Error as e: … else: … finally: …`
    fn attempt(&mut self) -> Option<Statement> {
        let indentation = self.indentation();
        self.at += 1;
        let body = self.block(indentation)?;
        let word = self.next_part(indentation, &["except", "catch", "rescue"])?;
        let mut error = None;
        // The kind of the failure and its name.
        while !self.is_sign(":") && !self.is_sign("{") {
            if self.line().is_some() || self.tokens.get(self.at).is_none() {
                break;
            }
            let is_before_name = self.take_word("as")
                || self.take_sign("=>")
                || (word == "catch" && self.take_sign("("));
            if is_before_name {
                error = self.word().map(str::to_owned);
            } else {
                self.at += 1;
            }
        }
        let handler = self.block(indentation)?;
        let starts_line = self.line() == Some(indentation);
        let otherwise = match starts_line.then(|| self.next_part(indentation, &["else"])) {
            Some(Some(_)) => self.block(indentation)?,
            Some(None) | None => Vec::new(),
        };
        let finally = match self.next_part(indentation, &["finally", "ensure"]) {
            Some(_) => self.block(indentation)?,
            None => Vec::new(),
        };
        let others = ["except", "catch", "rescue", "else", "finally", "ensure"];
        let is_complete = self.next_part(indentation, &others).is_none();
        is_complete.then_some(Statement::Try(TryBlock {
            body,
            error,
            handler,
            otherwise,
            finally,
        }))
    }

    /// Takes the word with which the next part of the block at `indentation` begins, if it is one of `words`.
    fn next_part(&mut self, indentation: usize, words: &[&'static str]) -> Option<&'static str> {
        let line = usize::from(self.line() == Some(indentation));
        let TokenKind::Name(name) = self.tokens.get(self.at + line)?.kind else {
            return None;
        };
        let word = words.iter().find(|word| **word == name)?;
        self.at += line + 1;
        Some(word)
    }

    /// A block that only surrounds its statements: `with DAG() as dag:`, or `parallel:`.
    fn transparent(&mut self) -> Option<Statement> {
        let indentation = self.indentation();
        let is_parallel = self.word() == Some("parallel");
        let mut depth = 0_usize;
        while let Some(token) = self.tokens.get(self.at) {
            match token.kind {
                TokenKind::Sign("(" | "[" | "{") if !is_parallel => depth += 1,
                TokenKind::Sign(")" | "]" | "}") => depth = depth.saturating_sub(1),
                TokenKind::Sign(":" | "{") | TokenKind::Line(_) if depth == 0 => break,
                // A file is not a tool.
                TokenKind::Name("open") => return None,
                _ => {}
            }
            self.at += 1;
        }
        let body = self.block(indentation)?;
        if is_parallel {
            return Some(Statement::Parallel(body));
        }
        // The statements stand for themselves.
        Some(Statement::If(
            Expression::Literal(planwright_core::Value::Bool(true)),
            body,
            Vec::new(),
        ))
    }

    /// `name(parameters) -> kind: …`
    fn function(&mut self) -> Option<Statement> {
        let indentation = self.indentation();
        let name = if self.is_sign("(") {
            "main".to_owned()
        } else {
            self.name()?
        };
        self.take_sign("(").then_some(())?;
        let parameters = self.inside(")", Self::parameters)?;
        // The kind of the result.
        while !self.is_sign("{") && (!self.is_sign(":") || !self.ends_head()) {
            if self.line().is_some() || self.tokens.get(self.at).is_none() {
                return None;
            }
            self.at += 1;
        }
        let body = self.block(indentation)?;
        Some(Statement::Define(
            name,
            FunctionDefinition { parameters, body },
        ))
    }

    /// Returns true if the next token is the last one of its line, or before `return`. Otherwise, it is before a type.
    fn ends_head(&self) -> bool {
        let next = self.tokens.get(self.at + 1);
        next.is_none_or(|next| matches!(next.kind, TokenKind::Line(_) | TokenKind::Name("return")))
    }

    /// The statements of a block whose head has the indentation `indentation`.
    fn block(&mut self, indentation: usize) -> Option<Vec<Statement>> {
        if self.is_sign("{") {
            return self.braces();
        }
        let _ = self.take_sign(":");
        if self.line().is_none() {
            // A statement on the line of the head.
            let mut found = Vec::new();
            self.statement(&mut found)?;
            return Some(found);
        }
        let outer = std::mem::take(&mut self.brackets);
        let found = self.statements(&Block::Indentation(indentation));
        self.brackets = outer;
        found
    }

    /// The statements in braces.
    pub(super) fn braces(&mut self) -> Option<Vec<Statement>> {
        self.take_sign("{").then_some(())?;
        let outer = std::mem::take(&mut self.brackets);
        let found = self.statements(&Block::Braces);
        let line = usize::from(self.line().is_some());
        self.at += line;
        let is_closed = self.take_sign("}");
        self.brackets = outer;
        found.filter(|_| is_closed)
    }

    fn statements(&mut self, block: &Block) -> Option<Vec<Statement>> {
        let mut found = Vec::new();
        loop {
            let line = self.line();
            let next = self.at + usize::from(line.is_some());
            let Some(token) = self.tokens.get(next) else {
                return Some(found);
            };
            match block {
                Block::Braces if matches!(token.kind, TokenKind::Sign("}")) => return Some(found),
                Block::Indentation(head) if line.is_some_and(|line| line <= *head) => {
                    // An `end` on the level of the head.
                    if matches!(token.kind, TokenKind::Name("end" | "fi" | "done"))
                        && line == Some(*head)
                        && !self.is_assigned(next)
                    {
                        self.at = next + 1;
                        let _ = self.take_word("if") || self.take_word("for");
                    }
                    return (!found.is_empty() || self.was_empty(next)).then_some(found);
                }
                Block::Braces | Block::Indentation(_) => {}
            }
            self.statement(&mut found)?;
        }
    }

    /// Returns true if the block before the token `next` has a `pass`.
    fn was_empty(&self, next: usize) -> bool {
        let before = next.checked_sub(2).and_then(|at| self.tokens.get(at));
        before.is_some_and(|token| matches!(token.kind, TokenKind::Name("pass")))
    }

    /// `name = value`, or a value alone.
    fn assignment(&mut self) -> Option<Statement> {
        let declares = DECLARATIONS.iter().any(|word| self.take_word(word));
        let before = self.at;
        if let Some(names) = self.targets() {
            return Some(Statement::Assign(names, self.expression()?));
        }
        if declares {
            return None;
        }
        self.at = before;
        if let Some(statement) = self.augmented() {
            return Some(statement);
        }
        self.at = before;
        let value = self.expression()?;
        if self.take_sign("=") {
            // `module.exports = main`
            let is_export = value.dotted().first() == Some(&"module");
            return is_export
                .then(|| self.expression())
                .flatten()
                .map(Statement::Run);
        }
        // `f(x) -> name`
        let is_named = ["->", "=>", "→", "⇒"]
            .iter()
            .any(|sign| self.take_sign(sign));
        if is_named {
            return Some(Statement::Assign(vec![self.name()?], value));
        }
        Some(Statement::Run(value))
    }

    /// `name += value`
    fn augmented(&mut self) -> Option<Statement> {
        let name = self.name()?;
        let operators = [("+=", "+"), ("-=", "-"), ("*=", "*"), ("/=", "/")];
        let (_, operator) = operators.iter().find(|(sign, _)| self.take_sign(sign))?;
        let value = self.expression()?;
        let before = Expression::Name(name.clone());
        Some(Statement::Assign(
            vec![name],
            Expression::Binary(operator, before.into(), value.into()),
        ))
    }

    /// The names before an assignment.
    fn targets(&mut self) -> Option<Vec<String>> {
        let close = ["[", "{", "("]
            .iter()
            .zip(["]", "}", ")"])
            .find_map(|(open, close)| self.take_sign(open).then_some(close));
        let mut names = vec![self.name()?];
        while self.take_sign(",") {
            names.push(self.name()?);
        }
        if let Some(close) = close {
            self.take_sign(close).then_some(())?;
        } else if names.len() == 1 && self.take_sign(":") {
            // `name: kind = value`
            self.operation_of_type()?;
        }
        let is_assigned = ["=", ":=", "<-"].iter().any(|sign| self.take_sign(sign));
        is_assigned.then_some(names)
    }

    fn operation_of_type(&mut self) -> Option<()> {
        while !self.is_sign("=") {
            if self.line().is_some() || self.tokens.get(self.at).is_none() {
                return None;
            }
            self.at += 1;
        }
        Some(())
    }
}

/// Returns true for the parts of a program before its calls.
fn is_surrounding(statement: &Statement) -> bool {
    match statement {
        Statement::Assign(..) | Statement::Define(..) => true,
        // A text in quotes is a comment.
        Statement::Run(value) => value.as_text().is_some(),
        Statement::If(..)
        | Statement::ForEach(..)
        | Statement::Try(..)
        | Statement::Return(_)
        | Statement::Parallel(_) => false,
    }
}

//! Expressions with operators of Python and JavaScript, translated into those of this dialect. An operator that has another
//! meaning here has no translation.

use planwright_core::expression::MAX_EXPRESSION_DEPTH;

/// The language in which an expression is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Language {
    /// The native language, perhaps with words of others: names may contain hyphens.
    Own,
    /// Python or JavaScript, where the value of the expression is used.
    Value,
    /// Python or JavaScript in a condition: only the truth of `a and b` matters, not which operand is its value.
    Condition,
}

/// Functions and methods that have the same effect in Python and JavaScript, or exist only here.
const FUNCTIONS: [&str; 20] = [
    "avg",
    "contains",
    "distinct",
    "double",
    "endsWith",
    "first",
    "has",
    "int",
    "join",
    "json",
    "keys",
    "lowerAscii",
    "max",
    "min",
    "size",
    "startsWith",
    "string",
    "sum",
    "trim",
    "upperAscii",
];

/// Signs of more than one character; the longest of those with the same beginning comes first.
const SIGNS: [&str; 19] = [
    "===", "!==", "**", "//", "/*", "<=", ">=", "==", "!=", "&&", "||", "??", "?.", "=>", "<<",
    ">>", "--", "++", ":=",
];

/// The names of values.
const CONSTANTS: [&str; 7] = [
    "None",
    "True",
    "False",
    "null",
    "true",
    "false",
    "undefined",
];

/// `written` in the language of this dialect; `None` if an operator has no translation. The result may still be unreadable.
pub(super) fn translated(written: &str, language: Language) -> Option<String> {
    let tokens = tokens(written, language)?;
    let mut translator = Translator {
        tokens: &tokens,
        language,
        written: String::with_capacity(written.len()),
        groups: vec![Group::new(language == Language::Condition)],
        is_joined: false,
    };
    let mut at = 0;
    while at < tokens.len() {
        at += translator.token(at)?;
    }
    translator.end_operands()?;
    Some(translator.written)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TokenKind {
    Name,
    Number,
    /// A text in quotes.
    Text,
    Sign,
}

/// A part of an expression, with the blanks before it.
#[derive(Clone, Copy, Debug)]
struct Token<'t> {
    blanks: &'t str,
    text: &'t str,
    kind: TokenKind,
}

/// The tokens of `written`; `None` if a quote is never closed, or the languages read a string differently.
fn tokens(written: &str, language: Language) -> Option<Vec<Token<'_>>> {
    let mut tokens: Vec<Token<'_>> = Vec::new();
    let mut rest = written.trim_end();
    while !rest.is_empty() {
        let trimmed = rest.trim_start();
        let (blanks, after) = rest.split_at(rest.len() - trimmed.len());
        let first = after.chars().next()?;
        let (kind, length) = match first {
            '"' | '\'' => {
                let length = quoted_length(after, first)?;
                let text = after.get(..length)?;
                let before = tokens.last().filter(|_| blanks.is_empty());
                // Backslashes are plain in `r"…"`, and Python joins adjacent strings.
                let is_raw = before.is_some_and(|token| token.kind == TokenKind::Name);
                let is_adjacent = before.is_some_and(|token| token.kind == TokenKind::Text);
                if is_adjacent || (is_raw && text.contains('\\')) {
                    return None;
                }
                (TokenKind::Text, length)
            }
            '`' => return None,
            _ if first.is_ascii_digit() => (TokenKind::Number, number_length(after)),
            _ if is_of_name(first) => (TokenKind::Name, name_length(after, language)),
            _ => {
                let sign = SIGNS.iter().find(|sign| after.starts_with(**sign));
                let length = sign.map_or(first.len_utf8(), |sign| sign.len());
                (TokenKind::Sign, length)
            }
        };
        let (text, further) = after.split_at_checked(length)?;
        tokens.push(Token { blanks, text, kind });
        rest = further;
    }
    Some(tokens)
}

/// The length of the text in quotes at the start of `written`; `None` if it does not end.
pub(crate) fn quoted_length(written: &str, quote: char) -> Option<usize> {
    let mut is_escaped = false;
    for (at, sign) in written.char_indices().skip(1) {
        match sign {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            _ if sign == quote => return Some(at + sign.len_utf8()),
            _ => {}
        }
    }
    None
}

fn is_of_name(sign: char) -> bool {
    sign.is_alphanumeric() || sign == '_'
}

fn name_length(written: &str, language: Language) -> usize {
    let is_end = |(at, sign): &(usize, char)| {
        let follows = written[at + sign.len_utf8()..].starts_with(is_of_name);
        !(is_of_name(*sign) || (language == Language::Own && *sign == '-' && follows))
    };
    let end = written.char_indices().find(is_end);
    end.map_or(written.len(), |(at, _)| at)
}

fn number_length(written: &str) -> usize {
    let mut before = ' ';
    let is_end = |(_, sign): &(usize, char)| {
        let is_exponent = matches!(sign, '+' | '-') && matches!(before, 'e' | 'E');
        before = *sign;
        !(is_of_name(*sign) || *sign == '.' || is_exponent)
    };
    let end = written.char_indices().find(is_end);
    end.map_or(written.len(), |(at, _)| at)
}

/// A group in brackets, or the whole expression, with the state of its current operand of `and` and `or`.
#[derive(Debug)]
struct Group {
    /// True if only the truth of the group counts.
    is_condition: bool,
    /// The number of `not` before the operand; each is an open bracket in the translation.
    negations: usize,
    comparisons: usize,
    /// True if the operand is certainly true or false.
    is_truth: bool,
    /// True if all operands before it are.
    are_truths: bool,
    has_and_or: bool,
}

impl Group {
    fn new(is_condition: bool) -> Self {
        Self {
            is_condition,
            negations: 0,
            comparisons: 0,
            is_truth: false,
            are_truths: true,
            has_and_or: false,
        }
    }
}

struct Translator<'t> {
    tokens: &'t [Token<'t>],
    language: Language,
    written: String,
    /// The open groups, the innermost last.
    groups: Vec<Group>,
    /// True if the blanks before the next token are left out.
    is_joined: bool,
}

impl<'t> Translator<'t> {
    fn text(&self, at: usize) -> &'t str {
        self.tokens.get(at).map_or("", |token| token.text)
    }

    fn kind(&self, at: usize) -> Option<TokenKind> {
        self.tokens.get(at).map(|token| token.kind)
    }

    /// Returns true if a value ends right before the token `at`.
    fn follows_value(&self, at: usize) -> bool {
        at.checked_sub(1)
            .is_some_and(|before| match self.kind(before) {
                Some(TokenKind::Sign) => matches!(self.text(before), ")" | "]" | "}" | "?"),
                Some(TokenKind::Name) => !self.is_operator(before),
                Some(TokenKind::Number | TokenKind::Text) => true,
                None => false,
            })
    }

    /// Returns true if the name `at` follows a dot.
    fn is_field(&self, at: usize) -> bool {
        at > 0 && self.text(at - 1) == "."
    }

    /// Returns true if the name `at` is an operator, and no step or field.
    fn is_operator(&self, at: usize) -> bool {
        let words = ["and", "AND", "or", "OR", "not", "NOT", "is", "in"];
        words.contains(&self.text(at)) && !self.is_field(at) && self.text(at + 1) != "."
    }

    /// Writes the translation of the token `at`.
    fn write(&mut self, at: usize, text: &str) {
        let blanks = self.tokens.get(at).map_or("", |token| token.blanks);
        if !std::mem::take(&mut self.is_joined) {
            self.written.push_str(blanks);
        }
        self.written.push_str(text);
    }

    /// Translates the token `at` with those that belong to it, and returns their number.
    fn token(&mut self, at: usize) -> Option<usize> {
        match self.kind(at)? {
            TokenKind::Name if self.is_operator(at) => return self.word(at),
            TokenKind::Name => self.name(at)?,
            TokenKind::Sign => return self.sign(at),
            TokenKind::Number | TokenKind::Text => self.write(at, self.text(at)),
        }
        Some(1)
    }

    fn name(&mut self, at: usize) -> Option<()> {
        let name = self.text(at);
        let is_call = self.text(at + 1) == "(";
        // `len(x)` of Python
        let name = if is_call && name == "len" && !self.is_field(at) {
            "size"
        } else {
            name
        };
        if is_call && self.language != Language::Own && !FUNCTIONS.contains(&name) {
            return None;
        }
        let is_constant = !self.is_field(at) && !is_call && self.text(at + 1) != ".";
        let written = match name {
            "True" if is_constant => "true",
            "False" if is_constant => "false",
            "None" | "undefined" if is_constant => "null",
            other => other,
        };
        if is_constant && matches!(written, "true" | "false") {
            self.groups.last_mut()?.is_truth = true;
        }
        self.write(at, written);
        Some(())
    }

    /// Translates an operator that is a word.
    fn word(&mut self, at: usize) -> Option<usize> {
        match self.text(at) {
            "and" | "AND" => self.and_or(at, "&&")?,
            "or" | "OR" => self.and_or(at, "||")?,
            "in" => {
                // In Python, this is a search in a text.
                if self.language != Language::Own && self.kind(at + 1) == Some(TokenKind::Text) {
                    return None;
                }
                self.comparison(at, "in")?;
            }
            "is" => {
                let negates = self.text(at + 1) == "not";
                let (sign, length) = if negates { ("!=", 2) } else { ("==", 1) };
                // The identity of other values is more than their equality.
                let next = at + length;
                let is_literal = matches!(self.kind(next)?, TokenKind::Number | TokenKind::Text);
                if !is_literal && !CONSTANTS.contains(&self.text(next)) {
                    return None;
                }
                self.comparison(at, sign)?;
                return Some(length);
            }
            // `not in` has no operator here.
            _ if self.follows_value(at) => return None,
            // `not` binds less than comparisons.
            _ => {
                let group = self.groups.last_mut()?;
                group.negations += 1;
                group.is_truth = true;
                self.write(at, "!(");
                self.is_joined = true;
            }
        }
        Some(1)
    }

    fn sign(&mut self, at: usize) -> Option<usize> {
        let is_code = self.language != Language::Own;
        let sign = self.text(at);
        match sign {
            // The first begins a comment here. Code divides whole numbers into fractions, counts remainders of negative numbers
            // from below, and takes another value in place of null.
            "//" | "/*" => return None,
            "/" | "%" | "**" | "??" | "--" | "++" if is_code => return None,
            "===" | "!==" if matches!(self.text(at + 1), "[" | "{") => return None,
            "==" | "===" => self.comparison(at, "==")?,
            "!=" | "!==" => self.comparison(at, "!=")?,
            "<" | "<=" | ">" | ">=" => self.comparison(at, sign)?,
            "&&" | "||" => self.and_or(at, sign)?,
            "!" => {
                self.groups.last_mut()?.is_truth = true;
                self.write(at, sign);
            }
            // Names have no hyphens in code.
            "-" if is_code && self.follows_value(at) => {
                self.written.push(' ');
                self.is_joined = true;
                self.write(at, sign);
                if self
                    .tokens
                    .get(at + 1)
                    .is_some_and(|next| next.blanks.is_empty())
                {
                    self.written.push(' ');
                }
            }
            // In Python, the separator joins the list.
            "." if is_code
                && self.text(at + 1) == "join"
                && self.kind(at.checked_sub(1)?) == Some(TokenKind::Text) =>
            {
                return None;
            }
            // `$name`
            "$" if is_code
                && self.kind(at + 1) == Some(TokenKind::Name)
                && !self.follows_value(at) =>
            {
                self.write(at, "");
            }
            "[" if is_code && self.follows_value(at) => {
                if let Some(key) = self.key(at) {
                    self.write(at, ".");
                    self.written.push_str(key);
                    return Some(3);
                }
                self.open(at, false)?;
            }
            "(" => {
                let is_call = self.follows_value(at);
                let is_condition = !is_call && self.is_condition(at);
                self.open(at, is_condition)?;
            }
            "[" | "{" => self.open(at, false)?,
            ")" | "]" | "}" => {
                let is_truth = self.end_operands()?;
                self.groups.pop();
                let group = self.groups.last_mut()?;
                group.is_truth |= is_truth;
                self.write(at, sign);
            }
            "," | ":" => self.separator(at)?,
            // A `?` after a path makes it optional.
            "?" if self.begins_value(at + 1) => self.separator(at)?,
            _ => self.write(at, sign),
        }
        Some(1)
    }

    /// The key in the brackets `["key"]` at the token `at`, if it can be written after a dot.
    fn key(&self, at: usize) -> Option<&'t str> {
        let text = self.text(at + 1).strip_prefix(['"', '\''])?;
        let key = &text[..text.len() - 1];
        let is_name = key.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && key.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        (is_name && self.text(at + 2) == "]" && self.text(at + 3) != "(").then_some(key)
    }

    /// Returns true if a value can begin with the token `at`.
    fn begins_value(&self, at: usize) -> bool {
        match self.kind(at) {
            Some(TokenKind::Sign) => matches!(self.text(at), "(" | "[" | "{" | "-" | "!" | "."),
            Some(TokenKind::Name) => self.text(at) != "in",
            Some(TokenKind::Number | TokenKind::Text) => true,
            None => false,
        }
    }

    /// Returns true if only the truth of the group that the bracket `at` opens counts.
    fn is_condition(&self, at: usize) -> bool {
        let mut depth = 0_usize;
        let is_end = |index: &usize| {
            match self.text(*index) {
                "(" | "[" | "{" => depth += 1,
                ")" | "]" | "}" => depth = depth.saturating_sub(1),
                _ => {}
            }
            depth == 0
        };
        let end = (at..self.tokens.len()).find(is_end).unwrap_or(at);
        let is_between = |text: &str| {
            matches!(
                text,
                "" | "(" | ")" | "&&" | "||" | "!" | "and" | "AND" | "or" | "OR" | "not" | "NOT"
            )
        };
        let before = at.checked_sub(1).map_or("", |before| self.text(before));
        let group = self.groups.last();
        group.is_some_and(|group| group.is_condition)
            && is_between(before)
            && is_between(self.text(end + 1))
    }

    fn open(&mut self, at: usize, is_condition: bool) -> Option<()> {
        // A deeper one is unreadable; the bound keeps the search for closing brackets linear.
        if self.groups.len() > MAX_EXPRESSION_DEPTH {
            return None;
        }
        self.write(at, self.text(at));
        self.groups.push(Group::new(is_condition));
        Some(())
    }

    fn comparison(&mut self, at: usize, sign: &str) -> Option<()> {
        let group = self.groups.last_mut()?;
        group.comparisons += 1;
        group.is_truth = true;
        // In Python, `a < b < c` are two comparisons, and here the second is of the result of the first.
        if group.comparisons > 1 {
            return None;
        }
        self.write(at, sign);
        Some(())
    }

    fn and_or(&mut self, at: usize, sign: &str) -> Option<()> {
        self.end_operand()?;
        let group = self.groups.last_mut()?;
        group.has_and_or = true;
        self.write(at, sign);
        Some(())
    }

    fn separator(&mut self, at: usize) -> Option<()> {
        self.end_operands()?;
        self.write(at, self.text(at));
        Some(())
    }

    /// Ends an operand of `and` or `or`.
    fn end_operand(&mut self) -> Option<()> {
        let group = self.groups.last_mut()?;
        self.written.push_str(&")".repeat(group.negations));
        *group = Group {
            are_truths: group.are_truths && group.is_truth,
            has_and_or: group.has_and_or,
            ..Group::new(group.is_condition)
        };
        Some(())
    }

    /// Ends the operands of a group, or of a part of it; returns true if its value is certainly a boolean. `None` if it is the
    /// value of one of its operands.
    fn end_operands(&mut self) -> Option<bool> {
        self.end_operand()?;
        let is_code = self.language != Language::Own;
        let group = self.groups.last_mut()?;
        let is_operand = group.has_and_or && !group.are_truths && !group.is_condition;
        let are_truths = group.are_truths;
        *group = Group::new(group.is_condition);
        (!is_code || !is_operand).then_some(are_truths)
    }
}

#[cfg(test)]
mod tests;

//! A parser of expressions in Python, JavaScript and Jinja that writes them in this dialect: operators.

use super::form::{
    Argument, Binding, Form, Kind, ONLY_MISSING, choice, floor_quotient, joined, negated, quotient,
};
use super::tokens::Token;

/// The maximum depth of brackets.
pub(super) const MAX_DEPTH: usize = 24;

/// The state of parsing.
pub(super) struct ForeignParser<'t> {
    pub(super) tokens: &'t [Token<'t>],
    pub(super) at: usize,
    pub(super) depth: usize,
    /// The difference between the form and the expression, in some cases.
    pub(super) difference: Option<&'static str>,
    /// The fields of the item that have names of their own in the function around.
    pub(super) fields: Vec<String>,
}

impl<'t> ForeignParser<'t> {
    pub(super) fn new(tokens: &'t [Token<'t>]) -> Self {
        Self {
            tokens,
            at: 0,
            depth: 0,
            difference: None,
            fields: Vec::new(),
        }
    }

    /// The form of all tokens, and how it differs from them.
    pub(super) fn whole(mut self) -> Option<(String, Option<&'static str>)> {
        let form = self.expression()?;
        (self.at == self.tokens.len()).then_some((form.text, self.difference))
    }

    pub(super) fn sign(&self) -> &'t str {
        match self.tokens.get(self.at) {
            Some(Token::Sign(sign)) => sign,
            _ => "",
        }
    }

    pub(super) fn word(&self) -> &'t str {
        match self.tokens.get(self.at) {
            Some(Token::Name(name)) => name,
            _ => "",
        }
    }

    pub(super) fn takes(&mut self, sign: &str) -> bool {
        let is_next = self.sign() == sign;
        self.at += usize::from(is_next);
        is_next
    }

    pub(super) fn takes_word(&mut self, word: &str) -> bool {
        let is_next = self.word() == word;
        self.at += usize::from(is_next);
        is_next
    }

    pub(super) fn expression(&mut self) -> Option<Form> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return None;
        }
        let value = self.either()?;
        let form = if self.takes_word("if") {
            let condition = self.either()?;
            self.takes_word("else").then_some(())?;
            let otherwise = self.expression()?;
            choice(&condition, &value, &otherwise)
        } else if self.takes("?") {
            let then = self.expression()?;
            self.takes(":").then_some(())?;
            let otherwise = self.expression()?;
            choice(&value, &then, &otherwise)
        } else {
            value
        };
        self.depth -= 1;
        Some(form)
    }

    pub(super) fn either(&mut self) -> Option<Form> {
        let mut left = self.both()?;
        loop {
            let is_default = matches!(self.sign(), "??" | "?:");
            if !is_default && self.sign() != "||" && !matches!(self.word(), "or" | "OR") {
                return Some(left);
            }
            self.at += 1;
            let right = self.both()?;
            // `condition and value or other`
            if let Some((condition, value)) = left.text.split_once(" && ")
                && left.binding == Binding::And
                && matches!(right.kind, Kind::Text | Kind::Number)
            {
                left = Form::new(
                    format!("{condition} ? {value} : {}", right.text),
                    Binding::Choice,
                    right.kind,
                );
                continue;
            }
            // A value after `or` replaces a missing one.
            let is_value =
                matches!(right.kind, Kind::Text | Kind::Number | Kind::List) || right.text == "{}";
            let (sign, kind) = if is_default || (is_value && left.kind == Kind::Path) {
                if !is_default && !matches!(&*right.text, "0" | "''" | "[]" | "{}") {
                    self.difference = Some(ONLY_MISSING);
                }
                ("??", right.kind)
            } else {
                ("||", Kind::Truth)
            };
            let operand = |form: &Form| match sign {
                "??" => form.required(),
                _ => form.as_condition(),
            };
            let text = format!(
                "{} {sign} {}",
                operand(&left).within(Binding::Or),
                operand(&right).within(Binding::And)
            );
            left = Form::new(text, Binding::Or, kind);
        }
    }

    fn both(&mut self) -> Option<Form> {
        let mut left = self.negation()?;
        while self.sign() == "&&" || matches!(self.word(), "and" | "AND") {
            self.at += 1;
            let right = self.negation()?;
            let text = format!(
                "{} && {}",
                left.as_condition().within(Binding::And),
                right.as_condition().within(Binding::Comparison)
            );
            left = Form::new(text, Binding::And, Kind::Truth);
        }
        Some(left)
    }

    fn negation(&mut self) -> Option<Form> {
        if !matches!(self.word(), "not" | "NOT") {
            return self.comparison();
        }
        self.at += 1;
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return None;
        }
        let inner = self.negation()?;
        self.depth -= 1;
        Some(negated(&inner))
    }

    fn comparison(&mut self) -> Option<Form> {
        let left = self.sum()?;
        let sign = match (self.sign(), self.word()) {
            ("==" | "===" | "=", _) => "==",
            ("!=" | "!==" | "<>", _) => "!=",
            (sign @ ("<" | "<=" | ">" | ">="), _) => sign,
            (_, "in") => "in",
            (_, "is") => {
                self.at += 1;
                let negates = self.takes_word("not");
                self.at -= 1;
                if negates { "!=" } else { "==" }
            }
            (_, "not") if self.tokens.get(self.at + 1) == Some(&Token::Name("in")) => {
                self.at += 1;
                "not in"
            }
            _ => return Some(left),
        };
        self.at += 1;
        let right = self.sum()?;
        // `a < b < c`
        if matches!(self.sign(), "<" | "<=" | ">" | ">=" | "==" | "===") {
            return None;
        }
        // A text with several words is more probably a part of another text than an item of a list.
        if matches!(sign, "in" | "not in")
            && left.kind == Kind::Text
            && left.text.starts_with('\'')
            && left.text.contains(' ')
            && right.kind == Kind::Path
        {
            let form = format!("{}.contains({})", right.text, left.text);
            return Some(match sign {
                "in" => Form::value(form, Kind::Truth),
                _ => Form::new(format!("!{form}"), Binding::Prefix, Kind::Truth),
            });
        }
        let (left, right) = (left.within(Binding::Sum), right.within(Binding::Sum));
        Some(if sign == "not in" {
            Form::new(
                format!("!({left} in {right})"),
                Binding::Prefix,
                Kind::Truth,
            )
        } else {
            Form::new(
                format!("{left} {sign} {right}"),
                Binding::Comparison,
                Kind::Truth,
            )
        })
    }

    fn sum(&mut self) -> Option<Form> {
        let mut terms = vec![("", self.product()?)];
        let mut is_joined = false;
        while let sign @ ("+" | "-" | "~") = self.sign() {
            self.at += 1;
            // Jinja joins texts with `~`.
            is_joined |= sign == "~";
            let sign = if sign == "~" { "+" } else { sign };
            terms.push((sign, self.product()?));
        }
        if let [(_, only)] = terms.as_slice() {
            return Some(only.clone());
        }
        let is_text = (is_joined || terms.iter().any(|(_, term)| term.kind == Kind::Text))
            && terms.iter().all(|(sign, _)| *sign != "-");
        let kind = if is_text { Kind::Text } else { Kind::Other };
        let mut text = String::new();
        for (at, (sign, term)) in terms.iter().enumerate() {
            if at > 0 {
                text.extend([" ", sign, " "]);
            }
            if is_text && term.first_value().is_some() {
                self.difference = self.difference.or(Some(ONLY_MISSING));
            }
            text.push_str(&if is_text {
                term.as_text()
            } else {
                term.required().within(if at > 0 {
                    Binding::Product
                } else {
                    Binding::Sum
                })
            });
        }
        Some(Form::new(text, Binding::Sum, kind))
    }

    fn product(&mut self) -> Option<Form> {
        let mut left = self.prefix()?;
        while let sign @ ("*" | "/" | "%" | "//") = self.sign() {
            self.at += 1;
            if sign == "%" && left.kind == Kind::Text {
                left = self.percent_format(&left)?;
                continue;
            }
            let right = self.prefix()?;
            left = match sign {
                "/" => quotient(&left, &right),
                "//" => floor_quotient(&left, &right),
                _ => {
                    let first = left.required().within(Binding::Product);
                    let second = right.required().within(Binding::Prefix);
                    let text = format!("{first} {sign} {second}");
                    Form::new(text, Binding::Product, Kind::Other)
                }
            };
        }
        Some(left)
    }

    /// `'%s of %d' % (a, b)`.
    fn percent_format(&mut self, format: &Form) -> Option<Form> {
        let values = if self.takes("(") {
            self.arguments(")")?
                .into_iter()
                .map(|argument| match argument {
                    Argument::Value(form) => Some(form),
                    Argument::Named(..) | Argument::Function(..) | Argument::Loop(_) => None,
                })
                .collect::<Option<Vec<_>>>()?
        } else {
            vec![self.prefix()?]
        };
        let format = format.text.trim_matches('\'').replace("%d", "%s");
        joined(&format.split("%s").collect::<Vec<_>>(), &values)
    }

    fn prefix(&mut self) -> Option<Form> {
        let sign = self.sign();
        if !matches!(sign, "!" | "-" | "+") {
            self.takes_word("await");
            return self.postfix();
        }
        self.at += 1;
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return None;
        }
        let inner = self.prefix()?;
        self.depth -= 1;
        Some(match sign {
            "!" => negated(&inner),
            "-" => Form::new(
                format!("-{}", inner.within(Binding::Prefix)),
                Binding::Prefix,
                Kind::Number,
            ),
            _ => inner,
        })
    }
}

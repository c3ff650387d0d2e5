//! The operands of expressions: names, literals, calls, and expressions in brackets.

use super::calls;
use super::form::{Argument, Binding, Form, Kind, LoopForm, ONLY_MISSING, joined, list, text};
use super::methods;
use super::parser::ForeignParser;
use super::tokens::{Token, tokens};
use crate::native::guesses::quoted_length;

/// The name of an item whose fields alone have names in a function.
const FIELDS_OWNER: &str = "x";

/// Lists whose items at the same position a loop takes together.
struct ParallelLists {
    /// The variable of the position.
    position: String,
    /// The list that says how many there are.
    list: String,
    /// The variables of the items, with their lists.
    items: Vec<(String, String)>,
}

impl ParallelLists {
    /// The list of all positions.
    fn positions(&self) -> Form {
        Form::value(format!("lists.range(size({}))", self.list), Kind::List)
    }

    /// `text` with the items of the lists in place of their variables.
    fn with_items(&self, text: &str) -> String {
        let is_part = |sign: char| sign.is_alphanumeric() || sign == '_';
        let mut written = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(sign) = rest.chars().next() {
            let length = if matches!(sign, '"' | '\'') {
                quoted_length(rest, sign).unwrap_or(rest.len())
            } else {
                rest.find(|sign| !is_part(sign)).unwrap_or(rest.len())
            };
            let (word, after) = rest.split_at(length.max(sign.len_utf8()));
            let mut items = self.items.iter();
            match items.find(|(name, _)| name == word && !written.ends_with('.')) {
                Some((_, list)) => written.extend([list, "[", &*self.position, "]"]),
                None => written.push_str(word),
            }
            rest = after;
        }
        written
    }
}

impl ForeignParser<'_> {
    pub(super) fn postfix(&mut self) -> Option<Form> {
        let mut form = self.primary()?;
        let mut is_optional = false;
        let mut is_path = form.kind == Kind::Path;
        loop {
            match self.sign() {
                "." | "?." | "->" | "::" => {
                    is_optional |= self.sign() == "?.";
                    self.at += 1;
                    if self.sign() == "[" {
                        continue;
                    }
                    let name = match self.tokens.get(self.at)? {
                        Token::Name(name) => *name,
                        // `rows.0.name`
                        Token::Number(number) => {
                            self.at += 1;
                            let index: Vec<&str> = number.split('.').collect();
                            let text = format!("{}[{}]", form.text, index.join("]["));
                            form = Form::value(text, Kind::Path);
                            continue;
                        }
                        _ => return None,
                    };
                    self.at += 1;
                    form = if self.takes("(") {
                        let arguments = self.arguments(")")?;
                        self.differs(methods::difference(name, arguments.len()));
                        is_path = false;
                        methods::method(&form, name, &arguments)?
                    } else {
                        methods::field(&form, name)
                    };
                    is_path &= form.kind == Kind::Path;
                }
                "[" => {
                    self.at += 1;
                    form = self.index(&form.required())?;
                    is_path &= form.kind == Kind::Path;
                }
                // TypeScript's assertion that a value is not null.
                "!" => self.at += 1,
                "|" => {
                    self.at += 1;
                    let Token::Name(name) = self.tokens.get(self.at)? else {
                        return None;
                    };
                    self.at += 1;
                    let arguments = if self.takes("(") {
                        self.arguments(")")?
                    } else if self.takes(":") {
                        // `where: "field", value` of Liquid
                        self.listed()?
                    } else {
                        Vec::new()
                    };
                    self.differs(methods::difference(name, arguments.len()));
                    is_path = false;
                    form = methods::filter(&form, name, &arguments)?;
                }
                _ if is_optional && is_path && !form.text.ends_with('?') => {
                    return Some(Form::value(form.text + "?", form.kind));
                }
                _ => {
                    self.differs(is_optional.then_some("a missing part is an error"));
                    return Some(form);
                }
            }
        }
    }

    /// Arguments without brackets, with commas between them.
    fn listed(&mut self) -> Option<Vec<Argument>> {
        let mut arguments = Vec::new();
        loop {
            let form = self.primary()?;
            arguments.push(Argument::Value(form));
            if !self.takes(",") {
                return Some(arguments);
            }
        }
    }

    /// The operands of `eq a.b 3`, a call of Go's templates and of Handlebars; `None` if they are none.
    fn spaced(&mut self) -> Option<Vec<Argument>> {
        let mut operands = Vec::new();
        while self.at < self.tokens.len() && !matches!(self.sign(), ")" | "}" | "|") {
            operands.push(Argument::Value(self.postfix()?));
        }
        (!operands.is_empty()).then_some(operands)
    }

    /// The item or the part of `list` in brackets, after the opening one.
    fn index(&mut self, list: &Form) -> Option<Form> {
        let within = list.within(Binding::Value);
        // `rows[].name` of jq and JMESPath, and the path of this dialect
        let is_all = matches!(
            self.tokens.get(self.at..self.at + 2),
            Some([Token::Sign("*"), Token::Sign("]")])
        );
        self.at += usize::from(is_all);
        if self.takes("]") {
            return Some(Form::value(format!("{within}[*]"), Kind::Path));
        }
        let from = if self.sign() == ":" {
            None
        } else {
            Some(self.expression()?)
        };
        if self.takes("]") {
            let from = from?;
            if from.kind == Kind::Truth {
                return methods::matching(list, &from);
            }
            return Some(Form::value(format!("{within}[{}]", from.text), Kind::Path));
        }
        self.takes(":").then_some(())?;
        let to = if self.sign() == "]" {
            None
        } else {
            Some(self.expression()?)
        };
        self.takes("]").then_some(())?;
        Some(methods::slice(list, from.as_ref(), to.as_ref()))
    }

    fn primary(&mut self) -> Option<Form> {
        let token = self.tokens.get(self.at)?.clone();
        self.at += 1;
        match token {
            Token::Number(number) => {
                let number = number.replace('_', "");
                Some(Form::value(number, Kind::Number))
            }
            Token::Text(inside) => Some(text(inside)),
            Token::Template(inside, opening) => self.template(inside, opening),
            Token::Name("lambda") => None,
            Token::Name("new") => {
                let date = self.takes_word("Date") && self.takes("(");
                date.then_some(())?;
                let arguments = self.arguments(")")?;
                calls::date(&arguments)
            }
            Token::Name(name) => self.name(name),
            Token::Sign("$" | "@") => {
                let Token::Name(name) = self.tokens.get(self.at)? else {
                    return None;
                };
                self.at += 1;
                self.name(name)
            }
            Token::Sign("(") => {
                let values = self.arguments(")")?;
                match values.as_slice() {
                    [Argument::Value(form)] => {
                        let is_tuple = self.tokens.get(self.at - 2) == Some(&Token::Sign(","));
                        let inside = &form.text;
                        Some(if is_tuple {
                            Form::value(format!("[{inside}]"), Kind::List)
                        } else {
                            Form::value(format!("({inside})"), form.kind)
                        })
                    }
                    _ => list(values),
                }
            }
            Token::Sign("[") => {
                let start = self.at;
                let values = self.arguments("]")?;
                let inside = self.tokens.get(start..self.at).unwrap_or_default();
                let iterates = inside
                    .windows(2)
                    .any(|pair| pair == [Token::Sign("["), Token::Sign("]")]);
                match values.as_slice() {
                    // `[.rows[].name]` of jq is the list of all values that the path gives.
                    [Argument::Value(form)] if iterates && form.text.contains("[*]") => {
                        Some(Form::value(form.within(Binding::Value), Kind::List))
                    }
                    _ => list(values),
                }
            }
            Token::Sign("{") => self.object(),
            Token::Sign(_) => None,
        }
    }

    fn name(&mut self, name: &str) -> Option<Form> {
        if self.fields.iter().any(|field| field == name) && self.sign() != "(" {
            return Some(Form::value(format!("{FIELDS_OWNER}.{name}"), Kind::Path));
        }
        let constant = match name {
            "True" | "TRUE" | "true" => Some(("true", Kind::Truth)),
            "False" | "FALSE" | "false" => Some(("false", Kind::Truth)),
            "None" | "undefined" | "nil" | "null" | "NULL" => Some(("null", Kind::Other)),
            _ => None,
        };
        if let Some((constant, kind)) = constant {
            return Some(Form::value(constant, kind));
        }
        if self.takes("(") {
            let arguments = self.arguments(")")?;
            return calls::function(name, &arguments);
        }
        let is_value = !matches!(self.tokens.get(self.at), None | Some(Token::Sign(_)));
        if is_value
            && calls::is_prefix(name)
            && !matches!(
                self.word(),
                "in" | "is" | "if" | "and" | "or" | "not" | "for" | "else"
            )
        {
            let operands = self.spaced()?;
            let name = if name == "json" { "string" } else { name };
            return calls::function(name, &operands);
        }
        // `JSON.parse(…)`
        if let (".", Some(Token::Name(function)), Some(Token::Sign("("))) = (
            self.sign(),
            self.tokens.get(self.at + 1),
            self.tokens.get(self.at + 2),
        ) && calls::is_namespace(name)
        {
            self.at += 3;
            let arguments = self.arguments(")")?;
            return calls::of_namespace(name, function, &arguments);
        }
        Some(Form::value(name, Kind::Path))
    }

    /// `{'a': 1}`, after the opening bracket.
    fn object(&mut self) -> Option<Form> {
        let mut fields = Vec::new();
        while !self.takes("}") {
            let key = match self.tokens.get(self.at)? {
                Token::Name(name) => name,
                Token::Text(text) => text,
                _ => return None,
            };
            self.at += 1;
            self.takes(":").then_some(())?;
            let value = self.expression()?;
            fields.push(format!("'{key}': {}", value.text));
            if !self.takes(",") && self.sign() != "}" {
                return None;
            }
        }
        Some(Form::value(
            format!("{{{}}}", fields.join(", ")),
            Kind::Other,
        ))
    }

    /// The arguments up to the bracket `closing`.
    pub(super) fn arguments(&mut self, closing: &str) -> Option<Vec<Argument>> {
        let mut arguments = Vec::new();
        loop {
            if self.takes(closing) {
                return Some(arguments);
            }
            arguments.push(self.argument()?);
            if !self.takes(",") && self.sign() != closing {
                return None;
            }
        }
    }

    fn argument(&mut self) -> Option<Argument> {
        if let (Some(Token::Name(name)), Some(Token::Sign("="))) =
            (self.tokens.get(self.at), self.tokens.get(self.at + 1))
        {
            self.at += 2;
            let value = self.argument()?;
            return Some(Argument::Named((*name).to_owned(), Box::new(value)));
        }
        if let Some(fields) = self.fields_of_item() {
            let outer = std::mem::replace(&mut self.fields, fields);
            let body = self.expression()?;
            self.fields = outer;
            return Some(Argument::Function(vec![FIELDS_OWNER.to_owned()], body));
        }
        if let Some(variables) = self.parameters() {
            let body = self.expression()?;
            return Some(Argument::Function(variables, body));
        }
        self.depth += 1;
        if self.takes("...") {
            let list = self.expression()?;
            self.depth -= 1;
            return Some(Argument::Named(
                "...".to_owned(),
                Box::new(Argument::Value(list)),
            ));
        }
        let value = self.expression()?;
        self.depth -= 1;
        if !self.takes_word("for") {
            return Some(Argument::Value(value));
        }
        self.loop_of(value)
    }

    /// The names in the parameter of a function such as `({ name, id }) => …`, the fields of an item; the cursor does not move if there
    /// is no such function.
    fn fields_of_item(&mut self) -> Option<Vec<String>> {
        let start = self.at;
        let mut fields = Vec::new();
        if self.takes("(") && self.takes("{") {
            while !self.word().is_empty() {
                fields.push(self.word().to_owned());
                self.at += 1;
                if !self.takes(",") {
                    break;
                }
            }
            // A field inside of another one, or the same name for another value, would need more.
            let is_other = self.tokens.contains(&Token::Name(FIELDS_OWNER));
            if self.takes("}") && self.takes(")") && self.takes("=>") && !is_other {
                return Some(fields).filter(|fields| !fields.is_empty());
            }
        }
        self.at = start;
        None
    }

    /// The loop with the value `value`, after its word `for`.
    fn loop_of(&mut self, mut value: Form) -> Option<Argument> {
        let variable = self.word().to_owned();
        self.at += 1;
        let counted = if self.takes(",") {
            let second = self.word().to_owned();
            self.at += 1;
            Some(second)
        } else {
            None
        };
        self.takes_word("in").then_some(())?;
        let parallel = match &counted {
            Some(second) => Some(self.parallel_lists(&variable, second)?),
            None => None,
        };
        let list = match &parallel {
            Some(lists) => lists.positions(),
            None => self.either()?,
        };
        let mut condition = if self.takes_word("if") {
            Some(self.either()?)
        } else {
            None
        };
        let variable = match &parallel {
            Some(lists) => {
                value.text = lists.with_items(&value.text);
                if let Some(condition) = &mut condition {
                    condition.text = lists.with_items(&condition.text);
                }
                lists.position.clone()
            }
            None => variable,
        };
        let mut comprehension = LoopForm {
            value,
            variable,
            list,
            condition,
            is_nested: false,
        };
        // `x + y for x in a for y in b`
        if self.takes_word("for") {
            self.depth += 1;
            if self.depth > super::parser::MAX_DEPTH {
                return None;
            }
            let Argument::Loop(inner) = self.loop_of(comprehension.value.clone())? else {
                return None;
            };
            self.depth -= 1;
            comprehension.value = inner.mapped();
            comprehension.is_nested = true;
        }
        Some(Argument::Loop(comprehension))
    }

    /// The lists of `enumerate(list)` and `zip(list, other)`, whose loop has the variables `first` and `second`.
    fn parallel_lists(&mut self, first: &str, second: &str) -> Option<ParallelLists> {
        let function = self.word();
        self.at += 1;
        self.takes("(").then_some(())?;
        let lists = self.arguments(")")?.into_iter().map(|list| match list {
            Argument::Value(list) => Some(list.required().within(Binding::Value)),
            Argument::Named(..) | Argument::Function(..) | Argument::Loop(_) => None,
        });
        let lists: Vec<String> = lists.collect::<Option<_>>()?;
        match (function, lists.as_slice()) {
            ("enumerate", [list]) => Some(ParallelLists {
                position: first.to_owned(),
                list: list.clone(),
                items: vec![(second.to_owned(), list.clone())],
            }),
            ("zip", [list, other]) if first != "i" && second != "i" => Some(ParallelLists {
                position: "i".to_owned(),
                list: list.clone(),
                items: vec![
                    (first.to_owned(), list.clone()),
                    (second.to_owned(), other.clone()),
                ],
            }),
            _ => None,
        }
    }

    /// The text with the content `inside`, whose expressions are between `opening` and `}`.
    fn template(&mut self, inside: &str, opening: &str) -> Option<Form> {
        let mut texts = Vec::new();
        let mut values = Vec::new();
        let mut rest = inside;
        while let Some((before, after)) = rest.split_once(opening) {
            let (expression, after) = after.split_once('}')?;
            // A format such as `{x:.2f}` has no form here.
            let tokens = tokens(expression)?;
            let mut parser = ForeignParser::new(&tokens);
            parser.depth = self.depth + 1;
            parser.fields.clone_from(&self.fields);
            let value = parser.expression()?;
            (parser.at == tokens.len()).then_some(())?;
            self.differs(parser.difference);
            self.differs(value.first_value().map(|_| ONLY_MISSING));
            texts.push(before);
            values.push(value);
            rest = after;
        }
        texts.push(rest);
        joined(&texts, &values)
    }

    /// Remembers how the form differs from the expression.
    fn differs(&mut self, difference: Option<&'static str>) {
        self.difference = self.difference.or(difference);
    }

    /// The parameters of a function, with the sign that ends them; the cursor does not move if there is no function.
    fn parameters(&mut self) -> Option<Vec<String>> {
        let start = self.at;
        let is_lambda = self.takes_word("lambda");
        let is_enclosed = !is_lambda && self.takes("(");
        let mut names = Vec::new();
        while !self.word().is_empty() {
            names.push(self.word().to_owned());
            self.at += 1;
            if !self.takes(",") {
                break;
            }
        }
        let ends = if is_lambda {
            self.takes(":")
        } else {
            (!is_enclosed || self.takes(")")) && self.takes("=>")
        };
        if ends && !names.is_empty() {
            return Some(names);
        }
        self.at = start;
        None
    }
}

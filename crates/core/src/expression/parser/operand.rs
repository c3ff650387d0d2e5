//! Parsing of operands: literals, paths and calls, with their accessors.

use std::sync::Arc;

use super::cursor::{name_length, plain_name};
use super::grammar::Parser;
use super::time;
use crate::StepId;
use crate::Value;
use crate::expression::ExpressionError;
use crate::expression::function;
use crate::expression::operator::whole_index;
use crate::expression::program::ROOTS;
use crate::expression::tree::{Accessor, Tree, add};
use crate::plan::{ExternalValue, Missing, Path, Read, Segment, SlotKind, Source};
use crate::value::Object;

impl Parser<'_> {
    /// Parses an operand with its accessors.
    pub(super) fn operand(&mut self) -> Result<Tree, ExpressionError> {
        self.cursor.skip_space();
        let tree = match self.cursor.peek() {
            Some('(') => {
                self.cursor.bump();
                let inner = self.nested()?;
                self.cursor.expect(")")?;
                in_brackets(inner)
            }
            Some('[') => self.list()?,
            Some('{') => self.object()?,
            Some('"' | '\'') => Tree::Literal(self.cursor.quoted(false)?.into()),
            Some(digit) if digit.is_ascii_digit() || self.cursor.is_at_fraction() => {
                Tree::Literal(self.cursor.number()?)
            }
            _ => self.named()?,
        };
        let tree = self.accessors(tree).map(without_brackets)?;
        self.reject_floor_division()?;
        Ok(tree)
    }

    fn list(&mut self) -> Result<Tree, ExpressionError> {
        self.cursor.bump();
        let items = if self.trailing_comma("]")? {
            Vec::new()
        } else {
            self.arguments("]")?
        };
        // A constant list needs no evaluation and is shared by all of them.
        let literals: Option<Vec<Value>> = items
            .iter()
            .map(|item| match item {
                Tree::Literal(value) => Some(value.clone()),
                _ => None,
            })
            .collect();
        Ok(literals.map_or(Tree::List(items), |values| Tree::Literal(values.into())))
    }

    fn object(&mut self) -> Result<Tree, ExpressionError> {
        self.cursor.bump();
        let mut fields = Vec::new();
        let mut literals = Some(Object::default());
        if self.trailing_comma("}")? {
            return Ok(Tree::Literal(Value::empty_object()));
        }
        loop {
            if self.cursor.take_spaced("}") {
                break;
            }
            let at = self.cursor.at;
            let key = self.nested()?;
            self.cursor.expect(":")?;
            let value = self.nested()?;
            match (&key, &value) {
                (Tree::Literal(Value::Text(key)), Tree::Literal(value)) => {
                    let repeated = literals
                        .as_mut()
                        .is_some_and(|fields| fields.insert(key.clone(), value.clone()).is_some());
                    if repeated {
                        return Err(ExpressionError::new(
                            format!("the key `{key}` appears twice"),
                            at,
                        ));
                    }
                }
                (Tree::Literal(Value::Text(_)), _) => literals = None,
                (Tree::Literal(_), _) => {
                    return Err(ExpressionError::new("a key must be text", at));
                }
                _ => literals = None,
            }
            fields.push((key, value));
            if !self.cursor.take_spaced(",") {
                self.cursor.expect("}")?;
                break;
            }
        }
        Ok(literals.map_or(Tree::Object(fields), |fields| Tree::Literal(fields.into())))
    }

    /// Consumes the comma that may precede `end` even in an empty list or object, and then `end`.
    fn trailing_comma(&mut self, end: &str) -> Result<bool, ExpressionError> {
        let found = self.cursor.take_spaced(",");
        if found {
            self.cursor.expect(end)?;
        }
        Ok(found)
    }

    /// Parses values separated by commas, up to `end`.
    pub(super) fn arguments(&mut self, end: &str) -> Result<Vec<Tree>, ExpressionError> {
        let mut arguments = Vec::new();
        loop {
            if self.cursor.take_spaced(end) {
                return Ok(arguments);
            }
            let start = self.cursor.at;
            add(&mut arguments, self.nested()?);
            if !self.cursor.take_spaced(",") {
                if let Some(error) = self.comprehension(start) {
                    return Err(error);
                }
                self.cursor.expect(end)?;
                return Ok(arguments);
            }
        }
    }

    /// Parses an operand that begins with a name: a keyword, a loop variable, a call or a path.
    fn named(&mut self) -> Result<Tree, ExpressionError> {
        let at = self.cursor.at;
        let Some(name) = self.cursor.name() else {
            return Err(self.cursor.unexpected("expected a value"));
        };
        match (name, self.cursor.peek()) {
            ("true", _) => return Ok(Tree::Literal(true.into())),
            ("false", _) => return Ok(Tree::Literal(false.into())),
            ("null", _) => return Ok(Tree::Literal(Value::Null)),
            ("in", _) => return Err(ExpressionError::new("`in` has no value before it", at)),
            ("r" | "R", Some('"' | '\'')) => {
                return Ok(Tree::Literal(self.cursor.quoted(true)?.into()));
            }
            ("b" | "B", Some('"' | '\'')) => {
                return Err(
                    ExpressionError::new("bytes are not values here", at).help("leave out the `b`")
                );
            }
            ("f" | "F", Some('"' | '\'')) => {
                return Err(ExpressionError::new("a text has no `f` before it", at)
                    .help("write `'text ' + string(value)`"));
            }
            ("new" | "not" | "lambda", Some(' ')) => {
                if let Some(error) = self.prefix_word(name, at) {
                    return Err(error);
                }
            }
            _ => {}
        }
        // A loop variable hides a step of the same name.
        if let Some(position) = self.locals.iter().rev().position(|local| *local == name) {
            return Ok(Tree::LoopVariable(position));
        }
        // Names may contain hyphens, so `x-1` is not a subtraction.
        if let Some((start, _)) = name.split_once('-')
            && self.locals.contains(&start)
        {
            return Err(
                ExpressionError::new(format!("`{name}` is read as one name"), at)
                    .help("put spaces around the `-`"),
            );
        }
        if function::NAMESPACES.contains(&name) {
            let end = self.cursor.at;
            if self.cursor.take_spaced(".") {
                self.cursor.skip_space();
                if let Some(function) = self.cursor.name()
                    && self.cursor.take_call()
                {
                    return self.call(&format!("{name}.{function}"), at);
                }
            }
            // It is a path that begins with the name of a namespace.
            self.cursor.at = end;
        }
        if let Some((name, hint)) = self.foreign_call(name, at) {
            let message = format!("there is no function `{name}`");
            return Err(ExpressionError::new(message, at).help(hint));
        }
        if self.cursor.take_call() {
            return self.call(name, at);
        }
        self.source(name, at)
            .map(|source| Tree::Read(Box::new(Read::whole(source))))
    }

    /// Returns the source at the root of a path: a reserved name, or the id of a step.
    fn source(&mut self, name: &str, at: usize) -> Result<Source, ExpressionError> {
        Ok(match name {
            "inputs" => Source::Slot(SlotKind::Inputs),
            "vars" => Source::Slot(SlotKind::Vars),
            "item" => Source::Item,
            "index" => Source::Index,
            "last" => Source::Last,
            "env" => {
                Source::ExternalValue(ExternalValue::Environment, self.constant_key(name, "NAME")?)
            }
            "secrets" => {
                Source::ExternalValue(ExternalValue::Secrets, self.constant_key(name, "NAME")?)
            }
            "steps" => Source::Step(StepId::new(self.constant_key(name, "id")?)),
            "results" => Source::Result(StepId::new(self.constant_key(name, "id")?)),
            "slots" => match self.constant_key(name, "state")?.as_ref() {
                "state" => Source::Slot(SlotKind::State),
                "data" => Source::Slot(SlotKind::Data),
                "inputs" => Source::Slot(SlotKind::Inputs),
                "vars" => Source::Slot(SlotKind::Vars),
                other => {
                    return Err(ExpressionError::reference(
                        format!("there are no slots called `{other}`"),
                        at,
                    )
                    .help("write `slots.state` or `slots.data`"));
                }
            },
            // The name hides a step.
            id if self.item_name == Some(id) => Source::Item,
            id => Source::Step(id.into()),
        })
    }

    /// Parses the required key after `root`: `.key` or `["key"]`.
    fn constant_key(&mut self, root: &str, example: &str) -> Result<Arc<str>, ExpressionError> {
        let at = self.cursor.at;
        let wrong = || {
            ExpressionError::reference(
                format!("`{root}` needs a name that is known before the run"),
                at,
            )
            .help(format!("write `{root}['{example}']`"))
        };
        if self.cursor.take_spaced(".") {
            self.cursor.skip_space();
            return self.cursor.name().map(Arc::from).ok_or_else(wrong);
        }
        if !self.cursor.take_spaced("[") {
            return Err(wrong());
        }
        self.cursor.skip_space();
        if !matches!(self.cursor.peek(), Some('"' | '\'')) {
            return Err(wrong());
        }
        let key = self.cursor.quoted(false)?;
        if !self.cursor.take_spaced("]") {
            return Err(wrong());
        }
        // No step and no slot has a blank name.
        if key.trim().is_empty() {
            return Err(wrong());
        }
        Ok(key.into())
    }

    /// Parses the accessors of `tree`: `.`, `[…]` and `?`.
    fn accessors(&mut self, mut tree: Tree) -> Result<Tree, ExpressionError> {
        loop {
            let end = self.cursor.at;
            self.cursor.skip_space();
            let at = self.cursor.at;
            match self.cursor.peek() {
                Some('.') => {
                    self.cursor.bump();
                    self.cursor.skip_space();
                    let Some(name) = self.cursor.name() else {
                        return Err(self.field_expected());
                    };
                    if self.cursor.take_call() {
                        let call = self.method(name, at + 1)?;
                        tree = time::method_call(tree, call);
                    } else {
                        check_accessible(&tree, at)?;
                        tree = with_segment(tree, Segment::key(name), Missing::Fail);
                    }
                }
                Some('[') => {
                    check_accessible(&tree, at)?;
                    self.cursor.bump();
                    tree = self.bracket(tree)?;
                }
                // A `?` after whitespace begins a choice.
                Some('?') if at == end && self.ends_optional_path() => {
                    self.cursor.bump();
                    tree = optional(tree)
                        .map_err(|()| ExpressionError::new("`?` needs a path before it", at))?;
                }
                Some('?')
                    if at == end
                        && self.cursor.rest().starts_with("?.")
                        && !self.is_choice_of_fraction() =>
                {
                    let error = ExpressionError::reference("`?.` is not an operator", at);
                    let general = "one `?` at the end covers the whole path, as in `a.b?`";
                    let exact = self.optional_chain().map(|form| format!("write `{form}`"));
                    return Err(error.or_help(exact.or_else(|| Some(general.to_owned()))));
                }
                _ => {
                    self.cursor.at = end;
                    return Ok(tree);
                }
            }
        }
    }

    /// Returns true if `?` is followed by a number that begins with its decimal point, as in `yes?.5:1.0`.
    fn is_choice_of_fraction(&self) -> bool {
        let digit = self.cursor.rest().chars().nth(2);
        digit.is_some_and(|digit| digit.is_ascii_digit())
    }

    fn field_expected(&self) -> ExpressionError {
        let mut error = self.cursor.unexpected("expected a field");
        error.kind = crate::expression::ExpressionErrorKind::Reference;
        error.help(match self.cursor.peek() {
            Some('[') => "write `[*]` for every item, without a dot",
            _ => "write a field with spaces or signs as `[\"…\"]`",
        })
    }

    /// Returns true if the next `?` ends an optional path, not the condition of a choice.
    fn ends_optional_path(&self) -> bool {
        let rest = self.cursor.rest();
        let Some(after) = rest.strip_prefix('?') else {
            return false;
        };
        if after.starts_with('?') {
            return false;
        }
        let after = after.trim_start();
        let ends = [
            ")", "]", "}", ",", ":", "==", "!=", "<", ">", "+", "*", "/", "%", "&&", "||", "?",
        ];
        after.is_empty()
            || ends.iter().any(|end| after.starts_with(end))
            || (name_length(after) == 2 && after.starts_with("in"))
    }

    /// Parses the content of `[…]` after the opening bracket.
    fn bracket(&mut self, tree: Tree) -> Result<Tree, ExpressionError> {
        self.cursor.skip_space();
        if self.cursor.take("*") {
            let missing = if self.cursor.take("?") {
                Missing::NullInItems
            } else {
                Missing::Fail
            };
            self.cursor.expect("]")?;
            return Ok(with_segment(tree, Segment::Each, missing));
        }
        let at = self.cursor.at;
        if self.cursor.rest().starts_with(']') {
            let error = self.cursor.unexpected("expected a value");
            return Err(error.help("write `[*]` for every item"));
        }
        let inner = self.nested()?;
        self.cursor.expect("]")?;
        Ok(match inner {
            Tree::Literal(Value::Text(key)) => with_segment(tree, Segment::Key(key), Missing::Fail),
            Tree::Literal(Value::Number(number)) => match whole_index(&number) {
                Some(index) => with_segment(tree, Segment::Index(index), Missing::Fail),
                None => {
                    return Err(ExpressionError::reference(
                        format!("`{number}` counts no item"),
                        at,
                    ));
                }
            },
            Tree::Literal(_) => {
                return Err(ExpressionError::reference(
                    "brackets need a number, a text or `*`",
                    at,
                ));
            }
            // An index that is not constant is evaluated.
            computed => with_accessor(tree, Accessor::Item(Box::new(computed))),
        })
    }
}

/// Returns true if `name` can name the item of a loop: one word, and no root of paths or name of functions.
pub fn is_item_name(name: &str) -> bool {
    plain_name(name)
        && !name.is_empty()
        && name_length(name) == name.len()
        && !ROOTS.contains(&name)
        && !function::NAMESPACES.contains(&name)
}

/// Checks that a literal may have accessors: `1.x` most probably means the step called `1`.
fn check_accessible(tree: &Tree, at: usize) -> Result<(), ExpressionError> {
    match tree {
        Tree::Literal(value @ (Value::Number(_) | Value::Bool(_) | Value::Null)) => Err(
            ExpressionError::reference(format!("`{value}` has no parts"), at).help(format!(
                "write `steps['{value}']` for the step of that name"
            )),
        ),
        _ => Ok(()),
    }
}

pub(super) fn with_accessor(tree: Tree, next: Accessor) -> Tree {
    match tree {
        Tree::Access(base, mut accessors) => {
            accessors.push(next);
            Tree::Access(base, accessors)
        }
        base => Tree::Access(Box::new(base), vec![next]),
    }
}

fn with_segment(mut tree: Tree, segment: Segment, missing: Missing) -> Tree {
    // Constant segments extend the path before them, so that inference sees one path.
    if let Some((path, so_far)) = last_path(&mut tree) {
        add(path, segment);
        if missing != Missing::Fail {
            *so_far = missing;
        }
        return tree;
    }
    with_accessor(tree, Accessor::Part(vec![segment], missing))
}

/// Ends a path through items: accessors after the brackets apply to the list, not to each item.
fn in_brackets(mut tree: Tree) -> Tree {
    match last_path(&mut tree) {
        Some((path, _)) if path.contains(&Segment::Each) => {
            Tree::Access(Box::new(tree), Vec::new())
        }
        _ => tree,
    }
}

/// Removes the brackets around a path that has no accessors after them.
fn without_brackets(tree: Tree) -> Tree {
    match tree {
        Tree::Access(inner, accessors) if accessors.is_empty() => *inner,
        tree => tree,
    }
}

fn optional(tree: Tree) -> Result<Tree, ()> {
    let mut tree = without_brackets(tree);
    let (_, missing) = last_path(&mut tree).ok_or(())?;
    *missing = Missing::Null;
    Ok(tree)
}

/// Returns the path at the end of `tree`, to be extended.
fn last_path(tree: &mut Tree) -> Option<(&mut Path, &mut Missing)> {
    match tree {
        Tree::Read(read) => {
            let read = &mut **read;
            Some((&mut read.path, &mut read.missing))
        }
        Tree::Access(_, accessors) => match accessors.last_mut() {
            Some(Accessor::Part(path, missing)) => Some((path, missing)),
            _ => None,
        },
        _ => None,
    }
}

//! Forms of Python and JavaScript, recognised so that the error has the form that has their effect here.

use super::cursor::{name_length, plain_name};
use super::grammar::Parser;
use crate::expression::tree::{Loop, Tree};
use crate::expression::{ExpressionError, function};
use crate::plan::Source;

/// Maximum number of characters of a form in a hint.
const MAX_SHOWN: usize = 100;

impl<'t> Parser<'t> {
    /// Returns the call of a function of another language at the cursor, after the name `root`, and a hint.
    pub(super) fn foreign_call(&self, root: &str, at: usize) -> Option<(&'t str, String)> {
        function::foreign_call(root, self.cursor.text.get(at..)?)
    }

    /// Returns the error about `===` and `!==`.
    pub(super) fn strict_operator(&self, sign: &str, here: &str) -> ExpressionError {
        let error = ExpressionError::new(format!("`{sign}` is not an operator"), self.cursor.at);
        // Other forms of JavaScript in the same expression are translated as well.
        let text = self.cursor.text;
        let others = ["undefined", ".length"];
        let has_others = others.iter().any(|other| text.contains(other));
        let exact = (has_others && !text.contains(['\'', '"'])).then(|| {
            let text = text.replace("!==", "!=").replace("===", "==");
            let text = text
                .replace("undefined", "null")
                .replace(".length", ".size()");
            shown(text.trim().to_owned())
        });
        error.or_help(exact.flatten().or_else(|| Some(format!("write `{here}`"))))
    }

    /// Returns the native form of the whole text, if it is a path such as `a?.b`, perhaps followed by `||` or `??` and a default.
    pub(super) fn optional_chain(&self) -> Option<String> {
        let (path, default) = match self.cursor.text.split_once("||") {
            Some((path, default)) => (path, Some(default)),
            None => match self.cursor.text.split_once("??") {
                Some((path, default)) => (path, Some(default)),
                None => (self.cursor.text, None),
            },
        };
        let path = path.trim().replace("?.[", "[").replace("?.", ".");
        let is_of_path = |letter: char| letter.is_alphanumeric() || "_-.[]'\"".contains(letter);
        if !path.chars().all(is_of_path) {
            return None;
        }
        let form = match default {
            Some(default) if default.contains(['|', '?']) => return None,
            Some(default) => format!("{path} ?? {}", default.trim()),
            None => format!("{path}?"),
        };
        (form.chars().count() <= MAX_SHOWN).then_some(form)
    }

    /// Rejects `//` on the line of the operand before the cursor: it is an operator in Python, and a comment in CEL.
    #[inline]
    pub(super) fn reject_floor_division(&self) -> Result<(), ExpressionError> {
        // Most operands end before another sign.
        let next = self.cursor.text.as_bytes().get(self.cursor.at);
        if !next.is_some_and(|next| matches!(next, b' ' | b'\t' | b'/')) {
            return Ok(());
        }
        let rest = self.cursor.rest();
        let sign = rest.trim_start_matches([' ', '\t']);
        if !sign.starts_with("//") {
            return Ok(());
        }
        let at = self.cursor.at + rest.len() - sign.len();
        let help = "write `math.floor(double(a) / b)` for the quotient rounded down; a comment stands on a line of its own";
        Err(ExpressionError::new("`//` is not an operator", at).help(help))
    }

    /// Returns the error about `/*`.
    pub(super) fn block_comment(&self) -> ExpressionError {
        let error = ExpressionError::new("`/*` is not an operator", self.cursor.at);
        error.or_help(function::foreign_text("/*").map(str::to_owned))
    }

    /// Returns the error about `=>`.
    pub(super) fn arrow(&self) -> ExpressionError {
        let error = ExpressionError::new("`=>` is not an operator", self.cursor.at);
        error.or_help(function::foreign_text("=>").map(str::to_owned))
    }

    /// Returns the error about `new Date()`, `not x` and `lambda x: y`, whose first word was read.
    pub(super) fn prefix_word(&self, word: &str, at: usize) -> Option<ExpressionError> {
        let rest = self.cursor.rest().trim_start();
        let begins_value = name_length(rest) > 0 || rest.starts_with(['(', '"', '\'', '!']);
        // A step may have the name.
        if !begins_value || name_length(rest) == 2 && rest.starts_with("in") {
            return None;
        }
        let hint = match word {
            "new" if rest.starts_with("Date()") => "write `now()`, the time of the run",
            "new" => "leave out `new`; `date(text)` gives a time",
            "not" => "write `!`, as in `!(a == b)`",
            other => function::foreign_text(other)?,
        };
        Some(ExpressionError::new(format!("`{word}` is not an operator"), at).help(hint))
    }

    /// Returns the error about a comprehension of Python whose item at `start` was parsed.
    pub(super) fn comprehension(&self, start: usize) -> Option<ExpressionError> {
        let (value, rest) = self
            .cursor
            .text
            .get(start..)?
            .split_at_checked(self.cursor.at - start)?;
        let rest = rest.trim_start();
        if name_length(rest) != 3 {
            return None;
        }
        let rest = rest.strip_prefix("for")?.trim_start();
        let error = ExpressionError::new("`for` is not an operator", self.cursor.at);
        let general = function::foreign_text("for").map(str::to_owned);
        let exact = || {
            let (variable, rest) = rest.split_at_checked(name_length(rest))?;
            let rest = rest.trim_start().strip_prefix("in ")?;
            let inside = rest.get(..end_of_group(rest))?;
            let (list, condition) = match inside.split_once(" if ") {
                Some((list, condition)) => (list, Some(condition.trim())),
                None => (inside, None),
            };
            let (list, value) = (list.trim(), value.trim());
            let filter = condition.map(|condition| format!(".filter({variable}, {condition})"));
            let filter = filter.unwrap_or_default();
            let map = format!(".map({variable}, {value})");
            // A loop over an object goes over its keys, also without a condition.
            let map = if value == variable && !filter.is_empty() {
                ""
            } else {
                &map
            };
            shown(format!("{list}{filter}{map}"))
        };
        Some(error.or_help(exact().or(general)))
    }

    /// Returns the error about an arrow function or a `lambda` as the argument of the loop `name`.
    pub(super) fn arrow_function(&self, name: &str, at: usize) -> Option<ExpressionError> {
        let rest = self.cursor.rest();
        let (variable, body) = if let Some(rest) = rest.strip_prefix("lambda ") {
            rest.split_once(':')?
        } else {
            let end = if rest.starts_with('(') {
                rest.find(')')? + 1
            } else {
                name_length(rest)
            };
            let (variable, rest) = rest.split_at_checked(end)?;
            (variable, rest.trim_start().strip_prefix("=>")?)
        };
        let body = body.get(..end_of_group(body))?.trim();
        let variable = variable.trim_matches(['(', ')', ' ']);
        let message = format!("`{name}` needs a name for the item and then an expression");
        let exact = plain_name(variable) && name_length(variable) == variable.len();
        let help = if exact && !variable.is_empty() && !body.starts_with('{') {
            shown(format!("{name}({variable}, {body})"))
        } else {
            None
        };
        let help = help.unwrap_or_else(|| format!("write `list.{name}(x, …)`"));
        Some(ExpressionError::new(message, at).help(help))
    }

    /// Returns the error about an operator of another language at the cursor.
    pub(super) fn foreign_operator(&self) -> Option<ExpressionError> {
        let (before, rest) = self.cursor.text.split_at_checked(self.cursor.at)?;
        let error = |message: &str| ExpressionError::new(message, self.cursor.at);
        let length = name_length(rest);
        match rest.get(..length)? {
            "if" => {
                let after = rest.get(length..)?;
                let exact = after
                    .split_once(" else ")
                    .and_then(|(condition, otherwise)| {
                        let value = before.trim();
                        shown(format!(
                            "{} ? {value} : {}",
                            condition.trim(),
                            otherwise.trim()
                        ))
                    });
                let general = function::foreign_text("if").map(str::to_owned);
                Some(error("`if` is not an operator").or_help(exact.or(general)))
            }
            "" => {
                // A filter of Jinja or jq.
                let filter = rest.strip_prefix('|')?.trim_start();
                let name = filter.get(..name_length(filter))?;
                if name.is_empty() || rest.starts_with("||") {
                    return None;
                }
                // A filter with arguments says more than its name.
                let behind = filter.get(name.len()..)?.trim();
                let hint = if !behind.is_empty() {
                    function::foreign_form(name)
                } else if function::method(name).is_some() {
                    shown(format!("{}.{name}()", before.trim()))
                } else if function::global(name).is_some() {
                    shown(format!("{name}({})", before.trim()))
                } else {
                    function::foreign_form(name)
                };
                hint.map(|hint| error("`|` is not an operator").help(hint))
            }
            word @ ("not" | "is" | "for" | "else") => {
                let hint = function::foreign_text(word)?;
                Some(error(&format!("`{word}` is not an operator")).help(hint))
            }
            _ => None,
        }
    }
}

/// Returns the error about a loop with two variables, `map(key, value, …)`: a loop has only one, the item or the key.
pub(super) fn two_variables(
    kind: Loop,
    variable: &str,
    trees: &[Tree],
    at: usize,
) -> Option<ExpressionError> {
    let ((_, [Tree::Read(second), body]) | (Loop::Map, [Tree::Read(second), _, body])) =
        (kind, trees)
    else {
        return None;
    };
    let Source::Step(name) = &second.source else {
        return None;
    };
    // With two expressions, the first one of `map` may be a condition on which the second one does not depend.
    let is_condition = kind == Loop::Map && trees.len() == 2 && !reads(body, name.as_str());
    if !second.path.is_empty() || is_condition {
        return None;
    }
    let loop_name = kind.name();
    let message = format!(
        "`{loop_name}` has one variable, not `{variable}` and `{}`",
        name.as_str()
    );
    Some(ExpressionError::new(message, at).help(format!(
        "a loop over an object goes over its keys: write `object.{loop_name}({variable}, …)`, and `object[{variable}]` for the value"
    )))
}

/// Returns true if `tree` reads the step `name`.
fn reads(tree: &Tree, name: &str) -> bool {
    let mut found = false;
    let mut tree = tree.clone();
    visit(&mut tree, &mut |tree| {
        found |= matches!(tree, Tree::Read(read) if matches!(&read.source, Source::Step(id) if id.as_str() == name));
    });
    found
}

fn visit(tree: &mut Tree, see: &mut dyn FnMut(&Tree)) {
    see(tree);
    crate::expression::program::each_part(tree, &mut |part| visit(part, see));
}

/// Returns the position of the bracket that closes the group around `text`, or its end.
fn end_of_group(text: &str) -> usize {
    let mut depth = 0_usize;
    for (at, letter) in text.char_indices() {
        match letter {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' if depth == 0 => return at,
            ')' | ']' | '}' => depth -= 1,
            _ => {}
        }
    }
    text.len()
}

/// Returns the hint to write `form`, unless that is long.
fn shown(form: String) -> Option<String> {
    (form.chars().count() <= MAX_SHOWN).then(|| format!("write `{form}`"))
}

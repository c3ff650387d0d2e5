//! Names of parts of expressions, for messages. The tree has no names of loop variables, so their lists stand in.

use super::Local;
use crate::expression::print::{print_path, print_read};
use crate::expression::tree::{Accessor, Loop, Tree};
use crate::plan::{Alternative, Form, Read};

/// Maximum number of characters of a path in a message.
const MAX_SHOWN: usize = 80;

/// Describes the value of `base` after `accessors`: ``an item of `u.rows` ``.
pub(super) fn describe(
    base: &Tree,
    accessors: &[Accessor],
    bindings: &[Form],
    locals: &[Local<'_>],
) -> String {
    let (base, accessors) = flat(base, accessors);
    let path: String = accessors.iter().copied().map_while(constant_path).collect();
    if path_length(&accessors) < accessors.len() {
        return "the computed value".to_owned();
    }
    match base {
        Tree::Bound(_) => match source(base, bindings) {
            Some(read) => format!("`{}`", cut(&(print_read(read) + &path))),
            None => "the computed value".to_owned(),
        },
        Tree::LoopVariable(position) => {
            let Some(local) = locals.iter().rev().nth(*position) else {
                return "an item".to_owned();
            };
            let item = local.describe(bindings);
            if path.is_empty() {
                item
            } else {
                format!("`{}` in {item}", cut(path.trim_start_matches('.')))
            }
        }
        _ => "the computed value".to_owned(),
    }
}

impl Local<'_> {
    /// Describes the variable: ``an item of `u.rows` ``.
    fn describe(&self, bindings: &[Form]) -> String {
        let kind = if self.object.is_some() { "key" } else { "item" };
        let article = if self.object.is_some() { "a" } else { "an" };
        let (base, accessors) = flat(self.base, self.accessors);
        let length = path_length(&accessors);
        // These keep the items of their list.
        let keeps = |next: &&Accessor| match next {
            Accessor::Loop(kind, _) => matches!(kind, Loop::Filter | Loop::SortBy),
            Accessor::Call(function, _) => {
                ["distinct", "reverse", "slice", "sort"].contains(&function.name)
            }
            Accessor::Part(..) | Accessor::Item(_) | Accessor::Matches(_) => false,
        };
        let are_kept = accessors.iter().skip(length).all(keeps);
        match source(base, bindings) {
            Some(read) if are_kept => {
                let path: String = accessors.iter().copied().map_while(constant_path).collect();
                format!("{article} {kind} of `{}`", cut(&(print_read(read) + &path)))
            }
            _ => format!("{article} {kind}"),
        }
    }
}

/// Joins the accessors of a bound path with those after it.
fn flat<'t>(base: &'t Tree, accessors: &'t [Accessor]) -> (&'t Tree, Vec<&'t Accessor>) {
    match base {
        Tree::Access(inner, before) => (inner, before.iter().chain(accessors).collect()),
        base => (base, accessors.iter().collect()),
    }
}

fn path_length(accessors: &[&Accessor]) -> usize {
    let constant = accessors
        .iter()
        .take_while(|next| matches!(next, Accessor::Part(..)));
    constant.count()
}

fn constant_path(next: &Accessor) -> Option<String> {
    match next {
        Accessor::Part(path, _) => Some(print_path(path)),
        _ => None,
    }
}

fn source<'b>(base: &Tree, bindings: &'b [Form]) -> Option<&'b Read> {
    let Tree::Bound(index) = base else {
        return None;
    };
    single_read(bindings.get(*index)?)
}

/// Returns the read if `form` is nothing else.
pub(super) fn single_read(form: &Form) -> Option<&Read> {
    match form {
        Form::First(alternatives) => match alternatives.as_slice() {
            [Alternative::Read(read)] => Some(read),
            _ => None,
        },
        Form::All(_) => None,
    }
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(MAX_SHOWN) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

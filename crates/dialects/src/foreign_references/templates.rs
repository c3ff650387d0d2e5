//! Texts that are templates with statements, of Jinja, Liquid or Handlebars: `{% for x in a.list %}{{ x.name }}{% endfor %}`.

use super::markers::ReferenceNames;
use crate::native::form_in;

/// The maximum length of a template, in bytes.
const MAX_TEMPLATE_BYTES: usize = 2000;

/// The maximum number of statements inside of each other.
const MAX_DEPTH: usize = 8;

/// A piece of a template.
#[derive(Clone, Copy, Debug)]
enum Piece<'t> {
    Text(&'t str),
    /// The inside of `{{ … }}`.
    Output(&'t str),
    /// A statement: its word, and what follows that.
    Statement(&'t str, &'t str),
}

/// Returns true if `text` has a statement of a template.
pub(super) fn has_statement(text: &str) -> bool {
    text.len() <= MAX_TEMPLATE_BYTES
        && (text.contains("{%") || text.contains("{{#if") || text.contains("{{#each"))
}

/// The pieces of `text`; `None` if one does not end.
fn pieces(text: &str) -> Option<Vec<Piece<'_>>> {
    let mut pieces = Vec::new();
    let mut rest = text;
    while let Some(start) = rest.find("{{").into_iter().chain(rest.find("{%")).min() {
        if start > 0 {
            pieces.push(Piece::Text(&rest[..start]));
        }
        let is_statement = rest[start..].starts_with("{%");
        let close = if is_statement { "%}" } else { "}}" };
        let (inside, after) = rest[start + 2..].split_once(close)?;
        let inside = inside.trim_matches(['-', '~', ' ', '\n', '{', '}']);
        let inside = if is_statement {
            inside
        } else {
            inside.trim_start_matches('#')
        };
        let (word, others) = inside.split_once(' ').unwrap_or((inside, ""));
        let is_word = matches!(
            word,
            "if" | "each" | "unless" | "else" | "/if" | "/each" | "/unless"
        );
        pieces.push(if is_statement || is_word {
            Piece::Statement(word, others.trim())
        } else {
            Piece::Output(inside)
        });
        rest = after.trim_start_matches('}');
    }
    if !rest.is_empty() {
        pieces.push(Piece::Text(rest));
    }
    Some(pieces)
}

/// `text` as a literal of this dialect; `None` for a sign that advice cannot show.
fn literal(text: &str) -> Option<String> {
    let escaped = text
        .replace('\\', "\\\\")
        .replace('\'', "\\'")
        .replace('\n', "\\n");
    (!escaped.contains(['`', '$'])).then(|| format!("'{escaped}'"))
}

/// The state of writing a template as an expression.
struct Writer<'w, 'n> {
    names: &'w ReferenceNames<'n>,
    pieces: &'w [Piece<'w>],
    at: usize,
    /// The names of the items of the loops around, the innermost last; the name is empty where the fields of the item have no root.
    items: Vec<&'w str>,
    /// True if a step or an input is named.
    is_reference: bool,
}

impl ReferenceNames<'_> {
    /// The expression that the template `text` stands for; `None` if it has a part without a counterpart, or names no step.
    pub(super) fn template(&self, text: &str) -> Option<String> {
        let pieces = pieces(text)?;
        let mut writer = Writer {
            names: self,
            pieces: &pieces,
            at: 0,
            items: Vec::new(),
            is_reference: false,
        };
        let written = writer.sequence()?;
        let is_whole = writer.at == pieces.len() && writer.is_reference;
        is_whole.then(|| form_in(&written))?
    }
}

impl Writer<'_, '_> {
    /// The pieces up to the end of the statement around them, as one text.
    fn sequence(&mut self) -> Option<String> {
        let mut parts = Vec::new();
        while let Some(piece) = self.pieces.get(self.at) {
            parts.push(match *piece {
                Piece::Text(text) => literal(text)?,
                Piece::Output(written) => format!("string({})", self.value(written)?),
                Piece::Statement("for" | "each" | "if" | "unless", _) => self.statement()?,
                Piece::Statement(..) => break,
            });
            self.at += 1;
        }
        if parts.is_empty() {
            parts.push("''".to_owned());
        }
        Some(parts.join(" + "))
    }

    /// Translates a statement with the pieces in it, and leaves the cursor at its end.
    fn statement(&mut self) -> Option<String> {
        let Some(Piece::Statement(word, head)) = self.pieces.get(self.at).copied() else {
            return None;
        };
        if self.items.len() >= MAX_DEPTH {
            return None;
        }
        self.at += 1;
        if matches!(
            word,
            "if" | "unless" | "elif" | "elsif" | "else" | "else if"
        ) {
            let condition = self.value(head)?;
            let condition = if word == "unless" {
                format!("!({condition})")
            } else {
                condition
            };
            let then = self.sequence()?;
            let otherwise = match self.pieces.get(self.at)? {
                Piece::Statement("elif" | "elsif", _) => self.statement()?,
                Piece::Statement("else", rest) if rest.starts_with("if ") => return None,
                Piece::Statement("else", _) => {
                    self.at += 1;
                    self.sequence()?
                }
                _ => "''".to_owned(),
            };
            let ends = matches!(
                self.pieces.get(self.at)?,
                Piece::Statement("endif" | "/if" | "endunless" | "/unless", _)
            );
            return ends.then(|| format!("({condition} ? {then} : {otherwise})"));
        }
        let (item, list) = match word {
            "for" => head
                .split_once(" in ")
                .map(|(item, list)| (item.trim(), list.trim()))?,
            _ => match head.split_once(" as |") {
                Some((list, item)) => (item.trim_end_matches('|').trim(), list.trim()),
                None => ("", head),
            },
        };
        let list = self.value(list)?;
        self.items.push(item);
        let body = self.sequence()?;
        self.items.pop();
        let name = if item.is_empty() { "x" } else { item };
        let ends = matches!(
            self.pieces.get(self.at)?,
            Piece::Statement("endfor" | "/each", _)
        );
        ends.then(|| format!("{list}.map({name}, {body}).join('')"))
    }

    /// The expression that stands between the braces of a template.
    fn value(&mut self, written: &str) -> Option<String> {
        if let Some((meaning, _)) = self.names.expression(written) {
            self.is_reference = true;
            return form_in(&meaning);
        }
        let root = written
            .split(['.', '[', ' ', '|'])
            .next()
            .unwrap_or_default();
        if !root.is_empty() && self.items.contains(&root) {
            return form_in(written);
        }
        // The fields of Handlebars' item have no root, or `this`.
        let is_bare = self.items.last().is_some_and(|item| item.is_empty());
        let path = written.strip_prefix("this.").unwrap_or(written);
        match path {
            _ if !is_bare => None,
            "this" | "." => Some("x".to_owned()),
            path => form_in(&format!("x.{path}")),
        }
    }
}

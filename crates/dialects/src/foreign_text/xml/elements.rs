//! The elements of a text in XML.

use std::ops::Range;

/// The maximum nesting of elements.
const MAX_DEPTH: usize = 16;

/// The part of `text` from its first element to its last one, if the lines around them are words.
pub(super) fn range(text: &str) -> Option<Range<usize>> {
    let first = text.len() - text.trim_start().len();
    let is_element = |at: usize| {
        let inside = &text[at + 1..];
        let is_line = text[..at].ends_with('\n') || at == first;
        is_line
            && inside.starts_with(|sign: char| sign.is_ascii_alphabetic() || "?!".contains(sign))
    };
    let mut starts = text.match_indices('<').map(|(at, _)| at);
    let start = starts.find(|at| is_element(*at))?;
    let end = text.rfind('>')? + 1;
    // Words before the elements may state a condition of the calls; text after them is left to the reader.
    (start < end && !text[..start].contains(['{', '(', '='])).then_some(start..end)
}

/// The elements of `text`; `None` if it has other content, is malformed, or nested too deeply.
pub(super) fn read(text: &str) -> Option<Vec<Element>> {
    let mut reader = Reader {
        rest: text.trim(),
        depth: 0,
    };
    let mut roots = Vec::new();
    while reader.skip_to_element() {
        roots.push(reader.element()?);
        reader.skip_words();
    }
    (reader.rest.is_empty() && !roots.is_empty()).then_some(roots)
}

/// An element with its attributes, the elements in it, and the text between them.
#[derive(Debug, Default)]
pub(super) struct Element {
    pub(super) name: String,
    pub(super) attributes: Vec<(String, String)>,
    pub(super) children: Vec<Element>,
    pub(super) text: String,
}

impl Element {
    /// The value of the first attribute with one of `names`.
    pub(super) fn attribute(&self, names: &[&str]) -> Option<&str> {
        let mut found = self
            .attributes
            .iter()
            .filter(|(name, _)| names.contains(&&**name));
        Some(&found.next()?.1)
    }

    /// Returns true if no element is in it.
    pub(super) fn is_leaf(&self) -> bool {
        self.children.is_empty()
    }
}

struct Reader<'a> {
    rest: &'a str,
    depth: usize,
}

impl Reader<'_> {
    /// Skips blanks, comments and declarations; returns true if an element follows.
    fn skip_to_element(&mut self) -> bool {
        loop {
            self.rest = self.rest.trim_start();
            // Models write their thoughts before the calls.
            let pairs = [
                ("<!--", "-->"),
                ("<?", "?>"),
                ("<!DOCTYPE", ">"),
                ("<think>", "</think>"),
                ("<thinking>", "</thinking>"),
                ("<thought>", "</thought>"),
                ("<reasoning>", "</reasoning>"),
                ("<scratchpad>", "</scratchpad>"),
            ];
            let skipped = pairs.iter().find_map(|(open, close)| {
                let inside = self.rest.strip_prefix(open)?;
                Some(inside.split_once(close)?.1)
            });
            match skipped {
                Some(rest) => self.rest = rest,
                None => return self.rest.starts_with('<') && !self.rest.starts_with("</"),
            }
        }
    }

    /// Skips the lines of words between two elements of a text.
    fn skip_words(&mut self) {
        let rest = self.rest.trim_start();
        if !rest.is_empty()
            && !rest.starts_with('<')
            && let Some(at) = rest.find("\n<")
        {
            self.rest = &rest[at..];
        }
    }

    fn element(&mut self) -> Option<Element> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return None;
        }
        self.rest = self.rest.strip_prefix('<')?;
        let mut element = Element {
            name: self.name()?,
            ..Element::default()
        };
        loop {
            self.rest = self.rest.trim_start();
            if let Some(rest) = self.rest.strip_prefix("/>") {
                self.rest = rest;
                self.depth -= 1;
                return Some(element);
            }
            if let Some(rest) = self.rest.strip_prefix('>') {
                self.rest = rest;
                break;
            }
            let name = self.name()?;
            self.rest = self.rest.trim_start().strip_prefix('=')?.trim_start();
            let quote = self
                .rest
                .chars()
                .next()
                .filter(|sign| "\"'".contains(*sign))?;
            let (value, rest) = self.rest[1..].split_once(quote)?;
            self.rest = rest;
            element.attributes.push((name, decoded(value)));
        }
        loop {
            if let Some(inside) = self.rest.strip_prefix("<![CDATA[") {
                let (text, rest) = inside.split_once("]]>")?;
                element.text.push_str(text);
                self.rest = rest;
            } else if let Some(rest) = self.rest.strip_prefix("</") {
                self.rest = rest
                    .strip_prefix(&*element.name)?
                    .trim_start()
                    .strip_prefix('>')?;
                self.depth -= 1;
                return Some(element);
            } else if let Some(comment) = self.rest.strip_prefix("<!--") {
                self.rest = comment.split_once("-->")?.1;
            } else if self.rest.starts_with('<') {
                element.children.push(self.element()?);
            } else {
                let end = self.rest.find('<')?;
                element.text.push_str(&decoded(&self.rest[..end]));
                self.rest = &self.rest[end..];
            }
        }
    }

    fn name(&mut self) -> Option<String> {
        let is_of_name = |sign: char| sign.is_alphanumeric() || "_-.:".contains(sign);
        let end = self
            .rest
            .find(|sign| !is_of_name(sign))
            .unwrap_or(self.rest.len());
        let (name, rest) = self.rest.split_at(end);
        self.rest = rest;
        name.starts_with(|sign: char| sign.is_alphabetic() || sign == '_')
            .then(|| name.to_owned())
    }
}

/// `text` with characters in place of entities. A `&` that begins no entity is literal.
fn decoded(text: &str) -> String {
    let mut decoded = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('&') {
        decoded.push_str(&rest[..at]);
        let inside = &rest[at + 1..];
        let window = &inside[..inside.floor_char_boundary(MAX_ENTITY_BYTES)];
        let found = window
            .split_once(';')
            .and_then(|(name, _)| Some((name, entity(name)?)));
        if let Some((name, sign)) = found {
            decoded.push(sign);
            rest = &inside[name.len() + 1..];
        } else {
            decoded.push('&');
            rest = inside;
        }
    }
    decoded.push_str(rest);
    decoded
}

/// The maximum length of an entity without its `&`, in bytes.
const MAX_ENTITY_BYTES: usize = 12;

/// The character that the entity `name` stands for.
fn entity(name: &str) -> Option<char> {
    match name {
        "lt" => Some('<'),
        "gt" => Some('>'),
        "quot" => Some('"'),
        "apos" => Some('\''),
        "amp" => Some('&'),
        _ => {
            let number = name.strip_prefix('#')?;
            let code = match number.strip_prefix(['x', 'X']) {
                Some(digits) => u32::from_str_radix(digits, 16),
                None => number.parse(),
            };
            char::from_u32(code.ok()?)
        }
    }
}

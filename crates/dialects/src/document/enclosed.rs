//! The JSON part of a text that has more than JSON: a Markdown fence, words, an assignment.

use std::ops::Range;

use planwright_core::TextEdit;

/// A part of a text that may be a JSON value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct EnclosedPart {
    /// The bytes of the value, perhaps with blanks around it.
    pub(crate) range: Range<usize>,
    pub(crate) enclosure: Enclosure,
}

impl EnclosedPart {
    /// Returns the edits that remove everything but the value from `text`. There are none if more than a fence would be lost, because words
    /// around a plan are for people.
    pub(crate) fn edits(&self, text: &[u8]) -> Vec<TextEdit> {
        let outside = |range: Range<usize>| std::str::from_utf8(text.get(range)?).ok();
        let before = outside(0..self.range.start).unwrap_or_default().trim();
        let after = outside(self.range.end..text.len())
            .unwrap_or_default()
            .trim();
        let is_fence = before.starts_with("```") && !before.contains('\n');
        if self.enclosure != Enclosure::Fence || !is_fence || !matches!(after, "" | "```") {
            return Vec::new();
        }
        vec![
            TextEdit::new(0..self.range.start, ""),
            TextEdit::new(self.range.end..text.len(), ""),
        ]
    }
}

/// The text around a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Enclosure {
    /// A Markdown fence, perhaps with words around it.
    Fence,
    /// Words before and after it.
    Words,
    /// The name of a variable before it.
    Assignment,
}

impl Enclosure {
    /// Describes the text around the value that is ignored, for messages.
    pub(crate) fn describe(self) -> &'static str {
        match self {
            Self::Fence => "the block of code alone is read, without the text around it",
            Self::Words => "the JSON alone is read, without the words around it",
            Self::Assignment => "the value of the variable is read",
        }
    }
}

/// The parts of `text` that may be its JSON value, if the text does not begin with one.
pub(crate) fn enclosed_parts(text: &str) -> Vec<EnclosedPart> {
    let begins = text.trim_start_matches('\u{feff}').trim_start();
    // A comment may precede the value.
    if begins.starts_with(['{', '[', '/']) {
        return before_words(text).into_iter().collect();
    }
    let blocks = fenced_blocks(text);
    if !blocks.is_empty() {
        let parts = blocks.into_iter().filter_map(|block| {
            let inside = value_start(&text[block.clone()])?;
            Some(EnclosedPart {
                range: block.start + inside..block.end,
                enclosure: Enclosure::Fence,
            })
        });
        return parts.collect();
    }
    let start = text.len() - begins.len();
    let assigned = value_start(begins).map(|inside| EnclosedPart {
        range: start + inside..text.len(),
        enclosure: Enclosure::Assignment,
    });
    let parts = assigned.or_else(|| among_words(text));
    parts.into_iter().collect()
}

/// The insides of the fenced blocks of `text`; a fence that is not closed ends with the text.
fn fenced_blocks(text: &str) -> Vec<Range<usize>> {
    let mut blocks = Vec::new();
    let mut open = None;
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let end = at + line.len();
        if line.trim_start().starts_with("```") {
            open = match open {
                Some(start) => {
                    blocks.push(start..at);
                    None
                }
                None => Some(end),
            };
        }
        at = end;
    }
    blocks.extend(open.map(|start| start..text.len()));
    blocks
}

/// The byte at which the list or object of `text` begins: its first one, or that after `const plan =`.
fn value_start(text: &str) -> Option<usize> {
    let begins = text.trim_start();
    let start = text.len() - begins.len();
    if begins.starts_with(['{', '[']) {
        return Some(start);
    }
    let first_line = begins.lines().next().unwrap_or_default();
    let open = first_line.find(['{', '['])?;
    let (left, right) = first_line[..open].split_once('=')?;
    let is_name = |word: &str| {
        word.chars()
            .all(|c| c.is_alphanumeric() || "_.:$".contains(c))
    };
    let words: Vec<&str> = left.split_whitespace().collect();
    let declares = |word: &&str| ["const", "let", "var", "export", "default"].contains(word);
    // `plan`, `const plan`, `export const plan: Plan`
    let names = words.iter().skip_while(|word| declares(word)).count();
    let is_assignment = right.trim().is_empty()
        && (1..=2).contains(&names)
        && words.len() <= 5
        && words.iter().all(|word| is_name(word));
    is_assignment.then_some(start + open)
}

/// The value at the start of `text`, if lines of words follow it.
fn before_words(text: &str) -> Option<EnclosedPart> {
    let end = text.rfind(['}', ']'])? + 1;
    let rest = text[end..].strip_prefix(';').unwrap_or(&text[end..]);
    let (line, words) = rest.split_once('\n')?;
    let is_words = |line: &str| {
        let line = line.trim();
        !line.starts_with(['/', '#', '*', ',', '"', '\'', '`'])
    };
    let has_words = words.contains(char::is_alphabetic) && words.lines().all(is_words);
    (line.trim().is_empty() && has_words).then_some(EnclosedPart {
        range: 0..end,
        enclosure: Enclosure::Words,
    })
}

/// The lines of `text` from the first that begins a value to the last that ends one.
fn among_words(text: &str) -> Option<EnclosedPart> {
    let mut at = 0;
    let mut start = None;
    let mut end = None;
    for line in text.split_inclusive('\n') {
        let inside = line.trim();
        if start.is_none() && inside.starts_with(['{', '[']) {
            start = Some(at + line.len() - line.trim_start().len());
        }
        if inside.ends_with(['}', ']']) || inside.ends_with("};") || inside.ends_with("];") {
            end = Some(at + line.trim_end().len());
        }
        at += line.len();
    }
    let range = start?..end?;
    (range.start < range.end).then_some(EnclosedPart {
        range,
        enclosure: Enclosure::Words,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_that_may_be_json() {
        let check = |text: &str, expected: &[&str]| {
            let parts = enclosed_parts(text);
            let parts: Vec<&str> = parts
                .iter()
                .map(|part| text[part.range.clone()].trim())
                .collect();
            assert_eq!(parts, expected, "{text}");
        };
        check("{}", &[]);
        check(" [1]", &[]);
        check("```json\n{}\n```", &["{}"]);
        check("Here:\n```\n{}\n```\nIt is {short}.", &["{}"]);
        check("```\n{\"a\": 1}", &["{\"a\": 1}"]);
        check("```\n[1]\n```\nor\n```\n[2]\n```", &["[1]", "[2]"]);
        check("```\na = f()\n```\n{}", &[]);
        check("Sure:\n{\n}\nGood luck!", &["{\n}"]);
        check("Sure: {} of them", &[]);
        check("const plan = {a: 1};", &["{a: 1};"]);
        check("export const plan: Plan = [1]", &["[1]"]);
        check("plan = [\n1]", &["[\n1]"]);
        check("a = f({})", &[]);
        check("the words before = {}", &[]);
        check("{\n}\nThis plan waits.\n", &["{\n}"]);
        check("{};\n\nGood luck!", &["{}"]);
        check("{}\n// a comment\n", &[]);
        check("{} and words", &[]);
        check("{}\n\n", &[]);
        check("", &[]);
    }
}

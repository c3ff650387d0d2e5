//! The place of the cursor in a text that is still being written, so it need not be a plan.
//!
//! The parsers of plans need whole texts. Here a scanner that accepts everything follows brackets, keys and texts up to the cursor.

use std::ops::Range;

use planwright::core::PointerSegment;

use crate::occurrences::{expression_end, expressions};

/// The place of the cursor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum EditCursor {
    /// In a reference.
    Expression {
        /// The expression up to the cursor, without the backslashes of JSON.
        before: String,
        /// The bytes of the word that ends at the cursor.
        word: Range<usize>,
        /// The path of the value that contains the reference.
        path: Vec<PointerSegment>,
    },
    /// At a key of an object.
    Key {
        /// The path of the object.
        object: Vec<PointerSegment>,
        /// The keys that the object has before the cursor.
        present: Vec<String>,
        /// The bytes of the key so far, without quotes.
        word: Range<usize>,
        /// True if the key has an opening quote already.
        is_quoted: bool,
    },
    /// At a value.
    Value {
        /// The path of the value.
        path: Vec<PointerSegment>,
        /// The bytes of the value so far, without quotes.
        word: Range<usize>,
        /// True if the value has an opening quote already.
        is_quoted: bool,
    },
    /// In lines: at the name of a tool.
    ToolName {
        /// The bytes of the name so far.
        word: Range<usize>,
    },
    /// In lines: at the name of an argument.
    Argument {
        /// The tool of the line.
        tool: String,
        /// The names that the call has before the cursor.
        present: Vec<String>,
        /// The bytes of the name so far.
        word: Range<usize>,
    },
}

/// The cursor, and the tool of the step that contains it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CursorPlace {
    pub(crate) cursor: EditCursor,
    /// The name of the tool, as the step writes it, or within an undo that of its tool.
    pub(crate) tool: Option<String>,
    /// The id of the step.
    pub(crate) step: Option<String>,
    /// True within the undo of the step.
    pub(crate) in_undo: bool,
}

/// An object or list that is open.
#[derive(Clone, Debug)]
struct Frame {
    is_object: bool,
    /// The key whose value follows, or the position of an item.
    segment: Option<PointerSegment>,
    /// The keys so far.
    keys: Vec<String>,
    /// The key before its colon.
    pending: Option<String>,
    items: usize,
    /// The fields `tool` and `id`, if they are texts.
    tool: Option<String>,
    id: Option<String>,
}

impl Frame {
    fn new(is_object: bool) -> Self {
        Self {
            is_object,
            segment: (!is_object).then_some(PointerSegment::Index(0)),
            keys: Vec::new(),
            pending: None,
            items: 0,
            tool: None,
            id: None,
        }
    }
}

/// A text or a word between two punctuation marks.
#[derive(Clone, Debug)]
struct Token {
    span: Range<usize>,
    is_quoted: bool,
    /// False for a text whose closing quote is missing.
    is_closed: bool,
}

/// Follows JSON of any quality.
#[derive(Clone, Debug)]
struct Scanner<'a> {
    text: &'a str,
    at: usize,
    frames: Vec<Frame>,
}

impl Scanner<'_> {
    /// Returns the token that contains `end` or ends there, once everything before it is read.
    fn run(&mut self, end: usize) -> Option<Token> {
        while self.at < end {
            let rest = &self.text[self.at..];
            let Some(character) = rest.chars().next() else {
                break;
            };
            match character {
                '{' | '[' => {
                    self.frames.push(Frame::new(character == '{'));
                    self.at += 1;
                }
                '}' | ']' => {
                    self.frames.pop();
                    self.at += 1;
                }
                ':' => {
                    if let Some(frame) = self.frames.last_mut()
                        && let Some(key) = frame.pending.take()
                    {
                        frame.segment = Some(PointerSegment::Key(key.as_str().into()));
                        frame.keys.push(key);
                    }
                    self.at += 1;
                }
                ',' => {
                    if let Some(frame) = self.frames.last_mut() {
                        frame.items += 1;
                        frame.pending = None;
                        frame.segment =
                            (!frame.is_object).then_some(PointerSegment::Index(frame.items));
                    }
                    self.at += 1;
                }
                _ if character.is_whitespace() => self.at += character.len_utf8(),
                _ if rest.starts_with("//") || character == '#' => {
                    self.at += rest.find('\n').unwrap_or(rest.len());
                }
                _ if rest.starts_with("/*") => {
                    self.at += rest.find("*/").map_or(rest.len(), |end| end + 2);
                }
                _ => {
                    let token = self.token(character);
                    // The cursor is behind the closing quote of a text that is complete.
                    let is_behind = token.is_quoted && token.is_closed && token.span.end < end;
                    if token.span.end >= end && !is_behind {
                        return Some(token);
                    }
                    self.at = token.span.end + usize::from(token.is_quoted && token.is_closed);
                    self.take(&token);
                }
            }
        }
        None
    }

    /// Reads the token that begins with `character`.
    fn token(&self, character: char) -> Token {
        let text = self.text;
        if text[self.at..].starts_with("${") {
            // In lines, a reference may stand without quotes.
            let end = expression_end(text, self.at + 2);
            return Token {
                span: self.at..(end + 1).min(text.len()),
                is_quoted: false,
                is_closed: true,
            };
        }
        if !matches!(character, '"' | '\'') {
            let rest = &text[self.at..];
            let end = rest.find(|other: char| {
                other.is_whitespace() || matches!(other, '{' | '}' | '[' | ']' | ':' | ',' | '"')
            });
            return Token {
                span: self.at..self.at + end.unwrap_or(rest.len()),
                is_quoted: false,
                is_closed: true,
            };
        }
        let start = self.at + 1;
        let mut escaped = false;
        for (index, other) in text[start..].char_indices() {
            match other {
                _ if escaped => escaped = false,
                '\\' => escaped = true,
                _ if other == character => {
                    return Token {
                        span: start..start + index,
                        is_quoted: true,
                        is_closed: true,
                    };
                }
                // A text that is being written ends with its line.
                '\n' => {
                    return Token {
                        span: start..start + index,
                        is_quoted: true,
                        is_closed: false,
                    };
                }
                _ => {}
            }
        }
        Token {
            span: start..text.len(),
            is_quoted: true,
            is_closed: false,
        }
    }

    fn take(&mut self, token: &Token) {
        let content = &self.text[token.span.clone()];
        let Some(frame) = self.frames.last_mut() else {
            return;
        };
        match &frame.segment {
            None => frame.pending = Some(content.to_owned()),
            Some(PointerSegment::Key(key)) if token.is_quoted => match &**key {
                "tool" => frame.tool = Some(content.to_owned()),
                "id" => frame.id = Some(content.to_owned()),
                _ => {}
            },
            Some(_) => {}
        }
    }

    fn path(&self) -> Vec<PointerSegment> {
        let frames = self.frames.iter();
        frames.filter_map(|frame| frame.segment.clone()).collect()
    }
}

/// Returns the place of the byte `offset` in a plan as JSON.
pub(crate) fn in_json(text: &str, offset: usize) -> Option<CursorPlace> {
    in_object(text, 0, offset, Vec::new())
}

/// Returns the place of the byte `offset` in JSON that begins at `start` and stands at `outer`.
fn in_object(
    text: &str,
    start: usize,
    offset: usize,
    outer: Vec<PointerSegment>,
) -> Option<CursorPlace> {
    let mut scanner = Scanner {
        text,
        at: start,
        frames: Vec::new(),
    };
    let token = scanner.run(offset);
    let frame = scanner.frames.last()?;
    let path: Vec<PointerSegment> = outer.iter().cloned().chain(scanner.path()).collect();
    let token = token.unwrap_or(Token {
        span: offset..offset,
        is_quoted: false,
        is_closed: true,
    });
    let is_key = frame.is_object && frame.segment.is_none();
    let cursor = if is_key {
        EditCursor::Key {
            object: path,
            present: frame.keys.clone(),
            word: token.span.start..offset,
            is_quoted: token.is_quoted,
        }
    } else if let Some((before, word)) = expression_at(text, &token.span, offset) {
        EditCursor::Expression { before, word, path }
    } else {
        EditCursor::Value {
            path,
            word: token.span.start..offset,
            is_quoted: token.is_quoted,
        }
    };
    // The innermost object with a tool is the step, unless the tool follows the cursor.
    let depth = step_depth(&scanner.frames, &outer);
    let undo = depth.filter(|depth| is_undo(&scanner.frames, *depth));
    if let Some(depth) = undo {
        let names = scanner.frames.get(depth).cloned();
        let call = scanner.frames.get(depth + 1).cloned();
        let call = call.filter(|frame| frame.tool.is_some());
        let call = call.or_else(|| rest_of_step(scanner, depth + 1));
        return Some(CursorPlace {
            cursor,
            tool: call.and_then(|frame| frame.tool),
            step: names.and_then(|frame| frame.id),
            in_undo: true,
        });
    }
    let mut names = depth.and_then(|depth| scanner.frames.get(depth).cloned());
    if let Some(depth) = depth
        && names.as_ref().is_none_or(|frame| frame.tool.is_none())
    {
        names = rest_of_step(scanner, depth).or(names);
    }
    Some(CursorPlace {
        cursor,
        tool: names.as_ref().and_then(|frame| frame.tool.clone()),
        step: names.and_then(|frame| frame.id),
        in_undo: false,
    })
}

/// Returns true if the cursor is in the undo of the step at `depth`.
fn is_undo(frames: &[Frame], depth: usize) -> bool {
    let is_key = |frame: &Frame| matches!(&frame.segment, Some(PointerSegment::Key(key)) if &**key == "undo");
    depth + 1 < frames.len() && frames.get(depth).is_some_and(is_key)
}

/// Returns the depth of the object that is a step: an item of `steps`.
fn step_depth(frames: &[Frame], outer: &[PointerSegment]) -> Option<usize> {
    if !outer.is_empty() {
        return Some(0);
    }
    let steps = PointerSegment::Key("steps".into());
    let mut found = None;
    for (depth, pair) in frames.windows(2).enumerate() {
        if pair[0].segment.as_ref() == Some(&steps) && !pair[1].is_object {
            found = Some(depth + 2);
        }
    }
    found.filter(|depth| *depth < frames.len())
}

/// Returns the object at `depth` as far as it has a tool behind the cursor.
fn rest_of_step(mut scanner: Scanner<'_>, depth: usize) -> Option<Frame> {
    let length = scanner.text.len();
    while scanner.at < length && scanner.frames.len() > depth {
        let next = scanner.text[scanner.at..].find([',', '}', ']', '{', '[', ':', '"', '\'']);
        let end = next.map_or(length, |next| scanner.at + next + 1);
        if let Some(token) = scanner.run(end) {
            scanner.at = token.span.end + usize::from(token.is_quoted && token.is_closed);
            scanner.take(&token);
        }
        let frame = scanner.frames.get(depth)?;
        if frame.tool.is_some() {
            return Some(frame.clone());
        }
    }
    None
}

/// Returns the expression up to the cursor and its last word, if the cursor is in a `${…}` of the text at `span`.
fn expression_at(text: &str, span: &Range<usize>, offset: usize) -> Option<(String, Range<usize>)> {
    let written = text.get(span.clone())?;
    let found = expressions(written).into_iter().find(|range| {
        let (start, end) = (span.start + range.start, span.start + range.end);
        start <= offset && offset <= end
    })?;
    let raw = text.get(span.start + found.start..offset)?;
    let before = raw.replace("\\\"", "\"");
    let word = raw.rfind(|character: char| !character.is_alphanumeric() && character != '_');
    let length = match word {
        Some(last) => raw.len() - last - raw[last..].chars().next().map_or(0, char::len_utf8),
        None => raw.len(),
    };
    Some((before, offset - length..offset))
}

/// Returns the place of the byte `offset` in a plan in lines.
pub(crate) fn in_lines(text: &str, offset: usize) -> Option<CursorPlace> {
    let start = statement_start(text, offset);
    let head = text.get(start..offset)?;
    let end = text[offset..]
        .find('\n')
        .map_or(text.len(), |end| offset + end);
    if let Some(rest) = head.strip_prefix("return") {
        let start = start + head.len() - rest.len();
        return expression_in_line(text, start..end, offset, Vec::new(), None);
    }
    if head.starts_with("plan") && head.contains('{') {
        let start = start + head.find('{')?;
        return in_object(text, start, offset, Vec::new());
    }
    let equals = head.find('=')?;
    let id = head[..equals].trim().trim_matches('"').to_owned();
    let step = Some(id).filter(|id| !id.is_empty());
    let body = start + equals + 1;
    let written = text.get(body..offset)?;
    let opening = written.find(['(', '{', '$']);
    let Some(opening) = opening else {
        let word = written.trim_start();
        return Some(CursorPlace {
            cursor: EditCursor::ToolName {
                word: offset - word.len()..offset,
            },
            tool: None,
            step,
            in_undo: false,
        });
    };
    let path = vec![
        PointerSegment::Key("steps".into()),
        PointerSegment::Index(0),
    ];
    if !written[opening..].starts_with('(') {
        if written[opening..].starts_with('{') {
            let place = in_object(text, body + opening, offset, path)?;
            return Some(CursorPlace { step, ..place });
        }
        return expression_in_line(text, body..end, offset, path, step);
    }
    let tool = written[..opening].trim().trim_matches('"').to_owned();
    let arguments = body + opening + 1;
    match call_at(text, arguments, offset) {
        CallPlace::Inside { present, segment } => {
            let written = text.get(segment..offset)?;
            let place = match written.find('=') {
                None => {
                    let word = written.trim_start();
                    let cursor = match expression_at(text, &(segment..end), offset) {
                        Some((before, word)) => EditCursor::Expression { before, word, path },
                        None => EditCursor::Argument {
                            tool: tool.clone(),
                            present,
                            word: offset - word.len()..offset,
                        },
                    };
                    Some(cursor)
                }
                Some(equals) => {
                    let name = written[..equals].trim().trim_matches('"');
                    let mut path = path;
                    path.push(PointerSegment::Key("args".into()));
                    path.push(PointerSegment::Key(name.into()));
                    let value = segment + equals + 1;
                    let cursor = match expression_at(text, &(value..end), offset) {
                        Some((before, word)) => EditCursor::Expression { before, word, path },
                        None => {
                            let word = text.get(value..offset)?.trim_start();
                            EditCursor::Value {
                                path,
                                is_quoted: word.starts_with('"'),
                                word: offset - word.trim_start_matches('"').len()..offset,
                            }
                        }
                    };
                    Some(cursor)
                }
            }?;
            Some(CursorPlace {
                cursor: place,
                tool: Some(tool),
                step,
                in_undo: false,
            })
        }
        CallPlace::Behind(end) => {
            let brace = text.get(end..offset)?.find('{')? + end;
            let place = in_object(text, brace, offset, path)?;
            Some(CursorPlace {
                tool: if place.in_undo {
                    place.tool
                } else {
                    Some(tool)
                },
                step,
                ..place
            })
        }
    }
}

fn expression_in_line(
    text: &str,
    span: Range<usize>,
    offset: usize,
    path: Vec<PointerSegment>,
    step: Option<String>,
) -> Option<CursorPlace> {
    let (before, word) = expression_at(text, &span, offset)?;
    Some(CursorPlace {
        cursor: EditCursor::Expression { before, word, path },
        tool: None,
        step,
        in_undo: false,
    })
}

/// Returns the beginning of the statement that contains the byte `offset`: the last line up to it that begins like one.
fn statement_start(text: &str, offset: usize) -> usize {
    let mut start = text[..offset].rfind('\n').map_or(0, |end| end + 1);
    loop {
        let line = text[start..].lines().next().unwrap_or_default();
        let is_start = line.starts_with("return")
            || line.starts_with("plan ")
            || line.split_once('=').is_some_and(|(id, _)| {
                let id = id.trim_end();
                !id.is_empty()
                    && !id.starts_with(char::is_whitespace)
                    && (id.starts_with('"') || !id.contains(['(', '{', ',', '$', ' ']))
            });
        if is_start || start == 0 {
            return start;
        }
        start = text[..start - 1].rfind('\n').map_or(0, |end| end + 1);
    }
}

/// The place of the cursor relative to the brackets of a call.
enum CallPlace {
    /// Between the brackets: the names before the cursor, and the byte at which the argument begins.
    Inside {
        present: Vec<String>,
        segment: usize,
    },
    /// Behind the closing bracket.
    Behind(usize),
}

fn call_at(text: &str, start: usize, offset: usize) -> CallPlace {
    let mut depth = 0_usize;
    let mut quote = None;
    let mut escaped = false;
    let mut segment = start;
    let mut present = Vec::new();
    let name_in = |range: Range<usize>| {
        let argument = text.get(range).unwrap_or_default();
        let (name, _) = argument.split_once('=')?;
        Some(name.trim().trim_matches('"').to_owned())
    };
    for (index, character) in text[start..offset].char_indices() {
        let at = start + index;
        match (quote, character) {
            _ if escaped => escaped = false,
            (_, '\\') => escaped = true,
            (Some(open), _) if character == open => quote = None,
            (None, '"' | '\'') => quote = Some(character),
            (None, '(' | '[' | '{') => depth += 1,
            (None, ')') if depth == 0 => return CallPlace::Behind(at + 1),
            (None, ')' | ']' | '}') => depth = depth.saturating_sub(1),
            (None, ',') if depth == 0 => {
                present.extend(name_in(segment..at));
                segment = at + 1;
            }
            (Some(_) | None, _) => {}
        }
    }
    CallPlace::Inside { present, segment }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use super::*;

    /// Describes the place of `|` in each text.
    fn places(find: fn(&str, usize) -> Option<CursorPlace>, texts: &[&str]) -> String {
        let mut found = String::new();
        for text in texts {
            let offset = text.find('|').expect("the text has a cursor");
            let plain = text.replace('|', "");
            let _ = writeln!(
                found,
                "{text}\n  {}",
                described(find(&plain, offset), &plain)
            );
        }
        found
    }

    fn described(place: Option<CursorPlace>, text: &str) -> String {
        let Some(CursorPlace {
            cursor, tool, step, ..
        }) = place
        else {
            return "nowhere".to_owned();
        };
        let pointer = |path: &[PointerSegment]| {
            let mut pointer = String::new();
            for segment in path {
                planwright::core::place::push_pointer_segment(&mut pointer, segment);
            }
            pointer
        };
        let mut line = match cursor {
            EditCursor::Expression { before, word, path } => {
                format!(
                    "expression `{before}`, word `{}`, at {}",
                    &text[word],
                    pointer(&path)
                )
            }
            EditCursor::Key {
                object,
                present,
                word,
                is_quoted,
            } => format!(
                "key `{}`{} of {}, beside {present:?}",
                &text[word],
                if is_quoted { " in quotes" } else { "" },
                pointer(&object)
            ),
            EditCursor::Value {
                path,
                word,
                is_quoted,
            } => format!(
                "value `{}`{} at {}",
                &text[word],
                if is_quoted { " in quotes" } else { "" },
                pointer(&path)
            ),
            EditCursor::ToolName { word } => format!("tool `{}`", &text[word]),
            EditCursor::Argument {
                tool,
                present,
                word,
            } => format!("argument `{}` of {tool}, beside {present:?}", &text[word]),
        };
        if let Some(tool) = tool {
            let _ = write!(line, "; tool {tool}");
        }
        if let Some(step) = step {
            let _ = write!(line, "; step {step}");
        }
        line
    }

    #[test]
    fn the_cursor_is_found_in_unfinished_json() {
        insta::assert_snapshot!(places(
            in_json,
            &[
                r#"{"steps": [{"id": "a", "tool": "ec|"#,
                r#"{"steps": [{"id": "a", "tool": |"#,
                r#"{"steps": [{"id": "a", "tool": "echo", "args": {"me|"#,
                r#"{"steps": [{"id": "a", "tool": "echo", "args": {"message": "x", |}}]}"#,
                r#"{"steps": [{"id": "a", "args": {"|"}, "tool": "echo"}]}"#,
                r#"{"steps": [{"id": "a", "tool": "echo", "args": {"message": "${b.te|}"}}]}"#,
                r#"{"steps": [{"id": "a", "tool": "echo", "args": {"message": "${b[\"x\"].|"#,
                r#"{"steps": [{"id": "a", "tool": "echo", "args": {"message": "${b} |"}}]}"#,
                r#"{"steps": [{"id": "a", |"#,
                r#"{"st|"#,
                "{\n  // a comment with \"\n  \"steps\": [], \"output\": [\"|",
            ]
        ));
    }

    #[test]
    fn the_cursor_is_found_in_lines() {
        insta::assert_snapshot!(places(
            in_lines,
            &[
                "a = ec|",
                "a = echo(me|",
                "a = echo(message=\"x\", b|)",
                "a = echo(message=${b.te|})",
                "a = echo(message=\"to ${b.|",
                "a = echo(message=${b}) {\"wh|",
                "a = echo(message=${b}) {\"when\": ${b.| > 1}, \"note\": \"x\"}",
                "a = echo(message=1)\nb = ${a.|}",
                "a = echo(message=1)\nreturn ${a.|}",
                "a = echo(\n  message=1,\n  o|",
                "plan {\"na|",
                "|",
            ]
        ));
    }
}

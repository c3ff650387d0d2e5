//! The JSON of a plan in YAML, for advice: blocks of keys and lists, plain and quoted texts.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use planwright_core::Value;

use super::calls::values::{closing, named, split};
use super::{MAX_DEPTH, object};

/// The maximum nesting of blocks.
const MAX_BLOCK_DEPTH: usize = 16;

/// The maximum number of bytes that aliases, `*name`, add to a text.
const MAX_ALIAS_BYTES: usize = 64 * 1024;

/// The value of the YAML in `text`; `None` if it is more than blocks and scalars.
pub(super) fn value(text: &str) -> Option<Value> {
    let mut reader = Reader {
        lines: lines(text)?,
        anchors: HashMap::new(),
        alias_bytes: 0,
        at: 0,
        depth: 0,
    };
    let value = reader.block(reader.lines.first()?.0)?;
    (reader.at == reader.lines.len()).then_some(value)
}

fn indentation(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

/// The indentation and the content of each line; a block of text, `key: |`, is a text in quotes. `None` if the text has several
/// documents, or a block whose line breaks have another meaning.
fn lines(text: &str) -> Option<Vec<(usize, String)>> {
    let mut lines = Vec::new();
    let mut rest = text.lines().peekable();
    while let Some(line) = rest.next() {
        let mut content = line.trim().to_owned();
        if content == "---" && lines.is_empty() {
            continue;
        }
        if matches!(&*content, "---" | "...") {
            return None;
        }
        if content.is_empty() || content.starts_with('#') || content.starts_with("```") {
            continue;
        }
        let signs = ["|", "|-", ">", ">-"];
        let sign = signs.iter().find(|sign| {
            let before = content.strip_suffix(**sign);
            before.is_some_and(|before| before.ends_with(": ") || before == "- ")
        });
        if let Some(sign) = sign {
            let mut block: Vec<&str> = Vec::new();
            while let Some(inner) = rest
                .next_if(|inner| inner.trim().is_empty() || indentation(inner) > indentation(line))
            {
                block.push(inner);
            }
            let block = block_text(&block, sign)?;
            content.truncate(content.len() - sign.len());
            content.push_str(&Value::text(block).to_json());
        }
        lines.push((indentation(line), content));
    }
    Some(lines)
}

/// The text in the lines `block`, which `sign` begins; `None` if it folds lines of several indentations.
fn block_text(block: &[&str], sign: &str) -> Option<String> {
    let written = block.iter().filter(|inner| !inner.trim().is_empty());
    let margin = written.map(|inner| indentation(inner)).min().unwrap_or(0);
    let lines = block
        .iter()
        .map(|inner| inner.get(margin..).unwrap_or_default());
    let text = if sign.starts_with('>') {
        let mut text = String::new();
        let mut breaks = 0;
        for line in lines {
            if line.starts_with([' ', '\t']) {
                return None;
            }
            if line.is_empty() {
                breaks += 1;
                continue;
            }
            if breaks == 0 && !text.is_empty() {
                text.push(' ');
            }
            text.push_str(&"\n".repeat(breaks));
            breaks = 0;
            text.push_str(line);
        }
        text
    } else {
        lines.collect::<Vec<_>>().join("\n")
    };
    let end = if sign.ends_with('-') { "" } else { "\n" };
    Some(format!("{}{end}", text.trim_end_matches(['\n', '\r'])))
}

struct Reader {
    /// The indentation and the content of each line.
    lines: Vec<(usize, String)>,
    at: usize,
    depth: usize,
    /// The values with names, `&name`, and their sizes.
    anchors: HashMap<String, (Value, usize)>,
    /// The bytes that aliases have added.
    alias_bytes: usize,
}

impl Reader {
    fn block(&mut self, indentation: usize) -> Option<Value> {
        self.depth += 1;
        if self.depth > MAX_BLOCK_DEPTH {
            return None;
        }
        let (_, content) = self.lines.get(self.at)?;
        let value = if item(content).is_some() {
            self.list(indentation)
        } else {
            self.object(indentation)
        };
        self.depth -= 1;
        value
    }

    fn list(&mut self, indentation: usize) -> Option<Value> {
        let mut items = Vec::new();
        while let Some((found, content)) = self.lines.get(self.at) {
            let Some(rest) = item(content).filter(|_| *found == indentation) else {
                break;
            };
            let inside = rest.trim_start().to_owned();
            let column = indentation + content.len() - inside.len();
            if inside.is_empty() || inside.starts_with('#') {
                self.at += 1;
                items.push(self.nested(indentation)?);
            } else if item(&inside).is_some() || key(&inside).is_some() {
                // The first item of a list, or the first field of an object, stands behind the dash.
                if let Some(line) = self.lines.get_mut(self.at) {
                    *line = (column, inside);
                }
                items.push(self.block(column)?);
            } else {
                self.at += 1;
                items.push(self.value(&inside, indentation)?);
            }
        }
        Some(Value::list(items))
    }

    fn object(&mut self, indentation: usize) -> Option<Value> {
        let mut fields: Vec<(Arc<str>, Value)> = Vec::new();
        let mut merged: Vec<(Arc<str>, Value)> = Vec::new();
        while let Some((found, content)) = self.lines.get(self.at) {
            let Some((name, value)) = key(content).filter(|_| *found == indentation) else {
                break;
            };
            let (name, value) = (Arc::from(name), value.to_owned());
            self.at += 1;
            let is_anchored = value.starts_with('&');
            let value = self.value(&value, indentation)?;
            match &value {
                // An object at the top that has a name is only there for others, unless it is a part of the plan.
                Value::Object(_) if self.depth == 1 && is_anchored && !PARTS.contains(&&*name) => {}
                // `<<: *name` has the fields of another object.
                Value::Object(other) if &*name == "<<" => {
                    if !merged.is_empty() {
                        return None;
                    }
                    let other = other.iter();
                    merged.extend(other.map(|(key, value)| (Arc::clone(key), value.clone())));
                }
                _ => fields.push((name, value)),
            }
        }
        if fields.is_empty() && merged.is_empty() {
            return None;
        }
        // The object's own fields count.
        let own: HashSet<Arc<str>> = fields.iter().map(|(name, _)| Arc::clone(name)).collect();
        merged.retain(|(name, _)| !own.contains(name));
        merged.extend(fields);
        object(merged)
    }

    /// The value behind a key or a dash, which may have a name or be one, `&name` and `*name`.
    fn value(&mut self, written: &str, indentation: usize) -> Option<Value> {
        let written = without_comment(written)?;
        if let Some(name) = written.strip_prefix('*') {
            let (value, size) = self.anchors.get(name)?;
            self.alias_bytes += size;
            return (self.alias_bytes <= MAX_ALIAS_BYTES).then(|| value.clone());
        }
        let Some(anchor) = written.strip_prefix('&') else {
            return if written.is_empty() {
                self.nested(indentation)
            } else {
                scalar(written, 0)
            };
        };
        let (name, rest) = anchor.split_once(' ').unwrap_or((anchor, ""));
        let name = name.to_owned();
        let value = self.value(rest.trim(), indentation)?;
        // Its own aliases are counted, so that the size is bounded.
        let size = size(&value, 0)?;
        self.anchors.insert(name, (value.clone(), size));
        Some(value)
    }

    /// The block under a line: lists may stand in the column of their key.
    fn nested(&mut self, indentation: usize) -> Option<Value> {
        match self.lines.get(self.at) {
            Some((inner, _)) if *inner > indentation => self.block(*inner),
            Some((inner, content)) if *inner == indentation && item(content).is_some() => {
                self.block(indentation)
            }
            _ => Some(Value::Null),
        }
    }
}

/// The fields at the top that are parts of a plan, even if they have a name.
const PARTS: [&str; 13] = [
    "steps", "tasks", "jobs", "plan", "workflow", "spec", "main", "inputs", "vars", "output",
    "states", "args", "do",
];

/// The bytes of `value`, about; `None` if it is too deep.
fn size(value: &Value, depth: usize) -> Option<usize> {
    if depth > MAX_DEPTH {
        return None;
    }
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => Some(8),
        Value::Text(text) => Some(text.len() + 8),
        Value::List(items) => items
            .iter()
            .try_fold(8, |sum, item| Some(sum + size(item, depth + 1)?)),
        Value::Object(fields) => fields.iter().try_fold(8, |sum, (key, field)| {
            Some(sum + key.len() + size(field, depth + 1)?)
        }),
    }
}

/// The part of a line of a list behind its dash; `None` if the line is none.
fn item(line: &str) -> Option<&str> {
    let rest = line.strip_prefix('-')?;
    (rest.is_empty() || rest.starts_with(' ')).then_some(rest)
}

/// The key and the value of a line such as `key: value`.
fn key(line: &str) -> Option<(&str, &str)> {
    let quote = line
        .chars()
        .next()
        .filter(|sign| matches!(sign, '"' | '\''));
    let (key, value) = match quote {
        Some(quote) => {
            let (key, rest) = line[1..].split_once(quote)?;
            (key, rest.trim_start().strip_prefix(':')?)
        }
        None => line.split_once(':')?,
    };
    let is_key = !key.is_empty()
        && key
            .chars()
            .all(|c| c.is_alphanumeric() || "_-.$</ ".contains(c))
        && !key.ends_with(' ');
    (is_key && (value.is_empty() || value.starts_with(' '))).then(|| (key, value.trim()))
}

/// A value without the comment behind it; `None` if anything else is behind a text in quotes, or behind a list or an object on one line.
fn without_comment(written: &str) -> Option<&str> {
    let end = match written.chars().next() {
        Some('#') | None => 0,
        Some(quote @ ('"' | '\'')) => text_length(written, quote)?,
        Some('[' | '{') => closing(written)? + 1,
        Some(_) => written.find(" #").unwrap_or(written.len()),
    };
    let behind = written[end..].trim_start();
    (behind.is_empty() || behind.starts_with('#')).then(|| written[..end].trim_end())
}

/// The length of the text in `quote` at the start of `written`.
fn text_length(written: &str, quote: char) -> Option<usize> {
    let mut signs = written.char_indices().skip(1).peekable();
    while let Some((at, sign)) = signs.next() {
        if quote == '"' && sign == '\\' {
            signs.next();
        } else if sign == quote {
            // `''` is a quote in the text.
            if quote == '"' || signs.next_if(|(_, next)| *next == '\'').is_none() {
                return Some(at + 1);
            }
        }
    }
    None
}

/// A list or an object on one line, `[a, b]` or `{a: b}`, `depth` levels deep.
fn flow(text: &str, depth: usize) -> Option<Value> {
    if depth > MAX_DEPTH || closing(text)? + 1 != text.len() {
        return None;
    }
    let parts = split(&text[1..text.len() - 1])?;
    if text.starts_with('[') {
        let items = parts.into_iter().map(|item| scalar(item, depth + 1));
        return Some(Value::list(items.collect::<Option<Vec<_>>>()?));
    }
    let fields = parts.into_iter().map(|part| {
        let (name, value) = named(part, &[':'])?;
        Some((Arc::from(name), scalar(value, depth + 1)?))
    });
    object(fields.collect::<Option<Vec<_>>>()?)
}

fn scalar(text: &str, depth: usize) -> Option<Value> {
    match text.chars().next()? {
        '\'' => {
            let is_whole = text_length(text, '\'') == Some(text.len());
            is_whole.then(|| Value::text(text[1..text.len() - 1].replace("''", "'")))
        }
        '"' => Value::from_json(text).ok(),
        '[' | '{' => Value::from_json(text).ok().or_else(|| flow(text, depth)),
        '|' | '>' | '&' | '*' | '!' | '%' | '@' | '`' | '#' => None,
        _ => plain(text),
    }
}

/// A value without quotes; `None` if programs read it in several ways.
fn plain(text: &str) -> Option<Value> {
    match text {
        "true" | "True" | "TRUE" => return Some(Value::Bool(true)),
        "false" | "False" | "FALSE" => return Some(Value::Bool(false)),
        "null" | "Null" | "NULL" | "~" => return Some(Value::Null),
        _ => {}
    }
    let is_ambiguous = matches!(
        &*text.to_lowercase(),
        "yes" | "no" | "on" | "off" | ".inf" | "-.inf" | ".nan"
    );
    let is_number = text.starts_with(|sign: char| sign.is_ascii_digit() || "+-.".contains(sign))
        && text.parse::<f64>().is_ok();
    if is_number || is_ambiguous {
        return Value::from_json(text).ok();
    }
    Some(Value::text(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plans_in_yaml() {
        let check = |text: &str, expected: Option<&str>| {
            let found = value(text).map(|value| value.to_json());
            assert_eq!(found.as_deref(), expected, "{text}");
        };
        check(
            "steps:\n  - id: a\n    args:\n      n: 1\n      t: 'it''s'\n  - id: b\n",
            Some(r#"{"steps":[{"id":"a","args":{"n":1,"t":"it's"}},{"id":"b"}]}"#),
        );
        check(
            "a:\n- x: true # yes\n- [1, 2]\nb:",
            Some(r#"{"a":[{"x":true},[1,2]],"b":null}"#),
        );
        check("a: \"${b.c}\"", Some(r#"{"a":"${b.c}"}"#));
        check(
            "- f: {path: /a, n: [1, b]}\n  register: x",
            Some(r#"[{"f":{"path":"/a","n":[1,"b"]},"register":"x"}]"#),
        );
        check("a: {b: [}", None);
        check(
            "a: |\n  x\n\n    # y\nb:\n  - >-\n    c\n    d\n  - e",
            Some(r#"{"a":"x\n\n  # y\n","b":["c d","e"]}"#),
        );
        check(
            "d: &d\n  x: 1\nl:\n  - *d\nm:\n  <<: *d\n  y: 2\nn: *d",
            Some(r#"{"l":[{"x":1}],"m":{"x":1,"y":2},"n":{"x":1}}"#),
        );
        check(
            "- \"Note: done\"\n- 'it''s: so'\n- - 1\n  - -2\n- # x\n  a: 'x' # c\n  b: [1] # d\n  \"c\": \"d\" # e",
            Some(r#"["Note: done","it's: so",[1,-2],{"a":"x","b":[1],"c":"d"}]"#),
        );
        check(
            "---\na: True\nb: ~\nc: False\nd: # none\ne: it's # c",
            Some(r#"{"a":true,"b":null,"c":false,"d":null,"e":"it's"}"#),
        );
        check("a: >\n  x\n  y\n\n  z\n", Some(r#"{"a":"x y\nz\n"}"#));
        check(
            "d: &d\n  x: 1\n  y: 1\nm:\n  y: 2\n  <<: *d\ntasks: &t\n  - a: 1",
            Some(r#"{"m":{"x":1,"y":2},"tasks":[{"a":1}]}"#),
        );
        for text in [
            "a: 1\na: 2",
            "a: 1\n---\na: 2",
            "a: {b: 1, b: 2}",
            "a: 'x' y",
            "a: 'x' and 'y'",
            "a: +1",
            "a: 012",
            "a: yes",
            "a: >\n  x\n    y\n",
        ] {
            check(text, None);
        }
        check(
            &format!("a: {}{}", "[".repeat(20_000), "]".repeat(20_000)),
            None,
        );
        check(
            &format!("a: {}b", "- ".repeat(20_000)),
            Some(&format!(r#"{{"a":"{}b"}}"#, "- ".repeat(20_000))),
        );
        check(&format!("{}b", "- ".repeat(20_000)), None);
        // Each level has ten times the values of the one before.
        let bomb = (1..10).map(|at| {
            let aliases = format!("\n  - *a{}", at - 1).repeat(10);
            format!("a{at}: &a{at}{aliases}\n")
        });
        check(&format!("a0: &a0 lol\n{}", bomb.collect::<String>()), None);
        let chain = (1..500).map(|at| format!("a{at}: &a{at}\n  - *a{}\n", at - 1));
        check(&format!("a0: &a0 lol\n{}", chain.collect::<String>()), None);
        check("a: *b", None);
        check("a: |2\n  x", None);
        check("a: 1\n   b: 2", None);
        check("words", None);
        check("", None);
    }
}

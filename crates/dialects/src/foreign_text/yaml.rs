//! The JSON of a plan in YAML, for advice: blocks of keys and lists, plain and quoted texts.

use planwright_core::Value;

use super::calls::values::{closing, named, split};

/// The value of the YAML in `text`; `None` if it is more than blocks and scalars.
pub(super) fn value(text: &str) -> Option<Value> {
    let mut reader = Reader {
        lines: lines(text),
        anchors: Vec::new(),
        at: 0,
        depth: 0,
    };
    let value = reader.block(reader.lines.first()?.0)?;
    (reader.at == reader.lines.len()).then_some(value)
}

/// The indentation and the content of each line; a block of text, `key: |`, is a text in quotes.
fn lines(text: &str) -> Vec<(usize, String)> {
    let indentation = |line: &str| line.len() - line.trim_start().len();
    let mut lines = Vec::new();
    let mut rest = text.lines().peekable();
    while let Some(line) = rest.next() {
        let mut content = line.trim().to_owned();
        let is_left_out = content.is_empty()
            || content.starts_with('#')
            || content.starts_with("```")
            || content == "---";
        if is_left_out {
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
            let written = block.iter().filter(|inner| !inner.trim().is_empty());
            let margin = written.map(|inner| indentation(inner)).min().unwrap_or(0);
            let block = block
                .iter()
                .map(|inner| inner.get(margin..).unwrap_or_default());
            let separator = if sign.starts_with('>') { " " } else { "\n" };
            let block = block.collect::<Vec<_>>().join(separator);
            let end = if sign.ends_with('-') { "" } else { "\n" };
            let block = format!("{}{end}", block.trim_end());
            content.truncate(content.len() - sign.len());
            content.push_str(&Value::text(block).to_json());
        }
        lines.push((indentation(line), content));
    }
    lines
}

/// The maximum nesting of blocks.
const MAX_DEPTH: usize = 16;

struct Reader {
    /// The indentation and the content of each line.
    lines: Vec<(usize, String)>,
    at: usize,
    depth: usize,
    /// The values with names, `&name`.
    anchors: Vec<(String, Value)>,
}

impl Reader {
    fn block(&mut self, indentation: usize) -> Option<Value> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return None;
        }
        let (_, content) = self.lines.get(self.at)?;
        let value = if content.starts_with("- ") || content == "-" {
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
            let Some(rest) = content.strip_prefix('-').filter(|_| *found == indentation) else {
                break;
            };
            let inside = rest.trim_start().to_owned();
            let column = indentation + content.len() - inside.len();
            if inside.is_empty() {
                self.at += 1;
                items.push(self.nested(indentation)?);
            } else if key(&inside).is_some() {
                // The first field of an object stands behind the dash.
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
        let mut fields = Vec::new();
        while let Some((found, content)) = self.lines.get(self.at) {
            let Some((name, value)) = key(content).filter(|_| *found == indentation) else {
                break;
            };
            let (name, value) = (name.to_owned(), value.to_owned());
            self.at += 1;
            let is_anchored = value.starts_with('&');
            let value = self.value(&value, indentation)?;
            // A value at the top that has a name is only there for others.
            let is_definition = self.depth == 1 && is_anchored && name != "steps";
            match &value {
                _ if is_definition => {}
                // `<<: *name` has the fields of another object.
                Value::Object(merged) if name == "<<" => {
                    let merged = merged.iter();
                    fields.extend(merged.map(|(key, value)| (key.to_string(), value.clone())));
                }
                _ => fields.push((name, value)),
            }
        }
        (!fields.is_empty()).then(|| Value::object(fields))
    }

    /// The value behind a key or a dash, which may have a name or be one, `&name` and `*name`.
    fn value(&mut self, written: &str, indentation: usize) -> Option<Value> {
        if let Some(name) = written.strip_prefix('*') {
            let found = self.anchors.iter().rfind(|(anchor, _)| anchor == name);
            return found.map(|(_, value)| value.clone());
        }
        let Some(anchor) = written.strip_prefix('&') else {
            return if written.is_empty() {
                self.nested(indentation)
            } else {
                scalar(written)
            };
        };
        let (name, rest) = anchor.split_once(' ').unwrap_or((anchor, ""));
        let name = name.to_owned();
        let value = self.value(rest.trim(), indentation)?;
        self.anchors.push((name, value.clone()));
        Some(value)
    }

    /// The block under a line: lists may stand in the column of their key.
    fn nested(&mut self, indentation: usize) -> Option<Value> {
        match self.lines.get(self.at) {
            Some((inner, _)) if *inner > indentation => self.block(*inner),
            Some((inner, content)) if *inner == indentation && content.starts_with("- ") => {
                self.block(indentation)
            }
            _ => Some(Value::Null),
        }
    }
}

/// The key and the value of a line such as `key: value`.
fn key(line: &str) -> Option<(&str, &str)> {
    let (key, value) = line.split_once(':')?;
    let key = key.trim_matches(['"', '\'']);
    let is_key = !key.is_empty()
        && key
            .chars()
            .all(|c| c.is_alphanumeric() || "_-.$<".contains(c));
    (is_key && (value.is_empty() || value.starts_with(' '))).then(|| (key, value.trim()))
}

/// A list or an object on one line, `[a, b]` or `{a: b}`.
fn flow(text: &str) -> Option<Value> {
    if closing(text)? + 1 != text.len() {
        return None;
    }
    let parts = split(&text[1..text.len() - 1])?;
    if text.starts_with('[') {
        let items = parts.into_iter().map(scalar);
        return Some(Value::list(items.collect::<Option<Vec<_>>>()?));
    }
    let fields = parts.into_iter().map(|part| {
        let (name, value) = named(part, &[':'])?;
        Some((name, scalar(value)?))
    });
    Some(Value::object(fields.collect::<Option<Vec<_>>>()?))
}

fn scalar(text: &str) -> Option<Value> {
    let is_enclosed = |sign: char| text.len() > 1 && text.starts_with(sign) && text.ends_with(sign);
    if is_enclosed('\'') {
        return Some(Value::text(text[1..text.len() - 1].replace("''", "'")));
    }
    if text.starts_with(['"', '[', '{']) {
        return Value::from_json(text).ok().or_else(|| flow(text));
    }
    if text.starts_with(['|', '>', '&', '*', '!', '%', '@', '`']) {
        return None;
    }
    let plain = text.split(" #").next().unwrap_or_default().trim_end();
    let is_json = matches!(plain, "true" | "false" | "null") || plain.parse::<f64>().is_ok();
    let value = is_json.then(|| Value::from_json(plain).ok()).flatten();
    Some(value.unwrap_or_else(|| Value::text(plain)))
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
        check("a: *b", None);
        check("a: |2\n  x", None);
        check("a: 1\n   b: 2", None);
        check("words", None);
        check("", None);
    }
}

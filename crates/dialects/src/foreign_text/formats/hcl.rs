//! Configurations in HCL: a block is a step, a variable or an output.

use std::collections::HashMap;
use std::sync::Arc;

use planwright_core::Value;

use crate::native::path_of;

/// A block such as `step "tool" "id" { name = value }`.
struct Block<'t> {
    kind: &'t str,
    labels: Vec<&'t str>,
    /// The fields with the source of their values.
    fields: Vec<(&'t str, &'t str)>,
}

/// Blocks that say nothing about steps.
const SETTINGS: [&str; 3] = ["terraform", "provider", "required_providers"];

/// The plan in a configuration.
pub(super) fn plan(text: &str) -> Option<Value> {
    let blocks = blocks(text)?;
    let mut roots = Roots::default();
    let mut inputs: Vec<(Arc<str>, Value)> = Vec::new();
    for block in &blocks {
        match block.kind {
            "variable" | "input" => {
                let [name] = block.labels.as_slice() else {
                    return None;
                };
                let schema = block.fields.iter().filter_map(|(key, value)| match *key {
                    "type" => {
                        let kind = match value.trim_matches('"') {
                            "bool" => "boolean",
                            "list" | "set" => "array",
                            "map" => "object",
                            other => other,
                        };
                        Some(("type", Value::text(kind)))
                    }
                    "default" => Some(("default", Value::from_json(value).ok()?)),
                    "description" => Some(("description", Value::from_json(value).ok()?)),
                    _ => None,
                });
                inputs.push(((*name).into(), Value::object(schema)));
                roots.add(&format!("var.{name}"), format!("inputs.{name}"));
                roots.add(&format!("input.{name}"), format!("inputs.{name}"));
            }
            "output" | "locals" => {}
            kind if SETTINGS.contains(&kind) => {}
            kind => {
                let id = block.labels.last()?;
                let path = path_of(id);
                roots.add(&format!("{kind}.{id}"), path.clone());
                if let [tool, _] = block.labels.as_slice() {
                    roots.add(&format!("{kind}.{tool}.{id}"), path.clone());
                    roots.add(&format!("{tool}.{id}"), path);
                }
            }
        }
    }
    for (name, value) in blocks
        .iter()
        .filter(|block| block.kind == "locals")
        .flat_map(|block| &block.fields)
    {
        let value = Value::from_json(value).ok()?;
        let text = value.as_text().filter(|text| !text.contains("${"))?;
        roots
            .constants
            .insert(format!("local.{name}"), text.to_string());
    }
    let mut steps = Vec::new();
    let mut output: Vec<(Arc<str>, Value)> = Vec::new();
    for block in &blocks {
        match block.kind {
            "variable" | "input" | "locals" => {}
            kind if SETTINGS.contains(&kind) => {}
            "output" => {
                let [name] = block.labels.as_slice() else {
                    return None;
                };
                let value = block.fields.iter().find(|(key, _)| *key == "value");
                output.push(((*name).into(), roots.value(value?.1, 0)?));
            }
            _ => steps.push(roots.step(block)?),
        }
    }
    (!steps.is_empty()).then_some(())?;
    let mut plan: Vec<(Arc<str>, Value)> = Vec::new();
    if !inputs.is_empty() {
        plan.push(("inputs".into(), Value::object(inputs)));
    }
    plan.push(("steps".into(), Value::list(steps)));
    if !output.is_empty() {
        plan.push(("output".into(), Value::object(output)));
    }
    Some(Value::object(plan))
}

/// The paths that the names of a configuration stand for.
#[derive(Default)]
struct Roots {
    paths: Vec<(String, String)>,
    constants: HashMap<String, String>,
}

impl Roots {
    fn add(&mut self, written: &str, path: String) {
        self.paths.push((written.to_owned(), path));
        // The longest one is tried first.
        self.paths
            .sort_by_key(|(written, _)| std::cmp::Reverse(written.len()));
    }

    /// The path of a name such as `step.a.result[0].b`; `None` if it is not one.
    fn path(&self, written: &str) -> Option<String> {
        let written = written.trim();
        let is_part = |sign: char| sign.is_alphanumeric() || "_-.[]*".contains(sign);
        if !written.chars().all(is_part) {
            return None;
        }
        let (path, rest) = self.paths.iter().find_map(|(root, path)| {
            let rest = written.strip_prefix(root.as_str())?;
            (rest.is_empty() || rest.starts_with(['.', '['])).then_some((path, rest))
        })?;
        let is_step = !path.starts_with("inputs.");
        let shorter = [".outputs", ".output", ".results", ".result"]
            .iter()
            .find_map(|field| rest.strip_prefix(field))
            .filter(|rest| is_step && (rest.is_empty() || rest.starts_with(['.', '['])));
        Some(format!("{path}{}", shorter.unwrap_or(rest)))
    }

    fn step(&self, block: &Block<'_>) -> Option<Value> {
        let id = block.labels.last()?;
        let mut fields: Vec<(Arc<str>, Value)> = vec![("id".into(), Value::text(*id))];
        let mut args: Vec<(Arc<str>, Value)> = Vec::new();
        if let [tool, _] = block.labels.as_slice() {
            fields.push(("tool".into(), Value::text(tool.replace('/', "."))));
        }
        for (key, written) in &block.fields {
            match *key {
                "depends_on" => {
                    let inside = written.strip_prefix('[')?.strip_suffix(']')?;
                    let ids = inside.split(',').map(str::trim).filter(|id| !id.is_empty());
                    let ids = ids.map(|id| {
                        let id = id.trim_matches('"');
                        Some(Value::text(id.rsplit('.').next()?))
                    });
                    fields.push((
                        "after".into(),
                        Value::list(ids.collect::<Option<Vec<_>>>()?),
                    ));
                }
                "for_each" | "count" => return None,
                // A block with one label names its tool inside.
                _ if block.labels.len() == 1 => {
                    fields.push(((*key).into(), self.value(written, 0)?));
                }
                _ => args.push(((*key).into(), self.value(written, 0)?)),
            }
        }
        if !args.is_empty() {
            fields.push(("args".into(), Value::object(args)));
        }
        Some(Value::object(fields))
    }

    /// The value whose source is `written`.
    fn value(&self, written: &str, depth: usize) -> Option<Value> {
        let written = written.trim();
        if depth > 16 {
            return None;
        }
        if let Some(path) = self.path(written) {
            return Some(Value::text(format!("${{{path}}}")));
        }
        if let Some(constant) = self.constants.get(written) {
            return Some(Value::text(constant.as_str()));
        }
        if let Some(inside) = written
            .strip_prefix('[')
            .and_then(|rest| rest.strip_suffix(']'))
        {
            let items = super::super::calls::values::split(inside)?;
            let items = items.into_iter().map(|item| self.value(item, depth + 1));
            return Some(Value::list(items.collect::<Option<Vec<_>>>()?));
        }
        if let Some(inside) = written
            .strip_prefix('{')
            .and_then(|rest| rest.strip_suffix('}'))
        {
            let fields = fields(inside)?.into_iter().map(|(key, value)| {
                Some((
                    Arc::from(key.trim_matches('"')),
                    self.value(value, depth + 1)?,
                ))
            });
            return Some(Value::object(fields.collect::<Option<Vec<_>>>()?));
        }
        match Value::from_json(written).ok()? {
            Value::Text(text) => Some(Value::text(self.text(&text)?)),
            other => Some(other),
        }
    }

    /// `text` with the paths of this dialect in its references.
    fn text(&self, text: &str) -> Option<String> {
        let mut found = String::new();
        let mut rest = text;
        while let Some(at) = rest.find("${") {
            found.push_str(&rest[..at]);
            let (inside, behind) = rest[at + 2..].split_once('}')?;
            match (self.path(inside), self.constants.get(inside.trim())) {
                (Some(path), _) => found.extend(["${", &path, "}"]),
                (None, Some(constant)) => found.push_str(constant),
                (None, None) => return None,
            }
            rest = behind;
        }
        found.push_str(rest);
        Some(found)
    }
}

/// The blocks of `text`; `None` if it has other content.
fn blocks(text: &str) -> Option<Vec<Block<'_>>> {
    let mut found = Vec::new();
    let mut rest = skipped(text);
    while !rest.is_empty() {
        let open = rest.find('{')?;
        let head = &rest[..open];
        let mut words = head.split_whitespace();
        let kind = words.next()?;
        let labels: Option<Vec<&str>> = words
            .map(|label| label.strip_prefix('"')?.strip_suffix('"'))
            .collect();
        let labels = labels.filter(|labels| labels.len() <= 2)?;
        let is_word = |sign: char| sign.is_alphanumeric() || sign == '_';
        let is_block = kind.chars().all(is_word)
            && (!labels.is_empty() || kind == "locals" || SETTINGS.contains(&kind));
        is_block.then_some(())?;
        let length = super::super::calls::values::closing(&rest[open..])?;
        let inside = &rest[open + 1..open + length];
        found.push(Block {
            kind,
            labels,
            fields: fields(inside)?,
        });
        rest = skipped(&rest[open + length + 1..]);
    }
    (!found.is_empty()).then_some(found)
}

/// `text` without blanks and comments at its start.
fn skipped(text: &str) -> &str {
    let mut rest = text.trim_start();
    while rest.starts_with('#') || rest.starts_with("//") {
        rest = rest
            .split_once('\n')
            .map_or("", |(_, rest)| rest)
            .trim_start();
    }
    rest
}

/// The fields in a block, with the source of their values.
fn fields(inside: &str) -> Option<Vec<(&str, &str)>> {
    let mut found = Vec::new();
    let mut rest = skipped(inside);
    while !rest.is_empty() {
        let is_part = |sign: char| sign.is_alphanumeric() || "_-\"".contains(sign);
        let end = rest.find(|sign| !is_part(sign)).unwrap_or(rest.len());
        let (key, after) = rest.split_at(end);
        let after = after.trim_start();
        let value = match after.strip_prefix(['=', ':']) {
            Some(value) => value.trim_start(),
            // An inner block, `args { … }`
            None if after.starts_with('{') => after,
            None => return None,
        };
        let end = if value.starts_with(['{', '[']) {
            super::super::calls::values::closing(value)? + 1
        } else {
            value_end(value)
        };
        found.push((key, value[..end].trim()));
        rest = skipped(value[end..].trim_start().trim_start_matches(','));
    }
    found
        .iter()
        .all(|(key, _)| !key.is_empty())
        .then_some(found)
}

/// The end of a value on one line, before the comment, if any.
fn value_end(value: &str) -> usize {
    let (mut is_text, mut is_escaped, mut depth) = (false, false, 0_usize);
    for (at, sign) in value.char_indices() {
        match sign {
            _ if is_escaped => is_escaped = false,
            '\\' if is_text => is_escaped = true,
            '"' => is_text = !is_text,
            '(' | '[' | '{' if !is_text => depth += 1,
            ')' | ']' | '}' if !is_text => depth = depth.saturating_sub(1),
            '\n' | '#' | ',' if !is_text && depth == 0 => return at,
            _ => {}
        }
    }
    value.len()
}

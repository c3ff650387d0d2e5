//! Forms: a heading for each step, and a line with a name for each of its parts.

use std::collections::HashMap;
use std::sync::Arc;

use planwright_core::Value;

use super::super::table;
use super::{Draft, plan_of, scalar};

/// The plan in a text such as `STEP 1: …`, `TOOL: f`, `ARGS: …`.
pub(super) fn plan(text: &str) -> Option<Value> {
    let mut forms: Vec<Form> = Vec::new();
    for line in text.lines() {
        let plain = plain(line);
        if plain.is_empty() || plain.chars().all(|sign| "-=*_`".contains(sign)) {
            continue;
        }
        let indentation = line.len() - line.trim_start().len();
        if let Some(number) = heading(&plain) {
            forms.push(Form {
                number,
                parts: Vec::new(),
            });
            continue;
        }
        let Some(form) = forms.last_mut() else {
            // A title before the first step.
            if line.trim_start().starts_with('#') || plain.ends_with(':') && !plain.contains(": ") {
                continue;
            }
            return None;
        };
        let inner = form
            .parts
            .last()
            .map_or(usize::MAX, |part| part.indentation);
        let part = named(&plain);
        match part {
            Some((name, value)) if indentation <= inner => {
                form.parts.push(Part {
                    indentation,
                    field: known(name)?,
                    value: value.to_owned(),
                    inner: Vec::new(),
                });
            }
            _ => form.parts.last_mut()?.inner.push(plain.clone()),
        }
    }
    (!forms.is_empty()).then_some(())?;
    let mut ids: HashMap<String, String> = HashMap::new();
    for form in &forms {
        ids.insert(form.number.clone(), form.id());
    }
    let drafts = forms.iter().map(|form| form.draft(&ids));
    plan_of(drafts.collect::<Option<Vec<_>>>()?)
}

struct Form {
    /// The number or the name of the step in its heading.
    number: String,
    parts: Vec<Part>,
}

struct Part {
    indentation: usize,
    field: Field,
    value: String,
    /// The lines below it.
    inner: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Field {
    Tool,
    Server,
    Args,
    Id,
    After,
    ForPeople,
}

impl Form {
    fn part(&self, field: Field) -> Option<&Part> {
        self.parts.iter().find(|part| part.field == field)
    }

    fn id(&self) -> String {
        let name = self
            .part(Field::Id)
            .map(|part| part.value.trim_matches(['`', '"', '$', '{', '}']));
        let is_part = |sign: char| sign.is_alphanumeric() || sign == '_';
        match name.filter(|name| !name.is_empty() && name.chars().all(is_part)) {
            Some(name) => name.to_owned(),
            None if self.number.starts_with(|sign: char| sign.is_ascii_digit()) => {
                format!("step{}", self.number)
            }
            None => self.number.clone(),
        }
    }

    fn draft(&self, ids: &HashMap<String, String>) -> Option<Draft> {
        let tool = self.part(Field::Tool)?.value.trim_matches(['`', '"', '*']);
        let is_name = |sign: char| sign.is_alphanumeric() || "_-./".contains(sign);
        (!tool.is_empty() && tool.chars().all(is_name)).then_some(())?;
        let tool = match self.part(Field::Server) {
            Some(server) => format!("{}.{tool}", server.value.trim_matches('`')),
            None => tool.replace('/', "."),
        };
        let mut fields = vec![(Arc::from("tool"), Value::text(tool))];
        if let Some(part) = self.part(Field::Args) {
            fields.push(("args".into(), arguments(part)?));
        }
        let mut after = Vec::new();
        if let Some(part) = self.part(Field::After) {
            let written = part.value.to_lowercase();
            if !["none", "-", "nothing", "n/a", ""].contains(&&*written) {
                for word in part.value.split(|sign: char| !is_name(sign)) {
                    let lower = word.to_lowercase();
                    if lower.is_empty() || ["step", "steps", "and", "task"].contains(&&*lower) {
                        continue;
                    }
                    let id = ids
                        .get(word)
                        .or_else(|| ids.values().find(|id| *id == word))?;
                    after.push(id.clone());
                }
            }
        }
        Some(Draft {
            id: self.id(),
            fields,
            after,
        })
    }
}

/// The arguments in a part: JSON, `name=value`, or a line for each.
fn arguments(part: &Part) -> Option<Value> {
    let all = std::iter::once(part.value.as_str()).chain(part.inner.iter().map(String::as_str));
    let text = all.collect::<Vec<_>>().join("\n");
    let text = text.trim().trim_matches('`').trim();
    if text.starts_with('{') {
        return Value::from_json(text)
            .ok()
            .filter(|value| value.as_object().is_some());
    }
    if !part.value.is_empty() {
        return part
            .inner
            .is_empty()
            .then(|| table::arguments(&part.value))?;
    }
    let fields = part.inner.iter().map(|line| {
        let (name, value) = named(line)?;
        Some((Arc::from(name), scalar(value)))
    });
    Some(Value::object(fields.collect::<Option<Vec<_>>>()?))
}

/// `line` without the marks of lists and of emphasis.
fn plain(line: &str) -> String {
    let line = line.trim().trim_start_matches(['#', '>']).trim_start();
    let line = ["- ", "* ", "+ ", "• "]
        .iter()
        .find_map(|mark| line.strip_prefix(*mark))
        .unwrap_or(line);
    match line.strip_prefix("**") {
        Some(rest) => rest.replacen("**", "", 1).trim().to_owned(),
        None => line.trim().to_owned(),
    }
}

/// The number or the name in the heading of a step, `STEP 1: Fetch`; otherwise `None`.
fn heading(line: &str) -> Option<String> {
    let (word, rest) = line.split_once(' ')?;
    ["step", "task", "action"]
        .contains(&&*word.to_lowercase())
        .then_some(())?;
    let end = rest
        .find(|sign: char| !(sign.is_alphanumeric() || sign == '_'))
        .unwrap_or(rest.len());
    let (number, behind) = rest.split_at(end);
    let ends = behind.is_empty()
        || behind
            .trim_start()
            .starts_with([':', '.', ')', '-', '–', '—']);
    (ends && !number.is_empty()).then(|| number.to_owned())
}

/// The name and the value of a line such as `TOOL: f`.
fn named(line: &str) -> Option<(&str, &str)> {
    let (name, value) = line.split_once(':')?;
    let name = name.trim().trim_matches(['`', '*', '"']);
    let is_part = |sign: char| sign.is_alphanumeric() || " _-".contains(sign);
    let is_name = !name.is_empty() && name.len() < 40 && name.chars().all(is_part);
    is_name.then(|| (name, value.trim().trim_start_matches("** ").trim()))
}

/// The field that a name stands for.
fn known(name: &str) -> Option<Field> {
    let name = name.to_lowercase().replace(['_', '-'], " ");
    Some(match name.trim() {
        "tool" | "function" | "call" | "tool name" | "action" | "use" | "command" => Field::Tool,
        "server" | "mcp server" => Field::Server,
        "args" | "arguments" | "parameters" | "params" | "input" | "inputs" | "with"
        | "tool input" | "action input" => Field::Args,
        "output" | "save as" | "store as" | "result" | "as" | "name" | "id" | "returns"
        | "save result as" | "output variable" | "result name" | "store result as" | "variable"
        | "outputs" => Field::Id,
        "depends on" | "after" | "needs" | "dependencies" | "requires" | "wait for" | "depends"
        | "waits for" => Field::After,
        "description" | "purpose" | "why" | "note" | "notes" | "goal" | "reason" | "thought"
        | "title" | "reasoning" | "explanation" | "rationale" | "objective" => Field::ForPeople,
        _ => return None,
    })
}

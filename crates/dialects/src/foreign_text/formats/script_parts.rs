//! Scripts of a shell in which only the calls have a meaning: loops over `$(…)`, conditions, and commands of the shell itself.

use std::collections::HashMap;
use std::sync::Arc;

use planwright_core::Value;

use super::{referenced, shell};
use crate::native::UsedIds;

/// The calls of a script as a plan, and the commands that have no counterpart.
pub(in crate::foreign_text) fn plan(text: &str) -> Option<(Value, Vec<String>)> {
    let has_own_form = text.trim_start().starts_with("#!")
        || text.contains("$(")
        || text
            .lines()
            .any(|line| line.trim() == "done" || line.trim() == "fi");
    let mut parts = Parts::default();
    for line in text.replace("\\\n", " ").lines() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') || line.starts_with("set ") {
            continue;
        }
        for command in shell::separated(line, &["&&", ";"])? {
            parts.command(command)?;
        }
    }
    // Words may look like one command, but hardly like several with arguments. Round brackets are those of calls.
    let has_words_only = !text.contains('(') && parts.left_out.is_empty();
    let is_script = has_own_form || (parts.steps.len() > 1 && has_words_only);
    (is_script && !parts.steps.is_empty()).then_some(())?;
    let plan = Value::object([
        ("ordering", Value::text("listed")),
        ("steps", Value::list(parts.steps)),
    ]);
    Some((plan, parts.left_out))
}

/// A block of a script.
enum Block {
    /// A loop over the list of the reference, with the name of its item.
    For { list: String, item: String },
    /// Commands under a condition.
    If(String),
}

#[derive(Default)]
struct Parts {
    steps: Vec<Value>,
    left_out: Vec<String>,
    used: UsedIds,
    /// The paths that the variables stand for.
    names: HashMap<String, String>,
    blocks: Vec<Block>,
}

impl Parts {
    fn command(&mut self, written: &str) -> Option<()> {
        let written = ["do ", "then ", "else "]
            .iter()
            .find_map(|word| written.strip_prefix(word))
            .map_or(written, str::trim);
        match written {
            "" | "do" | "then" => return Some(()),
            "done" | "fi" => {
                if let Block::For { item, .. } = self.blocks.pop()? {
                    self.names.remove(&item);
                }
                return Some(());
            }
            "else" => {
                let Some(Block::If(condition)) = self.blocks.pop() else {
                    return None;
                };
                self.blocks.push(Block::If(format!("!({condition})")));
                return Some(());
            }
            _ => {}
        }
        if let Some(rest) = written.strip_prefix("for ") {
            let (item, list) = rest.split_once(" in ")?;
            let list = match substituted(list.trim()) {
                Some(call) => self.call(call, None)?,
                None => self.names.get(variable(list.trim())?)?.clone(),
            };
            // A loop in a loop is a plan of its own.
            let in_loop = self
                .blocks
                .iter()
                .any(|block| matches!(block, Block::For { .. }));
            (!in_loop).then_some(())?;
            self.names.insert(item.trim().to_owned(), "item".to_owned());
            self.blocks.push(Block::For {
                list,
                item: item.trim().to_owned(),
            });
            return Some(());
        }
        if let Some(test) = written.strip_prefix("if ") {
            let condition = self.test(test)?;
            self.blocks.push(Block::If(condition));
            return Some(());
        }
        if let Some((name, value)) = written.split_once('=')
            && name
                .chars()
                .all(|sign| sign.is_ascii_alphanumeric() || sign == '_')
            && let Some(call) = substituted(value.trim_matches('"'))
        {
            return self.call(call, Some(name)).map(|_| ());
        }
        if self.call(written, None).is_none() {
            self.left_out.push(written.to_owned());
        }
        Some(())
    }

    /// Adds the call in `command`, whose result the variable `name` has. Returns the path of the result.
    fn call(&mut self, command: &str, name: Option<&str>) -> Option<String> {
        let fields = shell::call(command.trim())?;
        let has_tool = |key: &str| fields.iter().find(|(field, _)| &**field == key);
        let (_, tool) = has_tool("tool")?;
        let (_, args) = has_tool("args")?;
        let is_call = args.as_object().is_some_and(|args| !args.is_empty())
            || tool.as_text()?.contains(['_', '.']);
        is_call.then_some(())?;
        let id = self.used.add_for(name.unwrap_or(tool.as_text()?));
        let mut step: Vec<(Arc<str>, Value)> = vec![("id".into(), Value::text(id.as_str()))];
        let mut conditions = Vec::new();
        let mut path = id.clone();
        for block in &self.blocks {
            match block {
                Block::For { list, .. } => {
                    step.push(("for_each".into(), Value::text(format!("${{{list}}}"))));
                    path = format!("{id}[index]");
                }
                Block::If(condition) => conditions.push(condition.as_str()),
            }
        }
        step.push(("tool".into(), tool.clone()));
        if args.as_object().is_some_and(|args| !args.is_empty()) {
            step.push(("args".into(), referenced(args, &self.names)));
        }
        match conditions.as_slice() {
            [] => {}
            [only] => step.push(("when".into(), Value::text(format!("${{{only}}}")))),
            several => {
                let all: Vec<String> = several.iter().map(|one| format!("({one})")).collect();
                step.push((
                    "when".into(),
                    Value::text(format!("${{{}}}", all.join(" && "))),
                ));
            }
        }
        self.steps.push(Value::object(step));
        if let Some(name) = name {
            self.names.insert(name.to_owned(), path.clone());
        }
        Some(path)
    }

    /// The condition of a test, `[ -n "$A" ]` or `[ "$A" = "b" ]`.
    fn test(&self, written: &str) -> Option<String> {
        let inside = written.trim().trim_end_matches(';').trim();
        let inside = inside
            .strip_prefix("[[")
            .and_then(|inside| inside.strip_suffix("]]"))
            .or_else(|| inside.strip_prefix('[')?.strip_suffix(']'))?
            .trim();
        let value = |word: &str| {
            let word = word.trim_matches('"');
            match variable(word) {
                Some(name) => self.names.get(name).cloned(),
                None if word.parse::<f64>().is_ok() => Some(word.to_owned()),
                None => (!word.contains(['$', '\'', '\\'])).then(|| format!("'{word}'")),
            }
        };
        let words: Vec<&str> = inside.split_whitespace().collect();
        match words.as_slice() {
            ["-n", one] => Some(format!("{} != ''", value(one)?)),
            ["-z", one] => Some(format!("{} == ''", value(one)?)),
            [one, sign, other] => {
                let sign = match *sign {
                    "=" | "==" | "-eq" => "==",
                    "!=" | "-ne" => "!=",
                    "-gt" => ">",
                    "-ge" => ">=",
                    "-lt" => "<",
                    "-le" => "<=",
                    _ => return None,
                };
                Some(format!("{} {sign} {}", value(one)?, value(other)?))
            }
            _ => None,
        }
    }
}

/// The command in `$(…)`.
fn substituted(written: &str) -> Option<&str> {
    let inside = written.strip_prefix("$(")?.strip_suffix(')')?;
    (!inside.contains(['(', '|'])).then_some(inside)
}

/// The name in `$NAME`, `"$NAME"` or `${NAME}`.
fn variable(written: &str) -> Option<&str> {
    let name = written.trim_matches('"').strip_prefix('$')?;
    let name = name
        .strip_prefix('{')
        .and_then(|name| name.strip_suffix('}'))
        .unwrap_or(name);
    let is_name = |sign: char| sign.is_ascii_alphanumeric() || sign == '_';
    (!name.is_empty() && name.chars().all(is_name)).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::plan;

    #[test]
    fn calls_of_scripts() {
        let check = |text: &str, expected: Option<(&str, &[&str])>| {
            let found = plan(text).map(|(plan, left_out)| (plan.to_json(), left_out));
            let found = found.as_ref().map(|(plan, left_out)| {
                (
                    plan.as_str(),
                    left_out.iter().map(String::as_str).collect::<Vec<_>>(),
                )
            });
            let expected = expected.map(|(plan, left_out)| (plan, left_out.to_vec()));
            assert_eq!(found, expected, "{text}");
        };
        check(
            "for f in $(list_files path=/d); do\n  t=$(read_file path=\"$f\")\n  write_file path=/o content=\"$t\"\ndone",
            Some((
                r#"{"ordering":"listed","steps":[{"id":"list_files","tool":"list_files","args":{"path":"/d"}},{"id":"t","for_each":"${list_files}","tool":"read_file","args":{"path":"${item}"}},{"id":"write_file","for_each":"${list_files}","tool":"write_file","args":{"path":"/o","content":"${t[index]}"}}]}"#,
                &[],
            )),
        );
        check(
            "N=$(time.now --zone UTC)\nif [ -n \"$N\" ]; then\n  say text=\"at $N\"\nelse\n  grep x y\nfi",
            Some((
                r#"{"ordering":"listed","steps":[{"id":"N","tool":"time.now","args":{"zone":"UTC"}},{"id":"say","tool":"say","args":{"text":"at ${N}"},"when":"${N != ''}"}]}"#,
                &["grep x y"],
            )),
        );
        check(
            "get_time zone=UTC\nread_file path=/a",
            Some((
                r#"{"ordering":"listed","steps":[{"id":"get_time","tool":"get_time","args":{"zone":"UTC"}},{"id":"read_file","tool":"read_file","args":{"path":"/a"}}]}"#,
                &[],
            )),
        );
        check("for f in *; do\n  cat $f\ndone", None);
        check("some words (of $(a person))", None);
    }
}

//! Scripts of a shell: a command is a call, its words are the arguments.

use std::collections::HashMap;
use std::sync::Arc;

use planwright_core::Value;

use super::super::program::{Expression, Statement, TryBlock, of_statements};
use super::diagrams::with_names;

/// Programs that call a tool of a server.
const CLIENTS: [&str; 6] = ["mcp", "mcp-cli", "mcpcli", "mcptools", "planwright", "tool"];

/// The forms in which a command inserts its input into an argument.
const STANDARD_INPUT: [&str; 4] = ["$(cat)", "$(cat -)", "$(cat /dev/stdin)", "$(</dev/stdin)"];

/// The plan in a script.
pub(super) fn plan(text: &str) -> Option<Value> {
    let mut script = Script::default();
    let joined = text.replace("\\\n", " ");
    let mut parallel: Vec<Statement> = Vec::new();
    let mut statements = Vec::new();
    // The loops around a command, each with the statements before it.
    let mut loops: Vec<(String, Expression, Vec<Statement>)> = Vec::new();
    for line in joined.lines() {
        let line = line.trim();
        let is_setting = line.starts_with("set -") || line.starts_with("set +");
        if line.is_empty() || line.starts_with('#') || is_setting {
            continue;
        }
        for command in separated(line, &["&&", ";"])? {
            let command = command.strip_prefix("do ").unwrap_or(command).trim();
            if command.is_empty() || command == "do" {
                continue;
            }
            if let Some((name, list)) = command
                .strip_prefix("for ")
                .and_then(|rest| rest.split_once(" in "))
            {
                script.names.push(name.trim().to_owned());
                let items = words(list)?;
                let items = items.iter().map(|word| script.value(word));
                let list = Expression::List(items.collect::<Option<Vec<_>>>()?);
                loops.push((
                    name.trim().to_owned(),
                    list,
                    std::mem::take(&mut statements),
                ));
                continue;
            }
            if command == "done" {
                let (name, list, before) = loops.pop()?;
                script.has_own_form = true;
                let body = std::mem::replace(&mut statements, before);
                statements.push(Statement::ForEach(name, list, body));
                continue;
            }
            if command == "wait" {
                statements.push(Statement::Parallel(std::mem::take(&mut parallel)));
                continue;
            }
            let (before, command) = script.piped(command)?;
            statements.extend(before);
            match command.strip_suffix('&') {
                Some(command) => parallel.push(script.command(command.trim())?),
                None => statements.push(script.command(command)?),
            }
        }
    }
    // A file that is not read again is more than the name of a result.
    let is_read = |file: &String| text.matches(&**file).nth(1).is_some();
    script.files.keys().all(is_read).then_some(())?;
    // A command in the background that is not waited for has no counterpart.
    (parallel.is_empty() && loops.is_empty() && script.has_own_form).then_some(())?;
    with_names(&of_statements(&statements)?)
}

/// The call in `command`.
pub(super) fn single_call(command: &str) -> Option<Expression> {
    let (tool, arguments) = Script::default().call(command)?;
    Some(Expression::call(&tool, arguments))
}

/// The fields of the step that makes the call in `command`.
pub(super) fn call(command: &str) -> Option<Vec<(Arc<str>, Value)>> {
    let mut script = Script {
        references_stay: true,
        ..Script::default()
    };
    let (tool, arguments) = script.call(command)?;
    let plain = arguments.into_iter().map(|(name, value)| match value {
        Expression::Literal(value) => Some((Arc::from(name.as_str()), value)),
        _ => None,
    });
    Some(vec![
        ("tool".into(), Value::text(tool)),
        (
            "args".into(),
            Value::object(plain.collect::<Option<Vec<_>>>()?),
        ),
    ])
}

/// The names that a script has assigned so far.
#[derive(Default)]
struct Script {
    /// The names of the results in files.
    files: HashMap<String, String>,
    names: Vec<String>,
    /// The name of the result that the command reads as its input.
    piped: Option<String>,
    /// True if the text has a form that only scripts have.
    has_own_form: bool,
    /// True if references stay as they are written.
    references_stay: bool,
}

impl Script {
    /// The last command of a pipe, and the statements for those before it: each call reads the result of the one before with `$(cat)`.
    fn piped<'t>(&mut self, written: &'t str) -> Option<(Vec<Statement>, &'t str)> {
        let is_pipe = assigned(written).is_none() && !written.contains("||");
        let mut parts = if is_pipe {
            separated(written, &["|"])?
        } else {
            vec![written]
        };
        let last = parts.pop()?;
        let mut statements = Vec::new();
        for part in parts {
            let (tool, arguments) = self.call(part)?;
            let name = format!("piped_{}", self.names.len() + 1);
            self.names.push(name.clone());
            self.has_own_form = true;
            self.piped = Some(name.clone());
            statements.push(Statement::Assign(
                vec![name],
                Expression::call(&tool, arguments),
            ));
        }
        // A command that ignores its input is not understood.
        let reads = |form: &&str| last.contains(*form);
        (statements.is_empty() || STANDARD_INPUT.iter().any(reads)).then_some((statements, last))
    }

    fn command(&mut self, written: &str) -> Option<Statement> {
        // `a || b` makes the second call if the first one fails.
        if let [first, second] = separated(written, &["||"])?.as_slice() {
            let name = assigned(first).map(|(name, _)| name.to_owned());
            let body = vec![self.command(first)?];
            let other = match name {
                Some(name) => {
                    let (tool, arguments) = self.call(second)?;
                    Statement::Assign(vec![name], Expression::call(&tool, arguments))
                }
                None => self.command(second)?,
            };
            return Some(Statement::Try(TryBlock {
                body,
                handler: vec![other],
                ..TryBlock::default()
            }));
        }
        if let Some((name, value)) = assigned(written) {
            let inside = value
                .strip_prefix("\"$(")
                .and_then(|value| value.strip_suffix(")\""))
                .or_else(|| value.strip_prefix("$(")?.strip_suffix(')'))
                .or_else(|| value.strip_prefix('`')?.strip_suffix('`'));
            let value = match inside {
                Some(inside) => {
                    self.has_own_form = true;
                    let parts = separated(inside, &["|"])?;
                    let (tool, arguments) = self.call(parts.first()?)?;
                    let call = Expression::call(&tool, arguments);
                    match parts.as_slice() {
                        [_] => call,
                        [_, filter] => selected(call, filter)?,
                        _ => return None,
                    }
                }
                None => {
                    let words = words(value)?;
                    let [word] = words.as_slice() else {
                        return None;
                    };
                    self.value(word)?
                }
            };
            self.names.push(name.to_owned());
            return Some(Statement::Assign(vec![name.to_owned()], value));
        }
        let is_call = |printed: &str| {
            let (name, _) = printed.split_once('=')?;
            name.chars()
                .all(|sign| sign.is_alphanumeric() || sign == '_')
                .then_some(())
        };
        if let Some(printed) = written.strip_prefix("echo ")
            && is_call(printed).is_none()
        {
            let words = words(printed)?;
            let [word] = words.as_slice() else {
                return None;
            };
            let value = self.value(word)?;
            let print = Expression::call("print", Vec::new());
            let Expression::Call(function, _) = print else {
                return None;
            };
            let arguments = vec![super::super::program::ProgramArgument { name: None, value }];
            return Some(Statement::Run(Expression::Call(function, arguments)));
        }
        // `command > file`
        let parts = separated(written, &[">"])?;
        let (tool, arguments) = self.call(parts.first()?)?;
        let call = Expression::call(&tool, arguments);
        match parts.as_slice() {
            [_] => Some(Statement::Run(call)),
            [_, file] if !file.contains([' ', '$']) && !file.starts_with('>') => {
                let is_part = |sign: char| sign.is_alphanumeric() || sign == '_';
                let name = file.rsplit('/').next()?.split('.').next()?;
                let name: String = name.chars().filter(|sign| is_part(*sign)).collect();
                (!name.is_empty()).then_some(())?;
                self.has_own_form = true;
                self.files.insert((*file).to_owned(), name.clone());
                self.names.push(name.clone());
                Some(Statement::Assign(vec![name], call))
            }
            _ => None,
        }
    }

    /// The tool and the arguments of a call.
    fn call(&mut self, written: &str) -> Option<(String, Vec<(String, Expression)>)> {
        let words = words(written)?;
        let mut words = words.as_slice();
        let client = words.first()?.plain()?;
        let mut server = None;
        if CLIENTS.contains(&client) {
            self.has_own_form = true;
            words = &words[1..];
            if matches!(
                words.first()?.plain()?,
                "call" | "run" | "invoke" | "exec" | "tool"
            ) {
                words = &words[1..];
            }
            let is_argument = |word: &Word| {
                word.begins_quoted || word.text.starts_with(['-', '{']) || word.text.contains('=')
            };
            let is_server = words.get(1).is_some_and(|word| !is_argument(word));
            if is_server {
                server = Some(words.first()?.plain()?.to_owned());
                words = &words[1..];
            }
        }
        let (tool, words) = words.split_first()?;
        let tool = tool.plain()?;
        let is_name = |sign: char| sign.is_alphanumeric() || "_-./".contains(sign);
        let is_tool = tool.starts_with(|sign: char| sign.is_alphabetic())
            && tool.chars().all(is_name)
            && !OF_SHELL.contains(&tool);
        is_tool.then_some(())?;
        let tool = match server {
            Some(server) => format!("{server}.{tool}"),
            None => tool.replace('/', "."),
        };
        let mut arguments: Vec<(String, Expression)> = Vec::new();
        let mut words = words.iter().peekable();
        while let Some(word) = words.next() {
            if let Some(json) = word.begins_quoted.then_some(&word.text)
                && json.trim_start().starts_with('{')
            {
                let Ok(Value::Object(fields)) = Value::from_json(json) else {
                    return None;
                };
                for (key, value) in fields.iter() {
                    arguments.push((key.to_string(), self.inserted(value, word.is_literal)?));
                }
                continue;
            }
            let option = word.text.strip_prefix("--").filter(|_| !word.begins_quoted);
            if let Some(option) = option {
                self.has_own_form = true;
                let next = |words: &mut std::iter::Peekable<std::slice::Iter<'_, Word>>| {
                    words
                        .next_if(|next| next.begins_quoted || !next.text.starts_with("--"))
                        .cloned()
                };
                match option.split_once('=') {
                    Some((name, value)) => {
                        let value = Word {
                            text: value.to_owned(),
                            ..word.clone()
                        };
                        arguments.push((name.replace('-', "_"), self.value(&value)?));
                    }
                    None => {
                        let value = match next(&mut words) {
                            Some(value) => self.value(&value)?,
                            None => Expression::Literal(Value::Bool(true)),
                        };
                        arguments.push((option.replace('-', "_"), value));
                    }
                }
                continue;
            }
            let (name, value) = word.text.split_once('=')?;
            let value = Word {
                text: value.to_owned(),
                ..word.clone()
            };
            arguments.push((name.to_owned(), self.value(&value)?));
        }
        let mut names: Vec<&String> = arguments.iter().map(|(name, _)| name).collect();
        names.sort();
        names.dedup();
        (names.len() == arguments.len()).then_some((tool, arguments))
    }

    /// The value of a word, which is a number only without quotes.
    fn value(&self, word: &Word) -> Option<Expression> {
        if word.is_quoted {
            return self.inserted(&Value::text(word.text.as_str()), word.is_literal);
        }
        let value = Value::from_json(&word.text).unwrap_or_else(|_| Value::text(&*word.text));
        self.inserted(&value, word.is_literal)
    }

    /// `value` with the names of results in its texts in place of `$NAME` and `$(cat file)`.
    fn inserted(&self, value: &Value, is_literal: bool) -> Option<Expression> {
        Some(match value {
            Value::Text(text) if !is_literal && !self.references_stay && text.contains('$') => {
                let mut parts = Vec::new();
                let mut literal = String::new();
                let mut rest = &**text;
                while let Some(at) = rest.find('$') {
                    literal.push_str(&rest[..at]);
                    let inside = &rest[at + 1..];
                    let (name, behind) = self.name_at(inside)?;
                    if !literal.is_empty() {
                        parts.push(Expression::text(std::mem::take(&mut literal)));
                    }
                    parts.push(Expression::Name(name));
                    rest = behind;
                }
                literal.push_str(rest);
                if !literal.is_empty() {
                    parts.push(Expression::text(literal));
                }
                match <[Expression; 1]>::try_from(parts) {
                    Ok([only]) => only,
                    Err(parts) => Expression::Template(parts),
                }
            }
            Value::List(items) => {
                let items = items.iter().map(|item| self.inserted(item, is_literal));
                Expression::List(items.collect::<Option<Vec<_>>>()?)
            }
            Value::Object(fields) => {
                let fields = fields
                    .iter()
                    .map(|(key, field)| Some((key.to_string(), self.inserted(field, is_literal)?)));
                Expression::Object(fields.collect::<Option<Vec<_>>>()?)
            }
            other => Expression::Literal(other.clone()),
        })
    }

    /// The name after a dollar, and the rest of the text.
    fn name_at<'t>(&self, inside: &'t str) -> Option<(String, &'t str)> {
        if let Some(rest) = STANDARD_INPUT
            .iter()
            .find_map(|form| inside.strip_prefix(&form[1..]))
        {
            return Some((self.piped.clone()?, rest));
        }
        if let Some(rest) = inside
            .strip_prefix("(cat ")
            .or_else(|| inside.strip_prefix("(< "))
        {
            let (file, rest) = rest.split_once(')')?;
            return Some((self.files.get(file.trim())?.clone(), rest));
        }
        let (name, rest) = match inside.strip_prefix('{') {
            Some(inside) => inside.split_once('}')?,
            None => {
                let is_part = |sign: char| sign.is_alphanumeric() || sign == '_';
                let end = inside.find(|sign| !is_part(sign)).unwrap_or(inside.len());
                inside.split_at(end)
            }
        };
        self.names
            .iter()
            .any(|known| known == name)
            .then(|| (name.to_owned(), rest))
    }
}

/// The field of `value` that a command such as `jq -r .a.b` selects.
fn selected(value: Expression, command: &str) -> Option<Expression> {
    let path = command.trim().strip_prefix("jq ")?.trim();
    let path = path.strip_prefix("-r ").unwrap_or(path).trim();
    let path = path.trim_matches(['\'', '"']).strip_prefix('.')?;
    let is_part = |sign: char| sign.is_alphanumeric() || sign == '_' || sign == '.';
    path.chars().all(is_part).then_some(())?;
    let fields = path.split('.').filter(|field| !field.is_empty());
    Some(fields.fold(value, |value, field| {
        Expression::Field(value.into(), field.to_owned())
    }))
}

/// Commands of a shell, which are no tools.
const OF_SHELL: [&str; 34] = [
    "cd", "ls", "cat", "grep", "sed", "awk", "curl", "wget", "git", "rm", "mv", "cp", "mkdir",
    "exit", "export", "source", "read", "test", "if", "then", "else", "fi", "for", "do", "done",
    "while", "case", "esac", "function", "local", "return", "sleep", "printf", "trap",
];

/// The name and the value of an assignment.
fn assigned(written: &str) -> Option<(&str, &str)> {
    let written = written
        .strip_prefix("export ")
        .or_else(|| written.strip_prefix("local "))
        .unwrap_or(written);
    let (name, value) = written.split_once('=')?;
    let is_part = |sign: char| sign.is_ascii_alphanumeric() || sign == '_';
    let is_name = name.starts_with(|sign: char| sign.is_ascii_alphabetic() || sign == '_')
        && name.chars().all(is_part);
    (is_name && !value.starts_with(' ')).then_some((name, value))
}

/// A word of a command.
#[derive(Clone, Debug)]
struct Word {
    text: String,
    /// True if a part of it is in quotes.
    is_quoted: bool,
    /// True if it begins with a quote.
    begins_quoted: bool,
    /// True if `$` is literal in the word.
    is_literal: bool,
}

impl Word {
    /// The text of a word without quotes and references.
    fn plain(&self) -> Option<&str> {
        (!self.is_quoted && !self.text.contains('$')).then_some(&self.text)
    }
}

/// The words of a command; `None` if a quote is never closed.
fn words(written: &str) -> Option<Vec<Word>> {
    let mut found = Vec::new();
    let mut word: Option<Word> = None;
    let mut signs = written.chars().peekable();
    let mut depth = 0_usize;
    while let Some(sign) = signs.next() {
        if sign.is_whitespace() && depth == 0 {
            found.extend(word.take());
            continue;
        }
        let current = word.get_or_insert(Word {
            text: String::new(),
            is_quoted: false,
            begins_quoted: matches!(sign, '"' | '\''),
            is_literal: false,
        });
        match sign {
            '\'' => {
                current.is_quoted = true;
                current.is_literal = true;
                loop {
                    match signs.next()? {
                        '\'' => break,
                        other => current.text.push(other),
                    }
                }
            }
            '"' => {
                current.is_quoted = true;
                loop {
                    match signs.next()? {
                        '"' => break,
                        '\\' => match signs.next()? {
                            escaped @ ('"' | '\\' | '`') => current.text.push(escaped),
                            '$' => return None,
                            other => current.text.extend(['\\', other]),
                        },
                        other => current.text.push(other),
                    }
                }
            }
            '\\' => current.text.push(signs.next()?),
            '(' => {
                depth += 1;
                current.text.push(sign);
            }
            ')' => {
                depth = depth.checked_sub(1)?;
                current.text.push(sign);
            }
            '|' | '<' | '&' => return None,
            other => current.text.push(other),
        }
    }
    found.extend(word);
    (depth == 0).then_some(found)
}

/// The parts of `line` between `separators` that are in no quotes and no brackets.
pub(super) fn separated<'t>(line: &'t str, separators: &[&str]) -> Option<Vec<&'t str>> {
    let mut found = Vec::new();
    let (mut start, mut depth, mut quote, mut is_escaped) = (0, 0_usize, None, false);
    let mut skip = 0;
    for (at, sign) in line.char_indices() {
        if at < skip {
            continue;
        }
        match (quote, sign) {
            _ if is_escaped => is_escaped = false,
            (Some('\''), '\'') | (Some('"'), '"') => quote = None,
            (Some('\''), _) => {}
            (_, '\\') => is_escaped = true,
            (None, '\'' | '"') => quote = Some(sign),
            (_, '(') => depth += 1,
            (_, ')') => depth = depth.checked_sub(1)?,
            (None, _) if depth == 0 => {
                let rest = &line[at..];
                if let Some(separator) = separators.iter().find(|found| rest.starts_with(**found)) {
                    found.push(line[start..at].trim());
                    start = at + separator.len();
                    skip = start;
                }
            }
            _ => {}
        }
    }
    found.push(line[start..].trim());
    quote.is_none().then_some(found)
}

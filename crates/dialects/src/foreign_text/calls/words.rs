//! Words around a call, which are known or make the line unknown: `only if it rains` must not be lost.

use std::collections::HashSet;

/// Words that only announce a call, or the name of its result.
const HARMLESS: [&str; 49] = [
    "call", "calls", "use", "using", "run", "invoke", "execute", "do", "make", "get", "then",
    "first", "second", "third", "next", "finally", "lastly", "now", "and", "it", "the", "a",
    "this", "that", "with", "tool", "function", "step", "result", "results", "output", "outputs",
    "response", "value", "keep", "store", "save", "put", "assign", "as", "in", "into", "to",
    "named", "name", "await", "action", "of", "by",
];

/// Words for all of a result, which is returned.
const RETURNED: [&str; 19] = [
    "it", "this", "that", "the", "a", "its", "result", "results", "output", "outputs", "response",
    "answer", "summary", "final", "back", "to", "me", "user", "as",
];

/// Words after a call that select a part of its result.
const PARTS: [&str; 4] = ["first", "second", "third", "name"];

/// Words that are not names of results: they decide whether, or how often, a call is made.
const CONTROL: [&str; 40] = [
    "if", "else", "elif", "unless", "when", "whenever", "while", "until", "for", "foreach", "each",
    "loop", "repeat", "retry", "try", "except", "catch", "case", "default", "switch", "match",
    "or", "not", "no", "never", "maybe", "perhaps", "optional", "fallback", "skip", "needed",
    "required", "possible", "parallel", "order", "sequence", "true", "false", "null", "none",
];

/// Longer ones of them.
const LONG_CONTROL: [&str; 6] = [
    "otherwise",
    "optionally",
    "alternatively",
    "alternative",
    "necessary",
    "appropriate",
];

/// Words that declare a name.
const DECLARATIONS: [&str; 6] = ["const", "let", "var", "val", "auto", "set"];

/// The words before a call.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Before {
    /// The names for the result.
    pub(super) ids: Vec<String>,
}

/// The words after a call.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct After {
    /// The name for the result.
    pub(super) id: Option<String>,
    /// The steps that it waits for.
    pub(super) waits_for: Vec<String>,
    /// True if the result is returned.
    pub(super) returns: bool,
}

/// Returns true if `line` makes names of a program known.
pub(super) fn is_import(line: &str) -> bool {
    line.starts_with("import ")
        || (line.starts_with("from ") && line.contains(" import "))
        || is_require(line)
        || line == "\"use strict\";"
        // A decorator
        || (line.starts_with('@') && !line.contains(' '))
}

/// Returns true if `line` is `const name = require("module")`.
fn is_require(line: &str) -> bool {
    let declared = DECLARATIONS
        .iter()
        .find_map(|word| line.strip_prefix(word)?.strip_prefix(' '));
    let module = declared.and_then(|rest| {
        let (name, value) = rest.split_once('=')?;
        let is_names = name
            .chars()
            .all(|sign| sign.is_alphanumeric() || "_$ {},:".contains(sign));
        let module = value.trim().strip_prefix("require(")?;
        let module = module.trim_end_matches(';').strip_suffix(')')?.trim();
        is_names.then_some(module)
    });
    module.is_some_and(|module| {
        let quotes: [char; 2] = ['"', '\''];
        let inside = module
            .strip_prefix(quotes)
            .and_then(|rest| rest.strip_suffix(quotes));
        inside.is_some_and(|name| !name.contains(quotes))
    })
}

/// The name of the function without parameters that `line` begins, and whether a brace opens its body.
pub(super) fn function_head(line: &str) -> Option<(String, bool)> {
    let mut rest = line;
    for word in [
        "export ",
        "default ",
        "async ",
        "def ",
        "function ",
        "const ",
    ] {
        rest = rest.strip_prefix(word).unwrap_or(rest);
    }
    if rest.len() == line.len() {
        return None;
    }
    let end = rest.find(|sign: char| !(sign.is_alphanumeric() || sign == '_'))?;
    let (name, after) = rest.split_at(end);
    // `const main = async () => {`
    let arrow = after
        .trim_start()
        .strip_prefix('=')
        .map(|after| after.trim_start().trim_start_matches("async").trim_start());
    let (parameters, after) = arrow.unwrap_or(after).strip_prefix('(')?.split_once(')')?;
    // Other parameters would be inputs of the plan.
    let is_client = |parameter: &str| {
        let name = parameter
            .split([':', '='])
            .next()
            .unwrap_or_default()
            .trim();
        name.is_empty() || CLIENTS.contains(&name)
    };
    if !parameters.split(',').all(is_client) {
        return None;
    }
    let has_brace = after.ends_with('{');
    let is_head = has_brace || (after.ends_with(':') && line.contains("def "));
    let is_arrow = after.contains("=>");
    (is_head && is_arrow == arrow.is_some() && !name.is_empty())
        .then(|| (name.to_owned(), has_brace))
}

/// Words of a label that may say whether, when or how often a call is made.
const CONDITIONS: [&str; 26] = [
    "if",
    "when",
    "unless",
    "until",
    "while",
    "each",
    "every",
    "for",
    "only",
    "optional",
    "optionally",
    "otherwise",
    "else",
    "not",
    "never",
    "don't",
    "skip",
    "after",
    "before",
    "repeat",
    "retry",
    "try",
    "maybe",
    "all",
    "case",
    "or",
];

/// `line` without a label in bold before it, such as `**Get the time** –`, which has no effect on the order of calls.
pub(super) fn without_label(line: &str) -> &str {
    // `Step 2:`
    let number = line
        .strip_prefix("Step ")
        .or_else(|| line.strip_prefix("STEP "));
    let rest = number.map(|number| number.trim_start_matches(|sign: char| sign.is_ascii_digit()));
    if let (Some(number), Some(rest)) = (number, rest)
        && rest.len() < number.len()
        && let Some(rest) = rest.strip_prefix([':', '.', ')'])
    {
        return rest.trim_start();
    }
    let Some((label, rest)) = line
        .strip_prefix("**")
        .and_then(|line| line.split_once("**"))
    else {
        return line;
    };
    let lower = label.to_lowercase();
    let mut words = lower.split(|sign: char| !(sign.is_alphanumeric() || sign == '\''));
    let is_condition = words.any(|word| CONDITIONS.contains(&word));
    let separators = [':', '-', '–', '—', ' '];
    let is_separated = rest.trim_start().starts_with(separators) || label.ends_with(':');
    if is_condition || !is_separated || label.contains(['(', '=']) {
        return line;
    }
    rest.trim_start_matches(separators)
}

/// The objects of programs whose methods are tools.
const CLIENTS: [&str; 14] = [
    "activities",
    "default_api",
    "functions",
    "tools",
    "tool",
    "client",
    "session",
    "mcp",
    "self",
    "this",
    "ctx",
    "context",
    "api",
    "agent",
];

/// `tool` without the object of a program before it, `activities.f`.
pub(in crate::foreign_text) fn without_client(tool: &str) -> &str {
    match tool.split_once('.') {
        Some((client, name)) if CLIENTS.contains(&client) => without_client(name),
        Some(_) | None => tool,
    }
}

/// The tool in `f.invoke`, whose only argument is the object of all arguments.
pub(in crate::foreign_text) fn invoked(tool: &str) -> Option<&str> {
    let (name, method) = tool.rsplit_once('.')?;
    let is_call = matches!(method, "invoke" | "ainvoke" | "run" | "arun");
    (is_call && !CLIENTS.contains(&name)).then_some(name)
}

/// Returns true if `tool` is a function that calls the tool that its first argument names.
pub(in crate::foreign_text) fn calls_tool(tool: &str) -> bool {
    let functions = [
        "call_tool",
        "callTool",
        "execute_tool",
        "executeTool",
        "run_tool",
        "use_tool",
        "invoke_tool",
        "invokeTool",
    ];
    functions.contains(&tool)
}

/// Reads the words before a call: `const a =, `Step 1:`, `Then call`.
pub(super) fn before(words: &str) -> Option<Before> {
    let words = words.trim().trim_matches(['*', '`']).trim();
    let mut words = words.strip_suffix("await").unwrap_or(words).trim();
    for operator in [":=", "<-", "=", ":"] {
        let Some(rest) = words.strip_suffix(operator) else {
            continue;
        };
        // `customer: Customer = f()` and `a == f()` are more than a name.
        let rest = rest.trim();
        if operator == "=" && rest.ends_with(['=', '!', '<', '>', '+', '-', '*', '/']) {
            return None;
        }
        let names = DECLARATIONS
            .iter()
            .find_map(|word| rest.strip_prefix(word)?.strip_prefix(' '))
            .unwrap_or(rest)
            .trim();
        let inside = names
            .strip_prefix('[')
            .and_then(|names| names.strip_suffix(']'));
        let list: Vec<&str> = inside.unwrap_or(names).split(',').map(str::trim).collect();
        if list.len() > 1 || inside.is_some() {
            let ids: Option<Vec<String>> = list.into_iter().map(id).collect();
            return Some(Before { ids: ids? });
        }
        if operator != ":" {
            return Some(Before {
                ids: vec![id(names)?],
            });
        }
        // `Step 1:` has only a number, `Step orders:` has a name.
        let mut tokens: Vec<&str> = names.split_whitespace().collect();
        // `now:` is a name rather than a word between calls.
        let is_now = tokens == ["now"];
        if tokens.first().is_some_and(|word| is_harmless(word)) && tokens.len() < 3 && !is_now {
            tokens.remove(0);
        }
        return match tokens.as_slice() {
            [] => Some(Before { ids: Vec::new() }),
            [one] if is_number(one) || (is_harmless(one) && !is_now) => {
                Some(Before { ids: Vec::new() })
            }
            [one] => Some(Before {
                ids: vec![id(one)?],
            }),
            _ => None,
        };
    }
    words = words.trim_end_matches(':');
    // `Step 1: call`
    if let Some((label, rest)) = words.split_once(':') {
        before(&format!("{label}:"))?;
        words = rest;
    }
    let is_known = words
        .split_whitespace()
        .all(|word| is_harmless(word) || is_number(word));
    is_known.then_some(Before { ids: Vec::new() })
}

/// Reads the words after a call: `-> a`, `and keep it as a`, `AFTER b`.
pub(super) fn after(words: &str, ids: &HashSet<String>) -> Option<After> {
    let words = words
        .trim()
        .trim_end_matches([';', '.', ','])
        .trim_matches(['*', '`', ' ']);
    // `.rows` is a part of the result.
    let is_path = words
        .strip_prefix('.')
        .is_some_and(|rest| rest.starts_with(|c: char| !c.is_whitespace()));
    if is_path {
        return None;
    }
    let words = words.trim_start_matches([',', ';', '.']).trim();
    // `*(after step 3)*`
    let words = words
        .strip_prefix('(')
        .and_then(|words| words.strip_suffix(')'))
        .map_or(words, str::trim)
        .trim_start_matches('*')
        .trim_start_matches('(')
        .trim_end_matches(')');
    let mut found = After::default();
    if words.is_empty() {
        return Some(found);
    }
    for arrow in ["->", "=>", "→", "⇒"] {
        if let Some(name) = words.strip_prefix(arrow) {
            found.id = Some(id(name.trim())?);
            return Some(found);
        }
    }
    let tokens: Vec<&str> = words.split_whitespace().collect();
    let mut tokens = tokens.as_slice();
    let mut names_follow = false;
    let mut is_named = false;
    while let Some((word, rest)) = tokens.split_first() {
        tokens = rest;
        let lower = word.to_lowercase();
        if matches!(&*lower, "return" | "returns") {
            // `and return the summary`
            found.returns = rest.iter().all(|word| is_in(word, &RETURNED));
            return found.returns.then_some(found);
        }
        if matches!(&*lower, "after" | "needs") {
            for name in rest {
                let name = name.trim_matches([',', '(', ')', '[', ']']);
                if matches!(name, "step" | "steps" | "Step" | "and") {
                    continue;
                }
                if is_number(name) {
                    found.waits_for.push(format!("#{name}"));
                    continue;
                }
                if !ids.contains(name) {
                    return None;
                }
                found.waits_for.push(name.to_owned());
            }
            return (!found.waits_for.is_empty()).then_some(found);
        }
        // A name may be a word such as `now`.
        let is_name = is_named
            && found.id.is_none()
            && !matches!(
                &*lower,
                "a" | "an" | "the" | "result" | "output" | "value" | "it"
            );
        is_named = matches!(&*lower, "as" | "named");
        if is_name {
            found.id = Some(id(word.trim_matches(['.', ',', '`', '"', '\'', '*']))?);
        } else if is_in(word, &PARTS) {
            return None;
        } else if is_harmless(word) {
            names_follow |= matches!(
                &*lower,
                "as" | "in" | "into" | "to" | "named" | "call" | "name" | "label"
            );
        } else if names_follow && found.id.is_none() {
            found.id = Some(id(word.trim_matches(['.', ',', '`', '"', '\'', '*']))?);
        } else {
            return None;
        }
    }
    Some(found)
}

/// Returns true if `line` names a call.
pub(super) fn names_call(line: &str) -> bool {
    line.match_indices('(')
        .any(|(at, _)| line[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_'))
        || line.contains('`')
}

fn is_harmless(word: &str) -> bool {
    is_in(word, &HARMLESS)
}

/// Returns true if `word` without its punctuation is one of `words`.
fn is_in(word: &str, words: &[&str]) -> bool {
    let word = word
        .trim_matches([',', '.', ':', ';', '`', '*'])
        .to_lowercase();
    words.contains(&&*word)
}

fn is_number(word: &str) -> bool {
    let word = word.trim_end_matches(['.', ')', ':']);
    !word.is_empty() && word.chars().all(|c| c.is_ascii_digit())
}

/// `name` as an id that needs no quotes.
fn id(name: &str) -> Option<String> {
    let name = name.trim_matches(['`', '"', '\'', '$']);
    let is_id = name.starts_with(|c: char| c.is_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_alphanumeric() || c == '_');
    let is_control = is_in(name, &CONTROL) || is_in(name, &LONG_CONTROL);
    (is_id && !is_control).then(|| name.to_owned())
}

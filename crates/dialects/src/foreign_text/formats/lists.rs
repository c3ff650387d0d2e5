//! Lists in words: `1. Call read_query with query "SELECT 1"`, ``2. **write_file**: `{"path": "/x"}` ``.

use std::sync::Arc;

use planwright_core::Value;

use super::scalar;
use crate::native::UsedIds;

/// Words between sentences about calls that run one after the other.
const SEPARATORS: [&str; 16] = [
    ", and then ",
    ", then ",
    " and then ",
    "; then ",
    ". Then ",
    ". Then, ",
    ", and finally ",
    " and finally ",
    ", finally ",
    ". Finally ",
    ". Finally, ",
    ". Next ",
    ". Next, ",
    ". After that, ",
    ", after that ",
    ".\n",
];

/// Words at the start of a sentence about a call.
const STARTS: [&str; 10] = [
    "please ",
    "first, ",
    "first ",
    "then, ",
    "then ",
    "next, ",
    "next ",
    "finally, ",
    "finally ",
    "and ",
];

/// The plan in sentences that each make one call, `first call f with x=1, then call g with y="a"`, or in a numbered list of them.
pub(super) fn plan(text: &str) -> Option<Value> {
    of_items(text).or_else(|| of_sentences(text))
}

/// The plan in sentences. Each value is in quotes, a single word, or the output of the call before.
fn of_sentences(text: &str) -> Option<Value> {
    (text.len() <= MAX_SENTENCES).then_some(())?;
    let sentences = split_at(text.trim(), &SEPARATORS);
    let sentences = sentences.iter().filter(|sentence| !sentence.is_empty());
    let mut used = UsedIds::default();
    let mut ids: Vec<String> = Vec::new();
    let mut steps = Vec::new();
    for sentence in sentences {
        let mut sentence = sentence.trim().trim_end_matches(['.', ',', ';', '!']);
        while let Some(start) = STARTS.iter().find(|start| begins_with(sentence, start)) {
            sentence = sentence.get(start.len()..)?.trim_start();
        }
        let verb = sentence.split(' ').next()?.to_lowercase();
        VERBS.contains(&&*verb).then_some(())?;
        let (tool, words) = call(sentence)?;
        let args = arguments(words, &ids)?.into_iter().map(|(name, value)| {
            let value = sentence_value(&value, words, &ids)?;
            Some((name, value))
        });
        let args = args.collect::<Option<Vec<_>>>()?;
        let id = used.add_for(tool);
        let mut fields = vec![
            (Arc::from("id"), Value::text(id.as_str())),
            ("tool".into(), Value::text(tool)),
        ];
        if !args.is_empty() {
            fields.push(("args".into(), Value::object(args)));
        }
        steps.push(Value::object(fields));
        ids.push(id);
    }
    (!steps.is_empty()).then_some(())?;
    Some(Value::object([
        ("ordering", Value::text("listed")),
        ("steps", Value::list(steps)),
    ]))
}

/// Returns true if `text` begins with `start`, in any case.
fn begins_with(text: &str, start: &str) -> bool {
    let begin = text.get(..start.len());
    begin.is_some_and(|begin| begin.eq_ignore_ascii_case(start))
}

/// The value of an argument in a sentence with the `words`; `None` if it may be words about a value.
fn sentence_value(value: &Value, words: &str, ids: &[String]) -> Option<Value> {
    let Value::Text(text) = value else {
        return Some(value.clone());
    };
    if text.starts_with("${") && text.find('}') == Some(text.len() - 1) {
        return Some(value.clone());
    }
    let start = text.split("${").next().unwrap_or_default();
    let is_quoted = ['"', '\'']
        .iter()
        .any(|quote| words.contains(&format!("{quote}{start}")));
    if is_quoted {
        // A marker that is still there has no known meaning.
        let is_known = !text.replace("${", "").contains(['{', '<']);
        return is_known.then(|| value.clone());
    }
    // `its datetime`, `the result`
    let previous = ids.last();
    let part = ["its ", "the "]
        .iter()
        .find_map(|word| text.strip_prefix(word));
    let outputs = ["result", "output", "response", "answer"];
    match part {
        Some(part) if outputs.contains(&part) => Some(Value::text(format!("${{{}}}", previous?))),
        Some(part) if text.starts_with("its ") && !part.contains(' ') => {
            Some(Value::text(format!("${{{}.{part}}}", previous?)))
        }
        Some(_) => None,
        None => {
            let is_word = !text.contains([' ', '{', '<', '$']) && !outputs.contains(&&**text);
            (is_word && !matches!(&**text, "it" | "that" | "this")).then(|| value.clone())
        }
    }
}

/// The plan in a numbered list whose items each make one call, in their order.
fn of_items(text: &str) -> Option<Value> {
    let mut items: Vec<String> = Vec::new();
    for line in text.lines() {
        let plain = line.trim();
        match item(plain) {
            Some(rest) => items.push(rest.to_owned()),
            None if plain.is_empty() || plain.starts_with('#') || plain.starts_with("```") => {}
            // A title before the list, or a further line of an item.
            None if items.is_empty() && plain.ends_with(':') => {}
            None => {
                let last = items.last_mut()?;
                last.push_str(if last.contains(" with ") {
                    ", "
                } else {
                    " with "
                });
                last.push_str(plain.trim_start_matches(['-', '*', ' ']));
            }
        }
    }
    let mut used = UsedIds::default();
    let calls: Vec<(&str, &str)> = items.iter().map(|item| call(item)).collect::<Option<_>>()?;
    let ids: Vec<String> = calls.iter().map(|(tool, _)| used.add_for(tool)).collect();
    let steps = calls.iter().zip(&ids).map(|((tool, args), id)| {
        let mut fields = vec![
            (Arc::from("id"), Value::text(id.as_str())),
            ("tool".into(), Value::text(*tool)),
        ];
        let args = arguments(args, &ids)?;
        if !args.is_empty() {
            fields.push(("args".into(), Value::object(args)));
        }
        Some(Value::object(fields))
    });
    let steps = steps.collect::<Option<Vec<_>>>()?;
    (!steps.is_empty()).then_some(())?;
    Some(Value::object([
        ("ordering", Value::text("listed")),
        ("steps", Value::list(steps)),
    ]))
}

/// The text of the item that `line` is: `1. …`, `2) …`, `Step 3: …`.
fn item(line: &str) -> Option<&str> {
    let line = line.trim_start_matches("**");
    let word = ["Step ", "step "]
        .iter()
        .find_map(|word| line.strip_prefix(word));
    let rest = word.unwrap_or(line);
    let behind = rest.trim_start_matches(|sign: char| sign.is_ascii_digit());
    (behind.len() < rest.len()).then_some(())?;
    Some(
        behind
            .strip_prefix(['.', ')', ':'])?
            .trim_start_matches("**")
            .trim(),
    )
}

/// The maximum length of sentences about calls, in bytes.
const MAX_SENTENCES: usize = 4000;

/// Verbs before the name of a tool.
const VERBS: [&str; 5] = ["call", "use", "run", "invoke", "execute"];

/// The tool of an item, and the words about its arguments.
fn call(item: &str) -> Option<(&str, &str)> {
    let (first, rest) = item.split_once(' ').unwrap_or((item, ""));
    let is_verb = VERBS.contains(&&*first.to_lowercase());
    let rest = if is_verb { rest } else { item };
    let rest = rest.strip_prefix("the ").unwrap_or(rest).trim_start();
    let is_part = |sign: char| sign.is_alphanumeric() || "_-./".contains(sign);
    let marks = |sign: char| "*`".contains(sign);
    let named = rest.trim_start_matches(marks);
    let end = named.find(|sign| !is_part(sign)).unwrap_or(named.len());
    let (tool, after) = named.split_at(end);
    // A plain word is the name of a tool only if it is marked as one, or behind a verb.
    let is_tool = tool.contains(['_', '.', '/', '-']) || named.len() < rest.len();
    (is_tool && tool.len() > 1 && (is_verb || named.len() < rest.len() || tool.contains('_')))
        .then_some(())?;
    let after = after.trim_start_matches(marks).trim_start();
    let after = after.strip_prefix("tool").unwrap_or(after).trim_start();
    if after.is_empty() {
        return Some((tool, ""));
    }
    // `to save it` says what the call is for.
    let words = [
        "with arguments",
        "with args",
        "with parameters",
        "with",
        "using",
        ":",
        "→",
        "->",
        "–",
        "-",
    ];
    let after = match after.find(" with ").filter(|_| after.starts_with("to ")) {
        Some(at) => after.get(at + 1..)?,
        None => after,
    };
    if after.starts_with(['{', '(']) {
        return Some((tool, after));
    }
    let rest = words.iter().find_map(|word| after.strip_prefix(word));
    let purpose = after.starts_with("to ") && !after.contains(['=', '{', '"']);
    match rest {
        Some(rest) => Some((tool, rest.trim_start_matches(':').trim())),
        None => purpose.then_some((tool, "")),
    }
}

/// The arguments in `words`: an object of JSON, or names with values.
fn arguments(words: &str, ids: &[String]) -> Option<Vec<(Arc<str>, Value)>> {
    let words = words.trim().trim_end_matches('.').trim();
    let marked = words
        .strip_prefix('`')
        .and_then(|words| words.strip_suffix('`'));
    let words = marked
        .filter(|words| !words.contains('`'))
        .unwrap_or(words)
        .trim();
    let nothing = [
        "no arguments",
        "no args",
        "no parameters",
        "no input",
        "none",
        "nothing",
    ];
    if nothing.contains(&&*words.to_lowercase()) {
        return Some(Vec::new());
    }
    if words.starts_with('{')
        && let Ok(value) = Value::from_json(words)
    {
        let fields = value.as_object()?.iter();
        let fields = fields.map(|(key, field)| (Arc::clone(key), referenced(field, ids)));
        return Some(fields.collect());
    }
    let words = words
        .strip_prefix('(')
        .and_then(|words| words.strip_suffix(')'))
        .unwrap_or(words);
    let mut found = Vec::new();
    for part in parts(words) {
        let part = part
            .strip_prefix("the ")
            .unwrap_or(&part)
            .trim_matches('`')
            .trim();
        if part.is_empty() {
            continue;
        }
        let is_part = |sign: char| sign.is_alphanumeric() || "_-".contains(sign);
        let end = part.find(|sign| !is_part(sign))?;
        let (name, value) = part.split_at(end);
        let value = value.trim_start_matches('`').trim_start();
        // A mark in a value would be a part of it.
        (!value.trim_matches('`').contains('`')).then_some(())?;
        let value = ["=", ":", "set to ", "as ", "is "]
            .iter()
            .find_map(|word| value.strip_prefix(word))
            .unwrap_or(value)
            .trim_start();
        (!name.is_empty() && !value.is_empty()).then_some(())?;
        found.push((Arc::from(name), referenced(&scalar(value), ids)));
    }
    Some(found)
}

/// The parts of `words` between commas and `and`, outside of quotes and brackets.
fn parts(words: &str) -> Vec<String> {
    split_at(words, &[", and ", ",", " and "])
}

/// The parts of `words` between `separators`, outside of quotes and brackets.
fn split_at(words: &str, separators: &[&str]) -> Vec<String> {
    let mut found = vec![String::new()];
    let mut quote = None;
    let mut depth = 0_usize;
    let mut rest = words;
    while let Some(sign) = rest.chars().next() {
        match (quote, sign) {
            (Some(open), _) if open == sign => quote = None,
            (None, '"' | '\'' | '`') => quote = Some(sign),
            (None, '[' | '{' | '(') => depth += 1,
            (None, ']' | '}' | ')') => depth = depth.saturating_sub(1),
            (Some(_) | None, _) => {}
        }
        let separator = separators.iter().find(|word| rest.starts_with(**word));
        match separator.filter(|_| quote.is_none() && depth == 0) {
            Some(separator) => {
                found.push(String::new());
                rest = &rest[separator.len()..];
            }
            None => {
                if let Some(last) = found.last_mut() {
                    last.push(sign);
                }
                rest = &rest[sign.len_utf8()..];
            }
        }
    }
    found.iter().map(|part| part.trim().to_owned()).collect()
}

/// `value` with references in place of the words for the output of a step: `{{step1}}`, `the result of step 1`.
fn referenced(value: &Value, ids: &[String]) -> Value {
    match value {
        Value::Text(text) => {
            if let Some(path) = step_in(text, ids) {
                return Value::text(format!("${{{path}}}"));
            }
            let mut written = String::new();
            let mut rest = &**text;
            while let Some(at) = rest.find('{') {
                let inside = rest[at..].trim_start_matches('{');
                let opened = rest[at..].len() - inside.len();
                let end = inside.find('}').unwrap_or(inside.len());
                let path = step_in(&inside[..end], ids);
                let behind = inside[end..].trim_start_matches('}');
                match path {
                    Some(path) => {
                        written.push_str(rest[..at].trim_end_matches('$'));
                        written.extend(["${", &path, "}"]);
                        rest = behind;
                    }
                    None => {
                        written.push_str(&rest[..at + opened]);
                        rest = inside;
                    }
                }
            }
            Value::text(written + rest)
        }
        Value::List(items) => Value::list(items.iter().map(|item| referenced(item, ids))),
        Value::Object(fields) => {
            let fields = fields.iter();
            Value::object(fields.map(|(key, field)| (Arc::clone(key), referenced(field, ids))))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    }
}

/// The path that `words` mean, if they are about the output of one step by its number.
fn step_in(words: &str, ids: &[String]) -> Option<String> {
    let lower = words.trim().to_lowercase();
    let fillers = [
        "the ",
        "result of ",
        "results of ",
        "output of ",
        "outputs of ",
        "from ",
        "content of ",
        "result from ",
        "output from ",
    ];
    let mut rest = &*lower;
    while let Some(shorter) = fillers.iter().find_map(|word| rest.strip_prefix(word)) {
        rest = shorter;
    }
    let rest = rest
        .strip_prefix("step")?
        .trim_start_matches(['_', ' ', '#']);
    let digits = rest.len()
        - rest
            .trim_start_matches(|sign: char| sign.is_ascii_digit())
            .len();
    let number: usize = rest[..digits].parse().ok()?;
    let id = ids.get(number.checked_sub(1)?)?;
    let after = rest[digits..].trim_start_matches("'s").trim();
    let field = after.strip_prefix('.');
    let outputs = ["", "result", "output", "results", "outputs"];
    if outputs.contains(&after) || field.is_some_and(|field| outputs.contains(&field)) {
        return Some(id.clone());
    }
    let field = field?;
    let is_path = field
        .chars()
        .all(|sign| sign.is_alphanumeric() || "_.".contains(sign));
    // The case of the letters counts in a path.
    let written = words.trim().get(words.trim().len() - field.len()..)?;
    is_path.then(|| format!("{id}.{written}"))
}

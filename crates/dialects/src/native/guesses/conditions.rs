//! Conditions that are objects or lists: `{"left": …, "op": ">", "right": …}`, `{"==": [a, b]}`, `{"and": […]}`.

use std::collections::HashSet;
use std::sync::Arc;

use planwright_core::{Code, Diagnostic};

use super::texts::{bare_name, expression_of, without_output_fields};
use super::words::{STEP, negates};
use super::{Guesses, has};
use crate::document::edits::{field_edits, json};
use crate::document::{Item, ItemEntry, ItemKind, quote};
use crate::native::reference::is_expression;

/// Words for operators, with the operator here. A word that ends with `(` is a method.
const OPERATORS: &[(&str, &[&str])] = &[
    (
        "==",
        &[
            "==", "=", "===", "eq", "equals", "equal", "is", "equal_to", "equalto",
        ],
    ),
    (
        "!=",
        &[
            "!=",
            "!==",
            "<>",
            "ne",
            "neq",
            "not_equals",
            "notequals",
            "not_equal",
            "is_not",
            "isnot",
        ],
    ),
    (
        ">=",
        &[
            ">=",
            "gte",
            "ge",
            "greater_than_or_equal",
            "greaterthanorequal",
            "at_least",
            "min",
        ],
    ),
    (
        "<=",
        &[
            "<=",
            "lte",
            "le",
            "less_than_or_equal",
            "lessthanorequal",
            "at_most",
            "max",
        ],
    ),
    (
        ">",
        &[
            ">",
            "gt",
            "greater_than",
            "greaterthan",
            "above",
            "more_than",
            "over",
        ],
    ),
    (
        "<",
        &[
            "<",
            "lt",
            "less_than",
            "lessthan",
            "below",
            "under",
            "fewer_than",
        ],
    ),
    ("in", &["in", "one_of", "oneof", "is_in"]),
    ("not in", &["not_in", "notin", "nin", "none_of"]),
    ("contains(", &["contains", "includes", "has"]),
    ("startsWith(", &["starts_with", "startswith", "prefix"]),
    ("endsWith(", &["ends_with", "endswith", "suffix"]),
    ("matches(", &["matches", "regex", "match"]),
];

/// Words for the value on the left, which is a path.
const LEFT: &[&str] = &[
    "left",
    "lhs",
    "field",
    "variable",
    "var",
    "path",
    "key",
    "operand",
    "operand1",
    "a",
    "ref",
    "source",
    "subject",
    "attribute",
    "property",
    "value1",
];

/// Words for the operator.
const OPERATOR: &[&str] = &[
    "op",
    "operator",
    "comparison",
    "comparator",
    "relation",
    "cond",
    "type",
    "test",
];

/// Words for the value on the right.
const RIGHT: &[&str] = &[
    "right",
    "rhs",
    "value",
    "value2",
    "b",
    "operand2",
    "threshold",
    "expected",
    "target",
    "compare_to",
    "to",
    "literal",
];

/// Words for all of several conditions.
const ALL: &[&str] = &["and", "all", "allof", "all_of", "&&"];

/// Words for any of several conditions.
const ANY: &[&str] = &["or", "any", "anyof", "any_of", "||"];

/// Words for an expression as text.
const EXPRESSIONS: &[&str] = &[
    "expression",
    "expr",
    "condition",
    "js",
    "cel",
    "eval",
    "if",
    "when",
];

/// The maximum depth of conditions inside of each other.
const MAX_DEPTH: usize = 16;

impl Guesses<'_> {
    /// Reads a condition that is an object or a list.
    pub(super) fn condition_objects(&mut self, entries: &mut [ItemEntry]) {
        let words = STEP.iter().find(|group| group.field == "when");
        let words = words.map_or(&[][..], |group| group.words);
        let is_present = has(entries, "when");
        let is_meant = |entry: &&mut ItemEntry| {
            let is_condition =
                &*entry.key == "when" || (!is_present && words.contains(&&*entry.key));
            is_condition && matches!(entry.item.kind, ItemKind::Object(_) | ItemKind::List(_))
        };
        let mut found = entries.iter_mut().filter(is_meant);
        let (Some(entry), None) = (found.next(), found.next()) else {
            return;
        };
        let Some(expression) = condition(&entry.item, &self.ids, 0) else {
            return;
        };
        let expression = if negates(&entry.key) {
            format!("!({expression})")
        } else {
            expression
        };
        if !is_expression(&expression) {
            return;
        }
        let help = format!("write `\"when\": \"${{{expression}}}\"`");
        let value = json(&format!("${{{expression}}}"));
        let edits = field_edits(self.source, entry, "when", Some(value));
        if &*entry.key == "when" {
            let found = match entry.item.kind {
                ItemKind::List(_) => "a list",
                _ => "an object",
            };
            let message = format!("expected a condition in `when`, found {found}");
            let diagnostic = Diagnostic::error(Code::WrongFieldType, message);
            let diagnostic = diagnostic.help(help).fixes(edits);
            self.sink.push(entry.item.place, diagnostic);
        } else {
            self.unknown_with(entry, &help, edits);
        }
        entry.key = "when".into();
        entry.item.kind = ItemKind::Text(format!("${{{expression}}}").into());
    }
}

/// The outcome of a step that a condition of another system names.
enum Outcome {
    Success,
    Failure,
    Any,
}

fn outcome(word: &str) -> Option<Outcome> {
    Some(match word {
        "success" | "succeeded" | "succeeds" | "on_success" | "onsuccess" | "ok" | "passed"
        | "all_success" => Outcome::Success,
        "failure" | "failed" | "fails" | "fail" | "error" | "errored" | "on_failure"
        | "on_error" | "onfailure" | "onerror" | "one_failed" | "all_failed" => Outcome::Failure,
        "always" | "any" | "completed" | "done" | "finished" | "all_done" | "!cancelled" => {
            Outcome::Any
        }
        _ => return None,
    })
}

/// The expression for a condition that tests the outcome of one of the steps `ids`, perhaps with other tests beside it; `None` if it tests
/// none.
fn with_outcomes(text: &str, ids: &HashSet<Arc<str>>) -> Option<String> {
    let text = text.trim();
    let markers = [("${{", "}}"), ("{{", "}}"), ("${", "}")];
    let inside = markers
        .iter()
        .find_map(|(open, close)| text.strip_prefix(open)?.strip_suffix(close));
    let inside = inside.unwrap_or(text);
    // Brackets may bind otherwise than the operators alone.
    if inside.replace("()", "").contains(['(', '{']) {
        return None;
    }
    let sign = if inside.contains("||") { "||" } else { "&&" };
    let mut tests = Vec::new();
    let mut is_found = false;
    for part in inside.split(sign).map(str::trim) {
        if sign == "&&" && matches!(part, "success()" | "always()" | "!cancelled()") {
            is_found = true;
        } else if let Some(test) = outcome_test(part, ids) {
            is_found = true;
            tests.push(test);
        } else {
            let own = without_output_fields(&expression_of(part)?, ids);
            tests.push(if own.contains("||") {
                format!("({own})")
            } else {
                own
            });
        }
    }
    (is_found && !tests.is_empty()).then(|| tests.join(&format!(" {sign} ")))
}

/// The test for one of another system about the outcome of a step: `steps.a.outcome == 'success'`, `a is failed`.
fn outcome_test(part: &str, ids: &HashSet<Arc<str>>) -> Option<String> {
    let signs = [
        (" == ", true),
        (" != ", false),
        (" is not ", false),
        (" is ", true),
    ];
    let (left, right, is_same) = signs.into_iter().find_map(|(sign, is_same)| {
        let (left, right) = part.split_once(sign)?;
        Some((left.trim(), right.trim(), is_same))
    })?;
    let path = left.strip_prefix("steps.").unwrap_or(left);
    let (id, is_field) = match path.split_once('.') {
        Some((id, field)) => (id, matches!(field, "outcome" | "conclusion")),
        None => (path, part.contains(" is ")),
    };
    let is_named = is_field && ids.contains(id) && bare_name(id).as_deref() == Some(id);
    let succeeds = match outcome(&right.trim_matches(['\'', '"']).to_lowercase())? {
        Outcome::Success => is_same,
        Outcome::Failure => !is_same,
        Outcome::Any => return None,
    };
    let not = if succeeds { "" } else { "!" };
    is_named.then(|| format!("{not}results.{id}.success"))
}

impl Guesses<'_> {
    /// Reads a condition that tests the outcomes of named steps, perhaps with others: `success() && steps.a.outcome == 'failure'`.
    pub(super) fn outcome_tests(&mut self, entries: &mut [ItemEntry]) {
        let words = STEP.iter().find(|group| group.field == "when");
        let words = words.map_or(&[][..], |group| group.words);
        let is_condition = |entry: &&mut ItemEntry| {
            let is_word = words.contains(&&*entry.key) && !negates(&entry.key);
            &*entry.key == "when" || is_word
        };
        let mut found = entries.iter_mut().filter(is_condition);
        let (Some(entry), None) = (found.next(), found.next()) else {
            return;
        };
        let text = entry.item.as_text();
        let Some(condition) = text.and_then(|text| with_outcomes(text, &self.ids)) else {
            return;
        };
        let when = format!("${{{condition}}}");
        let help = format!("write `\"when\": \"{when}\"`");
        let edits = field_edits(self.source, entry, "when", Some(json(&when)));
        if &*entry.key == "when" {
            let text = entry.item.to_value().to_inserted_text();
            let message = format!(
                "the outcome of a step is not a part of its output: {}",
                quote(&text)
            );
            let diagnostic = Diagnostic::error(Code::MalformedReference, message).help(help);
            self.sink.push(entry.item.place, diagnostic.fixes(edits));
        } else {
            self.unknown_with(entry, &help, edits);
        }
        entry.key = "when".into();
        entry.item.kind = ItemKind::Text(when.into());
    }

    /// Reads a condition on the outcome of the steps before: `failure()`, `always`, `w failed`.
    pub(super) fn outcomes(&mut self, entries: &mut Vec<ItemEntry>) {
        let is_condition = |entry: &ItemEntry| {
            let is_word = STEP
                .iter()
                .any(|group| group.field == "when" && group.words.contains(&&*entry.key));
            &*entry.key == "when"
                || is_word
                || matches!(
                    &*entry.key,
                    "run_on" | "runOn" | "trigger_rule" | "triggerRule" | "run_when"
                )
        };
        let Some(at) = entries.iter().position(is_condition) else {
            return;
        };
        let Some(text) = entries.get(at).and_then(|entry| entry.item.as_text()) else {
            return;
        };
        let signs = |sign: char| sign.is_whitespace() || "${}".contains(sign);
        let text = text
            .trim_matches(signs)
            .trim_end_matches("()")
            .to_lowercase();
        let (named, word) = match text.rsplit_once(' ') {
            Some((name, word)) => {
                let name = name
                    .trim_end_matches(" has")
                    .trim_end_matches(" is")
                    .trim_end_matches(" was");
                (Some(name.trim_start_matches("if ").trim().to_owned()), word)
            }
            // `success(a)`
            None => match text.strip_suffix(')').and_then(|text| text.split_once('(')) {
                Some((word, name)) => (Some(name.trim_matches(['\'', '"']).to_owned()), word),
                None => (None, &*text),
            },
        };
        let Some(outcome) = outcome(word).filter(|_| !self.ids.contains(word)) else {
            return;
        };
        let is_after = |entry: &&ItemEntry| {
            let is_word = |group: &super::words::Synonyms| {
                group.field == "after" && group.words.contains(&&*entry.key)
            };
            &*entry.key == "after" || STEP.iter().any(is_word)
        };
        let ids: Vec<Arc<str>> = match (&named, entries.iter().find(is_after)) {
            (Some(name), _) => self
                .ids
                .iter()
                .filter(|id| id.to_lowercase() == *name)
                .cloned()
                .collect(),
            (None, Some(after)) => match &after.item.kind {
                ItemKind::Text(id) => vec![Arc::clone(id)],
                ItemKind::List(ids) => ids.iter().filter_map(|id| id.as_text().cloned()).collect(),
                _ => Vec::new(),
            },
            (None, None) => self.previous.iter().cloned().collect(),
        };
        if named.is_some() && ids.is_empty() {
            return;
        }
        let entry = entries.remove(at);
        let results: Option<Vec<String>> = ids
            .iter()
            .map(|id| super::texts::bare_name(id).map(|id| format!("results.{id}.success")))
            .collect();
        let results = results.filter(|results| !results.is_empty());
        let results = results.unwrap_or_else(|| vec!["results.STEP.success".to_owned()]);
        let is_known = results.iter().all(|result| !result.contains("STEP"));
        let first = ids.first().map_or("STEP", |id| &**id);
        let (when, help) = match outcome {
            Outcome::Success => {
                let when = format!("${{{}}}", results.join(" && "));
                let help = format!(
                    "write `\"when\": \"{when}\"`, or leave it out: a step that uses `${{{first}}}` runs only after its success"
                );
                (Some(when), help)
            }
            Outcome::Failure => {
                let results: Vec<String> =
                    results.iter().map(|result| format!("!{result}")).collect();
                let when = format!("${{{}}}", results.join(" || "));
                let help = format!(
                    "write `\"when\": \"{when}\"`, and `\"on_error\": \"continue\"` in the step `{first}`"
                );
                (Some(when), help)
            }
            Outcome::Any => {
                let help = format!(
                    "leave it out: a step with `\"after\": [\"{first}\"]` runs whatever became of `{first}`"
                );
                (None, help)
            }
        };
        let edits = match &when {
            Some(when) if is_known => field_edits(self.source, &entry, "when", Some(json(when))),
            Some(_) | None => Vec::new(),
        };
        if &*entry.key == "when" {
            let message = format!(
                "the outcome of a step is no condition: {}",
                quote(&entry.item.to_value().to_inserted_text())
            );
            let diagnostic = Diagnostic::error(Code::MalformedReference, message).help(help);
            self.sink.push(entry.item.place, diagnostic.fixes(edits));
        } else {
            self.unknown_with(&entry, &help, edits);
        }
        if let Some(when) = when.filter(|_| is_known) {
            entries.push(super::field(
                "when",
                ItemKind::Text(when.into()),
                entry.item.place,
            ));
        }
    }
}

/// `word` without the sign of operators of query languages, in lower case.
fn plain(word: &str) -> String {
    word.trim_start_matches('$').to_lowercase()
}

fn operator(word: &str) -> Option<&'static str> {
    let word = plain(word.trim());
    let mut found = OPERATORS
        .iter()
        .filter(|(_, words)| words.contains(&&*word));
    found.next().map(|(sign, _)| *sign)
}

/// The expression that a condition means; `None` if it has an unknown form.
fn condition(item: &Item, ids: &HashSet<Arc<str>>, depth: usize) -> Option<String> {
    if depth > MAX_DEPTH {
        return None;
    }
    let each = |items: &[Item]| -> Option<Vec<String>> {
        items
            .iter()
            .map(|item| condition(item, ids, depth + 1))
            .collect()
    };
    let fields = match &item.kind {
        ItemKind::Text(text) => return path(text, ids),
        ItemKind::Bool(value) => return Some(value.to_string()),
        ItemKind::List(items) if !items.is_empty() => return joined(each(items)?, " && "),
        ItemKind::Object(fields) => fields,
        ItemKind::Null | ItemKind::Number(_) | ItemKind::List(_) => return None,
    };
    if let [only] = fields.as_slice() {
        return single(only, ids, depth);
    }
    // Every field has a part in the condition.
    let find = |words: &[&str]| {
        fields
            .iter()
            .find(|field| words.contains(&&*plain(&field.key)))
    };
    let step = find(&["step", "step_id", "node", "task"]);
    let left = find(LEFT);
    let operator_field = find(OPERATOR).filter(|field| field.item.as_text().is_some());
    let right = find(RIGHT);
    let subject = match (step, left) {
        (Some(step), Some(left)) => {
            let (step, left) = (step.item.as_text()?, left.item.as_text()?);
            path(
                &format!("{step}.{}", left.trim_start_matches(['$', '.'])),
                ids,
            )?
        }
        (Some(only), None) | (None, Some(only)) => path(only.item.as_text()?, ids)?,
        (None, None) => {
            return joined(
                fields
                    .iter()
                    .map(|field| single(field, ids, depth))
                    .collect::<Option<Vec<_>>>()?,
                " && ",
            );
        }
    };
    let used = usize::from(step.is_some()) + usize::from(left.is_some());
    if let Some(word) = operator_field {
        let word = word.item.as_text()?;
        return match right {
            Some(right) if fields.len() == used + 2 => {
                compared(&subject, operator(word)?, &right.item, ids)
            }
            None if fields.len() == used + 1 => state(&subject, word),
            Some(_) | None => None,
        };
    }
    let others = fields.iter().filter(|field| {
        let is = |other: Option<&ItemEntry>| other.is_some_and(|other| std::ptr::eq(*field, other));
        !is(step) && !is(left)
    });
    let parts = others.map(|field| compared(&subject, operator(&field.key)?, &field.item, ids));
    joined(parts.collect::<Option<Vec<_>>>()?, " && ")
}

/// The condition in the only field of an object.
fn single(field: &ItemEntry, ids: &HashSet<Arc<str>>, depth: usize) -> Option<String> {
    let word = plain(&field.key);
    let items = field.item.as_list();
    let parts = |items: &[Item]| -> Option<Vec<String>> {
        items
            .iter()
            .map(|item| condition(item, ids, depth + 1))
            .collect()
    };
    if let Some(items) = items {
        if ALL.contains(&&*word) {
            return joined(parts(items)?, " && ");
        }
        if ANY.contains(&&*word) {
            return joined(parts(items)?, " || ");
        }
    }
    match &*word {
        "not" | "!" | "none" => {
            let inner = match items {
                Some([only]) => only,
                Some(_) => return None,
                None => &field.item,
            };
            return Some(format!("!({})", condition(inner, ids, depth + 1)?));
        }
        "exists" | "defined" | "not_null" | "notnull" => {
            return Some(format!("{} != null", path(field.item.as_text()?, ids)?));
        }
        word if EXPRESSIONS.contains(&word) => return condition(&field.item, ids, depth + 1),
        _ => {}
    }
    if let (Some(sign), Some([left, right])) = (operator(&word), items) {
        let left = path(left.as_text()?, ids)?;
        return compared(&left, sign, right, ids);
    }
    // `{"a.b": {"$gte": 3}}` and `{"a.b": 3}`.
    let key = field.key.trim_start_matches(['$', '{', '.', ' ']);
    let root = key.split(['.', '[', '}']).next().unwrap_or_default();
    let is_root = matches!(root, "inputs" | "vars" | "steps" | "results" | "item");
    if !is_root && !ids.contains(root) {
        return None;
    }
    let subject = path(&field.key, ids)?;
    match &field.item.kind {
        ItemKind::Object(tests) => {
            let tests = tests
                .iter()
                .map(|test| compared(&subject, operator(&test.key)?, &test.item, ids));
            joined(tests.collect::<Option<Vec<_>>>()?, " && ")
        }
        ItemKind::Bool(_) | ItemKind::Number(_) | ItemKind::Text(_) | ItemKind::Null => {
            compared(&subject, "==", &field.item, ids)
        }
        ItemKind::List(_) => None,
    }
}

/// The conditions in `parts` with `sign` between them.
fn joined(mut parts: Vec<String>, sign: &str) -> Option<String> {
    if parts.len() < 2 {
        return parts.pop();
    }
    let is_mixed =
        |part: &String| part.contains(" || ") || part.contains(" ? ") || part.contains(" && ");
    let parts = parts.into_iter().map(|part| {
        if is_mixed(&part) {
            format!("({part})")
        } else {
            part
        }
    });
    Some(parts.collect::<Vec<_>>().join(sign))
}

/// Condition that `word` states about `subject` without another value.
fn state(subject: &str, word: &str) -> Option<String> {
    Some(match &*plain(word) {
        "exists" | "not_null" | "is_not_null" | "defined" => format!("{subject} != null"),
        "not_exists" | "null" | "is_null" | "missing" => format!("{subject} == null"),
        "empty" | "is_empty" => format!("size({subject}) == 0"),
        "not_empty" | "is_not_empty" | "notempty" => format!("size({subject}) > 0"),
        "true" | "is_true" | "truthy" => subject.to_owned(),
        "false" | "is_false" | "falsy" => format!("!({subject})"),
        _ => return None,
    })
}

fn compared(subject: &str, sign: &str, other: &Item, ids: &HashSet<Arc<str>>) -> Option<String> {
    let other = value(other, ids)?;
    Some(match sign.strip_suffix('(') {
        Some(method) => format!("{subject}.{method}({other})"),
        None if sign == "not in" => format!("!({subject} in {other})"),
        None => format!("{subject} {sign} {other}"),
    })
}

/// The expression that a text on the left of an operator stands for.
fn path(text: &str, ids: &HashSet<Arc<str>>) -> Option<String> {
    let text = text.trim();
    let inside = text
        .strip_prefix("${")
        .and_then(|text| text.strip_suffix('}'))
        .or_else(|| text.strip_prefix("$."))
        .or_else(|| text.strip_prefix('$').filter(|text| !text.starts_with('{')))
        .unwrap_or(text);
    let expression = expression_of(inside)?;
    Some(without_output_fields(&expression, ids))
}

/// The value on the right of an operator: a reference with its sign, or a literal.
fn value(item: &Item, ids: &HashSet<Arc<str>>) -> Option<String> {
    Some(match &item.kind {
        ItemKind::Text(text) if text.starts_with(['$', '{']) => path(text, ids)?,
        ItemKind::Text(text) if text.contains(['\'', '\\', '"', '`', '\n']) => return None,
        ItemKind::Text(text) => format!("'{text}'"),
        ItemKind::Number(_) | ItemKind::Bool(_) | ItemKind::Null => item.to_value().to_json(),
        ItemKind::List(items) => {
            let items = items.iter().map(|item| value(item, ids));
            format!("[{}]", items.collect::<Option<Vec<_>>>()?.join(", "))
        }
        ItemKind::Object(_) => return None,
    })
}

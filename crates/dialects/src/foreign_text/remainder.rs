//! The parts of a text of another system that its proposed plan does not translate: expressions that stay text, references that became text,
//! and fields of steps without a counterpart.

use std::ops::Range;

use planwright_core::{Code, Diagnostic, Diagnostics, Value};

use crate::document::quote;
use crate::foreign_references::expressions;

/// The maximum number of parts that are reported.
const MAX_PARTS: usize = 16;

/// Fields of steps that change what a plan does.
struct FieldGroup {
    /// The names in other systems.
    names: &'static [&'static str],
    /// Parts of native JSON that a translation of such a field has.
    native: &'static [&'static str],
    /// The form of the field in the native dialect.
    form: &'static str,
}

/// The forms of other parts, by their names in other systems.
const FORMS: [(&[&str], &str); 4] = [
    (
        &["results", "outputs", "output", "return"],
        "\"output\": {\"NAME\": \"${STEP.FIELD}\"}",
    ),
    (&["env", "vars", "variables"], "\"vars\": {\"NAME\": VALUE}"),
    (
        &["inputs", "params"],
        "\"inputs\": {\"NAME\": {\"default\": VALUE}}",
    ),
    (
        &["else", "otherwise", "default", "switch", "choose"],
        "\"when\": \"${!(CONDITION)}\"",
    ),
];

const GROUPS: [FieldGroup; 5] = [
    FieldGroup {
        names: &[
            "timeout",
            "timeoutSeconds",
            "timeout_seconds",
            "timeoutMs",
            "timeout_ms",
            "timeout-minutes",
            "execution_timeout",
            "startToCloseTimeout",
        ],
        native: &["\"timeout\":"],
        form: "\"timeout\": \"10s\"",
    },
    FieldGroup {
        names: &[
            "retries",
            "retry",
            "max_retries",
            "maxRetries",
            "max_attempts",
            "maxAttempts",
            "retryStrategy",
            "retryPolicy",
        ],
        native: &["\"retry\":"],
        form: "\"retry\": ATTEMPTS",
    },
    FieldGroup {
        names: &["successCriteria", "success_criteria"],
        native: &["\"repeat\":"],
        form: "\"when\": \"${CONDITION}\"` in the steps after it, or `\"repeat\": {\"until\": \"${CONDITION}\", \"max\": N}",
    },
    FieldGroup {
        names: &["if", "when", "run_if", "runIf", "unless"],
        native: &[
            "\"when\":",
            " ? ",
            "\"repeat\":",
            ".filter(",
            "\"on_error\":",
        ],
        form: "\"when\": \"${CONDITION}\"",
    },
    FieldGroup {
        names: &[
            "for_each",
            "foreach",
            "forEach",
            "with_items",
            "withItems",
            "withParam",
            "strategy",
        ],
        native: &["\"for_each\":", "\"matrix\":", ".map("],
        form: "\"for_each\": \"${LIST}\"",
    },
];

/// The parts of `text` that the proposed plan `plan`, native JSON, does not translate: one error for each. The parts `left_out` are
/// known to be missing.
pub(super) fn remainder(plan: &Value, json: &str, text: &str, left_out: &[String]) -> Diagnostics {
    let steps = plan.get("steps").and_then(Value::as_list);
    let ids = steps
        .unwrap_or_default()
        .iter()
        .filter_map(|step| step.get("id")?.as_text());
    let inputs = plan.get("inputs").and_then(Value::as_object);
    let inputs = inputs.into_iter().flat_map(|inputs| inputs.keys());
    let names: Vec<&str> = ids.chain(inputs.map(|name| &**name)).collect();
    let mut found = Vec::new();
    literals(plan, text, &names, &mut found);
    let expressions = found.into_iter().map(|written| {
        let message = format!("the proposed plan leaves {} as text", quote(&written));
        let diagnostic = Diagnostic::error(Code::MalformedReference, message);
        let help = match own_form(&written) {
            Some(form) => format!("its form in a plan is `{form}`"),
            None => {
                "a plan has expressions between `${` and `}`, such as `${STEP.FIELD}`".to_owned()
            }
        };
        (place(&written, text), diagnostic.help(help))
    });
    let missing = left_out.iter().map(|name| {
        let message = format!("the proposed plan leaves out {}", quote(name));
        let diagnostic = Diagnostic::error(Code::UnknownField, message);
        let is_named = |names: &[&str]| names.contains(&&**name);
        let group = GROUPS.iter().find(|group| is_named(group.names));
        let form = group.map(|group| group.form).or_else(|| {
            let (_, form) = FORMS.iter().find(|(names, _)| is_named(names))?;
            Some(*form)
        });
        let diagnostic = match form {
            Some(form) => diagnostic.help(format!("its form in a plan is `{form}`")),
            None => diagnostic,
        };
        let at = field(name, text).map(|at| at..at + name.len());
        (at.or_else(|| place(name, text)), diagnostic)
    });
    let is_reported = |group: &FieldGroup| {
        let mut names = left_out.iter();
        names.any(|name| group.names.contains(&&**name))
    };
    let fields = GROUPS
        .iter()
        .filter(|group| !is_reported(group))
        .filter_map(|group| {
            let (range, name, kept) = left_field(group, json, text)?;
            let message = match kept {
                0 => format!("the proposed plan leaves out {}", quote(name)),
                _ => format!("the proposed plan has {kept} of several {}", quote(name)),
            };
            let diagnostic = Diagnostic::error(Code::UnknownField, message);
            Some((
                Some(range),
                diagnostic.help(format!("its form in a plan is `{}`", group.form)),
            ))
        });
    let parts = missing.chain(expressions).chain(fields).take(MAX_PARTS);
    parts
        .map(|(range, diagnostic)| match range {
            Some(range) => diagnostic.at_span("", range),
            None => diagnostic,
        })
        .collect()
}

/// Adds the expressions in the texts of `value` that are no references.
fn literals(value: &Value, source: &str, names: &[&str], found: &mut Vec<String>) {
    match value {
        Value::Text(text) => {
            // The text of an escape of the translator is data as well.
            let literal = quoted_literal(text).filter(|_| !source.contains(&**text));
            let shown = literal.as_deref().unwrap_or(text);
            let is_name = |name: &str| names.contains(&name);
            let expressions = expressions(shown, literal.is_none(), &is_name);
            let written = expressions.into_iter().map(|found| &shown[found.range]);
            let escaped = escaped_references(text).filter(|_| !source.contains("$${"));
            for written in written.chain(escaped) {
                if !found.iter().any(|known| known == written) {
                    found.push(written.to_owned());
                }
            }
        }
        Value::List(items) => {
            for item in items.iter() {
                literals(item, source, names, found);
            }
        }
        Value::Object(fields) => {
            for field in fields.values() {
                literals(field, source, names, found);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// The text of the literal `${"…"}` that `text` is as a whole.
fn quoted_literal(text: &str) -> Option<String> {
    let inside = text.strip_prefix("${")?.strip_suffix('}')?;
    let value = Value::from_json(inside).ok()?;
    Some(value.as_text()?.to_string())
}

/// The references `${…}` that are escaped in `text`.
fn escaped_references(text: &str) -> impl Iterator<Item = &str> {
    text.match_indices("$${").filter_map(|(at, _)| {
        let reference = &text[at + 1..];
        let end = reference.find('}')?;
        Some(&reference[..=end])
    })
}

/// The native form of the expression `written`, if that is a path of an input.
fn own_form(written: &str) -> Option<String> {
    let inside = written.strip_prefix("{{")?.strip_suffix("}}")?.trim();
    let path = inside.strip_prefix("$input.")?;
    let is_path = path
        .chars()
        .all(|sign| sign.is_alphanumeric() || "_.".contains(sign));
    is_path.then(|| format!("${{inputs.{path}}}"))
}

/// The place of `written` in `text`, which may have escapes in it.
fn place(written: &str, text: &str) -> Option<Range<usize>> {
    let json = Value::text(written).to_json();
    let escaped = json
        .get(1..json.len().saturating_sub(1))
        .unwrap_or_default();
    [written, escaped]
        .iter()
        .find_map(|written| Some((text.find(written)?, written.len())))
        .map(|(at, length)| at..at + length)
}

/// A field of `group` in `text`, with its name and the number of its counterparts in `json`, if these are fewer than the fields of that
/// name: the first one if there are none, and otherwise the last one.
fn left_field<'t>(
    group: &FieldGroup,
    json: &str,
    text: &'t str,
) -> Option<(Range<usize>, &'t str, usize)> {
    let natives = group.native.iter();
    let kept: usize = natives.map(|native| json.matches(native).count()).sum();
    let places = group.names.iter().filter_map(|name| {
        // An argument of a call has the same name.
        let key = format!("\"{name}\":");
        let is_argument = json.contains(&key) && !group.native.contains(&&*key);
        let found: Vec<usize> = fields(name, text).collect();
        let at = match kept {
            0 => *found.first()?,
            _ => *found.last().filter(|_| found.len() > kept)?,
        };
        (!is_argument).then_some(at..at + name.len())
    });
    let first = places.min_by_key(|range| range.start)?;
    Some((first.clone(), &text[first], kept))
}

/// The place of the first field `name` in `text` that has an effect.
fn field(name: &str, text: &str) -> Option<usize> {
    fields(name, text).next()
}

/// The places of the fields `name` in `text` that have an effect.
fn fields(name: &str, text: &str) -> impl Iterator<Item = usize> {
    let is_of_name = |sign: char| sign.is_alphanumeric() || "_-.$".contains(sign);
    let places = text.match_indices(name).map(|(at, _)| at);
    places.filter(move |at| {
        let rest = &text[at + name.len()..];
        let rest = rest.trim_start_matches(['"', '\'']).trim_start();
        let value = rest
            .strip_prefix(':')
            .or_else(|| rest.strip_prefix('=').filter(|rest| !rest.starts_with('=')));
        let value = value.map(str::trim_start);
        let is_without_effect = |value: &str| {
            // The output of an answer may have any name.
            let words = [
                "0\n",
                "0,",
                "0}",
                "0)",
                "null",
                "None",
                "false",
                "[]",
                "{}",
                "$response",
            ];
            words.iter().any(|word| value.starts_with(word)) || value == "0"
        };
        !text[..*at].ends_with(is_of_name)
            && value.is_some_and(|value| !is_without_effect(value))
            && !value.is_some_and(only_checks_status)
    })
}

/// Returns true if the criteria in `value` only say that the call succeeds.
fn only_checks_status(value: &str) -> bool {
    let start = &value[..value.floor_char_boundary(120)];
    start.contains("condition") && start.contains("$statusCode")
}

//! The redactor of texts and values, and the secret inputs of plans.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use planwright_core::check::CheckedPlan;
use planwright_core::plan::{Input, SlotKind};
use planwright_core::schema::{part_at, replace_parts};
use planwright_core::value::SharedPart;
use planwright_core::{Hashing, Object, Plan, Value};

use super::secret_matcher::SecretMatcher;

/// The replacement for a secret.
pub const MASK: &str = "[redacted]";

/// Redacted forms of shared parts by identity; `None` if a part holds no secret.
type MaskCache = HashMap<SharedPart, Option<Value>, Hashing>;

/// The minimum size of a secret, in bytes. Shorter texts occur in every message by chance.
pub const MIN_SECRET_BYTES: usize = 4;

/// Redacts secrets in everything that is shown or stored. Values that steps pass to each other are not changed.
#[derive(Clone, Default)]
pub struct Redactor {
    /// `None` if there are no secrets.
    matcher: Option<Arc<SecretMatcher>>,
}

impl fmt::Debug for Redactor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Redactor").finish_non_exhaustive()
    }
}

impl Redactor {
    /// Creates a redactor for `secrets`; those shorter than [`MIN_SECRET_BYTES`] bytes are shown.
    pub fn new(secrets: impl IntoIterator<Item = Arc<str>>) -> Self {
        let mut secrets: Vec<Arc<str>> = secrets
            .into_iter()
            .filter(|secret| secret.len() >= MIN_SECRET_BYTES)
            .collect();
        secrets.sort();
        secrets.dedup();
        let matcher = || Arc::new(SecretMatcher::new(secrets.iter().map(|secret| &**secret)));
        Self {
            matcher: (!secrets.is_empty()).then(matcher),
        }
    }

    /// Returns true if there are no secrets to redact.
    pub fn is_idle(&self) -> bool {
        self.matcher.is_none()
    }

    /// Returns `text` with `[redacted]` in place of each secret, in any supported encoding. At an ellipsis, where a
    /// text was cut, a part of a secret counts as well.
    pub fn text<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let found = self.matcher.iter().flat_map(|matcher| matcher.find(text));
        masked_ranges(text, found)
    }

    /// Returns `text` redacted, then cut to at most `limit` bytes. It is cut last, because half a secret would not be
    /// recognized.
    pub fn cut<'a>(&self, text: &'a str, limit: usize) -> Cow<'a, str> {
        let redacted = self.text(text);
        if redacted.len() <= limit {
            return redacted;
        }
        let head = redacted.get(..redacted.floor_char_boundary(limit));
        Cow::Owned(format!("{}…", head.unwrap_or_default()))
    }

    /// Redacts secrets in all texts and numbers of `value`.
    pub fn value(&self, value: &mut Value) {
        if self.is_idle() {
            return;
        }
        if let Some(masked) = self.mask(value, &mut MaskCache::default()) {
            *value = masked;
        }
    }

    /// The redacted form of `value`; `None` if it holds no secret. Each shared part is visited once, and shared parts
    /// stay shared.
    fn mask(&self, value: &Value, known: &mut MaskCache) -> Option<Value> {
        let address = value.shared_part();
        // Shared parts are redacted once, so values that share deeply take linear time.
        if let Some(masked) = address.and_then(|address| known.get(&address)) {
            return masked.clone();
        }
        let masked = self.mask_part(value, known);
        if let Some(address) = address {
            known.insert(address, masked.clone());
        }
        masked
    }

    fn mask_part(&self, value: &Value, known: &mut MaskCache) -> Option<Value> {
        match value {
            Value::Null | Value::Bool(_) => None,
            Value::Number(number) => {
                // Most secrets contain letters, and then no number needs to be formatted and searched.
                let matcher = self
                    .matcher
                    .as_ref()
                    .filter(|matcher| matcher.finds_numbers());
                let is_in = matcher.is_some_and(|matcher| matcher.matches(&number.to_string()));
                is_in.then(|| Value::from(MASK))
            }
            Value::Text(text) => match self.text(text) {
                Cow::Owned(redacted) => Some(Value::from(redacted)),
                Cow::Borrowed(_) => None,
            },
            Value::List(items) => {
                // A secret may be split over several items, which their reader sees as one text.
                let mut spread = self.mask_spanning_items(items);
                let mut changed: Option<Vec<Value>> = None;
                for (position, item) in items.iter().enumerate() {
                    let masked = match spread.remove(&position) {
                        // Other fields of the item may hold secrets as well.
                        Some(item) => Some(self.mask(&item, known).unwrap_or(item)),
                        None => self.mask(item, known),
                    };
                    if let Some(masked) = masked {
                        let changed = changed.get_or_insert_with(|| items.to_vec());
                        if let Some(item) = changed.get_mut(position) {
                            *item = masked;
                        }
                    }
                }
                changed.map(Value::from)
            }
            Value::Object(fields) => {
                // Changes are collected first: an object without a secret, the usual case, is not copied.
                let mut hits: HashMap<&Arc<str>, _, Hashing> = HashMap::default();
                for (key, value) in fields.iter() {
                    // Keys may hold secrets as well.
                    let name = match self.text(key) {
                        Cow::Owned(redacted) => Some(Arc::from(redacted)),
                        Cow::Borrowed(_) => None,
                    };
                    let masked = self.mask(value, known);
                    if name.is_some() || masked.is_some() {
                        hits.insert(key, (name, masked));
                    }
                }
                if hits.is_empty() {
                    return None;
                }
                let redacted = fields.iter().map(|(key, value)| {
                    let (name, masked) = hits.remove(key).unwrap_or_default();
                    let name = name.unwrap_or_else(|| Arc::clone(key));
                    (name, masked.unwrap_or_else(|| value.clone()))
                });
                Some(Value::object(redacted))
            }
        }
    }

    /// Returns true if `value` holds a secret.
    pub fn occurs(&self, value: &Value) -> bool {
        self.mask(value, &mut MaskCache::default()).is_some()
    }

    /// The redacted items of a list, by position, whose texts contain secrets that span several items.
    fn mask_spanning_items(&self, items: &[Value]) -> HashMap<usize, Value, Hashing> {
        let texts: Vec<(usize, &str)> = items
            .iter()
            .enumerate()
            .filter_map(|(position, item)| Some((position, text_of(item)?)))
            .collect();
        let (Some(matcher), [_, _, ..]) = (&self.matcher, &*texts) else {
            return HashMap::default();
        };
        let whole: String = texts.iter().map(|(_, text)| *text).collect();
        let found = matcher.find(&whole);
        let mut masked = HashMap::default();
        let mut start = 0;
        for (position, text) in texts {
            let end = start + text.len();
            let inside = found
                .iter()
                .filter(|range| range.start < end && start < range.end);
            // A secret within one item is found when that item is redacted.
            let is_spread = |range: &&Range<usize>| range.start < start || end < range.end;
            if inside.clone().any(|range| is_spread(&range)) {
                let here = inside.map(|range| {
                    range.start.saturating_sub(start)..range.end.min(end).saturating_sub(start)
                });
                if let Some(item) = items.get(position) {
                    masked.insert(position, with_text(item, &masked_ranges(text, here)));
                }
            }
            start = end;
        }
        masked
    }
}

/// Returns true if `value` contains `[redacted]`.
pub fn contains_mask(value: &Value) -> bool {
    match value {
        Value::Text(text) => text.contains(MASK),
        Value::List(items) => items.iter().any(contains_mask),
        Value::Object(fields) => fields
            .iter()
            .any(|(key, field)| key.contains(MASK) || contains_mask(field)),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

/// The inputs of a plan in a form that may be stored: its own secret inputs and `others` are redacted.
pub fn redacted_inputs(plan: &CheckedPlan, others: &[Arc<str>]) -> Object {
    let secrets = secret_inputs(plan)
        .into_iter()
        .chain(others.iter().cloned());
    let redactor = Redactor::new(secrets);
    let declared = plan.plan().inputs.iter();
    let declared: HashMap<&Arc<str>, &Input, Hashing> =
        declared.map(|input| (&input.name, input)).collect();
    let mut inputs = without_secrets(plan.plan(), plan.inputs());
    // Defaults are part of the plan, so they need not be stored.
    inputs.retain(|name, _| {
        let default = declared.get(name).and_then(|input| input.default.as_ref());
        default.is_none_or(|default| plan.inputs().get(name) != Some(default))
    });
    for value in inputs.values_mut() {
        redactor.value(value);
    }
    inputs
}

/// Returns `inputs` with `[redacted]` in place of the parts that the plan declares secret.
pub fn without_secrets(plan: &Plan, inputs: &Object) -> Object {
    let parts = plan.secret_parts(inputs);
    if parts.is_empty() {
        return inputs.clone();
    }
    let inputs = Value::from(inputs.clone());
    let shown = replace_parts(&inputs, &parts, &Value::from(MASK));
    shown.as_object().cloned().unwrap_or_default()
}

/// The texts and numbers of all secret parts of the inputs, at any depth.
pub(in crate::run) fn secret_inputs(plan: &CheckedPlan) -> Vec<Arc<str>> {
    let mut secrets = Vec::new();
    let contents = plan.plan().contents.iter();
    let contents = contents
        .filter(|content| content.kind == SlotKind::Inputs)
        .filter_map(|content| content.value.as_object());
    for inputs in contents.chain([plan.inputs()]) {
        let whole = Value::from(inputs.clone());
        for path in plan.plan().secret_parts(inputs) {
            if let Some(part) = part_at(&whole, &path) {
                add_secrets(part, &mut secrets);
            }
        }
    }
    secrets
}

/// Replaces `ranges`, which are sorted, by `[redacted]`.
fn masked_ranges(text: &str, ranges: impl IntoIterator<Item = Range<usize>>) -> Cow<'_, str> {
    let mut redacted = String::new();
    let mut rest = 0;
    for range in ranges {
        redacted.push_str(text.get(rest..range.start).unwrap_or_default());
        redacted.push_str(MASK);
        rest = range.end;
    }
    if rest == 0 {
        return Cow::Borrowed(text);
    }
    redacted.push_str(text.get(rest..).unwrap_or_default());
    Cow::Owned(redacted)
}

/// The text of a list item, or of the content block that it is.
fn text_of(item: &Value) -> Option<&str> {
    let block = item
        .get("text")
        .or_else(|| item.get("resource")?.get("text"));
    item.as_text().or_else(|| block?.as_text())
}

/// The item with another text.
fn with_text(item: &Value, text: &str) -> Value {
    let Some(fields) = item.as_object() else {
        return Value::from(text);
    };
    let field = if fields.contains_key("text") {
        "text"
    } else {
        "resource"
    };
    Value::object(fields.iter().map(|(key, value)| {
        let value = match (&**key == field, value) {
            (true, Value::Object(_)) => with_text(value, text),
            (true, _) => Value::from(text),
            (false, _) => value.clone(),
        };
        (key.clone(), value)
    }))
}

fn add_secrets(value: &Value, secrets: &mut Vec<Arc<str>>) {
    match value {
        Value::Null | Value::Bool(_) => {}
        Value::Number(number) => secrets.push(number.to_string().into()),
        Value::Text(text) => secrets.push(text.as_ref().into()),
        Value::List(items) => items.iter().for_each(|item| add_secrets(item, secrets)),
        Value::Object(fields) => fields
            .iter()
            .for_each(|(_, field)| add_secrets(field, secrets)),
    }
}

//! From the outputs of steps to what is in them.

use std::collections::BTreeMap;

use planwright_core::{Object, Value};

use super::clipped;
use super::column::{self, Columns};
use super::field;
use super::report::{
    ANALYSIS_SCHEMA, Analysis, Collection, Failure, Kind, Scalar, StepAnalysis, StepFailure,
    StepResult,
};

/// The most steps that are looked at.
const STEPS: usize = 200;

/// The most values that stand alone, and the most lists, that are told of a step.
const VALUES: usize = 20;
const COLLECTIONS: usize = 10;

/// How deep in records lists and values are looked for.
const DEPTH: usize = 3;

/// The most items of a list that are looked at.
const ITEMS: usize = 100_000;

/// The most characters of a text that are told.
pub(super) const TEXT: usize = 80;

const MESSAGE: usize = 300;

/// What the results of a run come to.
pub fn analyze(results: &[StepResult<'_>], failures: &[StepFailure<'_>]) -> Analysis {
    Analysis {
        schema: ANALYSIS_SCHEMA,
        steps: results.iter().take(STEPS).map(of_step).collect(),
        failures: failures.iter().take(STEPS).map(of_failure).collect(),
        steps_left_out: results.len().saturating_sub(STEPS) + failures.len().saturating_sub(STEPS),
    }
}

fn of_failure(failure: &StepFailure<'_>) -> Failure {
    Failure {
        step: failure.step.to_owned(),
        tool: failure.tool.to_owned(),
        message: clipped(failure.message, MESSAGE),
    }
}

fn of_step(result: &StepResult<'_>) -> StepAnalysis {
    let mut analysis = StepAnalysis {
        step: result.step.to_owned(),
        tool: result.tool.to_owned(),
        kind: kind(result.output),
        values: Vec::new(),
        collections: Vec::new(),
        left_out: 0,
    };
    look_into(result.output, "", 0, &mut analysis);
    analysis
}

fn look_into(value: &Value, at: &str, depth: usize, into: &mut StepAnalysis) {
    match value {
        Value::List(items) if into.collections.len() < COLLECTIONS => {
            into.collections.push(of_list(items, at));
        }
        Value::Object(fields) if depth < DEPTH => {
            for (name, inner) in fields.iter() {
                look_into(inner, &column::joined(at, name), depth + 1, into);
            }
        }
        Value::List(_) | Value::Object(_) => into.left_out += 1,
        Value::Null => {}
        _ if into.values.len() < VALUES => into.values.push(Scalar {
            at: at.to_owned(),
            value: told(value),
        }),
        _ => into.left_out += 1,
    }
}

/// A value that stands alone; a text no longer than is told.
pub(super) fn told(value: &Value) -> Value {
    match value {
        Value::Text(text) => Value::text(clipped(text, TEXT)),
        other => other.clone(),
    }
}

fn of_list(items: &[Value], at: &str) -> Collection {
    let looked_at = items.get(..ITEMS).unwrap_or(items);
    let kind = kind_of_items(looked_at);
    let columns = match kind {
        Kind::Records => Columns::of_records(looked_at),
        Kind::Numbers | Kind::Texts | Kind::Booleans => Columns::of_items(looked_at, kind),
        _ => Columns::default(),
    };
    Collection {
        at: at.to_owned(),
        kind,
        count: items.len(),
        others: columns.others,
        items_left_out: items.len() - looked_at.len(),
        fields: field::fields(&columns, at),
        fields_left_out: columns.left_out(),
    }
}

fn kind(value: &Value) -> Kind {
    match value {
        Value::Null => Kind::Null,
        Value::Bool(_) => Kind::Boolean,
        Value::Number(_) => Kind::Number,
        Value::Text(_) => Kind::Text,
        Value::Object(_) => Kind::Record,
        Value::List(items) => kind_of_items(items.get(..ITEMS).unwrap_or(items)),
    }
}

/// What more than half of the items are.
fn kind_of_items(items: &[Value]) -> Kind {
    if items.is_empty() {
        return Kind::Empty;
    }
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for item in items {
        *counts.entry(item.kind()).or_default() += 1;
    }
    let most = counts
        .into_iter()
        .find(|(_, count)| items.len() < count * 2);
    match most {
        Some(("object", _)) => Kind::Records,
        Some(("number", _)) => Kind::Numbers,
        Some(("text", _)) => Kind::Texts,
        Some(("boolean", _)) => Kind::Booleans,
        _ => Kind::List,
    }
}

/// What a record is called: its id, else its name.
pub(super) fn name_of(record: &Object) -> Option<String> {
    const NAMES: &[&str] = &[
        "id", "_id", "uuid", "key", "name", "title", "label", "code", "email",
    ];
    NAMES.iter().find_map(|name| match record.get(*name)? {
        Value::Text(text) if !text.is_empty() => Some(clipped(text, TEXT)),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    })
}

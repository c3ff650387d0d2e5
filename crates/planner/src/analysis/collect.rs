//! From the outputs of steps to what is in them.

use planwright_core::Value;

use super::amount::Amount;
use super::column::Columns;
use super::nested::{self, Inner};
use super::page::Around;
use super::quote::joined;
use super::report::{
    ANALYSIS_SCHEMA, Analysis, Collection, Failure, Format, Kind, Scalar, StepAnalysis,
    StepFailure, StepResult,
};
use super::table::{self, Table};
use super::{clipped, embedded, field};

/// The most steps that are looked at.
const STEPS: usize = 200;

/// The most values that stand alone, and the most lists, that are told of a step.
const VALUES: usize = 20;
const COLLECTIONS: usize = 10;

/// The most records under different keys whose values are named one by one as well.
const FEW: usize = 4;

/// How deep in records lists and values are looked for.
const DEPTH: usize = 3;

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
    look_into(result.output, "", &Context::default(), &mut analysis);
    keep_one_page(&mut analysis.collections);
    analysis
}

/// Leaves what one count says of several lists with the longest of them.
fn keep_one_page(collections: &mut [Collection]) {
    for at in 0..collections.len() {
        let said_by =
            |collection: &Collection| collection.page.as_ref().map(|page| page.said_by.clone());
        let own = said_by(&collections[at]);
        let count = collections[at].count;
        let others = collections.iter().enumerate();
        let is_other = |(other, collection): (usize, &Collection)| {
            said_by(collection) == own
                && (count < collection.count || count == collection.count && other < at)
        };
        if own.is_some() && others.into_iter().any(is_other) {
            collections[at].page = None;
        }
    }
}

/// What is known of the place of a value.
#[derive(Clone, Default)]
struct Context {
    depth: usize,
    around: Around,
    format: Option<Format>,
}

impl Context {
    fn deeper(&self) -> Self {
        let depth = self.depth + 1;
        Self {
            depth,
            ..self.clone()
        }
    }
}

fn look_into(value: &Value, at: &str, context: &Context, into: &mut StepAnalysis) {
    match value {
        Value::List(items) => look_into_table(&Table::of_list(items, at), context, into),
        Value::Object(fields) => {
            if let Some(table) = Table::of_object(fields, at) {
                let has_lists = |value: &Value| {
                    value
                        .as_object()
                        .is_some_and(|inner| inner.values().any(is_nested))
                };
                let is_long = FEW < table.rows.len() && table.kind() == Kind::Records;
                look_into_table(&table, context, into);
                if is_long || fields.values().any(has_lists) {
                    return;
                }
            }
            if DEPTH <= context.depth {
                into.left_out += 1;
                return;
            }
            let mut inner = context.deeper();
            inner.around = Around::of(fields, at, &context.around);
            for (name, value) in fields.iter() {
                look_into(value, &joined(at, name), &inner, into);
            }
        }
        Value::Null => {}
        Value::Text(text)
            if context.depth <= DEPTH
                && let Some((format, inner)) = embedded::read(text) =>
        {
            let mut context = context.deeper();
            context.format = Some(format);
            look_into(&inner, at, &context, into);
        }
        _ if into.values.len() < VALUES => into.values.push(Scalar {
            at: at.to_owned(),
            value: told(value),
        }),
        _ => into.left_out += 1,
    }
}

fn is_nested(value: &Value) -> bool {
    matches!(value, Value::List(_) | Value::Object(_))
}

/// The figures of a table, and of the lists in it.
fn look_into_table(table: &Table<'_>, context: &Context, into: &mut StepAnalysis) {
    if COLLECTIONS <= into.collections.len() {
        into.left_out += 1;
        return;
    }
    let kind = table.kind();
    if context.depth < DEPTH
        && let Some((inner, format)) = nested::rows(table)
    {
        let mut context = context.deeper();
        context.format = format.or(context.format);
        context.around = Around::default();
        look_into_table(&inner, &context, into);
        return;
    }
    let columns = Columns::of(table, kind);
    let place = into.collections.len();
    let collection = Collection {
        at: table.at.strip_suffix("/*").unwrap_or(&table.at).to_owned(),
        kind,
        count: table.count(),
        lists: (table.lists != 1).then_some(table.lists),
        format: context.format,
        page: None,
        totals: Vec::new(),
        others: columns.others,
        items_left_out: table.left_out,
        fields: Vec::new(),
        fields_left_out: columns.left_out(),
    };
    into.collections.push(collection);
    let inner: Vec<Inner<'_>> = if context.depth < DEPTH {
        columns
            .iter()
            .filter_map(|column| nested::list(table, column))
            .collect()
    } else {
        Vec::new()
    };
    let (fields, totals) = field::fields(columns);
    let sums = fields
        .iter()
        .filter_map(|field| field.numbers.as_ref()?.sum);
    let sums: Vec<f64> = sums.map(Amount::to_f64).collect();
    if let Some(collection) = into.collections.get_mut(place) {
        collection.page = context.around.page(collection.count, &sums);
        collection.fields = fields;
        collection.totals = totals;
    }
    for Inner {
        table,
        format,
        page,
    } in inner
    {
        let before = into.collections.len();
        let mut context = context.deeper();
        context.format = format.or(context.format);
        context.around = Around::default();
        look_into_table(&table, &context, into);
        if let Some(collection) = into.collections.get_mut(before) {
            collection.page = collection.page.take().or(page);
        }
    }
}

/// A value that stands alone; a text no longer than is told.
pub(super) fn told(value: &Value) -> Value {
    match value {
        Value::Text(text) => Value::text(clipped(text, TEXT)),
        other => other.clone(),
    }
}

fn kind(value: &Value) -> Kind {
    match value {
        Value::Null => Kind::Null,
        Value::Bool(_) => Kind::Boolean,
        Value::Number(_) => Kind::Number,
        Value::Text(_) => Kind::Text,
        Value::Object(_) => Kind::Record,
        Value::List(items) => table::kind_of(items.iter().take(table::ITEMS)),
    }
}

//! Walks through the outputs of steps, and analyzes the values and tables found.

use planwright_core::Value;

use super::clipped;
use super::fields::analyze_fields;
use super::numbers::Amount;
use super::report::{
    ANALYSIS_SCHEMA, Analysis, CollectionAnalysis, FailedStep, ScalarValue, StepAnalysis,
    StepFailure, StepResult, TableFormat, ValueKind,
};
use super::tables::{
    Columns, JoinedTable, MAX_ITEMS, PaginationHints, Table, column_names, join_field_lists,
    join_pointer, join_rows, kind_of, parse_embedded, rows_as_records,
};

const MAX_STEPS: usize = 200;

/// The scalar values and lists reported per step.
const MAX_VALUES: usize = 20;
const MAX_COLLECTIONS: usize = 10;

/// The largest keyed table whose records are listed one by one as well.
const MAX_NAMED_RECORDS: usize = 4;

/// Maximum depth of nested records to which values and lists are found.
const MAX_DEPTH: usize = 3;

/// Maximum length of texts in an analysis, in characters.
pub(super) const MAX_TEXT: usize = 80;

const MAX_MESSAGE: usize = 300;

/// Computes the analysis of the results of a run.
pub fn analyze(results: &[StepResult<'_>], failures: &[StepFailure<'_>]) -> Analysis {
    Analysis {
        schema: ANALYSIS_SCHEMA,
        steps: results.iter().take(MAX_STEPS).map(analyze_step).collect(),
        failures: failures.iter().take(MAX_STEPS).map(failed_step).collect(),
        steps_left_out: results.len().saturating_sub(MAX_STEPS)
            + failures.len().saturating_sub(MAX_STEPS),
    }
}

fn failed_step(failure: &StepFailure<'_>) -> FailedStep {
    FailedStep {
        step: failure.step.to_owned(),
        tool: failure.tool.to_owned(),
        message: clipped(failure.message, MAX_MESSAGE),
    }
}

fn analyze_step(result: &StepResult<'_>) -> StepAnalysis {
    let mut analysis = StepAnalysis {
        step: result.step.to_owned(),
        tool: result.tool.to_owned(),
        kind: kind(result.output),
        values: Vec::new(),
        collections: Vec::new(),
        left_out: 0,
    };
    visit_value(result.output, "", &WalkContext::default(), &mut analysis);
    retain_longest_page(&mut analysis.collections);
    analysis
}

/// Keeps the page information of the longest list only, if several lists have the same evidence.
fn retain_longest_page(collections: &mut [CollectionAnalysis]) {
    for at in 0..collections.len() {
        let stated_by = |collection: &CollectionAnalysis| {
            collection.page.as_ref().map(|page| page.stated_by.clone())
        };
        let own = stated_by(&collections[at]);
        let count = collections[at].count;
        let others = collections.iter().enumerate();
        let is_other = |(other, collection): (usize, &CollectionAnalysis)| {
            stated_by(collection) == own
                && (count < collection.count || count == collection.count && other < at)
        };
        if own.is_some() && others.into_iter().any(is_other) {
            collections[at].page = None;
        }
    }
}

/// The context of a value: its depth and its surroundings.
#[derive(Clone, Default)]
struct WalkContext {
    depth: usize,
    /// The column names beside a list of rows.
    column_names: Vec<String>,
    pagination: PaginationHints,
    format: Option<TableFormat>,
}

impl WalkContext {
    fn deeper(&self) -> Self {
        let depth = self.depth + 1;
        Self {
            depth,
            column_names: Vec::new(),
            ..self.clone()
        }
    }
}

fn visit_value(value: &Value, at: &str, context: &WalkContext, into: &mut StepAnalysis) {
    match value {
        Value::List(items) => visit_table(&Table::of_list(items, at), context, into),
        Value::Object(fields) => {
            if let Some(table) = Table::of_object(fields, at) {
                // Records under a few keys, such as `{north: {..}, south: {..}}`, are a table and also worth listing one by one.
                let has_lists = |value: &Value| {
                    value
                        .as_object()
                        .is_some_and(|inner| inner.values().any(is_nested))
                };
                let is_long =
                    MAX_NAMED_RECORDS < table.rows.len() && table.kind() == ValueKind::Records;
                visit_table(&table, context, into);
                if is_long || fields.values().any(has_lists) {
                    return;
                }
            }
            if MAX_DEPTH <= context.depth {
                into.left_out += 1;
                return;
            }
            let mut inner = context.deeper();
            inner.pagination = PaginationHints::of(fields, at, &context.pagination);
            inner.column_names = column_names(fields);
            for (name, value) in fields.iter() {
                visit_value(value, &join_pointer(at, name), &inner, into);
            }
        }
        Value::Null => {}
        // Many tools return JSON or CSV as text.
        Value::Text(text)
            if context.depth <= MAX_DEPTH
                && let Some((format, inner)) = parse_embedded(text) =>
        {
            let mut context = context.deeper();
            context.format = Some(format);
            visit_value(&inner, at, &context, into);
        }
        _ if into.values.len() < MAX_VALUES => into.values.push(ScalarValue {
            at: at.to_owned(),
            value: clip_value(value),
        }),
        _ => into.left_out += 1,
    }
}

fn is_nested(value: &Value) -> bool {
    matches!(value, Value::List(_) | Value::Object(_))
}

/// Analyzes a table, and the lists nested in it.
fn visit_table(table: &Table<'_>, context: &WalkContext, into: &mut StepAnalysis) {
    if MAX_COLLECTIONS <= into.collections.len() {
        into.left_out += 1;
        return;
    }
    if let Some(records) = rows_as_records(table, &context.column_names) {
        visit_table(&records, context, into);
        return;
    }
    let kind = table.kind();
    if context.depth < MAX_DEPTH
        && let Some((inner, format)) = join_rows(table)
    {
        let mut context = context.deeper();
        context.format = format.or(context.format);
        // The hints are about the outer list, not about the joined ones.
        context.pagination = PaginationHints::default();
        visit_table(&inner, &context, into);
        return;
    }
    let columns = Columns::of(table, kind);
    // The list is reported before the lists nested in it, although its figures are computed after those lists are found.
    let place = into.collections.len();
    let collection = CollectionAnalysis {
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
    let inner: Vec<JoinedTable<'_>> = if context.depth < MAX_DEPTH {
        columns
            .iter()
            .filter_map(|column| join_field_lists(table, column))
            .collect()
    } else {
        Vec::new()
    };
    let (fields, totals) = analyze_fields(columns);
    // A total beside a list may be the sum of a field rather than the number of items.
    let sums = fields
        .iter()
        .filter_map(|field| field.numbers.as_ref()?.sum);
    let sums: Vec<f64> = sums.map(Amount::to_f64).collect();
    if let Some(collection) = into.collections.get_mut(place) {
        collection.page = context.pagination.page(collection.count, &sums);
        collection.fields = fields;
        collection.totals = totals;
    }
    for JoinedTable {
        table,
        format,
        page,
    } in inner
    {
        let before = into.collections.len();
        let mut context = context.deeper();
        context.format = format.or(context.format);
        context.pagination = PaginationHints::default();
        visit_table(&table, &context, into);
        if let Some(collection) = into.collections.get_mut(before) {
            // Evidence in the records around the joined lists counts only if the list itself has none.
            collection.page = collection.page.take().or(page);
        }
    }
}

/// Clones a value, with a text cut to [`MAX_TEXT`].
pub(super) fn clip_value(value: &Value) -> Value {
    match value {
        Value::Text(text) => Value::text(clipped(text, MAX_TEXT)),
        other => other.clone(),
    }
}

fn kind(value: &Value) -> ValueKind {
    match value {
        Value::Null => ValueKind::Null,
        Value::Bool(_) => ValueKind::Boolean,
        Value::Number(_) => ValueKind::Number,
        Value::Text(_) => ValueKind::Text,
        Value::Object(_) => ValueKind::Record,
        Value::List(items) => kind_of(items.iter().take(MAX_ITEMS)),
    }
}

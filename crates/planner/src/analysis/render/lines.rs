//! Renders an analysis as lines for a prompt. Names and data of results are escaped, so that they cannot pass as figures or
//! instructions.

use std::fmt;
use std::fmt::Write;

use planwright_core::Value;
use planwright_core::text::visible;

use crate::analysis::numbers::Amount;
use crate::analysis::report::{
    Analysis, BooleanCounts, CollectionAnalysis, DateStatistics, FieldAnalysis, Granularity,
    LocatedNumber, NumberStatistics, ScalarValue, StepAnalysis, TableFormat, Trend, TrendDirection,
    UnparsedValues, ValueGroups, ValueKind,
};
use crate::analysis::{clipped, tokens};

/// Maximum number of field names in the line of a list.
const MAX_NAMES: usize = 12;

/// The subject of a line; the most informative subject first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum LinePriority {
    Failure,
    Size,
    Value,
    Duplicate,
    Number,
    Trend,
    Outlier,
    Group,
    Date,
    Gap,
}

type Line = (LinePriority, String);

impl Analysis {
    /// Renders the analysis in at most `budget` tokens, the most informative lines first. Each line names its step and the
    /// location in the step's output. If lines are left out, the last line says how many.
    pub fn to_text(&self, budget: usize) -> String {
        let mut lines = self.lines();
        // The sort is stable, so that lines of one subject stay in document order.
        lines.sort_by_key(|(rank, _)| *rank);
        let all = lines.len();
        let mut text = String::new();
        for (shown, (_, line)) in lines.iter().enumerate() {
            let left_out = omission_line(all - shown);
            let is_last = shown + 1 == all;
            let after = text.len() + line.len() + 1;
            // Unless the last line fits, there must be space to say that it is left out.
            let reserved = if is_last { 0 } else { left_out.len() };
            if budget < tokens(after + reserved) {
                text.push_str(&left_out);
                break;
            }
            text.push_str(line);
            text.push('\n');
        }
        text
    }

    fn lines(&self) -> Vec<Line> {
        let mut lines = Vec::new();
        for failure in &self.failures {
            let (step, tool) = (display_name(&failure.step), display_name(&failure.tool));
            let message = quote(&failure.message);
            lines.push((
                LinePriority::Failure,
                format!("{step} ({tool}) failed: {message}"),
            ));
        }
        for step in &self.steps {
            step_lines(step, &mut lines);
        }
        if 0 < self.steps_left_out {
            lines.push((
                LinePriority::Size,
                format!("{} more steps were not looked at", self.steps_left_out),
            ));
        }
        lines
    }
}

fn omission_line(lines: usize) -> String {
    format!("… {lines} more lines left out\n")
}

fn step_lines(step: &StepAnalysis, lines: &mut Vec<Line>) {
    let id = display_name(&step.step);
    let mut push = |rank, text: String| lines.push((rank, format!("{id}{text}")));
    if step.kind == ValueKind::Null {
        push(LinePriority::Size, ": nothing".to_owned());
    }
    for ScalarValue { at, value: found } in &step.values {
        push(
            LinePriority::Value,
            format!("{} = {}", display_pointer(at), display_value(found)),
        );
    }
    if 0 < step.left_out {
        push(
            LinePriority::Gap,
            format!(": {} more values left out", step.left_out),
        );
    }
    for collection in &step.collections {
        push(
            LinePriority::Size,
            format!(
                "{}: {}",
                display_pointer(&collection.at),
                collection_size(collection)
            ),
        );
        for field in &collection.fields {
            let at = display_pointer(&field.at);
            for (rank, text) in field_lines(field) {
                push(rank, format!("{at}: {text}"));
            }
        }
    }
}

/// Renders the number and kind of items, and which of them the figures cover.
fn collection_size(collection: &CollectionAnalysis) -> String {
    let items = match collection.kind {
        ValueKind::Records => "records",
        ValueKind::Numbers => "numbers",
        ValueKind::Texts => "texts",
        ValueKind::Booleans => "truth values",
        ValueKind::Empty => return "an empty list".to_owned(),
        ValueKind::List
        | ValueKind::Null
        | ValueKind::Boolean
        | ValueKind::Number
        | ValueKind::Text
        | ValueKind::Record => "items of several kinds",
    };
    let of = collection.page.as_ref().and_then(|page| page.of);
    let mut text = match of {
        Some(all) => format!("{} of {all} {items}", collection.count),
        None => format!("{} {items}", collection.count),
    };
    if collection.kind == ValueKind::Records {
        let names = collection
            .fields
            .iter()
            .take(MAX_NAMES)
            .map(|field| display_name(&field.name));
        let shown = collection.fields.len().min(MAX_NAMES);
        let more = collection.fields.len() + collection.fields_left_out - shown;
        let _ = write!(text, " ({}", comma_separated(names));
        if 0 < more {
            let _ = write!(text, ", {more} more fields");
        }
        text.push(')');
    }
    if let Some(lists) = collection.lists {
        let _ = write!(text, " in {lists} lists");
    }
    match collection.format {
        Some(TableFormat::Csv) => text.push_str(", read from CSV in text"),
        Some(TableFormat::Json | TableFormat::JsonLines) => {
            text.push_str(", read from JSON in text");
        }
        None => {}
    }
    if 0 < collection.others {
        let _ = write!(text, ", {} are something else", collection.others);
    }
    if 0 < collection.items_left_out {
        let _ = write!(
            text,
            ", the last {} not looked at",
            collection.items_left_out
        );
    }
    // A model that takes a page for the whole list would state its sums as totals.
    if let Some(page) = &collection.page {
        let by = display_pointer(&page.stated_by);
        let _ = write!(
            text,
            "; one page of more, as{by} says: all figures are of these {} alone",
            collection.count
        );
    }
    // The line says what was left out, since a reader who adds up the rows would get another sum.
    for total in &collection.totals {
        let (at, named) = (display_pointer(&total.at), quote(&total.name));
        let but = if total.is_sum {
            ""
        } else {
            ", although its numbers are neither sums nor means of the others"
        };
        let _ = write!(
            text,
            "; {named} at{at} summarises others and is left out{but}"
        );
    }
    text
}

fn field_lines(field: &FieldAnalysis) -> Vec<Line> {
    let mut lines = Vec::new();
    if let Some(duplicates) = &field.duplicates {
        let examples = duplicates
            .examples
            .iter()
            .map(|example| format!("{} × {}", display_value(&example.value), example.times));
        let count = duplicates.count;
        lines.push((
            LinePriority::Duplicate,
            format!("{count} come more than once: {}", comma_separated(examples)),
        ));
    }
    push_numeric_lines(field, &mut lines);
    if let Some(booleans) = &field.booleans {
        let text = format!("true {}, false {}", booleans.r#true, booleans.r#false);
        lines.push((LinePriority::Group, text));
    }
    if let Some(dates) = &field.dates {
        lines.push((LinePriority::Date, dates_text(dates, field)));
        lines.extend(dates.trends.iter().filter_map(trend_line));
    }
    if let Some(groups) = &field.groups {
        lines.push((LinePriority::Group, groups_text(groups)));
    }
    let gaps = field.missing + field.null;
    if 0 < gaps {
        let items = field.present + gaps;
        lines.push((
            LinePriority::Gap,
            format!("nothing there in {gaps} of {items}"),
        ));
    }
    lines
}

/// Renders the numbers of a field, and examples of values that are not numbers.
fn push_numeric_lines(field: &FieldAnalysis, lines: &mut Vec<Line>) {
    let mut scope = String::new();
    let units = field.by_unit.iter().map(|numbers| numbers.count);
    let count: usize = field
        .numbers
        .iter()
        .map(|numbers| numbers.count)
        .chain(units)
        .sum();
    // Figures of some values must not pass as figures of the whole field.
    if field.dates.is_none() && count < field.present && 0 < count {
        let _ = write!(
            scope,
            "{count} of {} are numbers{}: ",
            field.present,
            excluded_examples(&field.unread)
        );
    }
    if let Some(read) = &field.read_as {
        let _ = write!(scope, "{} read as {}: ", quote(&read.text), read.number);
    }
    if let Some(numbers) = &field.numbers {
        let unit = numbers
            .unit
            .as_deref()
            .map_or_else(String::new, |unit| format!("in {}: ", display_name(unit)));
        lines.push((
            LinePriority::Number,
            format!("{scope}{unit}{}", statistics_text(numbers)),
        ));
        lines.extend(outliers_text(numbers).map(|text| (LinePriority::Outlier, text)));
    }
    // Numbers of different units have no common sum.
    for numbers in &field.by_unit {
        let unit = numbers.unit.as_deref().map_or_else(
            || "without a unit".to_owned(),
            |unit| format!("in {}", display_name(unit)),
        );
        let (count, figures) = (numbers.count, statistics_text(numbers));
        lines.push((
            LinePriority::Number,
            format!("{scope}{unit}, {count} of them: {figures}"),
        ));
    }
    if 0 < field.unclear.count {
        let examples = comma_separated(field.unclear.examples.iter().map(display_value));
        let count = field.unclear.count;
        lines.push((
            LinePriority::Number,
            format!("{count} left out that can be read in two ways, such as {examples}"),
        ));
    }
    if let Some(lengths) = &field.lengths {
        let text = statistics_text(lengths);
        lines.push((LinePriority::Number, format!("lengths of lists: {text}")));
    }
}

fn statistics_text(numbers: &NumberStatistics) -> String {
    // Sum, mean and median of one number are that number.
    if numbers.count == 1 {
        return format!("one number, {}", located_number(&numbers.min));
    }
    let mut text = String::new();
    if let Some(sum) = numbers.sum {
        let _ = write!(text, "sum {sum}, ");
    }
    if let Some(mean) = numbers.mean {
        let _ = write!(text, "mean {mean}, ");
    }
    let _ = write!(text, "median {}, ", numbers.median);
    if let Some(deviation) = numbers.deviation {
        let _ = write!(text, "standard deviation {deviation}, ");
    }
    let (min, max) = (located_number(&numbers.min), located_number(&numbers.max));
    let _ = write!(text, "lowest {min}, highest {max}");
    text
}

fn dates_text(dates: &DateStatistics, field: &FieldAnalysis) -> String {
    let mut text = String::new();
    if dates.count < field.present {
        let _ = write!(
            text,
            "{} of {} are days{}: ",
            dates.count,
            field.present,
            excluded_examples(&field.unread)
        );
    }
    let _ = write!(text, "{} to {}", dates.from, dates.to);
    // Without a bucket of several records, no bucket is the busiest.
    if 1 < dates.busiest.count {
        let (unit, busiest) = (granularity_name(dates.per), &dates.busiest);
        let _ = write!(
            text,
            ", most in the {unit} of {}: {}",
            busiest.from, busiest.count
        );
    }
    text
}

fn outliers_text(numbers: &NumberStatistics) -> Option<String> {
    let outliers = numbers.outliers.as_ref()?;
    let farthest = outliers
        .farthest
        .iter()
        .map(|outlier| located_number(&outlier.mark));
    let count = outliers.count;
    Some(format!(
        "{count} far from the others: {}",
        comma_separated(farthest)
    ))
}

fn trend_line(trend: &Trend) -> Option<Line> {
    let how = match trend.direction {
        TrendDirection::Rising => "rising",
        TrendDirection::Falling => "falling",
        TrendDirection::Flat => "flat",
        // A line about a trend that the points do not support would be cited as one.
        TrendDirection::Unclear => return None,
    };
    let what = trend
        .of
        .as_deref()
        .map_or_else(|| "number of records".to_owned(), display_name);
    let text = format!(
        "{what} {how} over time, {} per {} over {} points, fit {}",
        trend.slope.rounded_for_estimate(),
        granularity_name(trend.per),
        trend.points,
        trend.fit.rounded_for_estimate()
    );
    Some((LinePriority::Trend, text))
}

fn groups_text(groups: &ValueGroups) -> String {
    let mut shown: Vec<String> = groups
        .top
        .iter()
        .map(|group| {
            let mut text = format!(
                "{} {} ({}",
                display_value(&group.value),
                group.count,
                percent(group.share)
            );
            for (field, mean) in &group.means {
                let sum = group
                    .sums
                    .get(field)
                    .map_or_else(String::new, |sum| format!("sum {sum}, "));
                let unit = group
                    .units
                    .get(field)
                    .map_or_else(String::new, |unit| format!(" in {}", display_name(unit)));
                let _ = write!(text, "; {}{unit} {sum}mean {mean}", display_name(field));
            }
            for (field, BooleanCounts { r#true, r#false }) in &group.rates {
                let _ = write!(
                    text,
                    "; {} in {} of {}",
                    display_name(field),
                    r#true,
                    r#true + r#false
                );
            }
            text.push(')');
            text
        })
        .collect();
    // With this entry, the counts add up to all records.
    if 0 < groups.groups_left_out {
        shown.push(format!(
            "{} in {} more groups",
            groups.records_left_out, groups.groups_left_out
        ));
    }
    shown.join(", ")
}

/// Renders examples of values that are not numbers or days.
fn excluded_examples(unread: &UnparsedValues) -> String {
    if unread.examples.is_empty() {
        return String::new();
    }
    format!(
        ", not {}",
        comma_separated(unread.examples.iter().map(display_value))
    )
}

fn located_number(mark: &LocatedNumber) -> String {
    match &mark.name {
        Some(name) => format!("{} ({})", mark.value, quote(name)),
        None => format!(
            "{} ({})",
            mark.value,
            display_pointer(&mark.at).trim_start()
        ),
    }
}

fn granularity_name(per: Granularity) -> &'static str {
    match per {
        Granularity::Day => "day",
        Granularity::Week => "week",
        Granularity::Month => "month",
        Granularity::Year => "year",
    }
}

/// Renders a share in percent: exact if possible, else with two fractional digits.
fn percent(share: Amount) -> String {
    let exact = share.exact().and_then(|share| share.shifted(2));
    exact.map_or_else(
        || format!("about {:.2} %", share.to_f64() * 100.0),
        |percent| format!("{percent} %"),
    )
}

/// Maximum length of a name that is written without quotes, in characters.
const MAX_PLAIN_NAME: usize = 60;

/// Maximum length of quoted data in a line, in characters.
const MAX_QUOTED_TEXT: usize = 120;

/// Renders the name of a step, a tool, or a field: as is if it is one plain word, else quoted.
fn display_name(text: &str) -> String {
    if is_plain(text, "_-.$@") {
        text.to_owned()
    } else {
        quote(text)
    }
}

/// Renders a pointer to follow the name of its step.
fn display_pointer(at: &str) -> String {
    match at {
        "" => String::new(),
        _ if is_plain(at, "_-.$@/*~") => format!(" {at}"),
        _ => format!(" {}", quote(at)),
    }
}

/// Quotes data, and escapes all invisible characters.
pub(crate) fn quote(text: &str) -> String {
    // JSON escapes line breaks, so that data cannot start a new line.
    let escaped = Value::text(clipped(text, MAX_QUOTED_TEXT)).to_json();
    visible(&escaped).into_owned()
}

/// Renders a value as JSON with visible characters unescaped.
fn display_value(value: &Value) -> String {
    match value {
        Value::Text(text) => quote(text),
        other => visible(&other.to_json()).into_owned(),
    }
}

fn comma_separated<T: fmt::Display>(texts: impl IntoIterator<Item = T>) -> String {
    let texts: Vec<String> = texts.into_iter().map(|text| text.to_string()).collect();
    texts.join(", ")
}

fn is_plain(text: &str, signs: &str) -> bool {
    let is_plain = |letter: char| letter.is_alphanumeric() || signs.contains(letter);
    !text.is_empty() && text.chars().count() <= MAX_PLAIN_NAME && text.chars().all(is_plain)
}

//! An analysis in lines, for a prompt.

use std::fmt::Write;

use super::quote::{list, name, place, quoted, value};
use super::report::{
    Analysis, Booleans, Collection, Dates, Direction, Field, Format, Groups, Kind, Mark, Numbers,
    Per, Scalar, StepAnalysis, Trend, Unread,
};
use super::{Amount, tokens};

/// The most fields that the line of a list names.
const NAMES: usize = 12;

/// What a line is about, the most telling first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
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

type Line = (Rank, String);

impl Analysis {
    /// The analysis in lines of at most so many tokens, the most telling ones first. Each names its step and the place in the
    /// step's output. Where not all fit, the last line says how many are left out.
    pub fn to_text(&self, budget: usize) -> String {
        let mut lines = self.lines();
        lines.sort_by_key(|(rank, _)| *rank);
        let all = lines.len();
        let mut text = String::new();
        for (told, (_, line)) in lines.iter().enumerate() {
            let left_out = left_out(all - told);
            let is_last = told + 1 == all;
            let after = text.len() + line.len() + 1;
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
            let (step, tool) = (name(&failure.step), name(&failure.tool));
            let message = quoted(&failure.message);
            lines.push((Rank::Failure, format!("{step} ({tool}) failed: {message}")));
        }
        for step in &self.steps {
            of_step(step, &mut lines);
        }
        if 0 < self.steps_left_out {
            lines.push((
                Rank::Size,
                format!("{} more steps were not looked at", self.steps_left_out),
            ));
        }
        lines
    }
}

fn left_out(lines: usize) -> String {
    format!("… {lines} more findings left out\n")
}

fn of_step(step: &StepAnalysis, lines: &mut Vec<Line>) {
    let id = name(&step.step);
    let mut say = |rank, text: String| lines.push((rank, format!("{id}{text}")));
    if step.kind == Kind::Null {
        say(Rank::Size, ": nothing".to_owned());
    }
    for Scalar { at, value: found } in &step.values {
        say(Rank::Value, format!("{} = {}", place(at), value(found)));
    }
    if 0 < step.left_out {
        say(
            Rank::Gap,
            format!(": {} more values left out", step.left_out),
        );
    }
    for collection in &step.collections {
        say(
            Rank::Size,
            format!("{}: {}", place(&collection.at), size(collection)),
        );
        for field in &collection.fields {
            let at = place(&field.at);
            for (rank, text) in of_field(field) {
                say(rank, format!("{at}: {text}"));
            }
        }
    }
}

/// How many items of what kind, and which of them the figures are of.
fn size(collection: &Collection) -> String {
    let items = match collection.kind {
        Kind::Records => "records",
        Kind::Numbers => "numbers",
        Kind::Texts => "texts",
        Kind::Booleans => "truth values",
        Kind::Empty => return "an empty list".to_owned(),
        _ => "items of several kinds",
    };
    let of = collection.page.as_ref().and_then(|page| page.of);
    let mut text = match of {
        Some(all) => format!("{} of {all} {items}", collection.count),
        None => format!("{} {items}", collection.count),
    };
    if collection.kind == Kind::Records {
        let names = collection
            .fields
            .iter()
            .take(NAMES)
            .map(|field| name(&field.name));
        let shown = collection.fields.len().min(NAMES);
        let more = collection.fields.len() + collection.fields_left_out - shown;
        let _ = write!(text, " ({}", list(names));
        if 0 < more {
            let _ = write!(text, ", {more} more fields");
        }
        text.push(')');
    }
    if let Some(lists) = collection.lists {
        let _ = write!(text, " in {lists} lists");
    }
    match collection.format {
        Some(Format::Csv) => text.push_str(", read from CSV in text"),
        Some(Format::Json | Format::JsonLines) => text.push_str(", read from JSON in text"),
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
    if let Some(page) = &collection.page {
        let by = place(&page.said_by);
        let _ = write!(
            text,
            "; one page of more, as{by} says: all figures are of these {} alone",
            collection.count
        );
    }
    for total in &collection.totals {
        let (at, named) = (place(&total.at), quoted(&total.name));
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

fn of_field(field: &Field) -> Vec<Line> {
    let mut lines = Vec::new();
    if let Some(duplicates) = &field.duplicates {
        let examples = duplicates
            .examples
            .iter()
            .map(|example| format!("{} × {}", value(&example.value), example.times));
        let count = duplicates.count;
        lines.push((
            Rank::Duplicate,
            format!("{count} come more than once: {}", list(examples)),
        ));
    }
    of_numeric_field(field, &mut lines);
    if let Some(booleans) = &field.booleans {
        let text = format!("true {}, false {}", booleans.r#true, booleans.r#false);
        lines.push((Rank::Group, text));
    }
    if let Some(dates) = &field.dates {
        lines.push((Rank::Date, of_dates(dates, field)));
        lines.extend(dates.trends.iter().filter_map(of_trend));
    }
    if let Some(groups) = &field.groups {
        lines.push((Rank::Group, of_groups(groups)));
    }
    let gaps = field.missing + field.null;
    if 0 < gaps {
        let items = field.present + gaps;
        lines.push((Rank::Gap, format!("nothing there in {gaps} of {items}")));
    }
    lines
}

/// What is said of the numbers of a field, and of values among them that are none.
fn of_numeric_field(field: &Field, lines: &mut Vec<Line>) {
    let mut scope = String::new();
    let units = field.by_unit.iter().map(|numbers| numbers.count);
    let count: usize = field
        .numbers
        .iter()
        .map(|numbers| numbers.count)
        .chain(units)
        .sum();
    if field.dates.is_none() && count < field.present && 0 < count {
        let _ = write!(
            scope,
            "{count} of {} are numbers{}: ",
            field.present,
            not(&field.unread)
        );
    }
    if let Some(read) = &field.read_as {
        let _ = write!(scope, "{} read as {}: ", quoted(&read.text), read.number);
    }
    if let Some(numbers) = &field.numbers {
        let unit = numbers
            .unit
            .as_deref()
            .map_or_else(String::new, |unit| format!("in {}: ", name(unit)));
        lines.push((
            Rank::Number,
            format!("{scope}{unit}{}", of_numbers(numbers)),
        ));
        lines.extend(of_outliers(numbers).map(|text| (Rank::Outlier, text)));
    }
    for numbers in &field.by_unit {
        let unit = numbers.unit.as_deref().map_or_else(
            || "without a unit".to_owned(),
            |unit| format!("in {}", name(unit)),
        );
        let (count, figures) = (numbers.count, of_numbers(numbers));
        lines.push((
            Rank::Number,
            format!("{scope}{unit}, {count} of them: {figures}"),
        ));
    }
    if 0 < field.unclear.count {
        let examples = list(field.unclear.examples.iter().map(value));
        let count = field.unclear.count;
        lines.push((
            Rank::Number,
            format!("{count} left out that can be read in two ways, such as {examples}"),
        ));
    }
    if let Some(lengths) = &field.lengths {
        let text = of_numbers(lengths);
        lines.push((Rank::Number, format!("lengths of lists: {text}")));
    }
}

/// Values that are not what the others are.
fn not(unread: &Unread) -> String {
    if unread.examples.is_empty() {
        return String::new();
    }
    format!(", not {}", list(unread.examples.iter().map(value)))
}

fn of_dates(dates: &Dates, field: &Field) -> String {
    let mut text = String::new();
    if dates.count < field.present {
        let _ = write!(
            text,
            "{} of {} are days{}: ",
            dates.count,
            field.present,
            not(&field.unread)
        );
    }
    let _ = write!(text, "{} to {}", dates.from, dates.to);
    // If no stretch has several, none has the most.
    if 1 < dates.busiest.count {
        let (unit, busiest) = (unit(dates.per), &dates.busiest);
        let _ = write!(
            text,
            ", most in the {unit} of {}: {}",
            busiest.from, busiest.count
        );
    }
    text
}

fn of_numbers(numbers: &Numbers) -> String {
    if numbers.count == 1 {
        return format!("one number, {}", of_mark(&numbers.min));
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
    let (min, max) = (of_mark(&numbers.min), of_mark(&numbers.max));
    let _ = write!(text, "lowest {min}, highest {max}");
    text
}

fn of_mark(mark: &Mark) -> String {
    match &mark.name {
        Some(name) => format!("{} ({})", mark.value, quoted(name)),
        None => format!("{} ({})", mark.value, place(&mark.at).trim_start()),
    }
}

fn of_outliers(numbers: &Numbers) -> Option<String> {
    let outliers = numbers.outliers.as_ref()?;
    let farthest = outliers
        .farthest
        .iter()
        .map(|outlier| of_mark(&outlier.mark));
    let count = outliers.count;
    Some(format!("{count} far from the others: {}", list(farthest)))
}

fn of_trend(trend: &Trend) -> Option<Line> {
    let how = match trend.direction {
        Direction::Rising => "rising",
        Direction::Falling => "falling",
        Direction::Flat => "flat",
        Direction::Unclear => return None,
    };
    let what = trend
        .of
        .as_deref()
        .map_or_else(|| "number of records".to_owned(), name);
    let text = format!(
        "{what} {how} over time, {} per {} over {} points, fit {}",
        trend.slope.rough(),
        unit(trend.per),
        trend.points,
        trend.fit.rough()
    );
    Some((Rank::Trend, text))
}

fn unit(per: Per) -> &'static str {
    match per {
        Per::Day => "day",
        Per::Week => "week",
        Per::Month => "month",
        Per::Year => "year",
    }
}

fn of_groups(groups: &Groups) -> String {
    let mut told: Vec<String> = groups
        .top
        .iter()
        .map(|group| {
            let mut text = format!(
                "{} {} ({}",
                value(&group.value),
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
                    .map_or_else(String::new, |unit| format!(" in {}", name(unit)));
                let _ = write!(text, "; {}{unit} {sum}mean {mean}", name(field));
            }
            for (field, Booleans { r#true, r#false }) in &group.rates {
                let _ = write!(
                    text,
                    "; {} in {} of {}",
                    name(field),
                    r#true,
                    r#true + r#false
                );
            }
            text.push(')');
            text
        })
        .collect();
    if 0 < groups.groups_left_out {
        told.push(format!(
            "{} in {} more groups",
            groups.records_left_out, groups.groups_left_out
        ));
    }
    told.join(", ")
}

/// A share in percent: as it is if it is exact, else with two digits behind the point.
fn percent(share: Amount) -> String {
    let exact = share.exact().and_then(|share| share.moved(2));
    exact.map_or_else(
        || format!("about {:.2} %", share.to_f64() * 100.0),
        |percent| format!("{percent} %"),
    )
}

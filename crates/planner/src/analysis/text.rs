//! An analysis in lines, for a prompt.

use std::fmt::Write;

use planwright_core::Value;

use super::report::{
    Analysis, Collection, Direction, Field, Kind, Mark, Numbers, Per, Scalar, StepAnalysis, Trend,
};
use super::tokens;

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
            let message = one_line(&failure.message);
            lines.push((
                Rank::Failure,
                format!(
                    "{} ({}) failed: {message}",
                    one_line(&failure.step),
                    one_line(&failure.tool)
                ),
            ));
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
    let id = one_line(&step.step);
    let mut say = |rank, text: String| lines.push((rank, format!("{id}{text}")));
    if step.kind == Kind::Null {
        say(Rank::Size, ": nothing".to_owned());
    }
    for Scalar { at, value } in &step.values {
        say(Rank::Value, format!("{} = {}", place(at), value.to_json()));
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
            for (rank, text) in of_field(field, collection) {
                say(rank, format!("{at}: {text}"));
            }
        }
    }
}

/// How many items of what kind.
fn size(collection: &Collection) -> String {
    let items = match collection.kind {
        Kind::Records => "records",
        Kind::Numbers => "numbers",
        Kind::Texts => "texts",
        Kind::Booleans => "truth values",
        Kind::Empty => return "an empty list".to_owned(),
        _ => "items of several kinds",
    };
    let mut text = format!("{} {items}", collection.count);
    if collection.kind == Kind::Records {
        let names: Vec<String> = collection
            .fields
            .iter()
            .take(NAMES)
            .map(|field| one_line(&field.name))
            .collect();
        let more = collection.fields.len() + collection.fields_left_out - names.len();
        let _ = write!(text, " ({}", names.join(", "));
        if 0 < more {
            let _ = write!(text, ", {more} more fields");
        }
        text.push(')');
    }
    if 0 < collection.others {
        let _ = write!(text, ", of which {} are something else", collection.others);
    }
    if 0 < collection.items_left_out {
        let _ = write!(
            text,
            ", the last {} not looked at",
            collection.items_left_out
        );
    }
    text
}

fn of_field(field: &Field, collection: &Collection) -> Vec<Line> {
    let mut lines = Vec::new();
    if let Some(duplicates) = &field.duplicates {
        let examples: Vec<String> = duplicates
            .examples
            .iter()
            .map(|example| format!("{} × {}", example.value.to_json(), example.times))
            .collect();
        lines.push((
            Rank::Duplicate,
            format!(
                "{} come more than once: {}",
                duplicates.count,
                examples.join(", ")
            ),
        ));
    }
    for (numbers, what) in [(&field.numbers, ""), (&field.lengths, "lengths of lists: ")] {
        let Some(numbers) = numbers else { continue };
        lines.push((Rank::Number, format!("{what}{}", of_numbers(numbers))));
        lines.extend(of_outliers(numbers).map(|text| (Rank::Outlier, format!("{what}{text}"))));
    }
    if let Some(booleans) = &field.booleans {
        let text = format!("true {}, false {}", booleans.r#true, booleans.r#false);
        lines.push((Rank::Group, text));
    }
    if let Some(dates) = &field.dates {
        lines.push((
            Rank::Date,
            format!(
                "{} to {}, most in the {} of {}: {}",
                dates.from,
                dates.to,
                unit(dates.per),
                dates.busiest.from,
                dates.busiest.count
            ),
        ));
        lines.extend(dates.trends.iter().filter_map(of_trend));
    }
    if let Some(groups) = &field.groups {
        lines.push((Rank::Group, of_groups(groups)));
    }
    let gaps = field.missing + field.null;
    if 0 < gaps {
        let items = collection.count - collection.others - collection.items_left_out;
        lines.push((Rank::Gap, format!("nothing there in {gaps} of {items}")));
    }
    lines
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
        let _ = write!(text, "mean {}, ", mean.rough());
    }
    let _ = write!(
        text,
        "median {}, lowest {}, highest {}",
        numbers.median.rough(),
        of_mark(&numbers.min),
        of_mark(&numbers.max)
    );
    text
}

fn of_mark(mark: &Mark) -> String {
    match &mark.name {
        Some(name) => format!("{} ({})", mark.value, one_line(name)),
        None => format!("{} ({})", mark.value, place(&mark.at).trim_start()),
    }
}

fn of_outliers(numbers: &Numbers) -> Option<String> {
    let outliers = numbers.outliers.as_ref()?;
    let farthest: Vec<String> = outliers
        .farthest
        .iter()
        .map(|outlier| of_mark(&outlier.mark))
        .collect();
    Some(format!(
        "{} far from the others: {}",
        outliers.count,
        farthest.join(", ")
    ))
}

fn of_trend(trend: &Trend) -> Option<Line> {
    let how = match trend.direction {
        Direction::Rising => "rising",
        Direction::Falling => "falling",
        Direction::Flat => "flat",
        Direction::Unclear => return None,
    };
    let what = match trend.of.as_deref() {
        None => "number of records".to_owned(),
        Some(field) => one_line(field),
    };
    let text = format!(
        "{what} {how} over time, {} per {} over {} points, fit {}",
        trend.slope,
        unit(trend.per),
        trend.points,
        trend.fit
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

fn of_groups(groups: &super::Groups) -> String {
    let mut told: Vec<String> = groups
        .top
        .iter()
        .map(|group| {
            let percent = (group.share.to_f64() * 100.0).round();
            let mut text = format!("{} {} ({percent} %", group.value.to_json(), group.count);
            for (field, sum) in &group.sums {
                let _ = write!(text, ", {} {sum}", one_line(field));
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

/// A pointer behind the name of its step.
fn place(at: &str) -> String {
    if at.is_empty() {
        return String::new();
    }
    format!(" {}", one_line(at))
}

/// Names of tools, steps and fields as they are, as long as they cannot be taken for lines of ours.
fn one_line(text: &str) -> String {
    if text.chars().any(char::is_control) {
        return Value::text(text).to_json();
    }
    super::clipped(text, 120)
}

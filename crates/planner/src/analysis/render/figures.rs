//! Renders the figures of a field.

use std::fmt::Write;

use super::escape::{comma_separated, display_name, display_pointer, display_value, quote};
use super::lines::{Line, LinePriority};
use crate::analysis::numbers::Amount;
use crate::analysis::report::{
    BooleanCounts, DateStatistics, FieldAnalysis, Granularity, LocatedNumber, NumberStatistics,
    Trend, TrendDirection, UnparsedValues, ValueGroups,
};

pub(super) fn statistics_text(numbers: &NumberStatistics) -> String {
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

pub(super) fn dates_text(dates: &DateStatistics, field: &FieldAnalysis) -> String {
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

pub(super) fn outliers_text(numbers: &NumberStatistics) -> Option<String> {
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

pub(super) fn trend_line(trend: &Trend) -> Option<Line> {
    let how = match trend.direction {
        TrendDirection::Rising => "rising",
        TrendDirection::Falling => "falling",
        TrendDirection::Flat => "flat",
        TrendDirection::Unclear => return None,
    };
    let what = trend
        .of
        .as_deref()
        .map_or_else(|| "number of records".to_owned(), display_name);
    let text = format!(
        "{what} {how} over time, {} per {} over {} points, fit {}",
        trend.slope.rough(),
        granularity_name(trend.per),
        trend.points,
        trend.fit.rough()
    );
    Some((LinePriority::Trend, text))
}

pub(super) fn groups_text(groups: &ValueGroups) -> String {
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
    if 0 < groups.groups_left_out {
        shown.push(format!(
            "{} in {} more groups",
            groups.records_left_out, groups.groups_left_out
        ));
    }
    shown.join(", ")
}

/// Renders examples of values that are not numbers or days.
pub(super) fn excluded_examples(unread: &UnparsedValues) -> String {
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

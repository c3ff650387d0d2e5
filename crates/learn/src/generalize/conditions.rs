//! Conditions of calls that only some traces have.

use std::collections::HashSet;

use planwright_core::Value;
use planwright_core::path::read_path;
use planwright_core::plan::{Missing, Node, Read, Segment, SlotKind, Source};
use planwright_engine::run::MASK;

use super::columns::CallColumn;
use super::finding::{Finding, FindingKind};
use super::known::each_part;
use super::{Generalizer, references};

/// Maximum number of characters of a text that a condition compares with.
const MAX_CHARS: usize = 24;

/// Maximum number of conditions that a finding names.
const MAX_NAMED: usize = 4;

/// Minimum number of different values with the calls that prove a condition `!=`: fewer do not tell it from a choice among these values.
const MIN_OTHER_VALUES: usize = 4;

/// The conditions that agree with all traces.
#[derive(Debug, Default)]
struct AgreeingConditions {
    found: Vec<String>,
    /// Conditions of `found` that few values prove.
    weak: Vec<String>,
    /// Conditions that compare a number with a limit.
    limited: Vec<String>,
}

impl Generalizer<'_> {
    /// Returns the only condition that agrees with the traces that have the calls of a column, and with those that do not. Reports it if
    /// there is none or more than one.
    pub(super) fn condition(&mut self, column: &CallColumn) -> Option<Node> {
        let has_calls: Vec<bool> = column.calls.iter().map(Option::is_some).collect();
        let AgreeingConditions {
            mut found,
            weak,
            limited,
        } = self.conditions(column, &has_calls);
        let is_limit = found.is_empty() && !limited.is_empty();
        found.extend(limited);
        if let [only] = found.as_slice()
            && let Some(reference) = references::of_expression(only)
        {
            if weak.contains(only) {
                let message = format!(
                    "the calls of `{}` are made if `{only}`, but the traces have only few other values, and the calls may depend on these",
                    column.tool
                );
                self.findings
                    .push(Finding::new(FindingKind::PossibleCondition, message));
            }
            if is_limit {
                // Each number of the answers may be on the right side of the limit by chance.
                let message = format!(
                    "the calls of `{}` are made if `{only}`, which agrees with {} traces and may do so by chance",
                    column.tool,
                    has_calls.len()
                );
                self.findings
                    .push(Finding::new(FindingKind::PossibleLimit, message));
            }
            return Some(references::node(reference));
        }
        let count = has_calls.iter().filter(|has| **has).count();
        let rest = match found.as_slice() {
            [] => "no simple condition agrees with all traces".to_owned(),
            several => {
                let named: Vec<String> = several
                    .iter()
                    .take(MAX_NAMED)
                    .map(|one| format!("`{one}`"))
                    .collect();
                format!(
                    "{} conditions agree with all traces, such as {}",
                    several.len(),
                    named.join(" and ")
                )
            }
        };
        let message = format!(
            "the calls of `{}` are present in {count} of {} traces, and {rest}; they are left out",
            column.tool,
            has_calls.len()
        );
        self.findings
            .push(Finding::new(FindingKind::OptionalCall, message));
        None
    }

    fn conditions(&self, column: &CallColumn, has_calls: &[bool]) -> AgreeingConditions {
        let mut found = AgreeingConditions::default();
        let limits = self.said_numbers();
        for (step, known) in self.known.steps.iter().enumerate() {
            let is_earlier = self.known_before(step, column);
            let answers: Option<Vec<&Value>> = known.answers.iter().map(Option::as_ref).collect();
            let Some(answers) = answers.filter(|_| is_earlier) else {
                continue;
            };
            let Some(first) = answers.first() else {
                continue;
            };
            each_part(first, &mut |path, _| {
                // An item of a list is no simple condition.
                if path
                    .iter()
                    .any(|segment| !matches!(segment, Segment::Key(_)))
                {
                    return;
                }
                let parts: Option<Vec<Value>> = answers
                    .iter()
                    .map(|answer| read_path(answer, path, Missing::Fail).ok())
                    .collect();
                if let Some(parts) = parts {
                    let read = Read::part(Source::Step(known.id.clone()), path.clone());
                    let read = references::text_of(&read);
                    add_conditions(&read, &parts, has_calls, &mut found);
                    add_limits(&read, &parts, &limits, has_calls, &mut found.limited);
                }
            });
        }
        for input in &self.inputs {
            let values: Option<Vec<Value>> = input.values.iter().cloned().collect();
            if let Some(values) = values {
                let path = vec![Segment::Key(input.name.clone())];
                let read = Read::part(Source::Slot(SlotKind::Inputs), path);
                add_conditions(&references::text_of(&read), &values, has_calls, &mut found);
            }
        }
        found
    }

    /// Returns the numbers that the request of each trace says.
    fn said_numbers(&self) -> Vec<f64> {
        let mut requests = self
            .requests
            .iter()
            .map(|request| numbers(request.unwrap_or_default()));
        let first = requests.next().unwrap_or_default();
        requests.fold(first, |mut said, other| {
            said.retain(|number| other.contains(number));
            said
        })
    }

    /// Returns true if a step has answered before the calls of a column in each trace that has them.
    fn known_before(&self, step: usize, column: &CallColumn) -> bool {
        let view = self.view(column);
        let known = self.known.steps.get(step);
        known.is_some_and(|known| {
            view.present.iter().zip(&view.rounds).all(|(trace, round)| {
                matches!(known.rounds.get(*trace), Some(Some(before)) if before < round)
            })
        })
    }
}

/// Adds the conditions over the values of `read`, one for each trace, that hold exactly in the traces that have the calls.
fn add_conditions(
    read: &str,
    values: &[Value],
    has_calls: &[bool],
    conditions: &mut AgreeingConditions,
) {
    let AgreeingConditions { found, weak, .. } = conditions;
    let agrees = |condition: &dyn Fn(&Value) -> Option<bool>| {
        let mut pairs = values.iter().zip(has_calls);
        pairs.all(|(value, has)| condition(value) == Some(*has))
    };
    if agrees(&|value| value.as_bool()) {
        found.push(read.to_owned());
    }
    if agrees(&|value| value.as_bool().map(|value| !value)) {
        found.push(format!("!{read}"));
    }
    if agrees(&|value| value.as_list().map(|items| !items.is_empty())) {
        found.push(format!("size({read}) > 0"));
    }
    if agrees(&|value| value.as_list().map(<[Value]>::is_empty)) {
        found.push(format!("size({read}) == 0"));
    }
    if agrees(&|value| Some(value.is_null())) {
        found.push(format!("{read} == null"));
    }
    if agrees(&|value| Some(!value.is_null())) && values.iter().any(Value::is_null) {
        found.push(format!("{read} != null"));
    }
    for (expected, sign) in [(true, "=="), (false, "!=")] {
        let side: Vec<&Value> = values
            .iter()
            .zip(has_calls)
            .filter(|(_, has)| **has == expected)
            .map(|(value, _)| value)
            .collect();
        let Some(constant) = side.first() else {
            continue;
        };
        // A word that a single trace has could be any.
        let is_word = constant
            .as_text()
            .is_some_and(|text| text.chars().count() <= MAX_CHARS && !text.contains(MASK));
        if side.len() > 1
            && is_word
            && agrees(&|value| value.as_text().map(|_| (value == *constant) == expected))
        {
            let condition = format!("{read} {sign} {}", constant.to_json());
            let others: HashSet<String> = values
                .iter()
                .filter(|value| value != constant)
                .map(Value::to_json)
                .collect();
            if !expected && others.len() < MIN_OTHER_VALUES {
                weak.push(condition.clone());
            }
            found.push(condition);
        }
    }
}

/// Returns the numbers in a text, each once.
fn numbers(text: &str) -> Vec<f64> {
    let mut found: Vec<f64> = Vec::new();
    let words = text.split(|sign: char| !(sign.is_ascii_alphanumeric() || ".-_#".contains(sign)));
    for word in words {
        let number = word.trim_end_matches('.').parse();
        if let Ok(number) = number
            && word.starts_with(|sign: char| sign.is_ascii_digit())
            && !found.contains(&number)
        {
            found.push(number);
        }
    }
    found
}

/// Adds the comparisons of numbers with a limit that all requests say, if the traces with the calls are on one side of it and the others on
/// the other one. At least two traces have to agree on each side. What holds at the limit itself is not known, so the plan fails there.
fn add_limits(
    read: &str,
    values: &[Value],
    limits: &[f64],
    has_calls: &[bool],
    found: &mut Vec<String>,
) {
    let numbers: Option<Vec<f64>> = values
        .iter()
        .map(|value| match value {
            Value::Number(number) => number.as_f64(),
            _ => None,
        })
        .collect();
    let with = has_calls.iter().filter(|has| **has).count();
    let (Some(numbers), 2.., 2..) = (numbers, with, has_calls.len() - with) else {
        return;
    };
    for limit in limits {
        let agrees = |is_above: bool| {
            let mut pairs = numbers.iter().zip(has_calls);
            pairs.all(|(number, has)| {
                let order = number.partial_cmp(limit).filter(|order| order.is_ne());
                order.is_some_and(|order| order.is_gt() == (*has == is_above))
            })
        };
        for (is_above, sign) in [(true, '>'), (false, '<')] {
            if agrees(is_above) {
                found.push(format!(
                    "[{read} {sign} {limit}].filter(same, {read} != {limit})[0]"
                ));
            }
        }
    }
}

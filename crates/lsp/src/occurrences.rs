//! The places at which a text names steps: their ids, and each reference to them.

use std::collections::{BTreeSet, HashMap};
use std::ops::Range;

use planwright::core::plan::{Action, Plan, PlanTarget, Source, Step};
use planwright::core::{PointerSegment, StepId};

use crate::analysis::{part, span};

/// A place at which the text names a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StepOccurrence {
    /// The steps whose inner plans contain the step, from the outermost one. Each plan has ids of its own.
    pub(crate) scope: Vec<StepId>,
    /// The step.
    pub(crate) step: StepId,
    /// The bytes of the name.
    pub(crate) span: Range<usize>,
    /// True for the id of the step itself.
    pub(crate) is_definition: bool,
}

/// Returns the places at which `text`, the source of `plan`, names its steps and those of its inner plans, in the order of the text.
pub(crate) fn occurrences(plan: &Plan, text: &str) -> Vec<StepOccurrence> {
    let mut found = Vec::new();
    add_occurrences(plan, text, &[], &mut found);
    found.sort_by_key(|occurrence| occurrence.span.start);
    found
}

fn add_occurrences(plan: &Plan, text: &str, scope: &[StepId], found: &mut Vec<StepOccurrence>) {
    let mut add = |step: StepId, span: Range<usize>, is_definition: bool| {
        found.push(StepOccurrence {
            scope: scope.to_vec(),
            step,
            span,
            is_definition,
        });
    };
    for step in &plan.steps {
        let id = [PointerSegment::Key("id".into())];
        if let Some(id) = part(plan, step.place, &id)
            && let Some(span) = name_within(text, id, &step.id)
        {
            add(step.id.clone(), span, true);
        }
        for name in &step.after {
            let place = span(&plan.sources, name.place);
            if let Some(span) = place.and_then(|place| name_within(text, place, &name.text)) {
                add(StepId::new(name.text.clone()), span, false);
            }
        }
    }
    let mut ids: Vec<&StepId> = plan.steps.iter().map(|step| &step.id).collect();
    // Of two ids that begin alike, the longer one is tried first.
    ids.sort_by_key(|id| std::cmp::Reverse(id.len()));
    let mut seen = BTreeSet::new();
    let mut read_by_place: HashMap<(usize, usize), BTreeSet<&StepId>> = HashMap::new();
    plan.each_reference(&mut |reference| {
        let Some(place) = span(&plan.sources, reference.place) else {
            return;
        };
        let steps = read_by_place.entry((place.start, place.end)).or_default();
        steps.extend(
            reference
                .reads()
                .into_iter()
                .filter_map(|read| match &read.source {
                    Source::Step(id) | Source::Result(id) => Some(id),
                    Source::Slot(_)
                    | Source::Item
                    | Source::Index
                    | Source::Last
                    | Source::ExternalValue(..) => None,
                }),
        );
    });
    for ((start, end), steps) in read_by_place {
        let mut names: Vec<&StepId> = ids
            .iter()
            .copied()
            .filter(|id| steps.contains(id))
            .collect();
        names.dedup();
        for (step, span) in names_in_references(text, start..end, &names) {
            if seen.insert((span.start, span.end)) {
                add(step.clone(), span, false);
            }
        }
    }
    for step in &plan.steps {
        if let Some(inner) = inner_plan(step) {
            let scope: Vec<StepId> = scope.iter().chain([&step.id]).cloned().collect();
            add_occurrences(inner, text, &scope, found);
        }
    }
}

/// Returns the plan that is written in a step.
pub(crate) fn inner_plan(step: &Step) -> Option<&Plan> {
    match &step.action {
        Action::Plan(call) => match &call.target {
            PlanTarget::Inline(plan) => Some(plan),
            PlanTarget::Named(_) => None,
        },
        Action::Tool(_) | Action::Value(_) => None,
    }
}

/// Finds `name` as the only content of `place`, which may have quotes around it.
fn name_within(text: &str, place: Range<usize>, name: &str) -> Option<Range<usize>> {
    let written = text.get(place.clone())?;
    let inner = written.trim_matches(['"', '\'']);
    let start = place.start + written.find(inner)?;
    // A name with escapes is written in another way than it is read.
    (inner == name).then(|| start..start + inner.len())
}

/// Finds the `names` in the references within `place`: in each `${…}`, or in all of a text without any.
fn names_in_references<'a>(
    text: &str,
    place: Range<usize>,
    names: &[&'a StepId],
) -> Vec<(&'a StepId, Range<usize>)> {
    let Some(written) = text.get(place.clone()) else {
        return Vec::new();
    };
    let mut found = Vec::new();
    let mut ranges = expressions(written);
    if ranges.is_empty() {
        ranges.push(0..written.len());
        // A text that is nothing but a name, such as an item of `output`.
        let inner = written.trim_matches(['"', '\'']);
        if let Some(name) = names.iter().find(|name| name.as_str() == inner) {
            let start = place.start + written.find(inner).unwrap_or_default();
            return vec![(*name, start..start + inner.len())];
        }
    }
    for range in ranges {
        let expression = &written[range.clone()];
        for (name, span) in names_in_expression(expression, names, &loop_variables(expression)) {
            let start = place.start + range.start;
            found.push((name, start + span.start..start + span.end));
        }
    }
    found
}

/// The insides of each `${…}` of a text.
pub(crate) fn expressions(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(start) = text[at..].find("${").map(|start| at + start) {
        // `$${` is a literal `${`.
        if text[..start].ends_with('$') {
            at = start + 2;
            continue;
        }
        let end = expression_end(text, start + 2);
        found.push(start + 2..end);
        at = (end + 1).min(text.len());
        while !text.is_char_boundary(at) {
            at += 1;
        }
    }
    found
}

/// The byte of the `}` that ends the expression which begins at `start`, or the end of the text.
pub(crate) fn expression_end(text: &str, start: usize) -> usize {
    let mut depth = 0_usize;
    let mut quote = None;
    let mut escaped = false;
    for (index, character) in text[start..].char_indices() {
        match (quote, character) {
            _ if escaped && !matches!(character, '"' | '\'') => escaped = false,
            // In JSON, the quotes of an expression have a backslash of their own.
            (_, '\\') => escaped = true,
            (Some(open), _) if character == open => {
                quote = None;
                escaped = false;
            }
            (None, '"' | '\'') => {
                quote = Some(character);
                escaped = false;
            }
            (None, '{') => depth += 1,
            (None, '}') if depth == 0 => return start + index,
            (None, '}') => depth -= 1,
            _ => {}
        }
    }
    text.len()
}

/// Returns the variables of the loops in an expression, such as `x` of `list.filter(x, x.id > 1)`, with the bytes in which each one is
/// visible: those between the brackets of its loop.
fn loop_variables(expression: &str) -> Vec<(&str, Range<usize>)> {
    let mut found: Vec<(&str, Range<usize>)> = Vec::new();
    // The variables of the brackets that are open, by their position in `found`.
    let mut open: Vec<Option<usize>> = Vec::new();
    let mut quote: Option<char> = None;
    for (at, character) in expression.char_indices() {
        match (quote, character) {
            (Some(start), _) if character == start => quote = None,
            (None, '"' | '\'') => quote = Some(character),
            (None, '(') => open.push(loop_variable(expression, at).map(|name| {
                found.push((name, at + 1..expression.len()));
                found.len() - 1
            })),
            (None, ')') => {
                let closed = open.pop().flatten();
                if let Some((_, span)) = closed.and_then(|index| found.get_mut(index)) {
                    span.end = at;
                }
            }
            _ => {}
        }
    }
    found
}

/// Returns the variable of the loop whose bracket is at the byte `at`.
fn loop_variable(expression: &str, at: usize) -> Option<&str> {
    let before = expression[..at].trim_end_matches(is_word);
    let (name, _) = expression[at + 1..].split_once(',')?;
    let name = name.trim();
    let is_variable = before.ends_with('.') && !name.is_empty() && name.chars().all(is_word);
    is_variable.then_some(name)
}

/// Returns true if a loop in the expressions of `text` may have the variable `name`. Also a text with the form of a loop counts.
pub(crate) fn may_have_variable(text: &str, name: &str) -> bool {
    let mut brackets = text.match_indices('(');
    brackets.any(|(at, _)| loop_variable(text, at) == Some(name))
}

/// Finds the `names` at the roots of paths in an expression, outside of its texts, and in `steps["…"]` and `results["…"]`. A variable of
/// `loops` hides the step of its name.
fn names_in_expression<'a>(
    expression: &str,
    names: &[&'a StepId],
    loops: &[(&str, Range<usize>)],
) -> Vec<(&'a StepId, Range<usize>)> {
    let mut found = Vec::new();
    let mut quote: Option<char> = None;
    let mut at = 0;
    while let Some(character) = expression[at..].chars().next() {
        if character == '\\' {
            at += 1;
            continue;
        }
        if matches!(character, '"' | '\'') {
            quote = match quote {
                None => Some(character),
                Some(open) if open == character => None,
                open => open,
            };
            at += 1;
            continue;
        }
        let before = &expression[..at];
        let is_start = !before.ends_with(is_word) && is_root(before, quote.is_some());
        // Behind `steps.` and `results.`, a name is never that of a variable.
        let is_plain = quote.is_none() && !before.ends_with('.');
        let name = is_start
            .then(|| names.iter().find(|name| is_name_at(expression, at, name)))
            .flatten();
        match name {
            Some(name) => {
                let is_hidden = is_plain
                    && loops
                        .iter()
                        .any(|(variable, span)| *variable == name.as_str() && span.contains(&at));
                if !is_hidden {
                    found.push((*name, at..at + name.len()));
                }
                at += name.len();
            }
            None => at += character.len_utf8(),
        }
    }
    found
}

fn is_name_at(expression: &str, at: usize, name: &str) -> bool {
    let rest = &expression[at..];
    rest.starts_with(name) && !rest[name.len()..].starts_with(is_word)
}

/// Returns true if a name after `before` is the root of a path.
fn is_root(before: &str, is_quoted: bool) -> bool {
    const ROOTS: [&str; 2] = ["steps", "results"];
    let follows = |text: &str| {
        ROOTS.iter().any(|root| {
            let rest = text.strip_suffix(root);
            rest.is_some_and(|rest| !rest.ends_with(is_word) && !rest.ends_with('.'))
        })
    };
    if is_quoted {
        let bracket = before.trim_end_matches(['"', '\'', '\\']);
        return bracket.len() < before.len() && bracket.strip_suffix('[').is_some_and(follows);
    }
    match before.strip_suffix('.') {
        None => true,
        Some(root) => follows(root),
    }
}

fn is_word(character: char) -> bool {
    character.is_alphanumeric() || character == '_'
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(expression: &str, names: &[&str]) -> Vec<String> {
        let ids: Vec<StepId> = names.iter().map(|name| StepId::from(*name)).collect();
        let ids: Vec<&StepId> = ids.iter().collect();
        let found = names_in_expression(expression, &ids, &loop_variables(expression));
        let found = found.into_iter();
        found
            .map(|(name, span)| {
                assert_eq!(&expression[span.clone()], name.as_str());
                format!("{name}@{}", span.start)
            })
            .collect()
    }

    #[test]
    fn names_stand_at_the_roots_of_paths() {
        assert_eq!(found("a.b + b.a", &["a", "b"]), ["a@0", "b@6"]);
        assert_eq!(found("a.map(x, x.a)", &["a"]), ["a@0"]);
        assert_eq!(found(r#""a" + a + 'a'"#, &["a"]), ["a@6"]);
        assert_eq!(found(r#"\"a\" + a"#, &["a"]), ["a@8"]);
        assert_eq!(found("abc + a_b + a", &["a"]), ["a@12"]);
        assert_eq!(
            found("steps.a.b + results.b.success", &["a", "b"]),
            ["a@6", "b@20"]
        );
        assert_eq!(
            found(r#"steps["odd id"].a"#, &["odd id", "a"]),
            ["odd id@7"]
        );
        assert_eq!(found(r#"steps[\"odd id\"]"#, &["odd id"]), ["odd id@8"]);
        assert_eq!(found("x.steps.a", &["a"]), [""; 0]);
        // Variables of loops, which hide steps only within their loop.
        assert_eq!(found("a.map(a, a.b) + a", &["a"]), ["a@0", "a@16"]);
        assert_eq!(
            found("b.filter( a , size(a, 1) == steps.a).map(c, a)", &["a"]),
            ["a@34", "a@44"]
        );
        assert_eq!(found(r#"b.map(c, ")" + c.d(a, a))"#, &["c"]), [""; 0]);
        // The longer name first, as the caller sorts them.
        assert_eq!(found("a-b + a", &["a-b", "a"]), ["a-b@0", "a@6"]);
    }

    #[test]
    fn expressions_end_at_their_bracket() {
        let inner = |text: &str| -> Vec<String> {
            let found = expressions(text).into_iter();
            found.map(|range| text[range].to_owned()).collect()
        };
        assert_eq!(inner("a ${b} ${c.d} e"), ["b", "c.d"]);
        assert_eq!(inner(r#"${ {"a": "}"} } ${b}"#), [r#" {"a": "}"} "#, "b"]);
        assert_eq!(inner(r#"${a[\"}\"]} x"#), [r#"a[\"}\"]"#]);
        assert_eq!(inner("$${a} ${b"), ["b"]);
    }
}

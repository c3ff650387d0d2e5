//! Calls whose order matters although no step waits for the other, and steps that a failure of another one skips.

use crate::check::reporter::Reporter;
use crate::check::resolved_plan::{ReferenceUse, ResolvedPlan};
use crate::plan::{Action, Missing, Node, NodeKind, OnError, Ordering, Output, Read, Source};
use crate::{Code, Severity, Step, StepId, Value};

/// The largest plan in which calls are compared, in steps. A person or a model writes no longer one by hand.
const MAX_STEPS: usize = 100;

/// The access of a call to something that calls of the same server share: a table or a file.
struct Access {
    step: u32,
    server: String,
    /// The table or the path.
    name: String,
    is_write: bool,
    is_table: bool,
}

/// Warns of calls that use the same table or file in an order that only the list of steps has.
pub(in crate::check) fn check(resolved: &ResolvedPlan<'_>, reporter: &mut Reporter<'_>) {
    if resolved.plan.ordering == Ordering::Listed || MAX_STEPS < resolved.plan.steps.len() {
        return;
    }
    let mut before: Vec<Access> = Vec::new();
    for (index, step) in resolved.steps() {
        let accesses = accesses(resolved, index, step);
        let rival = before.iter().rev().find(|earlier| {
            let mut own = accesses.iter();
            own.any(|access| is_shared(earlier, access))
                && !is_alternative(resolved.step(earlier.step), step)
        });
        if let Some(rival) = rival
            && !waits_for(resolved, index, rival.step)
            && !waits_for(resolved, rival.step, index)
            && let Some(other) = resolved.step(rival.step)
            && !reporter.count_if_full(Severity::Warning)
        {
            let noun = if rival.is_table { "the table " } else { "" };
            let message = format!(
                "`{}` and `{}` both use {noun}`{}`, and run at once: neither waits for the other",
                other.id, step.id, rival.name
            );
            let help = format!(
                "write `\"after\": [\"{}\"]` in `{}`, or `\"ordering\": \"listed\"` in the plan if each step waits for the one before",
                other.id, step.id
            );
            let place = step.place;
            let diagnostic = reporter.warning(Code::UnorderedCalls, place, message);
            reporter.push(diagnostic.help(help));
        }
        before.extend(accesses);
    }
}

/// Returns true if two calls use the same thing, and one of them writes it.
fn is_shared(one: &Access, other: &Access) -> bool {
    let is_below = |whole: &str, part: &str| {
        one.is_write
            && part
                .strip_prefix(whole)
                .is_some_and(|rest| rest.starts_with('/'))
    };
    one.server == other.server
        && one.is_table == other.is_table
        && (one.is_write || other.is_write)
        && (one.name == other.name || (!one.is_table && is_below(&one.name, &other.name)))
}

/// Returns true if both steps have a condition, so that perhaps only one of them runs.
fn is_alternative(one: Option<&Step>, other: &Step) -> bool {
    one.is_some_and(|one| one.when.is_some()) && other.when.is_some()
}

/// Returns true if the step `index` waits for `on`, or for one that does.
fn waits_for(resolved: &ResolvedPlan<'_>, index: u32, on: u32) -> bool {
    let mut seen = vec![false; resolved.resolved_steps.len()];
    let mut open = vec![index];
    while let Some(step) = open.pop() {
        let Some(checked) = resolved.resolved_steps.get(step as usize) else {
            continue;
        };
        for dependency in &checked.dependencies {
            if dependency.on == on {
                return true;
            }
            if let Some(is_seen) = seen.get_mut(dependency.on as usize)
                && !std::mem::replace(is_seen, true)
            {
                open.push(dependency.on);
            }
        }
    }
    false
}

/// The accesses of the call of `step`, as far as its literal arguments show them.
fn accesses(resolved: &ResolvedPlan<'_>, index: u32, step: &Step) -> Vec<Access> {
    let (Action::Tool(_), Some(tool)) = (&step.action, resolved.tool(index)) else {
        return Vec::new();
    };
    let access = |name: &str, is_write: bool, is_table: bool| Access {
        step: index,
        server: tool.server.to_string(),
        name: name.to_owned(),
        is_write,
        is_table,
    };
    let verb = tool.name.split(['_', '-', '.']).next().unwrap_or_default();
    let verbs = [
        "write", "create", "edit", "append", "move", "delete", "remove", "copy", "save", "put",
    ];
    let is_writer = !tool.annotations.read_only && verbs.contains(&verb);
    let mut found = Vec::new();
    for (key, text) in texts(&step.args) {
        let words: Vec<&str> = text.split_whitespace().collect();
        if let Some(table) = written_table(&words) {
            found.push(access(&table, true, true));
        } else if words
            .first()
            .is_some_and(|word| is_word(word, &["select", "with"]))
        {
            found.extend(read_tables(&words).map(|table| access(&table, false, true)));
        } else if ["path", "file", "source", "destination"]
            .iter()
            .any(|word| key.contains(word))
            && text.contains('/')
            && !text.contains('\u{0}')
        {
            found.push(access(text.trim_end_matches('/'), is_writer, false));
        }
    }
    found
}

/// The literal texts of the arguments by name, with a null character in place of each reference.
fn texts(args: &Node) -> Vec<(String, String)> {
    let text = |node: &Node| node.text_with(|_| "\u{0}");
    match &args.kind {
        NodeKind::Object(fields) => fields
            .iter()
            .filter_map(|field| Some((field.key.to_lowercase(), text(&field.value)?)))
            .collect(),
        NodeKind::Literal(Value::Object(fields)) => fields
            .iter()
            .filter_map(|(key, value)| Some((key.to_lowercase(), value.as_text()?.to_string())))
            .collect(),
        NodeKind::Literal(_) | NodeKind::Reference(_) | NodeKind::Text(_) | NodeKind::List(_) => {
            Vec::new()
        }
    }
}

fn is_word(word: &str, words: &[&str]) -> bool {
    words.iter().any(|other| word.eq_ignore_ascii_case(other))
}

/// The table that the statement of SQL in `words` writes.
fn written_table(words: &[&str]) -> Option<String> {
    let (verb, rest) = words.split_first()?;
    let is_written = is_word(
        verb,
        &[
            "create", "insert", "update", "delete", "drop", "alter", "replace",
        ],
    );
    let fillers = [
        "table",
        "temp",
        "temporary",
        "if",
        "not",
        "exists",
        "into",
        "or",
        "replace",
        "ignore",
        "from",
    ];
    let name = rest.iter().find(|word| !is_word(word, &fillers))?;
    let is_certain = is_word(verb, &["update"])
        || rest.first().is_some_and(|word| {
            is_word(word, &["table", "temp", "temporary", "into", "or", "from"])
        });
    (is_written && is_certain).then(|| table(name))?
}

/// The tables that the query in `words` reads.
fn read_tables<'w>(words: &'w [&'w str]) -> impl Iterator<Item = String> + 'w {
    let pairs = words.iter().zip(words.iter().skip(1));
    pairs.filter_map(|(word, name)| is_word(word, &["from", "join"]).then(|| table(name))?)
}

/// The name of a table in a word of a statement, such as `visits(day` or `"visits";`.
fn table(word: &str) -> Option<String> {
    let is_part = |sign: char| sign.is_alphanumeric() || sign == '_' || sign == '.';
    let word = word.trim_start_matches(['"', '\'', '`', '[']);
    let end = word.find(|sign| !is_part(sign)).unwrap_or(word.len());
    let name = word.get(..end)?;
    (!name.is_empty()).then(|| name.to_lowercase())
}

/// Warns of `read`, without a default, of the step `on` whose failure the run survives, in a step that needs other steps as well.
pub(super) fn check_read(
    resolved: &ResolvedPlan<'_>,
    (usage, on): (&ReferenceUse<'_>, u32),
    read: &Read,
    reporter: &mut Reporter<'_>,
) {
    let (Source::Step(_), Missing::Fail) = (&read.source, &read.missing) else {
        return;
    };
    let (Some((index, step)), Some(other)) = (usage.step, resolved.step(on)) else {
        return;
    };
    let needs_others = resolved
        .resolved_steps
        .get(index as usize)
        .is_some_and(|checked| checked.dependencies.len() > 1);
    let survives = matches!(other.on_error, OnError::Continue);
    let is_loop = other.for_each.is_some();
    // A condition that needs the output as well does not guard against its absence, and a loop whose output is missing has others.
    let is_guarded = step
        .when
        .as_ref()
        .is_some_and(|condition| !is_loop || !needs_output(condition, &other.id));
    if index == on || !survives || !needs_others || is_guarded {
        return;
    }
    if reporter.count_if_full(Severity::Warning) {
        return;
    }
    let text = usage.reference.shown();
    let what = if is_loop { "an item of " } else { "" };
    let message = format!(
        "`{}` is skipped if {what}`{}` fails, whose `on_error` lets the run continue",
        step.id, other.id
    );
    let place = usage.reference.place;
    let diagnostic = reporter.warning(Code::SkippedWithOthers, place, message);
    if is_loop {
        let id = &other.id;
        reporter.push(diagnostic.help(format!(
            "write `results.{id}.data.filter(x, x != null)` in place of `{id}` for the outputs of the items that succeeded"
        )));
        return;
    }
    let inside = text
        .strip_prefix("${")
        .and_then(|text| text.strip_suffix('}'));
    reporter.push(match inside {
        Some(inside) if !inside.contains(' ') => diagnostic.help(format!(
            "write `${{{inside} ?? ''}}` to run it without this value"
        )),
        Some(_) | None => diagnostic.help("a default behind `??` stands in for the value"),
    });
}

/// Warns of a reference that compares the whole output of the step `on` with null, to learn if the step has run: without the output, it
/// cannot be computed. Returns true if it does.
pub(super) fn check_presence(
    resolved: &ResolvedPlan<'_>,
    (usage, on): (&ReferenceUse<'_>, u32),
    read: &Read,
    reporter: &mut Reporter<'_>,
) -> bool {
    let (Source::Step(id), Missing::Fail, []) = (&read.source, &read.missing, &*read.path) else {
        return false;
    };
    // A computed value may be null, and a condition without it skips its step, as it is meant.
    let is_call = resolved
        .step(on)
        .is_some_and(|step| !matches!(step.action, Action::Value(_)));
    let text = usage.reference.shown();
    let inside = text
        .strip_prefix("${")
        .and_then(|text| text.strip_suffix('}'));
    let Some((path, is_present)) = inside.and_then(compared_with_null) else {
        return false;
    };
    let is_whole = path == id.as_str() || path == format!("steps['{id}']");
    let is_harmless = is_present && usage.step.is_some();
    if !is_whole || !is_call || is_harmless || reporter.count_if_full(Severity::Warning) {
        return false;
    }
    let not = if is_present { "" } else { "!" };
    let result = if path == id.as_str() {
        format!("results.{id}")
    } else {
        format!("results['{id}']")
    };
    let message = format!("`{text}` cannot be computed if `{id}` is skipped or fails");
    let place = usage.reference.place;
    let diagnostic = reporter.warning(Code::SkippedWithOthers, place, message);
    reporter.push(diagnostic.help(format!("write `${{{not}{result}.success}}`")));
    true
}

/// The path in `expression` that is compared with null, and true if it must not be null.
fn compared_with_null(expression: &str) -> Option<(&str, bool)> {
    let signs = [(" != ", true), (" == ", false)];
    let (left, right, is_present) = signs.into_iter().find_map(|(sign, is_present)| {
        let (left, right) = expression.split_once(sign)?;
        Some((left.trim(), right.trim(), is_present))
    })?;
    match (left, right) {
        (path, "null") | ("null", path) => Some((path, is_present)),
        _ => None,
    }
}

/// Returns true if `condition` cannot be computed without the output of the step `id`, and does not ask for its outcome.
fn needs_output(condition: &Node, id: &StepId) -> bool {
    let (mut is_needed, mut asks) = (false, false);
    condition.each_reference(&mut |reference| {
        asks |= reference.shown().contains('?');
        for read in reference.reads() {
            asks |= matches!(&read.source, Source::Result(source) if source == id);
            is_needed |= matches!(&read.source, Source::Step(source) if source == id)
                && matches!(read.missing, Missing::Fail);
        }
    });
    is_needed && !asks
}

/// Warns of `read`, without a default, of the step `on` with a condition, in an output that has other parts as well: without this one, there
/// is no output at all.
pub(super) fn check_output_read(
    resolved: &ResolvedPlan<'_>,
    (usage, on): (&ReferenceUse<'_>, u32),
    read: &Read,
    reporter: &mut Reporter<'_>,
) {
    let (Source::Step(_), Missing::Fail, None) = (&read.source, &read.missing, usage.step) else {
        return;
    };
    let Output::Value(output) = &resolved.plan.output else {
        return;
    };
    let has_others = matches!(&output.kind, NodeKind::Object(fields) if fields.len() > 1);
    let Some(step) = resolved.step(on).filter(|step| step.when.is_some()) else {
        return;
    };
    // A default or a condition may be inside of an expression.
    let text = usage.reference.shown();
    let has_default = text.contains('?');
    if !has_others || has_default || reporter.count_if_full(Severity::Warning) {
        return;
    }
    let message = format!(
        "the output cannot be computed if `{}` is skipped, whose `when` need not be true",
        step.id
    );
    let place = usage.reference.place;
    let diagnostic = reporter.warning(Code::SkippedWithOthers, place, message);
    let inside = text
        .strip_prefix("${")
        .and_then(|text| text.strip_suffix('}'));
    reporter.push(match inside {
        Some(inside) if !inside.contains(' ') => {
            diagnostic.help(format!("write `${{{inside} ?? null}}`"))
        }
        Some(_) | None => diagnostic.help("a default behind `??` stands in for the value"),
    });
}

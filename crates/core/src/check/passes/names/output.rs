//! The output as a list of steps, and what to write for parts of steps in it.

use crate::check::reporter::Reporter;
use crate::check::resolved_plan::ResolvedPlan;
use crate::expression::parse_form;
use crate::plan::{Alternative, Form, Name, Segment, Source};
use crate::{Code, PointerSegment, Severity, Value};

/// The maximum length of an output in advice, in bytes.
const MAX_SHOWN: usize = 500;

/// The meaning of a name in the output.
enum Meaning {
    Step,
    /// A part of a step, with the last field of its path.
    Part(String),
    Unknown,
}

/// Checks the names that the output selects.
pub(super) fn check_output(
    resolved: &ResolvedPlan<'_>,
    names: &[Name],
    reporter: &mut Reporter<'_>,
) {
    let meanings: Vec<Meaning> = names.iter().map(|name| meaning(resolved, name)).collect();
    let is_certain = !meanings
        .iter()
        .any(|meaning| matches!(meaning, Meaning::Unknown));
    let output = written_output(resolved, names, &meanings, reporter);
    let key = PointerSegment::Key("output".into());
    let whole = reporter.descend(resolved.plan.place, &[key]);
    for (name, meaning) in names.iter().zip(&meanings) {
        let Meaning::Part(field) = meaning else {
            let describe = || "the output selects".to_owned();
            super::check_step_name(resolved, name, describe, reporter);
            continue;
        };
        if reporter.count_if_full(Severity::Error) {
            return;
        }
        // The whole list is replaced only if the meaning of each name is known.
        let place = if is_certain && whole != resolved.plan.place {
            whole
        } else {
            name.place
        };
        let message = format!(
            "the output selects `{}`, a part of a step, but a list has whole steps",
            name.text
        );
        let help = match &output {
            Some(output) => format!("write `\"output\": {output}`"),
            None => format!(
                "write an object in place of the list, with `\"{field}\": \"${{{}}}\"`",
                name.text
            ),
        };
        let diagnostic = reporter.error(Code::UnknownStep, place, message);
        reporter.push(diagnostic.help(help));
    }
}

fn meaning(resolved: &ResolvedPlan<'_>, name: &Name) -> Meaning {
    if resolved.ids.contains_key(&*name.text) {
        return Meaning::Step;
    }
    let Ok(Form::First(alternatives)) = parse_form(&name.text) else {
        return Meaning::Unknown;
    };
    let [Alternative::Read(read)] = alternatives.as_slice() else {
        return Meaning::Unknown;
    };
    let is_step = matches!(&read.source, Source::Step(id) if resolved.ids.contains_key(id));
    let field = read.path.iter().rev().find_map(|segment| match segment {
        Segment::Key(key) => Some(key.to_string()),
        _ => None,
    });
    match field {
        Some(field) if is_step => Meaning::Part(field),
        _ => Meaning::Unknown,
    }
}

/// The output as an object of references; `None` if a name in it stands for nothing.
fn written_output(
    resolved: &ResolvedPlan<'_>,
    names: &[Name],
    meanings: &[Meaning],
    reporter: &Reporter<'_>,
) -> Option<String> {
    let is_part = |meaning: &Meaning| matches!(meaning, Meaning::Part(_));
    meanings.iter().any(is_part).then_some(())?;
    let mut fields: Vec<(String, Value)> = Vec::with_capacity(names.len());
    for (name, meaning) in names.iter().zip(meanings) {
        let (key, read) = match meaning {
            Meaning::Step => (name.text.to_string(), name.text.to_string()),
            Meaning::Part(field) => (field.clone(), name.text.to_string()),
            Meaning::Unknown => {
                let steps = resolved.plan.steps.iter().map(|step| step.id.as_str());
                let near = reporter.nearest(&name.text, steps)?.to_owned();
                (near.clone(), near)
            }
        };
        let is_taken = |key: &str| fields.iter().any(|(known, _)| known == key);
        let key = if is_taken(&key) {
            read.replace(|sign: char| !sign.is_alphanumeric(), "_")
        } else {
            key
        };
        if is_taken(&key) {
            return None;
        }
        // In a list, a step that is skipped has no part; in an object, it would take away the others.
        let id = read.split(['.', '[']).next().unwrap_or_default();
        let step = resolved.ids.get(id).and_then(|at| resolved.step(*at));
        let may_be_skipped = names.len() > 1 && step.is_some_and(|step| step.when.is_some());
        let default = if may_be_skipped { " ?? null" } else { "" };
        fields.push((key, Value::text(format!("${{{read}{default}}}"))));
    }
    let fields = fields
        .into_iter()
        .map(|(key, value)| format!("{}: {}", Value::text(key).to_json(), value.to_json()));
    let json = format!("{{{}}}", fields.collect::<Vec<_>>().join(", "));
    (json.len() <= MAX_SHOWN && !json.contains('`')).then_some(json)
}

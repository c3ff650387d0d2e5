//! References to parts of an output that no answer of the tool had so far. The tool declares no output schema, so such a part may come.

use super::references::{describe_failure, has_expressions, suggest_fields};
use crate::check::reporter::Reporter;
use crate::check::resolved_plan::{ReferenceUse, ResolvedPlan};
use crate::check::type_inference::{ReadTarget, TypeInference, seen_type};
use crate::expression::print_path;
use crate::expression::typing::TypeErrorKind;
use crate::plan::{ForEach, Form, Read, Segment, Source};
use crate::schema::{Additional, KnownFields, ObjectType, PathLookup, Property, Type};
use crate::{Code, Severity, Step};

/// Compares `read`, which reads the output of the step `on`, with the answers of the step's tool.
pub(super) fn check(
    resolved: &ResolvedPlan<'_>,
    (usage, on): (&ReferenceUse<'_>, u32),
    read: &Read,
    reporter: &mut Reporter<'_>,
) {
    let Some(step) = resolved.step(on) else {
        return;
    };
    let is_own = usage.step.is_some_and(|(index, _)| index == on);
    let Some((calls, answer)) = answer_type(resolved, on, is_own) else {
        return;
    };
    let (path, noun) = match (&read.source, read.path.split_first()) {
        (Source::Step(_), _) => (read.path.as_slice(), "output"),
        (Source::Result(_), Some((Segment::Key(data), rest))) if &**data == "data" => {
            (rest, "data")
        }
        _ => return,
    };
    let (known, matched) = match answer.at(path) {
        PathLookup::Impossible { known, matched } | PathLookup::Unlisted { known, matched } => {
            (known, matched)
        }
        PathLookup::Found(_) | PathLookup::Unknown => return,
    };
    if reporter.count_if_full(Severity::Warning) {
        return;
    }
    let what = format!("the {noun} of `{}`", step.id);
    let answers = match calls {
        1 => "the only answer".to_owned(),
        calls => format!("none of the {calls} answers"),
    };
    let had = if calls == 1 {
        "of its tool so far does not have"
    } else {
        "of its tool so far had"
    };
    let message = format!(
        "`{}` reads the {}, which {answers} {had}",
        usage.reference.shown(),
        describe_failure(&what, path, matched)
    );
    let diagnostic = reporter.warning(Code::UnseenPath, usage.reference.place, message);
    let mut diagnostic = suggest_fields(diagnostic, path.get(matched), &known, reporter);
    let around = path.get(..matched).map(|around| answer.at(around));
    if let (Source::Step(id), Some(PathLookup::Found(Type::Text))) = (&read.source, around) {
        let whole = format!(
            "{id}{}",
            print_path(path.get(..matched).unwrap_or_default())
        );
        diagnostic.help = Some(format!(
            "it was text: write `${{{whole}}}` for all of it, or `${{regex.extract({whole}, '[0-9]+')}}` for a number in it"
        ));
    }
    reporter.push(diagnostic);
}

/// Returns the number of answers that the tool of the step `index` gave so far, and the type of the step's output by these
/// answers; `None` if the tool declares its output.
pub(super) fn answer_type(
    resolved: &ResolvedPlan<'_>,
    index: u32,
    is_own: bool,
) -> Option<(u64, Type)> {
    let (calls, answer) = seen_type(resolved, index)?;
    let step = resolved.step(index)?;
    Some((calls, output_type(step, answer, is_own)))
}

/// Checks the parts of items and of computed values that `usage` reads, which exist by the types of the plan: those that do not exist by
/// the types `learned` from answers were in no answer so far.
pub(in crate::check) fn check_computed(
    (types, learned): (&TypeInference<'_>, &TypeInference<'_>),
    resolved: &ResolvedPlan<'_>,
    usage: ReferenceUse<'_>,
    reporter: &mut Reporter<'_>,
) {
    let step = usage.step.map(|(index, _)| index);
    let Form::First(alternatives) = &usage.reference.form else {
        return;
    };
    let mut found: Vec<(String, Option<Segment>, KnownFields)> = Vec::new();
    if alternatives.len() == 1 {
        usage.reference.each_read(&mut |read| {
            found.extend(unseen_part((types, learned), resolved, read, step));
        });
    }
    if has_expressions(&usage.reference.form) {
        let known = types.expression_problems(usage.reference, step);
        let problems = learned.expression_problems(usage.reference, step);
        for problem in problems {
            let is_certain = problem.severity == Severity::Error
                || matches!(problem.kind, TypeErrorKind::Unlisted(_));
            let is_new = known.iter().all(|known| known.kind != problem.kind);
            if let (true, TypeErrorKind::Impossible(failed) | TypeErrorKind::Unlisted(failed)) =
                (is_certain && is_new, problem.kind)
            {
                let part = describe_failure(&failed.base, &failed.path, failed.matched);
                found.push((part, failed.failing().cloned(), failed.known));
            }
        }
    }
    for (part, segment, known) in found {
        if reporter.count_if_full(Severity::Warning) {
            return;
        }
        let message = format!(
            "`{}` reads the {part}, which no answer so far had",
            usage.reference.shown()
        );
        let diagnostic = reporter.warning(Code::UnseenPath, usage.reference.place, message);
        reporter.push(suggest_fields(
            diagnostic,
            segment.as_ref(),
            &known,
            reporter,
        ));
    }
}

/// The part of an item, or of the output of a step without a tool, that `read` does not find by the types `learned` from answers: its
/// description, the segment that fails and the fields in its place.
fn unseen_part(
    (types, learned): (&TypeInference<'_>, &TypeInference<'_>),
    resolved: &ResolvedPlan<'_>,
    read: &Read,
    step: Option<u32>,
) -> Option<(String, Option<Segment>, KnownFields)> {
    let what = match &read.source {
        Source::Item => "`item`".to_owned(),
        Source::Step(id) => {
            let on = *resolved.ids.get(id)?;
            // The output of a tool is compared with its answers.
            if seen_type(resolved, on).is_some() {
                return None;
            }
            format!("the output of `{id}`")
        }
        Source::Slot(_)
        | Source::Result(_)
        | Source::Index
        | Source::Last
        | Source::ExternalValue(..) => return None,
    };
    let lookup = |types: &TypeInference<'_>| match types.resolve_read(read, step) {
        ReadTarget::Path(lookup) => Some(lookup),
        ReadTarget::EmptySlot => None,
    };
    let (PathLookup::Found(_) | PathLookup::Unknown) = lookup(types)? else {
        return None;
    };
    let (known, matched) = match lookup(learned)? {
        PathLookup::Impossible { known, matched } | PathLookup::Unlisted { known, matched } => {
            (known, matched)
        }
        PathLookup::Found(_) | PathLookup::Unknown => return None,
    };
    let part = describe_failure(&what, &read.path, matched);
    Some((part, read.path.get(matched).cloned(), known))
}

/// Returns the type of the output of `step`, whose tool gives `answer`; of one round, if the step itself reads it.
fn output_type(step: &Step, answer: Type, is_own: bool) -> Type {
    match &step.for_each {
        Some(for_each) if !is_own => Type::list_of(if for_each.with_item {
            let fields = [(ForEach::ITEM, Type::Any), (ForEach::OUTPUT, answer)];
            let fields = fields.map(|(name, shape)| {
                let required = true;
                (name.into(), Property { shape, required })
            });
            Type::Object(std::sync::Arc::new(ObjectType {
                properties: fields.into_iter().collect(),
                additional: Additional::Closed,
            }))
        } else {
            answer
        }),
        Some(_) | None => answer,
    }
}

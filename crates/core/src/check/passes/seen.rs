//! References to parts of an output that no answer of the tool had so far. The tool declares no output schema, so such a part may come.

use super::references::{describe_failure, suggest_fields};
use crate::catalog::SeenAnswers;
use crate::check::reporter::Reporter;
use crate::check::resolved_plan::{ReferenceUse, ResolvedPlan};
use crate::expression::print_path;
use crate::plan::{Action, ForEach, OnError, Read, Segment, Source};
use crate::schema::{Additional, ObjectType, PathLookup, Property, Type};
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
    let (step, tool) = (resolved.step(index)?, resolved.tool(index)?);
    let seen = tool.seen.as_deref().filter(|seen| seen.calls > 0)?;
    // The output of a failed step may be another value.
    let is_known = matches!(step.action, Action::Tool(_))
        && tool.output.is_any()
        && !matches!(step.on_error, OnError::Output(_));
    is_known.then(|| (seen.calls, output_type(step, seen, is_own)))
}

/// Returns the type of the output of `step`; of one round, if the step itself reads it.
fn output_type(step: &Step, seen: &SeenAnswers, is_own: bool) -> Type {
    let answer = seen.answer_type();
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

//! The expression pass: operations that cannot apply to their operands, paths from loop variables that lead nowhere,
//! and conditions that are no booleans.

use super::references::{describe_failure, suggest_fields};
use crate::check::reporter::Reporter;
use crate::check::resolved_plan::{ReferenceUse, ResolvedPlan};
use crate::check::type_inference::TypeInference;
use crate::expression::typing::{TypeFault, TypeFaultKind};
use crate::plan::{Alternative, Form, Node, NodeKind, SelfReference, Source};
use crate::schema::{Compatibility, Type};
use crate::{Code, Severity};

pub(in crate::check) fn check(
    resolved: &ResolvedPlan<'_>,
    types: &TypeInference<'_>,
    reporter: &mut Reporter<'_>,
) {
    resolved.each_use(&mut |usage| {
        if has_expressions(&usage.reference.form) && !reads_missing_output(&usage) {
            let step = usage.step.map(|(index, _)| index);
            for fault in types.expression_faults(usage.reference, step) {
                report(fault, &usage, reporter);
            }
        }
    });
    for (index, step) in resolved.steps() {
        if let Some(when) = &step.when {
            check_condition(when, "when", index, types, reporter);
        }
        if let Some(repeat) = &step.repeat {
            check_condition(&repeat.until, "until", index, types, reporter);
        }
    }
}

fn has_expressions(form: &Form) -> bool {
    match form {
        Form::First(alternatives) => alternatives
            .iter()
            .any(|alternative| matches!(alternative, Alternative::Expression(_))),
        Form::All(_) => false,
    }
}

/// Returns true if the reference reads the output of its own failed step, so that it is never evaluated.
fn reads_missing_output(usage: &ReferenceUse<'_>) -> bool {
    let Some((_, step)) = usage.step else {
        return false;
    };
    let is_own = |source: &Source| matches!(source, Source::Step(id) if *id == step.id);
    usage.self_reference == SelfReference::Allowed
        && step.repeat.is_none()
        && usage
            .reference
            .reads()
            .iter()
            .any(|read| is_own(&read.source))
}

fn report(fault: TypeFault, usage: &ReferenceUse<'_>, reporter: &mut Reporter<'_>) {
    if reporter.count_if_full(fault.severity) {
        return;
    }
    let place = usage.reference.place;
    let text = usage.reference.shown();
    let diagnostic = |code, message| reporter.with_severity(fault.severity, code, place, message);
    let mut diagnostic = match fault.kind {
        TypeFaultKind::Operation(reason) => diagnostic(
            Code::WrongOperandType,
            format!("`{text}` cannot be computed: {reason}"),
        ),
        TypeFaultKind::Impossible(failed) => {
            let end = describe_failure(&failed.base, &failed.path, failed.matched);
            let message = format!("`{text}` leads nowhere: there is no {end}");
            let diagnostic = diagnostic(Code::ImpossiblePath, message);
            suggest_fields(diagnostic, failed.failing(), &failed.known, reporter)
        }
        TypeFaultKind::Unlisted(failed) => {
            let end = describe_failure(&failed.base, &failed.path, failed.matched);
            let message = format!("`{text}` reads the {end}, which the schema does not list");
            let diagnostic = diagnostic(Code::UnlistedPath, message);
            suggest_fields(diagnostic, failed.failing(), &failed.known, reporter)
        }
    };
    diagnostic.help = diagnostic.help.or(fault.help);
    reporter.push(diagnostic);
}

/// Checks that a condition may be a boolean. No other value counts as true or false.
fn check_condition(
    condition: &Node,
    field: &str,
    step: u32,
    types: &TypeInference<'_>,
    reporter: &mut Reporter<'_>,
) {
    // The policy pass reports external values outside of arguments.
    if let NodeKind::Reference(reference) = &condition.kind
        && let Some(read) = reference.as_read()
        && matches!(read.source, Source::ExternalValue(..))
    {
        return;
    }
    let given = types.node_type(condition, Some(step));
    if Type::Boolean.accepts(&given) != Compatibility::No || reporter.count_if_full(Severity::Error)
    {
        return;
    }
    let written = match &condition.kind {
        NodeKind::Reference(reference) => format!("`{}` gives {given}", reference.shown()),
        _ => format!("it is {given}"),
    };
    let message = format!("`{field}` needs true or false, but {written}");
    let mut diagnostic = reporter.error(Code::WrongReferenceType, condition.place, message);
    if let (NodeKind::Reference(reference), Type::List(_)) = (&condition.kind, &given) {
        let text = reference.shown();
        if let Some(path) = text
            .strip_prefix("${")
            .and_then(|text| text.strip_suffix('}'))
        {
            diagnostic.help = Some(format!("write `${{size({path}) > 0}}`"));
        }
    }
    reporter.push(diagnostic);
}

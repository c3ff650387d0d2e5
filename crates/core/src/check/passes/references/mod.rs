//! The reference and expression passes: unknown names, paths that lead nowhere, and operations that cannot apply.

mod advice;
mod alternatives;
mod comparisons;
mod literals;
mod outcomes;
mod whole_outputs;

use std::borrow::Cow;
use std::fmt;

use self::comparisons::{with_meant, with_pattern};
pub(super) use self::literals::step_number;
use self::literals::{
    joined_list, mean_of_list, number_of_step, reference_in_text, step_path, text_condition,
};
use super::meant::{
    OUTPUT_FIELDS, any_item_advice, chain_advice, default_advice, shell_advice, time_advice,
};
use super::names::step_advice;
use super::{order, seen};
use crate::check::reporter::Reporter;
use crate::check::resolved_plan::{LoopScope, ReferenceUse, ResolvedPlan};
use crate::check::type_inference::{ReadTarget, TypeInference};
use crate::expression::print_path;
use crate::expression::typing::{DEFAULT_HELP, MAY_DROP_FRACTION, TypeError, TypeErrorKind};
use crate::plan::{
    Action, Alternative, Form, Missing, Node, NodeKind, Ordering, Read, Segment, SelfReference,
    SlotKind, Source, Undo,
};
use crate::schema::{Compatibility, KnownFields, PathLookup, Type};
use crate::{Code, Diagnostic, Severity, Step, StepId};

/// The hint for a sub-plan that refers to its surroundings.
const ARGUMENTS_ONLY: &str = "a plan in a step gets what it needs as arguments";

/// The hint for an undo that reads a step.
const CALL_ONLY: &str =
    "write `${output…}` for the output of the call to undo, or `${arguments…}` for its arguments";

/// Checks the reads of a reference.
pub(in crate::check) fn check<'a>(
    resolved: &'a ResolvedPlan<'a>,
    types: &'a TypeInference<'a>,
    usage: ReferenceUse<'a>,
    reporter: &mut Reporter<'_>,
) {
    let alternatives = match &usage.reference.form {
        Form::First(alternatives) => alternatives.len(),
        Form::All(_) => 1,
    };
    number_of_step(resolved, usage, reporter);
    reference_in_text(resolved, usage, reporter);
    alternatives::check(resolved, types, usage, reporter);
    usage.reference.each_read(&mut |read| {
        let pass = ReadPass {
            resolved,
            types,
            usage,
            read,
            has_fallback: alternatives > 1,
        };
        pass.check(reporter);
    });
}

struct ReadPass<'a> {
    resolved: &'a ResolvedPlan<'a>,
    types: &'a TypeInference<'a>,
    usage: ReferenceUse<'a>,
    read: &'a Read,
    has_fallback: bool,
}

impl ReadPass<'_> {
    fn check(&self, reporter: &mut Reporter<'_>) {
        match &self.read.source {
            Source::Step(id) | Source::Result(id) => self.check_step(id, reporter),
            Source::Slot(kind) => self.check_slot(*kind, reporter),
            Source::Item | Source::Index | Source::Last => self.check_loop_variable(reporter),
            // The policy pass checks external values.
            Source::ExternalValue(..) => {}
        }
    }

    fn check_step(&self, id: &StepId, reporter: &mut Reporter<'_>) {
        let Some(on) = self.resolved.ids.get(id) else {
            if reporter.count_if_full(Severity::Error) {
                return;
            }
            let place = self.usage.reference.place;
            let text = self.text();
            if self.resolved.is_undo {
                let message = format!(
                    "`{text}` refers to the step `{id}`, and an undo knows only the call that it undoes"
                );
                let diagnostic = reporter.error(Code::UnknownStep, place, message);
                reporter.push(diagnostic.help(CALL_ONLY));
                return;
            }
            let message = format!("`{text}` refers to the step `{id}`, which is not in the plan");
            let mut diagnostic = reporter.error(Code::UnknownStep, place, message);
            diagnostic.help = self
                .second_variable_advice(id.as_str())
                .or_else(|| time_advice(&self.text()))
                .or_else(|| self.root_advice(id.as_str()))
                .or_else(|| self.input_advice(id.as_str()))
                .or_else(|| self.numbered_advice(id.as_str()))
                .or_else(|| self.neighbour_advice(id.as_str()))
                .or_else(|| {
                    let step = self.usage.step;
                    let tool = step.and_then(|(index, _)| self.resolved.tool(index));
                    shell_advice(&self.text(), tool.map(AsRef::as_ref))
                })
                .or_else(|| self.literal_advice(id.as_str()))
                .or_else(|| step_advice(self.resolved, id.as_str(), reporter));
            let is_near = diagnostic
                .help
                .as_ref()
                .is_some_and(|help| !help.starts_with("the "));
            if !is_near && let Some(advice) = self.item_advice(id.as_str()) {
                diagnostic.help = Some(advice);
            }
            if !self.resolved.role.is_main() {
                let advice = diagnostic.help.iter().map(String::as_str);
                let advice: Vec<&str> = advice.chain([ARGUMENTS_ONLY]).collect();
                diagnostic.help = Some(advice.join("; "));
            }
            reporter.push(diagnostic);
            return;
        };
        if let (Some((index, _)), Ordering::Listed) = (self.usage.step, self.resolved.plan.ordering)
            && *on > index
            && !reporter.count_if_full(Severity::Error)
        {
            let diagnostic = reporter
                .error(
                    Code::LaterStep,
                    self.usage.reference.place,
                    format!(
                        "`{}` refers to the step `{id}`, which comes later",
                        self.text()
                    ),
                )
                .help(format!("the steps run as they are listed: move `{id}` up"));
            reporter.push(diagnostic);
        }
        let noun = match &self.read.source {
            Source::Result(_) => "result",
            Source::Step(_)
            | Source::Slot(_)
            | Source::Item
            | Source::Index
            | Source::Last
            | Source::ExternalValue(..) => "output",
        };
        let what = match id.as_str() {
            Undo::OUTPUT if self.resolved.is_undo => "the output of the call to undo".to_owned(),
            Undo::ARGUMENTS if self.resolved.is_undo => {
                "the arguments of the call to undo".to_owned()
            }
            id => format!("the {noun} of `{id}`"),
        };
        self.check_path(format_args!("{what}"), &self.read.path, reporter);
        if !self.has_fallback {
            seen::check(self.resolved, (&self.usage, *on), self.read, reporter);
            order::check_read(self.resolved, (&self.usage, *on), self.read, reporter);
            let reads = (self.resolved, (&self.usage, *on), self.read);
            whole_outputs::check((reads.0, self.types), reads.1, reads.2, reporter);
            if !order::check_presence(reads.0, reads.1, reads.2, reporter) {
                order::check_output_read(reads.0, reads.1, reads.2, reporter);
            }
        }
    }

    fn check_slot(&self, kind: SlotKind, reporter: &mut Reporter<'_>) {
        // The slot pass checks state and data.
        if !matches!(kind, SlotKind::Inputs | SlotKind::Vars) {
            return;
        }
        let Some((Segment::Key(name), rest)) = self.read.path.split_first() else {
            return;
        };
        if self.target() == ReadTarget::EmptySlot {
            self.unknown_slot(kind, name, reporter);
        } else {
            let noun = if kind == SlotKind::Inputs {
                "input"
            } else {
                "variable"
            };
            self.check_path(format_args!("the {noun} `{name}`"), rest, reporter);
        }
    }

    fn unknown_slot(&self, kind: SlotKind, name: &str, reporter: &mut Reporter<'_>) {
        // A later message or alternative may provide the value, so the plan can still run.
        let severity = if self.is_optional() || self.may_arrive_by_message(kind) {
            Severity::Warning
        } else {
            Severity::Error
        };
        if reporter.count_if_full(severity) {
            return;
        }
        let by_bare_name = self.types.initial.has_only_variables();
        let (noun, plural) = match kind {
            SlotKind::Inputs if !by_bare_name => ("input", "inputs"),
            SlotKind::Inputs | SlotKind::Vars | SlotKind::State | SlotKind::Data => {
                ("variable", "variables")
            }
        };
        let message = format!(
            "`{}` refers to the {noun} `{name}`, which is not provided",
            self.text()
        );
        let place = self.usage.reference.place;
        let mut diagnostic = reporter.with_severity(severity, Code::UnknownInput, place, message);
        let known = self.types.initial.slot_names(kind);
        diagnostic.help = reporter
            .advice(name, plural, known.iter().map(|name| &**name))
            .or_else(|| {
                let declared = if by_bare_name { "variables" } else { "inputs" };
                Some(format!("declare `{name}` among the plan's {declared}"))
            });
        reporter.push(diagnostic);
    }

    /// Returns true if inputs arrive as messages: then a later message may provide the missing input, and steps without
    /// it are skipped.
    fn may_arrive_by_message(&self, kind: SlotKind) -> bool {
        let plan = self.resolved.plan;
        kind == SlotKind::Inputs
            && plan.inputs.is_empty()
            && plan
                .contents
                .iter()
                .any(|content| content.kind == SlotKind::Inputs)
    }

    fn check_loop_variable(&self, reporter: &mut Reporter<'_>) {
        let step = self.usage.step.map(|(_, step)| step);
        let loop_scope = self.usage.loop_scope;
        let in_each =
            loop_scope != LoopScope::None && step.is_some_and(|step| step.for_each.is_some());
        let in_repeat =
            loop_scope == LoopScope::Round && step.is_some_and(|step| step.repeat.is_some());
        let (name, allowed, holders) = match self.read.source {
            Source::Item => ("item", in_each, "`for_each`"),
            Source::Index => ("index", in_each || in_repeat, "`for_each` or `repeat`"),
            Source::Step(_)
            | Source::Result(_)
            | Source::Slot(_)
            | Source::Last
            | Source::ExternalValue(..) => ("last", in_repeat, "`repeat`"),
        };
        if allowed {
            self.check_path(format_args!("`{name}`"), &self.read.path, reporter);
            return;
        }
        let mut help = format!("`{name}` exists only in a step with {holders}");
        if !self.resolved.role.is_main() {
            help.push_str("; ");
            help.push_str(ARGUMENTS_ONLY);
        }
        let diagnostic = reporter
            .error(
                Code::OutOfScope,
                self.usage.reference.place,
                format!(
                    "`{}` refers to `{name}`, which does not exist here",
                    self.text()
                ),
            )
            .help(help);
        reporter.push(diagnostic);
    }

    /// Checks the part of the read's path after `what`.
    fn check_path(&self, what: fmt::Arguments<'_>, path: &[Segment], reporter: &mut Reporter<'_>) {
        let before = self.read.path.len() - path.len();
        match self.target() {
            ReadTarget::Path(PathLookup::Impossible { known, matched }) => {
                if reporter.count_if_full(self.severity()) {
                    return;
                }
                let matched = matched.saturating_sub(before);
                let what = &what.to_string();
                let diagnostic = self.impossible_path(what, path, matched, reporter);
                let mut diagnostic =
                    suggest_fields(diagnostic, path.get(matched), &known, reporter);
                let advice = self
                    .text_advice(path, matched)
                    .or_else(|| self.output_advice(path, matched))
                    .or_else(|| self.size_advice(path, matched))
                    .or_else(|| self.field_advice(before + matched, &known, reporter))
                    .or_else(|| self.parts_advice(path, matched));
                if let Some(help) = advice {
                    diagnostic.help = Some(help);
                } else if diagnostic.help.is_none() {
                    diagnostic.help = self.describe_end(what, path, matched);
                }
                reporter.push(diagnostic);
            }
            ReadTarget::Path(PathLookup::Unlisted { known, matched }) => {
                if reporter.count_if_full(Severity::Warning) {
                    return;
                }
                let matched = matched.saturating_sub(before);
                let place = self.usage.reference.place;
                let message = format!(
                    "`{}` reads the {}, which the schema does not list",
                    self.text(),
                    describe_failure(&what.to_string(), path, matched)
                );
                let diagnostic = reporter.warning(Code::UnlistedPath, place, message);
                let mut diagnostic =
                    suggest_fields(diagnostic, path.get(matched), &known, reporter);
                let advice = self
                    .output_advice(path, matched)
                    .or_else(|| self.field_advice(before + matched, &known, reporter));
                diagnostic.help = advice.or(diagnostic.help);
                reporter.push(diagnostic);
            }
            ReadTarget::Path(PathLookup::Unknown) => self.check_unknown(path, reporter),
            ReadTarget::Path(PathLookup::Found(_)) | ReadTarget::EmptySlot => {}
        }
    }

    /// Warns of a field that other systems put between a step and its output, if the tool does not state what its output is.
    fn check_unknown(&self, path: &[Segment], reporter: &mut Reporter<'_>) {
        let (Source::Step(id), Some((Segment::Key(word), rest))) =
            (&self.read.source, path.split_first())
        else {
            return;
        };
        let text = self.text();
        let is_seen = {
            let tool = self.resolved.ids.get(id);
            let tool = tool.and_then(|index| self.resolved.tool(*index));
            tool.and_then(|tool| tool.seen.as_deref())
                .is_some_and(|seen| seen.calls > 0)
        };
        // Objects may well have a field `sum` or `first`; `length` is a property of lists in JavaScript.
        if &**word == "length"
            && !is_seen
            && !self.has_fallback
            && let Some(advice) = self.unknown_list_advice(word, rest)
        {
            let message = format!(
                "`{text}` reads the field `{word}` in the output of `{id}`, and lists have no fields"
            );
            let place = self.usage.reference.place;
            let diagnostic = reporter.warning(Code::UnlistedPath, place, message);
            reporter.push(diagnostic.help(advice));
            return;
        }
        if rest.is_empty()
            && !is_seen
            && !self.has_fallback
            && self.warn_of_outcome(id, word, reporter)
        {
            return;
        }
        let is_meant = match &**word {
            "output" | "outputs" => true,
            "content" => matches!(rest, [Segment::Index(_), Segment::Key(key)] if &**key == "text"),
            // An answer that is JSON may have a `result` with parts, and a list of them.
            "result" if rest.is_empty() && !is_seen && self.is_single_call(id) => true,
            word => OUTPUT_FIELDS.contains(&word) && text.contains("${steps."),
        };
        if !is_meant || self.has_fallback || reporter.count_if_full(Severity::Warning) {
            return;
        }
        let rest = match &**word {
            "content" => String::new(),
            _ => print_path(rest),
        };
        let message = format!(
            "`{text}` reads the field `{word}` in the output of `{id}`, which the tool need not have"
        );
        let place = self.usage.reference.place;
        let diagnostic = reporter.warning(Code::UnlistedPath, place, message);
        let path = step_path(id.as_str());
        let help = format!("the name of a step is its output: write `${{{path}{rest}}}`");
        reporter.push(diagnostic.help(help));
    }

    /// Returns true if the step `id` is one call, and this read is not the list of a loop.
    fn is_single_call(&self, id: &StepId) -> bool {
        let step = self.resolved.ids.get(id);
        let step = step.and_then(|index| self.resolved.step(*index));
        let is_call = step
            .is_some_and(|step| matches!(step.action, Action::Tool(_)) && step.for_each.is_none());
        let over = self.usage.step.and_then(|(_, step)| step.for_each.as_ref());
        let is_list = over.is_some_and(|over| {
            matches!(&over.over.kind, NodeKind::Reference(list) if std::ptr::eq(list, self.usage.reference))
        });
        is_call && !is_list && !self.is_own()
    }

    fn impossible_path(
        &self,
        what: &str,
        path: &[Segment],
        matched: usize,
        reporter: &Reporter<'_>,
    ) -> Diagnostic {
        let place = self.usage.reference.place;
        let message = format!(
            "`{}` leads nowhere: there is no {}",
            self.text(),
            describe_failure(what, path, matched)
        );
        reporter.with_severity(self.severity(), Code::ImpossiblePath, place, message)
    }

    fn severity(&self) -> Severity {
        if self.is_optional() {
            Severity::Warning
        } else {
            Severity::Error
        }
    }

    fn target(&self) -> ReadTarget {
        let step = self.usage.step.map(|(index, _)| index);
        match (&self.read.source, self.usage.self_reference) {
            // In `on_error`, a step may refer to its own output, which does not exist.
            (Source::Step(_), SelfReference::Allowed) if self.is_own() && !self.repeats() => {
                ReadTarget::Path(PathLookup::Unknown)
            }
            _ => self.types.resolve_read(self.read, step),
        }
    }

    fn is_own(&self) -> bool {
        let own = self.usage.step.map(|(_, step)| &step.id);
        matches!(&self.read.source, Source::Step(id) if Some(id) == own)
    }

    fn repeats(&self) -> bool {
        self.usage
            .step
            .is_some_and(|(_, step)| step.repeat.is_some())
    }

    /// Returns true if the plan continues when the path leads nowhere.
    fn is_optional(&self) -> bool {
        self.has_fallback
            || match self.read.missing {
                Missing::Fail => false,
                Missing::Null => true,
                Missing::NullInItems => self.read.path.contains(&Segment::Each),
            }
    }

    fn text(&self) -> Cow<'_, str> {
        self.usage.reference.shown()
    }
}

/// Describes the place at which a path fails.
pub(super) fn describe_failure(what: &str, path: &[Segment], matched: usize) -> String {
    let mut around = what.to_owned();
    if matched > 0 {
        let found = print_path(path.get(..matched).unwrap_or_default());
        around = format!("`{}` in {what}", found.trim_start_matches('.'));
    }
    match path.get(matched) {
        // An integer key may be a field or an item.
        Some(Segment::Key(key)) if key.parse::<i64>().is_ok() => format!("`{key}` in {around}"),
        Some(Segment::Key(key)) => format!("field `{key}` in {around}"),
        Some(Segment::Index(index)) => format!("item {index} in {around}"),
        Some(Segment::Each) => format!("list to go through in {around}"),
        None => around,
    }
}

/// Adds the field that was probably meant, or else a list of fields.
pub(super) fn suggest_fields(
    mut diagnostic: Diagnostic,
    segment: Option<&Segment>,
    known: &KnownFields,
    reporter: &Reporter<'_>,
) -> Diagnostic {
    if let Some(Segment::Key(key)) = segment {
        let known = known.names().map(|name| &**name);
        diagnostic.help = reporter.advice(key, "fields", known);
    }
    diagnostic
}

/// Checks the operations in the expressions of a reference.
pub(in crate::check) fn check_expressions(
    types: &TypeInference<'_>,
    usage: ReferenceUse<'_>,
    reporter: &mut Reporter<'_>,
) {
    if has_expressions(&usage.reference.form) && !reads_missing_output(&usage) {
        let step = usage.step.map(|(index, _)| index);
        let problems = types.expression_problems(usage.reference, step);
        let mut meant = usage.reference.shown().to_string();
        for problem in &problems {
            if let TypeErrorKind::Constant(comparison) = &problem.kind {
                meant = with_meant(&meant, comparison).unwrap_or(meant);
            }
        }
        for problem in problems {
            report(problem, &meant, &usage, reporter);
        }
    }
}

/// Checks that the conditions of a step are true or false, once its expressions were checked.
pub(in crate::check) fn check_conditions(
    types: &TypeInference<'_>,
    (index, step): (u32, &Step),
    reporter: &mut Reporter<'_>,
) {
    if let Some(when) = &step.when {
        check_condition(when, "when", index, types, reporter);
    }
    if let Some(repeat) = &step.repeat {
        check_condition(&repeat.until, "until", index, types, reporter);
    }
}

pub(super) fn has_expressions(form: &Form) -> bool {
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

/// Reports a problem of an expression, which would be `meant` without its constant comparisons.
fn report(problem: TypeError, meant: &str, usage: &ReferenceUse<'_>, reporter: &mut Reporter<'_>) {
    if reporter.count_if_full(problem.severity) {
        return;
    }
    let place = usage.reference.place;
    let text = usage.reference.shown();
    let diagnostic = |code, message| reporter.with_severity(problem.severity, code, place, message);
    let mut diagnostic = match problem.kind {
        TypeErrorKind::Operation(reason) => diagnostic(
            Code::WrongOperandType,
            format!("`{text}` cannot be computed: {reason}"),
        ),
        TypeErrorKind::Doubtful(reason) => {
            diagnostic(Code::WrongOperandType, format!("`{text}` {reason}"))
        }
        TypeErrorKind::Constant(comparison) => {
            let message = format!("`{text}` {}", comparison.reason);
            let mut diagnostic = diagnostic(Code::WrongOperandType, message);
            let is_meant = with_meant(&text, &comparison).is_some();
            diagnostic.help = is_meant.then(|| format!("write `{meant}`"));
            diagnostic
        }
        TypeErrorKind::Impossible(failed) => {
            let end = describe_failure(&failed.base, &failed.path, failed.matched);
            let message = format!("`{text}` leads nowhere: there is no {end}");
            let diagnostic = diagnostic(Code::ImpossiblePath, message);
            suggest_fields(diagnostic, failed.failing(), &failed.known, reporter)
        }
        TypeErrorKind::Unlisted(failed) => {
            let end = describe_failure(&failed.base, &failed.path, failed.matched);
            let message = format!("`{text}` reads the {end}, which the schema does not list");
            let diagnostic = diagnostic(Code::UnlistedPath, message);
            suggest_fields(diagnostic, failed.failing(), &failed.known, reporter)
        }
    };
    // A text behind `||` is no condition.
    let is_text = diagnostic.message.contains("`||` needs true or false")
        && (text.ends_with("'}") || text.ends_with("\"}"));
    let is_default = is_text || problem.help.as_deref() == Some(DEFAULT_HELP);
    let is_chain = diagnostic
        .message
        .contains("cannot stand between a boolean");
    let is_list = diagnostic.message.contains("cannot combine a list");
    let problem_help = problem.help.as_deref().unwrap_or_default();
    let is_truth = diagnostic.message.contains("`?` needs true or false");
    let is_join = diagnostic.message.contains("`join` does not work on");
    let is_mean = diagnostic.message.ends_with(MAY_DROP_FRACTION);
    let has_size = problem_help.contains("`size(…)` counts");
    diagnostic.help = default_advice(&text)
        .filter(|_| is_default)
        .or_else(|| chain_advice(&text).filter(|_| is_chain))
        .or_else(|| any_item_advice(&text).filter(|_| is_list))
        .or_else(|| size_of_computed(&text).filter(|_| has_size))
        .or_else(|| truth_of_value(&text).filter(|_| is_truth))
        .or_else(|| negated_value(&text, &diagnostic.message))
        .or_else(|| joined_list(&text).filter(|_| is_join))
        .or_else(|| mean_of_list(&text).filter(|_| is_mean))
        .or_else(|| with_pattern(&usage.reference.text, &diagnostic.message, problem_help))
        .or(diagnostic.help)
        .or(problem.help);
    reporter.push(diagnostic);
}

/// The advice for a `length` at the end of the expression `text`.
fn size_of_computed(text: &str) -> Option<String> {
    let inside = text.strip_suffix('}')?;
    let mut words = [".length", ".count", ".size", ".len"].iter();
    let value = words.find_map(|word| inside.strip_suffix(word))?;
    // A part of a value in braces ends elsewhere.
    value
        .ends_with(')')
        .then(|| format!("write `{value}.size()}}`"))
}

/// The advice for `a ? a : b`, where other languages take any value as true or false.
fn truth_of_value(text: &str) -> Option<String> {
    let inside = text.strip_prefix("${")?.strip_suffix('}')?;
    let (value, rest) = inside.split_once(" ? ")?;
    let (same, default) = rest.split_once(" : ")?;
    (value.trim() == same.trim() && !default.contains(" ? ")).then(|| {
        let (value, default) = (same.trim(), default.trim());
        format!("write `${{{value} ?? {default}}}` for a value that may be missing, or compare it with `==`")
    })
}

/// The advice for `!list` and `!text`, which other languages take for an empty one.
fn negated_value(text: &str, message: &str) -> Option<String> {
    let (_, kind) = message.split_once("`!` needs true or false, not ")?;
    let empty = match kind {
        kind if kind.starts_with("a list") => "size(VALUE) == 0",
        "text" => "VALUE == ''",
        "a number" | "a whole number" => "VALUE == 0",
        _ => return None,
    };
    let parts: Vec<&str> = text.split('!').collect();
    let [before, behind] = parts.as_slice() else {
        return None;
    };
    let is_path = |sign: char| sign.is_alphanumeric() || "_.[]".contains(sign);
    let enclosed = behind.strip_prefix('(');
    let path = enclosed.unwrap_or(behind);
    let (path, rest) = path.split_at_checked(path.find(|sign| !is_path(sign))?)?;
    let rest = match enclosed {
        Some(_) => rest.strip_prefix(')')?,
        None => rest,
    };
    // A call of a method, or an operator that binds more tightly, belongs to the value.
    let ends = ["}", ")", "&&", "||", "?", ":"];
    let is_whole = ends.iter().any(|end| rest.trim_start().starts_with(end));
    let meant = empty.replace("VALUE", path);
    (is_whole && !path.is_empty()).then(|| format!("write `{before}{meant}{rest}`"))
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
    let found = types.node_type(condition, Some(step));
    if Type::Boolean.accepts(&found) != Compatibility::No || reporter.count_if_full(Severity::Error)
    {
        return;
    }
    let written = match &condition.kind {
        NodeKind::Reference(reference) => format!("`{}` gives {found}", reference.shown()),
        _ => format!("it is {found}"),
    };
    let message = format!("`{field}` needs true or false, but {written}");
    let mut diagnostic = reporter.error(Code::WrongReferenceType, condition.place, message);
    let is_number = matches!(found, Type::Number | Type::Integer);
    let is_text = Type::Text.accepts(&found) == Compatibility::Yes;
    if let NodeKind::Reference(reference) = &condition.kind
        && (is_number || is_text || matches!(found, Type::List(_)))
    {
        let text = reference.shown();
        if let Some(path) = text
            .strip_prefix("${")
            .and_then(|text| text.strip_suffix('}'))
        {
            diagnostic.help = Some(if is_text {
                text_condition(path)
            } else if is_number {
                format!("compare it: `${{{path} > 0}}` or `${{{path} != 0}}`")
            } else {
                format!("write `${{size({path}) > 0}}`")
            });
        }
    }
    reporter.push(diagnostic);
}

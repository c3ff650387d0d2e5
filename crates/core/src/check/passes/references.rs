//! References: what they name, and whether their paths lead anywhere.

use std::borrow::Cow;

use super::names::step_advice;
use crate::check::reporter::Findings;
use crate::check::resolved_plan::{Sees, Survey, Use};
use crate::check::type_inference::{Shapes, Sight};
use crate::expression::print_path;
use crate::plan::{Form, Missing, Ordering, Read, Segment, SelfReference, SlotKind, Source};
use crate::schema::{Fields, Reach};
use crate::{Code, Diagnostic, Severity, StepId};

/// Advice where an inner plan refers to what is around it.
const ARGUMENTS_ONLY: &str = "a plan in a step gets what it needs as arguments";

pub(in crate::check) fn check(
    survey: &Survey<'_>,
    shapes: &Shapes<'_>,
    findings: &mut Findings<'_>,
) {
    survey.each_use(&mut |place| {
        let alternatives = match &place.reference.form {
            Form::First(alternatives) => alternatives.len(),
            Form::All(_) => 1,
        };
        for read in place.reference.reads() {
            let pass = ReadPass {
                survey,
                shapes,
                place,
                read,
                has_fallback: alternatives > 1,
            };
            pass.check(findings);
        }
    });
}

struct ReadPass<'a> {
    survey: &'a Survey<'a>,
    shapes: &'a Shapes<'a>,
    place: Use<'a>,
    read: &'a Read,
    has_fallback: bool,
}

impl ReadPass<'_> {
    fn check(&self, findings: &mut Findings<'_>) {
        match &self.read.source {
            Source::Step(id) | Source::Result(id) => self.step(id, findings),
            Source::Slot(kind) => self.slot(*kind, findings),
            Source::Item | Source::Index | Source::Last => self.scoped(findings),
            // There is a pass of its own for these.
            Source::Outside(..) => {}
        }
    }

    fn step(&self, id: &StepId, findings: &mut Findings<'_>) {
        let Some(on) = self.survey.ids.get(id) else {
            if findings.only_counts(Severity::Error) {
                return;
            }
            let mut finding = findings.error(
                Code::UnknownStep,
                self.place.reference.place,
                format!(
                    "`{}` refers to the step `{id}`, which is not in the plan",
                    self.text()
                ),
            );
            finding.help = step_advice(self.survey, id.as_str(), findings);
            if !self.survey.role.is_main() {
                let advice = finding.help.iter().map(String::as_str);
                let advice: Vec<&str> = advice.chain([ARGUMENTS_ONLY]).collect();
                finding.help = Some(advice.join("; "));
            }
            findings.push(finding);
            return;
        };
        if let (Some((index, _)), Ordering::Listed) = (self.place.step, self.survey.plan.ordering)
            && *on > index
            && !findings.only_counts(Severity::Error)
        {
            let finding = findings
                .error(
                    Code::LaterStep,
                    self.place.reference.place,
                    format!(
                        "`{}` refers to the step `{id}`, which comes later",
                        self.text()
                    ),
                )
                .help(format!("the steps run as they are listed: move `{id}` up"));
            findings.push(finding);
        }
        let what = match &self.read.source {
            Source::Result(_) => format!("the result of `{id}`"),
            _ => format!("the output of `{id}`"),
        };
        self.path(&what, &self.read.path, findings);
    }

    fn slot(&self, kind: SlotKind, findings: &mut Findings<'_>) {
        // The state and the data are looked at where slots are.
        if !matches!(kind, SlotKind::Inputs | SlotKind::Vars) {
            return;
        }
        let Some((Segment::Key(name), rest)) = self.read.path.split_first() else {
            return;
        };
        if self.sight() == Sight::EmptySlot {
            self.unknown_slot(kind, name, findings);
        } else {
            let noun = if kind == SlotKind::Inputs {
                "input"
            } else {
                "variable"
            };
            self.path(&format!("the {noun} `{name}`"), rest, findings);
        }
    }

    fn unknown_slot(&self, kind: SlotKind, name: &str, findings: &mut Findings<'_>) {
        let severity = if self.need_not_exist() || self.may_come_by_message(kind) {
            Severity::Warning
        } else {
            Severity::Error
        };
        if findings.only_counts(severity) {
            return;
        }
        let by_bare_name = self.shapes.contents.variables_have_bare_names();
        let (noun, plural) = match kind {
            SlotKind::Inputs if !by_bare_name => ("input", "inputs"),
            _ => ("variable", "variables"),
        };
        let message = format!(
            "`{}` refers to the {noun} `{name}`, which nobody gives",
            self.text()
        );
        let place = self.place.reference.place;
        let mut finding = findings.of(severity, Code::UnknownInput, place, message);
        let known = self.shapes.contents.known(kind);
        finding.help = findings
            .advice(name, plural, known.iter().map(|name| &**name))
            .or_else(|| {
                let declared = if by_bare_name { "variables" } else { "inputs" };
                Some(format!("declare `{name}` among the plan's {declared}"))
            });
        findings.push(finding);
    }

    /// Where inputs come as messages, one more message may bring what is missing, and a step
    /// without it is skipped.
    fn may_come_by_message(&self, kind: SlotKind) -> bool {
        let plan = self.survey.plan;
        kind == SlotKind::Inputs
            && plan.inputs.is_empty()
            && plan
                .contents
                .iter()
                .any(|content| content.kind == SlotKind::Inputs)
    }

    fn scoped(&self, findings: &mut Findings<'_>) {
        let step = self.place.step.map(|(_, step)| step);
        let sees = self.place.sees;
        let in_each = sees != Sees::Nothing && step.is_some_and(|step| step.for_each.is_some());
        let in_repeat = sees == Sees::Round && step.is_some_and(|step| step.repeat.is_some());
        let (name, allowed, holders) = match self.read.source {
            Source::Item => ("item", in_each, "`for_each`"),
            Source::Index => ("index", in_each || in_repeat, "`for_each` or `repeat`"),
            _ => ("last", in_repeat, "`repeat`"),
        };
        if allowed {
            self.path(&format!("`{name}`"), &self.read.path, findings);
            return;
        }
        let mut help = format!("`{name}` is there in a step with {holders}");
        if !self.survey.role.is_main() {
            help.push_str("; ");
            help.push_str(ARGUMENTS_ONLY);
        }
        let finding = findings
            .error(
                Code::OutOfScope,
                self.place.reference.place,
                format!("`{}` refers to `{name}`, which is not there", self.text()),
            )
            .help(help);
        findings.push(finding);
    }

    /// `path` is the part of the read's path behind what is called `what`.
    fn path(&self, what: &str, path: &[Segment], findings: &mut Findings<'_>) {
        let before = self.read.path.len() - path.len();
        match self.sight() {
            Sight::Reach(Reach::Impossible { known, good }) => {
                if findings.only_counts(self.severity()) {
                    return;
                }
                let good = good.saturating_sub(before);
                let finding = self.impossible(what, path, good, findings);
                let mut finding = with_fields(finding, path.get(good), &known, findings);
                if finding.help.is_none() {
                    finding.help = self.what_is_there(what, path, good);
                }
                findings.push(finding);
            }
            Sight::Reach(Reach::Unlisted { known, good }) => {
                if findings.only_counts(Severity::Warning) {
                    return;
                }
                let good = good.saturating_sub(before);
                let place = self.place.reference.place;
                let message = format!(
                    "`{}` reads the {}, which the schema does not list",
                    self.text(),
                    broken_at(what, path, good)
                );
                let finding = findings.warning(Code::UnlistedPath, place, message);
                findings.push(with_fields(finding, path.get(good), &known, findings));
            }
            Sight::Reach(Reach::Found(_) | Reach::Unknown) | Sight::EmptySlot => {}
        }
    }

    /// What stands where the path breaks off.
    fn what_is_there(&self, what: &str, path: &[Segment], good: usize) -> Option<String> {
        let moves = self.read.path.len() - path.len() + good;
        let way = self.read.path.get(..moves)?;
        if way.contains(&Segment::Each) {
            return None;
        }
        let around = Read {
            path: way.to_vec(),
            ..self.read.clone()
        };
        match self
            .shapes
            .read(&around, self.place.step.map(|(index, _)| index))
        {
            Sight::Reach(Reach::Found(shape)) => Some(format!(
                "{} is {shape}",
                broken_at(what, path.get(..good)?, good)
            )),
            _ => None,
        }
    }

    fn impossible(
        &self,
        what: &str,
        path: &[Segment],
        good: usize,
        findings: &Findings<'_>,
    ) -> Diagnostic {
        let place = self.place.reference.place;
        let message = format!(
            "`{}` leads nowhere: there is no {}",
            self.text(),
            broken_at(what, path, good)
        );
        findings.of(self.severity(), Code::ImpossiblePath, place, message)
    }

    fn severity(&self) -> Severity {
        if self.need_not_exist() {
            Severity::Warning
        } else {
            Severity::Error
        }
    }

    fn sight(&self) -> Sight {
        let step = self.place.step.map(|(index, _)| index);
        match (&self.read.source, self.place.reflexive) {
            // In `on_error`, a step may ask for its own output, of which there is none.
            (Source::Step(_), SelfReference::Allowed) if self.is_own() && !self.repeats() => {
                Sight::Reach(Reach::Unknown)
            }
            _ => self.shapes.read(self.read, step),
        }
    }

    fn is_own(&self) -> bool {
        let own = self.place.step.map(|(_, step)| &step.id);
        matches!(&self.read.source, Source::Step(id) if Some(id) == own)
    }

    fn repeats(&self) -> bool {
        self.place
            .step
            .is_some_and(|(_, step)| step.repeat.is_some())
    }

    /// Whether the plan goes on where the path leads nowhere.
    fn need_not_exist(&self) -> bool {
        self.has_fallback
            || match self.read.missing {
                Missing::Fail => false,
                Missing::Null => true,
                Missing::NullInItems => self.read.path.contains(&Segment::Each),
            }
    }

    fn text(&self) -> Cow<'_, str> {
        self.place.reference.shown()
    }
}

/// Where a path breaks off, in words.
pub(super) fn broken_at(what: &str, path: &[Segment], good: usize) -> String {
    let mut around = what.to_owned();
    if good > 0 {
        let way = print_path(path.get(..good).unwrap_or_default());
        around = format!("`{}` in {what}", way.trim_start_matches('.'));
    }
    match path.get(good) {
        // Such a key may be the position of an item as well.
        Some(Segment::Key(key)) if key.parse::<i64>().is_ok() => format!("`{key}` in {around}"),
        Some(Segment::Key(key)) => format!("field `{key}` in {around}"),
        Some(Segment::Index(index)) => format!("item {index} in {around}"),
        Some(Segment::Each) => format!("list to go through in {around}"),
        None => around,
    }
}

/// Adds the field that was probably meant, or those that there are.
pub(super) fn with_fields(
    mut finding: Diagnostic,
    segment: Option<&Segment>,
    known: &Fields,
    findings: &Findings<'_>,
) -> Diagnostic {
    if let Some(Segment::Key(key)) = segment {
        let known = known.names().map(|name| &**name);
        finding.help = findings.advice(key, "fields", known);
    }
    finding
}

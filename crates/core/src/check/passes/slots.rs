//! Slots: read but never filled, or filled by two steps at once.

use std::cell::Cell;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::references::{broken_at, with_fields};
use crate::check::reporter::Findings;
use crate::check::resolved_plan::{Survey, Use};
use crate::check::type_inference::{Shapes, Sight};
use crate::check::writers::slot_keys;
use crate::expression::print_path;
use crate::plan::{Form, Method, Missing, Read, SlotKind, SlotPath, Source, Targets};
use crate::schema::Reach;
use crate::{Code, Plan, Severity, Step};

/// How many pairs of writers are looked at, how many steps behind each, and how much of these steps in all: enough for
/// real plans, and no reason to wait in others.
const MAX_PAIRS: usize = 200;
const MAX_BEHIND: usize = 2_000;
const MAX_LOOKS: usize = 3_000_000;

pub(in crate::check) fn check(
    survey: &Survey<'_>,
    shapes: &Shapes<'_>,
    findings: &mut Findings<'_>,
) {
    survey.each_use(&mut |place| {
        for read in place.reference.reads() {
            unwritten(shapes, place, read, findings);
        }
    });
    written_inputs(survey, findings);
    competing(survey, findings);
}

fn unwritten(shapes: &Shapes<'_>, place: Use<'_>, read: &Read, findings: &mut Findings<'_>) {
    let Source::Slot(kind @ (SlotKind::State | SlotKind::Data)) = read.source else {
        return;
    };
    if read.missing == Missing::Null {
        return;
    }
    let step = place.step.map(|(index, _)| index);
    let sight = shapes.read(read, step);
    if matches!(&sight, Sight::Reach(Reach::Found(_) | Reach::Unknown)) {
        return;
    }
    if findings.only_counts(Severity::Warning) {
        return;
    }
    let text = place.reference.shown();
    let (slot, inside) = read.path.split_at(read.path.len().min(1));
    let what = format!("the slot `{kind}{}`", print_path(slot));
    let warn = |code, message| findings.warning(code, place.reference.place, message);
    let mut finding = match sight {
        Sight::EmptySlot => {
            let slot = print_path(&read.path);
            let message = format!("`{text}` reads the slot `{kind}{slot}`, which nothing fills");
            let mut finding = warn(Code::UnwrittenSlot, message);
            finding.help = near_slot(shapes, kind, read, findings);
            finding
        }
        Sight::Reach(Reach::Impossible { known, good }) => {
            let good = good.saturating_sub(slot.len());
            let end = broken_at(&what, inside, good);
            let message = format!("`{text}` leads nowhere: there is no {end}");
            let finding = warn(Code::ImpossiblePath, message);
            with_fields(finding, inside.get(good), &known, findings)
        }
        Sight::Reach(Reach::Unlisted { known, good }) => {
            let good = good.saturating_sub(slot.len());
            let end = broken_at(&what, inside, good);
            let message = format!("`{text}` reads the {end}, which the schema does not list");
            let finding = warn(Code::UnlistedPath, message);
            with_fields(finding, inside.get(good), &known, findings)
        }
        Sight::Reach(Reach::Found(_) | Reach::Unknown) => return,
    };
    finding.help.get_or_insert_with(|| {
        let what = match &place.reference.form {
            Form::First(alternatives) if alternatives.len() > 1 => "another alternative is taken",
            _ => "what reads it will be skipped",
        };
        what.to_owned()
    });
    findings.push(finding);
}

/// The slot that was probably meant.
fn near_slot(
    shapes: &Shapes<'_>,
    kind: SlotKind,
    read: &Read,
    findings: &Findings<'_>,
) -> Option<String> {
    let name = slot_keys(&read.path).next()?;
    let known = shapes.contents.known(kind);
    let near = findings.nearest(name, known.iter().map(|name| &**name))?;
    Some(format!("did you mean `{near}`?"))
}

fn written_inputs(survey: &Survey<'_>, findings: &mut Findings<'_>) {
    for (_, step) in survey.steps() {
        for target in step.writes.iter().flat_map(|writes| writes.targets.paths()) {
            if target.kind == SlotKind::Inputs && !findings.only_counts(Severity::Error) {
                let finding = findings
                    .error(
                        Code::OutOfScope,
                        target.place,
                        format!(
                            "the step `{}` writes `{target}`, but inputs are never written",
                            step.id
                        ),
                    )
                    .help("write to the state, or to a variable");
                findings.push(finding);
            }
        }
    }
}

/// Warns of two steps that may write one slot in any order.
fn competing(survey: &Survey<'_>, findings: &mut Findings<'_>) {
    let mut pairs_left = MAX_PAIRS;
    let scout = Scout {
        survey,
        has_branches: has_branches(survey.plan),
        looks_left: Cell::new(MAX_LOOKS),
    };
    for (index, step) in survey.steps() {
        let Some(writes) = step.writes.as_ref() else {
            continue;
        };
        if writes.method != Method::Set {
            continue;
        }
        for target in writes.targets.paths() {
            if pairs_left == 0 {
                return;
            }
            let overlap = survey.writers.overlapping(target.kind, &target.keys);
            let earlier = overlap
                .before(index)
                .into_iter()
                .rev()
                .take(pairs_left)
                .inspect(|_| pairs_left -= 1)
                .find_map(|other| {
                    let other_step = survey.step(other)?;
                    may_compete(step, other_step).then_some((other, other_step))
                });
            let Some((other, other_step)) = earlier else {
                continue;
            };
            let (Some(own), Some(others)) =
                (scout.behind(index, target), scout.behind(other, target))
            else {
                return;
            };
            if own.steps.contains(&other) || others.steps.contains(&index) || own.excludes(&others)
            {
                continue;
            }
            let finding = findings
                .warning(
                    Code::CompetingWriters,
                    target.place,
                    format!(
                        "the steps `{}` and `{}` both write `{target}`",
                        other_step.id, step.id
                    ),
                )
                .help(format!(
                    "what `{}` writes wins, for it comes later in the plan: to keep both, write to two slots",
                    step.id
                ));
            findings.push(finding);
        }
    }
}

fn may_compete(one: &Step, other: &Step) -> bool {
    let elsewhere = match (&one.instance, &other.instance) {
        (Some(one), Some(other)) => one != other,
        _ => false,
    };
    let replaces = other
        .writes
        .as_ref()
        .is_some_and(|writes| writes.method == Method::Set);
    // A condition may well keep them apart.
    !elsewhere && replaces && one.when.is_none() && other.when.is_none()
}

/// What must have happened before a step.
struct Behind {
    /// The steps that it waits for, directly or not.
    steps: HashSet<u32>,
    /// The steps with alternative targets among them, and through which of their targets it waits.
    branches: HashMap<u32, HashSet<usize>>,
}

impl Behind {
    /// Whether both wait for one step through different targets of it, so that only one of them runs.
    fn excludes(&self, other: &Self) -> bool {
        self.branches.iter().any(|(branch, targets)| {
            other
                .branches
                .get(branch)
                .is_some_and(|others| targets.is_disjoint(others))
        })
    }
}

/// Finds out what is behind steps, as long as that does not take too long.
struct Scout<'a> {
    survey: &'a Survey<'a>,
    has_branches: bool,
    looks_left: Cell<usize>,
}

impl Scout<'_> {
    /// What is behind `step`, which writes `target`; nothing where that would take too long.
    fn behind(&self, step: u32, target: &SlotPath) -> Option<Behind> {
        let mut behind = Behind {
            steps: HashSet::new(),
            branches: HashMap::new(),
        };
        self.add_targets(&mut behind, step, target.kind, &target.keys)?;
        let mut open = vec![step];
        while let Some(at) = open.pop() {
            self.add_branches(&mut behind, at)?;
            let waits = self.survey.waits.get(at as usize);
            for dependency in waits.iter().flat_map(|waits| &waits.dependencies) {
                self.look()?;
                if behind.steps.len() < MAX_BEHIND && behind.steps.insert(dependency.on) {
                    open.push(dependency.on);
                }
            }
        }
        Some(behind)
    }

    fn look(&self) -> Option<()> {
        self.looks_left.set(self.looks_left.get().checked_sub(1)?);
        Some(())
    }

    fn add_branches(&self, behind: &mut Behind, step: u32) -> Option<()> {
        let Some(step) = self.survey.step(step).filter(|_| self.has_branches) else {
            return Some(());
        };
        let mut flow = Some(());
        step.each_node(&mut |node, _| {
            node.each_reference(&mut |reference| {
                for read in reference.reads() {
                    flow = flow.and_then(|()| self.add_read(behind, read));
                }
            });
        });
        flow
    }

    fn add_read(&self, behind: &mut Behind, read: &Read) -> Option<()> {
        let Source::Slot(kind) = read.source else {
            return self.look();
        };
        let keys: Vec<_> = slot_keys(&read.path).cloned().collect();
        let overlap = self.survey.writers.overlapping(kind, &keys);
        overlap
            .steps()
            .into_iter()
            .try_for_each(|producer| self.add_targets(behind, producer, kind, &keys))
    }

    /// Notes which of the alternative targets of `step` overlap with a slot.
    fn add_targets(
        &self,
        behind: &mut Behind,
        step: u32,
        kind: SlotKind,
        keys: &[Arc<str>],
    ) -> Option<()> {
        self.look()?;
        let step_writes = self.survey.step(step).and_then(|step| step.writes.as_ref());
        let Some(Targets::OneOf(targets)) = step_writes.map(|writes| &writes.targets) else {
            return Some(());
        };
        let found = behind.branches.entry(step).or_default();
        for (position, target) in targets.iter().enumerate() {
            self.look()?;
            let mut pairs = target.keys.iter().zip(keys);
            if target.kind == kind && pairs.all(|(one, other)| one == other) {
                found.insert(position);
            }
        }
        Some(())
    }
}

fn has_branches(plan: &Plan) -> bool {
    let mut writes = plan.steps.iter().filter_map(|step| step.writes.as_ref());
    writes.any(|writes| matches!(writes.targets, Targets::OneOf(_)))
}

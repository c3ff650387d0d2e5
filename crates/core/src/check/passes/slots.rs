//! The slot and sharing passes: who writes slots, and which parameters may receive data from other steps.

use std::cell::Cell;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::references::{describe_failure, suggest_fields};
use crate::check::reporter::Reporter;
use crate::check::resolved_plan::{ReferenceUse, ResolvedPlan};
use crate::check::slot_writers::slot_keys;
use crate::check::type_inference::{ReadTarget, TypeInference};
use crate::expression::print_path;
use crate::plan::{
    Field, Form, Method, Missing, Node, NodeKind, Read, Sharing, SlotKind, SlotPath, Source,
    Targets,
};
use crate::schema::{PathLookup, resolve_pointer};
use crate::{Code, Plan, Schema, Severity, Step, Tool, Value};

/// Limits on compared pairs of writers, on the ancestors of each, and on visits in total. They suffice for real plans
/// and bound the time for hostile ones.
const MAX_PAIRS: usize = 200;
const MAX_ANCESTORS: usize = 2_000;
const MAX_VISITS: usize = 3_000_000;

pub(in crate::check) fn check(
    resolved: &ResolvedPlan<'_>,
    types: &TypeInference<'_>,
    reporter: &mut Reporter<'_>,
) {
    if resolved.reads.slots {
        resolved.each_use(&mut |usage| {
            usage
                .reference
                .each_read(&mut |read| report_unwritten(types, usage, read, reporter));
        });
    }
    report_written_inputs(resolved, reporter);
    report_competing_writers(resolved, reporter);
}

fn report_unwritten(
    types: &TypeInference<'_>,
    usage: ReferenceUse<'_>,
    read: &Read,
    reporter: &mut Reporter<'_>,
) {
    let Source::Slot(kind @ (SlotKind::State | SlotKind::Data)) = read.source else {
        return;
    };
    // An optional read expects that the slot may be empty.
    if read.missing == Missing::Null {
        return;
    }
    let step = usage.step.map(|(index, _)| index);
    let target = types.resolve_read(read, step);
    if matches!(
        &target,
        ReadTarget::Path(PathLookup::Found(_) | PathLookup::Unknown)
    ) {
        return;
    }
    if reporter.count_if_full(Severity::Warning) {
        return;
    }
    let text = usage.reference.shown();
    let (slot, inside) = read.path.split_at(read.path.len().min(1));
    let what = format!("the slot `{kind}{}`", print_path(slot));
    let warn = |code, message| reporter.warning(code, usage.reference.place, message);
    let mut diagnostic = match target {
        ReadTarget::EmptySlot => {
            let slot = print_path(&read.path);
            let message = format!("`{text}` reads the slot `{kind}{slot}`, which nothing fills");
            let mut diagnostic = warn(Code::UnwrittenSlot, message);
            diagnostic.help = suggest_slot(types, kind, read, reporter);
            diagnostic
        }
        ReadTarget::Path(PathLookup::Impossible { known, matched }) => {
            let matched = matched.saturating_sub(slot.len());
            let end = describe_failure(&what, inside, matched);
            let message = format!("`{text}` leads nowhere: there is no {end}");
            let diagnostic = warn(Code::ImpossiblePath, message);
            suggest_fields(diagnostic, inside.get(matched), &known, reporter)
        }
        ReadTarget::Path(PathLookup::Unlisted { known, matched }) => {
            let matched = matched.saturating_sub(slot.len());
            let end = describe_failure(&what, inside, matched);
            let message = format!("`{text}` reads the {end}, which the schema does not list");
            let diagnostic = warn(Code::UnlistedPath, message);
            suggest_fields(diagnostic, inside.get(matched), &known, reporter)
        }
        ReadTarget::Path(PathLookup::Found(_) | PathLookup::Unknown) => return,
    };
    diagnostic.help.get_or_insert_with(|| {
        let what = match &usage.reference.form {
            Form::First(alternatives) if alternatives.len() > 1 => "another alternative is taken",
            Form::First(_) | Form::All(_) => "what reads it will be skipped",
        };
        what.to_owned()
    });
    reporter.push(diagnostic);
}

/// Suggests the slot that was probably meant.
fn suggest_slot(
    types: &TypeInference<'_>,
    kind: SlotKind,
    read: &Read,
    reporter: &Reporter<'_>,
) -> Option<String> {
    let name = slot_keys(&read.path).next()?;
    let known = types.initial.slot_names(kind);
    let near = reporter.nearest(name, known.iter().map(|name| &**name))?;
    Some(format!("did you mean `{near}`?"))
}

fn report_written_inputs(resolved: &ResolvedPlan<'_>, reporter: &mut Reporter<'_>) {
    for (_, step) in resolved.steps() {
        for target in step.writes.iter().flat_map(|writes| writes.targets.paths()) {
            if target.kind == SlotKind::Inputs && !reporter.count_if_full(Severity::Error) {
                let diagnostic = reporter
                    .error(
                        Code::OutOfScope,
                        target.place,
                        format!(
                            "the step `{}` writes `{target}`, but inputs are never written",
                            step.id
                        ),
                    )
                    .help("write to the state, or to a variable");
                reporter.push(diagnostic);
            }
        }
    }
}

/// Warns of two steps that may write the same slot in either order.
fn report_competing_writers(resolved: &ResolvedPlan<'_>, reporter: &mut Reporter<'_>) {
    let mut pairs_left = MAX_PAIRS;
    let search = AncestorSearch {
        resolved,
        has_branches: has_branches(resolved.plan),
        visits_left: Cell::new(MAX_VISITS),
    };
    for (index, step) in resolved.steps() {
        let Some(writes) = step.writes.as_ref() else {
            continue;
        };
        // Other methods combine, so both outputs remain.
        if writes.method != Method::Set {
            continue;
        }
        for target in writes.targets.paths() {
            if pairs_left == 0 {
                return;
            }
            let overlap = resolved.writers.overlapping(target.kind, &target.keys);
            let earlier = overlap
                .before(index)
                .into_iter()
                .rev()
                .take(pairs_left)
                .inspect(|_| pairs_left -= 1)
                .find_map(|other| {
                    let other_step = resolved.step(other)?;
                    can_conflict(step, other_step).then_some((other, other_step))
                });
            let Some((other, other_step)) = earlier else {
                continue;
            };
            let (Some(own), Some(others)) = (
                search.ancestors(index, target),
                search.ancestors(other, target),
            ) else {
                return;
            };
            // The order of the two writers is determined.
            if own.steps.contains(&other) || others.steps.contains(&index) || own.excludes(&others)
            {
                continue;
            }
            let diagnostic = reporter
                .warning(
                    Code::CompetingWriters,
                    target.place,
                    format!(
                        "the steps `{}` and `{}` both write `{target}`",
                        other_step.id, step.id
                    ),
                )
                .help(format!(
                    "`{}` comes later in the plan and overwrites it: use two slots for both values",
                    step.id
                ));
            reporter.push(diagnostic);
        }
    }
}

fn can_conflict(one: &Step, other: &Step) -> bool {
    let elsewhere = match (&one.instance, &other.instance) {
        (Some(one), Some(other)) => one != other,
        _ => false,
    };
    let replaces = other
        .writes
        .as_ref()
        .is_some_and(|writes| writes.method == Method::Set);
    // Conditions may exclude each other, so conditional writers do not compete.
    !elsewhere && replaces && one.when.is_none() && other.when.is_none()
}

/// The ancestors of a step in the dependency graph.
struct Ancestors {
    /// The direct and indirect dependencies.
    steps: HashSet<u32>,
    /// The ancestors with alternative targets, and the targets through which the step waits for them.
    branches: HashMap<u32, HashSet<usize>>,
}

impl Ancestors {
    /// Returns true if both depend on the same step through disjoint targets, so that only one of them runs.
    fn excludes(&self, other: &Self) -> bool {
        self.branches.iter().any(|(branch, targets)| {
            other
                .branches
                .get(branch)
                .is_some_and(|others| targets.is_disjoint(others))
        })
    }
}

/// A search for the ancestors of steps, with a budget.
struct AncestorSearch<'a> {
    resolved: &'a ResolvedPlan<'a>,
    has_branches: bool,
    visits_left: Cell<usize>,
}

impl AncestorSearch<'_> {
    /// Returns the ancestors of `step`, which writes `target`, or `None` if the budget is exhausted.
    fn ancestors(&self, step: u32, target: &SlotPath) -> Option<Ancestors> {
        let mut ancestors = Ancestors {
            steps: HashSet::new(),
            branches: HashMap::new(),
        };
        self.add_targets(&mut ancestors, step, target.kind, &target.keys)?;
        let mut open = vec![step];
        while let Some(at) = open.pop() {
            self.add_branches(&mut ancestors, at)?;
            let resolved = self.resolved.resolved_steps.get(at as usize);
            for dependency in resolved.iter().flat_map(|step| &step.dependencies) {
                self.visit()?;
                if ancestors.steps.len() < MAX_ANCESTORS && ancestors.steps.insert(dependency.on) {
                    open.push(dependency.on);
                }
            }
        }
        Some(ancestors)
    }

    fn visit(&self) -> Option<()> {
        self.visits_left.set(self.visits_left.get().checked_sub(1)?);
        Some(())
    }

    fn add_branches(&self, ancestors: &mut Ancestors, step: u32) -> Option<()> {
        let Some(step) = self.resolved.step(step).filter(|_| self.has_branches) else {
            return Some(());
        };
        let mut flow = Some(());
        step.each_node(&mut |node, _| {
            node.each_reference(&mut |reference| {
                reference.each_read(&mut |read| {
                    flow = flow.and_then(|()| self.add_read(ancestors, read));
                });
            });
        });
        flow
    }

    fn add_read(&self, ancestors: &mut Ancestors, read: &Read) -> Option<()> {
        let Source::Slot(kind) = read.source else {
            return self.visit();
        };
        let keys: Vec<_> = slot_keys(&read.path).cloned().collect();
        let overlap = self.resolved.writers.overlapping(kind, &keys);
        overlap
            .steps()
            .into_iter()
            .try_for_each(|producer| self.add_targets(ancestors, producer, kind, &keys))
    }

    /// Records the alternative targets of `step` that overlap with a slot.
    fn add_targets(
        &self,
        ancestors: &mut Ancestors,
        step: u32,
        kind: SlotKind,
        keys: &[Arc<str>],
    ) -> Option<()> {
        self.visit()?;
        let step_writes = self
            .resolved
            .step(step)
            .and_then(|step| step.writes.as_ref());
        let Some(Targets::OneOf(targets)) = step_writes.map(|writes| &writes.targets) else {
            return Some(());
        };
        let found = ancestors.branches.entry(step).or_default();
        for (position, target) in targets.iter().enumerate() {
            self.visit()?;
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

/// The schema keyword that marks a parameter, or a part of one, as sharable.
const SHARABLE_KEYWORD: &str = "x-sharable";

pub(in crate::check) fn check_sharing(resolved: &ResolvedPlan<'_>, reporter: &mut Reporter<'_>) {
    if resolved.plan.sharing == Sharing::Open {
        return;
    }
    for (index, step) in resolved.steps() {
        let Some(tool) = resolved.tool(index) else {
            continue;
        };
        match &step.args.kind {
            NodeKind::Object(fields) => {
                let whole = tool.input.location();
                for field in fields {
                    check_parameter(tool, field, &whole, reporter);
                }
            }
            // Constants come from the plan itself.
            NodeKind::Literal(_) => {}
            NodeKind::Reference(_) | NodeKind::Text(_) | NodeKind::List(_) => {
                let diagnostic = reporter.error(
                    Code::NotSharable,
                    step.args.place,
                    format!(
                        "the arguments of `{}` as a whole cannot come from another step",
                        tool.name
                    ),
                );
                reporter.push(diagnostic);
            }
        }
    }
}

fn check_parameter(
    tool: &Tool,
    field: &Field,
    whole: &SchemaLocation<'_>,
    reporter: &mut Reporter<'_>,
) {
    let location = whole.field(&field.key);
    let mut found = Vec::new();
    // The configuration is the user's, so it decides about the parameter as a whole.
    let sharable =
        tool.sharable.contains(&field.key) || location.flag(SHARABLE_KEYWORD).unwrap_or_default();
    collect_parts(&field.value, &location, sharable, &mut found);
    for node in found {
        node.each_reference(&mut |reference| {
            let message = format!(
                "the parameter `{}` of `{}` is not sharable, so no reference may stand in it",
                field.key, tool.name
            );
            let diagnostic = reporter.error(Code::NotSharable, reference.place, message).help(
                "write the value itself, or mark the parameter with `x-sharable` in the tool's schema or `tools.sharable` in your own planwright.toml",
            );
            reporter.push(diagnostic);
        });
    }
}

/// Collects the references in `node` that are not allowed. The nearest enclosing mark decides.
fn collect_references<'a>(
    node: &'a Node,
    location: &SchemaLocation<'_>,
    sharable: bool,
    found: &mut Vec<&'a Node>,
) {
    let sharable = location.flag(SHARABLE_KEYWORD).unwrap_or(sharable);
    collect_parts(node, location, sharable, found);
}

/// Collects like [`collect_references`], with the mark of `node` itself in `sharable`.
fn collect_parts<'a>(
    node: &'a Node,
    location: &SchemaLocation<'_>,
    sharable: bool,
    found: &mut Vec<&'a Node>,
) {
    match &node.kind {
        NodeKind::Literal(_) => {}
        NodeKind::Reference(_) | NodeKind::Text(_) if sharable => {}
        NodeKind::Reference(_) | NodeKind::Text(_) => found.push(node),
        NodeKind::List(items) => {
            for (index, item) in items.iter().enumerate() {
                collect_references(item, &location.item(index), sharable, found);
            }
        }
        NodeKind::Object(fields) => {
            for field in fields {
                collect_references(&field.value, &location.field(&field.key), sharable, found);
            }
        }
    }
}

/// Maximum number of schemas for one location, since references may form cycles.
const MAX_SCHEMAS: usize = 64;

/// The schemas that may apply to one location in a value, including targets of `$ref` and branches of `allOf`, `anyOf`
/// and `oneOf`.
#[derive(Clone, Debug)]
struct SchemaLocation<'a> {
    document: &'a Value,
    schemas: Vec<&'a Value>,
}

impl Schema {
    /// Returns the location of the whole value.
    fn location(&self) -> SchemaLocation<'_> {
        let document = self.as_value();
        SchemaLocation::new(document, vec![document])
    }
}

impl<'a> SchemaLocation<'a> {
    fn new(document: &'a Value, mut schemas: Vec<&'a Value>) -> Self {
        let mut at = 0;
        while let Some(schema) = schemas.get(at).copied() {
            at += 1;
            let target = schema
                .get("$ref")
                .and_then(Value::as_text)
                .and_then(|target| resolve_pointer(document, target.strip_prefix('#')?));
            let branches = ["allOf", "anyOf", "oneOf"]
                .into_iter()
                .filter_map(|keyword| schema.get(keyword)?.as_list())
                .flatten();
            let left = MAX_SCHEMAS.saturating_sub(schemas.len());
            schemas.extend(target.into_iter().chain(branches).take(left));
        }
        Self { document, schemas }
    }

    /// Returns the location of the field `name`.
    fn field(&self, name: &str) -> Self {
        let schemas = self.schemas.iter().filter_map(|schema| {
            schema
                .get("properties")
                .and_then(|properties| properties.get(name))
                .or_else(|| schema.get("additionalProperties"))
        });
        Self::new(self.document, schemas.collect())
    }

    /// Returns the location of the item at `index`.
    fn item(&self, index: usize) -> Self {
        let schemas = self.schemas.iter().filter_map(|schema| {
            schema
                .get("prefixItems")
                .and_then(|items| items.as_list()?.get(index))
                .or_else(|| schema.get("items"))
        });
        Self::new(self.document, schemas.collect())
    }

    /// Returns true if one of the schemas sets `keyword` to `true`, false if one sets it to `false` and none to `true`,
    /// and otherwise `None`.
    fn flag(&self, keyword: &str) -> Option<bool> {
        self.schemas
            .iter()
            .filter_map(|schema| schema.get(keyword)?.as_bool())
            .max()
    }
}

//! Writes a plan in the mcp-cli dialect.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use planwright_core::plan::{Input, Read, Reference, Segment, SlotKind, Source, Step, TextPart};
use planwright_core::{Diagnostics, Place, Plan, Value};

use super::parse::REFERENCE_FORM;
use super::parse::is_foreign_metadata;
use super::reference::{self, Variable};
use super::reference::{StepLink, VariableOrigin, VariableWriters};
use crate::document::quote;
use crate::printing::{
    Feature, LossReport, ObjectBuilder, WriteReferences, dependencies, report_chain,
    report_unsupported, result_variable, write_node,
};

const SUPPORTED: &[Feature] = &[
    Feature::Name,
    Feature::Title,
    Feature::Description,
    Feature::Metadata,
    Feature::Variables,
    Feature::ListedOrder,
    Feature::DataflowOrder,
    Feature::OpenSharing,
    Feature::StepTitle,
    Feature::After,
    Feature::ResultVariable,
];

/// Writes `plan` for the executor of mcp-cli, which takes the order from `depends_on` alone and passes on as text what it cannot
/// resolve. Listed order becomes a chain of `depends_on`; a reference to a step becomes a variable and a dependency.
pub(super) fn print(plan: &Plan) -> (Option<String>, Diagnostics) {
    let mut losses = LossReport::new("mcp-cli", plan);
    losses.report_foreign_references(plan, REFERENCE_FORM);
    report_unsupported(plan, SUPPORTED, &mut losses);
    report_chain(plan, &mut losses);
    let results = result_variables(plan);
    let after = dependencies(plan);
    let links: Vec<StepLink<'_>> = plan
        .steps
        .iter()
        .enumerate()
        .map(|(position, step)| StepLink {
            index: step.id.as_str(),
            after: after[position].iter().map(|index| &**index).collect(),
            result: results[position].as_deref(),
        })
        .collect();
    let names = VariableNames {
        writers: VariableWriters::of(&links),
        results: &results,
        positions: positions(&plan.steps),
        declared: plan.inputs.iter().map(|input| &*input.name).collect(),
    };
    let mut steps = Vec::with_capacity(plan.steps.len());
    for (position, step) in plan.steps.iter().enumerate() {
        let writer = McpCliWriter {
            names: &names,
            reader: position,
        };
        let result = results[position].clone();
        steps.push(write_step(
            step,
            &after[position],
            result,
            &writer,
            &mut losses,
        ));
    }
    let root = write_plan(plan, steps, &mut losses);
    losses.finish(&root)
}

fn write_plan(plan: &Plan, steps: Vec<Value>, losses: &mut LossReport<'_>) -> Value {
    let mut root = ObjectBuilder::default();
    root.optional("id", plan.name.clone());
    // mcp-cli requires titles.
    let title = plan.title.as_ref().or(plan.name.as_ref());
    root.field("title", title.map_or("Plan", |title| &**title));
    root.optional("description", plan.description.clone());
    write_metadata(plan, &mut root, losses);
    for input in &plan.inputs {
        if input.default.as_ref().is_some_and(Value::is_null) {
            let what = format!("that the variable {} is `null`", quote(&input.name));
            losses.error_with_help(input.place, &what, "give it a value, or leave it out");
        }
    }
    if !plan.inputs.is_empty() {
        let value = |input: &Input| input.default.clone().unwrap_or_default();
        let writers = plan
            .inputs
            .iter()
            .map(|input| (Arc::clone(&input.name), value(input)));
        root.field("variables", Value::object(writers));
    }
    root.field("steps", steps);
    root.build()
}

/// Writes metadata: `tags` and `metadata` are this dialect's own fields; any other object becomes `metadata`.
fn write_metadata(plan: &Plan, root: &mut ObjectBuilder, losses: &mut LossReport<'_>) {
    let Some(fields) = plan.metadata.as_object() else {
        if !plan.metadata.is_null() {
            losses.warning(plan.place, "metadata that is not an object");
        }
        return;
    };
    let inner = fields.get("metadata").and_then(Value::as_object);
    if let Some(inner) = inner.filter(|inner| fields.len() == 1 && is_foreign_metadata(inner)) {
        losses.warning(plan.place, "metadata that holds nothing but `metadata`");
        root.field("metadata", Value::Object(Arc::new(inner.clone())));
    } else if is_foreign_metadata(fields) {
        root.field("metadata", plan.metadata.clone());
    } else {
        for (key, value) in fields {
            root.field(key, value.clone());
        }
    }
}

fn write_step(
    step: &Step,
    after: &[Arc<str>],
    result: Option<Arc<str>>,
    writer: &McpCliWriter<'_>,
    losses: &mut LossReport<'_>,
) -> Value {
    let mut object = ObjectBuilder::default();
    object.field("index", Arc::clone(step.id.text()));
    let tool = step.tool().map(|tool| &tool.text);
    object.optional("title", step.title.as_ref().or(tool).cloned());
    object.optional("tool", tool.cloned());
    object.field("args", write_node(&step.args, writer, losses));
    let after = after.iter().map(|index| Value::Text(Arc::clone(index)));
    object.field("depends_on", Value::list(after));
    object.optional("result_variable", result);
    object.build()
}

/// The variable of each step: the one that the step names, or a new one if another step refers to the step.
fn result_variables(plan: &Plan) -> Vec<Option<Arc<str>>> {
    let named = |step: &Step| result_variable(step.writes.as_ref()?).cloned();
    let mut results: Vec<Option<Arc<str>>> = plan.steps.iter().map(named).collect();
    let mut taken: HashSet<Arc<str>> = results.iter().flatten().cloned().collect();
    taken.extend(plan.inputs.iter().map(|input| Arc::clone(&input.name)));
    let wanted = steps_referred_to(plan);
    // Steps may share an id in an invalid plan; continuing the numbers keeps the search for a free name linear.
    let mut numbers: HashMap<String, usize> = HashMap::new();
    for (position, step) in plan.steps.iter().enumerate() {
        if results[position].is_some() || !wanted.contains(step.id.as_str()) {
            continue;
        }
        let id = step.id.as_str();
        let plain = if id.starts_with(|c: char| c.is_ascii_digit()) {
            format!("step_{id}")
        } else {
            id.to_owned()
        };
        let mut name: Arc<str> = plain.as_str().into();
        if taken.contains(&name) {
            let number = numbers.entry(plain.clone()).or_insert(2);
            while taken.contains(&name) {
                name = format!("{plain}_{number}").into();
                *number += 1;
            }
        }
        taken.insert(Arc::clone(&name));
        results[position] = Some(name);
    }
    results
}

fn steps_referred_to(plan: &Plan) -> HashSet<&str> {
    let mut wanted = HashSet::new();
    for step in &plan.steps {
        step.args.each_reference(&mut |reference| {
            for read in reference.reads() {
                if let Source::Step(id) = &read.source {
                    wanted.insert(id.as_str());
                }
            }
        });
    }
    wanted
}

fn positions(steps: &[Step]) -> HashMap<&str, usize> {
    let mut positions = HashMap::with_capacity(steps.len());
    for (position, step) in steps.iter().enumerate() {
        positions.entry(step.id.as_str()).or_insert(position);
    }
    positions
}

/// The meaning of variable names.
struct VariableNames<'a> {
    writers: VariableWriters<'a>,
    results: &'a [Option<Arc<str>>],
    positions: HashMap<&'a str, usize>,
    declared: HashSet<&'a str>,
}

/// A writer of the references of one step.
struct McpCliWriter<'a> {
    names: &'a VariableNames<'a>,
    reader: usize,
}

impl McpCliWriter<'_> {
    /// The variable that holds the source of `read`, and the number of path segments that its name covers. `None` if
    /// the name would be read as the result of another step.
    fn variable(&self, read: &Read) -> Option<Variable> {
        let (name, used, wanted) = match &read.source {
            Source::Step(id) => {
                let position = *self.names.positions.get(id.as_str())?;
                let name = self.names.results[position].clone()?;
                (name, 0, VariableOrigin::Step(position))
            }
            Source::Slot(SlotKind::Inputs) => match read.path.first()? {
                Segment::Key(name) => (Arc::clone(name), 1, VariableOrigin::Initial),
                Segment::Index(_) | Segment::Each => return None,
            },
            Source::Slot(SlotKind::Vars | SlotKind::State | SlotKind::Data)
            | Source::Result(_)
            | Source::Item
            | Source::Index
            | Source::Last
            | Source::ExternalValue(..) => return None,
        };
        let declared = self.names.declared.contains(&*name);
        let origin = self.names.writers.origin(&name, self.reader, declared);
        (origin == wanted).then_some(Variable { name, used })
    }
}

impl WriteReferences for McpCliWriter<'_> {
    fn write_whole(&self, reference: &Reference, losses: &mut LossReport<'_>) -> Value {
        self.write_inside(reference, losses).into()
    }

    fn write_inside(&self, reference: &Reference, losses: &mut LossReport<'_>) -> String {
        reference::write(reference, &|read| self.variable(read), losses)
    }

    fn inspect_text(&self, parts: &[TextPart], place: Place, losses: &mut LossReport<'_>) {
        if reference::has_stray_brace(parts) {
            losses.error(place, "a reference directly before `}`");
        }
        // `$$` before a marker is an escape in this reader only, not in the original system.
        let is_dollar = |pair: &[TextPart]| match pair {
            [TextPart::Literal(text), TextPart::Reference(_)] => text.ends_with('$'),
            _ => false,
        };
        if parts.windows(2).any(is_dollar) {
            losses.error(place, "a `$` right before a reference");
        }
        let what = "that a value inside of a text is written as JSON";
        let difference = "mcp-cli writes it as Python does, such as `True` or `{'a': 1}`";
        losses.difference(place, what, difference);
    }

    fn report_text(&self, text: &str, is_key: bool, place: Place, losses: &mut LossReport<'_>) {
        if !is_key && text.contains("${") {
            losses.error_with_help(place, "a literal `${`", "mcp-cli has no escape for it");
        }
    }

    fn escape_text(&self, text: &str, _before_marker: bool) -> String {
        text.to_owned()
    }
}

//! A plan as a whole: its steps, its inputs, and the output that it selects.

use std::sync::Arc;

use super::{Mode, Name, Node, OnFailure, Ordering, Reference, Sharing, SlotKind, Step};
use crate::schema::{PartPath, declares_secrets, secret_parts};
use crate::{Object, Place, PointerSegment, Sources, Value};

/// A plan as it was written. [`check`](crate::check()) turns it into a
/// [`CheckedPlan`](crate::CheckedPlan), which is the only form that runs.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    /// A short name.
    pub name: Option<Arc<str>>,
    /// A one-line title for people.
    pub title: Option<Arc<str>>,
    /// A longer description for people.
    pub description: Option<Arc<str>>,
    /// The declared inputs, given by name.
    pub inputs: Vec<Input>,
    /// Values of inputs and slots before the first step.
    pub contents: Vec<InitialValues>,
    /// Schemas that the slots should satisfy.
    pub slot_schemas: Vec<SlotSchema>,
    /// The instances that the plan runs for, each with its own slots. If empty, the plan runs once.
    pub instances: Vec<Arc<str>>,
    /// The steps, in the order in which they were written.
    pub steps: Vec<Step>,
    /// The output of the run.
    pub output: Output,
    /// The meaning of the step order.
    pub ordering: Ordering,
    /// The effect of a failure on steps that do not depend on it.
    pub on_failure: OnFailure,
    /// The parameters that may receive references.
    pub sharing: Sharing,
    /// The intended use: to be run, or only shown.
    pub mode: Mode,
    /// Data that the dialect stores beside the plan, such as a goal, a time or a model. `null` if there is none.
    pub metadata: Value,
    /// The source texts that all places of this plan refer to.
    pub sources: Sources,
    /// The source place of the plan.
    pub place: Place,
}

impl Plan {
    /// Calls `visit` with every reference of the plan's steps and output. It visits neither the references of inline plans nor the
    /// reads inside expressions.
    pub fn each_reference<'a>(&'a self, visit: &mut dyn FnMut(&'a Reference)) {
        for step in &self.steps {
            step.each_node(&mut |node, _| node.each_reference(visit));
        }
        if let Output::Value(node) = &self.output {
            node.each_reference(visit);
        }
    }

    /// Returns the first `steps` steps as a separate plan: the known part of a plan that is still being written. The result
    /// selects every output, since the selection may come later.
    #[must_use]
    pub fn beginning(&self, steps: usize) -> Self {
        let mut beginning = self.clone();
        beginning.steps.truncate(steps);
        // The selection may name steps beyond the beginning.
        beginning.output = Output::All;
        beginning
    }

    /// Returns the secret parts of `inputs`, each as a path that begins with the name of its input. A part is secret if
    /// the schema of the input, or a schema of all inputs together, declares it so at any depth.
    pub fn secret_parts(&self, inputs: &Object) -> Vec<PartPath> {
        let declared = self.inputs.iter().flat_map(|input| {
            let value = inputs.get(&input.name);
            let parts = value.map(|value| secret_parts(&input.schema, value));
            parts.into_iter().flatten().map(|mut path| {
                path.insert(0, PointerSegment::Key(Arc::clone(&input.name)));
                path
            })
        });
        let mut parts: Vec<PartPath> = declared.collect();
        let whole = Value::from(inputs.clone());
        // Some dialects declare one schema for all inputs instead of one for each.
        for schema in self.schemas_of_all_inputs() {
            parts.extend(secret_parts(schema, &whole));
        }
        parts
    }

    /// Returns true if the schema of any input declares a secret part.
    pub fn has_secret_inputs(&self) -> bool {
        let declared = self.inputs.iter().map(|input| &input.schema);
        declared
            .chain(self.schemas_of_all_inputs())
            .any(declares_secrets)
    }

    fn schemas_of_all_inputs(&self) -> impl Iterator<Item = &Value> {
        let schemas = self.slot_schemas.iter();
        schemas
            .filter(|declared| declared.kind == SlotKind::Inputs)
            .map(|declared| &declared.schema)
    }
}

impl PartialEq for Plan {
    /// Compares meaning and places; the source texts are not compared.
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
            && self.title == other.title
            && self.description == other.description
            && self.inputs == other.inputs
            && self.contents == other.contents
            && self.slot_schemas == other.slot_schemas
            && self.instances == other.instances
            && self.steps == other.steps
            && self.output == other.output
            && self.ordering == other.ordering
            && self.on_failure == other.on_failure
            && self.sharing == other.sharing
            && self.mode == other.mode
            && self.metadata == other.metadata
    }
}

/// A declared input of a plan.
#[derive(Clone, Debug, PartialEq)]
pub struct Input {
    /// The name.
    pub name: Arc<str>,
    /// The syntax that steps use to read the input.
    pub kind: InputKind,
    /// The JSON Schema that the value must fit; `null` accepts any value.
    pub schema: Value,
    /// The default value. An input without a default is required.
    pub default: Option<Value>,
    /// The source place of the declaration.
    pub place: Place,
}

/// The syntax that steps use to read an input.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum InputKind {
    /// Read as an input.
    #[default]
    Input,
    /// Read as an input and as a variable of the run.
    Variable,
}

/// Values of the inputs or slots of one kind before the first step. Entries of the same kind and
/// instance merge; later fields win.
#[derive(Clone, Debug, PartialEq)]
pub struct InitialValues {
    /// The kind of slot.
    pub kind: SlotKind,
    /// The instance that the values belong to; `None` means all instances.
    pub instance: Option<Arc<str>>,
    /// An object that holds the slots by name.
    pub value: Value,
    /// The source place of the values.
    pub place: Place,
}

/// A schema for the slots of one kind.
#[derive(Clone, Debug, PartialEq)]
pub struct SlotSchema {
    /// The kind of slot.
    pub kind: SlotKind,
    /// A JSON Schema for the object made of all slots of the kind.
    pub schema: Value,
    /// The source place of the schema.
    pub place: Place,
}

/// The output of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Output {
    /// The output of every step, by id.
    #[default]
    All,
    /// The outputs of these steps, by id, in this order.
    Steps(Vec<Name>),
    /// A computed value.
    Value(Node),
}

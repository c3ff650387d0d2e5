//! A whole plan: steps, what they are given, what is selected from them.

use std::sync::Arc;

use super::{Name, Node, SlotKind, Step};
use crate::schema::{PartPath, declares_secrets, secret_parts};
use crate::{Object, Place, PointerSegment, Sources, Value};

/// A plan as it was written. [`check`](crate::check()) makes a [`CheckedPlan`](crate::CheckedPlan) of it; only that runs.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    /// A short name.
    pub name: Option<Arc<str>>,
    /// A line for people.
    pub title: Option<Arc<str>>,
    /// More lines for people.
    pub description: Option<Arc<str>>,
    /// What the plan may be given by name.
    pub inputs: Vec<Input>,
    /// What is in the inputs and slots before the first step.
    pub contents: Vec<Content>,
    /// What the slots are meant to hold.
    pub slot_schemas: Vec<SlotSchema>,
    /// The instances that the plan runs for, each with slots of its own; once where there are none.
    pub instances: Vec<Arc<str>>,
    /// The steps, in the order in which they were written.
    pub steps: Vec<Step>,
    /// What the run gives back.
    pub output: Output,
    /// Whether the order of the steps means something.
    pub ordering: Ordering,
    /// What a failure means for the steps that do not depend on it.
    pub on_failure: OnFailure,
    /// Which parameters may receive references.
    pub sharing: Sharing,
    /// Whether the plan wants to be run or only shown.
    pub mode: Mode,
    /// What the dialect keeps beside the plan: the goal, the time, the model. `null` where there is nothing.
    pub metadata: Value,
    /// The texts that all places of this plan refer to.
    pub sources: Sources,
    /// Where the plan was written.
    pub place: Place,
}

impl Plan {
    /// The first `steps` steps, as a plan of their own: as far as this plan goes while it is being written. It selects everything,
    /// since what is selected may come later.
    #[must_use]
    pub fn beginning(&self, steps: usize) -> Self {
        let mut beginning = self.clone();
        beginning.steps.truncate(steps);
        beginning.output = Output::All;
        beginning
    }

    /// The parts of `inputs` that nobody may be shown, each by a path that begins with the name of its input: what the schema of the
    /// input, or that of all inputs together, declares secret at any depth.
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
        for schema in self.schemas_of_all_inputs() {
            parts.extend(secret_parts(schema, &whole));
        }
        parts
    }

    /// Whether a part of an input is one that nobody may be shown.
    pub fn has_secret_inputs(&self) -> bool {
        let declared = self.inputs.iter().map(|input| &input.schema);
        declared
            .chain(self.schemas_of_all_inputs())
            .any(declares_secrets)
    }

    fn schemas_of_all_inputs(&self) -> impl Iterator<Item = &Value> {
        let meant = self.slot_schemas.iter();
        meant
            .filter(|meant| meant.kind == SlotKind::Inputs)
            .map(|meant| &meant.schema)
    }
}

impl PartialEq for Plan {
    /// Plans are equal when they mean the same at the same places; the texts are not compared.
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

/// Something that the plan may be given by name.
#[derive(Clone, Debug, PartialEq)]
pub struct Input {
    /// The name.
    pub name: Arc<str>,
    /// How it is given.
    pub kind: InputKind,
    /// The JSON Schema that the value must fit; `null` where anything goes.
    pub schema: Value,
    /// The value where none is given. An input without one is required.
    pub default: Option<Value>,
    /// Where it was declared.
    pub place: Place,
}

/// How an input is read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum InputKind {
    /// As an input.
    #[default]
    Input,
    /// As an input; it also appears among the run's variables.
    Variable,
}

/// What is in the inputs or slots of one kind before the first step. Several of one kind and instance merge, later fields win.
#[derive(Clone, Debug, PartialEq)]
pub struct Content {
    /// The kind.
    pub kind: SlotKind,
    /// The instance that it belongs to; all of them where it names none.
    pub instance: Option<Arc<str>>,
    /// An object: the slots by name.
    pub value: Value,
    /// Where it was written.
    pub place: Place,
}

/// What the slots of one kind are meant to hold.
#[derive(Clone, Debug, PartialEq)]
pub struct SlotSchema {
    /// The kind.
    pub kind: SlotKind,
    /// A JSON Schema of the object that all slots of the kind make.
    pub schema: Value,
    /// Where it was written.
    pub place: Place,
}

/// What a run gives back.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Output {
    /// Every step's output, by id.
    #[default]
    All,
    /// The outputs of these steps, by id, in this order.
    Steps(Vec<Name>),
    /// This value.
    Value(Node),
}

/// Whether the order of the steps means something.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ordering {
    /// No: a step starts as soon as its own dependencies are done.
    #[default]
    Dataflow,
    /// Yes: one after the other.
    Listed,
}

/// What a failure means for the steps that do not depend on it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnFailure {
    /// They go on.
    #[default]
    KeepGoing,
    /// Nothing new starts.
    Stop,
}

/// Which parameters may receive references.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sharing {
    /// All.
    #[default]
    Open,
    /// Only those that the tool marks with `x-sharable`.
    MarkedOnly,
}

/// What a plan wants.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// To be run.
    #[default]
    Run,
    /// To be checked and shown.
    Show,
}

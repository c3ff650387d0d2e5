//! What is in the inputs and slots before the first step, by name.

use std::collections::HashMap;

use indexmap::IndexSet;

use super::survey::Survey;
use crate::plan::{Input, InputKind, SlotKind};
use crate::schema::Type;
use crate::{Schema, Value};

/// What is known about inputs and slots before the first step.
pub(super) struct Contents<'a> {
    survey: &'a Survey<'a>,
    inputs: HashMap<&'a str, (&'a Input, Schema)>,
    values: HashMap<(SlotKind, &'a str), Vec<&'a Value>>,
}

impl<'a> Contents<'a> {
    pub(super) fn of(survey: &'a Survey<'a>) -> Self {
        let inputs = survey
            .plan
            .inputs
            .iter()
            .map(|input| {
                let schema = Schema::from_value(input.schema.clone());
                (&*input.name, (input, schema))
            })
            .collect();
        let mut values: HashMap<(SlotKind, &str), Vec<&Value>> = HashMap::new();
        for content in &survey.plan.contents {
            for (name, value) in content.value.as_object().into_iter().flatten() {
                values.entry((content.kind, name)).or_default().push(value);
            }
        }
        Self {
            survey,
            inputs,
            values,
        }
    }

    /// The declared input `name` and its schema.
    pub(super) fn input(&self, name: &str) -> Option<(&'a Input, &Schema)> {
        self.inputs
            .get(name)
            .map(|(input, schema)| (*input, schema))
    }

    /// What is in the slot before the first step; nothing where it is empty.
    pub(super) fn initial(&self, kind: SlotKind, name: &str) -> Option<Type> {
        if self.survey.role.shares(kind) || self.takes_any_argument(kind) {
            return Some(Type::Any);
        }
        let mut shapes: Vec<Type> = self
            .values
            .get(&(kind, name))
            .into_iter()
            .flatten()
            .map(|value| Type::Literal((*value).clone()))
            .collect();
        shapes.extend(self.outside(kind, name));
        (!shapes.is_empty()).then(|| Type::union(shapes))
    }

    /// The names of the slots of `kind` that are filled before the first step.
    pub(super) fn names(&self, kind: SlotKind) -> IndexSet<&'a str> {
        let inputs = self.survey.plan.inputs.iter();
        let inputs = inputs
            .filter(|input| is_in(input, kind))
            .map(|input| &*input.name);
        let contents = self.survey.plan.contents.iter();
        let contents = contents
            .filter(|content| content.kind == kind)
            .filter_map(|content| content.value.as_object())
            .flat_map(|fields| fields.keys().map(|name| &**name));
        let given = matches!(kind, SlotKind::Inputs | SlotKind::Vars);
        let given = given
            .then(|| self.survey.given.keys().map(|name| &**name))
            .into_iter()
            .flatten();
        inputs.chain(contents).chain(given).collect()
    }

    /// A plan that runs as a step and declares nothing takes whatever it is called with.
    fn takes_any_argument(&self, kind: SlotKind) -> bool {
        !self.survey.role.is_main()
            && self.inputs.is_empty()
            && matches!(kind, SlotKind::Inputs | SlotKind::Vars)
    }

    /// What a caller gives, or a declared input stands for.
    fn outside(&self, kind: SlotKind, name: &str) -> Option<Type> {
        if !matches!(kind, SlotKind::Inputs | SlotKind::Vars) {
            return None;
        }
        let declared = self.input(name);
        if declared.is_some_and(|(input, _)| !is_in(input, kind)) {
            return None;
        }
        if let Some(value) = self.survey.given.get(name) {
            return Some(Type::Literal(value.clone()));
        }
        let (input, schema) = declared?;
        match (&input.default, self.survey.role.is_main()) {
            (Some(default), true) => Some(Type::Literal(default.clone())),
            _ => Some(schema.structure().clone()),
        }
    }
}

/// Whether `input` is read as one of `kind`.
fn is_in(input: &Input, kind: SlotKind) -> bool {
    kind == SlotKind::Inputs || (kind == SlotKind::Vars && input.kind == InputKind::Variable)
}

//! The texts in labelled values, which decide whether the reader of an output is exposed.

use std::collections::HashSet;

use super::{LabelStore, Labels, LabelsId};
use crate::Hashing;
use crate::flow::graph::NodeId;
use crate::schema::{Additional, Type};

/// The parts of a value that may be texts.
#[derive(Default)]
pub(in crate::flow) struct ValueTexts {
    /// The labels of the parts, apart from outputs of tools.
    pub(in crate::flow) computed: Vec<NodeId>,
    outputs: Vec<LabelsId>,
    /// True if an output of a tool may be an untrusted text.
    pub(in crate::flow) has_untrusted_output: bool,
}

impl LabelStore<'_> {
    /// Returns the label of a text that has `values` as parts, one after another.
    pub(in crate::flow) fn text_of(&mut self, values: &[LabelsId]) -> LabelsId {
        let text = self.computed_from(values);
        let parts = self.range_of(values);
        self.text_parts.push((text, parts));
        text
    }

    /// Returns the parts of a text, if it is known to be made of nothing else.
    fn parts_of_text(&self, text: LabelsId) -> Option<&[LabelsId]> {
        let found = self
            .text_parts
            .binary_search_by_key(&text, |(text, _)| *text);
        let (_, parts) = self.text_parts.get(found.ok()?)?;
        Some(self.alternatives_in(*parts))
    }

    /// Returns the joined label of texts; `None` if there are none.
    pub(in crate::flow) fn join_texts(&mut self, texts: &ValueTexts) -> Option<NodeId> {
        let computed = texts.computed.iter().copied();
        let outputs =
            (!texts.outputs.is_empty()).then(|| self.join_values(texts.outputs.iter().copied()));
        let mut all = computed.chain(outputs).peekable();
        all.peek()?;
        Some(self.graph.join(all))
    }

    /// Returns all parts of a value that may be texts. A number in a text is none.
    pub(in crate::flow) fn texts(&self, id: LabelsId) -> ValueTexts {
        let mut texts = ValueTexts::default();
        let mut seen: HashSet<LabelsId, Hashing> = HashSet::default();
        let mut open = vec![id];
        while let Some(id) = open.pop() {
            if !seen.insert(id) {
                continue;
            }
            match self.get(id) {
                Labels::Output(output) => {
                    let called = self.called(output);
                    if called.is_none_or(|called| called.may_contain_text(output.part)) {
                        texts.outputs.push(id);
                        texts.has_untrusted_output |=
                            called.is_none_or(|called| called.may_be_untrusted_text(output.part));
                    }
                }
                Labels::Object(fields, _) => {
                    open.extend(self.fields_in(fields).iter().map(|(_, field)| *field));
                }
                Labels::AnyOf(values) => open.extend(self.alternatives_in(values)),
                Labels::List(value)
                | Labels::With(value, _)
                | Labels::Distinct(value, _)
                | Labels::Counted(value, _)
                | Labels::Sized(value, _)
                | Labels::Passed(value, _) => {
                    open.push(value);
                }
                Labels::Open(value, node) => match self.open.value(value) {
                    Some(value) => open.push(value),
                    None => texts.computed.push(node),
                },
                Labels::Typed(shape, _) if !may_contain_text(self.shape(shape)) => {}
                Labels::Scalar(node) => match self.parts_of_text(id) {
                    Some(parts) => open.extend(parts),
                    None => texts.computed.push(node),
                },
                Labels::Whole(node) | Labels::Typed(_, node) => texts.computed.push(node),
                Labels::Number(_) => {}
            }
        }
        texts
    }
}

/// Returns true if a value of the type `shape` may be a text, or contain one. Constants of the schema do not count: no
/// stranger chooses them.
fn may_contain_text(shape: &Type) -> bool {
    shape.members().iter().any(|member| match member {
        Type::Any | Type::Text => true,
        Type::List(list) => may_contain_text(&list.any_item()),
        Type::Object(object) => {
            object.additional != Additional::Closed
                || object
                    .properties
                    .values()
                    .any(|property| may_contain_text(&property.shape))
        }
        Type::Never
        | Type::Null
        | Type::Boolean
        | Type::Integer
        | Type::Number
        | Type::Literal(_)
        | Type::Union(_) => false,
    })
}

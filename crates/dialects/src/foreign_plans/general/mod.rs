//! Plans of unknown systems: calls anywhere in a value, with names, conditions, loops and references in the words that most systems
//! share.
//!
//! A translation lists the parts that it leaves out, so that it never passes for complete.

mod forms;
mod lower;
mod read;
mod references;
mod tool;
mod words;

use std::sync::Arc;

use planwright_core::Value;

use self::lower::Lowering;
use self::read::Reader;
use self::words::Meaning;
use super::Translation;

/// The maximum nesting of a value that is searched for calls.
const MAX_LEVELS: usize = 24;

/// The maximum size of such a value, in bytes.
const MAX_BYTES: usize = 128 * 1024;

/// The translation of the calls in `value`; `None` if it has none.
pub(super) fn translation(value: &Value) -> Option<Translation> {
    if value.exceeds(MAX_LEVELS, MAX_BYTES) {
        return None;
    }
    let mut reader = Reader::default();
    let nodes = reader.nodes(value, None, 0)?;
    let mut fields: Vec<(Arc<str>, Value)> = Vec::new();
    let parts = std::mem::take(&mut reader.plan);
    let value_of = |meaning: Meaning| {
        let found = parts.iter().find(|(found, _)| *found == meaning);
        found.map(|(_, value)| value.clone())
    };
    let mut left_out = std::mem::take(&mut reader.left_out);
    let inputs = value_of(Meaning::Inputs).map(|inputs| lower::inputs(&inputs));
    let constants = value_of(Meaning::Constants).map(|constants| lower::constants(&constants));
    // References to inputs or constants in an unknown form stay text, which is reported.
    if matches!(inputs, Some(None)) {
        reader.is_uncertain = true;
        left_out.push("inputs".to_owned());
    }
    if matches!(constants, Some(None)) {
        reader.is_uncertain = true;
        left_out.push("variables".to_owned());
    }
    let (inputs, constants) = (
        inputs.flatten().unwrap_or_default(),
        constants.flatten().unwrap_or_default(),
    );
    let triggers = std::mem::take(&mut reader.triggers);
    reader.edges.retain(|(from, _)| !triggers.contains(from));
    let lowering = Lowering::new(nodes, &inputs, &constants, &reader.edges)?;
    let has_order = lowering.has_order;
    let lowered = lowering.finish(value_of(Meaning::Output));
    fields.extend(value_of(Meaning::Title).map(|name| (Arc::from("name"), name)));
    fields.extend(value_of(Meaning::Note).map(|note| (Arc::from("description"), note)));
    if !inputs.is_empty() {
        fields.push(("inputs".into(), Value::object(inputs)));
    }
    if !constants.is_empty() {
        fields.push(("vars".into(), Value::object(constants)));
    }
    // Calls in a list that say nothing about their order run as they are listed.
    if reader.is_listed && !has_order && lowered.steps.len() > 1 {
        fields.push(("ordering".into(), Value::text("listed")));
    }
    fields.push(("steps".into(), Value::list(lowered.steps)));
    fields.extend(lowered.output.map(|output| (Arc::from("output"), output)));
    left_out.sort();
    left_out.dedup();
    Some(Translation {
        form: "a plan of another system",
        plan: Value::object(fields),
        is_complete: !reader.is_uncertain,
        left_out,
    })
}

#[cfg(test)]
mod tests;

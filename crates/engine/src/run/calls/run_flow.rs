//! The state of the flow of data while the plan runs: stated labels, and the outputs that texts are from.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use planwright_core::flow::{FlowParameter, FlowReport, ValueLabels};
use planwright_core::{Hashing, Value};

/// The state of the flow of data of a run.
#[derive(Debug, Default)]
pub(in crate::run) struct RunFlow {
    /// The report of the plan with the stated labels; `None` if there are none.
    pub(super) report: Option<Box<FlowReport>>,
    /// The steps for whose outputs servers have stated labels.
    pub(super) stated: Vec<(Arc<str>, ValueLabels)>,
    /// The steps whose outputs violate their schemas, so that they may contain texts that the analysis does not know.
    pub(super) unfitting: Vec<Arc<str>>,
    pub(super) sources: TextSources,
}

/// The outputs that texts are from, by the address of each text.
#[derive(Debug, Default)]
pub(super) struct TextSources {
    texts: HashMap<usize, TextSource, Hashing>,
    /// The texts that also have another source, such as inputs that a function returns.
    shared: HashSet<usize, Hashing>,
    fields: Vec<FieldPath>,
    field_ids: HashMap<(u32, Arc<str>), u32, Hashing>,
}

/// The output that a text is from.
#[derive(Debug)]
struct TextSource {
    step: Arc<str>,
    field: u32,
    /// Keeps the allocation, so that no other text gets its address.
    _text: Arc<str>,
}

/// A field of an output, below another one.
#[derive(Debug)]
struct FieldPath {
    outer: u32,
    key: Arc<str>,
}

/// The id of the path of an output as a whole.
const WHOLE: u32 = 0;

fn address(text: &Arc<str>) -> usize {
    Arc::as_ptr(text).cast::<u8>().addr()
}

impl TextSources {
    /// Adds the texts of `output`, which the step at `path` has received for `args`.
    pub(super) fn add(&mut self, path: &Arc<str>, output: &Value, args: &Value) {
        // A function may return its arguments, whose texts have other sources.
        let mut received = HashSet::default();
        each_text(args, &mut |text| {
            received.insert(address(text));
        });
        self.add_part(path, WHOLE, output, &received);
    }

    fn add_part(
        &mut self,
        path: &Arc<str>,
        field: u32,
        part: &Value,
        received: &HashSet<usize, Hashing>,
    ) {
        match part {
            Value::Text(text) => {
                let at = address(text);
                // The text is both an argument and an output, so its address identifies neither source.
                if received.contains(&at) {
                    self.share(at);
                }
                // Once ambiguous, a text stays so: a later output cannot make its source certain.
                if self.shared.contains(&at) {
                    return;
                }
                let source = TextSource {
                    step: Arc::clone(path),
                    field,
                    _text: Arc::clone(text),
                };
                // A function that returns the same text again says nothing about either place.
                if self.texts.insert(at, source).is_some() {
                    self.share(at);
                }
            }
            Value::List(items) => {
                for item in items.iter() {
                    self.add_part(path, field, item, received);
                }
            }
            Value::Object(fields) => {
                for (key, value) in fields.iter() {
                    let inner = self.field(field, key);
                    self.add_part(path, inner, value, received);
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    /// Excludes the texts of arguments that are from no output, because a function that stores them may return them later.
    pub(super) fn exclude_computed(&mut self, args: &Value) {
        each_text(args, &mut |text| {
            let at = address(text);
            if !self.texts.contains_key(&at) {
                self.shared.insert(at);
            }
        });
    }

    /// Adds texts that are not outputs, such as the inputs of the run.
    pub(super) fn exclude(&mut self, value: &Value) {
        each_text(value, &mut |text| self.share(address(text)));
    }

    fn share(&mut self, at: usize) {
        self.texts.remove(&at);
        self.shared.insert(at);
    }

    fn field(&mut self, outer: u32, key: &Arc<str>) -> u32 {
        // Paths are shared by number, because lists of records repeat the same fields thousands of times.
        if let Some(known) = self.field_ids.get(&(outer, Arc::clone(key))) {
            return *known;
        }
        self.fields.push(FieldPath {
            outer,
            key: Arc::clone(key),
        });
        let id = u32::try_from(self.fields.len()).unwrap_or(u32::MAX);
        self.field_ids.insert((outer, Arc::clone(key)), id);
        id
    }

    /// Returns the path of a field, with dots.
    fn field_text(&self, mut field: u32) -> String {
        let mut keys: Vec<&str> = Vec::new();
        while let Some(path) = (field as usize)
            .checked_sub(1)
            .and_then(|index| self.fields.get(index))
        {
            keys.push(&path.key);
            field = path.outer;
        }
        keys.reverse();
        keys.join(".")
    }

    /// Returns the first source of a text in `value` that the analysis has not named for `parameter`.
    pub(super) fn unnamed(&self, value: &Value, parameter: &FlowParameter) -> Option<String> {
        let mut found = None;
        each_text(value, &mut |text| {
            if found.is_some() {
                return;
            }
            let Some(source) = self.texts.get(&address(text)) else {
                return;
            };
            let field = self.field_text(source.field);
            if !parameter.sources().may_include_field(&source.step, &field) {
                found = Some(match field.as_str() {
                    "" => source.step.to_string(),
                    field => format!("{}.{field}", source.step),
                });
            }
        });
        found
    }
}

/// Calls `visit` for every text in `value`. Values of a run are not nested too deeply for it.
fn each_text(value: &Value, visit: &mut dyn FnMut(&Arc<str>)) {
    match value {
        Value::Text(text) => visit(text),
        Value::List(items) => items.iter().for_each(|item| each_text(item, visit)),
        Value::Object(fields) => fields.values().for_each(|field| each_text(field, visit)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

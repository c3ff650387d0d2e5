//! A JSON Schema: its text, its structural type, its validator.

use std::fmt;
use std::sync::{Arc, OnceLock};

use jsonschema::{PatternOptions, Validator};

use super::cost::SchemaCost;
use super::fault::SecretParts;
use super::instance::{InstanceNode, ValidationBudget, ValueJson};
use super::type_reader::InferredType;
use super::{Placeholders, SchemaFault, Type, fast_accept, fault, type_reader};
use crate::Value;
use crate::expression::PatternBudget;

/// The most that one compiled pattern may take, in bytes.
const PATTERN_SIZE_LIMIT: usize = 1 << 20;

/// The most bytes of a pattern: before it is known how much it takes when it is compiled, it was read, and a few letters may
/// stand for thousands of ranges of characters.
const MAX_PATTERN_BYTES: usize = 1 << 14;

/// How often a pattern that needs backtracking may go back before it is given up.
const BACKTRACK_LIMIT: usize = 10_000;

/// A JSON Schema (2020-12 where it does not say otherwise), read once. Cloning it is cheap, and
/// clones share what was read.
#[derive(Clone)]
pub struct Schema(Arc<SchemaData>);

struct SchemaData {
    text: Value,
    inferred: OnceLock<InferredType>,
    compiled: OnceLock<Result<CompiledSchema, String>>,
}

/// What values are held against.
struct CompiledSchema {
    validator: Validator<ValueJson>,
    cost: SchemaCost,
}

impl Schema {
    /// The schema that any value fits.
    pub fn any() -> Self {
        static ANY: OnceLock<Schema> = OnceLock::new();
        ANY.get_or_init(|| Self::from_value(Value::empty_object()))
            .clone()
    }

    /// Takes `text` as a schema; `null` stands for one that any value fits. Nothing is read
    /// before it is needed, and nothing is ever fetched: a reference out of `text` makes the
    /// schema malformed.
    pub fn from_value(text: Value) -> Self {
        let text = if text.is_null() {
            Value::empty_object()
        } else {
            text
        };
        Self(Arc::new(SchemaData {
            text,
            inferred: OnceLock::new(),
            compiled: OnceLock::new(),
        }))
    }

    /// The schema as JSON.
    pub fn as_value(&self) -> &Value {
        &self.0.text
    }

    /// Whether the schema says nothing, so that any value fits.
    pub fn is_any(&self) -> bool {
        match &self.0.text {
            Value::Bool(anything) => *anything,
            Value::Object(fields) => fields.is_empty(),
            _ => false,
        }
    }

    /// What values that fit look like, as far as that can be said ahead: never narrower than the
    /// schema, and [`Type::Any`] for a malformed one.
    pub fn structure(&self) -> &Type {
        &self.inferred().structure
    }

    /// Whether something in the schema was not understood, so that it may be malformed. Where
    /// nothing was, a pattern may still be.
    pub(crate) fn is_incomplete(&self) -> bool {
        self.inferred().is_incomplete
    }

    /// Whether `value` fits beyond doubt, whatever stands in its `placeholders`. Cheap; `false` says nothing.
    pub(crate) fn definitely_accepts(&self, value: &Value, placeholders: &Placeholders) -> bool {
        fast_accept::accepts(&self.0.text, value, placeholders)
    }

    /// The type of the field `name` of objects that fit; nothing where they have no such field.
    pub fn property(&self, name: &str) -> Option<Type> {
        self.structure().property(name)
    }

    /// What makes the schema malformed, in a few words; nothing where it is sound.
    pub fn malformed(&self) -> Option<&str> {
        self.compiled().err()
    }

    /// Takes what compiling the patterns in it costs from `budget`.
    ///
    /// # Errors
    ///
    /// What makes one of them too costly, where that is more than is left.
    pub(crate) fn spend_patterns(&self, budget: &mut PatternBudget) -> Result<(), String> {
        spend(&self.0.text, budget)
    }

    /// Every way in which `value` does not fit; none for a malformed schema. `value` is not copied. Where it takes too long to
    /// find out, that is the only fault.
    pub fn validate(&self, value: &Value) -> Vec<SchemaFault> {
        if self.definitely_accepts(value, &Placeholders::none()) {
            return Vec::new();
        }
        match self.compiled() {
            Ok(compiled) => match compiled.accepts(value) {
                Some(true) => Vec::new(),
                Some(false) => fault::faults(
                    &compiled.validator,
                    value,
                    compiled.cost,
                    &SecretParts::of(&self.0.text, value),
                ),
                None => vec![fault::too_long(
                    value,
                    &SecretParts::of(&self.0.text, value),
                )],
            },
            Err(_) => Vec::new(),
        }
    }

    /// Whether `value` fits; a malformed schema takes anything. Where it takes too long to find out, it does not.
    pub fn is_valid(&self, value: &Value) -> bool {
        self.definitely_accepts(value, &Placeholders::none())
            || match self.compiled() {
                Ok(compiled) => compiled.accepts(value) == Some(true),
                Err(_) => true,
            }
    }

    fn inferred(&self) -> &InferredType {
        self.0
            .inferred
            .get_or_init(|| type_reader::infer_type(&self.0.text))
    }

    fn compiled(&self) -> Result<&CompiledSchema, &str> {
        self.0
            .compiled
            .get_or_init(|| compile(&self.0.text))
            .as_ref()
            .map_err(String::as_str)
    }
}

impl CompiledSchema {
    /// Whether `value` fits; nothing where it takes too long to find out.
    fn accepts(&self, value: &Value) -> Option<bool> {
        let budget = ValidationBudget::new(value, self.cost);
        let accepts = self.validator.is_valid(InstanceNode::at(value, &budget));
        (!budget.is_spent()).then_some(accepts)
    }
}

impl Default for Schema {
    fn default() -> Self {
        Self::any()
    }
}

impl PartialEq for Schema {
    fn eq(&self, other: &Self) -> bool {
        self.as_value() == other.as_value()
    }
}

impl fmt::Debug for Schema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Schema").field(&self.0.text).finish()
    }
}

/// Compiles `text` with an engine for patterns that is linear in the size of the value. Patterns
/// with look-around are beyond it; for them there is one that gives up after a bounded number of steps.
fn compile(text: &Value) -> Result<CompiledSchema, String> {
    let cost = SchemaCost::of(text)?;
    spend(text, &mut PatternBudget::default())?;
    let schema = serde_json::Value::from(text);
    let options = jsonschema::options_for::<ValueJson>().offline();
    let linear = PatternOptions::regex().size_limit(PATTERN_SIZE_LIMIT);
    let bounded = PatternOptions::fancy_regex()
        .size_limit(PATTERN_SIZE_LIMIT)
        .backtrack_limit(BACKTRACK_LIMIT);
    options
        .clone()
        .with_pattern_options(linear)
        .build(&schema)
        .or_else(|_| options.with_pattern_options(bounded).build(&schema))
        .map(|validator| CompiledSchema { validator, cost })
        .map_err(|error| fault::malformed(&error))
}

/// Takes what the patterns in `text` cost from `budget`.
///
/// # Errors
///
/// What makes a pattern too costly to be compiled.
fn spend(text: &Value, budget: &mut PatternBudget) -> Result<(), String> {
    match text {
        Value::List(items) => items.iter().try_for_each(|item| spend(item, budget)),
        Value::Object(fields) => fields
            .iter()
            .try_for_each(|(key, value)| match (&**key, value) {
                ("pattern", Value::Text(pattern)) => spend_pattern(pattern, budget),
                ("patternProperties", Value::Object(patterns)) => {
                    patterns.iter().try_for_each(|(pattern, schema)| {
                        spend_pattern(pattern, budget)?;
                        spend(schema, budget)
                    })
                }
                _ => spend(value, budget),
            }),
        _ => Ok(()),
    }
}

fn spend_pattern(pattern: &str, budget: &mut PatternBudget) -> Result<(), String> {
    if pattern.len() > MAX_PATTERN_BYTES {
        return Err(format!(
            "a pattern in it has more than {MAX_PATTERN_BYTES} bytes"
        ));
    }
    budget
        .spend(pattern)
        .map_err(|matter| format!("a pattern in it {matter}"))
}

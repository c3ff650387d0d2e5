//! A JSON Schema: its text, its inferred type, its validator.

use std::fmt;
use std::sync::{Arc, OnceLock};

use jsonschema::{PatternOptions, Validator};

use super::cost::SchemaCost;
use super::fast_accept::TestedValue;
use super::instance::{InstanceNode, ValidationBudget, ValueJson};
use super::lookup::part_type;
use super::secret::SecretParts;
use super::type_reader::InferredType;
use super::{SchemaViolation, Type, fast_accept, format, type_reader, violation};
use crate::Value;
use crate::expression::PatternBudget;
use crate::plan::Node;

/// Maximum size of a compiled pattern, in bytes.
const PATTERN_SIZE_LIMIT: usize = 1 << 20;

/// Maximum length of a pattern, in bytes. The limit on the compiled size applies only after parsing, and a few letters
/// may stand for thousands of character ranges.
const MAX_PATTERN_BYTES: usize = 1 << 14;

/// Maximum number of backtracking steps of a pattern that cannot be matched in linear time.
const BACKTRACK_LIMIT: usize = 10_000;

/// A JSON Schema, 2020-12 unless it declares another draft. Cloning is cheap, and clones share the parsed forms.
#[derive(Clone)]
pub struct Schema(Arc<SchemaData>);

struct SchemaData {
    text: Value,
    inferred: OnceLock<InferredType>,
    compiled: OnceLock<Result<CompiledSchema, String>>,
    /// The validator that checks formats; `None` if the schema declares none.
    with_formats: OnceLock<Option<CompiledSchema>>,
}

/// The validator and its cost.
struct CompiledSchema {
    validator: Validator<ValueJson>,
    cost: SchemaCost,
}

impl Schema {
    /// Returns the schema that accepts any value.
    pub fn any() -> Self {
        static ANY: OnceLock<Schema> = OnceLock::new();
        ANY.get_or_init(|| Self::from_value(Value::empty_object()))
            .clone()
    }

    /// Creates a schema from its JSON; `null` accepts any value. The text is parsed on first use, and references to other
    /// documents make the schema malformed, since nothing is ever fetched.
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
            with_formats: OnceLock::new(),
        }))
    }

    /// Returns the schema as JSON.
    pub fn as_value(&self) -> &Value {
        &self.0.text
    }

    /// Returns true if the schema has no rules, so that any value fits.
    pub fn is_any(&self) -> bool {
        match &self.0.text {
            Value::Bool(anything) => *anything,
            Value::Object(fields) => fields.is_empty(),
            _ => false,
        }
    }

    /// Returns the type of values that fit. It is never narrower than the schema, and [`Type::Any`] for a malformed
    /// one.
    pub fn structure(&self) -> &Type {
        &self.inferred().structure
    }

    /// Returns the type of the field at `path`, through lists. Unlike [`structure`](Self::structure), it describes fields at any
    /// depth of a recursive schema.
    pub(crate) fn part(&self, path: &[Arc<str>]) -> Type {
        part_type(&self.0.text, path)
    }

    /// Returns true if parts of the schema were not understood, so that it may be malformed. If all parts were
    /// understood, only a pattern can be malformed.
    pub(crate) fn is_incomplete(&self) -> bool {
        self.inferred().is_incomplete
    }

    /// Returns true if `value` certainly fits. This is a cheap test; false means unknown.
    fn definitely_accepts(&self, value: &Value) -> bool {
        fast_accept::accepts(&self.0.text, TestedValue::Value(value))
    }

    /// Returns true if `node` certainly fits, whatever the values of its references. This is a cheap test; false means unknown.
    pub(crate) fn definitely_accepts_node(&self, node: &Node) -> bool {
        fast_accept::accepts(&self.0.text, TestedValue::Node(node))
    }

    /// Returns the type of the field `name` of objects that fit, or `None` if they have no such field.
    pub fn property(&self, name: &str) -> Option<Type> {
        self.structure().property(name)
    }

    /// Returns the reason if the schema is malformed.
    pub fn malformed(&self) -> Option<&str> {
        self.compiled().err()
    }

    /// Spends the cost of compiling the schema's patterns from `budget`.
    ///
    /// # Errors
    ///
    /// Returns the reason if a pattern exceeds the budget.
    pub(crate) fn spend_patterns(&self, budget: &mut PatternBudget) -> Result<(), String> {
        spend(&self.0.text, budget)
    }

    /// Returns every way in which `value` does not fit; empty for a malformed schema. Does not copy `value`. If
    /// validation exceeds its budget, that is the only violation.
    pub fn validate(&self, value: &Value) -> Vec<SchemaViolation> {
        // Most values are simple, and this spares compiling the validator.
        if self.definitely_accepts(value) {
            return Vec::new();
        }
        // A malformed schema is reported once, not for each value.
        self.compiled()
            .map(|compiled| self.violations(compiled, value))
            .unwrap_or_default()
    }

    /// Returns every way in which `value`, which a person or a model wrote, does not fit. In addition to
    /// [`Self::validate`], texts must have the declared [formats](format::CHECKED).
    pub(crate) fn validate_literal(&self, value: &Value) -> Vec<SchemaViolation> {
        let with_formats = self.0.with_formats.get_or_init(|| {
            let declares = format::declares(&self.0.text);
            declares.then(|| compile(&self.0.text, true).ok()).flatten()
        });
        match with_formats {
            Some(compiled) => self.violations(compiled, value),
            None => self.validate(value),
        }
    }

    fn violations(&self, compiled: &CompiledSchema, value: &Value) -> Vec<SchemaViolation> {
        let secrets = || SecretParts::of(&self.0.text, value);
        match compiled.accepts(value) {
            Some(true) => Vec::new(),
            Some(false) => {
                violation::violations(&compiled.validator, value, compiled.cost, &secrets())
            }
            None => vec![violation::too_long(value, &secrets())],
        }
    }

    /// Returns true if `value` fits. A malformed schema accepts any value, and a validation that exceeds its budget
    /// accepts none.
    pub fn is_valid(&self, value: &Value) -> bool {
        self.definitely_accepts(value)
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
            .get_or_init(|| compile(&self.0.text, false))
            .as_ref()
            .map_err(String::as_str)
    }
}

impl CompiledSchema {
    /// Returns true if `value` fits, or `None` if validation exceeds its budget.
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

/// Compiles `text` with a pattern engine that is linear in the size of the value. Patterns with look-around need
/// backtracking, which is bounded.
fn compile(text: &Value, checks_formats: bool) -> Result<CompiledSchema, String> {
    // Both limits apply before the validator is built, because building it visits everything that they limit.
    let cost = SchemaCost::of(text)?;
    spend(text, &mut PatternBudget::default())?;
    let schema = serde_json::Value::from(text);
    // A reference to another document must neither open a file nor a connection.
    let mut options = jsonschema::options_for::<ValueJson>().offline();
    if checks_formats {
        options = format::with_format_checks(options);
    }
    let linear = PatternOptions::regex().size_limit(PATTERN_SIZE_LIMIT);
    let bounded = PatternOptions::fancy_regex()
        .size_limit(PATTERN_SIZE_LIMIT)
        .backtrack_limit(BACKTRACK_LIMIT);
    options
        .clone()
        .with_pattern_options(linear)
        .build(&schema)
        // Only patterns with look-around need the backtracking engine, so it is the second choice.
        .or_else(|_| options.with_pattern_options(bounded).build(&schema))
        .map(|validator| CompiledSchema { validator, cost })
        .map_err(|error| violation::malformed(&error))
}

/// Spends the cost of the patterns in `text` from `budget`.
///
/// # Errors
///
/// Returns the reason if a pattern exceeds the budget.
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
        .map_err(|reason| format!("a pattern in it {reason}"))
}

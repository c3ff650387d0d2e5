//! The violations of a value that does not fit its schema, in our words.

use std::fmt;
use std::sync::Arc;

use jsonschema::error::{TypeKind, ValidationErrorKind};
use jsonschema::paths::LocationSegment;
use jsonschema::{JsonType, ValidationError, Validator};

use super::cost::SchemaCost;
use super::instance::{InstanceNode, ValidationBudget, ValueJson};
use super::secret::SecretParts;
use super::shown;
use crate::place::push_pointer_segment;
use crate::{PointerSegment, Value};

/// Maximum number of `enum` values that a message names.
const MAX_OPTIONS: usize = 12;

/// Maximum number of violations of one value.
const MAX_VIOLATIONS: usize = 100;

/// Maximum number of visits while collecting all violations. Each visit may add one, which takes memory.
const MAX_VISITS_FOR_ALL: u64 = 200_000;

/// A violation of a schema by a value.
#[derive(Clone, Debug, PartialEq)]
pub struct SchemaViolation {
    /// The path to the faulty part; for a missing or unknown field, to its object.
    pub path: Vec<PointerSegment>,
    /// The kind of violation.
    pub kind: SchemaViolationKind,
    /// The fact: one lower-case clause, data in backticks.
    pub message: String,
    /// The part of the value that made this a violation, such as the discriminator of an alternative or a condition. `None`
    /// if the violation does not depend on other parts.
    pub decided_by: Option<Vec<PointerSegment>>,
}

impl fmt::Display for SchemaViolation {
    /// Writes the fact, with the place of the faulty part.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        let mut pointer = String::new();
        for segment in &self.path {
            push_pointer_segment(&mut pointer, segment);
        }
        if pointer.is_empty() {
            return Ok(());
        }
        write!(f, " at {pointer}")
    }
}

/// The kind of a violation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SchemaViolationKind {
    /// A required field is missing.
    Missing(Arc<str>),
    /// A field is unknown.
    Unknown(Arc<str>),
    /// The value at the path is invalid.
    Wrong,
}

/// A part of a value in a message.
#[derive(Clone, Copy, Debug)]
enum Quote<'v> {
    Shown(&'v Value),
    Hidden,
}

impl fmt::Display for Quote<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Shown(value) => write!(f, "`{}`", shown(value)),
            Self::Hidden => f.write_str("the value, which is secret and not shown,"),
        }
    }
}

/// Describes why a schema is malformed.
pub(super) fn malformed(error: &ValidationError<'_>) -> String {
    let path = error.instance_path().as_str();
    let part = shown_serde(error.instance());
    match error.kind() {
        ValidationErrorKind::Referencing(_) => {
            "a `$ref` leads outside the schema, or to a part that does not exist".to_owned()
        }
        ValidationErrorKind::Format { format } => {
            format!("`{part}` at `{path}` is not a valid {format}")
        }
        _ if path.is_empty() => format!("`{part}` is not a schema"),
        _ => format!("`{part}` is not allowed at `{path}`"),
    }
}

/// Returns every violation of `value`, or only the first one if collecting all exceeds the budget.
pub(super) fn violations(
    validator: &Validator<ValueJson>,
    value: &Value,
    cost: SchemaCost,
    secrets: &SecretParts,
) -> Vec<SchemaViolation> {
    let mut violations = Vec::new();
    let budget = ValidationBudget::small(MAX_VISITS_FOR_ALL, cost);
    for error in validator.iter_errors(InstanceNode::at(value, &budget)) {
        add(&mut violations, &error, value, None, secrets);
        if violations.len() >= MAX_VIOLATIONS {
            break;
        }
    }
    // A spent budget makes the errors meaningless: they are about a value that looks cut.
    if !budget.is_spent() {
        return violations;
    }
    // The validator stops at the first error, which needs far fewer visits than all of them.
    violations.clear();
    let budget = ValidationBudget::new(value, cost);
    let first = validator.validate(InstanceNode::at(value, &budget));
    if let (Err(error), false) = (&first, budget.is_spent()) {
        add(&mut violations, error, value, None, secrets);
        return violations;
    }
    vec![too_long(value, secrets)]
}

/// Returns the violation of a value whose validation exceeds the budget.
pub(super) fn too_long(value: &Value, secrets: &SecretParts) -> SchemaViolation {
    let quote = if secrets.overlaps(&[]) {
        Quote::Hidden
    } else {
        Quote::Shown(value)
    };
    SchemaViolation {
        path: Vec::new(),
        kind: SchemaViolationKind::Wrong,
        message: format!("it takes too long to find out whether {quote} fits"),
        decided_by: None,
    }
}

fn add(
    violations: &mut Vec<SchemaViolation>,
    error: &ValidationError<'_>,
    root: &Value,
    decided_by: Option<&[PointerSegment]>,
    secrets: &SecretParts,
) {
    let (path, at) = locate(error, root);
    let quote = if secrets.overlaps(&path) {
        Quote::Hidden
    } else {
        Quote::Shown(at)
    };
    let secret = secrets.containing(&path);
    // A conditional violation may depend on any other part, so the whole value decided it.
    let decided_by = decided_by.or_else(|| is_conditional(error).then_some(&[]));
    let mut push = |kind: SchemaViolationKind, message: String| {
        // One error may be about any number of fields.
        if violations.len() >= MAX_VIOLATIONS {
            return;
        }
        violations.push(SchemaViolation {
            path: secret.unwrap_or(&path).to_vec(),
            kind,
            message,
            decided_by: decided_by.map(<[PointerSegment]>::to_vec),
        });
    };
    match error.kind() {
        ValidationErrorKind::Required { property } => {
            let name: Arc<str> = property.as_str().unwrap_or_default().into();
            push(
                SchemaViolationKind::Missing(Arc::clone(&name)),
                format!("the field `{name}` is missing"),
            );
        }
        // Field names inside a secret are secret as well.
        ValidationErrorKind::AdditionalProperties { .. }
        | ValidationErrorKind::UnevaluatedProperties { .. }
            if secret.is_some() =>
        {
            push(
                SchemaViolationKind::Wrong,
                format!("{quote} has a field that is not known"),
            );
        }
        ValidationErrorKind::FalseSchema if closes_object(error) && secret.is_some() => {
            push(
                SchemaViolationKind::Wrong,
                format!("{quote} has a field that is not known"),
            );
        }
        ValidationErrorKind::AdditionalProperties { unexpected }
        | ValidationErrorKind::UnevaluatedProperties { unexpected } => {
            for name in unexpected.iter().take(MAX_VIOLATIONS) {
                let name: Arc<str> = name.as_str().into();
                push(
                    SchemaViolationKind::Unknown(Arc::clone(&name)),
                    format!("the field `{name}` is not known"),
                );
            }
        }
        // A schema that describes no field reports its fields as `FalseSchema`.
        ValidationErrorKind::FalseSchema if closes_object(error) && at.as_object().is_some() => {
            let names = at.as_object().into_iter().flat_map(crate::Object::keys);
            for name in names.take(MAX_VIOLATIONS) {
                push(
                    SchemaViolationKind::Unknown(Arc::clone(name)),
                    format!("the field `{name}` is not known"),
                );
            }
        }
        ValidationErrorKind::AnyOf { context } | ValidationErrorKind::OneOfNotValid { context } => {
            match intended_branch(context, root, &path) {
                Some(branch) => {
                    for error in branch {
                        add(violations, error, root, decided_by.or(Some(&path)), secrets);
                    }
                }
                None => push(
                    SchemaViolationKind::Wrong,
                    describe_alternatives(context, root, quote, &path),
                ),
            }
        }
        // A pattern that exceeded its limit says nothing about the value.
        ValidationErrorKind::BacktrackLimitExceeded { .. }
        | ValidationErrorKind::RegexEngineFailure { .. } => {}
        kind => push(SchemaViolationKind::Wrong, describe(kind, quote)),
    }
}

fn closes_object(error: &ValidationError<'_>) -> bool {
    error
        .schema_path()
        .as_str()
        .ends_with("/additionalProperties")
}

/// Returns true if the violation depends on other parts of the value.
fn is_conditional(error: &ValidationError<'_>) -> bool {
    let unevaluated = matches!(
        error.kind(),
        ValidationErrorKind::UnevaluatedProperties { .. }
            | ValidationErrorKind::UnevaluatedItems { .. }
    );
    unevaluated
        || error.evaluation_path().segments().any(|segment| {
            matches!(&segment, LocationSegment::Property(name) if *name == "then" || *name == "else")
        })
}

/// Returns the alternative that was probably intended: the only one that accepts this kind of value.
fn intended_branch<'e>(
    context: &'e [Vec<ValidationError<'static>>],
    root: &Value,
    path: &[PointerSegment],
) -> Option<&'e [ValidationError<'static>]> {
    let mut right_kind = context
        .iter()
        .filter(|errors| !errors.iter().any(|error| is_wrong_kind(error, root, path)));
    let intended = right_kind.next()?;
    right_kind.next().is_none().then_some(intended)
}

fn is_wrong_kind(error: &ValidationError<'_>, root: &Value, at: &[PointerSegment]) -> bool {
    matches!(
        error.kind(),
        ValidationErrorKind::Type { .. } | ValidationErrorKind::Constant { .. }
    ) && locate(error, root).0 == at
}

fn describe_alternatives(
    context: &[Vec<ValidationError<'static>>],
    root: &Value,
    value: Quote<'_>,
    path: &[PointerSegment],
) -> String {
    let mut kinds: Vec<&str> = Vec::new();
    for errors in context {
        for error in errors {
            if let ValidationErrorKind::Type { kind } = error.kind()
                && locate(error, root).0 == path
            {
                for word in kind_words(kind) {
                    if !kinds.contains(&word) {
                        kinds.push(word);
                    }
                }
            }
        }
    }
    // Some alternatives accept this kind of value, so the kinds alone do not explain the violation.
    if kinds.is_empty() || context.len() > kinds.len() {
        format!("{value} fits none of the alternatives")
    } else {
        wrong_kind(value, &kinds)
    }
}

fn wrong_kind(value: Quote<'_>, kinds: &[&str]) -> String {
    let kinds = kinds.join(" or ");
    match value {
        Quote::Shown(at) => format!("{value} is {}, not {kinds}", with_article(at)),
        Quote::Hidden => format!("{value} is not {kinds}"),
    }
}

fn describe(kind: &ValidationErrorKind, value: Quote<'_>) -> String {
    use ValidationErrorKind as Kind;
    match kind {
        Kind::Type { kind } => wrong_kind(value, &kind_words(kind)),
        // The allowed values would reveal much about the secret.
        Kind::Enum { .. } | Kind::Constant { .. } if matches!(value, Quote::Hidden) => {
            format!("{value} is not an allowed value")
        }
        Kind::Enum { options } => {
            let options = options.as_array().map_or(&[][..], Vec::as_slice);
            let mut named: Vec<String> = options
                .iter()
                .take(MAX_OPTIONS)
                .map(|option| format!("`{}`", shown_serde(option)))
                .collect();
            if options.len() > MAX_OPTIONS {
                named.push("…".to_owned());
            }
            format!("{value} is none of {}", named.join(", "))
        }
        Kind::Constant { expected_value } => {
            format!("{value} is not `{}`", shown_serde(expected_value))
        }
        Kind::Minimum { limit } => format!("{value} is less than `{limit}`"),
        Kind::Maximum { limit } => format!("{value} is more than `{limit}`"),
        Kind::ExclusiveMinimum { limit } => format!("{value} is not more than `{limit}`"),
        Kind::ExclusiveMaximum { limit } => format!("{value} is not less than `{limit}`"),
        Kind::MultipleOf { multiple_of } => {
            format!("{value} is not a multiple of `{multiple_of}`")
        }
        Kind::MinLength { limit } => {
            format!("{value} is shorter than {}", count(*limit, "character"))
        }
        Kind::MaxLength { limit } => {
            format!("{value} is longer than {}", count(*limit, "character"))
        }
        Kind::Pattern { pattern } => format!("{value} does not match the pattern `{pattern}`"),
        Kind::Format { format } => format!("{value} does not have the format `{format}`"),
        Kind::MinItems { limit } => format!("the list has fewer than {}", count(*limit, "item")),
        Kind::MaxItems { limit } => format!("the list has more than {}", count(*limit, "item")),
        Kind::AdditionalItems { limit } => {
            format!("the list has more than {}", count(*limit as u64, "item"))
        }
        Kind::UnevaluatedItems { .. } => "the list has items that are not allowed".to_owned(),
        Kind::UniqueItems => "the list holds an item twice".to_owned(),
        Kind::Contains => "the list lacks an item of the kind that it must hold".to_owned(),
        Kind::MinProperties { limit } => {
            format!("the object has fewer than {}", count(*limit, "field"))
        }
        Kind::MaxProperties { limit } => {
            format!("the object has more than {}", count(*limit, "field"))
        }
        Kind::PropertyNames { error } => {
            format!(
                "a field's name breaks the rule `{}`",
                error.kind().keyword()
            )
        }
        Kind::FalseSchema => "no value is allowed here".to_owned(),
        Kind::Not { .. } => format!("{value} is excluded by the schema"),
        Kind::OneOfMultipleValid { .. } => {
            format!("{value} fits more than one of the alternatives")
        }
        other => format!("{value} breaks the rule `{}`", other.keyword()),
    }
}

fn count(number: u64, noun: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {noun}{plural}")
}

fn kind_words(kind: &TypeKind) -> Vec<&'static str> {
    match kind {
        TypeKind::Single(kind) => vec![kind_word(*kind)],
        TypeKind::Multiple(kinds) => kinds.iter().map(kind_word).collect(),
    }
}

fn kind_word(kind: JsonType) -> &'static str {
    match kind {
        JsonType::Null => "null",
        JsonType::Boolean => "a boolean",
        JsonType::Integer => "an integer",
        JsonType::Number => "a number",
        JsonType::String => "text",
        JsonType::Array => "a list",
        JsonType::Object => "an object",
    }
}

fn with_article(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::Text(_) => "text",
        Value::List(_) => "a list",
        Value::Object(_) => "an object",
    }
}

fn shown_serde(value: &serde_json::Value) -> String {
    shown(&Value::from(value.clone()))
}

/// Returns the path of a violation and the part of `root` there.
fn locate<'v>(error: &ValidationError<'_>, root: &'v Value) -> (Vec<PointerSegment>, &'v Value) {
    let mut at = root;
    let mut path = Vec::new();
    for segment in error.instance_path().segments() {
        // The library reports integer field names as indices; the value shows which it is.
        let (segment, next) = match (at, segment) {
            (Value::List(items), LocationSegment::Index(index)) => {
                (PointerSegment::Index(index), items.get(index))
            }
            (_, LocationSegment::Index(index)) => {
                let key: Arc<str> = index.to_string().into();
                (PointerSegment::Key(Arc::clone(&key)), at.get(&key))
            }
            (_, LocationSegment::Property(name)) => {
                (PointerSegment::Key(name.as_ref().into()), at.get(&name))
            }
        };
        path.push(segment);
        match next {
            Some(next) => at = next,
            // The value ends here: the violation is about a missing part.
            None => break,
        }
    }
    (path, at)
}

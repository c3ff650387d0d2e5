//! In which ways a value does not fit a schema, in our words.

use std::fmt;
use std::sync::Arc;

use jsonschema::error::{TypeKind, ValidationErrorKind};
use jsonschema::paths::LocationSegment;
use jsonschema::{JsonType, ValidationError, Validator};

use super::cost::SchemaCost;
use super::instance::{InstanceNode, ValidationBudget, ValueJson};
use super::secret::{PartPath, secret_parts};
use super::shown;
use crate::{PointerSegment, Value};

/// How many values of an `enum` are named.
const MAX_OPTIONS: usize = 12;

/// How many faults of one value are told.
const MAX_FAULTS: usize = 100;

/// How often a value is looked at in order to find all of them. Each look may find one, and takes room for it.
const MAX_VISITS_FOR_ALL: u64 = 200_000;

/// One way in which a value does not fit a schema.
#[derive(Clone, Debug, PartialEq)]
pub struct SchemaFault {
    /// Where in the value; of a field that is missing or not known, the object.
    pub path: Vec<PointerSegment>,
    /// Which kind of fault it is.
    pub kind: FaultKind,
    /// What is the matter: one lower-case clause, data in backticks.
    pub message: String,
    /// The part of the value whose content decided that this is a fault: an alternative that was
    /// probably meant, a condition. Nothing where the fault stands by itself.
    pub decided_by: Option<Vec<PointerSegment>>,
}

/// Which kind of fault it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FaultKind {
    /// This required field is missing.
    Missing(Arc<str>),
    /// This field is not known.
    Unknown(Arc<str>),
    /// The value at the path is wrong.
    Wrong,
}

/// The parts of a value that no message may quote.
#[derive(Debug)]
pub(super) struct SecretParts(Vec<PartPath>);

impl SecretParts {
    /// Those that `schema` declares secret.
    pub(super) fn of(schema: &Value, value: &Value) -> Self {
        Self(secret_parts(schema, value))
    }

    /// The way to the secret that the part at `path` belongs to.
    fn containing(&self, path: &[PointerSegment]) -> Option<&[PointerSegment]> {
        let mut parts = self.0.iter();
        parts.find(|part| path.starts_with(part)).map(Vec::as_slice)
    }

    /// Whether the part at `path` is secret, or holds something that is.
    fn overlaps(&self, path: &[PointerSegment]) -> bool {
        let mut parts = self.0.iter();
        parts.any(|part| path.starts_with(part) || part.starts_with(path))
    }
}

/// A part of a value as a message names it.
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

/// What makes a schema malformed.
pub(super) fn malformed(error: &ValidationError<'_>) -> String {
    let path = error.instance_path().as_str();
    let part = shown_serde(error.instance());
    match error.kind() {
        ValidationErrorKind::Referencing(_) => {
            "a `$ref` leads out of it or to nothing in it".to_owned()
        }
        ValidationErrorKind::Format { format } => {
            format!("`{part}` at `{path}` is no valid {format}")
        }
        _ if path.is_empty() => format!("`{part}` is no schema"),
        _ => format!("`{part}` cannot stand at `{path}`"),
    }
}

/// Every way in which `value` does not fit. Where it takes too long to find them all, the first one.
pub(super) fn faults(
    validator: &Validator<ValueJson>,
    value: &Value,
    cost: SchemaCost,
    secrets: &SecretParts,
) -> Vec<SchemaFault> {
    let mut faults = Vec::new();
    let budget = ValidationBudget::small(MAX_VISITS_FOR_ALL, cost);
    for error in validator.iter_errors(InstanceNode::at(value, &budget)) {
        add(&mut faults, &error, value, None, secrets);
        if faults.len() >= MAX_FAULTS {
            break;
        }
    }
    if !budget.is_spent() {
        return faults;
    }
    faults.clear();
    let budget = ValidationBudget::new(value, cost);
    let first = validator.validate(InstanceNode::at(value, &budget));
    if let (Err(error), false) = (&first, budget.is_spent()) {
        add(&mut faults, error, value, None, secrets);
        return faults;
    }
    vec![too_long(value, secrets)]
}

/// What is said of a value that takes too long.
pub(super) fn too_long(value: &Value, secrets: &SecretParts) -> SchemaFault {
    let quote = if secrets.overlaps(&[]) {
        Quote::Hidden
    } else {
        Quote::Shown(value)
    };
    SchemaFault {
        path: Vec::new(),
        kind: FaultKind::Wrong,
        message: format!("it takes too long to find out whether {quote} fits"),
        decided_by: None,
    }
}

fn add(
    faults: &mut Vec<SchemaFault>,
    error: &ValidationError<'_>,
    root: &Value,
    decided_by: Option<&[PointerSegment]>,
    secrets: &SecretParts,
) {
    let (path, at) = located(error, root);
    let quote = if secrets.overlaps(&path) {
        Quote::Hidden
    } else {
        Quote::Shown(at)
    };
    let secret = secrets.containing(&path);
    let decided_by = decided_by.or_else(|| is_conditional(error).then_some(&[]));
    let mut push = |kind: FaultKind, message: String| {
        // One error may be about as many fields as there are.
        if faults.len() >= MAX_FAULTS {
            return;
        }
        faults.push(SchemaFault {
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
                FaultKind::Missing(Arc::clone(&name)),
                format!("the field `{name}` is missing"),
            );
        }
        // The names of its fields are a part of a secret.
        ValidationErrorKind::AdditionalProperties { .. }
        | ValidationErrorKind::UnevaluatedProperties { .. }
            if secret.is_some() =>
        {
            push(
                FaultKind::Wrong,
                format!("{quote} has a field that is not known"),
            );
        }
        ValidationErrorKind::FalseSchema if closes_object(error) && secret.is_some() => {
            push(
                FaultKind::Wrong,
                format!("{quote} has a field that is not known"),
            );
        }
        ValidationErrorKind::AdditionalProperties { unexpected }
        | ValidationErrorKind::UnevaluatedProperties { unexpected } => {
            for name in unexpected.iter().take(MAX_FAULTS) {
                let name: Arc<str> = name.as_str().into();
                push(
                    FaultKind::Unknown(Arc::clone(&name)),
                    format!("the field `{name}` is not known"),
                );
            }
        }
        // What a schema without any described field says of those that there are.
        ValidationErrorKind::FalseSchema if closes_object(error) && at.as_object().is_some() => {
            let names = at.as_object().into_iter().flat_map(crate::Object::keys);
            for name in names.take(MAX_FAULTS) {
                push(
                    FaultKind::Unknown(Arc::clone(name)),
                    format!("the field `{name}` is not known"),
                );
            }
        }
        ValidationErrorKind::AnyOf { context } | ValidationErrorKind::OneOfNotValid { context } => {
            match intended_branch(context, root, &path) {
                Some(branch) => {
                    for error in branch {
                        add(faults, error, root, decided_by.or(Some(&path)), secrets);
                    }
                }
                None => push(FaultKind::Wrong, alternatives(context, root, quote, &path)),
            }
        }
        // A pattern that gave up has said nothing about the value.
        ValidationErrorKind::BacktrackLimitExceeded { .. }
        | ValidationErrorKind::RegexEngineFailure { .. } => {}
        kind => push(FaultKind::Wrong, message(kind, quote)),
    }
}

fn closes_object(error: &ValidationError<'_>) -> bool {
    error
        .schema_path()
        .as_str()
        .ends_with("/additionalProperties")
}

/// Whether the fault is one only because of what stands elsewhere in the value.
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

/// The alternative that was probably meant: the only one whose kind of value is right.
fn intended_branch<'e>(
    context: &'e [Vec<ValidationError<'static>>],
    root: &Value,
    path: &[PointerSegment],
) -> Option<&'e [ValidationError<'static>]> {
    let mut right_kind = context
        .iter()
        .filter(|errors| !errors.iter().any(|error| is_wrong_kind(error, root, path)));
    let meant = right_kind.next()?;
    right_kind.next().is_none().then_some(meant)
}

fn is_wrong_kind(error: &ValidationError<'_>, root: &Value, at: &[PointerSegment]) -> bool {
    matches!(
        error.kind(),
        ValidationErrorKind::Type { .. } | ValidationErrorKind::Constant { .. }
    ) && located(error, root).0 == at
}

fn alternatives(
    context: &[Vec<ValidationError<'static>>],
    root: &Value,
    value: Quote<'_>,
    path: &[PointerSegment],
) -> String {
    let mut kinds: Vec<&str> = Vec::new();
    for errors in context {
        for error in errors {
            if let ValidationErrorKind::Type { kind } = error.kind()
                && located(error, root).0 == path
            {
                for word in kind_words(kind) {
                    if !kinds.contains(&word) {
                        kinds.push(word);
                    }
                }
            }
        }
    }
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

fn message(kind: &ValidationErrorKind, value: Quote<'_>) -> String {
    use ValidationErrorKind as Kind;
    match kind {
        Kind::Type { kind } => wrong_kind(value, &kind_words(kind)),
        // What a secret may be says half of what it is.
        Kind::Enum { .. } | Kind::Constant { .. } if matches!(value, Quote::Hidden) => {
            format!("{value} is none of those that are allowed")
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
            format!("{value} is no multiple of `{multiple_of}`")
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
        Kind::Not { .. } => format!("{value} is a value that is ruled out"),
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

/// The path of a fault, and the part of `root` there.
fn located<'v>(error: &ValidationError<'_>, root: &'v Value) -> (Vec<PointerSegment>, &'v Value) {
    let mut at = root;
    let mut path = Vec::new();
    for segment in error.instance_path().segments() {
        // A field whose name is a number looks like an index here; the value tells them apart.
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
            None => break,
        }
    }
    (path, at)
}

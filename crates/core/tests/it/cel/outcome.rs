//! Evaluation of one expression by us and by the `cel` crate.

use std::sync::Arc;

use cel::objects::Key;
use cel::{Context, Env, ExecutionError, extensions};
use planwright_core::expression::{EvaluationError, EvaluationLimits, Expression, parse_form};
use planwright_core::path::read_path;
use planwright_core::plan::{Alternative, Form, Source};
use planwright_core::{Number, Value};

/// The result of the `cel` crate.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum ReferenceOutcome {
    /// A value that JSON can represent.
    Value(Value),
    /// A value of a type that JSON does not have.
    Foreign(cel::Value),
    /// The evaluation failed.
    Failed(ExecutionError),
    /// The text is malformed, for these reasons.
    Malformed(String),
}

/// The names that expressions use, with their values.
#[derive(Clone, Debug)]
pub(super) struct Bindings(pub(super) Vec<(&'static str, Value)>);

impl Bindings {
    fn value(&self, name: &str) -> Option<&Value> {
        let (_, value) = self.0.iter().find(|(known, _)| *known == name)?;
        Some(value)
    }
}

/// Evaluates `text` with our implementation.
pub(super) fn ours(text: &str, bindings: &Bindings) -> Result<Value, String> {
    let form = parse_form(text).map_err(|error| format!("malformed: {error}"))?;
    resolve(&form, bindings).map_err(|error| error.to_string())
}

/// Resolves `form` as an engine does.
fn resolve(form: &Form, bindings: &Bindings) -> Result<Value, EvaluationError> {
    let Form::First(alternatives) = form else {
        panic!("`all(…)` is not for this test");
    };
    let mut last = Err(EvaluationError::Missing("nothing".into()));
    for alternative in alternatives {
        last = match alternative {
            Alternative::Literal(value) => Ok(value.clone()),
            Alternative::Read(read) => match &read.source {
                Source::Step(id) => match bindings.value(id.as_str()) {
                    Some(root) => read_path(root, &read.path, read.missing).map_err(Into::into),
                    None => Err(EvaluationError::Missing(format!("there is no `{id}`"))),
                },
                other => panic!("{other:?} is not for this test"),
            },
            Alternative::Expression(expression) => evaluate(expression, bindings),
        };
        if !matches!(last, Err(EvaluationError::Missing(_))) {
            break;
        }
    }
    last
}

fn evaluate(expression: &Expression, bindings: &Bindings) -> Result<Value, EvaluationError> {
    let values: Result<Vec<Value>, EvaluationError> = expression
        .bindings()
        .iter()
        .map(|form| resolve(form, bindings))
        .collect();
    expression.evaluate(&values?, &EvaluationLimits::default())
}

/// Returns the crate's environment, with the extensions that we implement.
pub(super) fn reference() -> Arc<Env> {
    let mut env = Env::stdlib();
    for extension in [extensions::strings, extensions::lists, extensions::math] {
        env.add_extension(extension).unwrap();
    }
    Arc::new(env)
}

/// Evaluates `text` with the crate.
pub(super) fn theirs(text: &str, bindings: &Bindings, env: &Arc<Env>) -> ReferenceOutcome {
    let program = match env.compile(text) {
        Ok(program) => program,
        Err(errors) => return ReferenceOutcome::Malformed(errors.to_string()),
    };
    let mut context = Context::with_env(Arc::clone(env));
    for (name, value) in bindings.0.iter().rev() {
        context.add_variable_from_value(*name, to_theirs(value));
    }
    match program.execute(&context) {
        Ok(value) => {
            from_theirs(&value).map_or(ReferenceOutcome::Foreign(value), ReferenceOutcome::Value)
        }
        Err(error) => ReferenceOutcome::Failed(error),
    }
}

/// Converts to the crate's types. Integers become `int`, or `uint` beyond its range.
fn to_theirs(value: &Value) -> cel::Value {
    match value {
        Value::Null => cel::Value::Null,
        Value::Bool(value) => cel::Value::Bool(*value),
        Value::Number(number) => match (number.as_i64(), number.as_u64(), number.as_f64()) {
            (Some(number), ..) => cel::Value::Int(number),
            (None, Some(number), _) => cel::Value::UInt(number),
            (None, None, number) => cel::Value::Float(number.unwrap()),
        },
        Value::Text(text) => cel::Value::String(Arc::new(text.to_string())),
        Value::List(items) => cel::Value::List(Arc::new(items.iter().map(to_theirs).collect())),
        Value::Object(fields) => {
            let fields = fields
                .iter()
                .map(|(key, value)| (Key::String(Arc::new(key.to_string())), to_theirs(value)));
            cel::Value::Map(cel::objects::Map {
                map: Arc::new(fields.collect()),
            })
        }
    }
}

/// Converts from the crate's types, if JSON can represent the value.
fn from_theirs(value: &cel::Value) -> Option<Value> {
    Some(match value {
        cel::Value::Null => Value::Null,
        cel::Value::Bool(value) => (*value).into(),
        cel::Value::Int(number) => (*number).into(),
        cel::Value::UInt(number) => (*number).into(),
        cel::Value::Float(number) => Value::Number(Number::from_f64(*number)?),
        cel::Value::String(text) => Value::text(text.as_str()),
        cel::Value::List(items) => {
            let items: Option<Vec<Value>> = items.iter().map(from_theirs).collect();
            items?.into()
        }
        cel::Value::Map(map) => {
            let fields: Option<Vec<(String, Value)>> = map
                .map
                .iter()
                .map(|(key, value)| match key {
                    Key::String(key) => Some((key.to_string(), from_theirs(value)?)),
                    _ => None,
                })
                .collect();
            let mut fields = fields?;
            fields.sort_by(|(a, _), (b, _)| a.cmp(b));
            Value::object(fields)
        }
        _ => return None,
    })
}

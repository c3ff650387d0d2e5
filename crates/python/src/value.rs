//! Values of plans as objects of Python, and back.

use planwright::Value;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};

/// The maximum depth of a value, as in plans. A list that contains itself exceeds it.
const MAX_DEPTH: usize = 128;

/// Converts a value: objects become dictionaries in the same order.
pub(crate) fn to_python<'py>(py: Python<'py>, value: &Value) -> PyResult<Bound<'py, PyAny>> {
    Ok(match value {
        Value::Null => py.None().into_bound(py),
        Value::Bool(value) => PyBool::new(py, *value).to_owned().into_any(),
        Value::Number(number) => match (number.as_i64(), number.as_u64()) {
            (Some(number), _) => PyInt::new(py, number).into_any(),
            (None, Some(number)) => PyInt::new(py, number).into_any(),
            (None, None) => PyFloat::new(py, number.as_f64().unwrap_or(f64::NAN)).into_any(),
        },
        Value::Text(text) => PyString::new(py, text).into_any(),
        Value::List(items) => {
            let list = PyList::empty(py);
            for item in items.iter() {
                list.append(to_python(py, item)?)?;
            }
            list.into_any()
        }
        Value::Object(fields) => {
            let object = PyDict::new(py);
            for (name, field) in fields.iter() {
                object.set_item(&**name, to_python(py, field)?)?;
            }
            object.into_any()
        }
    })
}

/// Converts an object of Python. One that is not JSON is first converted by `plain`, a function of Python.
///
/// # Errors
///
/// The object, or a part of it, has no counterpart in JSON.
pub(crate) fn from_python(object: &Bound<'_, PyAny>, plain: &Bound<'_, PyAny>) -> PyResult<Value> {
    convert(object, plain, 0)
}

fn convert(object: &Bound<'_, PyAny>, plain: &Bound<'_, PyAny>, depth: usize) -> PyResult<Value> {
    if depth > MAX_DEPTH {
        let message = format!("the value is nested more than {MAX_DEPTH} levels deep");
        return Err(PyValueError::new_err(message));
    }
    if object.is_none() {
        return Ok(Value::Null);
    }
    if let Ok(text) = object.cast::<PyString>() {
        return Ok(Value::from(text.to_cow()?.as_ref()));
    }
    // Booleans are integers in Python.
    if let Ok(value) = object.cast::<PyBool>() {
        return Ok(Value::from(value.is_true()));
    }
    if object.is_instance_of::<PyInt>() {
        return integer(object);
    }
    if let Ok(number) = object.cast::<PyFloat>() {
        let number = number.value();
        if !number.is_finite() {
            let message = format!("`{number}` is not a number of JSON");
            return Err(PyValueError::new_err(message));
        }
        return Ok(Value::from(number));
    }
    if let Ok(fields) = object.cast::<PyDict>() {
        let fields = fields.iter().map(|(name, field)| {
            let Ok(name) = name.cast::<PyString>() else {
                let message = format!("the key {} is not a text", name.repr()?);
                return Err(PyTypeError::new_err(message));
            };
            let name = name.to_cow()?.into_owned();
            Ok((name, convert(&field, plain, depth + 1)?))
        });
        return Ok(Value::object(fields.collect::<PyResult<Vec<_>>>()?));
    }
    let items: Vec<Bound<'_, PyAny>> = if let Ok(items) = object.cast::<PyList>() {
        items.iter().collect()
    } else if let Ok(items) = object.cast::<PyTuple>() {
        items.iter().collect()
    } else {
        return convert(&plain.call1((object,))?, plain, depth + 1);
    };
    let items = items.iter().map(|item| convert(item, plain, depth + 1));
    Ok(Value::list(items.collect::<PyResult<Vec<_>>>()?))
}

fn integer(object: &Bound<'_, PyAny>) -> PyResult<Value> {
    if let Ok(number) = object.extract::<i64>() {
        return Ok(Value::from(number));
    }
    let written = object.str()?.to_cow()?.into_owned();
    match Value::from_json(&written) {
        Ok(number) => Ok(number),
        Err(_) => Err(PyValueError::new_err(format!(
            "`{written}` has more digits than a number of a plan can have"
        ))),
    }
}

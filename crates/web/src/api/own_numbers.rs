//! Responses of which most is of Planwright itself. Its numbers are written as JavaScript writes them: the page marks each number that JavaScript
//! would change, which takes long for the ten thousands of coordinates and times of a large run. Data of plans and tools stay as they are.

use std::io::{self, Write};

use axum::http::header;
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use serde_json::ser::{CompactFormatter, Formatter, Serializer};

use crate::error::ApiError;

/// The largest whole number that JavaScript writes with all of its digits.
const MAX_WHOLE: f64 = 1e15;

/// Writes whole numbers without a fraction: `4`, not `4.0`.
struct OwnNumbers;

impl Formatter for OwnNumbers {
    fn write_f64<W: ?Sized + Write>(&mut self, writer: &mut W, value: f64) -> io::Result<()> {
        if value.fract() == 0.0 && value.abs() < MAX_WHOLE {
            // The addition makes a zero of a negative one.
            write!(writer, "{:.0}", value + 0.0)
        } else {
            CompactFormatter.write_f64(writer, value)
        }
    }
}

/// One object with the fields of `own` and those of `data`, whose numbers stay as they were written. Each has at least one field.
pub(super) fn response(own: &impl Serialize, data: &impl Serialize) -> Result<Response, ApiError> {
    let mut body = Vec::new();
    let written = own.serialize(&mut Serializer::with_formatter(&mut body, OwnNumbers));
    written.map_err(|error| ApiError::unwritable(&error))?;
    let data = serde_json::to_vec(data).map_err(|error| ApiError::unwritable(&error))?;
    body.pop();
    body.push(b',');
    body.extend(data.into_iter().skip(1));
    Ok(([(header::CONTENT_TYPE, "application/json")], body).into_response())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn whole_numbers_of_planwright_have_no_fraction() {
        let own = json!({"x": [410.0, -0.0, 0.5, -7.0, 1e15, 3]});
        let runtime = tokio::runtime::Builder::new_current_thread().build();
        let response = response(&own, &json!({"inputs": {"a": 1.0}})).unwrap();
        let body = axum::body::to_bytes(response.into_body(), usize::MAX);
        let body = runtime.unwrap().block_on(body).unwrap();
        let expected = r#"{"x":[410,0,0.5,-7,1000000000000000.0,3],"inputs":{"a":1.0}}"#;
        assert_eq!(String::from_utf8(body.to_vec()).unwrap(), expected);
    }
}

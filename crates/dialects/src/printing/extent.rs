//! Whether what is written can be read again: how deeply it is nested, and how much it is.

use planwright_core::Value;

use crate::document::Limits;

/// What of a plan goes beyond what is read.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Excess {
    pub(super) what: String,
    pub(super) way_out: &'static str,
}

/// Whether `plan` is nested no deeper, and has no more values, than is read within `limits`.
///
/// # Errors
///
/// What there is too much of.
pub(super) fn check(plan: &Value, limits: &Limits) -> Result<(), Excess> {
    let depth = limits.depth_in_force();
    let mut values = 0;
    let mut waiting = vec![(plan, 0)];
    while let Some((value, around)) = waiting.pop() {
        values += 1;
        if values > limits.values {
            return Err(too_large(&format!("{} values", limits.values)));
        }
        let is_nest = matches!(value, Value::List(_) | Value::Object(_));
        if is_nest && around >= depth {
            return Err(Excess {
                what: format!("a plan that is nested deeper than {depth} levels"),
                way_out: "let what lies deeper be an input of the run, or come from a step",
            });
        }
        match value {
            Value::List(items) => waiting.extend(items.iter().map(|item| (item, around + 1))),
            Value::Object(fields) => waiting.extend(fields.values().map(|it| (it, around + 1))),
            _ => {}
        }
    }
    Ok(())
}

/// Whether `text` is no longer than is read within `limits`.
///
/// # Errors
///
/// That it is.
pub(super) fn check_text(text: &str, limits: &Limits) -> Result<(), Excess> {
    if text.len() > limits.bytes {
        return Err(too_large(&format!("{} bytes", limits.bytes)));
    }
    Ok(())
}

fn too_large(most: &str) -> Excess {
    Excess {
        what: format!("a plan of more than {most}"),
        way_out: "split it: a step can run another plan",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::read;

    /// Whether `json` is within limits of 30 bytes, 3 levels and 5 values, for the reader as for what is written.
    #[track_caller]
    fn holds(json: &str, expected: Result<(), &str>) {
        let limits = Limits {
            bytes: 30,
            depth: 3,
            values: 5,
            ..Limits::default()
        };
        let value = Value::from_json(json).expect("JSON");
        let found = check(&value, &limits).and_then(|()| check_text(json, &limits));
        let found = found.map_err(|excess| excess.what);
        assert_eq!(found, expected.map_err(str::to_owned));
        let (_, findings) = read(json.as_bytes(), "test", 0, &limits);
        assert_eq!(findings.has_errors(), expected.is_err(), "{findings:#?}");
    }

    #[test]
    fn what_is_written_can_be_read() {
        holds(r#"{"a": [{}]}"#, Ok(()));
        holds(
            r#"{"a": [{"b": []}]}"#,
            Err("a plan that is nested deeper than 3 levels"),
        );
        holds("[[[1, 2]]]", Ok(()));
        holds("[[[1, 2, 3]]]", Err("a plan of more than 5 values"));
        holds(r#""12345678901234567890123456 8""#, Ok(()));
        holds(
            r#""12345678901234567890123456 89""#,
            Err("a plan of more than 30 bytes"),
        );
    }
}

//! JSON encoding and parsing of values, bounded in depth and exact in numbers.

use planwright_core::Value;
use serde::de::DeserializeOwned;

/// The maximum nesting of values. The engine allows outputs half as much, and arguments add some levels.
pub(super) const MAX_DEPTH: usize = 1024;
/// The maximum nesting of a text, with the levels that a body adds around its values.
const MAX_TEXT_DEPTH: usize = MAX_DEPTH + 64;
/// The maximum nesting that `serde_json` accepts by default.
const SERDE_MAX_DEPTH: usize = 127;

/// Returns the JSON of a value, or an error if it is nested too deeply.
pub(crate) fn value_json(value: &Value) -> Result<String, String> {
    value_bytes(value).map(|_| value.to_json())
}

/// Returns the length of the JSON of a value, or an error if it is nested too deeply.
pub(crate) fn value_bytes(value: &Value) -> Result<u64, String> {
    let size = value.json_size(MAX_DEPTH);
    size.map(|size| size.bytes)
        .ok_or_else(|| format!("a value is nested deeper than {MAX_DEPTH} levels"))
}

/// Parses a value.
pub(crate) fn parse_value(json: &str) -> Result<Value, String> {
    parse(json)
}

/// Parses anything.
pub(crate) fn parse<T: DeserializeOwned>(json: &str) -> Result<T, String> {
    // Few texts are deep, so the depth is measured only after the default parser has failed.
    match serde_json::from_str(json) {
        Ok(read) => Ok(read),
        Err(error) => {
            let depth = depth(json);
            if depth <= SERDE_MAX_DEPTH {
                return Err(error.to_string());
            }
            if MAX_TEXT_DEPTH < depth {
                return Err(format!("it is nested deeper than {MAX_TEXT_DEPTH} levels"));
            }
            parse_deep(json)
        }
    }
}

fn parse_deep<T: DeserializeOwned>(json: &str) -> Result<T, String> {
    let mut reader = serde_json::Deserializer::from_str(json);
    reader.disable_recursion_limit();
    let read = T::deserialize(&mut reader).map_err(|error| error.to_string())?;
    reader.end().map_err(|error| error.to_string())?;
    Ok(read)
}

/// Returns the nesting of lists and objects in a text, which need not be valid JSON.
fn depth(json: &str) -> usize {
    let (mut depth, mut deepest) = (0_usize, 0);
    let (mut in_text, mut escaped) = (false, false);
    for byte in json.bytes() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_text => escaped = true,
            b'"' => in_text = !in_text,
            b'[' | b'{' if !in_text => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b']' | b'}' if !in_text => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nested(levels: usize) -> Value {
        (0..levels).fold(Value::Null, |inner, _| Value::list([inner]))
    }

    #[test]
    fn values_come_back_as_they_are() {
        for json in [
            "null",
            "-0.0",
            "0.1",
            "1.7976931348623157e308",
            "5e-324",
            "2.2250738585072011e-308",
            "8.41",
            "18446744073709551615",
            "-9223372036854775808",
            r#"{"b":[1,1.0],"a":"\u0000\u2028"}"#,
        ] {
            let value = parse_value(json).unwrap();
            assert_eq!(parse_value(&value_json(&value).unwrap()).unwrap(), value);
        }
        for levels in [127, 128, 129, 512, MAX_DEPTH] {
            let value = nested(levels);
            assert_eq!(parse_value(&value_json(&value).unwrap()).unwrap(), value);
        }
    }

    #[test]
    fn depth_is_bounded_in_both_directions() {
        assert!(value_json(&nested(MAX_DEPTH + 1)).is_err());
        let hostile = "[".repeat(1_000_000);
        assert!(parse_value(&hostile).unwrap_err().contains("deeper"));
        let brackets = format!("\"\\\"{hostile}\"");
        assert!(parse_value(&brackets).is_ok());
        assert!(parse_value("{").unwrap_err().contains("EOF"));
        assert!(parse_value("1 1").is_err());
    }
}

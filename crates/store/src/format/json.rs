//! JSON in both directions: bounded in depth, exact in numbers.

use planwright_core::Value;
use serde::de::DeserializeOwned;

/// How deep values may be nested. An output may be half as deep, and arguments put some levels around it.
pub(super) const DEEPEST: usize = 1024;
/// What a text may be nested, with what a body has around its values.
const DEEPEST_TEXT: usize = DEEPEST + 64;
/// What the JSON reader takes of its own accord.
const SHALLOW: usize = 127;

/// The JSON of a value, which must not be nested too deeply.
pub(crate) fn value_json(value: &Value) -> Result<String, String> {
    value_bytes(value).map(|_| value.to_json())
}

/// The bytes of a value as it is written, which must not be nested too deeply.
pub(crate) fn value_bytes(value: &Value) -> Result<u64, String> {
    let size = value.written_size(DEEPEST);
    size.map(|size| size.bytes)
        .ok_or_else(|| format!("a value is nested deeper than {DEEPEST} levels"))
}

/// Reads a value.
pub(crate) fn parse_value(json: &str) -> Result<Value, String> {
    parse(json)
}

/// Reads anything.
pub(crate) fn parse<T: DeserializeOwned>(json: &str) -> Result<T, String> {
    match serde_json::from_str(json) {
        Ok(read) => Ok(read),
        Err(error) => {
            let depth = depth(json);
            if depth <= SHALLOW {
                return Err(error.to_string());
            }
            if DEEPEST_TEXT < depth {
                return Err(format!("it is nested deeper than {DEEPEST_TEXT} levels"));
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

/// How deep lists and objects are nested in a text that may be JSON.
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
        for levels in [127, 128, 129, 512, DEEPEST] {
            let value = nested(levels);
            assert_eq!(parse_value(&value_json(&value).unwrap()).unwrap(), value);
        }
    }

    #[test]
    fn depth_is_bounded_in_both_directions() {
        assert!(value_json(&nested(DEEPEST + 1)).is_err());
        let hostile = "[".repeat(1_000_000);
        assert!(parse_value(&hostile).unwrap_err().contains("deeper"));
        let brackets = format!("\"\\\"{hostile}\"");
        assert!(parse_value(&brackets).is_ok());
        assert!(parse_value("{").unwrap_err().contains("EOF"));
        assert!(parse_value("1 1").is_err());
    }
}

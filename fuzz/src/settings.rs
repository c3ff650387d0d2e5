//! Configuration files: servers and simulated tools.

use planwright_core::Value;
use planwright_engine::backend::Simulated;
use planwright_mcp::ServersConfig;

/// Parses `input` as an `mcp.json`, in an environment in which the value of every variable is its name.
///
/// # Panics
///
/// If an error has no message.
pub fn servers(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else {
        return;
    };
    match ServersConfig::parse(text, "mcp.json", &|name| Some(name.to_owned())) {
        Ok((_, warnings)) => {
            for warning in warnings {
                assert!(!warning.message.is_empty(), "{warning:?}");
            }
        }
        Err(error) => assert!(!error.message.is_empty(), "{error:?}"),
    }
}

/// Parses `input` as a script of simulated tools.
///
/// # Panics
///
/// If a script is neither accepted nor rejected with a diagnostic.
pub fn simulated(input: &[u8]) {
    let Some(script) = std::str::from_utf8(input)
        .ok()
        .and_then(|text| Value::from_json(text).ok())
    else {
        return;
    };
    if let Err(errors) = Simulated::from_script(&script) {
        assert!(!errors.is_empty());
    }
}

//! The text of a document, in JSON or YAML.

use serde_json::Value;

use super::yaml::read_yaml;

/// The reason why a text is not an OpenAPI 3 document, as one clause.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct DocumentError(pub(crate) String);

/// The version of the specification, as far as it matters for schemas.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SpecVersion {
    /// 3.0, whose schemas are a dialect of their own.
    V3_0,
    /// 3.1 and later, whose schemas are JSON Schema 2020-12.
    V3_1,
}

/// Reads the text of a document.
pub(crate) fn read_document(text: &str) -> Result<(Value, SpecVersion), DocumentError> {
    let text = text.trim_start_matches('\u{feff}');
    let is_json = text.trim_start().starts_with('{');
    let document = if is_json {
        serde_json::from_str(text)
            .map_err(|error| DocumentError(format!("the document is not JSON: {error}")))?
    } else {
        read_yaml(text)?
    };
    let version = spec_version(&document)?;
    Ok((document, version))
}

fn spec_version(document: &Value) -> Result<SpecVersion, DocumentError> {
    let written = |field: &str| match document.get(field) {
        Some(Value::String(text)) => Some(text.clone()),
        // Without quotes, YAML reads `3.1` as a number.
        Some(Value::Number(number)) => Some(number.to_string()),
        _ => None,
    };
    if let Some(version) = written("swagger") {
        return Err(DocumentError(format!(
            "the document has version {version} of Swagger, and only OpenAPI 3 is supported"
        )));
    }
    match written("openapi").as_deref() {
        Some("3.0") => Ok(SpecVersion::V3_0),
        Some(version) if version.starts_with("3.0.") => Ok(SpecVersion::V3_0),
        Some(version) if version.starts_with("3.") => Ok(SpecVersion::V3_1),
        Some(version) => Err(DocumentError(format!(
            "the document has version {version} of OpenAPI, and only 3 is supported"
        ))),
        None => Err(DocumentError(
            "the document is not OpenAPI: it has no field `openapi`".to_owned(),
        )),
    }
}

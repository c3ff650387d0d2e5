//! References within a document.

use serde_json::Value;

/// The maximum number of references that lead from one to the next.
const MAX_HOPS: usize = 32;

/// Returns the value that `reference` leads to.
///
/// # Errors
///
/// The reason, as one clause, if it leads out of the document or to nothing.
pub(crate) fn find<'d>(document: &'d Value, reference: &str) -> Result<&'d Value, String> {
    let Some(pointer) = reference.strip_prefix('#') else {
        return Err(format!("`{reference}` is in another document"));
    };
    // Names in a fragment may be percent-encoded.
    let decoded = percent_decoded(pointer);
    let found = document
        .pointer(pointer)
        .or_else(|| document.pointer(&decoded));
    found.ok_or_else(|| format!("`{reference}` is not in the document"))
}

/// Follows the references of a value that is not a schema, such as a parameter.
///
/// # Errors
///
/// The reason, as one clause, why a reference leads to nothing.
pub(crate) fn resolve<'d>(document: &'d Value, value: &'d Value) -> Result<&'d Value, String> {
    let mut value = value;
    for _ in 0..MAX_HOPS {
        match value.get("$ref").and_then(Value::as_str) {
            Some(reference) => value = find(document, reference)?,
            None => return Ok(value),
        }
    }
    Err("references lead to each other without end".to_owned())
}

fn percent_decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, others @ ..] = rest {
        let code = others.get(..2).filter(|_| *first == b'%');
        let code = code.and_then(|code| std::str::from_utf8(code).ok());
        match code.and_then(|code| u8::from_str_radix(code, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = &others[2..];
            }
            None => {
                bytes.push(*first);
                rest = others;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

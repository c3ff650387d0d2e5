//! Redaction of secrets in everything that a run reports or stores.

mod encodings;
pub(super) mod redactor;
mod reports;
mod secret_matcher;

#[cfg(test)]
mod tests;

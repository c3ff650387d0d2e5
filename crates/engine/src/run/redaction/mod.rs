//! Redaction of secrets in everything that a run reports or stores.
//!
//! Design: [Secrets are redacted in the output of a run, not in its values](https://github.com/planwright/planwright/blob/main/docs/design/secrets.md#secrets-are-redacted-in-the-output-of-a-run-not-in-its-values).

mod encodings;
pub(super) mod redactor;
mod run_reports;
mod secret_matcher;

#[cfg(test)]
mod tests;

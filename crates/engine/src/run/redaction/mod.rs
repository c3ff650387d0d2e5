//! Redaction of secrets in everything that a run reports or stores.

pub(super) mod redactor;
mod secret_matcher;

#[cfg(test)]
mod tests;

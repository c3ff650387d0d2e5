//! Limits such as `4` or `github=2`.

use std::collections::HashMap;
use std::num::NonZeroUsize;
use std::sync::Arc;

use super::error::CommandError;

/// A limit for all, and limits by name.
type Parsed = (Option<NonZeroUsize>, HashMap<Arc<str>, NonZeroUsize>);

/// Reads the values of `flag`.
pub(crate) fn parse(flag: &str, values: &[String]) -> Result<Parsed, CommandError> {
    let mut for_all = None;
    let mut named = HashMap::new();
    for value in values {
        let (name, number) = match value.rsplit_once('=') {
            Some((name, number)) => (Some(name), number),
            None => (None, value.as_str()),
        };
        let number: NonZeroUsize = number.trim().parse().map_err(|_| {
            CommandError::new(format!("`{flag} {value}` is no limit"))
                .hint("write a whole number from 1, or NAME=NUMBER")
        })?;
        match name {
            Some(name) => {
                named.insert(Arc::from(name.trim()), number);
            }
            None => for_all = Some(number),
        }
    }
    Ok((for_all, named))
}

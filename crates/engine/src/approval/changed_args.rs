//! Merging of arguments edited by a person, who sees `[redacted]` in place of each secret.

use planwright_core::place::push_pointer_segment;
use planwright_core::{Object, PointerSegment, Value};

use super::CallSubject;
use crate::run::{MASK, holds_mask};

/// The reason for refusing changed arguments: they would store or move a secret. `at` is the JSON pointer of the
/// affected part; no value is quoted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ChangedSecretError {
    /// A secret is replaced by another text, probably another secret.
    #[error("something else stands in place of the secret at `{at}`")]
    Replaced {
        /// The JSON pointer of the part.
        at: String,
    },
    /// `[redacted]` is used at a place that holds no secret.
    #[error("`{MASK}` stands at `{at}`, where the call has no secret")]
    Moved {
        /// The JSON pointer of the part.
        at: String,
    },
    /// The items of a list with a secret were changed, so the secret ones cannot be identified any more.
    #[error("the list at `{at}` holds a secret, and its items are others")]
    Items {
        /// The JSON pointer of the part.
        at: String,
    },
}

impl CallSubject {
    /// Checks arguments that a person wrote in place of the call's own. `[redacted]` is allowed only where the call
    /// itself has it, and stands for the run's secret.
    ///
    /// # Errors
    ///
    /// The reason why a change that concerns a secret is refused.
    pub fn check_changed_args(&self, changed: &Value) -> Result<(), ChangedSecretError> {
        with_secrets(changed, &self.args, &self.args).map(drop)
    }
}

/// Returns `changed` with the secrets of `own` in place of `[redacted]`, which is allowed only where `shown` has it. A
/// person who knows the secrets may also write them in full.
pub(crate) fn with_secrets(
    changed: &Value,
    shown: &Value,
    own: &Value,
) -> Result<Value, ChangedSecretError> {
    SecretMerge { path: Vec::new() }.value(changed, shown, own)
}

struct SecretMerge {
    path: Vec<PointerSegment>,
}

impl SecretMerge {
    fn value(
        &mut self,
        changed: &Value,
        shown: &Value,
        own: &Value,
    ) -> Result<Value, ChangedSecretError> {
        // Unchanged parts keep the run's own value, with its secrets.
        if changed == shown || changed == own {
            return Ok(own.clone());
        }
        if !holds_mask(shown) {
            return self.without_mask(changed);
        }
        match (changed, shown, own) {
            (Value::Object(changed), Value::Object(shown), Value::Object(own)) => {
                self.object(changed, shown, own)
            }
            (Value::List(changed), Value::List(shown), Value::List(own)) => {
                self.list(changed, shown, own)
            }
            _ => Err(ChangedSecretError::Replaced { at: self.at() }),
        }
    }

    fn object(
        &mut self,
        changed: &Object,
        shown: &Object,
        own: &Object,
    ) -> Result<Value, ChangedSecretError> {
        let mut fields = Object::default();
        for (key, field) in changed {
            self.path.push(PointerSegment::Key(key.clone()));
            // Keys are not restored, so a masked key would be sent as it stands.
            if key.contains(MASK) {
                return Err(ChangedSecretError::Moved { at: self.at() });
            }
            let merged = match (shown.get(key), own.get(key)) {
                (Some(shown), Some(own)) => self.value(field, shown, own)?,
                _ => self.without_mask(field)?,
            };
            fields.insert(key.clone(), merged);
            self.path.pop();
        }
        Ok(Value::from(fields))
    }

    fn list(
        &mut self,
        changed: &[Value],
        shown: &[Value],
        own: &[Value],
    ) -> Result<Value, ChangedSecretError> {
        // Items are matched by position, so secrets cannot be identified once the length differs.
        if changed.len() != shown.len() || shown.len() != own.len() {
            // Items without secrets may be removed or reordered, since nothing has to be restored in them.
            let is_own = |item: &Value| own.contains(item) && !holds_mask(item);
            if changed.iter().all(is_own) {
                return Ok(Value::list(changed.iter().cloned()));
            }
            return Err(ChangedSecretError::Items { at: self.at() });
        }
        let mut items = Vec::with_capacity(changed.len());
        for (index, ((item, shown), own)) in changed.iter().zip(shown).zip(own).enumerate() {
            self.path.push(PointerSegment::Index(index));
            items.push(self.value(item, shown, own)?);
            self.path.pop();
        }
        Ok(Value::from(items))
    }

    /// Returns the value unchanged if it does not contain the mask.
    fn without_mask(&self, value: &Value) -> Result<Value, ChangedSecretError> {
        if holds_mask(value) {
            return Err(ChangedSecretError::Moved { at: self.at() });
        }
        Ok(value.clone())
    }

    fn at(&self) -> String {
        let mut pointer = String::new();
        for segment in &self.path {
            push_pointer_segment(&mut pointer, segment);
        }
        if pointer.is_empty() {
            pointer.push('/');
        }
        pointer
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OWN: &str = r#"{"to": "ada", "key": "Bearer hunter2", "pin": 4711, "list": ["a", "hunter2"], "in": {"key": "hunter2", "n": 1}}"#;
    const SHOWN: &str = r#"{"to": "ada", "key": "Bearer [redacted]", "pin": "[redacted]", "list": ["a", "[redacted]"], "in": {"key": "[redacted]", "n": 1}}"#;

    #[track_caller]
    fn check(changed: &str, expected: Result<&str, &str>) {
        let json = |text: &str| Value::from_json(text).unwrap();
        let merged = with_secrets(&json(changed), &json(SHOWN), &json(OWN));
        match (merged, expected) {
            (Ok(merged), Ok(expected)) => assert_eq!(merged, json(expected)),
            (Err(error), Err(expected)) => assert_eq!(error.to_string(), expected),
            (merged, _) => panic!("{merged:?} for {changed}"),
        }
    }

    #[test]
    fn a_mask_in_its_place_is_the_secret() {
        check(SHOWN, Ok(OWN));
        check(OWN, Ok(OWN));
        check(
            r#"{"to": "eve", "key": "Bearer [redacted]", "pin": "[redacted]"}"#,
            Ok(r#"{"to": "eve", "key": "Bearer hunter2", "pin": 4711}"#),
        );
        check(
            r#"{"in": {"key": "[redacted]", "n": 2, "new": true}, "list": ["b", "[redacted]"]}"#,
            Ok(r#"{"in": {"key": "hunter2", "n": 2, "new": true}, "list": ["b", "hunter2"]}"#),
        );
        check(r#"{"list": ["hunter2"]}"#, Ok(r#"{"list": ["hunter2"]}"#));
        check("{}", Ok("{}"));
    }

    #[test]
    fn a_secret_is_neither_replaced_nor_moved() {
        let replaced = "something else stands in place of the secret at `/key`";
        check(r#"{"key": "Bearer other"}"#, Err(replaced));
        check(r#"{"key": "[redacted]"}"#, Err(replaced));
        check(r#"{"key": {"other": "x"}}"#, Err(replaced));
        check(
            r#"{"in": {"key": "other"}}"#,
            Err("something else stands in place of the secret at `/in/key`"),
        );
        check(
            r#"{"in": "other"}"#,
            Err("something else stands in place of the secret at `/in`"),
        );
        check(
            r#"{"to": "Bearer [redacted]"}"#,
            Err("`[redacted]` stands at `/to`, where the call has no secret"),
        );
        check(
            r#"{"note": ["[redacted]"]}"#,
            Err("`[redacted]` stands at `/note`, where the call has no secret"),
        );
        check(
            r#"{"list": ["[redacted]"]}"#,
            Err("the list at `/list` holds a secret, and its items are others"),
        );
    }
}

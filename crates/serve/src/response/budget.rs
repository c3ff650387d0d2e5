//! The budget of bytes for the values of one response.

use std::sync::Arc;

use planwright::format::{TRIMMED, Trim};
use planwright_core::{Object, Value};

/// The maximum size of an answer, as a multiple of the maximum size of one value.
const VALUES_PER_RESPONSE: u64 = 4;

/// The minimum number of bytes that are shown of an abbreviated value.
const MIN_SHOWN_BYTES: u64 = 64;

/// The budget of bytes for the values of one answer.
#[derive(Debug)]
pub(crate) struct ResponseBudget {
    /// The maximum number of bytes of one value.
    max_bytes: u64,
    /// The remaining bytes for all values.
    left: u64,
    /// True if a value was abbreviated.
    pub(crate) is_trimmed: bool,
}

impl ResponseBudget {
    /// Creates a budget of `max_bytes` for each value, and of a small multiple of that for all of them.
    pub(crate) fn new(max_bytes: u64) -> Self {
        Self {
            max_bytes,
            left: max_bytes.saturating_mul(VALUES_PER_RESPONSE),
            is_trimmed: false,
        }
    }

    /// Returns the fields of `values`: small ones whole, large ones abbreviated to equal shares of the remaining budget.
    pub(crate) fn fields(&mut self, values: &Value) -> Value {
        let mut shown = values.clone();
        self.is_trimmed |= Trim::to(self.max_bytes).fields(&mut shown);
        if size_of(&shown) > self.left {
            self.is_trimmed = true;
            shown = match shares(values, self.left) {
                Some(share) => {
                    let mut fields = values.clone();
                    Trim::to(share.min(self.max_bytes)).fields(&mut fields);
                    fields
                }
                None => cut(
                    values,
                    self.left
                        .clamp(MIN_SHOWN_BYTES, self.max_bytes.max(MIN_SHOWN_BYTES)),
                ),
            };
        }
        self.left = self.left.saturating_sub(size_of(&shown));
        shown
    }

    /// Returns the results of all steps, for a plan that selects none. If they exceed the budget together, large ones are replaced
    /// by their size and `address`.
    pub(crate) fn all(&mut self, values: &Value, address: impl Fn(&str) -> String) -> Value {
        let Some(fields) = values
            .as_object()
            .filter(|_| size_of(values) > self.max_bytes)
        else {
            return self.fields(values);
        };
        self.is_trimmed = true;
        let share = shares(values, self.max_bytes).unwrap_or(0);
        let named = fields.iter().map(|(step, value)| {
            let bytes = size_of(value);
            if bytes <= share {
                return (Arc::clone(step), value.clone());
            }
            let trimmed = Value::object([
                ("bytes", Value::from(bytes)),
                ("resource", Value::from(address(step))),
            ]);
            (Arc::clone(step), Value::object([(TRIMMED, trimmed)]))
        });
        let named = Value::from(named.collect::<Object>());
        self.fields(&named)
    }

    /// Returns as many of `entries` as fit into the budget, but at least one, and then the number of the others.
    pub(crate) fn list(&self, entries: Vec<Value>) -> Value {
        let mut left = self.max_bytes;
        let count = entries.len();
        let mut shown: Vec<Value> = Vec::new();
        for mut entry in entries {
            Trim::to(self.max_bytes).fields(&mut entry);
            let size = size_of(&entry);
            if size > left && !shown.is_empty() {
                break;
            }
            left = left.saturating_sub(size);
            shown.push(entry);
        }
        let more = count - shown.len();
        if more > 0 {
            let is_text = matches!(shown.first(), Some(Value::Text(_)));
            shown.push(if is_text {
                Value::from(format!("… and {more} more"))
            } else {
                Value::object([("more", Value::from(more as u64))])
            });
        }
        shown.into()
    }
}

/// Returns the maximum size of each field of `values` with which all fit into `room` bytes; `None` if that is too little to show.
fn shares(values: &Value, room: u64) -> Option<u64> {
    let fields = values.as_object()?;
    let names: u64 = fields.keys().map(|name| name.len() as u64 + 4).sum();
    let mut room = room.checked_sub(names)?;
    let mut sizes: Vec<u64> = fields.values().map(size_of).collect();
    sizes.sort_unstable();
    let mut fields_left = sizes.len() as u64;
    for size in sizes {
        let share = room / fields_left;
        if size > share {
            return (share >= MIN_SHOWN_BYTES).then_some(share);
        }
        room -= size;
        fields_left -= 1;
    }
    Some(u64::MAX)
}

/// Returns the beginning of a value as a note.
fn cut(values: &Value, limit: u64) -> Value {
    let mut whole = Value::object([("value", values.clone())]);
    Trim::to(limit).fields(&mut whole);
    whole.get("value").cloned().unwrap_or_default()
}

/// Returns the size of a value as serialized, in bytes.
fn size_of(value: &Value) -> u64 {
    let size = value.json_size(usize::MAX);
    size.map_or(u64::MAX, |size| size.bytes)
}

#[cfg(test)]
mod tests {
    use planwright_core::{Object, Value};

    use super::{ResponseBudget, size_of};

    fn fields(count: usize, bytes: usize) -> Value {
        let fields = (0..count).map(|index| (format!("f{index}").into(), "a".repeat(bytes).into()));
        Value::from(fields.collect::<Object>())
    }

    #[test]
    fn the_whole_is_bounded() {
        for (count, bytes) in [
            (200, 15_000),
            (10_000, 15),
            (100_000, 1),
            (1, 1_000_000),
            (5, 16_000),
        ] {
            let mut bounds = ResponseBudget::new(16 * 1024);
            let shown = bounds.fields(&fields(count, bytes));
            assert!(bounds.is_trimmed, "{count} of {bytes}");
            // The placeholder of a trimmed value takes some bytes, too.
            assert!(
                size_of(&shown) < 96 * 1024,
                "{count} of {bytes}: {}",
                size_of(&shown)
            );
        }
    }

    #[test]
    fn what_is_small_stays_whole() {
        let mut bounds = ResponseBudget::new(16 * 1024);
        let values = fields(4, 15_000);
        assert_eq!(bounds.fields(&values), values);
        assert!(!bounds.is_trimmed);
        let mut values = fields(200, 15_000).as_object().unwrap().clone();
        values.insert("small".into(), Value::from("here"));
        let shown = ResponseBudget::new(16 * 1024).fields(&values.into());
        assert_eq!(shown.get("small"), Some(&Value::from("here")));
    }

    #[test]
    fn unselected_results_are_named() {
        let mut values = fields(3, 20_000).as_object().unwrap().clone();
        values.insert("small".into(), Value::from(7));
        let mut bounds = ResponseBudget::new(16 * 1024);
        let shown = bounds.all(&values.into(), |step| format!("x://{step}"));
        let named = r#"{"$trimmed":{"bytes":20002,"resource":"x://f0"}}"#;
        assert_eq!(shown.get("f0").unwrap().to_json(), named);
        assert_eq!(shown.get("small"), Some(&Value::from(7)));
        assert!(bounds.is_trimmed);
    }

    #[test]
    fn lists_say_how_many_more_there_are() {
        let bounds = ResponseBudget::new(20);
        let list = |count: u64| {
            bounds.list(
                (0..count)
                    .map(|n| Value::from(format!("step {n}")))
                    .collect(),
            )
        };
        assert_eq!(list(2).to_json(), r#"["step 0","step 1"]"#);
        assert_eq!(list(9).to_json(), r#"["step 0","step 1","… and 7 more"]"#);
    }
}

//! The size of a value as JSON. It may be far larger than the value in memory, since a shared part is written in each
//! of its places.

use std::collections::HashMap;
use std::sync::Arc;

use super::{Hashing, Number, Value};

/// The size of a value as compact JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JsonSize {
    /// The bytes of the JSON, saturating at [`u64::MAX`].
    pub bytes: u64,
    /// The nesting depth of lists and objects; 0 for a scalar.
    pub levels: usize,
}

/// Maximum number of parts that are visited without a cache. Most values have fewer, and for them hashing costs more
/// than repeated visits.
const MAX_UNCACHED_PARTS: u32 = 128;

/// Maximum length of a text that is searched word by word.
const MAX_SHORT_BYTES: usize = 64;

/// Minimum length of a text that is worth caching.
const MIN_SHARED_TEXT_BYTES: usize = 64;

/// The identity of a part that several values share. It is unique while any of them is alive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SharedPart(usize);

impl Value {
    /// Returns the identity of this value if other values share its content. Scalars, short texts and empty lists and
    /// objects have none.
    pub fn shared_part(&self) -> Option<SharedPart> {
        let (holders, is_worth_it, address) = match self {
            Self::Null | Self::Bool(_) | Self::Number(_) => return None,
            Self::Text(text) => (
                Arc::strong_count(text),
                text.len() >= MIN_SHARED_TEXT_BYTES,
                Arc::as_ptr(text).cast::<u8>().addr(),
            ),
            Self::List(items) => (
                Arc::strong_count(items),
                !items.is_empty(),
                Arc::as_ptr(items).cast::<u8>().addr(),
            ),
            Self::Object(fields) => (
                Arc::strong_count(fields),
                !fields.is_empty(),
                Arc::as_ptr(fields).cast::<u8>().addr(),
            ),
        };
        // A part with a single owner is visited only once anyway.
        (is_worth_it && holders > 1).then_some(SharedPart(address))
    }

    /// Returns the size of the value as JSON, or `None` if it is nested deeper than `levels`. The time is linear in the
    /// size in memory, since shared parts are visited once.
    pub fn json_size(&self, levels: usize) -> Option<JsonSize> {
        let mut left = MAX_UNCACHED_PARTS;
        // The plain traversal suffices for most values; only a large one pays for hashing.
        match bounded_size(self, levels, &mut left) {
            BoundedSize::Size(size) => Some(size),
            BoundedSize::TooDeep => None,
            BoundedSize::Large => cached_size(self, levels, &mut Sizes::default()),
        }
    }
}

/// Minimum bytes of a part whose size is worth remembering beyond one value.
const MIN_KEPT_BYTES: u64 = 64 * 1024;

/// The sizes of large parts that many values share, so that each is measured once. It keeps these parts alive.
#[derive(Clone, Debug, Default)]
pub struct SharedSizes(HashMap<SharedPart, (Value, JsonSize), Hashing>);

impl SharedSizes {
    /// Returns the [size](Value::json_size) of `value`, or `None` if it is nested deeper than `levels`.
    pub fn size(&mut self, value: &Value, levels: usize) -> Option<JsonSize> {
        let mut left = MAX_UNCACHED_PARTS;
        match bounded_size(value, levels, &mut left) {
            BoundedSize::Size(size) => Some(size),
            BoundedSize::TooDeep => None,
            BoundedSize::Large => {
                let mut sizes = Sizes {
                    here: HashMap::default(),
                    kept: Some(&mut self.0),
                };
                cached_size(value, levels, &mut sizes)
            }
        }
    }
}

enum BoundedSize {
    Size(JsonSize),
    TooDeep,
    /// The value has more than [`MAX_UNCACHED_PARTS`] parts, or a long text.
    Large,
}

fn bounded_size(value: &Value, levels: usize, left: &mut u32) -> BoundedSize {
    let Some(rest) = left.checked_sub(1) else {
        return BoundedSize::Large;
    };
    *left = rest;
    let (own, items) = match value {
        Value::List(items) => (brackets(items.len()), Parts::Items(items.iter())),
        Value::Object(fields) => (
            brackets(fields.len()).saturating_add(names(fields.keys())),
            Parts::Fields(fields.values()),
        ),
        Value::Text(text) if text.len() as u64 >= MIN_KEPT_BYTES => return BoundedSize::Large,
        scalar => return BoundedSize::Size(scalar_size(scalar)),
    };
    let Some(inner) = levels.checked_sub(1) else {
        return BoundedSize::TooDeep;
    };
    let mut size = JsonSize {
        bytes: own,
        levels: 1,
    };
    for item in items {
        match bounded_size(item, inner, left) {
            BoundedSize::Size(part) => size.add(part),
            other => return other,
        }
    }
    BoundedSize::Size(size)
}

/// The sizes of shared parts: those of the value that is measured, and those that are kept beyond it.
#[derive(Default)]
struct Sizes<'a> {
    here: HashMap<SharedPart, JsonSize, Hashing>,
    kept: Option<&'a mut HashMap<SharedPart, (Value, JsonSize), Hashing>>,
}

impl Sizes<'_> {
    fn get(&self, part: SharedPart) -> Option<JsonSize> {
        let kept = || self.kept.as_ref()?.get(&part).map(|(_, size)| *size);
        self.here.get(&part).copied().or_else(kept)
    }

    fn insert(&mut self, part: SharedPart, value: &Value, size: JsonSize) {
        match &mut self.kept {
            // The address of a part that is kept alive stays its own.
            Some(kept) if size.bytes >= MIN_KEPT_BYTES => {
                kept.insert(part, (value.clone(), size));
            }
            _ => {
                self.here.insert(part, size);
            }
        }
    }
}

fn cached_size(value: &Value, levels: usize, sizes: &mut Sizes<'_>) -> Option<JsonSize> {
    let identity = value.shared_part();
    if let Some(known) = identity.and_then(|part| sizes.get(part)) {
        // The part may have been measured at a shallower place.
        return (known.levels <= levels).then_some(known);
    }
    let (own, items) = match value {
        Value::List(items) => (brackets(items.len()), Parts::Items(items.iter())),
        Value::Object(fields) => (
            brackets(fields.len()).saturating_add(names(fields.keys())),
            Parts::Fields(fields.values()),
        ),
        scalar => {
            let size = scalar_size(scalar);
            if let Some(part) = identity {
                sizes.insert(part, scalar, size);
            }
            return Some(size);
        }
    };
    let inner = levels.checked_sub(1)?;
    let mut size = JsonSize {
        bytes: own,
        levels: 1,
    };
    for item in items {
        size.add(cached_size(item, inner, sizes)?);
    }
    if let Some(part) = identity {
        sizes.insert(part, value, size);
    }
    Some(size)
}

impl JsonSize {
    fn add(&mut self, part: Self) {
        self.bytes = self.bytes.saturating_add(part.bytes);
        self.levels = self.levels.max(part.levels.saturating_add(1));
    }
}

/// The parts of a list or of an object.
enum Parts<'a> {
    Items(std::slice::Iter<'a, Value>),
    Fields(indexmap::map::Values<'a, Arc<str>, Value>),
}

impl<'a> Iterator for Parts<'a> {
    type Item = &'a Value;

    fn next(&mut self) -> Option<&'a Value> {
        match self {
            Self::Items(items) => items.next(),
            Self::Fields(fields) => fields.next(),
        }
    }
}

/// Returns the bytes of the brackets and commas around `parts` parts.
fn brackets(parts: usize) -> u64 {
    2_u64.saturating_add(parts.saturating_sub(1) as u64)
}

/// Returns the bytes of field names, each with its colon.
fn names<'a>(names: impl Iterator<Item = &'a Arc<str>>) -> u64 {
    names.fold(0, |sum: u64, name| {
        sum.saturating_add(text_bytes(name)).saturating_add(1)
    })
}

fn scalar_size(value: &Value) -> JsonSize {
    let bytes = match value {
        Value::Null | Value::Bool(true) => 4,
        Value::Bool(false) => 5,
        Value::Number(number) => number_bytes(number),
        Value::Text(text) => text_bytes(text),
        Value::List(_) | Value::Object(_) => 0,
    };
    JsonSize { bytes, levels: 0 }
}

fn number_bytes(number: &Number) -> u64 {
    let digits = |number: u64| u64::from(number.checked_ilog10().unwrap_or(0)) + 1;
    if let Some(whole) = number.as_u64() {
        digits(whole)
    } else if let Some(whole) = number.as_i64() {
        1 + digits(whole.unsigned_abs())
    } else {
        number.to_string().len() as u64
    }
}

/// Returns the bytes of a text with its quotes and escapes.
fn text_bytes(text: &str) -> u64 {
    // A fast path: most names and texts are short, and nothing in them is escaped.
    if is_short_and_plain(text.as_bytes()) {
        return text.len() as u64 + 2;
    }
    // Sums of single bytes, at most 32 × 5, so that the compiler adds many of them at once: texts of megabytes are measured for each
    // call that they are passed to.
    let sums = text.as_bytes().chunks(32).map(|chunk| {
        let sum = chunk.iter().map(|byte| escape(*byte));
        u64::from(sum.fold(0_u8, u8::wrapping_add))
    });
    let escapes: u64 = sums.sum();
    (text.len() as u64)
        .saturating_add(2)
        .saturating_add(escapes)
}

/// Returns true if a text of a few words certainly has no byte that is escaped.
fn is_short_and_plain(text: &[u8]) -> bool {
    let word = |bytes: &[u8; 8]| u64::from_le_bytes(*bytes);
    let half = |bytes: &[u8; 4]| u64::from(u32::from_le_bytes(*bytes));
    if text.len() > MAX_SHORT_BYTES {
        return false;
    }
    // The last word overlaps the one before it, so that no byte is left.
    if let Some(last) = text.last_chunk() {
        let (words, _) = text.as_chunks();
        return words.iter().all(|bytes| is_plain(word(bytes))) && is_plain(word(last));
    }
    match (text.first_chunk(), text.last_chunk()) {
        (Some(first), Some(last)) => is_plain(half(first) | half(last) << 32),
        _ => text.iter().all(|byte| escape(*byte) == 0),
    }
}

/// Returns true if none of the eight bytes of `word` is escaped.
fn is_plain(word: u64) -> bool {
    const ONES: u64 = u64::from_le_bytes([1; 8]);
    const HIGH: u64 = ONES << 7;
    let below = |word: u64, limit: u64| word.wrapping_sub(ONES * limit) & !word & HIGH;
    let equal = |byte: u8| below(word ^ (ONES * u64::from(byte)), 1);
    below(word, 0x20) | equal(b'"') | equal(b'\\') == 0
}

/// Returns the bytes that escaping adds to a byte.
fn escape(byte: u8) -> u8 {
    let is_short = matches!(byte, b'\n' | b'\r' | b'\t' | 0x08 | 0x0c);
    let is_mark = matches!(byte, b'"' | b'\\');
    // Without branches, as the sums need.
    u8::from(byte < 0x20) * 5 - u8::from(is_short) * 4 + u8::from(is_mark)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<u64>().prop_map(Value::from),
            any::<f64>().prop_map(Value::from),
            any::<String>().prop_map(Value::from),
            "[\\x00-\\x7f]{0,80}".prop_map(Value::from),
        ];
        leaf.prop_recursive(5, 300, 12, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..12).prop_map(Value::from),
                prop::collection::vec((any::<String>(), inner), 0..12).prop_map(Value::object),
            ]
        })
    }

    proptest! {
        #[test]
        fn the_size_is_the_length_of_the_json(value in value(), copies in 1_usize..200) {
            let expected = value.to_json().len() as u64;
            prop_assert_eq!(value.json_size(64).unwrap().bytes, expected);
            let many = Value::list(vec![value; copies]);
            let size = many.json_size(64).unwrap();
            prop_assert_eq!(size.bytes, many.to_json().len() as u64);
        }
    }

    #[test]
    fn every_byte_counts_at_every_position() {
        for length in 1..=MAX_SHORT_BYTES + 1 {
            for position in 0..length {
                for byte in 0..0x80 {
                    let mut bytes = vec![b'~'; length];
                    bytes[position] = byte;
                    let text = String::from_utf8(bytes).unwrap();
                    let value = Value::from(text);
                    assert_eq!(
                        value.json_size(1).unwrap().bytes,
                        value.to_json().len() as u64
                    );
                }
            }
        }
    }

    fn doubled(times: usize) -> Value {
        let first = Value::list([Value::text("a".repeat(100)), Value::from(1)]);
        (0..times).fold(first, |inner, _| Value::list([inner.clone(), inner]))
    }

    #[test]
    fn shared_parts_are_visited_once() {
        let first = doubled(0).to_json().len() as u64;
        for times in [1_u32, 5, 20, 50] {
            let size = doubled(times as usize).json_size(512).unwrap();
            let whole = first * 2_u64.pow(times) + 3 * (2_u64.pow(times) - 1);
            assert_eq!(size.bytes, whole);
            assert_eq!(size.levels, times as usize + 1);
        }
        assert_eq!(doubled(200).json_size(512).unwrap().bytes, u64::MAX);
    }

    #[test]
    fn kept_sizes_are_those_of_the_values() {
        let mut sizes = SharedSizes::default();
        let large = Value::list(vec![Value::text("\n".repeat(1000)); 200]);
        let long = Value::text("x".repeat(100_000));
        for number in 0..3 {
            let args = Value::object([
                ("list", large.clone()),
                ("text", long.clone()),
                ("n", Value::from(number)),
            ]);
            assert_eq!(sizes.size(&args, 64), args.json_size(64));
            assert_eq!(sizes.size(&args, 1), None);
        }
        assert_eq!(sizes.0.len(), 2);
    }

    #[test]
    fn depth_is_bounded() {
        for times in [1, 8, 50] {
            assert!(doubled(times).json_size(times + 1).is_some());
            assert_eq!(doubled(times).json_size(times), None);
        }
        assert!(Value::Null.json_size(0).is_some());
        // The same part occurs once within the limit and once too deep.
        let inner = doubled(10);
        let deep = (0..20).fold(inner.clone(), |inner, _| Value::list([inner]));
        assert_eq!(Value::list([inner, deep]).json_size(30), None);
    }
}

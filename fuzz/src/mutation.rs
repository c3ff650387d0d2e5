//! Structural mutation of inputs: values are moved, duplicated, removed, or replaced by unusual ones.
//!
//! A fuzzer that mutates bytes seldom creates a value that is nested exactly as deeply as parsers allow, or a name of exactly the maximum
//! length; these mutations do.

mod odd;

use fastrand::Rng;
use serde_json::Value;

/// The maximum number of changes of one input.
const MAX_CHANGES: usize = 4;

/// Mutates the JSON before or after the NUL byte of `input`, or all of it if it has none. Returns `None` if that is not JSON. The same
/// `seed` changes the same input in the same way.
pub fn change(input: &[u8], seed: u64) -> Option<Vec<u8>> {
    let mut random = Rng::with_seed(seed);
    let mut texts: Vec<&[u8]> = input.splitn(2, |byte| *byte == 0).collect();
    let at = random.usize(..texts.len());
    let chosen = texts.get_mut(at)?;
    let mut value: Value = serde_json::from_slice(chosen).ok()?;
    for _ in 0..random.usize(1..=MAX_CHANGES) {
        change_once(&mut value, &mut random);
    }
    let changed = serde_json::to_vec(&value).ok()?;
    *chosen = &changed;
    Some(texts.join(&0))
}

fn change_once(root: &mut Value, random: &mut Rng) {
    let copy = any(root, random).clone();
    let new = if random.u8(..3) == 0 {
        copy
    } else {
        odd::value(random)
    };
    let place = any_mut(root, random);
    match place {
        Value::Array(items) if !items.is_empty() => change_list(items, new, random),
        Value::Object(fields) if !fields.is_empty() => {
            let at = random.usize(..fields.len());
            let key = fields.keys().nth(at).cloned().unwrap_or_default();
            match random.u8(..4) {
                0 => {
                    fields.shift_remove(&key);
                }
                1 => {
                    let value = fields.shift_remove(&key).unwrap_or_default();
                    fields.insert(odd::text(random), value);
                }
                2 => {
                    fields.insert(odd::field(random), new);
                }
                _ => {
                    fields.insert(key, new);
                }
            }
        }
        Value::String(text) if random.bool() => {
            let at = text.floor_char_boundary(random.usize(..=text.len()));
            text.insert_str(at, &odd::text(random));
        }
        other => *other = new,
    }
}

fn change_list(items: &mut Vec<Value>, new: Value, random: &mut Rng) {
    let at = random.usize(..items.len());
    match random.u8(..3) {
        0 => {
            items.remove(at);
        }
        1 => items.insert(at, new),
        _ => items[at] = new,
    }
}

/// Returns a random value in `root`, which may be `root` itself.
fn any<'a>(root: &'a Value, random: &mut Rng) -> &'a Value {
    let mut found = vec![root];
    let mut at = 0;
    while let Some(value) = found.get(at) {
        found.extend(children(value));
        at += 1;
    }
    found[random.usize(..at)]
}

/// Returns a random value in `root` for modification.
fn any_mut<'a>(root: &'a mut Value, random: &mut Rng) -> &'a mut Value {
    let mut left = random.usize(..count(root));
    // It is one of them.
    nth(root, &mut left).expect("a value")
}

fn nth<'a>(value: &'a mut Value, left: &mut usize) -> Option<&'a mut Value> {
    if *left == 0 {
        return Some(value);
    }
    *left -= 1;
    match value {
        Value::Array(items) => items.iter_mut().find_map(|item| nth(item, left)),
        Value::Object(fields) => fields.values_mut().find_map(|field| nth(field, left)),
        _ => None,
    }
}

fn children(value: &Value) -> Box<dyn Iterator<Item = &Value> + '_> {
    match value {
        Value::Array(items) => Box::new(items.iter()),
        Value::Object(fields) => Box::new(fields.values()),
        _ => Box::new(std::iter::empty()),
    }
}

fn count(value: &Value) -> usize {
    1 + children(value).map(count).sum::<usize>()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_seed_changes_something_in_its_own_way() {
        let text = br#"{"steps": [{"id": "a", "tool": "t", "args": {"x": [1, "two"]}}]}"#;
        let changed: BTreeSet<_> = (0..500).filter_map(|seed| change(text, seed)).collect();
        assert!(changed.len() > 400, "{}", changed.len());
        for text in &changed {
            std::str::from_utf8(text).expect("a text");
        }
        assert_eq!(change(text, 7), change(text, 7));
    }

    #[test]
    fn either_half_and_nothing_but_json() {
        let kinds: BTreeSet<_> = (0..100)
            .filter_map(|seed| change(b"[1]\0[2]", seed))
            .map(|text| (text.starts_with(b"[1]\0"), text.ends_with(b"\0[2]")))
            .collect();
        assert!(kinds.contains(&(true, false)) && kinds.contains(&(false, true)));
        assert_eq!(change(b"a = t(x=1)", 1), None);
    }
}

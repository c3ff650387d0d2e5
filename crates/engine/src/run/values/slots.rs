//! The inputs and slots of one running plan.
//!
//! Writes apply in plan order, not in the order in which they are made: of two writers to one slot, the later one in the plan wins,
//! however fast it was. So if a write arrives after an overlapping one that comes later in the plan, the slots of its
//! kind are rebuilt from the log when they are next read. The order of fields follows the plan as well.
//!
//! Design: [Slot writes count in plan order](https://github.com/planwright/planwright/blob/main/docs/design/execution.md#slot-writes-count-in-plan-order).

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use planwright_core::Value;
use planwright_core::plan::{Method, SlotKind, SlotPath};

/// The inputs and slots of one running plan.
#[derive(Clone, Debug, Default)]
pub(crate) struct Slots {
    kinds: HashMap<SlotKind, SlotValues>,
    /// The slots that all instances share, for names without a value here.
    shared: Option<Arc<Slots>>,
}

#[derive(Clone, Debug)]
struct SlotValues {
    initial: Value,
    /// The slots built from the log; unset after a late write, until they are read.
    current: OnceLock<Value>,
    /// The writes, in plan order.
    log: Vec<SlotWrite>,
    /// True if the slots of `current` may be in another order than in the plan.
    order_is_stale: bool,
}

#[derive(Clone, Debug)]
struct SlotWrite {
    order: u32,
    keys: Vec<Arc<str>>,
    method: Method,
    value: Value,
    text: Option<Arc<str>>,
}

impl Default for SlotValues {
    fn default() -> Self {
        Self {
            initial: Value::empty_object(),
            current: OnceLock::new(),
            log: Vec::new(),
            order_is_stale: false,
        }
    }
}

impl SlotValues {
    fn current(&self) -> &Value {
        self.current.get_or_init(|| self.build())
    }

    /// All slots, built from the log.
    fn build(&self) -> Value {
        let mut build = self.initial.clone();
        for write in &self.log {
            apply(&mut build, &write.keys, write.method, &write.value);
        }
        build
    }
}

impl Slots {
    /// Creates slots that fall back to `shared` for missing names.
    pub(crate) fn over(shared: Arc<Slots>) -> Self {
        Self {
            kinds: HashMap::new(),
            shared: Some(shared),
        }
    }

    /// Merges the fields of `value` into the initial values.
    pub(crate) fn fill(&mut self, kind: SlotKind, value: &Value) {
        let entry = self.kinds.entry(kind).or_default();
        entry.current = OnceLock::new();
        entry.initial = assign(std::mem::take(&mut entry.initial), value);
    }

    /// All slots of `kind`, as an object.
    pub(crate) fn all(&self, kind: SlotKind) -> Value {
        let own = self.own(kind);
        match &self.shared {
            Some(shared) => assign(shared.all(kind), &own),
            None => own,
        }
    }

    /// The slots of `kind` that are not shared with other instances, as an object.
    pub(crate) fn own(&self, kind: SlotKind) -> Value {
        self.kinds
            .get(&kind)
            .map_or_else(Value::empty_object, |kind| {
                if kind.order_is_stale {
                    kind.build()
                } else {
                    kind.current().clone()
                }
            })
    }

    /// The slot `name` of `kind`.
    pub(crate) fn get(&self, kind: SlotKind, name: &str) -> Option<&Value> {
        self.kinds
            .get(&kind)
            .and_then(|kind| kind.current().get(name))
            .or_else(|| self.shared.as_ref()?.get(kind, name))
    }

    /// The verbatim text that the slot at `keys` was written from, if its value differs from it.
    pub(crate) fn text(&self, kind: SlotKind, keys: &[Arc<str>]) -> Option<&Arc<str>> {
        let log = &self.kinds.get(&kind)?.log;
        // Only a plain `set` of exactly this slot preserves the text.
        let last = log.iter().rev().find(|write| overlaps(&write.keys, keys))?;
        (last.keys == keys && last.method == Method::Set)
            .then_some(last.text.as_ref())
            .flatten()
    }

    /// Writes a slot. `order` is the writer's position in the plan.
    pub(crate) fn write(
        &mut self,
        order: u32,
        path: &SlotPath,
        method: Method,
        value: Value,
        text: Option<Arc<str>>,
    ) {
        let kind = self.kinds.entry(path.kind).or_default();
        let write = SlotWrite {
            order,
            keys: path.keys.clone(),
            method,
            value,
            text,
        };
        // Writes of one step stay in the order of its paths.
        let at = kind.log.partition_point(|earlier| earlier.order <= order);
        let overtaken = kind.log.iter().skip(at).any(|later| {
            overlaps(&later.keys, &write.keys) || later.keys.first() == write.keys.first()
        });
        // A later write of the plan was applied first, so the slots are rebuilt when they are next read.
        if overtaken {
            kind.current = OnceLock::new();
            kind.order_is_stale = false;
        } else if let Some(current) = kind.current.get_mut() {
            apply(current, &write.keys, write.method, &write.value);
            // The values are right, but a new slot may now stand behind those of later steps.
            kind.order_is_stale |= at < kind.log.len();
        }
        kind.log.insert(at, write);
    }
}

/// Returns true if one path is a prefix of the other.
fn overlaps(a: &[Arc<str>], b: &[Arc<str>]) -> bool {
    a.iter().zip(b).all(|(a, b)| a == b)
}

fn apply(at: &mut Value, keys: &[Arc<str>], method: Method, value: &Value) {
    let Some((key, rest)) = keys.split_first() else {
        let old = std::mem::take(at);
        *at = combine(Some(old), method, value);
        return;
    };
    // A write below a value that is no object replaces it.
    if at.as_object().is_none() {
        *at = Value::empty_object();
    }
    if let Value::Object(fields) = at {
        let fields = Arc::make_mut(fields);
        if rest.is_empty() {
            // Taken out, the value has a single owner and can grow in place.
            let old = fields.get_mut(key).map(std::mem::take);
            let combined = combine(old, method, value);
            fields.insert(Arc::clone(key), combined);
        } else {
            let below = fields
                .entry(Arc::clone(key))
                .or_insert_with(Value::empty_object);
            apply(below, rest, method, value);
        }
    }
}

/// Combines `old` with a new value. A list or object with a single owner grows in place; otherwise each of many
/// writers would copy it.
fn combine(old: Option<Value>, method: Method, new: &Value) -> Value {
    match (method, old) {
        (Method::Merge, Some(old)) => merge(old, new),
        (Method::Assign, Some(old)) => assign(old, new),
        (Method::Push, old) => {
            let mut items = items_of(old);
            Arc::make_mut(&mut items).push(new.clone());
            Value::List(items)
        }
        (Method::Concat, old) => {
            let mut items = items_of(old);
            let all = Arc::make_mut(&mut items);
            match new {
                Value::List(more) => all.extend(more.iter().cloned()),
                other => all.push(other.clone()),
            }
            Value::List(items)
        }
        (Method::Set | Method::Merge | Method::Assign, _) => new.clone(),
    }
}

/// The items of a list; another value is one item, no value none.
fn items_of(value: Option<Value>) -> Arc<Vec<Value>> {
    match value {
        None | Some(Value::Null) => Arc::default(),
        Some(Value::List(items)) => items,
        Some(other) => Arc::new(vec![other]),
    }
}

/// The fields of both, at the first level; those of `new` win. A value that is no object is replaced.
fn assign(old: Value, new: &Value) -> Value {
    with_fields(old, new, |_, new| new.clone())
}

/// The fields of both, at every depth; those of `new` win. A value that is no object is replaced.
fn merge(old: Value, new: &Value) -> Value {
    with_fields(old, new, |old, new| match old {
        Some(old) => merge(old, new),
        None => new.clone(),
    })
}

/// The fields of both; `both` combines a field of `new` with that of `old`, if it has one.
fn with_fields(old: Value, new: &Value, both: impl Fn(Option<Value>, &Value) -> Value) -> Value {
    match (old, new) {
        (Value::Object(old), Value::Object(new)) if new.is_empty() => Value::Object(old),
        (Value::Object(mut old), Value::Object(new)) if !old.is_empty() => {
            let fields = Arc::make_mut(&mut old);
            for (key, value) in new.iter() {
                let before = fields.get_mut(key).map(std::mem::take);
                fields.insert(Arc::clone(key), both(before, value));
            }
            Value::Object(old)
        }
        // An empty `old` is replaced as well, so that the new object stays shared.
        _ => new.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use planwright_core::Place;

    fn path(text: &str) -> SlotPath {
        SlotPath {
            kind: SlotKind::State,
            keys: text.split('.').map(Arc::from).collect(),
            place: Place::NOWHERE,
        }
    }

    fn json(text: &str) -> Value {
        Value::from_json(text).unwrap()
    }

    fn check(initial: &str, writes: &[(u32, &str, Method, &str)], expected: &str) {
        let mut slots = Slots::default();
        slots.fill(SlotKind::State, &json(initial));
        for (order, at, method, value) in writes {
            slots.write(*order, &path(at), *method, json(value), None);
        }
        assert_eq!(slots.all(SlotKind::State), json(expected), "{writes:?}");
    }

    #[test]
    fn methods() {
        check(
            r#"{"v":{"a":1}}"#,
            &[(0, "v", Method::Set, r#"{"b":2}"#)],
            r#"{"v":{"b":2}}"#,
        );
        check(
            r#"{"v":{"a":1}}"#,
            &[(0, "v", Method::Assign, r#"{"b":2}"#)],
            r#"{"v":{"a":1,"b":2}}"#,
        );
        check(
            r#"{"v":{"a":{"x":1}}}"#,
            &[(0, "v", Method::Merge, r#"{"a":{"y":2}}"#)],
            r#"{"v":{"a":{"x":1,"y":2}}}"#,
        );
        check(
            r#"{"v":{"a":{"x":1}}}"#,
            &[(0, "v", Method::Assign, r#"{"a":{"y":2}}"#)],
            r#"{"v":{"a":{"y":2}}}"#,
        );
        check(
            r#"{"l":[1]}"#,
            &[(0, "l", Method::Push, "[2]")],
            r#"{"l":[1,[2]]}"#,
        );
        check(
            r#"{"l":[1]}"#,
            &[(0, "l", Method::Concat, "[2,3]")],
            r#"{"l":[1,2,3]}"#,
        );
        check("{}", &[(0, "l", Method::Push, "1")], r#"{"l":[1]}"#);
        check(
            "{}",
            &[(0, "a.b.c", Method::Set, "1")],
            r#"{"a":{"b":{"c":1}}}"#,
        );
        check(
            r#"{"a":7}"#,
            &[(0, "a.b", Method::Set, "1")],
            r#"{"a":{"b":1}}"#,
        );
    }

    #[test]
    fn plan_order_decides_not_arrival() {
        check(
            "{}",
            &[(2, "x", Method::Set, "2"), (1, "x", Method::Set, "1")],
            r#"{"x":2}"#,
        );
        check(
            "{}",
            &[
                (2, "l", Method::Push, "2"),
                (0, "l", Method::Push, "0"),
                (1, "l", Method::Push, "1"),
            ],
            r#"{"l":[0,1,2]}"#,
        );
        check(
            "{}",
            &[
                (1, "u.name", Method::Set, "\"n\""),
                (0, "u", Method::Set, r#"{"age":3}"#),
            ],
            r#"{"u":{"age":3,"name":"n"}}"#,
        );
    }

    /// Thousands of writers to one list, the last one of the plan first: a copy or a rebuild for each write would be
    /// noticeable.
    #[test]
    fn many_writers_of_one_list() {
        const WRITERS: u32 = 5_000;
        let mut slots = Slots::default();
        for order in (0..WRITERS).rev() {
            slots.write(
                order,
                &path("l"),
                Method::Push,
                Value::from(u64::from(order)),
                None,
            );
        }
        let expected = Value::list((0..u64::from(WRITERS)).map(Value::from));
        assert_eq!(slots.get(SlotKind::State, "l"), Some(&expected));
    }

    /// A copy for each write would be noticeable here, too.
    #[test]
    fn many_writers_of_one_object() {
        const WRITERS: u32 = 20_000;
        for method in [Method::Assign, Method::Merge] {
            let mut slots = Slots::default();
            slots.fill(SlotKind::State, &json(r#"{"o":{"in":{}}}"#));
            for order in 0..WRITERS {
                let field = Value::object([(format!("f{order}"), Value::from(order))]);
                let inside = Value::object([("in", field)]);
                slots.write(order, &path("o"), method, inside, None);
                assert!(slots.get(SlotKind::State, "o").is_some());
            }
            let whole = slots.get(SlotKind::State, "o").unwrap();
            let inside = whole.get("in").unwrap().as_object().unwrap();
            let expected = if method == Method::Merge { WRITERS } else { 1 };
            assert_eq!(inside.len(), expected as usize);
        }
    }

    #[test]
    fn shared_slots_are_seen_but_not_written() {
        let mut shared = Slots::default();
        shared.fill(SlotKind::State, &json(r#"{"a":1,"b":1}"#));
        let mut own = Slots::over(Arc::new(shared));
        own.write(0, &path("b"), Method::Set, json("2"), None);
        assert_eq!(own.all(SlotKind::State), json(r#"{"a":1,"b":2}"#));
        assert_eq!(own.own(SlotKind::State), json(r#"{"b":2}"#));
        assert_eq!(own.get(SlotKind::State, "a"), Some(&json("1")));
    }
}

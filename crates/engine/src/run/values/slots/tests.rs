//! Tests of the slots of a running plan.

use planwright_core::Place;

use super::*;

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

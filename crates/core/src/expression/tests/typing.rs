//! Type inference is sound: types include the values, and what is reported as an error fails.

use std::cell::Cell;

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use serde_json::json;

use super::computing::resolve;
use crate::expression::typing::{TypeErrorKind, form_type};
use crate::expression::{EvaluationLimits, parse_form};
use crate::plan::{Segment, Source};
use crate::schema::PathLookup;
use crate::{Schema, Severity, Value};

/// Returns the schema of the outputs of the steps, by id.
fn schema() -> Schema {
    let row = json!({"type": "object", "additionalProperties": false, "required": ["name"], "properties": {
        "name": {"type": "string"}, "size": {"type": "integer"}, "tags": {"type": "array", "items": {"type": "string"}}}});
    let text = json!({
        "$defs": {"row": row},
        "type": "object", "additionalProperties": false,
        "properties": {
            "x": {"$ref": "#/$defs/row"},
            "any": {},
            "o": {"type": "object", "additionalProperties": false, "properties": {
                "int": {"type": "integer"}, "num": {"type": "number"}, "text": {"type": "string"}, "flag": {"type": "boolean"},
                "nil": {"type": "null"}, "either": {"type": ["string", "integer"]}, "maybe": {"type": ["string", "null"]},
                "kind": {"enum": ["a", "name", 3]}, "ints": {"type": "array", "items": {"type": "integer"}},
                "mixed": {"type": "array", "items": {"type": ["string", "number"]}},
                "pair": {"type": "array", "prefixItems": [{"type": "string"}, {"type": "integer"}], "items": {"type": "boolean"}},
                "lists": {"type": "array", "items": {"type": "array", "items": {"type": "integer"}}},
                "rows": {"type": "array", "items": {"$ref": "#/$defs/row"}},
                "map": {"type": "object", "additionalProperties": {"type": "number"}},
                "open": {"type": "object", "properties": {"name": {"type": "string"}}}
            }}
        }
    });
    Schema::from_value(Value::from(text))
}

/// Generates outputs that fit the schema. No list is empty, as type inference assumes.
fn any_world() -> impl Strategy<Value = serde_json::Value> {
    let integer = || {
        prop_oneof![
            (-3_i64..5).prop_map(|number| json!(number)),
            prop::sample::select(vec![json!(1.0), json!(-2.0), json!(7e15)]),
        ]
    };
    let number = || prop_oneof![integer(), Just(json!(1.5)), Just(json!(-0.25))];
    let text = || {
        prop::sample::select(vec!["", "a", "1", "true", "name", "a,b"]).prop_map(|text| json!(text))
    };
    let list = |item: BoxedStrategy<serde_json::Value>| {
        prop::collection::vec(item, 1..3).prop_map(|items| json!(items))
    };
    let row = move || {
        let parts = (
            text(),
            prop::option::of(integer()),
            prop::option::of(list(text().boxed())),
        );
        parts.prop_map(|(name, size, tags)| {
            let mut row = json!({"name": name});
            if let Some(size) = size {
                row["size"] = size;
            }
            if let Some(tags) = tags {
                row["tags"] = tags;
            }
            row
        })
    };
    let anything = prop_oneof![
        number(),
        text(),
        Just(json!(null)),
        Just(json!(true)),
        row(),
        list(row().boxed()),
    ];
    let simple = (
        integer(),
        number(),
        text(),
        any::<bool>(),
        prop_oneof![text(), integer()],
        prop_oneof![text(), Just(json!(null))],
        prop::sample::select(vec![json!("a"), json!("name"), json!(3)]),
    );
    let lists = (
        list(integer().boxed()),
        list(prop_oneof![text(), number()].boxed()),
        (text(), integer(), any::<bool>()),
        list(list(integer().boxed()).boxed()),
        list(row().boxed()),
        (number(), text()),
    );
    (row(), anything, simple, lists).prop_map(|(x, anything, simple, lists)| {
        let (int, num, text, flag, either, maybe, kind) = simple;
        let (ints, mixed, pair, nested, rows, (number, name)) = lists;
        json!({"x": x, "any": anything, "o": {
            "int": int, "num": num, "text": text, "flag": flag, "nil": null, "either": either, "maybe": maybe, "kind": kind,
            "ints": ints, "mixed": mixed, "pair": [pair.0, pair.1, pair.2], "lists": nested, "rows": rows,
            "map": {"a": number}, "open": {"name": name, "more": 1}
        }})
    })
}

/// Generates expressions; many have no value. The variable of every loop is `x`.
fn any_expression() -> impl Strategy<Value = String> {
    let leaf = prop::sample::select(vec![
        "1",
        "2.5",
        "0",
        "'a'",
        "'name'",
        "true",
        "false",
        "null",
        "[1, 2]",
        "['a']",
        "{'name': 'b'}",
        "o.int",
        "o.num",
        "o.text",
        "o.flag",
        "o.nil",
        "o.either",
        "o.maybe",
        "o.kind",
        "o.ints",
        "o.mixed",
        "o.pair",
        "o.lists",
        "o.rows",
        "o.map",
        "o.open",
        "any",
        "x",
        "x.name",
        "x.size",
        "x.tags",
        "x.nope",
        "x.size?",
        "o.rows[*].name",
        "o.rows[*?].size",
        "o.map.a",
        "o.pair[0]",
        "o.open.more",
    ])
    .prop_map(str::to_owned);
    leaf.prop_recursive(5, 24, 3, |inner| {
        let one = || inner.clone();
        let operator = prop::sample::select(vec![
            "+", "-", "*", "/", "%", "==", "!=", "<", "<=", ">", ">=", "in", "&&", "||", "??",
        ]);
        let call = prop::sample::select(vec![
            "size",
            "string",
            "int",
            "uint",
            "double",
            "bool",
            "dyn",
            "lists.range",
            "math.greatest",
            "math.abs",
            "math.ceil",
            "math.round",
            "sum",
            "avg",
            "min",
            "max",
            "keys",
            "json",
            "date",
            "duration",
            "!",
            "-",
        ]);
        let method = prop::sample::select(vec![
            "size()",
            "first()",
            "last()",
            "sum()",
            "values()",
            "zip([1])",
            "getFullYear()",
            "format('%Y')",
            "lowerAscii()",
            "trim()",
            "reverse()",
            "flatten()",
            "distinct()",
            "sort()",
            "join()",
            "join(',')",
            "split(',')",
            "contains('a')",
            "name",
            "size",
            "nope",
            "tags",
            "a",
            "name?",
            "nope?",
            "flatten(2)",
            "matches('a')",
            "slice(0, 1)",
            "charAt(0)",
            "indexOf('a')",
            "substring(1)",
            "replace('a', 'b')",
        ]);
        let over = prop::sample::select(vec![
            "filter",
            "map",
            "sortBy",
            "groupBy",
            "all",
            "exists",
            "exists_one",
        ]);
        prop_oneof![
            3 => (one(), operator, one()).prop_map(|(a, sign, b)| format!("({a} {sign} {b})")),
            1 => (call, one()).prop_map(|(name, a)| format!("{name}({a})")),
            3 => (one(), method).prop_map(|(a, name)| format!("({a}).{name}")),
            3 => (one(), over, one()).prop_map(|(a, name, b)| format!("({a}).{name}(x, {b})")),
            1 => (one(), one(), one()).prop_map(|(a, b, c)| format!("({a} ? {b} : {c})")),
            1 => (one(), one(), one()).prop_map(|(a, b, c)| format!("({a}).map(x, {b}, {c})")),
            1 => (one(), one()).prop_map(|(a, b)| format!("[{a}, {b}]")),
            1 => (one(), one()).prop_map(|(a, b)| format!("{{'name': {a}, 'size': {b}}}")),
            1 => (one(), one()).prop_map(|(a, b)| format!("({a})[{b}]")),
            1 => (one(), one()).prop_map(|(a, b)| format!("math.least({a}, {b})")),
            1 => (one(), one()).prop_map(|(a, b)| format!("max({a}, {b})")),
            1 => (one(), one()).prop_map(|(a, b)| format!("zip({a}, {b})")),
            1 => (one(), one()).prop_map(|(a, b)| format!("(date({a}) + {b})")),
            1 => (one(), one()).prop_map(|(a, b)| format!("(date({a}) - date({b}))")),
            1 => (one(), one(), one()).prop_map(|(a, b, c)| format!("({a}).sortBy(x, [{b}, {c}])")),
            1 => (one(), method_with_argument(), one())
                .prop_map(|(a, name, b)| format!("({a}).{name}({b})")),
            1 => prop::sample::select(vec!["has(x.name)", "has(x.nope)", "has(o.rows[0].size)"])
                .prop_map(str::to_owned),
        ]
    })
}

fn method_with_argument() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec!["join", "contains", "startsWith", "split", "charAt"])
}

#[test]
fn types_include_the_values_and_errors_fail() {
    let (typed, failed) = (Cell::new(0), Cell::new(0));
    let schema = schema();
    let mut runner = TestRunner::new(Config::with_cases(4_000));
    let result = runner.run(&(any_expression(), any_world()), |(text, world)| {
        let Ok(form) = parse_form(&text) else {
            return Ok(());
        };
        let world = Value::from(world);
        prop_assert!(schema.is_valid(&world), "{} does not fit", world.to_json());
        let look_up = |source: &Source, path: &[Segment]| match source {
            Source::Step(id) => match schema.property(id.as_str()) {
                Some(shape) => shape.at(path),
                None => PathLookup::Unknown,
            },
            _ => PathLookup::Unknown,
        };
        let mut problems = Vec::new();
        let shape = form_type(&form, &look_up, Some(&mut problems));
        prop_assert_eq!(&shape, &form_type(&form, &look_up, None));
        let value = resolve(&form, &world, &EvaluationLimits::default());
        let Ok(value) = value else {
            failed.set(failed.get() + usize::from(!problems.is_empty()));
            return Ok(());
        };
        typed.set(typed.get() + usize::from(problems.is_empty()));
        prop_assert!(
            shape.admits(&value),
            "`{}` has the type {:?}, but gives {}",
            text,
            shape,
            value.to_json()
        );
        // These may give an empty list, and nothing is computed from its items.
        let may_be_empty = [
            "filter", "map(x, ", "slice", "split", "range", "flatten", "[*",
        ]
        .iter()
        .any(|part| text.contains(part));
        let is_conditional = ["?", "&&", "||"].iter().any(|part| text.contains(part));
        for problem in problems {
            // Such a comparison has a value, which says nothing.
            if matches!(problem.kind, TypeErrorKind::Constant(_)) {
                continue;
            }
            let is_path = matches!(problem.kind, TypeErrorKind::Impossible(_));
            let is_excused = may_be_empty || is_path && is_conditional;
            prop_assert!(
                problem.severity == Severity::Warning || is_excused,
                "`{}` gives {}, but {:?}",
                text,
                value.to_json(),
                problem
            );
        }
        Ok(())
    });
    assert!(result.is_ok(), "{}", result.unwrap_err());
    // The test proves something only if there are many of both.
    assert!(
        typed.get() > 300 && failed.get() > 300,
        "{typed:?} {failed:?}"
    );
}

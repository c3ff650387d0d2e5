//! Paths read against small values.

use super::read_path;
use crate::Value;
use crate::plan::{Alternative, Form, Missing, Read};

/// `path` is written as behind a step's id: `.a[0]`.
fn check(value: &str, path: &str, expected: Result<&str, &str>) {
    let Ok(Form::First(alternatives)) = crate::expression::parse_form(&format!("value{path}"))
    else {
        panic!("`{path}` is no path");
    };
    let [Alternative::Read(Read { path, missing, .. })] = alternatives.as_slice() else {
        panic!("`{path}` is no plain path");
    };
    let found = read_path(&Value::from_json(value).unwrap(), path, *missing);
    let found = found
        .map(|value| value.to_json())
        .map_err(|error| error.message);
    let expected = expected.map(str::to_owned).map_err(str::to_owned);
    assert_eq!(found, expected, "{path:?} of {value}");
}

#[test]
fn keys_and_positions() {
    check(r#"{"a":{"b":7}}"#, "", Ok(r#"{"a":{"b":7}}"#));
    check(r#"{"a":{"b":7}}"#, ".a.b", Ok("7"));
    check(r#"{"a":null}"#, ".a", Ok("null"));
    check(r#"{"first-name":1}"#, ".first-name", Ok("1"));
    check(r#"{"a b":1}"#, "[\"a b\"]", Ok("1"));
    check(r#"{"0":"zero"}"#, ".0", Ok(r#""zero""#));
    check("[1,2,3]", ".0", Ok("1"));
    check("[1,2,3]", "[2]", Ok("3"));
    check("[1,2,3]", "[-1]", Ok("3"));
    check("[1,2,3]", "[\"-3\"]", Ok("1"));
}

#[test]
fn what_is_missing_is_named() {
    check(
        r#"{"b":1,"a":2}"#,
        ".c",
        Err("there is no `c`; known are `a`, `b`"),
    );
    check("{}", ".c", Err("there is no `c` in an empty object"));
    check("[1]", ".c", Err("there is no `c` in a list"));
    check("7", ".c", Err("there is no `c` in a number"));
    check("null", ".c", Err("there is no `c` in null"));
    check("[1,2]", "[2]", Err("there is no item `[2]` in a list of 2"));
    check(
        "[1,2]",
        "[\"-3\"]",
        Err("there is no item `-3` in a list of 2"),
    );
    check(
        "[1,2]",
        "[-9223372036854775808]",
        Err("there is no item `[-9223372036854775808]` in a list of 2"),
    );
    check(
        r#"{"0":1}"#,
        "[0]",
        Err("`[0]` needs a list, found an object"),
    );
    check(
        r#"{"a":1}"#,
        "[*]",
        Err("`[*]` needs a list, found an object"),
    );
    check(
        r#"{"a":1}"#,
        ".a[*].b",
        Err("`[*]` needs a list, found a number"),
    );
    check(
        r#"[{"a":1},{"b":1}]"#,
        "[*].a",
        Err("there is no `a`; known are `b`"),
    );
}

#[test]
fn every_item() {
    check("[1,2]", "[*]", Ok("[1,2]"));
    check("[]", "[*].a", Ok("[]"));
    check(r#"[{"a":1},{"a":[2]}]"#, "[*].a", Ok("[1,[2]]"));
    check(
        r#"[{"a":[1,2]},{"a":[]},{"a":[3]}]"#,
        "[*].a[*]",
        Ok("[1,2,3]"),
    );
    check(
        r#"[{"a":[{"b":1},{"b":[2,3]}]},{"a":[{"b":4}]}]"#,
        "[*].a[*].b",
        Ok("[1,[2,3],4]"),
    );
    check("[[1,2],[3]]", "[*][*]", Ok("[1,2,3]"));
    check("[[1,2],[3]]", "[*][0]", Ok("[1,3]"));
    check("[[[1],[2]],[[3]]]", "[*][*][*]", Ok("[1,2,3]"));
}

#[test]
fn missing_parts_may_be_null() {
    check(r#"{"a":1}"#, ".b?", Ok("null"));
    check("[1]", "[5].x?", Ok("null"));
    check("7", ".a[*].b?", Ok("null"));
    check(r#"[{"a":1},{}]"#, "[*].a?", Ok("[1,null]"));
    check(r#"[{"a":1},{},7,null]"#, "[*?].a", Ok("[1,null,null,null]"));
    check(
        r#"{"a":1}"#,
        ".b[*?].c",
        Err("there is no `b`; known are `a`"),
    );
    check(r#"[{"a":[1]},{}]"#, "[*?].a[*]", Ok("[1,null]"));
    check(
        r#"[{"a":{}}]"#,
        "[*?].a[*]",
        Err("`[*]` needs a list, found an object"),
    );
}

#[test]
fn an_error_names_at_most_twenty_keys() {
    let many = Value::object((0..30).map(|key| (format!("k{key:02}"), Value::Null)));
    let error = read_path(&many, &[crate::plan::Segment::key("x")], Missing::Fail).unwrap_err();
    assert_eq!(error.at, 0);
    assert_eq!(error.known.len(), 20);
    assert_eq!(error.known[0].as_ref(), "k00");
}

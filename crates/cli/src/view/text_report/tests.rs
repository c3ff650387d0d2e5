//! Outputs as people read them.

use insta::assert_snapshot;
use planwright::core::Value;

use super::outcome::Room;
use super::outcome::output;

fn shown(json: &str) -> String {
    shown_in(json, usize::MAX)
}

fn shown_in(json: &str, lines: usize) -> String {
    output(
        &Value::from_json(json).unwrap(),
        Room {
            width: 60,
            lines,
            bytes: 1000,
        },
    )
}

#[test]
fn large_values_are_cut_at_their_bytes() {
    let value =
        Value::from_json(r#"{"line": "äöü äöü", "rows": ["one, two", "three, four"], "short": 1}"#);
    let room = Room {
        width: 60,
        lines: 9,
        bytes: 9,
    };
    assert_snapshot!(output(&value.unwrap(), room), @r#"
    line:
      äöü ä
      … trimmed at 9 bytes: `--max-output` shows more
    rows:
      ["one, tw
      … trimmed at 9 bytes: `--max-output` shows more
    short: 1
    "#);
}

#[test]
fn long_values_are_cut() {
    let json = r#"{
        "text": "one\ntwo\nthree\nfour",
        "fits": "one\ntwo",
        "rows": [{"n": 1}, {"n": 2}, {"n": 3}, {"n": 4}],
        "items": [["a, b"], ["c, d"], ["e, f"], ["g, h"]],
        "deep": {"a": {"b": {"c": {"d": {"e": {"f": [1, 2, 3, 4]}}}}}},
        "short": 1
    }"#;
    assert_snapshot!(shown_in(json, 3), @r#"
    text:
      one
      two
      three
      … trimmed: `--format json` prints all of it

    fits:
      one
      two

    rows:
      n
      ─
      1
      … trimmed: `--format json` prints all of it

    items:
      - ["a, b"]
      - ["c, d"]
      - ["e, f"]
      … trimmed: `--format json` prints all of it

    deep:
      a:
        b:
          c:
      … trimmed: `--format json` prints all of it

    short: 1
    "#);
    let deep = r#"{"a": {"b": {"c": {"d": {"e": {"f": [1, 2, 3, 4]}}}}}}"#;
    assert_snapshot!(shown_in(deep, 6), @r#"
    a:
      b:
        c:
          d:
            e:
              {
                "f": [
      … trimmed: `--format json` prints all of it
    "#);
    assert_snapshot!(shown_in(r#""one\ntwo\nthree""#, 2), @"
    one
    two
    … trimmed: `--format json` prints all of it
    ");
    assert_snapshot!(shown_in("[[1, {}], [2, {}], [3, {}]]", 2), @"
    - - 1
      - {}
    … trimmed: `--format json` prints all of it
    ");
}

#[test]
fn nothing_gives_nothing() {
    for json in ["null", "{}"] {
        assert_eq!(shown(json), "");
    }
}

#[test]
fn a_text_is_just_that() {
    assert_eq!(
        shown(r#""rain\nand \u001b[31mwind\n""#),
        "rain\nand \\u{1b}[31mwind\n"
    );
    assert_eq!(shown("12.5"), "12.5\n");
    assert_eq!(shown("false"), "false\n");
    assert_eq!(shown("[]"), "[]\n");
}

#[test]
fn fields_are_aligned() {
    assert_snapshot!(shown(r#"{"city": "Tokyo", "temperature": 24, "dry": true, "wind": null, "": ""}"#), @r#"
    city:        Tokyo
    temperature: 24
    dry:         true
    wind:        null
    "":          ""
    "#);
}

#[test]
fn steps_are_paragraphs() {
    let json = r#"{
        "weather": {"city": "Tokyo", "temp": 24, "days": ["Mon", "Tue"]},
        "note": "one line",
        "text": "two\nlines",
        "empty": [], "none": {}
    }"#;
    assert_snapshot!(shown(json), @r#"
    weather:
      city: Tokyo
      temp: 24
      days: ["Mon", "Tue"]

    note: one line

    text:
      two
      lines

    empty: []
    none:  {}
    "#);
}

#[test]
fn flat_objects_are_a_table() {
    let json = r#"{"files": [
        {"path": "src/main.rs", "lines": 12, "tags": ["a", "b"]},
        {"path": "src/cli/app.rs", "lines": 1200, "tags": []},
        {"path": "東京.txt", "lines": null}
    ]}"#;
    assert_snapshot!(shown(json), @r#"
    files:
      path            lines  tags
      ──────────────  ─────  ──────────
      src/main.rs        12  ["a", "b"]
      src/cli/app.rs   1200  []
      東京.txt         null
    "#);
}

#[test]
fn types_are_distinguishable() {
    let texts = r#"{"text": "Tokyo", "list": ["Tokyo"], "digits": "42", "number": 42, "word": "true", "bool": true, "empty": "",
        "blank": " x", "json": "[1]", "quoted": "\"x\"", "list of digits": ["42", 42, null], "comma": "a, b", "date": "2024-05-01"}"#;
    assert_snapshot!(shown(texts), @r#"
    text:           Tokyo
    list:           ["Tokyo"]
    digits:         "42"
    number:         42
    word:           "true"
    bool:           true
    empty:          ""
    blank:          " x"
    json:           "[1]"
    quoted:         "\"x\""
    list of digits: ["42", 42, null]
    comma:          a, b
    date:           2024-05-01
    "#);
}

#[test]
fn what_fits_no_table_is_a_list() {
    let wide = r#"[{"a": "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx", "b": "yyyyyyyyyyyyyyyyyyyyyyyyyyyyy"},
                   {"a": "1", "b": "2"}]"#;
    assert_snapshot!(shown(wide), @r#"
    - a: xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx
      b: yyyyyyyyyyyyyyyyyyyyyyyyyyyyy
    - a: "1"
      b: "2"
    "#);
    let mixed =
        r#"[{"a": 1}, [1, 2], "three", {"b": {"c": [{"d": 1}, {"d": 2}]}}, "with, comma", []]"#;
    assert_snapshot!(shown(mixed), @r#"
    - a: 1
    - [1, 2]
    - three
    - b:
        c:
          d
          ─
          1
          2
    - with, comma
    - []
    "#);
    let different = r#"[{"a": 1}, {"b": 2}, {"c": 3}]"#;
    assert_snapshot!(shown(different), @r#"
    - a: 1
    - b: 2
    - c: 3
    "#);
    assert_snapshot!(shown(r#"["one", "two", "three"]"#), @r#"["one", "two", "three"]"#);
}

#[test]
fn what_is_too_deep_is_json() {
    assert_snapshot!(shown(r#"{"a": {"b": {"c": {"d": {"e": {"f": {"g": 1}}}}}}}"#), @r#"
    a:
      b:
        c:
          d:
            e:
              {
                "f": {
                  "g": 1
                }
              }
    "#);
}

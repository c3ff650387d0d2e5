//! Unusual values for parsers and printers: names with a meaning, lengths and depths at a limit, numbers at an edge.

use fastrand::Rng;
use serde_json::{Map, Value, json};

const TEXTS: &[&str] = &[
    "",
    " ",
    ".",
    "..",
    "a.b",
    "a b",
    "\"",
    "'",
    "`",
    "\\",
    "$",
    "${",
    "}",
    "${}",
    "${a}",
    "${a",
    "$${a}",
    "{{a}}",
    "{a}",
    "\n",
    "\t",
    "\0",
    "\u{202e}",
    "\u{2028}",
    "\u{feff}",
    "\u{1b}[31m",
    "😀",
    "é",
    "_",
    "-",
    "null",
    "true",
    "1",
    "-1",
    "0",
    "01",
    "1.5",
    "1e3",
    "a?",
    "a!",
    "a[0]",
    "a[*]",
    "a[-1]",
    "a[\"b\"]",
    "a/b",
    "a~b",
    "~1",
    "#E1",
    "$1",
    "$var_1$",
    "$a.b[0]$",
    "†a",
    "††",
    "†state.a",
    "†state.a|†input.b",
    "$ref:a",
    "$$ref:a",
    "$ref:a.b[0]",
    "${step[0].data}",
    "${step[0].data.*.x}",
    "${step[0].success?}",
    "${a.b[0]:-1}",
    "${a:-${b}}",
    "${a ?? b}",
    "${a[0:2]}",
    "${size(a)}",
    "${[a, b]}",
    "${results.a.success}",
    "${results.a.data.x}",
    "${slots.state.a}",
    "${inputs.a}",
    "${env.A}",
    "${secrets.A}",
    "${item}",
    "${index}",
    "item",
    "index",
    "last",
    "results",
    "inputs",
    "steps",
    "slots",
    "vars",
    "state",
    "data",
    "env",
    "secrets",
    "now",
    "result",
    "output",
    "success",
    "error",
    "__proto__",
    "0ms",
    "1h",
    "-1s",
];

const FIELDS: &[&str] = &[
    "steps",
    "id",
    "tool",
    "args",
    "arguments",
    "params",
    "positional",
    "after",
    "depends_on",
    "when",
    "for_each",
    "repeat",
    "until",
    "max",
    "as",
    "writes",
    "to",
    "one_of",
    "method",
    "on_error",
    "output",
    "retry",
    "attempts",
    "delay",
    "timeout",
    "approval",
    "instance",
    "instances",
    "note",
    "plan",
    "value",
    "inputs",
    "slots",
    "metadata",
    "title",
    "description",
    "index",
    "result_variable",
    "variables",
    "optional",
    "parallel",
    "retry_count",
    "mode",
    "context",
    "calls",
    "_tool",
    "_activity",
    "_outputPath",
    "_outputMethod",
    "_instance",
    "_delegate",
    "_scopes",
    "_output",
    "output_by_reference",
    "output_steps",
    "type",
    "schema",
    "default",
    "name",
    "label",
    "input",
    "content",
    "function",
    "a",
];

/// Texts that are repeated up to a limit of length or nesting, each with what stands before and after it.
const REPEATED: &[(&str, &str, &str)] = &[
    ("", "x", ""),
    ("", "é", ""),
    ("${a.", "b.", "c}"),
    ("${", "a ?? ", "a}"),
    ("†state.a", "|†state.b", ""),
    ("$ref:a", ".b", ""),
    ("${step[0].data", ".b", "}"),
    ("vars", ".b", ""),
];

/// Returns a random value.
pub(super) fn value(random: &mut Rng) -> Value {
    match random.u8(..8) {
        0..3 => text(random).into(),
        3 => number(random),
        4 => nested(random),
        5 => (0..random.u8(..3)).map(|_| text(random)).collect(),
        6 => {
            let fields = (0..random.u8(..3)).map(|_| (field(random), text(random).into()));
            Value::Object(fields.collect::<Map<_, _>>())
        }
        _ => one_of(
            random,
            &[
                json!(null),
                json!(true),
                json!([]),
                json!({}),
                json!([null]),
            ],
        ),
    }
}

/// Returns a random text.
pub(super) fn text(random: &mut Rng) -> String {
    match random.u8(..12) {
        0 => {
            let (start, middle, end) = one_of(random, REPEATED);
            let times = one_of(
                random,
                &[15, 16, 17, 31, 32, 33, 60, 100, 500, 1300, 2000, 4000],
            );
            format!("{start}{}{end}", middle.repeat(times))
        }
        1 => one_of(random, TEXTS).to_owned() + one_of(random, TEXTS),
        _ => one_of(random, TEXTS).to_owned(),
    }
}

/// Returns the name of a field with a meaning in some dialect, or a random text.
pub(super) fn field(random: &mut Rng) -> String {
    if random.u8(..5) == 0 {
        return text(random);
    }
    one_of(random, FIELDS).to_owned()
}

fn number(random: &mut Rng) -> Value {
    let exact = [
        0,
        1,
        255,
        1 << 31,
        1 << 32,
        1 << 53,
        (1 << 53) + 1,
        1 << 63,
        u64::MAX,
    ];
    let double = [-1.0, -0.0, 0.1, 1.0, 1e16, 1e30, 1e308, 1e-320, 9.3e12];
    if random.bool() {
        one_of(random, &exact).into()
    } else {
        one_of(random, &double).into()
    }
}

/// Returns a value that is nested about as deeply as parsers allow.
fn nested(random: &mut Rng) -> Value {
    let depth = random.u8(90..130);
    let is_list = random.bool();
    (0..depth).fold(Value::from(1), |value, _| {
        if is_list {
            json!([value])
        } else {
            json!({"a": value})
        }
    })
}

fn one_of<T: Clone>(random: &mut Rng, all: &[T]) -> T {
    all[random.usize(..all.len())].clone()
}

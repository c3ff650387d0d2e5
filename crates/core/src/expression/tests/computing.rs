//! Evaluation of expressions.

use crate::Value;
use crate::expression::{EvaluationError, EvaluationLimits, Expression, parse_form};
use crate::path::read_path;
use crate::plan::{Alternative, Form, Source};

const WORLD: &str = r#"{
    "a": {"n": 3, "d": 1.5, "t": "text", "none": null, "yes": true, "list": [1, 2, 3], "first-name": "Ada", "in": 4},
    "rows": [{"id": "x", "v": 1, "tags": ["p"]}, {"id": "y", "v": 2.5, "tags": []}, {"id": "z"}],
    "fetch-user": {"name": "Bo"},
    "big": 18446744073709551615,
    "empty": []
}"#;

/// Resolves forms as an engine does, from an object with the outputs of steps.
pub(super) fn resolve(
    form: &Form,
    world: &Value,
    limits: &EvaluationLimits,
) -> Result<Value, EvaluationError> {
    let Form::First(alternatives) = form else {
        panic!("`all(…)` is not for this test");
    };
    let mut last = Err(EvaluationError::Missing("nothing".into()));
    for alternative in alternatives {
        last = match alternative {
            Alternative::Literal(value) => Ok(value.clone()),
            Alternative::Read(read) => {
                let root = match &read.source {
                    Source::Step(id) => world.get(id.as_str()).cloned(),
                    Source::Index => Some(Value::from(4_i64)),
                    _ => None,
                };
                match root {
                    Some(root) => read_path(&root, &read.path, read.missing).map_err(Into::into),
                    None => Err(EvaluationError::Missing(format!("no {:?}", read.source))),
                }
            }
            Alternative::Expression(expression) => evaluate(expression, world, limits),
        };
        if !matches!(last, Err(EvaluationError::Missing(_))) {
            break;
        }
    }
    last
}

fn evaluate(
    expression: &Expression,
    world: &Value,
    limits: &EvaluationLimits,
) -> Result<Value, EvaluationError> {
    let values: Result<Vec<Value>, EvaluationError> = expression
        .bindings()
        .iter()
        .map(|form| resolve(form, world, limits))
        .collect();
    expression.evaluate(&values?, limits)
}

/// Evaluates `text`.
pub(super) fn compute(text: &str) -> Result<Value, EvaluationError> {
    let world = Value::from_json(WORLD).unwrap();
    let form = parse_form(text).unwrap_or_else(|error| panic!("{text}: {error:?}"));
    let limits = EvaluationLimits {
        // 2025-10-12T09:30:00.25Z
        now: Some(std::time::Duration::from_millis(1_760_261_400_250)),
        ..EvaluationLimits::default()
    };
    resolve(&form, &world, &limits)
}

pub(super) fn check(text: &str, expected: &str) {
    let found = match compute(text) {
        Ok(value) => value.to_json(),
        Err(error) => error.to_string(),
    };
    assert_eq!(found, expected, "{text}");
}

#[test]
fn numbers() {
    check("a.n + 1", "4");
    check("a.n + 1.5", "4.5");
    check("1 + 1.5", "2.5");
    check("a.d * 2", "3.0");
    check("7 / 2", "3");
    check("-7 / 2", "-3");
    check("7 % 3", "1");
    check("7.0 / 2", "3.5");
    check("2 + 3 * 4 - 1", "13");
    check("10 - 2 - 3", "5");
    check("(1 + 2) * 3", "9");
    check("-a.n", "-3");
    check("- -a.n + 0", "3");
    check("--a.n", "3");
    check("big - 1", "18446744073709551614");
    check("big + 1", "the result is not a number that JSON can hold");
    check("0x1f + 1u", "32");
    check("1 / 0", "1 cannot be divided by zero");
    check("1 % 0", "1 cannot be divided by zero");
    check("1.0 / 0", "the result is not a number that JSON can hold");
    check(
        "-9223372036854775808 - 1",
        "the result is not a number that JSON can hold",
    );
    check("-9223372036854775808 / -1", "9223372036854775808");
    check("1e3 + 0", "1000.0");
    check("a.n - 1", "2");
    check("index + 1", "5");
}

#[test]
fn comparisons() {
    check("1 < 1.5", "true");
    check("3 == 3.0", "true");
    check("a.n == 3.0", "true");
    check("a.n > 2 && a.d <= 1.5", "true");
    check("big > 9223372036854775807", "true");
    check("big == 18446744073709551615.0", "false");
    check("9007199254740993 == 9007199254740992.0", "false");
    check("9007199254740993 > 9007199254740992.0", "true");
    check("-1.5 > -2", "true");
    check("1e300 > big", "true");
    check("a.none == null", "true");
    check("a.t != null", "true");
    check("a.t == 'text'", "true");
    check("a.t < \"u\"", "true");
    check("a.n == '3'", "false");
    check("a.n < '3'", "`<` cannot combine a number and text");
    check("[1, 2.0] == [1.0, 2]", "true");
    check("{'a': 1, 'b': 2} == {'b': 2, 'a': 1}", "true");
    check("{'a': 1} == {'a': 1, 'b': 2}", "false");
    check("\"n\" in a", "true");
    check("\"m\" in a", "false");
    check("2 in a.list", "true");
    check("2.0 in a.list", "true");
    check("4 in [a.n, 5]", "false");
    check("'b' in 'abc'", "true");
    check("'ac' in 'abc'", "false");
    check("1 in 'abc'", "`in` cannot combine a number and text");
    check("1 in 2", "`in` cannot combine a number and a number");
    check("1 < 2 == true", "true");
}

#[test]
fn conditions() {
    check("a.yes ? 1 : 2", "1");
    check("a.n > 3 ? 'more' : a.n == 3 ? 'same' : 'less'", "\"same\"");
    check("a.yes ? a.n > 5 ? 1 : 2 : 3", "2");
    check("a.yes?1:2", "1");
    check("a.yes && !a.yes", "false");
    check("!a.yes || a.yes", "true");
    check("!!a.yes", "true");
    check("a.n && true", "`&&` needs true or false, found a number");
    check("false && a.nope", "false");
    check("a.nope && false", "false");
    check("a.nope || true", "true");
    check("!a.n", "`!` needs true or false, found a number");
    check("a.n ? 1 : 2", "`?` needs true or false, found a number");
}

#[test]
fn text() {
    check("a.t + '!'", "\"text!\"");
    check("'a' + \"b\" + 'c'", "\"abc\"");
    check("a.t + 1", "`+` cannot combine text and a number");
    check("a.t + string(a.n)", "\"text3\"");
    check("size('äöü') + 0", "3");
    check("a.t.size() + 0", "4");
    check("a.t.contains('ex')", "true");
    check("a.t.startsWith('te') && a.t.endsWith('xt')", "true");
    check("a.t.matches('^t.xt$')", "true");
    check("matches(a.t, 'x')", "true");
    check("a.t.matches(a.t + '$')", "true");
    check("a.t.matches('(' + a.t)", "the pattern `(text` is malformed");
    check("a.n.matches('3')", "`matches` does not work on a number");
    check("'a,b,c'.split(',')", r#"["a","b","c"]"#);
    check("'abc'.split('', 2)", r#"["a","bc"]"#);
    check("'a-b'.replace('-', '+').upperAscii()", "\"A+B\"");
    check("['a', 'b'].join('/')", "\"a/b\"");
    check("['a', a.t].join()", "\"atext\"");
    check("' x '.trim() + 'y'", "\"xy\"");
    check("'äbc'.substring(1) + 'äbc'.substring(0, 1)", "\"bcä\"");
    check("'abc'.substring(2, 1)", "`substring` ends before it begins");
    check(
        "'abc'.substring(5)",
        "the position `5` is outside of the text",
    );
    check("'äbcb'.indexOf('b') * 10 + 'äbcb'.lastIndexOf('b')", "13");
    check("'abc'.indexOf('z') + 0", "-1");
    check("'abc'.charAt(1) + 'abc'.charAt(3)", "\"b\"");
    check("'abc'.reverse()", "\"cba\"");
    check(
        r"'\u00e4\x41\n' + r'\n' + '\ud83d\ude00'",
        "\"äA\\n\\\\n😀\"",
    );
    check("'''it's''' + \"\"\"a\"b\"\"\"", r#""it'sa\"b""#);
    check("'' + ''", "\"\"");
    check("int('12') + int(3.9) + int('-2')", "13");
    check("double('1.5') + 1", "2.5");
    check("bool('true') && true", "true");
    check("int(' 1')", "the text ` 1` is not a whole number");
    check("uint(-0.5)", "`0` is negative");
    check("int('x')", "the text `x` is not a whole number");
    check("uint(-1)", "`-1` is negative");
    check("string({'a': [1, null]})", r#""{\"a\":[1,null]}""#);
}

#[test]
fn lists_and_objects() {
    check("rows.map(r, r.id)", r#"["x","y","z"]"#);
    check("rows.filter(r, has(r.v)).map(r, r.v * 2)", "[2,5.0]");
    check("rows.map(r, has(r.v) && r.v > 1, r.id)", r#"["y"]"#);
    check("rows.all(r, r.id != '')", "true");
    check("rows.exists(r, r.v > 2)", "true");
    check("rows.exists_one(r, r.id == 'x')", "true");
    check("rows.all(r, r.v > 0)", "there is no `v`; known are `id`");
    check("rows.all(r, r.v > 1)", "false");
    check(
        "a.list.map(x, a.list.map(y, x * y))",
        "[[1,2,3],[2,4,6],[3,6,9]]",
    );
    check(
        "a.list.map(x, a.list.filter(x, x > 1))",
        "[[2,3],[2,3],[2,3]]",
    );
    check("size(rows) + rows[1].tags.size()", "3");
    check("size(a) > 2", "true");
    check("a.list + [4]", "[1,2,3,4]");
    check("a.list[index - 4] + 0", "1");
    check("a['li' + 'st']", "[1,2,3]");
    check("a.list[-1] + a.list[1.0 + 1]", "6");
    check("rows[*].id + ['w']", r#"["x","y","z","w"]"#);
    check(
        "size(rows[*].tags[*])",
        "there is no `tags`; known are `id`",
    );
    check("size(rows[*?].v) + 0", "3");
    check("rows.map(r, r.tags?)", r#"[["p"],[],null]"#);
    check(
        "{'id': a.n, 'all': [a.t, null]}",
        r#"{"id":3,"all":["text",null]}"#,
    );
    check("{a.t: 1}", r#"{"text":1}"#);
    check("{a.t: 1, 'te' + 'xt': 2}", "the key `text` appears twice");
    check("{a.n: 1}", "a key must be text");
    check("a.filter(key, key.startsWith('n'))", r#"["n","none"]"#);
    check("[3, 1, 2.5].sort()", "[1,2.5,3]");
    check(
        "[3, 'x'].sort()",
        "`sort` does not work on a number and text",
    );
    check(
        "rows.sortBy(r, -size(r.id + r.id.replace('x', ''))).map(r, r.id)",
        r#"["y","z","x"]"#,
    );
    check("[1, 2, 1.0].distinct()", "[1,2]");
    check("[[1], [2, [3]], 4].flatten()", "[1,2,[3],4]");
    check("[[1], [2, [3]], 4].flatten(9)", "[1,2,3,4]");
    check("a.list.reverse().slice(0, 2)", "[3,2]");
    check("lists.range(3).map(i, i * i)", "[0,1,4]");
    check("math.greatest(1, 2.5, 2) + math.least(a.list)", "3.5");
    check("math.round(2.5) + math.floor(-0.5) + math.abs(-2)", "4.0");
    check("math.abs(-0.0)", "0.0");
    check("a.sortBy(key, key)", "`sortBy` does not work on an object");
    check("null in a", "`in` cannot combine null and an object");
    check(
        "math.greatest([])",
        "`math.greatest` needs at least one number, found none",
    );
    check("a.t.map(x, x)", "there are no items in text");
    check("[1].map(steps, steps + 1)", "[2]");
}

#[test]
fn missing_parts() {
    check("has(a.n) && !has(a.m)", "true");
    check("has(a.m.n.o)", "false");
    check("has(a['t'])", "true");
    check("has(a.none)", "true");
    check(
        "a.m + 1",
        "there is no `m`; known are `d`, `first-name`, `in`, `list`, `n`, `none`, `t`, `yes`",
    );
    check("a.m ?? 'none'", "\"none\"");
    check("a.m.x ?? b.y ?? a.n", "3");
    check("a.none ?? 1", "null");
    check("(a.m ?? 0) + 1 > 0", "true");
    check("size(a.m ?? [1, 2]) + 0", "2");
    check("a.n + (b ?? a.m ?? 1)", "4");
    check("a.m? == null", "true");
    check("a.m? ?? 1", "null");
    check("(b.c ?? {'d': 5}).d + 1", "6");
    check("rows.map(r, r.v ?? 0)", "[1,2.5,0]");
    check("rows.map(r, (r.v ?? r.w ?? a.n) + 1)", "[2,3.5,4]");
    check("rows.map(r, (a.m ?? 7))", "[7,7,7]");
    check(
        "rows.map(r, (a.list.filter(x, x > 1) ?? 7))",
        "[[2,3],[2,3],[2,3]]",
    );
    check("a.m + 1 ?? 'fallback'", "\"fallback\"");
    check("1 / 0 ?? 'fallback'", "1 cannot be divided by zero");
}

#[test]
fn names_that_cel_would_not_take() {
    check("a.first-name + ''", "\"Ada\"");
    check("fetch-user.name + '!'", "\"Bo!\"");
    check("steps[\"fetch-user\"].name + '!'", "\"Bo!\"");
    check("a.in + 1", "5");
    check("rows.0.v + 1", "2");
    check("a . n + 1", "4");
    check("a.n + // three\n 1", "4");
}

#[test]
fn a_result_shares_its_content() {
    let world = Value::from_json(WORLD).unwrap();
    let Ok(Form::First(alternatives)) = parse_form("a.yes ? rows : empty") else {
        panic!("a form is expected");
    };
    let [Alternative::Expression(expression)] = alternatives.as_slice() else {
        panic!("an expression is expected");
    };
    let result = evaluate(expression, &world, &EvaluationLimits::default()).unwrap();
    match (&result, world.get("rows")) {
        (Value::List(found), Some(Value::List(source))) => {
            assert!(std::sync::Arc::ptr_eq(found, source));
        }
        other => panic!("{other:?}"),
    }
}

//! Forms of other languages lead to the right form.

use crate::expression::parse_form;

fn check(text: &str, message: &str, help: &str) {
    let error = parse_form(text).unwrap_err();
    assert_eq!(
        (&*error.message, error.help.as_deref()),
        (message, Some(help)),
        "{text}"
    );
}

#[test]
fn functions() {
    check(
        "len(x)",
        "there is no function `len`",
        "did you mean `size`?",
    );
    check(
        "x.length()",
        "there is no method `length`",
        "did you mean `size`?",
    );
    check(
        "str(1)",
        "there is no function `str`",
        "did you mean `string`?",
    );
    check(
        "parseInt(x)",
        "there is no function `parseInt`",
        "did you mean `int`?",
    );
    check(
        "Object.keys(x)",
        "there is no function `Object.keys`",
        "write `object.keys()`, with the value before the dot",
    );
    check(
        "JSON.parse(x)",
        "there is no function `JSON.parse`",
        "write `json(text)`",
    );
    check(
        "json.loads(x)",
        "there is no function `json.loads`",
        "write `json(text)`",
    );
    check(
        "Math.max(1, 2)",
        "there is no function `Math.max`",
        "write `max(a, b)`",
    );
    check(
        "Math.round(x)",
        "there is no function `Math.round`",
        "write `math.round(…)`",
    );
    check(
        "math.max(1, 2)",
        "there is no function `math.max`",
        "write `max(a, b)`",
    );
    check(
        "sorted(x, key=lambda i: i.a)",
        "there is no function `sorted`",
        "write `list.sort()`, or `list.sortBy(x, x.key)`",
    );
    check(
        "x.reduce((a, b) => a + b, 0)",
        "there is no method `reduce`",
        "write `list.sum()`, `list.max()` or `list.join(', ')`",
    );
    check(
        "x.find(i => i.a)",
        "there is no method `find`",
        "write `list.filter(x, …).first()`",
    );
    check(
        "x.some(i => i.a)",
        "there is no method `some`",
        "did you mean `exists`?",
    );
    check(
        "x.match(/a/)",
        "there is no method `match`",
        "write `regex.extract(text, 'pattern')`, or `text.matches('pattern')` to test it",
    );
    check(
        "re.search('a', x)",
        "there is no function `re.search`",
        "write `regex.extract(text, 'pattern')`",
    );
    check(
        "strftime(x, '%Y')",
        "there is no function `strftime`",
        "write `date(text).format('%Y-%m-%d')`",
    );
    check(
        "datetime.now()",
        "there is no function `datetime.now`",
        "write `now()`, the time of the run",
    );
    check(
        "$sum(x)",
        "expected a value, found `$`",
        "leave out the `$`",
    );
}

#[test]
fn functions_without_a_namesake() {
    let none = "an expression has no roots, logarithms, angles and random numbers";
    check("sqrt(4)", "there is no function `sqrt`", none);
    check("Math.sqrt(4)", "there is no function `Math.sqrt`", none);
    check(
        "pow(2, 3)",
        "there is no function `pow`",
        "write the product, as in `x * x`",
    );
    check(
        "x.includes(3)",
        "there is no method `includes`",
        "write `item in list`, or `text.contains(part)`",
    );
    check(
        "regex.replace(x, 'a', 'b')",
        "there is no function `regex.replace`",
        "write `text.replace('a', 'b')`, which replaces a text and no pattern",
    );
}

#[test]
fn constant_times_and_durations() {
    let check = |text: &str, help: Option<&str>| {
        let error = parse_form(text).unwrap_err();
        assert_eq!(error.help.as_deref(), help, "{text}");
    };
    check("duration('7 days')", Some("write `duration('7d')`"));
    check("duration('1 week')", Some("write `duration('7d')`"));
    check("duration('P1D')", Some("write `duration('1d')`"));
    check("duration('PT1H30M')", Some("write `duration('1h30m')`"));
    check(
        "duration('soon')",
        Some("a duration is written like `1h30m` or `7d`"),
    );
    check("date('06.10.2025')", Some("write `date('2025-10-06')`"));
    check("date('2025/10/06')", Some("write `date('2025-10-06')`"));
    check(
        "date('yesterday')",
        Some("a date is written like `2025-10-06` or `2025-10-06T08:30:00Z`"),
    );
}

#[test]
fn steps_may_have_the_names_of_modules() {
    for text in [
        "json.items",
        "re.x + 1",
        "Date.now",
        "new.x",
        "not.y + 1",
        "json.rows.map(x, x)",
    ] {
        assert!(parse_form(text).is_ok(), "{text}");
    }
}

#[test]
fn arrows_and_comprehensions() {
    let message = "`map` needs a name for the item and then an expression";
    check("x.map(i => i.a)", message, "write `map(i, i.a)`");
    check(
        "x.map((i) => f(i.a, 1))",
        message,
        "write `map(i, f(i.a, 1))`",
    );
    check("x.map(lambda i: i.a)", message, "write `map(i, i.a)`");
    check("x.map((a, b) => a)", message, "write `list.map(x, …)`");
    check(
        "x.map(i => { return i })",
        message,
        "write `list.map(x, …)`",
    );
    check(
        "[x.a for x in y if x.b]",
        "`for` is not an operator",
        "write `y.filter(x, x.b).map(x, x.a)`",
    );
    check(
        "sum(x.n for x in y.rows)",
        "`for` is not an operator",
        "write `y.rows.map(x, x.n)`",
    );
    check(
        "[x for x in y if x > 1]",
        "`for` is not an operator",
        "write `y.filter(x, x > 1)`",
    );
    // The keys of an object.
    check(
        "[x for x in y]",
        "`for` is not an operator",
        "write `y.map(x, x)`",
    );
    let keys = "a loop over an object goes over its keys: write `object.map(k, …)`, and `object[k]` for the value";
    check(
        "x.map(k, v, {'k': k, 'v': v})",
        "`map` has one variable, not `k` and `v`",
        keys,
    );
    assert!(parse_form("x.map(k, flag, k.a)").is_ok());
    check(
        "x.all(k, v, v > 1)",
        "`all` has one variable, not `k` and `v`",
        &keys.replace("map", "all"),
    );
}

#[test]
fn operators() {
    check("a === b", "`===` is not an operator", "write `==`");
    check("a !== b", "`!==` is not an operator", "write `!=`");
    check(
        "not a",
        "`not` is not an operator",
        "write `!`, as in `!(a == b)`",
    );
    check(
        "a not in b",
        "`not` is not an operator",
        "write `!(item in list)`, and `!` for other conditions",
    );
    check(
        "a is None",
        "`is` is not an operator",
        "write `==`, as in `value == null`",
    );
    check(
        "a.x if b else c",
        "`if` is not an operator",
        "write `b ? a.x : c`",
    );
    check(
        "(a if b else c) + 1",
        "expected `)`, found `i`",
        "write `condition ? value : otherwise`",
    );
    let floor = "write `math.floor(double(a) / b)` for the quotient rounded down; a comment stands on a line of its own";
    for text in [
        "7 // 2",
        "a.x //2",
        "(a - 7)// b",
        "f(a // 2)",
        "a.x // the name",
        "'a' // b",
    ] {
        let text = text.replace("f(", "string(");
        check(&text, "`//` is not an operator", floor);
    }
    let comment = "leave out the comment, or write `//` on a line of its own";
    check("a.x /* b */ + 1", "`/*` is not an operator", comment);
    check("/* b */ a.x", "expected a value, found `/`", comment);
    for text in ["// b\na.x", "a.x\n// b\n+ 1", "a.x + // b\n1"] {
        assert!(parse_form(text).is_ok(), "{text}");
    }
    check("x | length", "`|` is not an operator", "write `x.size()`");
    check(
        "x.a | upper",
        "`|` is not an operator",
        "did you mean `upperAscii`?",
    );
    check("x.a | trim", "`|` is not an operator", "write `x.a.trim()`");
    check(
        "x.a | string",
        "`|` is not an operator",
        "write `string(x.a)`",
    );
}

#[test]
fn signs() {
    check("x.[]", "expected a field, found `[`", "write `x[*]`");
    check("x[]", "expected a value, found `]`", "write `x[*]`");
    check(
        ".a",
        "expected a value, found `.`",
        "a path begins with the id of a step, as in `step.field`",
    );
    check(
        "[...a, 1]",
        "expected a value, found `.`",
        "write `a + b` to join lists, and the fields of objects one by one",
    );
    check(
        "`a`",
        "expected a value, found ```",
        "write `'text ' + string(value)`",
    );
    check(
        "f'a {b}'",
        "a text has no `f` before it",
        "write `'text ' + string(value)`",
    );
    check(
        "new Date()",
        "`new` is not an operator",
        "write `now()`, the time of the run",
    );
}

#[test]
fn queries() {
    check(
        "rows.items[] | select(.n > 1) | .name",
        "expected a value, found `]`",
        "write `rows.items.filter(x, x.n > 1).map(x, x.name)`",
    );
    check(
        "rows | map(.name)",
        "`|` is not an operator",
        "write `rows[*].name`",
    );
    check(
        "$.rows.items[?(@.ok)].name",
        "expected a value, found `$`",
        "write `rows.items.filter(x, x.ok).map(x, x.name)`",
    );
    check(
        "rows..name",
        "expected a field, found `.`",
        "no path searches at all depths: write the fields on the way, as in `step.list[*].field`",
    );
    // The functions of the translation have to exist.
    for (text, form) in [
        ("rows | keys", "rows.keys()"),
        ("rows | unique", "rows.distinct()"),
        ("rows | sort", "rows.sort()"),
        ("rows | max", "rows.max()"),
        ("rows | group_by(.kind)", "rows.groupBy(x, x.kind)"),
        ("rows.text | test(\"^a\")", "rows.text.matches(\"^a\")"),
        ("rows.text | ascii_downcase", "rows.text.lowerAscii()"),
        ("rows.text | tonumber", "double(rows.text)"),
    ] {
        check(text, "`|` is not an operator", &format!("write `{form}`"));
    }
}

#[test]
fn times() {
    let text = "`date(…)` converts a text to a time";
    check(
        "now() > order.created",
        "`>` compares a time with a time only",
        text,
    );
    check(
        "order.created == now()",
        "`==` compares a time with a time only",
        text,
    );
    check(
        "order.created - now()",
        "a time can be subtracted from a time only",
        text,
    );
    check(
        "now() + now()",
        "two times cannot be added",
        "`date(a) - date(b)` is the seconds between them",
    );
    let error = parse_form("date('yesterday')").unwrap_err();
    assert_eq!(error.message, "the text `yesterday` is not a date");
    let error = parse_form("duration('1 week')").unwrap_err();
    assert_eq!(error.message, "the text `1 week` is not a duration");
}

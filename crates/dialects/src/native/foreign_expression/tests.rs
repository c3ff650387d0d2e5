//! Tests of forms of other languages.

use planwright_core::expression::PatternBudget;

use super::exact_form;

#[track_caller]
fn check(written: &str, expected: &str) {
    let found = exact_form(written, &mut PatternBudget::default());
    assert_eq!(found.as_deref(), Some(expected), "{written}");
}

#[test]
fn functions_and_methods() {
    check("len(a.items)", "size(a.items)");
    check("a.items.length", "a.items.size()");
    check("str(a.n)", "string(a.n)");
    check("a.x.toUpperCase()", "a.x.upperAscii()");
    check(
        "a.content.strip().splitlines()[0]",
        "a.content.trim().split('\\n')[0]",
    );
    check("', '.join(a.names)", "a.names.join(', ')");
    check("JSON.parse(a.text).city", "json(a.text).city");
    check("json.dumps(a, indent=2)", "string(a)");
    check("round(a.x, 2)", "math.round(a.x * 100) / 100.0");
    check("Math.max(a.x, 3)", "max(a.x, 3)");
    check("Object.keys(a)", "keys(a)");
    check("a.get('b', 0)", "a.b ?? 0");
    check(
        "sorted(a.items, key=lambda e: e.n, reverse=True)",
        "a.items.sortBy(e, e.n).reverse()",
    );
    check(
        "a.items.sort((x, y) => y.n - x.n)",
        "a.items.sortBy(x, x.n).reverse()",
    );
    check(
        "a.items.reduce((s, x) => s + x.n, 0)",
        "a.items.map(x, x.n).sum()",
    );
    check("range(1, 4)", "[1, 2, 3]");
    check("new Date().toISOString()", "now()");
    check("a.content[0:100]", "a.content.substring(0, 100)");
    check(
        "a.items[-3:]",
        "a.items.slice(size(a.items) - 3, size(a.items))",
    );
    check("a | upper", "a.upperAscii()");
    check("a.x | default('none')", "a.x ?? 'none'");
    check(
        "a.rows | map(attribute='n') | join(', ')",
        "a.rows.map(x, x.n).join(', ')",
    );
}

#[test]
fn operators() {
    check("a.x in ('b', 'c')", "a.x in ['b', 'c']");
    check("a.x not in ['b']", "!(a.x in ['b'])");
    check("a.x === 'b' && !a.y", "a.x == 'b' && !a.y");
    check("'b' if a.x > 2 else 'c'", "a.x > 2 ? 'b' : 'c'");
    check("a.x || 'none'", "a.x ?? 'none'");
    check("a.x == 1 and not a.y", "a.x == 1 && !a.y");
    check("a.x is None", "a.x == null");
    check("'x' + a.n", "'x' + string(a.n)");
    check("f'{a.n} degrees'", "string(a.n) + ' degrees'");
    check(
        "[e.n for e in a.items if e.n > 2]",
        "a.items.filter(e, e.n > 2).map(e, e.n)",
    );
    check("[...a.items, 1]", "a.items + [1]");
    check("sum(e.n for e in a.items)", "sum(a.items.map(e, e.n))");
    check("any(e.ok for e in a.items)", "a.items.exists(e, e.ok)");
    check("a?.b?.[0]", "a.b[0]");
    check(
        "a.items.filter(e => e.t === 'p').length",
        "a.items.filter(e, e.t == 'p').size()",
    );
}

#[test]
fn other_texts_have_no_form() {
    for text in [
        "",
        "a",
        "a b",
        "typeof a",
        "a < b < c",
        "'open",
        "(a",
        "x => x",
        "[",
        "a.b.c",
    ] {
        assert_eq!(
            exact_form(text, &mut PatternBudget::default()),
            None,
            "{text}"
        );
    }
    let deep = "(".repeat(5_000);
    assert_eq!(exact_form(&deep, &mut PatternBudget::default()), None);
    let deep = "!".repeat(5_000);
    assert_eq!(exact_form(&deep, &mut PatternBudget::default()), None);
}

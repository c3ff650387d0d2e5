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
    check("a.get('b')", "a.b?");
    check("a.get('b', {}).get('c')", "(a.b ?? {}).c?");
    check("a.get('b').c.upper()", "a.b.c.upperAscii()");
    check("not a.get('b')", "!(a.b ?? false)");
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
    check(
        "a.items.reduce((s, x) => s + x.n, 10)",
        "10 + a.items.map(x, x.n).sum()",
    );
    check("a.items.reduce((s, x) => s + x)", "a.items.sum()");
    check(
        "reduce(lambda s, x: s + x, a.items, 5)",
        "5 + a.items.sum()",
    );
    check(
        "a.items.reduce((s, x) => s + x.n, '')",
        "a.items.map(x, string(x.n)).join('')",
    );
    check("list(a.b)", "a.b.map(x, x)");
    check("list(set(a.b))", "a.b.distinct()");
    check("Array.from(a.b)", "a.b.map(x, x)");
    check("a.b | list", "a.b.map(x, x)");
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
    check(
        "[x + y for x in a.b for y in x.c if y > 1]",
        "a.b.map(x, x.c.filter(y, y > 1).map(y, x + y)).flatten()",
    );
    check(
        "any(x > y for x in a.b for y in a.c)",
        "a.b.map(x, a.c.map(y, x > y)).flatten().exists(x, x)",
    );
    check(
        "next(r for r in a.b if r.v == 1)",
        "a.b.filter(r, r.v == 1).first()",
    );
    check(
        "next((r for r in a.b if r.v == 1), None)",
        "a.b.filter(r, r.v == 1).first() ?? null",
    );
    check(
        "','.join(str(x) for x in a.b)",
        "a.b.map(x, string(x)).join(',')",
    );
    check("a.b.sort(reverse=True)", "a.b.sort().reverse()");
    check("a.b.sort(key=lambda r: r.v)", "a.b.sortBy(r, r.v)");
    check("a.b.sort((x, y) => y - x)", "a.b.sort().reverse()");
    check("a.b.toSorted((x, y) => x - y)", "a.b.sort()");
    check("group_by(a.b, r, r.g)", "a.b.groupBy(r, r.g)");
    check("a.b.includes(3)", "3 in a.b");
    check("a.b.map((r, i) => r.n)", "a.b.map(r, r.n)");
    check("a.x.includes('b')", "'b' in a.x");
    check(
        "a.b.index(3)",
        "lists.range(size(a.b)).filter(i, a.b[i] == 3).first()",
    );
    check(
        "a.x.capitalize()",
        "a.x.substring(0, 1).upperAscii() + a.x.substring(1).lowerAscii()",
    );
    check("sum(e.n for e in a.items)", "sum(a.items.map(e, e.n))");
    check("any(e.ok for e in a.items)", "a.items.exists(e, e.ok)");
    check("a?.b?.[0]", "a.b[0]?");
    check("a?.b === 1", "a.b? == 1");
    check("[k for k in a.b]", "a.b.map(k, k)");
    check("[k for k in a.b if k != 'c']", "a.b.filter(k, k != 'c')");
    check("sum([x for x in a.b])", "sum(a.b.map(x, x))");
    check("len(a.b) / 2", "size(a.b) / 2.0");
    check("len(a.b) / len(a.c)", "double(size(a.b)) / size(a.c)");
    check("sum(a[*].n) / len(a)", "avg(a[*].n)");
    check("sum(a.b[*].n) / len(a.b) * 100", "avg(a.b[*].n) * 100");
    check("sum(x.n for x in a.b) / len(a.b)", "avg(a.b.map(x, x.n))");
    check("sum(a.n) / len(b.n)", "double(sum(a.n)) / size(b.n)");
    check("100 / sum(a.n) / len(a.n)", "100.0 / sum(a.n) / size(a.n)");
    check("a.total:.0f", "math.round(a.total)");
    check("1 / len(a.b) / 2", "1.0 / size(a.b) / 2");
    check("len(a.b) / 2.5", "size(a.b) / 2.5");
    check("[n / 2 for n in a.b]", "a.b.map(n, n / 2.0)");
    check("Math.floor(a.x / 2)", "math.floor(a.x / 2.0)");
    check("a.x // 2", "math.floor(a.x / 2.0)");
    check("(a.x + 1) // a.y", "math.floor(double((a.x + 1)) / a.y)");
    check(
        "a.items.filter(e => e.t === 'p').length",
        "a.items.filter(e, e.t == 'p').size()",
    );
}

#[test]
fn forms_with_a_difference() {
    #[track_caller]
    fn differs(written: &str, expected: &str) {
        let form = super::translated(written, &mut PatternBudget::default()).unwrap();
        assert_eq!(form.text, expected, "{written}");
        assert!(form.difference.is_some(), "{written}");
    }
    differs("a.x or 'none'", "a.x ?? 'none'");
    differs("a.b?.map(x => x.n)", "a.b.map(x, x.n)");
    differs("a.x.toFixed(2)", "math.round(a.x * 100) / 100.0");
    differs("a.mean:.1f", "math.round(a.mean * 10) / 10.0");
    differs("a.text.lstrip()", "a.text.trim()");
    differs("a.text.split()", "a.text.split(' ')");
    differs("f'{a.text.splitlines()}'", "string(a.text.split('\\n'))");
    for written in ["a.x or 0", "a.x or []", "a?.x ?? 'none'", "a.get('b')"] {
        let form = super::translated(written, &mut PatternBudget::default()).unwrap();
        assert_eq!(form.difference, None, "{written}");
    }
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
        "a.b.map((r, i) => r.n + i)",
        // The start is no number, or the total is more than the first summand.
        "a.items.reduce((s, x) => s + x.n, a.start)",
        "a.items.reduce((s, x) => s + x.n)",
        "a.items.reduce((s, x) => s + x * s, 0)",
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

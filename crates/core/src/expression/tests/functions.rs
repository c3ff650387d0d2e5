//! Functions of lists, objects, patterns and times: their values and their errors. The names that expressions read, such as `a` and
//! `rows`, are those of `WORLD` in `computing.rs`.

use super::computing::check;

#[test]
fn json() {
    check(r#"json('{"a": [1, null]}').a[0] + 1"#, "2");
    check("json('[1, 2]').map(x, x + 1)", "[2,3]");
    check("json('3') + 0", "3");
    check(
        "json('{x}')",
        "the text is not JSON: key must be a string at line 1 column 2",
    );
    check("json(a.n)", "`json` does not work on a number");
}

#[test]
fn aggregates() {
    check("sum(a.list)", "6");
    check("a.list.sum() + 0.5", "6.5");
    check("sum([])", "0");
    check(
        "sum([big, 1])",
        "the result is not a number that JSON can hold",
    );
    check("sum([1, 'x'])", "`sum` does not work on text");
    check("sum('x')", "`sum` does not work on text");
    check("avg([1, 2])", "1.5");
    check("a.list.avg()", "2.0");
    check("avg([])", "`avg` needs at least one item, found none");
    check("avg(empty) ?? 0", "0");
    check("max(a.list)", "3");
    check("max(1, 2.5, 2)", "2.5");
    check("['b', 'a'].min()", "\"a\"");
    check("max('a', 'b')", "\"b\"");
    check("min([])", "`min` needs at least one item, found none");
    check("empty.max() ?? 'none'", "\"none\"");
    check("max(1, 'x')", "`max` does not work on a number and text");
    check("max([null])", "`max` does not work on null");
}

#[test]
fn ends_of_lists() {
    check("rows.first().id", "\"x\"");
    check("last(a.list)", "3");
    check(
        "empty.first()",
        "`first` needs at least one item, found none",
    );
    check("empty.last() ?? 'none'", "\"none\"");
    check("first('text')", "`first` does not work on text");
}

#[test]
fn objects() {
    check("keys({'b': 1, 'a': 2})", r#"["b","a"]"#);
    check("{'b': 1, 'a': a.n}.values()", "[1,3]");
    check("a.keys().size()", "8");
    check("keys(a.list)", "`keys` does not work on a list");
    check("values('x')", "`values` does not work on text");
}

#[test]
fn groups() {
    check(
        "rows.map(r, r.id).groupBy(x, x > 'x')",
        r#"[{"key":false,"items":["x"]},{"key":true,"items":["y","z"]}]"#,
    );
    check(
        "rows.group_by(r, has(r.v)).map(g, {'has': g.key, 'count': size(g.items)})",
        r#"[{"has":true,"count":2},{"has":false,"count":1}]"#,
    );
    // Keys are equal as values are.
    check(
        "size([1, 1.0, 2, '1', null, true, [1], [1.0]].groupBy(x, x))",
        "6",
    );
    check("empty.groupBy(x, x)", "[]");
    check(
        "rows.groupBy(r, r)",
        "an object cannot be the key of a group",
    );
    check("a.groupBy(k, k)", "`groupBy` does not work on an object");
}

#[test]
fn pairs() {
    check(
        "a.list.zip(['a', 'b', 'c'])",
        r#"[[1,"a"],[2,"b"],[3,"c"]]"#,
    );
    check("zip([1], [2], [3])", "[[1,2,3]]");
    check(
        "a.list.zip(empty)",
        "`zip` needs lists of the same length, found 3 and 0 items",
    );
    check(
        "a.list.zip('abc')",
        "`zip` does not work on a list and text",
    );
}

#[test]
fn several_sort_keys() {
    let people = "[{'n': 'b', 'a': 2}, {'n': 'a', 'a': 2}, {'n': 'c', 'a': 1}]";
    check(
        &format!("{people}.sortBy(p, [p.a, p.n]).map(p, p.n)"),
        r#"["c","a","b"]"#,
    );
    check(
        &format!("{people}.sortBy(p, [-p.a, p.n]).map(p, p.n)"),
        r#"["a","b","c"]"#,
    );
    check(
        "[[1, 'a'], [1, 2]].sortBy(x, x)",
        "`sortBy` does not work on a list and a list",
    );
    check(
        "[[1], [1, 2]].sortBy(x, x)",
        "`sortBy` does not work on a list and a list",
    );
    check("[[2], [1]].sort()", "`sort` does not work on a list");
    check(
        "[[[1]], [[2]]].sortBy(x, x)",
        "`sortBy` does not work on a list and a list",
    );
}

#[test]
fn patterns() {
    check("regex.extract('order o-12', 'o-[0-9]+')", "\"o-12\"");
    check("regex.extract('order o-12', 'o-([0-9]+)')", "\"12\"");
    check(
        "regex.extract('none', '[0-9]+')",
        "the pattern `[0-9]+` matches nothing",
    );
    check("regex.extract('none', '[0-9]+') ?? '0'", "\"0\"");
    check("regex.extractAll('a1b22', '[0-9]+')", r#"["1","22"]"#);
    check("regex.extractAll('a=1,b=2', '([a-z])=')", r#"["a","b"]"#);
    check("regex.extractAll('abc', '[0-9]')", "[]");
    check("regex.extract(a.t, '(' + a.t + ')')", "\"text\"");
    check(
        "regex.extract(a.t, '(t)' + '(e)')",
        "the pattern `(t)(e)` has more than one group",
    );
    check(
        "regex.extract(a.n, 'x')",
        "`regex.extract` does not work on a number",
    );
}

#[test]
fn times() {
    check("now()", "\"2025-10-12T09:30:00.25Z\"");
    check("date('2025-10-12')", "\"2025-10-12T00:00:00Z\"");
    check(
        "date('2025-10-12T11:00:00+02:00')",
        "\"2025-10-12T09:00:00Z\"",
    );
    check(
        "timestamp('2025-10-12T09:00:00.123456789Z')",
        "\"2025-10-12T09:00:00.123456Z\"",
    );
    check(
        "date('2025-10-12 09:00', 'Europe/Berlin')",
        "\"2025-10-12T07:00:00Z\"",
    );
    check("date('2025-10-12', '-05:30')", "\"2025-10-12T05:30:00Z\"");
    check("date(1700000000)", "\"2023-11-14T22:13:20Z\"");
    check("date(0.5)", "\"1970-01-01T00:00:00.5Z\"");
    check("date(a.t)", "the text `text` is not a date");
    check("date('2025-10-12', 'Mars')", "there is no time zone `Mars`");
    check(
        "date(1e12 + 0)",
        "the time is not in the years from 1 to 9999",
    );
    check("date(a.list)", "`date` does not work on a list");
    check("int(date('1970-01-02'))", "86400");
}

#[test]
fn durations() {
    check("duration('1h30m')", "5400");
    check("duration('2d') + duration('-1.5s')", "172798.5");
    check("duration('1500ms')", "1.5");
    check("duration('0')", "0");
    check("duration(60)", "60");
    for wrong in ["", "1", "h", "1x", "1h ", "1.2.3s", "..s"] {
        check(
            &format!("duration('{wrong}' + '')"),
            &format!("the text `{wrong}` is not a duration"),
        );
    }
}

#[test]
fn arithmetic_of_times() {
    check(
        "date('2025-10-12') + duration('36h')",
        "\"2025-10-13T12:00:00Z\"",
    );
    check(
        "duration('1s') + date('2025-10-12')",
        "\"2025-10-12T00:00:01Z\"",
    );
    check(
        "date('2025-10-12') - duration('1d')",
        "\"2025-10-11T00:00:00Z\"",
    );
    check("date('2025-10-12') + 1 + 1", "\"2025-10-12T00:00:02Z\"");
    check("date('2025-10-12') - date('2025-10-11')", "86400");
    check("now() - date('2025-10-12')", "34200.25");
    check("(now() - date('2025-10-12')) / duration('1h') > 9", "true");
    check(
        "date('2025-10-12') + a.t",
        "a number of seconds can be added to a time, not text",
    );
    check(
        "date('9999-12-29') + duration('2d')",
        "the time is not in the years from 1 to 9999",
    );
    check(
        "date('2025-10-12T02:00:00+02:00') == date('2025-10-12')",
        "true",
    );
    // As texts, the second one would come first.
    check(
        "date('2025-10-12T09:00:00Z') < date('2025-10-12T09:00:00.5Z')",
        "true",
    );
    check(
        "[date('2025-10-12T09:00:00.5Z'), date('2025-10-12T09:00:00Z')].sort().first()",
        "\"2025-10-12T09:00:00Z\"",
    );
    check(
        "max(date('2025-10-12T09:00:00.5Z'), date('2025-10-12T09:00:00Z'))",
        "\"2025-10-12T09:00:00.5Z\"",
    );
    check(
        "['2025-10-12T09:00:00.5Z', '2025-10-12T09:00:00Z'].sortBy(t, date(t)).last()",
        "\"2025-10-12T09:00:00.5Z\"",
    );
    check(
        "['2025-10-12', '2024-01-01'].map(t, date(t)).min() < now()",
        "true",
    );
}

#[test]
fn parts_of_times() {
    let parts = "[t.getFullYear(), t.getMonth(), t.getDate(), t.getDayOfMonth(), t.getDayOfWeek(), t.getDayOfYear()]";
    check(
        &format!("[date('2025-10-12')].map(t, {parts})"),
        "[[2025,9,12,11,0,284]]",
    );
    check(
        "[now()].map(t, [t.getHours(), t.getMinutes(), t.getSeconds(), t.getMilliseconds()])",
        "[[9,30,0,250]]",
    );
    check("now().getHours('Europe/Berlin')", "11");
    check("now().getHours('+05:30')", "15");
    check(
        "a.n.getFullYear()",
        "`getFullYear` does not work on a number",
    );
    check("a.t.getFullYear()", "the text `text` is not a date");
}

#[test]
fn written_times() {
    check("now().format('%Y-%m-%d')", "\"2025-10-12\"");
    check(
        "now().format('%d.%m.%Y %H:%M', 'Europe/Berlin')",
        "\"12.10.2025 11:30\"",
    );
    check(
        "date('2025-10-12').format('%A, %B %-d')",
        "\"Sunday, October 12\"",
    );
    check(
        "now().format(a.list)",
        "`format` does not work on text and a list",
    );
}

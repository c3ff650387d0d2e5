//! Parsing of texts between `${` and `}`: their forms and their errors.

use crate::expression::parse_form;
use crate::plan::{Alternative, Form, Missing, Read, Segment};

/// Formats the form as a short text: `source path missing`, alternatives separated by `|`.
fn outline(form: &Form) -> String {
    match form {
        Form::All(reads) => {
            let reads: Vec<String> = reads.iter().map(outline_read).collect();
            format!("all of {}", reads.join(" | "))
        }
        Form::First(alternatives) => {
            let parts: Vec<String> = alternatives.iter().map(outline_alternative).collect();
            parts.join(" | ")
        }
    }
}

fn outline_alternative(alternative: &Alternative) -> String {
    match alternative {
        Alternative::Read(read) => outline_read(read),
        Alternative::Literal(value) => value.to_json(),
        Alternative::Expression(expression) => {
            let bindings: Vec<String> = expression.bindings().iter().map(outline).collect();
            let reads: Vec<String> = expression.reads().into_iter().map(outline_read).collect();
            format!(
                "cel `{}` binds ({}) reads ({})",
                expression.text(),
                bindings.join(", "),
                reads.join(", ")
            )
        }
    }
}

fn outline_read(read: &Read) -> String {
    let mut text = format!("{:?}", read.source)
        .replace("StepId(", "")
        .replace(['(', ')', '"'], " ");
    text.truncate(text.trim_end().len());
    for segment in &read.path {
        if matches!(segment, Segment::Key(_)) {
            text.push('.');
        }
        text.push_str(&segment.to_string());
    }
    text.push_str(match read.missing {
        Missing::Fail => "",
        Missing::Null => " or null",
        Missing::NullInItems => " or null in items",
    });
    text
}

fn check(text: &str, expected: &str) {
    let found = match parse_form(text) {
        Ok(form) => outline(&form),
        Err(error) => format!("{}: {}", error.offset, error.message),
    };
    assert_eq!(found, expected, "{text}");
}

fn check_help(text: &str, expected: &str) {
    let error = parse_form(text).expect_err(text);
    assert_eq!(error.help.as_deref(), Some(expected), "{text}");
}

#[test]
fn paths() {
    check("a", "Step  a");
    check(" a ", "Step  a");
    check("a.b[0].c[-1]", "Step  a.b[0].c[-1]");
    check("rows.0.x", "Step  rows.0.x");
    check("rows[*].id", "Step  rows[*].id");
    check("rows[*?].id", "Step  rows[*].id or null in items");
    check("fetch-user.first-name", "Step  fetch-user.first-name");
    check("a.größe.名前", "Step  a.größe.名前");
    check("größe", "Step  größe");
    check("a[\"odd key\"]['other'].x", "Step  a.odd key.other.x");
    check("a[\"0\"]", "Step  a.0");
    check("a [ 0 ] . b", "Step  a[0].b");
    check("a.b?", "Step  a.b or null");
    check("(a.b).c", "Step  a.b.c");
    check("(a[*].b)", "Step  a[*].b");
    check("((a[*].b))?", "Step  a[*].b or null");
    check("inputs.city", "Slot Inputs.city");
    check("inputs", "Slot Inputs");
    check("vars.x.y", "Slot Vars.x.y");
    check("slots.state.user.name", "Slot State.user.name");
    check("slots[\"data\"].x", "Slot Data.x");
    check("item.x", "Item.x");
    check("index", "Index");
    check("last.done", "Last.done");
    check("steps[\"an odd id\"].x", "Step  an odd id.x");
    check("steps.0.x", "Step  0.x");
    check("steps.inputs", "Step  inputs");
    check("results[\"a\"].error.message", "Result  a.error.message");
    check("results.a.success", "Result  a.success");
    check("a.in.null.true", "Step  a.in.null.true");
    check("items.x", "Step  items.x");
    check("a.0e1", "Step  a.0e1");
}

#[test]
fn alternatives() {
    check("a.x ?? b.y ?? \"none\"", "Step  a.x | Step  b.y | \"none\"");
    check("a??b", "Step  a | Step  b");
    check("(a ?? b) ?? c", "Step  a | Step  b | Step  c");
    check("a ?? -1.5", "Step  a | -1.5");
    check("a ?? null", "Step  a | null");
    check("a ?? [1, {\"b\": 'c'}]", "Step  a | [1,{\"b\":\"c\"}]");
    check("a ?? {}", "Step  a | {}");
    check("'?? }' ?? b", "\"?? }\" | Step  b");
    check("true", "true");
    check("18446744073709551615", "18446744073709551615");
    check("-9223372036854775808", "-9223372036854775808");
    check("all(a.x, slots.state.y)", "all of Step  a.x | Slot State.y");
    check("all ( a )", "all of Step  a");
    check("all.x", "Step  all.x");
    check(
        "a + 1 ?? 0",
        "cel `a + 1` binds (Step  a) reads (Step  a) | 0",
    );
}

#[test]
fn computations() {
    check(
        "a.x.y > 3 && a.z == b[0]",
        "cel `a.x.y > 3 && a.z == b[0]` binds (Step  a, Step  b) reads (Step  a.x.y, Step  a.z, Step  b[0])",
    );
    check(
        "inputs.n + slots.state.m * index",
        "cel `inputs.n + slots.state.m * index` binds (Slot Inputs, Slot State, Index) reads (Slot Inputs.n, Slot State.m, Index)",
    );
    check(
        "(a.n ?? 0) + 1 > 3",
        "cel `(a.n ?? 0) + 1 > 3` binds (Step  a.n | 0) reads (Step  a.n or null)",
    );
    check(
        "(a[*].b)[0].c",
        "cel `(a[*].b)[0].c` binds (Step  a) reads (Step  a[*].b)",
    );
    check(
        "size(a[*].v)",
        "cel `size(a[*].v)` binds (Step  a) reads (Step  a[*].v)",
    );
    check(
        "a.b? == null",
        "cel `a.b? == null` binds (Step  a.b or null) reads (Step  a.b or null)",
    );
    check(
        "has(a.b) ? a.b : 1",
        "cel `has(a.b) ? a.b : 1` binds (Step  a) reads (Step  a.b or null, Step  a.b or null)",
    );
    check(
        "rows.items.filter(r, r.ok && r.n > b.n)",
        "cel `rows.items.filter(r, r.ok && r.n > b.n)` binds (Step  rows, Step  b) reads (Step  rows.items, Step  b.n)",
    );
    check(
        "rows.map(r, r.n ?? b.n)",
        "cel `rows.map(r, r.n ?? b.n)` binds (Step  rows, Step  b) reads (Step  rows, Step  b.n)",
    );
    check(
        "rows.map(r, b.m ?? b.n)",
        "cel `rows.map(r, b.m ?? b.n)` binds (Step  rows, Step  b.m | Step  b.n) reads (Step  rows, Step  b.m or null, Step  b.n or null)",
    );
    check(
        "a.list[index]",
        "cel `a.list[index]` binds (Step  a, Index) reads (Step  a.list, Index)",
    );
    check(
        "a ? b : c",
        "cel `a ? b : c` binds (Step  a, Step  b, Step  c) reads (Step  a, Step  b, Step  c)",
    );
    check(
        "a.b?[1]:[2]",
        "cel `a.b?[1]:[2]` binds (Step  a) reads (Step  a.b)",
    );
    check(
        "((a.n + 1) ?? 0) * 2",
        "cel `((a.n + 1) ?? 0) * 2` binds (cel `(a.n + 1)` binds (Step  a) reads (Step  a.n) | 0) reads (Step  a.n or null)",
    );
    check("a - 1", "cel `a - 1` binds (Step  a) reads (Step  a)");
    check("math.x", "Step  math.x");
}

#[test]
fn mistakes() {
    check("", "0: the reference is empty");
    check("  ", "0: the reference is empty");
    check("a b", "2: expected an operator, found `b`");
    check("a.", "2: expected a field, found the end");
    check("a..b", "2: expected a field, found `.`");
    check("a.b!", "3: expected an operator, found `!`");
    check("a[", "2: expected a value, found the end");
    check("a[0", "3: expected `]`, found the end");
    check("a[1.5]", "2: `1.5` counts no item");
    check("a[true]", "2: brackets need a number, a text or `*`");
    check("a +", "3: expected a value, found the end");
    check("(a", "2: expected `)`, found the end");
    check("a)", "1: expected an operator, found `)`");
    check("a ? b", "5: expected `:`, found the end");
    check("a = b", "2: `=` compares nothing");
    check("a and b", "2: `and` is not an operator");
    check("a or b", "2: `or` is not an operator");
    check("a | b", "2: `|` is not an operator");
    check("a & b", "2: `&` is not an operator");
    check("a?.b", "1: `?.` is not an operator");
    check("1.a", "1: `1` has no parts");
    check("true[0]", "4: `true` has no parts");
    check("12ab", "0: the name `12ab` begins with a digit");
    check(
        "18446744073709551616",
        "0: the number is malformed or too large",
    );
    check("1e999", "0: the number is malformed or too large");
    check("'open", "0: the quoted text does not end");
    check("'\\q'", "1: the escape is not a character");
    check("'\\ud83d'", "1: the escape is not a character");
    check(
        "steps",
        "5: `steps` needs a name that is known before the run",
    );
    check(
        "steps[a.id].x",
        "5: `steps` needs a name that is known before the run",
    );
    check(
        "steps[0]",
        "5: `steps` needs a name that is known before the run",
    );
    check(
        "results[item]",
        "7: `results` needs a name that is known before the run",
    );
    check("slots.other.x", "0: there are no slots called `other`");
    check("siz(a)", "0: there is no function `siz`");
    check("a.sise()", "2: there is no method `sise`");
    check("size()", "0: `size` takes 1 argument, found 0");
    check("a.contains()", "2: `contains` takes 1 argument, found 0");
    check(
        "'a'.replace('b')",
        "4: `replace` takes 2 to 3 arguments, found 1",
    );
    check(
        "math.least()",
        "0: `math.least` takes at least 1 argument, found 0",
    );
    check(
        "a.map(x)",
        "2: `map` needs a name for the item and then an expression",
    );
    check(
        "a.map(x.y, 1)",
        "2: `map` needs a name for the item and then an expression",
    );
    check(
        "a.filter(x, 1, 2)",
        "2: `filter` has a wrong number of arguments",
    );
    check("a.map(r, r-1)", "9: `r-1` is read as one name");
    check("map(a, 1)", "0: `map` needs a list before it");
    check("1 + all(a, b)", "4: `all` needs a list before it");
    check("all(a + 1)", "4: `all(…)` takes paths only");
    check("all(a) + 1", "7: `all(…)` stands alone");
    check("all()", "4: expected a value, found `)`");
    check("has(a)", "0: `has` needs a path to a field");
    check("a.matches('(')", "2: the pattern `(` is malformed");
    // Found by fuzzing: nested case-insensitive sets took seconds to compile.
    check(
        &format!("a.matches('(?i){}')", "[^a&&".repeat(25)),
        "2: the pattern has more than 24 sets of characters in brackets",
    );
    // Named sets and set operations are as costly.
    for sets in [
        r"\\p{Any}".repeat(400),
        r"\\PL".repeat(25),
        format!("[{}]", r"\\p{Any}".repeat(24)),
        format!("[{}a]", r"\\s\\S&&".repeat(24)),
    ] {
        for flags in ["(?i)", "(?x)( ?i)", "(?s-mi:a)"] {
            check(
                &format!("a.matches('{flags}{sets}')"),
                "2: the pattern ignores case and has more than 24 sets of characters",
            );
        }
    }
    check("{1: 2}", "1: a key must be text");
    check("{'a': 1, 'a': 2}", "9: the key `a` appears twice");
    check("b'x'", "0: bytes are not values here");
    check("in", "0: `in` has no value before it");
    check("a b}", "2: expected an operator, found `b`");
    check("!-a", "1: expected a value, found `-`");
    check("größe b", "8: expected an operator, found `b`");
    check("'x'?", "3: `?` needs a path before it");
}

#[test]
fn patterns_that_take_long_have_a_way_out() {
    check_help(
        &format!("a.matches('(?i){}')", r"\\pL".repeat(25)),
        "let fewer patterns ignore case, or write both cases, as `[aA]`",
    );
}

#[test]
fn patterns_with_sets_of_characters() {
    for pattern in [
        r"(?i)^[^@\\s]+@[^@\\s]+\\.[a-z]{2,}$".to_owned(),
        r"(?i)\\p{Lu}-{40}BEGIN ----------------------------------------------------".to_owned(),
        r"(?i)\\[\\w\\W\\]".to_owned(),
        r"\\p{Any}".repeat(100),
        r"\\[".repeat(100),
        "colou?r(s?ing)?".to_owned(),
    ] {
        assert!(
            parse_form(&format!("a.matches('{pattern}')")).is_ok(),
            "{pattern}"
        );
    }
}

#[test]
fn advice() {
    check_help("1.a", "write `steps['1']` for the step of that name");
    check_help("a or b", "write `||`");
    check_help("siz(a)", "did you mean `size`?");
    check_help("len(a)", "did you mean `size`?");
    check_help("a.toUpperCase()", "did you mean `upperAscii`?");
    check_help("contains(a)", "write `value.contains(…)`");
    check_help("a.int()", "write `int(value)`");
    check_help("a.lowerAsci()", "did you mean `lowerAscii`?");
    check_help("steps[a]", "write `steps['id']`");
    check_help("a.map(r, r-1)", "put spaces around the `-`");
    check_help("12ab", "write `steps['12ab']` for the step of that name");
}

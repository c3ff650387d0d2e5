//! Fixes write a plan as it is read, keep comments and formatting, and never change what a plan does.

use planwright_core::Value;
use planwright_dialects::native::Native;
use planwright_dialects::{Dialect, ParseResult, ReadOptions, parse};

use crate::golden::cases;

fn read(text: &str) -> ParseResult {
    parse(text.as_bytes(), &ReadOptions::new("plan.json"))
}

/// `text` with all fixes, reading by reading.
pub(crate) fn fixed(text: &str) -> String {
    let mut text = text.to_owned();
    for _ in 0..10 {
        match read(&text).diagnostics.apply_fixes(&text) {
            Some(next) => text = next,
            None => break,
        }
    }
    text
}

/// The plan of a text in the native dialect.
fn plan(result: &ParseResult) -> Option<String> {
    Native.print(result.plan.as_ref()?).0
}

#[track_caller]
fn check(before: &str, after: &str) {
    assert_eq!(fixed(before), after);
    let (before, after) = (read(before), read(after));
    assert!(
        !after.diagnostics.has_problems(),
        "{:#?}",
        after.diagnostics
    );
    if !before.diagnostics.has_errors() {
        assert_eq!(plan(&before), plan(&after));
        assert_eq!(before.dialect, after.dialect);
    }
}

/// Fails if something is fixed, or if there are no diagnostics.
#[track_caller]
fn check_unfixed(text: &str) {
    assert!(!read(text).diagnostics.is_empty(), "{text}");
    assert_eq!(fixed(text), text);
}

#[test]
fn notations_of_other_languages() {
    check(
        "{'steps': [{id: 'a', 'tool': \"t\", 'args': {'x': True, 'y': None, 'z': 'it\\'s \"so\"'}}]};\n",
        "{\"steps\": [{\"id\": \"a\", \"tool\": \"t\", \"args\": {\"x\": true, \"y\": null, \"z\": \"it's \\\"so\\\"\"}}]}\n",
    );
    check(
        "{\"steps\": [ # here\n  {\"id\": \"a\", \"tool\": \"t\"}, /* kept */\n]}\n",
        "{\"steps\": [ // here\n  {\"id\": \"a\", \"tool\": \"t\"}, /* kept */\n]}\n",
    );
}

#[test]
fn texts_around_plans() {
    let plan = "{\"steps\": [{\"id\": \"a\", \"tool\": \"t\"}]}";
    check(&format!("```json\n{plan}\n```\n"), &format!("{plan}\n"));
    check(&format!("{{\"plan\": {plan}}}"), plan);
    check("[{\"id\": \"a\", \"tool\": \"t\"}]\n", &format!("{plan}\n"));
    // Words around a plan are for people.
    check_unfixed(&format!("Here it is:\n```json\n{plan}\n```\n"));
    check_unfixed(&format!("Sure:\n{plan}\nGood luck!\n"));
    check_unfixed(&format!("{{\"plan\": {plan} // why\n}}"));
    check_unfixed(&format!("{{\"plan\": {plan}, \"goal\": \"a\"}}"));
}

#[test]
fn fields_of_other_systems() {
    check(
        "{\"tasks\": [\n  {\"id\": \"a\", \"tool\": \"t\"},\n  {\"id\": \"b\", \"tool\": \"t\", \"params\": {}, \"depends_on\": \"a\"} // last\n]}",
        "{\"steps\": [\n  {\"id\": \"a\", \"tool\": \"t\"},\n  {\"id\": \"b\", \"tool\": \"t\", \"args\": {}, \"after\": [\"a\"]} // last\n]}",
    );
    check(
        "{\"steps\": [{\"id\": \"a\", \"tool\": \"t\"}, {\"id\": \"b\", \"tool\": \"t\", \"dependsOn\": [\"a\"], \"if\": \"a.ok\", \"retries\": 2, \"timeout_ms\": 50}]}",
        "{\"steps\": [{\"id\": \"a\", \"tool\": \"t\"}, {\"id\": \"b\", \"tool\": \"t\", \"after\": [\"a\"], \"when\": \"${a.ok}\", \"retry\": 3, \"timeout\": \"50ms\"}]}",
    );
    check(
        "{\"steps\": [{\"tool\": \"t\", \"agrs\": {}}, {\n    \"tool\": \"t\"\n  }]}",
        "{\"steps\": [{\"id\": \"t\", \"tool\": \"t\", \"args\": {}}, {\n    \"id\": \"t_2\",\n    \"tool\": \"t\"\n  }]}",
    );
    check(
        "{\"steps\": [{\"id\": \"a\", \"tool\": \"t\", \"type\": \"tool\", \"reason\": \"because\"}], \"goal\": \"all\"}",
        "{\"steps\": [{\"id\": \"a\", \"tool\": \"t\", \"note\": \"because\"}], \"description\": \"all\"}",
    );
    check(
        "{\"steps\": [{\"id\": \"a\", \"tool\": \"t\", \"when\": \"inputs.x > 1\"}], \"inputs\": {\"x\": {}}}",
        "{\"steps\": [{\"id\": \"a\", \"tool\": \"t\", \"when\": \"${inputs.x > 1}\"}], \"inputs\": {\"x\": {}}}",
    );
}

#[test]
fn values_whose_text_is_known() {
    let step = |args: &str| format!("{{\"steps\": [{{\"id\": \"a\", \"tool\": \"t\", {args}}}]}}");
    check(
        &step("\"args\": \"{\\\"x\\\": 1}\""),
        &step("\"args\": {\"x\":1}"),
    );
    check(
        &step("\"args\": {\"x\": 1}, \"note\": \"n\", \"args\": {\"y\": {}}"),
        &step("\"args\": {\"x\": 1, \"y\": {}}, \"note\": \"n\""),
    );
    check_unfixed(&step("\"args\": {\"x\": 1}, \"args\": {\"x\": 2}"));
    let with_input = |input: &str, text: &str| {
        format!(
            "{{\"inputs\": {{\"x\": {input}}}, \"steps\": [{{\"id\": \"a\", \"tool\": \"t\", \"args\": {{\"y\": {text}}}}}]}}"
        )
    };
    check(
        &with_input("\"orders\"", "inputs.x + \" and \\\"\" + inputs.x"),
        &with_input(
            "{\"default\": \"orders\"}",
            "\"${inputs.x} and \\\"${inputs.x}\"",
        ),
    );
    check_unfixed(&with_input("\"the table to read\"", "\"${inputs.x}\""));
    check(
        "{\"steps\": [{\"id\": \"a\", \"tool\": \"t\"}, {\"id\": \"b\", \"tool\": \"t\", \"confirm\": \"Go on with ${a.x}?\"}]}",
        "{\"steps\": [{\"id\": \"a\", \"tool\": \"t\"}, {\"id\": \"b\", \"tool\": \"t\", \"approval\": true, \"after\": [\"a\"]}]}",
    );
}

#[test]
fn failures_that_are_let_pass() {
    let right = "{\"steps\": [{\"id\": \"a\", \"tool\": \"t\", \"on_error\": \"continue\"}]}";
    for field in [
        "\"on_error\": \"ignore\"",
        "\"on_error\": \"skip\"",
        "\"continue_on_error\": true",
        "\"ignore_errors\": true",
        "\"allow_failure\": true",
        "\"on_failure\": \"ignore\"",
    ] {
        check(
            &format!("{{\"steps\": [{{\"id\": \"a\", \"tool\": \"t\", {field}}}]}}"),
            right,
        );
    }
    check(
        "{\"steps\": [{\"id\": \"a\", \"tool\": \"t\", \"allow_failure\": false}]}",
        "{\"steps\": [{\"id\": \"a\", \"tool\": \"t\"}]}",
    );
}

#[test]
fn problems_of_json_with_one_repair() {
    check(
        "{\"steps\": [{\"id\": \"a\" \"tool\": \"t\"} {\"id\": \"b\", \"tool\" = \"t\",, \"note\": \"x\ny\tz\"}]}",
        "{\"steps\": [{\"id\": \"a\", \"tool\": \"t\"}, {\"id\": \"b\", \"tool\" : \"t\", \"note\": \"x\\ny\\tz\"}]}",
    );
    for text in [
        "{\"steps\": [{\"id\": \"a\", \"tool\": \"t\"",
        "{\"steps\": [{\"id\": \"a\", \"tool\": \"t\", \"args\": {\"x\": \"\\d\"}}]}",
        "{\"steps\": [{\"id\": \"a\", \"tool\": t}]}",
    ] {
        check_unfixed(text);
    }
}

/// A value, the name of a tool, and a field that may be meant to do something are for people.
#[test]
fn meanings_are_not_fixed() {
    let step = |fields: &str| {
        format!("{{\"steps\": [{{\"id\": \"a\", \"tool\": \"t\"}}, {{\"id\": \"b\", {fields}}}]}}")
    };
    for fields in [
        "\"tool\": \"t\", \"next\": \"a\"",
        "\"tool\": \"t\", \"parallel\": false",
        "\"tool\": \"t\", \"on_error\": \"retry\"",
        "\"tool\": \"t\", \"if\": \"a.x == 'and' and a.y\"",
        "\"tool\": \"t\", \"timeout\": \"soon\"",
    ] {
        check_unfixed(&step(fields));
    }
}

/// The fields of a group belong to each of its steps; one that means more for all of them together is for people.
#[test]
fn groups_keep_their_fields() {
    let plan =
        |steps: &str| format!("{{\"steps\": [{{\"id\": \"a\", \"tool\": \"t\"}}, {steps}]}}");
    let (b, c) = ("\"id\":\"b\",\"tool\":\"t\"", "\"id\":\"c\",\"tool\":\"t\"");
    check(
        &plan(&format!(
            "{{\"when\": \"${{a.ok}}\", \"after\": [\"a\"], \"note\": \"x\", \"parallel\": [{{{b}}}, {{{c},\"if\":\"a.x\",\"after\":[\"b\"]}}]}}"
        )),
        &plan(&format!(
            "{{{b},\"when\":\"${{a.ok}}\",\"after\":[\"a\"]}}, {{{c},\"when\":\"${{(a.ok) && (a.x)}}\",\"after\":[\"a\",\"b\"]}}"
        )),
    );
    check(
        &plan(&format!(
            "{{\"unless\": \"a.x == 'b and c'\", \"sequence\": [{{{b}}}, {{{c}}}]}}"
        )),
        &plan(&format!(
            "{{{b},\"when\":\"${{!(a.x == 'b and c')}}\"}}, {{{c},\"after\":[\"b\"],\"when\":\"${{!(a.x == 'b and c')}}\"}}"
        )),
    );
    check(
        &plan(&format!(
            "{{\"for_each\": \"${{a.rows}}\", \"when\": \"${{a.ok}}\", \"do\": [{{{b}}}]}}"
        )),
        &plan(&format!(
            "{{{b},\"for_each\":\"${{a.rows}}\",\"when\":\"${{a.ok}}\"}}"
        )),
    );
    check(
        &plan(&format!(
            "{{\"id\": \"d\", \"for_each\": \"${{a.rows}}\", \"approval\": true, \"do\": [{{{b}}}, {{{c}}}]}}"
        )),
        &plan(&format!(
            "{{\"id\":\"d\",\"for_each\":\"${{a.rows}}\",\"max_parallel\":1,\"approval\":true,\"plan\":{{\"steps\":[{{{b}}},{{{c}}}]}}}}"
        )),
    );
    for (field, steps) in [
        ("approval", "\"approval\": true, \"parallel\""),
        ("timeout", "\"timeout\": \"1s\", \"group\""),
        (
            "on_error",
            "\"on_error\": \"continue\", \"if\": \"a.ok\", \"then\"",
        ),
        (
            "for_each",
            "\"for_each\": \"${a.rows}\", \"if\": \"a.ok\", \"then\"",
        ),
        ("retry", "\"retry\": 2, \"for_each\": \"${a.rows}\", \"do\""),
        ("when", "\"when\": \"1 < a.x < 3\", \"parallel\""),
    ] {
        let text = plan(&format!("{{{steps}: [{{{b}}}]}}"));
        check_unfixed(&text);
        let help = format!("what `{field}` of this step means");
        let found = read(&text).diagnostics;
        let mut helps = found.iter().filter_map(|found| found.help.as_deref());
        assert!(helps.any(|found| found.contains(&help)), "{found:#?}");
    }
    // A step can be waited for once it has an id.
    check(
        &plan(&format!("{{\"sequence\": [{{\"tool\":\"f\"}}, {{{c}}}]}}")),
        &plan(&format!(
            "{{\"id\":\"f\",\"tool\":\"f\"}}, {{{c},\"after\":[\"f\"]}}"
        )),
    );
    // As `when`, these would mean the opposite.
    for value in ["true", "\"1 < a.x < 3\"", "\"a.x // 2 == 1\""] {
        check_unfixed(&plan(&format!("{{{b}, \"unless\": {value}}}")));
    }
}

#[test]
fn lines_are_fixed_as_well() {
    check(
        "a = t(x='1', y=True)\nb = t(x=${a}) {'depends_on': ['a']}\n",
        "a = t(x=\"1\", y=true)\nb = t(x=${a}) {\"after\": [\"a\"]}\n",
    );
}

#[test]
fn calls_without_ids() {
    // Calls that only read need no order.
    check(
        "search(query=\"x\")\nmail.search(query=\"y\");\n",
        "search = search(query=\"x\")\nsearch_2 = mail.search(query=\"y\")\n",
    );
    check(
        "f = g()\n# then\nf(x=1)\n",
        "f = g()\n# then\nf_2 = f(x=1)\n",
    );
    // The argument of `print` becomes the output.
    check("a = f()\nprint(a)\n", "a = f()\nreturn ${a}\n");
}

/// Over all guesses of people and models: no plan becomes another one, and no error is added.
#[test]
fn guesses_keep_their_meaning() {
    let mut count = 0;
    for file in cases("guessed") {
        let Ok(text) = std::fs::read_to_string(&file) else {
            continue;
        };
        let (before, after) = (read(&text), read(&fixed(&text)));
        let errors = |result: &ParseResult| {
            let errors = result.diagnostics.iter().filter(|found| found.is_error());
            errors.count()
        };
        let file = file.display();
        assert!(errors(&after) <= errors(&before), "{file}: {after:#?}");
        if !before.diagnostics.has_errors() {
            assert_eq!(plan(&before), plan(&after), "{file}");
        }
        let fixable = |result: &ParseResult| {
            let mut found = result.diagnostics.iter();
            found.any(|found| !found.fixes.is_empty())
        };
        count += usize::from(fixable(&before));
        assert!(!fixable(&after), "{file}: {:#?}", after.diagnostics);
    }
    assert!(count > 10, "{count} of the guesses have fixes");
}

/// The text in `text` that looks like a reference of another system.
fn marker(text: &str) -> Option<&str> {
    let is_of_marker = |sign: char| sign.is_alphanumeric() || " _.-[]#%".contains(sign);
    let starts = text.match_indices(['{', '<']);
    starts
        .filter(|(start, _)| !text[..*start].ends_with('$'))
        .find_map(|(start, open)| {
            let close = if open == "{" { '}' } else { '>' };
            let inside = &text[start + 1..];
            let length = inside.find(close)?;
            let words = inside[..length].trim_matches(['{', '%', ' ']);
            let is_element = open == "<" && !words.contains([' ', '.', '_']);
            let is_marker =
                words.starts_with(char::is_alphabetic) && words.chars().all(is_of_marker);
            (is_marker && !is_element).then(|| &text[start..=start + 1 + length])
        })
}

/// All texts in `value`.
fn texts(value: &Value) -> Vec<&str> {
    match value {
        Value::Text(text) => vec![text],
        Value::List(items) => items.iter().flat_map(texts).collect(),
        Value::Object(fields) => fields.values().flat_map(texts).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) => Vec::new(),
    }
}

/// The plans that fixes make of the guesses, with the names of the files and their texts.
fn fixed_guesses() -> Vec<(String, String, ParseResult)> {
    let files = cases("guessed").into_iter();
    let fixed = files.filter_map(|file| {
        let text = std::fs::read_to_string(&file).ok()?;
        let after = fixed(&text);
        let is_sound = after != text && !read(&after).diagnostics.has_errors();
        is_sound.then(|| (file.display().to_string(), text, read(&after)))
    });
    fixed.collect()
}

/// Over all guesses: what a tool receives as text after the fixes has no reference of another system, unless a diagnostic names it.
#[test]
fn fixes_leave_no_foreign_reference() {
    let guesses = fixed_guesses();
    assert!(
        guesses.len() > 10,
        "{} of the guesses are fixed",
        guesses.len()
    );
    for (file, _, after) in guesses {
        let native = plan(&after).unwrap();
        let native = Value::from_json(&native).unwrap();
        for text in texts(&native) {
            let Some(marker) = marker(text) else {
                continue;
            };
            let mut found = after.diagnostics.iter();
            let is_named = found.any(|found| found.message.contains(marker));
            assert!(is_named, "{file}: `{marker}` in `{text}`");
        }
    }
}

/// Returns true if a field of `value` other than `id` and `tool` names `id`.
fn names(value: &Value, id: &str) -> bool {
    let is_of_id = |sign: char| sign.is_alphanumeric() || sign == '_' || sign == '-';
    match value {
        Value::Text(text) => text.split(|sign| !is_of_id(sign)).any(|word| word == id),
        Value::List(items) => items.iter().any(|item| names(item, id)),
        Value::Object(fields) => {
            let mut others = fields
                .iter()
                .filter(|(key, _)| !matches!(&***key, "id" | "tool"));
            others.any(|(_, field)| names(field, id))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

/// Over all guesses: each step that a reference of the text names is named by a reference or by `after` of the fixed plan.
#[test]
fn fixes_keep_references() {
    let mut count = 0;
    for (file, text, after) in fixed_guesses() {
        let native = Value::from_json(&plan(&after).unwrap()).unwrap();
        for step in &after.plan.as_ref().unwrap().steps {
            let id = step.id.as_str();
            let is_read = |end: &str| text.contains(&format!("${{{id}{end}"));
            if is_read("}") || is_read(".") || is_read("[") {
                assert!(names(&native, id), "{file}: no reference to `{id}` is left");
                count += 1;
            }
        }
    }
    assert!(count > 10, "{count} references are read");
}

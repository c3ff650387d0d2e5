//! Tests of the reader.

use planwright_core::{Diagnostics, PointerSegment, Value};
use proptest::prelude::*;

use super::{Document, Item, ItemKind, ReadLimits, read, read_inside};

fn read_text(text: &str) -> (Option<Document>, Diagnostics) {
    read(text, "test", 0, &ReadLimits::default())
}

fn shown(diagnostics: &Diagnostics, text: &str) -> Vec<String> {
    diagnostics
        .iter()
        .map(|diagnostic| {
            let span = diagnostic.span.unwrap_or_default();
            let spot = text.get(span.start..span.end).unwrap_or("?");
            let help = diagnostic.help.as_deref().unwrap_or("-");
            let pointer = &diagnostic.pointer;
            format!(
                "{} {pointer} <{spot}> {} | {help}",
                diagnostic.code, diagnostic.message
            )
        })
        .collect()
}

#[track_caller]
fn check_diagnostics(text: &str, wanted: &[&str]) {
    let (_, diagnostics) = read_text(text);
    assert_eq!(shown(&diagnostics, text), wanted, "{text}");
}

#[test]
fn json_is_read_as_it_stands() {
    let cases = [
        "null",
        "true",
        "[]",
        "{}",
        "\"\"",
        "0",
        "-0",
        "-1",
        "18446744073709551615",
        "-9223372036854775808",
        "1.5e3",
        "[1, [2, [3]], {\"a\": {\"b\": []}}]",
        r#"{"a": "x\n\"\\\/\b\f\r\tA😀é", "b": null, "": 1, "a.b": 2}"#,
    ];
    for text in cases {
        let (document, diagnostics) = read_text(text);
        assert!(diagnostics.is_empty(), "{text}: {diagnostics:?}");
        let wanted = Value::from_json(text).ok();
        let value = document.map(|document| document.root.to_value());
        assert_eq!(value, wanted, "{text}");
    }
}

#[test]
fn what_people_add_to_json_is_taken() {
    let plain = Value::from_json(r#"{"a": [1, 2], "b": "// no comment"}"#).ok();
    let cases = [
        "\u{feff}{\"a\": [1, 2], \"b\": \"// no comment\"}",
        "// one\n{\"a\": [1, /* two */ 2,], // three\n \"b\": \"// no comment\",} /* four */ // five",
    ];
    for text in cases {
        let (document, diagnostics) = read_text(text);
        assert!(diagnostics.is_empty(), "{text}: {diagnostics:?}");
        assert_eq!(document.map(|document| document.root.to_value()), plain);
    }
}

#[test]
fn every_value_knows_where_it_stands() {
    let text = r#" {"a/b": [1, {"~": "x"}], "c": null}"#;
    let (document, _) = read_text(text);
    let mut seen = Vec::new();
    if let Some(document) = &document {
        walk(&document.root, &mut |item| {
            let span = document.source.span(item.place).unwrap_or_default();
            let pointer = document.source.pointer(item.place).unwrap_or_default();
            seen.push(format!("{pointer} = {}", &text[span.start..span.end]));
        });
        let segments = [
            PointerSegment::Key("a/b".into()),
            PointerSegment::Index(1),
            PointerSegment::Key("~".into()),
        ];
        let place = document.source.descend(document.root.place, &segments);
        assert_eq!(
            document.source.pointer(place).as_deref(),
            Some("/a~1b/1/~0")
        );
    }
    let wanted = [
        r#" = {"a/b": [1, {"~": "x"}], "c": null}"#,
        r#"/a~1b = [1, {"~": "x"}]"#,
        "/a~1b/0 = 1",
        r#"/a~1b/1 = {"~": "x"}"#,
        r#"/a~1b/1/~0 = "x""#,
        "/c = null",
    ];
    assert_eq!(seen, wanted);
}

fn walk(item: &Item, visit: &mut dyn FnMut(&Item)) {
    visit(item);
    match &item.kind {
        ItemKind::List(items) => items.iter().for_each(|item| walk(item, visit)),
        ItemKind::Object(entries) => entries.iter().for_each(|entry| walk(&entry.item, visit)),
        _ => {}
    }
}

#[test]
fn texts_that_are_no_json() {
    check_diagnostics("", &["PW0001  <> the text is empty | give a JSON object"]);
    check_diagnostics(
        "Here is your plan:\n```json\n{}\n```",
        &[
            "PW0001  <Here is your plan:> the text is not JSON, it begins with `Here is your plan:` | give the JSON alone, without the Markdown fence around it",
        ],
    );
    check_diagnostics(
        "Sure! {\"steps\": []}",
        &[
            "PW0001  <Sure! {\"steps\": []}> the text is not JSON, it begins with `Sure! {\"steps\": []}` | give the JSON alone, without the words around it",
        ],
    );
    check_diagnostics(
        "nil",
        &["PW0001  <nil> `nil` is not a JSON value | write `null`"],
    );
}

#[test]
fn errors_of_the_structure() {
    check_diagnostics(
        "{None: 1, 1: 'x', \"c\": TRUE}",
        &[
            "PW0001  <None> the key `None` has no quotes | write `\"None\"`",
            "PW0001  <1> the key `1` has no quotes | write `\"1\"`",
            "PW0001 /c <TRUE> `TRUE` is not a JSON value | write `true`",
        ],
    );
    check_diagnostics(
        "{\"a\": [1, 2",
        &[
            "PW0001 /a <[> the list is never closed | the text may be cut off after `{\"a\": [1, 2`: give all of it, or add `]}` at its end if nothing else is missing",
        ],
    );
    check_diagnostics(
        "{\"a\": [1}",
        &["PW0001 /a <}> expected `,` or `]`, found `}` | close the list with `]` first"],
    );
    check_diagnostics(
        "[1 2 \"x\"]",
        &[
            "PW0001  <2> expected `,` or `]`, found `2` | put a comma between the two",
            "PW0001  <\"> expected `,` or `]`, found `\"` | put a comma between the two",
        ],
    );
    check_diagnostics(
        "{\"a\": 1 \"b\": }",
        &[
            "PW0001  <\"> expected `,` or `}`, found `\"` | put a comma between the two",
            "PW0001  <}> a value is missing | write a value or `null`",
        ],
    );
    check_diagnostics(
        "[,1,,2]",
        &[
            "PW0001  <,> a value is missing | write a value or `null`",
            "PW0001  <,> a value is missing | write a value or `null`",
        ],
    );
    check_diagnostics(
        "{} {}",
        &[
            "PW0001  <{}> unexpected text after the value: `{}` | a text contains one value: put several values into a list",
        ],
    );
    check_diagnostics(
        "[\"abc",
        &[
            "PW0001 /0 <\"> a text is never closed | the text may be cut off after `[\"abc`: give all of it; if nothing else is missing, add `\"` and the brackets that are open",
        ],
    );
    check_diagnostics(
        "[1] /* x",
        &["PW0001  </*> a comment is never closed | add `*/`"],
    );
    check_diagnostics(
        "[“x”]",
        &["PW0001 /0 <“> `“` has no meaning here | use straight double quotes"],
    );
    check_diagnostics(
        "{\"a\" 1}",
        &["PW0001  <1> the key `a` is not followed by `:` | write `\"key\": value`"],
    );
}

#[test]
fn errors_inside_of_values() {
    check_diagnostics(
        "{\"a\": 1,\n \"b\": {\"a\": 2}, \"a\": 3}",
        &[
            "PW0004 /a <\"a\"> the object has the key `a` twice | the first is in line 1, column 2: leave one of them out",
        ],
    );
    check_diagnostics(
        r#"["\ud83d", "\udc00x", "\ud83dA", "😀"]"#,
        &[
            r"PW0005 /0 <\ud83d> the escape `\ud83d` is half of a character | a character beyond `\uffff` takes two escapes, the first from `\ud800` to `\udbff`, the second from `\udc00` to `\udfff`",
            r"PW0005 /1 <\udc00> the escape `\udc00` is half of a character | a character beyond `\uffff` takes two escapes, the first from `\ud800` to `\udbff`, the second from `\udc00` to `\udfff`",
            r"PW0005 /2 <\ud83d> the escape `\ud83d` is half of a character | a character beyond `\uffff` takes two escapes, the first from `\ud800` to `\udbff`, the second from `\udc00` to `\udfff`",
        ],
    );
    check_diagnostics(
        "[18446744073709551616, -9223372036854775809, 1e400, 1e-400, 0e9]",
        &[
            "PW0006 /0 <18446744073709551616> the number `18446744073709551616` does not fit into 64 bits | write it as text, or with fewer digits",
            "PW0006 /1 <-9223372036854775809> the number `-9223372036854775809` does not fit into 64 bits | write it as text, or with fewer digits",
            "PW0006 /2 <1e400> the number `1e400` does not fit into 64 bits | write it as text, or with fewer digits",
            "PW0006 /3 <1e-400> the number `1e-400` does not fit into 64 bits | write it as text, or with fewer digits",
        ],
    );
    check_diagnostics(
        "[007, +1, .5, 1., 1e, 0x1f, NaN]",
        &[
            "PW0001 /0 <007> `007` is not a number as JSON writes it | leave out the leading zeros, or put it in double quotes if it is not a quantity",
            "PW0001 /1 <+1> `+1` is not a number as JSON writes it | write `1`",
            "PW0001 /2 <.5> `.5` is not a number as JSON writes it | write `0.5`",
            "PW0001 /3 <1.> `1.` is not a number as JSON writes it | write `1`",
            "PW0001 /4 <1e> `1e` is not a number as JSON writes it | put text in double quotes",
            "PW0001 /5 <0x1f> `0x1f` is not a number as JSON writes it | write `31`",
            "PW0001 /6 <NaN> `NaN` is not a JSON value | JSON has no such number: use `null` or text",
        ],
    );
    check_diagnostics(
        "[\"a\nb\n\", \"\\x\", \"\\u12g4\"]",
        &[
            "PW0001 /0 <\n> a text contains a control character that is not escaped | write `\\n`",
            "PW0001 /1 <\\x> `\\x` is not an escape | write `\\\\` for a backslash",
            "PW0001 /2 <\\u> `\\u` is not an escape | write `\\\\` for a backslash",
        ],
    );
}

#[test]
fn two_escapes_make_one_character() {
    for escaped in ["ud83d ude00", "uD83D uDE00"] {
        let text = format!("\"\\{}\"", escaped.replace(' ', "\\"));
        let (document, diagnostics) = read_text(&text);
        assert!(diagnostics.is_empty(), "{text}: {diagnostics:?}");
        let value = document.map(|document| document.root.to_value());
        assert_eq!(value, Some("\u{1f600}".into()));
    }
}

#[test]
fn a_text_with_errors_inside_of_values_is_still_a_document() {
    let (document, diagnostics) = read_text("{\"a\": 1, \"a\": [\"\\ud800\"]}");
    assert_eq!(diagnostics.len(), 2);
    let value = document.map(|document| document.root.to_value().to_json());
    assert_eq!(value.as_deref(), Some("{\"a\":[\"\u{fffd}\"]}"));
    // A malformed part with one meaning hides nothing else; what is cut off is not read.
    let read = |text: &str| {
        let (document, diagnostics) = read_text(text);
        assert!(diagnostics.has_errors(), "{text}");
        document.map(|document| document.root.to_value().to_json())
    };
    let check =
        |text: &str, value: Option<&str>| assert_eq!(read(text).as_deref(), value, "{text}");
    check("{1: 1}", Some("{\"1\":1}"));
    check("[1 2]", Some("[1,2]"));
    check(
        "{\"a\": ${b.c}, \"d\": x}",
        Some("{\"a\":\"${b.c}\",\"d\":\"x\"}"),
    );
    check(
        "{\"a\": [{\"b\": 1}, {\"b\": 2",
        Some("{\"a\":[{\"b\":1}]}"),
    );
    check(
        "{\"a\": [{\"b\": 1}, {\"b\": \"x",
        Some("{\"a\":[{\"b\":1}]}"),
    );
    check("{\"a\": }", None);
}

#[test]
fn notations_of_other_languages_are_read_with_a_note() {
    let check = |text: &str, value: &str, words: &str| {
        let (document, diagnostics) = read_text(text);
        let found = document.map(|document| document.root.to_value().to_json());
        assert_eq!(found.as_deref(), Some(value), "{text}");
        let messages: Vec<&str> = diagnostics.iter().map(|found| &*found.message).collect();
        let wanted = format!("the text is read as JSON, although it has {words}");
        assert_eq!(messages, [wanted], "{text}");
        assert!(!diagnostics.has_errors());
    };
    check(
        "{a: 1, b_2: 2}",
        r#"{"a":1,"b_2":2}"#,
        "keys without quotes",
    );
    check(r#"['it\'s "x"']"#, r#"["it's \"x\""]"#, "single quotes");
    check(
        "[True, False, None]",
        "[true,false,null]",
        "`True`, `False` or `None`",
    );
    check("[1, # one\n2]", "[1,2]", "comments after `#`");
    check("[1];", "[1]", "a semicolon");
    check("[Tool.x]", r#"["Tool.x"]"#, "members of `Tool`");
}

#[test]
fn bytes_that_are_not_utf8() {
    let cases: [(&[u8], usize, &str); 2] = [
        (b"{\"a\": \"\xff\"}", 7, "save the text as UTF-8"),
        (
            b"\xff\xfe{\0",
            0,
            "the text seems to be UTF-16: save it as UTF-8",
        ),
    ];
    for (bytes, at, help) in cases {
        let (document, diagnostics) = read(bytes, "test", 0, &ReadLimits::default());
        assert!(document.is_none());
        let diagnostic = diagnostics.iter().next();
        assert_eq!(
            diagnostic.map(|diagnostic| diagnostic.code.as_str()),
            Some("PW0007")
        );
        assert_eq!(
            diagnostic
                .and_then(|diagnostic| diagnostic.span)
                .map(|span| span.start),
            Some(at)
        );
        assert_eq!(
            diagnostic.and_then(|diagnostic| diagnostic.help.as_deref()),
            Some(help)
        );
    }
}

#[test]
fn limits_hold() {
    let codes = |text: &str, limits: &ReadLimits| -> Vec<&'static str> {
        let (_, diagnostics) = read(text, "test", 0, limits);
        diagnostics
            .iter()
            .map(|diagnostic| diagnostic.code.as_str())
            .collect()
    };
    let default = ReadLimits::default();
    let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    assert_eq!(codes(&nested(128), &default), [""; 0]);
    assert_eq!(codes(&nested(129), &default), ["PW0003"]);
    assert_eq!(codes(&"[".repeat(1_000_000), &default), ["PW0003"]);
    assert_eq!(codes(&"{\"a\":".repeat(100_000), &default), ["PW0003"]);
    let boundless = ReadLimits {
        depth: usize::MAX,
        ..default
    };
    assert_eq!(codes(&nested(512), &boundless), [""; 0]);
    assert_eq!(codes(&nested(513), &boundless), ["PW0003"]);
    let small = ReadLimits {
        bytes: 3,
        ..default
    };
    assert_eq!(codes("[1]", &small), [""; 0]);
    assert_eq!(codes("[12]", &small), ["PW0002"]);
    let few = ReadLimits {
        values: 3,
        ..default
    };
    assert_eq!(codes("[1,2]", &few), [""; 0]);
    assert_eq!(codes("[1,2,3]", &few), ["PW0002"]);
    let terse = ReadLimits {
        diagnostics: 2,
        ..default
    };
    let (_, diagnostics) = read("[1.,2.,3.,4.]", "test", 0, &terse);
    assert_eq!(diagnostics.len(), 2);
    let help = diagnostics.iter().last().and_then(|last| last.help.clone());
    assert_eq!(
        help.as_deref(),
        Some("write `2`; 2 further diagnostics are not shown")
    );
}

#[test]
fn json_inside_of_a_text_knows_its_place_in_the_outer_text() {
    let text = r#"{"arguments": "{\"city\": \"Zü\u0072ich\", \"x\": 007, \"list\": [1]}"}"#;
    let (document, _) = read_text(text);
    let Some(mut document) = document else {
        panic!("no document");
    };
    let Some(item) = document.root.get("arguments").cloned() else {
        panic!("no arguments");
    };
    let (inner, diagnostics) = read_inside(&mut document.source, &item, &document.limits);
    assert!(inner.is_none());
    let help = "leave out the leading zeros, or put it in double quotes if it is not a quantity";
    let wanted =
        format!("PW0001 /arguments/x <007> `007` is not a number as JSON writes it | {help}");
    assert_eq!(shown(&diagnostics, text), [wanted]);
    let place = document.source.descend(
        item.place,
        &[PointerSegment::Root, PointerSegment::Key("city".into())],
    );
    let span = document.source.span(place).unwrap_or_default();
    assert_eq!(&text[span.start..span.end], r#"\"Zü\u0072ich\""#);
    assert_eq!(
        document.source.pointer(place).as_deref(),
        Some("/arguments/city")
    );
}

fn json() -> impl Strategy<Value = serde_json::Value> {
    let leaf = prop_oneof![
        Just(serde_json::Value::Null),
        any::<bool>().prop_map(serde_json::Value::from),
        any::<i64>().prop_map(serde_json::Value::from),
        any::<u64>().prop_map(serde_json::Value::from),
        any::<f64>().prop_map(serde_json::Value::from),
        any::<String>().prop_map(serde_json::Value::from),
    ];
    leaf.prop_recursive(4, 40, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(serde_json::Value::from),
            prop::collection::vec((any::<String>(), inner), 0..20)
                .prop_map(|fields| { serde_json::Value::Object(fields.into_iter().collect()) }),
        ]
    })
}

fn assert_sound(bytes: &[u8]) {
    let (document, diagnostics) = read(bytes, "test", 7, &ReadLimits::default());
    assert!(document.is_some() || diagnostics.has_errors());
    for diagnostic in &diagnostics {
        let span = diagnostic.span.unwrap_or_default();
        assert!(span.start <= span.end && span.end <= bytes.len());
        if let Ok(text) = std::str::from_utf8(bytes) {
            assert!(text.get(span.start..span.end).is_some(), "{diagnostic:?}");
        }
    }
}

proptest! {
    #[test]
    fn any_json_is_read_as_another_reader_reads_it(value in json(), pretty in any::<bool>()) {
        let text = if pretty {
            serde_json::to_string_pretty(&value)
        } else {
            serde_json::to_string(&value)
        };
        let text = text.unwrap_or_default();
        let wanted = Value::from_json(&text).ok();
        let (document, diagnostics) = read_text(&text);
        prop_assert!(diagnostics.is_empty(), "{:?}", diagnostics);
        prop_assert_eq!(document.map(|document| document.root.to_value()), wanted);
    }

    #[test]
    fn any_bytes_are_survived(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        assert_sound(&bytes);
    }

    #[test]
    fn any_jumble_of_json_is_survived(text in "([\\[\\]{}:,\"'\\\\ \n/*a0-9eE+.\u{fe}-]|\\\\u[dD][89abc-f][0-9a-f]{2}|true|null|//|/\\*|\\*/|\"a\":){0,60}") {
        assert_sound(text.as_bytes());
    }

    #[test]
    fn any_wounded_json_is_survived(value in json(), at in any::<prop::sample::Index>(), byte in any::<u8>(), cut in any::<bool>()) {
        let mut bytes = serde_json::to_vec(&value).unwrap_or_default();
        let at = at.index(bytes.len());
        if cut {
            bytes.truncate(at);
        } else {
            bytes[at] = byte;
        }
        assert_sound(&bytes);
    }
}

//! The language server, driven by a client over a connection in memory.

mod client;

use std::fmt::Write as _;

use lsp_types::request::{
    CodeActionRequest, Completion, DocumentSymbolRequest, GotoDefinition, HoverRequest,
    PrepareRenameRequest, References, Rename,
};
use serde_json::json;

use client::{Client, applied, edits_of};

const PLAN: &str = r#"{
  "inputs": {"cities": {"type": "array", "items": {"type": "string"}}},
  "steps": [
    {"id": "weather", "for_each": "${inputs.cities}", "tool": "weather", "args": {"city": "${item}"}},
    {"id": "best", "value": "${weather.map(w, w.temp)}"},
    {"id": "tell", "tool": "echo", "args": {"message": "It is ${weather[0].temp} – ${best}."}, "after": ["weather"]}
  ],
  "output": ["tell"]
}
"#;

const LINES: &str = "plan {\"inputs\": {\"city\": {\"type\": \"string\"}}}
weather = weather(city=${inputs.city})
tell = echo(message=\"It is ${weather.temp}.\", loud=true) {\"when\": ${weather.temp > 5}}
return [\"tell\"]
";

#[test]
fn diagnostics_follow_the_text() {
    let mut client = Client::start();
    let wrong = PLAN.replace("weather[0].temp", "weather[0].tmp");
    let found = client.open(&wrong);
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0].source.as_deref(), Some("planwright"));
    assert!(found[0].message.contains("`tmp`"), "{}", found[0].message);
    // The place is that of the text with the reference, in units of UTF-16.
    assert_eq!(found[0].range.start.line, 5);
    let found = client.change(|text| text.replace("].tmp", "].temp"));
    assert!(found.is_empty(), "{found:?}");
    // A text that is no plan has a diagnostic as well.
    let found = client.change(|text| text.replace("\"steps\"", "\"stps\""));
    assert!(!found.is_empty());
    client.end();
}

#[test]
fn nothing_is_checked_before_the_tools_are_known() {
    let mut client = Client::start_without_tools();
    client.send_open(PLAN);
    let hover: Option<lsp_types::Hover> = client.ask::<HoverRequest>(json!({
        "textDocument": Client::identifier(), "position": {"line": 3, "character": 12}
    }));
    assert_eq!(hover, None);
    client.send_tools();
    assert!(client.next_diagnostics().is_empty());
    client.end();
}

#[test]
fn hover_shows_types_and_tools() {
    let mut client = Client::start();
    client.open(PLAN);
    let texts = [
        "\"id\": \"wea|ther\"",
        "\"tool\": \"wea|ther\"",
        "{\"ci|ty\": \"${item}\"",
        "\"${it|em}\"",
        "inputs.cit|ies}",
        "map(w, w.te|mp)",
        "[0].te|mp",
        "\"for_|each\"",
    ];
    let mut shown = String::new();
    for text in texts {
        let found = client.hover(text).unwrap_or_default();
        let _ = write!(shown, "{text}\n{found}\n\n");
    }
    insta::assert_snapshot!(shown);
    client.end();
}

#[test]
fn hover_shows_lines() {
    let mut client = Client::start();
    client.open(LINES);
    let texts = [
        "wea|ther = ",
        "= wea|ther(",
        "(ci|ty=",
        "inputs.ci|ty",
        "weather.te|mp}",
        "lo|ud=",
        "\"wh|en\"",
    ];
    let mut shown = String::new();
    for text in texts {
        let found = client.hover(text).unwrap_or_default();
        let _ = write!(shown, "{text}\n{found}\n\n");
    }
    insta::assert_snapshot!(shown);
    client.end();
}

#[test]
fn completion_works_in_unfinished_texts() {
    let mut client = Client::start();
    client.open(PLAN);
    let cases = [
        ("a tool", "\"tool\": \"echo\"", "\"tool\": \"|\""),
        ("an argument", "{\"message\": ", "{\"|"),
        ("a field", "[0].temp", "[0].|"),
        ("a root", "${best}", "${|}"),
        ("a variable of a loop", "w.temp)", "w.|"),
        ("a step to wait for", "[\"weather\"]", "[\"|\"]"),
        ("a field of a step", ", \"after\"", ", |"),
        ("a constant", "\"${item}\"", "|"),
    ];
    let mut shown = String::new();
    for (what, from, to) in cases {
        let found = client.completion_after(from, to);
        let _ = writeln!(shown, "{what}: {found}");
    }
    insta::assert_snapshot!(shown);
    client.end();
}

#[test]
fn completion_works_in_lines() {
    let mut client = Client::start();
    client.open(LINES);
    let cases = [
        ("a tool", "= echo(", "= |("),
        ("an argument", "(message=", "(|"),
        ("a second argument", "loud=true)", "|)"),
        ("a field", "weather.temp >", "weather.| >"),
        ("an input", "${inputs.city}", "${inputs.|}"),
        ("a field of the step", "{\"when\": ", "{\"|\": "),
    ];
    let mut shown = String::new();
    for (what, from, to) in cases {
        let found = client.completion_after(from, to);
        let _ = writeln!(shown, "{what}: {found}");
    }
    insta::assert_snapshot!(shown);
    client.end();
}

#[test]
fn an_undo_is_completed_from_its_call() {
    let undo = r#"{"tool": "echo", "arguments": {"message": "${string(output.temp)}"}}"#;
    let json = format!(
        r#"{{"steps": [{{"id": "w", "tool": "weather", "args": {{"city": "London"}}, "undo": {undo}}}]}}"#
    );
    let lines = format!("w = weather(city=\"London\") {{\"undo\": {undo}}}\n");
    for text in [json, lines] {
        let mut client = Client::start();
        assert_eq!(client.open(&text), []);
        assert_eq!(
            client.hover("output.te|mp").as_deref(),
            Some("```\noutput.temp: number\n```")
        );
        let roots = client.completion_after("${string(output.temp)}", "${|}");
        assert!(
            roots.contains("\n  output (") && roots.contains("\n  arguments ("),
            "{roots}"
        );
        assert!(!roots.contains("\n  item ("), "{roots}");
        let fields = client.completion_after("${string(output.temp)}", "${output.|}");
        assert!(fields.contains("\n  temp ("), "{fields}");
        let arguments = client.completion_after("${string(output.temp)}", "${arguments.|}");
        assert!(arguments.contains("\n  city ("), "{arguments}");
        let names = client.completion_after("\"message\": ", "\"|\": ");
        assert!(
            names.contains("\n  message (") && names.contains("\n  loud ("),
            "{names}"
        );
        assert!(!names.contains("\n  city ("), "{names}");
        client.end();
    }
}

#[test]
fn a_step_does_not_wait_for_itself() {
    let mut client = Client::start();
    client.open(LINES);
    let found = client.completion_after("{\"when\": ${weather.temp > 5}}", "{\"after\": [\"|\"]}");
    assert!(
        found.contains("\n  weather (") && !found.contains("\n  tell ("),
        "{found}"
    );
    client.end();
}

#[test]
fn a_completion_replaces_the_word() {
    let mut client = Client::start();
    client.open(PLAN);
    client.change(|text| text.replace("\"tool\": \"echo\"", "\"tool\": ec"));
    let position = client.position_behind("\"tool\": ec");
    let found = client.ask::<Completion>(json!({
        "textDocument": Client::identifier(), "position": position
    }));
    let Some(lsp_types::CompletionResponse::Array(items)) = found else {
        panic!("{found:?}");
    };
    let echo = items.into_iter().find(|item| item.label == "echo").unwrap();
    let Some(lsp_types::CompletionTextEdit::Edit(edit)) = echo.text_edit else {
        panic!("{echo:?}");
    };
    let text = applied(client.text(), &[edit]);
    assert!(text.contains("\"tool\": \"echo\", "), "{text}");
    client.end();
}

#[test]
fn steps_are_found_from_their_references() {
    let mut client = Client::start();
    client.open(PLAN);
    let at = client.position_in("It is ${wea|ther[0]");
    let definition = client.ask::<GotoDefinition>(json!({
        "textDocument": Client::identifier(), "position": at
    }));
    let Some(lsp_types::GotoDefinitionResponse::Scalar(location)) = definition else {
        panic!("{definition:?}");
    };
    assert_eq!(client.shown(location.range), "weather");
    assert_eq!(location.range.start.line, 3);
    let references = client.ask::<References>(json!({
        "textDocument": Client::identifier(), "position": at, "context": {"includeDeclaration": true}
    }));
    let lines: Vec<u32> = references
        .unwrap()
        .into_iter()
        .map(|found| {
            assert_eq!(client.shown(found.range), "weather");
            found.range.start.line
        })
        .collect();
    assert_eq!(lines, [3, 4, 5, 5]);
    let symbols =
        client.ask::<DocumentSymbolRequest>(json!({"textDocument": Client::identifier()}));
    let Some(lsp_types::DocumentSymbolResponse::Nested(symbols)) = symbols else {
        panic!("{symbols:?}");
    };
    let names: Vec<_> = symbols
        .iter()
        .map(|symbol| {
            (
                symbol.name.as_str(),
                symbol.detail.as_deref().unwrap_or_default(),
            )
        })
        .collect();
    assert_eq!(
        names,
        [("weather", "weather"), ("best", "value"), ("tell", "echo")]
    );
    client.end();
}

#[test]
fn a_step_is_renamed_with_its_references() {
    for text in [PLAN, LINES] {
        let mut client = Client::start();
        client.open(text);
        let at = if text == PLAN {
            client.position_in("\"id\": \"wea|ther\"")
        } else {
            client.position_in("wea|ther = ")
        };
        let place = json!({"textDocument": Client::identifier(), "position": at});
        let Some(lsp_types::PrepareRenameResponse::RangeWithPlaceholder { placeholder, .. }) =
            client.ask::<PrepareRenameRequest>(place.clone())
        else {
            panic!("the step can be renamed");
        };
        assert_eq!(placeholder, "weather");
        let mut params = place;
        params["newName"] = "forecast".into();
        let edit = client.ask::<Rename>(params.clone()).unwrap();
        let renamed = applied(client.text(), &edits_of(edit));
        insta::assert_snapshot!(renamed);
        params["newName"] = "tell".into();
        let refused = client.try_ask::<Rename>(params).unwrap_err();
        assert_eq!(refused, "`tell` is the id of another step");
        client.end();
    }
}

const INNER: &str = r#"{"steps": [
  {"id": "a", "tool": "weather", "args": {"city": "London"}},
  {"id": "inner", "plan": {"inputs": {"x": {"type": "number"}}, "steps": [
    {"id": "a", "tool": "weather", "args": {"city": "Tokyo"}},
    {"id": "z", "tool": "echo", "args": {"message": "${a.temp} of ${inputs.x}"}, "after": ["a"]}
  ]}, "args": {"x": "${a.temp}"}}
]}
"#;

#[test]
fn steps_of_inner_plans_are_steps_of_their_own() {
    let mut client = Client::start();
    assert_eq!(client.open(INNER), []);
    for (at, lines) in [
        ("\"x\": \"${|a.temp", vec![1, 5]),
        ("\"${|a.temp} of", vec![3, 4, 4]),
    ] {
        let position = client.position_in(at);
        let references = client.ask::<References>(json!({
            "textDocument": Client::identifier(), "position": position, "context": {"includeDeclaration": true}
        }));
        let found: Vec<u32> = references
            .unwrap()
            .iter()
            .map(|found| found.range.start.line)
            .collect();
        assert_eq!(found, lines, "{at}");
        let definition = client.ask::<GotoDefinition>(json!({
            "textDocument": Client::identifier(), "position": position
        }));
        let Some(lsp_types::GotoDefinitionResponse::Scalar(location)) = definition else {
            panic!("{definition:?}");
        };
        assert_eq!(location.range.start.line, lines[0]);
    }
    // Each plan has ids of its own.
    let text = renamed(&mut client, "\"${|a.temp} of", "b").unwrap();
    let lines: Vec<&str> = INNER
        .lines()
        .zip(text.lines())
        .filter_map(|(old, new)| (old != new).then_some(new))
        .collect();
    assert_eq!(
        lines,
        [
            r#"    {"id": "b", "tool": "weather", "args": {"city": "Tokyo"}},"#,
            r#"    {"id": "z", "tool": "echo", "args": {"message": "${b.temp} of ${inputs.x}"}, "after": ["b"]}"#
        ]
    );
    assert!(renamed(&mut client, "\"id\": \"|inner\"", "other").is_ok());
    assert_eq!(
        renamed(&mut client, "\"${|a.temp} of", "z"),
        Err("`z` is the id of another step".to_owned())
    );
    let symbols =
        client.ask::<DocumentSymbolRequest>(json!({"textDocument": Client::identifier()}));
    let Some(lsp_types::DocumentSymbolResponse::Nested(symbols)) = symbols else {
        panic!("{symbols:?}");
    };
    let inner = symbols[1].children.as_ref().unwrap();
    let names: Vec<&str> = inner.iter().map(|symbol| &*symbol.name).collect();
    assert_eq!(names, ["a", "z"]);
    assert_eq!(symbols[0].children, None);
    client.end();
}

#[test]
fn a_variable_of_a_loop_is_no_step() {
    let mut client = Client::start();
    client.open("x = weather(city=\"London\")\nb = echo(message=${x.list.map(x, x.id)})\n");
    let position = client.position_in("x, |x.id");
    let found = client.ask::<GotoDefinition>(json!({
        "textDocument": Client::identifier(), "position": position
    }));
    assert_eq!(found, None);
    client.end();
}

/// Renames the step at the mark `|`; the result is the new text or the reason of the refusal.
fn renamed(client: &mut Client, at: &str, name: &str) -> Result<String, String> {
    let position = client.position_in(at);
    let edit = client.try_ask::<Rename>(json!({
        "textDocument": Client::identifier(), "position": position, "newName": name
    }))?;
    Ok(applied(client.text(), &edits_of(edit.unwrap())))
}

#[test]
fn a_variable_of_a_loop_captures_no_renamed_step() {
    // The name of the loop's variable would be that of the step, and the other way round.
    for (text, at, name) in [
        (
            "a = weather(city=\"London\")\nb = echo(message=${a.list.filter(x, x.id == a.id)})\n",
            "|a = weather",
            "x",
        ),
        (
            "a = weather(city=\"London\")\nb = echo(message=${a.id == 1 && a.list.all(x, x.id == a.id)})\n",
            "|a = weather",
            "x",
        ),
        (
            "x = weather(city=\"London\")\nb = echo(message=${x.list.filter(y, y.id == x.id)})\n",
            "|x = weather",
            "y",
        ),
        (
            "x = weather(city=\"London\")\nb = echo(message=${x.list.filter(y, y.list.all(x, x == y))})\n",
            "|x = weather",
            "y",
        ),
    ] {
        let mut client = Client::start();
        client.open(text);
        assert_eq!(
            renamed(&mut client, at, name),
            Err(format!(
                "`{name}` is the variable of a loop in a reference to the step"
            )),
            "{text}"
        );
        client.end();
    }
    // A variable that hides the step keeps its name.
    let mut client = Client::start();
    client.open("x = weather(city=\"London\")\nb = echo(message=${x.list.map(x, x.id)})\n");
    assert_eq!(
        renamed(&mut client, "|x = weather", "z").unwrap(),
        "z = weather(city=\"London\")\nb = echo(message=${z.list.map(x, x.id)})\n"
    );
    client.end();
}

#[test]
fn a_name_that_references_read_in_another_way_is_refused() {
    let mut client = Client::start();
    client.open(LINES);
    for name in ["item", "inputs", "true", "x.y"] {
        assert_eq!(
            renamed(&mut client, "|weather = ", name),
            Err(format!(
                "references do not read `{name}` as the id of a step"
            ))
        );
    }
    client.end();
}

#[test]
fn a_fix_is_offered_where_it_is_needed() {
    let mut client = Client::start();
    let wrong = PLAN.replace("\"after\"", "\"depends_on\"");
    assert!(!client.open(&wrong).is_empty());
    let at = client.position_in("\"depends|_on\"");
    let actions = client.ask::<CodeActionRequest>(json!({
        "textDocument": Client::identifier(),
        "range": {"start": at, "end": at},
        "context": {"diagnostics": []}
    }));
    let fixed: Vec<String> = actions
        .unwrap()
        .into_iter()
        .map(|action| {
            let lsp_types::CodeActionOrCommand::CodeAction(action) = action else {
                panic!("{action:?}");
            };
            applied(client.text(), &edits_of(action.edit.unwrap()))
        })
        .collect();
    assert_eq!(fixed, [PLAN.to_owned(), PLAN.to_owned()]);
    client.end();
}

#[test]
fn unknown_requests_and_wrong_parameters_are_answered() {
    let mut client = Client::start();
    client.open(PLAN);
    let error = client
        .try_ask_raw("textDocument/foldingRange", json!({}))
        .unwrap_err();
    assert_eq!(error, "`textDocument/foldingRange` is not supported");
    assert!(
        client
            .try_ask_raw("textDocument/hover", json!({"a": 1}))
            .is_err()
    );
    let closed = client
        .try_ask_raw(
            "textDocument/hover",
            json!({"textDocument": {"uri": "file:///other.json"}, "position": {"line": 0, "character": 0}}),
        )
        .unwrap_err();
    assert_eq!(closed, "the text is not open");
    client.end();
}

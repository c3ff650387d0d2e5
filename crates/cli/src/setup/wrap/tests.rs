//! Texts that are changed in one spot.

use planwright::core::Value;
use proptest::prelude::*;

use super::client::ListSyntax;
use super::edit::{ObjectText, Section, Unwrapped, Wrapped, servers, unwrap, wrap};
use super::form::EntryForm;
use super::report::{self, difference};

const SERVERS: &[&str] = &["mcpServers"];

fn section(path: &'static [&'static str]) -> Section<'static> {
    let text = r#"{"command": "planwright", "args": ["serve", "--servers", "ours.json"]}"#;
    Section {
        syntax: ListSyntax::Json,
        form: &EntryForm::OURS,
        path,
        name: "planwright",
        entry: Value::from_json(text).unwrap(),
        file: "ours.json",
    }
}

/// Servers stay whose name begins with `stay`.
fn stays(name: &str, _: &Value) -> Option<String> {
    name.starts_with("stay").then(|| "it has to".to_owned())
}

fn wrapped(text: &str) -> Wrapped {
    wrap(text, None, &section(SERVERS), &stays).unwrap()
}

fn unwrapped(text: &str, gateway_text: &str) -> Unwrapped {
    unwrap(text, gateway_text, &[], &section(SERVERS)).unwrap()
}

const CLIENT: &str = r#"{
    // Mine.
    "theme": "dark",
    "mcpServers": {
        // Reads mail.
        "mail": {"command": "mail", "env": {"TOKEN": "s3cret"}}, // every day
        "stays": {"command": "x"},
        /* Writes. */ "files": {
            "command": "files",
            "args": ["a//b", "\"}{"],
        },
    },
    "last": [1, 2],
}
"#;

#[test]
fn all_else_stays_byte_by_byte() {
    let Wrapped {
        client,
        gateway_text,
        moved,
        stay,
        ..
    } = wrapped(CLIENT);
    assert_eq!(
        client,
        r#"{
    // Mine.
    "theme": "dark",
    "mcpServers": {
        "planwright": {
            "command": "planwright",
            "args": ["serve", "--servers", "ours.json"]
        },
        "stays": {"command": "x"},
    },
    "last": [1, 2],
}
"#
    );
    assert_eq!(
        gateway_text,
        r#"{
  "mcpServers": {
        // Reads mail.
        "mail": {"command": "mail", "env": {"TOKEN": "s3cret"}}, // every day
        /* Writes. */ "files": {
            "command": "files",
            "args": ["a//b", "\"}{"],
        }
  }
}
"#
    );
    assert_eq!(moved, ["mail", "files"]);
    assert_eq!(stay, [("stays".to_owned(), "it has to".to_owned())]);
    let back = unwrapped(&client, &gateway_text);
    assert_eq!(back.returned, ["mail", "files"]);
    let members = |text: &str| {
        let object = ObjectText::find(text, SERVERS).unwrap().unwrap();
        let members = object.members.into_iter();
        members
            .map(|member| (member.name, member.value))
            .collect::<Vec<_>>()
    };
    let mut before = members(CLIENT);
    before.swap(1, 2);
    assert_eq!(members(&back.client), before);
    for comment in [
        "// Mine.",
        "// Reads mail.",
        "// every day",
        "/* Writes. */",
    ] {
        assert!(back.client.contains(comment), "{}", back.client);
    }
}

#[test]
fn a_second_time_changes_nothing() {
    let first = wrapped(CLIENT);
    let second = wrap(
        &first.client,
        Some(&first.gateway_text),
        &section(SERVERS),
        &stays,
    )
    .unwrap();
    assert_eq!(
        (second.client, second.gateway_text),
        (first.client, first.gateway_text)
    );
    assert!(second.moved.is_empty());
}

#[test]
fn small_and_odd_files() {
    let check = |text: &str, client: &str, gateway_text: &str| {
        let wrapped = wrapped(text);
        assert_eq!(
            (&*wrapped.client, &*wrapped.gateway_text),
            (client, gateway_text),
            "{text}"
        );
    };
    let entry =
        r#""planwright": {"command": "planwright", "args": ["serve", "--servers", "ours.json"]}"#;
    check(
        r#"{"mcpServers":{"a":{}}}"#,
        &format!(r#"{{"mcpServers":{{{entry}}}}}"#),
        "{\n  \"mcpServers\": {\"a\":{}\n  }\n}\n",
    );
    check(
        "\u{feff}{\r\n\t\"mcpServers\": {\r\n\t\t\"a\": {}\r\n\t}\r\n}",
        "\u{feff}{\r\n\t\"mcpServers\": {\r\n\t\t\"planwright\": {\r\n\t\t\t\"command\": \"planwright\",\r\n\t\t\t\"args\": [\"serve\", \
         \"--servers\", \"ours.json\"]\r\n\t\t}\r\n\t}\r\n}",
        "{\n  \"mcpServers\": {\r\n\t\t\"a\": {}\n  }\n}\n",
    );
    // A comment that ends with its line swallows nothing.
    let odd = wrapped("{\"mcpServers\": {\"stays\": 1, // one\n \"b\": {} }}");
    assert!(odd.client.contains("// one\n"), "{}", odd.client);
    let back = unwrapped(&odd.client, &odd.gateway_text);
    assert!(
        !servers(ListSyntax::Json, &back.client, SERVERS)
            .unwrap()
            .unwrap()
            .is_empty()
    );
    // No servers to move.
    assert_eq!(
        wrapped(r#"{"mcpServers": {"stay": {}}}"#).client,
        r#"{"mcpServers": {"stay": {}}}"#
    );
    assert_eq!(
        wrapped(r#"{"mcpServers": {}}"#).client,
        r#"{"mcpServers": {}}"#
    );
}

#[test]
fn texts_that_are_left_alone() {
    let check = |text: &str, message: &str| {
        let error = wrap(text, None, &section(SERVERS), &stays).unwrap_err();
        assert_eq!(error.message, message, "{text}");
    };
    check("{}", "there is no `mcpServers` in it");
    check("[]", "there is no `mcpServers` in it");
    check(r#"{"mcpServers": []}"#, "there is no `mcpServers` in it");
    check(
        "{\"mcpServers\": {\"a\": }}",
        "it is not JSON: unexpected close brace on line 1 column 22",
    );
    check(
        "{\"mcpServers\": {} /* }",
        "it is not JSON: unterminated comment block on line 1 column 19",
    );
    check("", "it is not JSON: it is empty");
    check(
        r#"{"mcpServers": {"planwright": {"command": "other"}, "a": {}}}"#,
        "it has another server named `planwright`",
    );
}

#[test]
fn inner_objects_and_other_forms() {
    let path: &[&str] = &["projects", "/a b", "mcpServers"];
    let text = r#"{"projects": {"/a b": {"mcpServers": {"x": {}}, "n": 1}, "/c": {"mcpServers": {"y": {}}}}, "mcpServers": {"z": {}}}"#;
    let wrapped = wrap(text, None, &section(path), &stays).unwrap();
    assert_eq!(wrapped.moved, ["x"]);
    assert!(
        wrapped
            .client
            .ends_with(r#", "n": 1}, "/c": {"mcpServers": {"y": {}}}}, "mcpServers": {"z": {}}}"#)
    );
    let back = unwrap(&wrapped.client, &wrapped.gateway_text, &[], &section(path)).unwrap();
    assert_eq!(back.client, text);
}

#[test]
fn what_came_meanwhile_is_not_lost() {
    let first = wrapped(CLIENT);
    // The client has got two more servers, one of them with the name of one that left; ours one more, and one is another now.
    let client = first.client.replace(
        "\"stays\": {\"command\": \"x\"},",
        "\"stays\": {\"command\": \"x\"},\n        \"new\": {},\n        \"mail\": {\"command\": \"other\"},",
    );
    let gateway_text = first
        .gateway_text
        .replace("\"mail\": {", "\"added\": {},\n        \"mail\": {");
    let again = wrap(&client, Some(&gateway_text), &section(SERVERS), &stays).unwrap();
    assert_eq!(again.moved, ["new"]);
    assert_eq!(
        again.stay[1],
        (
            "mail".to_owned(),
            "a server of that name is behind the gateway already".to_owned()
        )
    );
    let back = unwrapped(&client, &gateway_text);
    assert_eq!(back.returned, ["added", "mail-2", "files"]);
    assert_eq!(back.renamed, [("mail".to_owned(), "mail-2".to_owned())]);
    let object = ObjectText::find(&back.client, SERVERS).unwrap().unwrap();
    let names: Vec<&str> = object
        .members
        .iter()
        .map(|member| member.name.as_str())
        .collect();
    assert_eq!(names, ["added", "mail-2", "files", "stays", "new", "mail"]);
    // Our entry is gone: the servers come back all the same, and one that is there just so comes once.
    let bare = "{\n  \"mcpServers\": {}\n}";
    assert_eq!(
        unwrapped(bare, &first.gateway_text).returned,
        ["mail", "files"]
    );
    let half = r#"{"mcpServers": {"mail": {"command": "mail", "env": {"TOKEN": "s3cret"}}}}"#;
    assert_eq!(unwrapped(half, &first.gateway_text).returned, ["files"]);
}

#[test]
fn servers_that_only_their_client_can_start() {
    let check = |server: &str, expected: Option<&str>| {
        let reason = report::reason("s", &Value::from_json(server).unwrap(), true);
        assert_eq!(reason.as_deref(), expected, "{server}");
    };
    check(
        r#"{"command": "npx", "args": ["-y", "x"], "env": {"A": "${HOME}/x", "B": "${env:TOKEN}", "C": "${D:-e}"}}"#,
        None,
    );
    check(
        r#"{"type": "stdio", "command": "x", "alwaysAllow": ["a"]}"#,
        None,
    );
    check(
        r#"{"command": "x", "env": {"A": "${input:key}"}}"#,
        Some("only the client can fill in `${input:key}`"),
    );
    check(
        r#"{"command": "x", "args": ["${workspaceFolder}/a"]}"#,
        Some("only the client can fill in `${workspaceFolder}`"),
    );
    check(
        r#"{"command": "x", "envFile": ".env"}"#,
        Some("its field `envFile` is not supported"),
    );
    check(
        r#"{"command": "x", "disabled": true}"#,
        Some("it is disabled"),
    );
    check(
        r#"{"command": "/usr/bin/planwright", "args": ["serve"]}"#,
        Some("it is planwright itself"),
    );
    check(r#"{"openapi": "https://shop.example/openapi.json"}"#, None);
    check(
        r#"{"openapi": "./shop.yaml"}"#,
        Some("its `openapi` is a path from the folder of this file: write the whole path"),
    );
    assert!(report::reason("s", &Value::from_json("{}").unwrap(), true).is_some());
}

#[test]
fn a_server_that_no_client_knows_stays_in_our_file() {
    let text = r#"{"mcpServers": {"mail": {"command": "mail"}}}"#;
    let wrapped = wrapped(text);
    let gateway_text = wrapped.gateway_text.replace(
        r#""mail":"#,
        r#""shop": {"openapi": "https://shop.example/openapi.json"}, "mail":"#,
    );
    let back = unwrapped(&wrapped.client, &gateway_text);
    assert_eq!(back.returned, ["mail"]);
    assert!(!back.client.contains("shop"), "{}", back.client);
    let (names, left) = back.left.unwrap();
    assert_eq!(names, ["shop"]);
    let servers = ObjectText::find(&left, SERVERS).unwrap().unwrap();
    assert_eq!(servers.members.len(), 1);
    assert!(servers.get("shop").is_some(), "{left}");
}

#[test]
fn a_difference_shows_no_secrets() {
    let before = "{\n  \"a\": {\n    \"env\": {\"KEY\": \"s3cret\"}\n  },\n  \"b\": 1\n}\n";
    let after = "{\n  \"p\": {},\n  \"b\": 1\n}\n";
    let servers = Value::from_json(before).unwrap();
    assert_eq!(
        difference(before, after, &servers),
        [
            "  {",
            "-   \"a\": {",
            "-     \"env\": {\"KEY\": \"…\"}",
            "-   },",
            "+   \"p\": {},",
            "    \"b\": 1",
            "  }"
        ]
    );
    assert_eq!(difference("a\nb", "a\nb", &Value::Null), ["  a", "  b"]);
}

/// Blanks and comments, as they may stand anywhere.
fn trivia() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        "",
        "",
        " ",
        "\n  ",
        "\r\n\t",
        "/* c */",
        " // d\n",
        "\n// {,}\n",
        "/* \n */ ",
    ])
}

/// An object of servers with anything between its parts, and how many it has.
fn files() -> impl Strategy<Value = (String, usize)> {
    let value = prop::sample::select(vec![
        "{}",
        "{\"command\": \"a\", // }\n}",
        "{\"x\": [1, {\"y\": \"\\\"}\"},],}",
        "[]",
        "\"t\"",
        "1.5",
    ]);
    let member = (
        trivia(),
        "(stay)?[a-c]{1,2}",
        trivia(),
        trivia(),
        value,
        trivia(),
        trivia(),
    );
    (
        prop::collection::vec(member, 0..5),
        any::<bool>(),
        trivia(),
        trivia(),
    )
        .prop_map(|(members, comma, foot, around)| {
            let mut names = std::collections::BTreeSet::new();
            let members: Vec<String> = members
                .into_iter()
                .filter(|member| names.insert(member.1.clone()))
                .map(|(a, name, b, c, value, d, e)| format!("{a}\"{name}\"{b}:{c}{value}{d},{e}"))
                .collect();
            let mut inner = members.concat();
            if !comma && let Some(at) = inner.rfind(',').filter(|_| !inner.ends_with("// {,}\n")) {
                // The last comma of the text is the one behind the last member.
                inner.remove(at);
            }
            (
                format!("{around}{{\"mcpServers\":{around}{{{inner}{foot}}}{around}}}{around}"),
                names.len(),
            )
        })
}

proptest! {
    #[test]
    fn whatever_stands_between_servers_nothing_is_lost((text, count) in files()) {
        let servers = |text: &str| {
            let object = ObjectText::find(text, SERVERS).unwrap().unwrap();
            let mut all: Vec<(String, String)> = object.members.iter().map(|member| (member.name.clone(), member.value.to_json())).collect();
            all.sort();
            all
        };
        prop_assert_eq!(&ObjectText::find(&text, SERVERS).unwrap().unwrap().text(), &text);
        let before = servers(&text);
        prop_assert_eq!(before.len(), count);
        let wrapped = wrapped(&text);
        let here = servers(&wrapped.client);
        prop_assert_eq!(here.len(), wrapped.stay.len() + usize::from(!wrapped.moved.is_empty()));
        prop_assert_eq!(servers(&wrapped.gateway_text).len(), wrapped.moved.len());
        let back = unwrapped(&wrapped.client, &wrapped.gateway_text);
        prop_assert_eq!(servers(&back.client), before);
        for comment in ["/* c */", "// d", "// {,}"] {
            let count = |text: &str| text.matches(comment).count();
            prop_assert_eq!(count(&back.client), count(&text), "{}", back.client);
        }
    }

    #[test]
    fn no_text_makes_it_panic(text in "[{}\\[\\]:,\"/*\\\\a1 \n\u{feff}é]{0,30}") {
        let _ = wrap(&text, None, &section(SERVERS), &stays);
        let _ = unwrap(&text, &text, &[], &section(SERVERS));
        let _ = wrap(&format!("{{\"mcpServers\":{{{text}}}}}"), Some(&text), &section(SERVERS), &stays);
    }
}

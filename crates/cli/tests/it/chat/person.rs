//! Conversations at a terminal: reviewed plans, cancelled turns.

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};

use planwright_testkit::fake_server::{self, Recorder};
use serde_json::{Value, json};

use super::{calls, fixture, stored_chat, tool_results};
use crate::planner::{ModelFixture, streamed};
use crate::program::planwright;
use crate::prompts::{assert_screen, screen};
use crate::terminal::Terminal;
use crate::typing;

fn plan(name: &str) -> Value {
    json!({"steps": [{"id": "hello", "tool": "greet", "args": {"name": name}}], "output": ["hello"]})
}

/// Holds a conversation on a pseudo-terminal, where a person answers each question with a line; what is on the screen in the end.
fn typed(fixture: &ModelFixture, answers: &Value, lines: &str) -> String {
    fixture.write("answers.json", answers);
    let chat =
        "chat 'Greet a dog.' --approve plan --simulate tools.json --model replay:answers.json";
    let editor = fixture.path().join("editor");
    let environment = [("EDITOR", editor.to_str().unwrap())];
    typing::typed(fixture.path(), chat, &environment, lines).1
}

fn wants_a_plan() -> Value {
    calls(&[("plan_create_and_execute", json!({"goal": "greet Rex"}))])
}

/// The result of the plan, as the model receives it.
fn came_to(fixture: &ModelFixture) -> Value {
    serde_json::from_str(&tool_results(fixture)[0])
        .unwrap_or_else(|_| tool_results(fixture)[0].as_str().into())
}

#[test]
fn a_person_lets_a_plan_run_or_does_not() {
    for (line, expected) in [
        ("r\n", json!({"hello": {"name": "Rex"}})),
        ("what?\nn\n", Value::Null),
    ] {
        let fixture = fixture();
        let answers = json!([wants_a_plan(), plan("Rex").to_string(), "Well."]);
        let screen = typed(&fixture, &answers, line);
        assert!(screen.contains("run this plan? [r]un, [e]dit"), "{screen}");
        // The call with its arguments is printed above the question.
        assert!(screen.contains("name = \"Rex\""), "{screen}");
        assert_eq!(came_to(&fixture)["output"], expected, "{screen}");
    }
}

#[test]
fn a_person_who_lets_a_plan_run_enters_the_passphrase() {
    for (passphrases, expected) in [
        (vec!["correct horse\n"], json!({"hello": {"name": "Rex"}})),
        (
            vec!["wrong guess\n", "correct horse\n"],
            json!({"hello": {"name": "Rex"}}),
        ),
        (vec!["1\n", "2\n", "3\n"], Value::Null),
    ] {
        let fixture = fixture();
        let answers = json!([wants_a_plan(), plan("Rex").to_string(), "Well."]);
        fixture.write("answers.json", &answers);
        let set = [
            ("new passphrase: ", "correct horse\n"),
            ("repeat the new passphrase: ", "correct horse\n"),
        ];
        screen(fixture.path(), "passphrase", &set);
        let chat =
            "chat 'Greet a dog.' --approve plan --simulate tools.json --model replay:answers.json";
        let again = "the passphrase is wrong; try again\npassphrase for decisions: ";
        let third = format!("{again}\n{again}");
        let questions = ["passphrase for decisions: ", again, &third];
        let mut exchange = vec![("[n]o:", "r\n")];
        exchange.extend(questions.into_iter().zip(passphrases));
        exchange.push(("Well.", "\u{4}"));
        let shown = screen(fixture.path(), chat, &exchange);
        assert_eq!(came_to(&fixture)["output"], expected, "{shown}");
    }
}

#[test]
fn a_plan_of_a_conversation_is_shown() {
    let fixture = fixture();
    let answers = json!([wants_a_plan(), plan("Rex").to_string(), "Well."]);
    fixture.write("answers.json", &answers);
    let chat =
        "chat 'Greet a dog.' --approve plan --simulate tools.json --model replay:answers.json";
    let shown = screen(
        fixture.path(),
        chat,
        &[("[n]o:", "n\n"), ("Well.", "\u{4}")],
    );
    assert_screen("chat-plan", &shown);
}

#[test]
fn a_question_about_other_plans_is_shown() {
    let fixture = fixture();
    let answers = json!([
        wants_a_plan(),
        plan("Rex").to_string(),
        plan("Ada").to_string(),
        "Well."
    ]);
    fixture.write("answers.json", &answers);
    let chat =
        "chat 'Greet a dog.' --approve plan --simulate tools.json --model replay:answers.json";
    let exchange = [
        ("[n]o:", "c\n"),
        ("requested changes:", "greet Ada\n"),
        (
            "name = \"Ada\"\n  simulated.greet  may destroy\nrun this plan? [r]un, [e]dit, ask for [c]hanges, [n]o:",
            "r\n",
        ),
        ("Well.", "\u{4}"),
    ];
    assert_screen("chat-changes", &screen(fixture.path(), chat, &exchange));
}

#[test]
fn a_person_edits_a_plan() {
    let fixture = fixture();
    let editor = fixture.path().join("editor");
    // The first edit makes it unsound, the second gives it another name.
    let script = "#!/bin/sh\nif [ -e edited ]; then sed -i s/Rex/Ada/ \"$1\"; else touch edited; sed -i s/greet/great/ \"$1\"; fi\n";
    fs::write(&editor, script).unwrap();
    fs::set_permissions(&editor, fs::Permissions::from_mode(0o755)).unwrap();
    let answers = json!([wants_a_plan(), plan("Rex").to_string(), "Well."]);
    let screen = typed(&fixture, &answers, "e\ne\nr\n");
    assert!(
        screen.contains("the edited plan has errors; the previous one is kept"),
        "{screen}"
    );
    assert_eq!(
        came_to(&fixture)["output"],
        json!({"hello": {"name": "Ada"}}),
        "{screen}"
    );
}

#[test]
fn a_person_asks_for_changes() {
    let fixture = fixture();
    let answers = json!([
        wants_a_plan(),
        plan("Rex").to_string(),
        plan("Eva").to_string(),
        "Well."
    ]);
    let screen = typed(&fixture, &answers, "c\ngreet Eva instead\nr\n");
    assert_eq!(
        came_to(&fixture)["output"],
        json!({"hello": {"name": "Eva"}}),
        "{screen}"
    );
    assert!(
        stored_chat(&fixture)["plans"]["plan-1"]["text"]
            .as_str()
            .unwrap()
            .contains("Eva")
    );
}

/// Runs the program on a pseudo terminal until these words are on the screen, then closes the terminal. Returns the screen.
fn watched(fixture: &ModelFixture, arguments: &str, until: &str) -> String {
    let program = env!("CARGO_BIN_EXE_planwright");
    let command = format!(
        "stty rows 24 cols 100; '{program}' {arguments} --simulate tools.json --model replay:answers.json"
    );
    let variables = [("TERM", "xterm"), ("NO_COLOR", "1")];
    let mut terminal = Terminal::start(fixture.path(), &command, &variables);
    let mut seen = Vec::new();
    while !String::from_utf8_lossy(&seen).contains(until) {
        let bytes = terminal.shown();
        assert!(!bytes.is_empty(), "{}", String::from_utf8_lossy(&seen));
        seen.extend_from_slice(bytes);
    }
    terminal.close();
    String::from_utf8_lossy(&seen).into_owned()
}

#[test]
fn an_answer_is_read_while_it_is_written() {
    let fixture = fixture();
    let endless = format!("Well, it is {}", "so ".repeat(100_000));
    fixture.write("answers.json", &json!([streamed::paced(&json!(endless))]));
    let screen = watched(&fixture, "chat 'How is it?'", "Well, it is so");
    assert!(screen.matches("so").count() < 90_000);
    // Complete output is not printed twice.
    fixture.write("answers.json", &json!(["Well, it is so."]));
    let screen = watched(&fixture, "chat 'How is it?' < /dev/null", "resume with");
    assert_eq!(screen.matches("it is so.").count(), 1, "{screen}");
}

#[test]
fn steps_are_seen_while_their_plan_is_written() {
    let fixture = streamed::fixture(&json!({"echo": true}));
    streamed::written(&fixture, &[streamed::endless()]);
    let screen = watched(&fixture, "ask tell", "✓ c");
    assert!(screen.contains("writes the plan"), "{screen}");
    assert!(!screen.contains("✓ tell"), "{screen}");
}

#[test]
fn a_turn_is_given_up() {
    let fixture = fixture();
    fixture.write(
        "answers.json",
        &json!([
            calls(&[
                ("simulated__list_dogs", json!({})),
                ("simulated__never", json!({}))
            ]),
            "never asked for"
        ]),
    );
    let mut child = planwright(fixture.path())
        .args([
            "chat",
            "Wait.",
            "--simulate",
            "tools.json",
            "--model",
            "replay:answers.json",
            "--format",
            "events",
            "--drain",
            "0s",
        ])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut is_listed = false;
    let mut is_waiting = false;
    for line in BufReader::new(child.stdout.take().unwrap()).lines() {
        let event: Value = serde_json::from_str(&line.unwrap()).unwrap();
        is_listed |= event["event"] == "called";
        is_waiting |=
            event["of"]["event"] == "attempt_started" && event["of"]["step"] == "call_never";
        if is_listed && is_waiting {
            is_waiting = false;
            let id = child.id().to_string();
            assert!(
                Command::new("kill")
                    .args(["-INT", &id])
                    .status()
                    .unwrap()
                    .success()
            );
        }
    }
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert_eq!(
        tool_results(&fixture),
        [r#"["Rex","Ada"]"#, "error: the person cancelled this call"]
    );
}

#[test]
fn the_calls_of_a_turn_may_end_before_the_turn_does() {
    let (fixture, recorder) = (fixture(), Recorder::new());
    let schema = json!({"type": "object"});
    let script = json!({"record": recorder.address(), "tools": [
        {"name": "slow", "inputSchema": schema, "does": {"wait_for_release": true, "text": "it is done"}}
    ]});
    let config = json!({"mcpServers": {"fake": {"command": fake_server::program(), "args": [script.to_string()]}}});
    fixture.write("servers.json", &config);
    let answers = json!([calls(&[("fake__slow", json!({}))]), "never asked for"]);
    fixture.write("answers.json", &answers);
    let mut child = planwright(fixture.path())
        .args(["chat", "Wait.", "--servers", "servers.json"])
        .args(["--model", "replay:answers.json", "--format", "events"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    for line in BufReader::new(child.stdout.take().unwrap()).lines() {
        let event: Value = serde_json::from_str(&line.unwrap()).unwrap();
        match event["of"]["event"].as_str() {
            Some("attempt_started") => {
                let id = child.id().to_string();
                let sent = Command::new("kill").args(["-INT", &id]).status();
                assert!(sent.unwrap().success());
            }
            Some("run_draining") => recorder.release(),
            _ => {}
        }
        assert_ne!(event["answer"], "never asked for");
    }
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert_eq!(tool_results(&fixture), ["it is done"]);
}

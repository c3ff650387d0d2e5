//! `--protocol acts`.

use serde_json::{Value, json};

use super::{chat, fixture};

fn solution(calls: &Value, output: &Value) -> Value {
    json!({"calls": calls, "output": output}).to_string().into()
}

#[test]
fn solutions_run_until_there_is_an_output() {
    let fixture = fixture();
    fixture.write(
        "output.json",
        &json!({"type": "object", "properties": {"first": {"type": "string"}}, "required": ["first"]}),
    );
    let answers = json!([
        solution(
            &json!([{"_tool": "list_dogs", "_outputPath": "†state.dogs"}, {"_tool": "greet", "name": "†input.me"}]),
            &Value::Null
        ),
        solution(&json!([]), &json!({"first": "†state.dogs.0"}))
    ]);
    let arguments = [
        "Who is first?",
        "--protocol",
        "acts",
        "--output-schema",
        "output.json",
        "--input",
        r#"{"me": "Eva"}"#,
    ];
    let (data, log) = chat(&fixture, &answers, &arguments, 0);
    assert_eq!(data, "{\"first\":\"Rex\"}\n");
    assert!(log.contains("✓ list_dogs  list_dogs"), "{log}");

    let id = log
        .rsplit_once("--resume ")
        .unwrap()
        .1
        .trim()
        .trim_end_matches('`');
    let answers = json!([solution(&json!([]), &json!({"first": "†state.dogs.1"}))]);
    let more = [
        "And the second?",
        "--protocol",
        "acts",
        "--resume",
        id,
        "--output-schema",
        "output.json",
    ];
    let (data, _) = chat(&fixture, &answers, &more, 0);
    assert_eq!(data, "{\"first\":\"Ada\"}\n");
}

#[test]
fn lazy_solutions_are_shown_until_a_person_runs_them() {
    let fixture = fixture();
    let messages = json!([{"type": "plan", "plan": [], "mode": "lazy"}]);
    fixture.write("messages.json", &messages);
    let greet = json!([{"_tool": "greet", "name": "Eva", "_outputPath": "†state.words"}]);
    let answers = json!([solution(&greet, &Value::Null)]);
    let arguments = [
        "Greet Eva.",
        "--protocol",
        "acts",
        "--messages",
        "messages.json",
    ];
    let (data, log) = chat(&fixture, &answers, &arguments, 0);
    let shown: Value = serde_json::from_str(&data).unwrap();
    assert_eq!(shown, json!({"calls": greet, "output": null}));
    assert!(log.contains("name = \"Eva\""), "{log}");
    assert!(log.contains("nothing was called"), "{log}");
    let id = log
        .rsplit_once("--resume ")
        .unwrap()
        .1
        .trim()
        .trim_end_matches('`');

    // The model hears what is to be different, and its next solution is shown as well.
    let ada = json!([{"_tool": "greet", "name": "Ada", "_outputPath": "†state.words"}]);
    let answers = json!([solution(&ada, &Value::Null)]);
    let more = ["Rather Ada.", "--protocol", "acts", "--resume", id];
    let (data, log) = chat(&fixture, &answers, &more, 0);
    assert!(data.contains("Ada"), "{data}");
    assert!(log.contains("nothing was called"), "{log}");

    let answers = json!([solution(&json!([]), &json!("†state.words"))]);
    let run = ["run", "--protocol", "acts", "--resume", id];
    let (_, log) = chat(&fixture, &answers, &run, 0);
    assert!(log.contains("✓ greet"), "{log}");
}

#[test]
fn its_ends_have_exit_statuses() {
    for (answers, arguments, exit, message) in [
        (json!([solution(&json!([]), &Value::Null)]), &[][..], 0, ""),
        (
            json!(["no", "no", "no"]),
            &[],
            3,
            "no reply of the model was a valid solution",
        ),
        (
            json!([
                solution(&json!([{"_tool": "list_dogs"}]), &Value::Null),
                solution(&json!([{"_tool": "list_dogs"}]), &Value::Null)
            ]),
            &[],
            1,
            "the model sent the same solution twice",
        ),
        (
            json!([solution(&json!([{"_tool": "pay"}]), &Value::Null)]),
            &[],
            4,
            "waits for a person",
        ),
        (json!([]), &["--input", "[]"], 2, "`--input` is a list"),
        (
            json!([]),
            &["--input", r#"{"a": 1, "a": 2}"#],
            2,
            "the key `a` occurs twice",
        ),
    ] {
        let fixture = fixture();
        let arguments = [&["Go on.", "--protocol", "acts"], arguments].concat();
        let (_, log) = chat(&fixture, &answers, &arguments, exit);
        assert!(log.contains(message), "{log}");
    }
}

#[test]
fn plans_of_a_folder_are_called_like_tools() {
    let fixture = fixture();
    let library = fixture.path().join("plans");
    std::fs::create_dir(&library).unwrap();
    let welcome = json!({
        "description": "Welcomes a guest.",
        "inputs": {"who": {"type": "string"}},
        "steps": [{"id": "said", "tool": "greet", "args": {"name": "${inputs.who}"}}],
        "output": {"words": "${said}"}
    });
    std::fs::write(library.join("welcome.json"), welcome.to_string()).unwrap();
    let call = json!([{
        "_tool": "welcome", "_delegate": "welcome", "who": "†input.me", "_outputPath": "†state.done"
    }]);
    let answers = json!([
        solution(&call, &Value::Null),
        solution(&call, &json!("†state.done.words"))
    ]);
    let arguments = [
        "Welcome me.",
        "--protocol",
        "acts",
        "--library",
        "plans",
        "--input",
        r#"{"me": "Eva"}"#,
    ];
    let (data, log) = chat(&fixture, &answers, &arguments, 0);
    assert!(data.contains("Eva"), "{data} {log}");

    std::fs::write(library.join("broken.json"), "{\"steps\": 1}").unwrap();
    let (_, log) = chat(&fixture, &answers, &arguments, 2);
    assert!(
        log.contains("broken.json` is not a valid plan: PW"),
        "{log}"
    );
    let (_, log) = chat(
        &fixture,
        &answers,
        &["Welcome me.", "--library", "plans"],
        2,
    );
    assert!(log.contains("`--library` needs `--protocol acts`"), "{log}");
}

#[test]
fn a_conversation_begins_with_messages() {
    let fixture = fixture();
    let greeting = json!([{"_tool": "greet", "name": "†state.dog"}]);
    fixture.write(
        "messages.json",
        &json!([{"type": "state", "dog": "Rex"}, {"type": "plan", "plan": greeting}]),
    );
    let call = json!([{"_tool": "greet", "name": "†state.dog", "_outputPath": "†state.greeted"}]);
    let answers = json!([solution(&call, &json!({"greeted": "†state.greeted.name"}))]);
    let arguments = [
        "--protocol",
        "acts",
        "--messages",
        "messages.json",
        "Go on.",
    ];
    let (data, _) = chat(&fixture, &answers, &arguments, 0);
    assert_eq!(data, "{\"greeted\":\"Rex\"}\n");
    fixture.write("messages.json", &json!({"type": "state"}));
    let (_, log) = chat(&fixture, &answers, &arguments, 2);
    assert!(
        log.contains("`messages.json` has no list of messages"),
        "{log}"
    );
}

/// Without a terminal, nothing can be approved, so a question would end the conversation.
#[test]
fn an_output_alone_needs_no_approval() {
    let fixture = fixture();
    let answers = json!([solution(&json!([]), &json!({"dog": "†input.dog"}))]);
    let arguments = [
        "--protocol",
        "acts",
        "--approve",
        "plan:0000000000000000",
        "--input",
        r#"{"dog": "Rex"}"#,
        "Which dog?",
    ];
    let (data, _) = chat(&fixture, &answers, &arguments, 0);
    assert_eq!(data, "{\"dog\":\"Rex\"}\n");
}

#[test]
fn a_solution_written_after_results_chooses_no_guarded_value() {
    let fixture = fixture();
    let policy = "[flow]\nguard = ['greet:name']\n";
    std::fs::write(fixture.path().join("planwright.toml"), policy).unwrap();
    let greet = json!({"_tool": "greet", "name": "Eva", "_outputPath": "†state.words"});
    let look = json!({"_tool": "list_dogs", "_outputPath": "†state.dogs"});
    let answer = json!("†state.words");
    for (first, exit, is_asked) in [(json!([]), 0, false), (json!([look]), 4, true)] {
        // The same solution, before and after the model has read a result.
        let before = first.as_array().unwrap().clone();
        let mut answers = vec![solution(&json!([greet]), &Value::Null)];
        if before.is_empty() {
            answers.push(solution(&json!([]), &answer));
        } else {
            answers.insert(0, solution(&first, &Value::Null));
        }
        let arguments = ["Greet Eva.", "--protocol", "acts"];
        let (data, log) = chat(&fixture, &json!(answers), &arguments, exit);
        assert_eq!(log.contains("waits for a person"), is_asked, "{log}");
        assert_eq!(data.contains("Eva"), !is_asked, "{data}");
    }
}

//! `--protocol acts`.

use serde_json::{Value, json};

use super::{chat, desk};

fn solution(calls: &Value, output: &Value) -> Value {
    json!({"calls": calls, "output": output}).to_string().into()
}

#[test]
fn solutions_run_until_there_is_an_output() {
    let desk = desk();
    desk.write(
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
    let (data, talk) = chat(&desk, &answers, &arguments, 0);
    assert_eq!(data, "{\"first\":\"Rex\"}\n");
    assert!(talk.contains("✓ list_dogs  list_dogs"), "{talk}");

    let id = talk
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
    let (data, _) = chat(&desk, &answers, &more, 0);
    assert_eq!(data, "{\"first\":\"Ada\"}\n");
}

#[test]
fn its_ends_have_exit_statuses() {
    for (answers, arguments, exit, message) in [
        (json!([solution(&json!([]), &Value::Null)]), &[][..], 0, ""),
        (
            json!(["no", "no", "no"]),
            &[],
            3,
            "no answer of the model was a sound solution",
        ),
        (
            json!([
                solution(&json!([{"_tool": "list_dogs"}]), &Value::Null),
                solution(&json!([{"_tool": "list_dogs"}]), &Value::Null)
            ]),
            &[],
            1,
            "the same solution came twice in a row",
        ),
        (
            json!([solution(&json!([{"_tool": "pay"}]), &Value::Null)]),
            &[],
            4,
            "waits for a person",
        ),
        (json!([]), &["--input", "[]"], 2, "`--input` is a list"),
    ] {
        let desk = desk();
        let arguments = [&["Go on.", "--protocol", "acts"], arguments].concat();
        let (_, talk) = chat(&desk, &answers, &arguments, exit);
        assert!(talk.contains(message), "{talk}");
    }
}

//! Half an answer is a failure, with the words of the model; and a model may say that it cannot, or ask back.

use serde_json::{Value, json};

use super::ModelFixture;
use crate::program::{stderr, stdout};

const NO: &str = "I can't help with that.";

fn fixture() -> ModelFixture {
    ModelFixture::new(&json!({
        "list_dogs": {"annotations": {"readOnlyHint": true}, "returns": [{"name": "Rex", "age": 3}]},
        "weather": {"fails": {"code": "down", "message": "no weather today"}}
    }))
}

fn plan() -> Value {
    json!({"json": {"steps": [{"id": "dogs", "tool": "list_dogs"}], "output": ["dogs"]}})
}

/// Unusable replies: the reply, its message, and the number of failed requests for a plan.
fn halves() -> [(Value, &'static str, u64); 4] {
    [
        (
            json!({"text": NO, "refused": true}),
            "`replay:answers.json` declined to answer",
            1,
        ),
        (
            json!({"text": "Half a", "filtered": "SAFETY"}),
            "a filter of its provider stopped the reply of `replay:answers.json` (SAFETY)",
            1,
        ),
        (
            json!({"text": "Half a", "cut_off": true}),
            "the reply of `replay:answers.json` reached the maximum length",
            3,
        ),
        (json!(""), "the reply of `replay:answers.json` is empty", 1),
    ]
}

#[test]
fn half_a_plan_is_a_failure() {
    let fixture = fixture();
    for (half, message, asked) in halves() {
        fixture.write("answers.json", &json!([half, half, half, half]));
        for command in [
            &["create", "list the dogs"][..],
            &["ask", "which dogs?"],
            &["ask", "which dogs?", "--no-stream"],
        ] {
            let output = fixture.run(command);
            let log = stderr(&output);
            assert_eq!(
                (output.status.code(), stdout(&output)),
                (Some(1), String::new()),
                "{log}"
            );
            assert!(log.contains(&format!("error: {message}")), "{log}");
            let words = half["text"]
                .as_str()
                .map_or(String::new(), |text| format!("  it said: {text}\n"));
            assert!(log.contains(&words), "{log}");
            let report = fixture.json(command, 1);
            let created = report.get("created").unwrap_or(&report);
            assert_eq!(created["usage"]["requests"], asked, "{report}");
            assert!(
                created["error"]["message"]
                    .as_str()
                    .unwrap()
                    .starts_with(message),
                "{report}"
            );
            assert_eq!(
                created["error"]["said"],
                *half.get("text").unwrap_or(&Value::Null)
            );
        }
    }
}

#[test]
fn half_a_summary_is_a_failure() {
    let fixture = fixture();
    for (half, message, _) in halves() {
        fixture.write("answers.json", &json!([plan(), half]));
        let output = fixture.run(&["ask", "which dogs?"]);
        let log = stderr(&output);
        assert_eq!(output.status.code(), Some(1), "{log}");
        assert!(
            log.contains(&format!("the results were not summarized: {message}")),
            "{log}"
        );
        let words = half["text"].as_str().unwrap_or_default();
        assert!(
            stdout(&output).trim_end() == words || log.contains(words),
            "{log}"
        );
        let answer = fixture.json(&["ask", "which dogs?"], 1);
        assert_eq!(
            (&answer["answer"], &answer["by"]),
            (&Value::Null, &Value::Null)
        );
        assert!(
            answer["error"]["message"]
                .as_str()
                .unwrap()
                .starts_with(message)
        );
        assert_eq!(answer["run"]["status"], "succeeded");
    }
}

#[test]
fn a_model_may_decline_to_sum_up() {
    let fixture = fixture();
    for (declined, message) in [
        (
            json!({"text": "{\"cannot\": \"the results are of another year\"}"}),
            "`replay:answers.json` says that it cannot: the results are of another year",
        ),
        (
            json!({"text": "```json\n{\"ask\": \"Which dogs?\"}\n```"}),
            "`replay:answers.json` asks: Which dogs?",
        ),
    ] {
        fixture.write("answers.json", &json!([plan(), declined]));
        let output = fixture.run(&["ask", "which dogs?"]);
        let log = stderr(&output);
        assert_eq!(
            (output.status.code(), stdout(&output)),
            (Some(1), String::new()),
            "{log}"
        );
        assert!(
            log.contains(&format!("the results were not summarized: {message}\n")),
            "{log}"
        );
        let answer = fixture.json(&["ask", "which dogs?"], 1);
        assert_eq!(
            (&answer["answer"], &answer["error"]["message"]),
            (&Value::Null, &json!(message))
        );
    }
    let braces = json!("{Rex} is the only dog [dogs].");
    fixture.write("answers.json", &json!([plan(), braces]));
    let output = fixture.run(&["ask", "which dogs?"]);
    assert_eq!(
        (output.status.code(), stdout(&output)),
        (Some(0), "{Rex} is the only dog [dogs].\n".to_owned())
    );
}

#[test]
fn half_another_plan_is_a_failure() {
    let fixture = fixture();
    let failing = json!({"json": {"steps": [{"id": "sky", "tool": "weather"}]}});
    for (half, message, asked) in halves() {
        let answers = json!([
            failing,
            half,
            half,
            half,
            "Nothing is known of the weather."
        ]);
        let left = usize::try_from(3 - asked).unwrap();
        let answers: Vec<&Value> = answers.as_array().unwrap().iter().collect();
        let answers = [&answers[..1], &answers[1 + left..]].concat();
        fixture.write("answers.json", &json!(answers));
        let output = fixture.run(&["ask", "how is the weather?", "--no-stream"]);
        let log = stderr(&output);
        assert_eq!(output.status.code(), Some(1), "{log}");
        assert!(
            log.contains(&format!("the plan was not revised: {message}")),
            "{log}"
        );
        assert_eq!(stdout(&output), "Nothing is known of the weather.\n");
    }
}

#[test]
fn a_model_may_decline() {
    let fixture = fixture();
    for (kind, words, message_line) in [
        (
            "cannot",
            "no tool knows cats",
            "replay:answers.json says that it cannot: no tool knows cats",
        ),
        (
            "ask",
            "Which cats?",
            "replay:answers.json asks: Which cats?",
        ),
    ] {
        let declined = json!({"json": {kind: words}});
        fixture.write("answers.json", &json!([declined, plan(), "Rex."]));
        for command in [
            &["create", "list the cats"][..],
            &["ask", "which cats?"],
            &["ask", "which cats?", "--no-stream"],
        ] {
            let output = fixture.run(command);
            let log = stderr(&output);
            assert_eq!(
                (output.status.code(), stdout(&output)),
                (Some(3), String::new()),
                "{log}"
            );
            assert_eq!(log.lines().next(), Some(message_line), "{log}");
            let report = fixture.json(command, 3);
            let created = report.get("created").unwrap_or(&report);
            assert_eq!(created["declined"], json!({"kind": kind, "text": words}));
            assert_eq!(created["usage"]["requests"], 1);
        }
    }
}

#[test]
fn a_model_may_decline_another_plan() {
    let fixture = fixture();
    fixture.write(
        "plan.json",
        &json!({"steps": [{"id": "sky", "tool": "weather"}]}),
    );
    for (arguments, answer, message_line) in [
        (
            ["--replan", "2"],
            json!({"ask": "Which sky?"}),
            "replay:answers.json asks: Which sky?",
        ),
        (
            ["--replan", "2"],
            json!({"cannot": "it rains"}),
            "replay:answers.json says that it cannot: it rains",
        ),
        (
            ["--repair", "--no-store"],
            json!({"args": null}),
            "the arguments of `sky` stay as they are: replay:answers.json says that other arguments would not help",
        ),
        (
            ["--repair", "--no-store"],
            json!({"city": "Graz"}),
            "the arguments of `sky` stay as they are: replay:answers.json answered without `args`",
        ),
    ] {
        fixture.write(
            "answers.json",
            &json!([{ "json": answer }, {"json": {"steps": []}}]),
        );
        let output = fixture.run(&[&["run", "plan.json"], &arguments[..]].concat());
        let log = stderr(&output);
        assert_eq!(output.status.code(), Some(1), "{log}");
        assert!(log.contains(&format!("{message_line}\n")), "{log}");
    }
}

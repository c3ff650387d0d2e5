//! Plans that the model has written and run.

use serde_json::{Value, json};

use super::{calls, chat, fixture, tool_results};

fn plan() -> Value {
    json!({"name": "greet-all", "steps": [
        {"id": "dogs", "tool": "list_dogs"},
        {"id": "greeted", "for_each": "${dogs}", "tool": "greet", "args": {"name": "${item}"}}
    ], "output": ["greeted"]})
}

#[test]
fn a_plan_is_written_and_run() {
    let fixture = fixture();
    let answers = json!([
        calls(&[("plan_create_and_execute", json!({"goal": "greet all dogs"}))]),
        plan().to_string(),
        "All dogs are greeted."
    ]);
    let (data, log) = chat(&fixture, &answers, &["Greet the dogs."], 0);
    assert_eq!(data, "All dogs are greeted.\n");
    for line in ["✓ dogs ", "✓ greeted "] {
        assert!(log.contains(line), "{log}");
    }
    let tool_results: Value = serde_json::from_str(&tool_results(&fixture)[0]).unwrap();
    assert_eq!(tool_results["status"], "succeeded");
    assert_eq!(
        tool_results["output"],
        json!({"greeted": [{"name": "Rex"}, {"name": "Ada"}]})
    );
}

#[test]
fn a_plan_is_looked_at_before_it_runs() {
    let fixture = fixture();
    let answers = json!([
        calls(&[("plan_create", json!({"goal": "greet all dogs"}))]),
        plan().to_string(),
        calls(&[("plan_execute", json!({"plan_id": "plan-1"}))]),
        "Done."
    ]);
    chat(&fixture, &answers, &["Greet the dogs, but look first."], 0);
    let tool_results = tool_results(&fixture);
    let first: Value = serde_json::from_str(&tool_results[0]).unwrap();
    assert_eq!(
        first,
        json!({"plan_id": "plan-1", "steps": [{"id": "dogs", "tool": "list_dogs"}, {"id": "greeted", "tool": "greet"}]})
    );
    let second: Value = serde_json::from_str(&tool_results[1]).unwrap();
    assert_eq!(second["status"], "succeeded");
}

#[test]
fn a_plan_that_cannot_be_written_is_reported() {
    let fixture = fixture();
    let answers = json!([
        calls(&[("plan_create_and_execute", json!({"goal": "fly"}))]),
        {"text": "{\"cannot\": \"dogs do not fly\"}"},
        "It cannot be done."
    ]);
    let (data, log) = chat(&fixture, &answers, &["Fly."], 0);
    assert_eq!(data, "It cannot be done.\n");
    let expected = "says that it cannot: dogs do not fly";
    assert!(log.contains(expected), "{log}");
    assert_eq!(
        tool_results(&fixture),
        [format!("error: no plan was written: the model {expected}")]
    );
    let answers = json!([
        calls(&[("plan_create", json!({"goal": "fly"}))]),
        "I cannot.",
        "I cannot, really.",
        "It cannot be done."
    ]);
    chat(&fixture, &answers, &["Fly."], 0);
    assert_eq!(
        tool_results(&fixture),
        [
            "error: `replay:answers.json` writes no plan, but answers in words; it said: I cannot, really."
        ]
    );
}

#[test]
fn a_plan_that_fails_says_where() {
    let fixture = fixture();
    let plan = json!({"steps": [{"id": "dogs", "tool": "list_dogs"}, {"id": "save", "tool": "broken"}], "output": ["dogs"]});
    let answers = json!([
        calls(&[("plan_create_and_execute", json!({"goal": "save"}))]),
        plan.to_string(),
        "The disk is full."
    ]);
    chat(&fixture, &answers, &["Save."], 0);
    let tool_results: Value = serde_json::from_str(&tool_results(&fixture)[0]).unwrap();
    assert_eq!(tool_results["status"], "failed");
    assert_eq!(
        tool_results["not_done"][0]["error"],
        json!({"code": "full", "message": "the disk is full"})
    );
}

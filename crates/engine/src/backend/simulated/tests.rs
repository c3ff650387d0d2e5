//! Behaviours of simulated tools, and their answers.

use planwright_core::StepId;

use super::super::{CallClock, CallContext, ToolBackend, ToolCall};
use super::*;

fn json(text: &str) -> Value {
    Value::from_json(text).unwrap()
}

async fn answers(script: &str, args: &[&str]) -> Vec<String> {
    let script = json(&format!(r#"{{"tools":{{"t":{script}}}}}"#));
    let simulated = Simulated::from_script(&script).unwrap();
    let tool = Arc::new(simulated.tools().next().unwrap().clone());
    let mut answers = Vec::new();
    for args in args {
        let call = ToolCall {
            tool: Arc::clone(&tool),
            args: json(args),
            context: CallContext::new(StepId::from("s"), "k"),
            clock: CallClock::default(),
        };
        answers.push(match simulated.call(call).await {
            Ok(output) => output.value.to_json(),
            Err(error) => format!("{}: {}", error.kind.as_str(), error.message),
        });
    }
    answers
}

async fn check(script: &str, args: &[&str], expected: &[&str]) {
    assert_eq!(answers(script, args).await, expected, "{script}");
}

#[tokio::test]
async fn behaviours() {
    check(r#"{"returns":{"a":1}}"#, &["{}"], &[r#"{"a":1}"#]).await;
    check(r#"{"echo":true}"#, &[r#"{"x":[1]}"#], &[r#"{"x":[1]}"#]).await;
    check("{}", &["{}"], &["null"]).await;
    check(
        r#"{"fails":{"code":"c","message":"no"}}"#,
        &["{}"],
        &["tool: no"],
    )
    .await;
    check(
        r#"{"fails":"no","times":1,"returns":1}"#,
        &["{}", "{}"],
        &["tool: no", "1"],
    )
    .await;
    check(
        r#"{"unavailable":"gone","times":2,"returns":"back"}"#,
        &["{}", "{}", "{}"],
        &["unavailable: gone", "unavailable: gone", "\"back\""],
    )
    .await;
    check(
        r#"{"unavailable":"gone","times":1,"returns":{"returns":"back"}}"#,
        &["{}", "{}"],
        &["unavailable: gone", "\"back\""],
    )
    .await;
    check(
        r#"{"cases":[{"when":{"city":"Oslo"},"returns":3},{"echo":true}]}"#,
        &[r#"{"city":"Oslo","x":1}"#, r#"{"city":"Rome"}"#],
        &["3", r#"{"city":"Rome"}"#],
    )
    .await;
    check(
        r#"{"result":{"content":[{"type":"text","text":"02134"}]}}"#,
        &["{}"],
        &["\"02134\""],
    )
    .await;
    check(
        r#"{"result":{"content":[{"type":"text","text":"bad row"}],"isError":true}}"#,
        &["{}"],
        &["tool: bad row"],
    )
    .await;
}

#[test]
fn every_fault_of_a_script_is_found() {
    let script = json(
        r#"{"tools":{"a":{"retruns":1,"sleep_ms":-1},"b":3,"c":{"cases":[{"when":{},"echo":"yes"}]}}}"#,
    );
    let faults: Vec<String> = Simulated::from_script(&script)
        .unwrap_err()
        .iter()
        .map(ToString::to_string)
        .collect();
    assert_eq!(
        faults,
        [
            "a simulated tool has no field `retruns` at /tools/a/retruns",
            "expected a whole number from 0, found `-1` at /tools/a/sleep_ms",
            "expected an object, found a number at /tools/b",
            "expected true or false, found a text at /tools/c/cases/0/echo",
        ]
    );
}

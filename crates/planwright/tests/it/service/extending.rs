//! Observed runs, and runs whose plan is extended while they are in progress.

use planwright::engine::StepStatus;
use planwright::{Error, RunEvent, Value, parse};
use serde_json::json;

use super::support::planwright;

const FIRST: &str = r#"{"steps": [{"id": "a", "tool": "weather", "args": {"city": "Oslo"}}]}"#;

#[tokio::test]
async fn a_run_tells_what_happens() {
    let planwright = planwright().await;
    let mut run = planwright
        .start(planwright.check(parse(FIRST)).unwrap())
        .unwrap();
    let mut ended = Vec::new();
    let mut last = None;
    while let Some(stamped) = run.next_event().await {
        if let RunEvent::StepEnded { at, status, .. } = &stamped.event {
            ended.push((at.to_string(), *status));
        }
        last = Some(stamped.event);
    }
    assert_eq!(ended, [("a".to_owned(), StepStatus::Succeeded)]);
    assert!(matches!(last, Some(RunEvent::RunEnded { .. })));
    assert_eq!(run.await.steps.len(), 1);
}

#[tokio::test]
async fn steps_may_come_later() {
    let planwright = planwright().await;
    let plan = planwright.check(parse(FIRST)).unwrap();
    let mut run = planwright
        .run(plan)
        .id("grows".parse().unwrap())
        .growing()
        .start()
        .unwrap();
    assert_eq!(*run.id(), "grows");
    while let Some(stamped) = run.next_event().await {
        if matches!(stamped.event, RunEvent::StepEnded { .. }) {
            break;
        }
    }
    let more =
        r#"{"steps": [{"id": "b", "tool": "note", "args": {"to": "Ada", "text": "${a.city}"}}]}"#;
    run.extend(more).unwrap();
    let third =
        r#"{"steps": [{"id": "c", "tool": "note", "args": {"to": "Bob", "text": "${b}"}}]}"#;
    run.extend(third).unwrap();
    assert_eq!(run.plan().steps().len(), 3);
    // Waiting for the end says that nothing more will come.
    let summary = run.finish().await;
    assert_eq!(
        summary.output,
        Value::from(
            json!({"a": {"city": "Oslo", "temp": 4}, "b": "Ada: Oslo", "c": "Bob: Ada: Oslo"})
        )
    );
}

#[tokio::test]
async fn a_rejected_extension_changes_nothing() {
    let planwright = planwright().await;
    let plan = planwright.check(parse(FIRST)).unwrap();
    let mut run = planwright.run(plan).growing().start().unwrap();
    let wrong =
        r#"{"steps": [{"id": "b", "tool": "note", "args": {"to": "Ada", "text": "${z.city}"}}]}"#;
    let error = run.extend(wrong).unwrap_err();
    let findings: Vec<_> = error.diagnostics().unwrap().iter().collect();
    assert_eq!(findings.len(), 1);
    assert_eq!(findings[0].pointer, "/steps/0/args/text");
    let span = findings[0].span.unwrap();
    assert_eq!(&wrong[span.start..span.end], r#""${z.city}""#);
    assert_eq!(run.finish().await.steps.len(), 1);
}

#[tokio::test]
async fn an_ended_run_takes_nothing() {
    let planwright = planwright().await;
    let mut run = planwright
        .start(planwright.check(parse(FIRST)).unwrap())
        .unwrap();
    while run.next_event().await.is_some() {}
    let more = r#"{"steps": [{"id": "b", "tool": "weather", "args": {"city": "Rome"}}]}"#;
    assert!(matches!(run.extend(more), Err(Error::Ended)));
    assert_eq!(run.plan().steps().len(), 1);
}

#[tokio::test]
async fn a_run_that_was_cancelled_takes_nothing() {
    let planwright = planwright().await;
    let text = r#"{"steps": [{"id": "a", "tool": "never"}]}"#;
    let plan = planwright.check(parse(text)).unwrap();
    let mut run = planwright.run(plan).growing().start().unwrap();
    while let Some(stamped) = run.next_event().await {
        match stamped.event {
            RunEvent::AttemptStarted { .. } => run.cancel(),
            RunEvent::StepEnded { .. } => break,
            _ => {}
        }
    }
    let more = r#"{"steps": [{"id": "b", "tool": "weather", "args": {"city": "Rome"}}]}"#;
    assert!(matches!(run.extend(more), Err(Error::Ended)));
}

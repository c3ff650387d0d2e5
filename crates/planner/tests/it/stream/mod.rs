//! Plans that run while they are being written.

mod lines;
mod scene;
mod storage;

use planwright_engine::{RunStatus, StepStatus};

use scene::{Scene, SceneOutcome};

const TWO_LEVELS: &str = r#"{"name": "two-levels", "steps": [
    {"id": "a", "tool": "search", "args": {"q": "alpha"}},
    {"id": "b", "tool": "search", "args": {"q": "beta"}},
    {"id": "c", "tool": "search", "args": {"q": "gamma"}},
    {"id": "d", "tool": "search", "args": {"q": "delta"}},
    {"id": "aa", "tool": "details", "args": {"name": "${a.first}"}},
    {"id": "bb", "tool": "details", "args": {"name": "${b.first}"}},
    {"id": "cc", "tool": "details", "args": {"name": "${c.first}"}},
    {"id": "dd", "tool": "details", "args": {"name": "${d.first}"}}],
  "output": ["aa", "dd"]}"#;

async fn play(answers: &[&str]) -> SceneOutcome {
    Scene::new(answers).play().await
}

#[tokio::test(start_paused = true)]
async fn the_first_call_starts_before_a_third_is_written() {
    let played = play(&[TWO_LEVELS]).await;
    let first = played.streamed.first_call_at.unwrap();
    assert!(first < 1.0 / 3.0, "{first}");
    let summary = played.summary();
    assert_eq!(summary.status, RunStatus::Succeeded);
    assert_eq!(summary.plan.as_deref(), Some("two-levels"));
    assert_eq!(
        summary.output.to_json(),
        r#"{"aa":{"first":"aa!","text":"aa!"},"dd":{"first":"dd!","text":"dd!"}}"#
    );
    // Only the step that is written last is left to do.
    let written = played.written_at.unwrap();
    assert!(
        played.ended_at < written + 510,
        "{written} {}",
        played.ended_at
    );
    assert_eq!(played.called().len(), 8);
    assert_eq!(played.early(), "a b c d aa bb cc dd");
}

#[tokio::test(start_paused = true)]
async fn steps_with_effects_wait_for_the_whole_plan() {
    let check = async |early: &str, late: &[&str], answer: &str| {
        let played = play(&[answer]).await;
        assert_eq!(played.summary().status, RunStatus::Succeeded, "{answer}");
        assert_eq!(played.early(), early, "{answer}");
        let written = played.written_at.unwrap();
        for step in late {
            assert!(
                played.at(step) >= written,
                "{step} before {written}: {:?}",
                played.calls
            );
        }
        assert_eq!(
            played.called().len(),
            early.split_whitespace().count() + late.len()
        );
    };
    // The step has a side effect, and the next one depends on it.
    check(
        "a",
        &["send", "after"],
        r#"{"steps": [
            {"id": "send", "tool": "send", "args": {"text": "x"}},
            {"id": "after", "tool": "search", "args": {"q": "${send.text}"}},
            {"id": "a", "tool": "search", "args": {"q": "x"}}]}"#,
    )
    .await;
    // The tool is not trusted; the tool needs approval; the step needs approval.
    check(
        "",
        &["a"],
        r#"{"steps": [{"id": "a", "tool": "rumour", "args": {"q": "x"}}]}"#,
    )
    .await;
    check(
        "",
        &["a"],
        r#"{"steps": [{"id": "a", "tool": "consult", "args": {"q": "x"}}]}"#,
    )
    .await;
    check(
        "",
        &["a"],
        r#"{"steps": [{"id": "a", "approval": true, "tool": "search", "args": {"q": "x"}}]}"#,
    )
    .await;
    // The step reads a slot that a later step may write.
    check(
        "b",
        &["a"],
        r#"{"slot_schemas": {"state": {"type": "object"}}, "steps": [
            {"id": "a", "tool": "search", "args": {"q": "${slots.state.x.first}"}},
            {"id": "b", "tool": "search", "args": {"q": "y"}, "writes": "state.x"}]}"#,
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn loops_conditions_and_values_start_early() {
    let played = play(&[r#"{"steps": [
        {"id": "words", "value": ["x", "y"]},
        {"id": "all", "for_each": "${words}", "tool": "search", "args": {"q": "${item}"}, "retry": {"attempts": 2}},
        {"id": "more", "when": "${size(words) > 1}", "tool": "details", "args": {"name": "${all[0].first}"}},
        {"id": "tell", "tool": "send", "args": {"text": "${more.text}"}}], "output": ["tell"]}"#])
    .await;
    assert_eq!(played.summary().status, RunStatus::Succeeded);
    assert_eq!(played.early(), "all[0] all[1] more");
}

#[tokio::test(start_paused = true)]
async fn a_step_may_refer_to_a_later_one() {
    let played = play(&[r#"{"output": ["b"], "steps": [
        {"id": "a", "tool": "details", "args": {"name": "${b.first}"}},
        {"id": "b", "tool": "search", "args": {"q": "x"}},
        {"id": "tell", "tool": "send", "args": {"text": "a text of some length, which takes its time to be written down"}}]}"#])
    .await;
    assert_eq!(played.summary().status, RunStatus::Succeeded);
    assert_eq!(played.early(), "b a");
    assert_eq!(played.called(), ["b", "a", "tell"]);
}

#[tokio::test(start_paused = true)]
async fn misspelt_tools_are_repaired_while_streaming() {
    let played = play(&[r#"{"steps": [
        {"id": "a", "tool": "serch", "args": {"q": "x"}},
        {"id": "b", "tool": "details", "args": {"name": "${a.first}"}},
        {"id": "tell", "tool": "send", "args": {"text": "${b.text} and more of it"}}]}"#])
    .await;
    assert_eq!(played.summary().status, RunStatus::Succeeded);
    assert_eq!(played.early(), "a b");
    assert_eq!(played.streamed.created.attempts[0].repairs.len(), 1);
    assert_eq!(played.called(), ["a", "b", "tell"]);
}

const UNSOUND: &str = r#"{"steps": [
    {"id": "a", "tool": "search", "args": {"q": "alpha"}},
    {"id": "b", "tool": "search", "args": {"q": "beta"}},
    {"id": "tell", "tool": "send", "args": {"text": "a text of some length, which takes its time to be written down, so that `a` ends"}},
    {"id": "c", "tool": "search", "args": {"q": "gamma"}},
    {"id": "no", "tool": "launch_rocket", "args": {}}]}"#;

#[tokio::test(start_paused = true)]
async fn an_invalid_plan_has_no_effects() {
    let played = play(&[UNSOUND, "I cannot.", "No."]).await;
    assert!(played.streamed.summary.is_none());
    assert!(played.streamed.created.plan.is_none());
    assert_eq!(played.streamed.created.attempts.len(), 3);
    assert_eq!(played.early(), "a (in vain) b (in vain) c (given up)");
    assert_eq!(played.called(), ["a", "b", "c", "c"], "{:?}", played.calls);
    assert!(played.calls[3].ends_with("given up"));
    let abandoned = played.streamed.abandoned.unwrap();
    assert_eq!(abandoned.status, RunStatus::Cancelled);
}

#[tokio::test(start_paused = true)]
async fn a_corrected_plan_reuses_common_steps() {
    let mended = r#"{"steps": [
        {"id": "b", "tool": "search", "args": {"q": "beta, corrected"}},
        {"id": "a", "tool": "search", "args": {"q": "alpha"}},
        {"id": "c", "tool": "search", "args": {"q": "gamma"}},
        {"id": "tell", "tool": "send", "args": {"text": "${a.first} ${b.first} ${c.first}"}}], "output": ["tell"]}"#;
    let played = play(&[UNSOUND, mended]).await;
    let summary = played.summary();
    assert_eq!(summary.status, RunStatus::Succeeded);
    assert_eq!(played.early(), "a b (in vain) c (given up)");
    assert_eq!(
        played.called(),
        ["a", "b", "c", "c", "b", "c", "tell"],
        "{:?}",
        played.calls
    );
    assert!(
        summary
            .steps
            .iter()
            .all(|step| step.status == StepStatus::Succeeded)
    );
    let first = summary
        .steps
        .iter()
        .find(|step| step.at.step.as_str() == "a");
    assert_eq!(first.unwrap().attempts, 1);
}

#[tokio::test(start_paused = true)]
async fn a_final_plan_that_differs_restarts_the_run() {
    // Of two plans, the last one is the answer.
    let draft = r#"{"steps": [{"id": "a", "tool": "search", "args": {"q": "draft"}}]}"#;
    let last = r#"{"steps": [
        {"id": "a", "tool": "search", "args": {"q": "final"}},
        {"id": "tell", "tool": "send", "args": {"text": "${a.first}"}}]}"#;
    let played = play(&[&format!("First {draft}, no, better:\n{last}")]).await;
    assert_eq!(played.summary().status, RunStatus::Succeeded);
    assert_eq!(played.called()[0], "a");
    assert!(played.calls[0].ends_with(r#"{"q":"draft"}"#));
    let sent = played.calls.last().unwrap();
    assert!(sent.ends_with(r#"tell {"text":"a!"}"#), "{sent}");
    assert!(played.streamed.abandoned.is_some());

    // A later step writes what an earlier one has read, so the earlier one would have waited.
    let played = play(&[r#"{"vars": {"x": {"first": "before"}}, "steps": [
        {"id": "a", "tool": "search", "args": {"q": "${vars.x.first}"}},
        {"id": "long", "tool": "search", "args": {"q": "something that takes as long to write as a call takes to end"}},
        {"id": "b", "tool": "search", "args": {"q": "y"}, "writes": "vars.x"}]}"#])
    .await;
    assert_eq!(
        played.early(),
        "a (in vain) long (given up)",
        "{:?}",
        played.calls
    );
    assert_eq!(
        played.called().iter().filter(|step| **step == "a").count(),
        2
    );
}

#[tokio::test(start_paused = true)]
async fn a_truncated_reply_runs_nothing_more() {
    let played = Scene {
        breaks: Some((40, true)),
        ..Scene::new(&[TWO_LEVELS])
    }
    .play()
    .await;
    let failure = played.streamed.created.failure.as_ref().unwrap();
    assert_eq!(failure.message, "the line is dead");
    assert!(played.streamed.summary.is_none());
    assert_cancelled(&played);
}

#[tokio::test(start_paused = true)]
async fn an_interrupted_reply_is_requested_again() {
    let played = Scene {
        breaks: Some((40, false)),
        ..Scene::new(&[TWO_LEVELS, TWO_LEVELS])
    }
    .play()
    .await;
    assert_cancelled(&played);
    assert_eq!(played.summary().status, RunStatus::Succeeded);
    assert_eq!(played.streamed.created.attempts.len(), 1);
}

/// An early run is cancelled together with the reply.
fn assert_cancelled(played: &SceneOutcome) {
    assert_eq!(played.early(), "a (given up) b (given up)");
    let calls = played.calls.iter();
    let abandoned = calls.filter(|call| call.ends_with("given up"));
    assert_eq!(abandoned.count(), 2, "{:?}", played.calls);
}

#[tokio::test(start_paused = true)]
async fn prose_runs_nothing() {
    let endless = format!("{{\"steps\": [{}", "{\"id\": [".repeat(5000));
    for answer in ["I would rather not.", "{\"steps\": \"all\"}", &endless] {
        let played = play(&[answer, answer, answer]).await;
        assert!(played.streamed.summary.is_none());
        assert!(played.calls.is_empty());
        assert_eq!(played.streamed.first_call_at, None);
    }
}

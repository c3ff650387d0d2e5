//! Plans in lines that run while they are being written.

use planwright_dialects::native::PlanDialect;
use planwright_engine::RunStatus;

use super::scene::{Scene, SceneOutcome};

async fn play(answers: &[&str]) -> SceneOutcome {
    let scene = Scene {
        dialect: PlanDialect::Lines,
        ..Scene::new(answers)
    };
    scene.play().await
}

const TWO_LEVELS: &str = r#"plan {"name": "two-levels"}
a = search(q="alpha")
b = search(q="beta")
c = search(q="gamma")
d = search(q="delta")
aa = details(name=${a.first})
bb = details(name=${b.first})
cc = details(name=${c.first})
dd = details(name=${d.first})
return ["aa", "dd"]"#;

#[tokio::test(start_paused = true)]
async fn the_first_call_starts_with_its_line() {
    for answer in [
        TWO_LEVELS.to_owned(),
        format!("I look them up (all four):\n```text\n{TWO_LEVELS}\n```\nThat is all."),
    ] {
        let played = play(&[&answer]).await;
        let first = played.streamed.first_call_at.unwrap();
        assert!(first < 1.0 / 3.0, "{first}");
        let summary = played.summary();
        assert_eq!(summary.status, RunStatus::Succeeded);
        assert_eq!(summary.plan.as_deref(), Some("two-levels"));
        assert_eq!(
            summary.output.to_json(),
            r#"{"aa":{"first":"aa!","text":"aa!"},"dd":{"first":"dd!","text":"dd!"}}"#
        );
        assert!(played.early().starts_with("a b c d"), "{}", played.early());
        assert_eq!(played.called().len(), 8);
        assert!(played.streamed.abandoned.is_none());
    }
}

#[tokio::test(start_paused = true)]
async fn misspelt_tools_are_repaired_line_by_line() {
    let played = play(&[r#"a = serch(q="x")
b = details(name=${a.first})
tell = send(text="${b.text}, and more that takes its time to be written down, so that `a` ends before the last line does, and `b` may start")"#])
    .await;
    assert_eq!(played.summary().status, RunStatus::Succeeded);
    assert_eq!(played.early(), "a b");
    assert_eq!(played.streamed.created.attempts[0].repairs.len(), 1);
    assert_eq!(played.called(), ["a", "b", "tell"]);
}

#[tokio::test(start_paused = true)]
async fn steps_with_effects_wait_for_the_last_line() {
    let played = play(&[
        r#"a = search(q="x")
tell = send(text="a text of some length, which takes its time to be written down, so that `a` ends before the last line of all is there")
b = search(q="${tell.text}")
c = launch_rocket()"#,
        "return 1",
        r#"a = search(q="x")
tell = send(text="hello")"#,
    ])
    .await;
    assert_eq!(played.early(), "a");
    assert_eq!(played.called(), ["a", "tell"], "{:?}", played.calls);
    assert_eq!(played.streamed.created.attempts.len(), 3);
}

#[tokio::test(start_paused = true)]
async fn prose_runs_nothing() {
    let endless = format!("a = search(q=\"{}", "x\n".repeat(5000));
    let deep = format!("a = search(q={}\n", "[".repeat(5000));
    for answer in ["I would rather not.", "a = search q", &endless, &deep] {
        let played = play(&[answer, answer, answer]).await;
        assert!(played.streamed.summary.is_none());
        assert!(played.calls.is_empty());
        assert_eq!(played.streamed.first_call_at, None);
    }
}

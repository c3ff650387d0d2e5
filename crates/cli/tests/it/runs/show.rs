//! `show` draws runs with how their steps stand.

use planwright::core::Value;

use super::support::{Shop, json};
use crate::program::{stderr, stdout};

const PLAN: &str = r#"{"name": "shop", "steps": [
    {"id": "list", "tool": "list"},
    {"id": "price", "for_each": "${list.orders}", "tool": "price", "args": {"total": "${item.total}"}},
    {"id": "flaky", "tool": "flaky", "retry": {"attempts": 2, "delay": "1ms"}},
    {"id": "pay", "tool": "pay", "args": {"sum": 7}},
    {"id": "never", "when": "${flaky == 1}", "tool": "echo"},
    {"id": "inner", "plan": {"steps": [{"id": "a", "tool": "echo"}, {"id": "b", "after": ["a"], "tool": "echo"}]}}
]}"#;

/// What is drawn of a step of the run, or of a plan inside of its plan.
fn drawn(shop: &Shop, run: &str) -> Vec<String> {
    let graph = json(&shop.command(&["show", run, "--as", "json"]));
    let plans = graph.get("plans").and_then(Value::as_list).unwrap_or(&[]);
    [&graph]
        .into_iter()
        .chain(plans)
        .flat_map(|plan| plan.get("steps").unwrap().as_list().unwrap())
        .map(|step| {
            let text = |name: &str| step.get(name).and_then(Value::as_text).unwrap_or("");
            let attempts = step.get("attempts").map(Value::to_json).unwrap_or_default();
            let words = [text("id"), text("status"), &attempts, text("note")];
            words.join(" ").trim_end().to_owned()
        })
        .collect()
}

#[test]
fn every_step_says_how_it_stands() {
    let shop = Shop::new();
    let run = shop.run(PLAN, &[]);
    assert_eq!(
        drawn(&shop, &run),
        [
            "list succeeded 1",
            "price failed 2 item 1: no price",
            "flaky succeeded 2",
            "pay waiting 0 waits for a decision",
            "never skipped 0 skipped",
            "inner succeeded 2",
            "a succeeded 1",
            "b succeeded 1",
        ]
    );
    shop.command(&["resume", &run, "--approve", "all", "--skip", "price"]);
    let drawn = drawn(&shop, &run);
    assert_eq!(
        drawn[1..4],
        [
            "price skipped 0 skipped",
            "flaky succeeded 2",
            "pay succeeded 1"
        ]
    );
    let graph = json(&shop.command(&["show", &run, "--as", "json"]));
    let drawn = graph.get("run").unwrap();
    assert_eq!(drawn.get("id").and_then(Value::as_text), Some(&*run));
    assert_eq!(
        drawn.get("status").and_then(Value::as_text),
        Some("succeeded")
    );
}

#[test]
fn all_pictures_have_marks() {
    let shop = Shop::new();
    let run = shop.run(PLAN, &[]);
    for (kind, marks) in [
        ("text", ["✓", "✗", "○", "–"]),
        ("ascii", ["+  ", "x  ", "o  ", "-  "]),
        ("mermaid", ["✓ list", "✗ price", "○ pay", "– never"]),
        ("dot", ["✓ list", "✗ price", "○ pay", "– never"]),
    ] {
        let text = stdout(&shop.command(&["show", &run[..8], "--as", kind]));
        for mark in marks {
            assert!(text.contains(mark), "{mark}: {text}");
        }
    }
    let source = stdout(&shop.command(&["show", &run, "--as", "source"]));
    assert_eq!(source, PLAN);
}

#[test]
fn what_is_under_way_is_told_from_what_was_interrupted() {
    let shop = Shop::new();
    let mut child = shop.begin(
        r#"{"name": "slow", "steps": [{"id": "wait", "tool": "wait"}, {"id": "then", "after": ["wait"], "tool": "echo"}]}"#,
    );
    let runs = json(&shop.command(&["runs", "--format", "json"]));
    let run = runs.get("runs").unwrap().as_list().unwrap()[0].clone();
    let run = run.get("id").unwrap().as_text().unwrap();
    assert_eq!(
        drawn(&shop, run),
        ["wait running 1 under way", "then not_run 0 not run"]
    );
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(
        drawn(&shop, run),
        ["wait interrupted 1 was under way", "then not_run 0 not run"]
    );
    let text = stdout(&shop.command(&["show", run]));
    assert!(text.contains("?  wait  wait  was under way"), "{text}");
}

#[test]
fn files_and_saved_plans_come_first() {
    let shop = Shop::new();
    let run = shop.run(PLAN, &[]);
    shop.write(
        &run,
        r#"{"name": "file", "steps": [{"id": "one", "tool": "echo"}]}"#,
    );
    let text = stdout(&shop.command(&["show", &run]));
    assert!(text.starts_with("file\n"), "{text}");
    let output = shop.command(&["show", "none"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("planwright runs"));
}

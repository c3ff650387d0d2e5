//! `replay` proves that a run decides the same again.

use planwright::core::Value;

use super::support::{Shop, json};
use crate::program::stdout;

/// A plan with all features that influence the course of a run.
const PLAN: &str = r#"{"name": "shop", "inputs": {"key": {"schema": {"writeOnly": true}}, "who": {"default": "Ada"}}, "steps": [
    {"id": "list", "tool": "list"},
    {"id": "price", "for_each": "${list.orders}", "tool": "price", "args": {"total": "${item.total}"}},
    {"id": "flaky", "tool": "flaky", "args": {"key": "${inputs.key}"}},
    {"id": "tell", "tool": "echo", "args": {"who": "${inputs.who}"}, "when": "${flaky != null}"},
    {"id": "pay", "tool": "pay", "args": {"sum": 7}},
    {"id": "inner", "plan": {"steps": [
        {"id": "again", "tool": "echo", "args": {"n": "${index}"}, "repeat": {"until": "${again.n == 1}"}}]}}
]}"#;

#[track_caller]
fn check(shop: &Shop, run: &str, processes: i64) {
    let output = shop.command(&["replay", run, "--format", "json"]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let replay = json(&output);
    assert_eq!(replay.get("same"), Some(&Value::Bool(true)));
    assert_eq!(replay.get("processes"), Some(&Value::from(processes)));
}

#[test]
fn runs_decide_the_same_again() {
    for args in [
        &[][..],
        &["--max-calls", "2"],
        &[
            "--approve",
            "all",
            "--attempts",
            "2",
            "--retry-delay",
            "1ms",
        ],
        &["--approve", "none", "--fail-fast", "--max-parallel", "1"],
    ] {
        let shop = Shop::new();
        let args = [args, &["--var", "key=hunter2hunter2"]].concat();
        let run = shop.run(PLAN, &args);
        check(&shop, &run, 1);
        let resume = |more: &[&str]| {
            let args = ["resume", &run, "--var", "key=hunter2hunter2"];
            shop.command(&[&args, more].concat());
        };
        resume(&[]);
        check(&shop, &run, 2);
        resume(&["--skip", "price", "--approve", "all", "--var", "who=Grace"]);
        check(&shop, &run, 3);
        shop.write("new.json", &PLAN.replace("\"sum\": 7", "\"sum\": 8"));
        resume(&["--plan", "new.json", "--approve", "all"]);
        check(&shop, &run, 4);
    }
}

#[test]
fn the_number_of_comparisons_is_reported() {
    let shop = Shop::new();
    let run = shop.run(
        r#"{"steps": [{"id": "one", "tool": "list", "args": {}}], "output": "${one}"}"#,
        &[],
    );
    let text = stdout(&shop.command(&["replay", &run[..8]]));
    let wanted = format!(
        "✓ run {} replays identically: 3 decisions of 1 process compared\n",
        &run[..8]
    );
    assert_eq!(text, wanted);
    let output = shop.command(&["replay", "none"]);
    assert_eq!(output.status.code(), Some(2));
}
